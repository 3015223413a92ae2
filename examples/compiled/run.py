"""A model as a library of its own: made by `isomer compile`, called from C and from Python."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx

ISOMER = os.environ.get("ISOMER", "isomer")
MODEL = '<ir_version: 8, opset_import: ["" : 17]> g (float[N, 8] x) => (float[N, 4] y) { a = MatMul(x, w) b = Add(a, c) y = Relu(b) }'
HERE = pathlib.Path(__file__).parent

cc = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang", "clang-19")), None)
if cc is None:
    print("skipped: no C compiler here")
    sys.exit(77)
model = onnx.parser.parse_model(MODEL)
random = np.random.default_rng(0)
weights = {"w": random.standard_normal((8, 4)).astype(np.float32), "c": random.standard_normal(4).astype(np.float32)}
model.graph.initializer.extend(onnx.numpy_helper.from_array(v, k) for k, v in weights.items())
onnx.save(model, "dense.onnx")
subprocess.run([ISOMER, "compile", "dense.onnx", "-o", "dense", "--name", "dense", "--shape", "N=1"], check=True)

subprocess.run([cc, str(HERE / "main.c"), "-Idense", "-Ldense", "-ldense", "-Wl,-rpath,$ORIGIN/dense", "-o", "main"], check=True)
told = subprocess.run(["./main", "dense/dense.weights"], check=True, capture_output=True, text=True).stdout
print("from C:", *told.split())
x = np.arange(-4, 4, dtype=np.float32).reshape(1, 8)
expected = np.maximum(x @ weights["w"] + weights["c"], 0)
is_right = np.allclose(np.array(told.split(), np.float32), expected[0], rtol=1e-4)

if importlib.util.find_spec("isomer"):
    import isomer

    module = isomer.load_module("dense")
    print("from Python:", module, module(x=x)["y"][0])
    is_right = is_right and np.allclose(module(x=x)["y"], expected, rtol=1e-4)
print("as numpy computes it" if is_right else f"numpy computes {expected}")
sys.exit(not is_right)
