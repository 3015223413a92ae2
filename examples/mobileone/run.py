"""Two blocks of MobileOne, as they are trained, become a convolution each."""
import collections
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ISOMER = os.environ.get("ISOMER", "isomer")
CHANNELS, SIZE, BRANCHES = 16, 14, 3
draw = np.random.default_rng(1)
nodes, weights = [], []


def weight(name, array):
    weights.append(numpy_helper.from_array(array.astype(np.float32), name))
    return name


def normalized(name, x):
    """A batch normalization with statistics as training leaves them."""
    scale, bias, mean = (weight(f"{name}.{part}", draw.normal(size=CHANNELS)) for part in ("scale", "bias", "mean"))
    variance = weight(f"{name}.variance", draw.uniform(0.5, 2, CHANNELS))
    nodes.append(helper.make_node("BatchNormalization", [x, scale, bias, mean, variance], [name], name=name))
    return name


def convolved(name, x, kernel):
    w = weight(f"{name}.w", draw.normal(size=(CHANNELS, CHANNELS, kernel, kernel)) / kernel / CHANNELS**0.5)
    nodes.append(helper.make_node("Conv", [x, w], [f"{name}.c"], name=f"{name}.conv", pads=[kernel // 2] * 4))
    return normalized(name, f"{name}.c")


def block(name, x):
    parts = [convolved(f"{name}.b{k}", x, 3) for k in range(BRANCHES)] + [convolved(f"{name}.s", x, 1), normalized(f"{name}.skip", x)]
    total = parts[0]
    for k, part in enumerate(parts[1:]):
        nodes.append(helper.make_node("Add", [total, part], [f"{name}.a{k}"], name=f"{name}.add{k}"))
        total = f"{name}.a{k}"
    nodes.append(helper.make_node("Relu", [total], [f"{name}.y"], name=f"{name}.relu"))
    return f"{name}.y"


def operators(path):
    return dict(collections.Counter(n.op_type for n in onnx.load(path).graph.node))


y = block("two", block("one", "x"))
value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", CHANNELS, SIZE, SIZE]) for name in ("x", y)]
graph = helper.make_graph(nodes, "mobileone", [value[0]], [value[1]], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "trained.onnx")

subprocess.run([ISOMER, "optimize", "trained.onnx", "-o", "deployed.onnx", "--judge", "cost", "--quiet"], check=True, stdout=subprocess.DEVNULL)
subprocess.run([ISOMER, "check", "trained.onnx", "deployed.onnx", "deployed.onnx.cert"], check=True)
print("trained: ", operators("trained.onnx"))
print("deployed:", operators("deployed.onnx"))
sys.exit(operators("deployed.onnx") != {"Conv": 2, "Relu": 2})
