"""What onnxsim makes of a model is proved equal; with one weight changed it is refuted."""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper

ISOMER = os.environ.get("ISOMER", "isomer")
PYTHON = os.environ.get("ISOMER_TOOLS_PYTHON", sys.executable)
SIMPLIFY = "import onnx, onnxsim\nonnx.save(onnxsim.simplify(onnx.load('before.onnx'))[0], 'after.onnx')"
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 3, 8, 8] x) => (float[1, 4, 8, 8] y) {
  a = Identity (x)  c = Conv <pads = [1, 1, 1, 1]> (a, w)  n = BatchNormalization (c, scale, bias, mean, variance)  y = Relu (n)
}"""

if subprocess.run([PYTHON, "-c", "import onnxsim"], check=False, capture_output=True).returncode != 0:
    print("skipped: there is no onnxsim")
    sys.exit(77)
draw = np.random.default_rng(1)
arrays = {name: draw.uniform(0.5, 1.5, 4) for name in ("scale", "bias", "mean", "variance")} | {"w": draw.normal(size=(4, 3, 3, 3))}
model = onnx.parser.parse_model(MODEL)
model.graph.initializer.extend(numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items())
onnx.save(model, "before.onnx")
subprocess.run([PYTHON, "-c", SIMPLIFY], check=True, stdout=subprocess.DEVNULL)
print([n.op_type for n in model.graph.node], "->", [n.op_type for n in onnx.load("after.onnx").graph.node])
proved = subprocess.run([ISOMER, "prove", "before.onnx", "after.onnx"], check=False).returncode

wrong = onnx.load("after.onnx")
weight = next(t for t in wrong.graph.initializer if len(t.dims) == 4)
array = numpy_helper.to_array(weight).copy()
array.flat[0] *= 1.01
weight.CopyFrom(numpy_helper.from_array(array, weight.name))
onnx.save(wrong, "wrong.onnx")
refuted = subprocess.run([ISOMER, "prove", "before.onnx", "wrong.onnx"], check=False).returncode
sys.exit((proved, refuted) != (0, 1))
