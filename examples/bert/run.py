"""A layer of BERT as exporters write it, optimized and checked."""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper

ISOMER = os.environ.get("ISOMER", "isomer")
WIDTH, HEADS, STEPS = 32, 4, 8
TEXT = f"""<ir_version: 8, opset_import: ["" : 17]>
bert (float[batch, {STEPS}, {WIDTH}] x) => (float[batch, {STEPS}, {WIDTH}] y) {{
  shape = Shape (x)  first = Constant <value_ints = [0]> ()  batch_size = Gather <axis = 0> (shape, first)
  rest = Constant <value_ints = [{STEPS}, {HEADS}, {WIDTH // HEADS}]> ()  to_heads = Concat <axis = 0> (batch_size, rest)
  whole = Constant <value_ints = [{STEPS}, {WIDTH}]> ()  from_heads = Concat <axis = 0> (batch_size, whole)
  q0 = MatMul (x, wq)  q1 = Add (bq, q0)  q2 = Reshape (q1, to_heads)  q = Transpose <perm = [0, 2, 1, 3]> (q2)
  k0 = MatMul (x, wk)  k1 = Add (bk, k0)  k2 = Reshape (k1, to_heads)  k = Transpose <perm = [0, 2, 3, 1]> (k2)
  v0 = MatMul (x, wv)  v1 = Add (bv, v0)  v2 = Reshape (v1, to_heads)  v = Transpose <perm = [0, 2, 1, 3]> (v2)
  s0 = MatMul (q, k)  root = Constant <value_float = {(WIDTH // HEADS) ** 0.5}> ()  s1 = Div (s0, root)  p = Softmax <axis = -1> (s1)
  c0 = MatMul (p, v)  c1 = Transpose <perm = [0, 2, 1, 3]> (c0)  c2 = Reshape (c1, from_heads)
  o0 = MatMul (c2, wo)  o1 = Add (bo, o0)  o2 = Identity (o1)  y = Add (o2, x)
}}"""

draw = np.random.default_rng(1)
model = onnx.parser.parse_model(TEXT)
for name in "qkvo":
    model.graph.initializer.append(numpy_helper.from_array((draw.normal(size=(WIDTH, WIDTH)) / WIDTH**0.5).astype(np.float32), f"w{name}"))
    model.graph.initializer.append(numpy_helper.from_array(draw.normal(size=WIDTH).astype(np.float32), f"b{name}"))
onnx.save(model, "bert.onnx")

subprocess.run([ISOMER, "optimize", "bert.onnx", "-o", "fast.onnx", "--judge", "cost", "--quiet"], check=True, stdout=subprocess.DEVNULL)
subprocess.run([ISOMER, "check", "bert.onnx", "fast.onnx", "fast.onnx.cert"], check=True)
subprocess.run([ISOMER, "explain", "fast.onnx.cert"], check=True)
before, after = (len(onnx.load(path).graph.node) for path in ("bert.onnx", "fast.onnx"))
print(f"{before} nodes before, {after} after")
sys.exit(after >= before)
