"""A file of rules: decided, then used by optimize."""
import os
import pathlib
import subprocess
import sys

import onnx

ISOMER = os.environ.get("ISOMER", "isomer")
RULES = str(pathlib.Path(__file__).with_name("mine.rules"))
MODEL = '<ir_version: 8, opset_import: ["" : 17]> g (float[N, 4] x) => (float[N, 4] y) { a = Tanh(x) b = Tanh(a) c = Relu(b) y = Relu(c) }'

onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
subprocess.run([ISOMER, "rules", "prove", RULES], check=True)
subprocess.run([ISOMER, "optimize", "model.onnx", "-o", "out.onnx", "--rules", RULES, "--only", "user", "--judge", "cost"], check=True)
subprocess.run([ISOMER, "check", "model.onnx", "out.onnx", "out.onnx.cert"], check=True)
operators = [n.op_type for n in onnx.load("out.onnx").graph.node]
print(operators)
sys.exit(operators != ["Tanh", "Tanh", "Relu"])
