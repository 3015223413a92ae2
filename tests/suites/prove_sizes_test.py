"""No size is lost in between: each family of folded blocks is proved from one channel to 130, around every threshold."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import _paths  # noqa: F401
import programs

SIZES = (1, 2, 5, 8, 16, 33, 50, 57, 64, 65, 130)
if os.environ.get("ISOMER_ALL_SIZES"):
    SIZES = tuple(range(1, 131))


class Block:
    """A model of one input whose batch has a name, in two forms."""

    def __init__(self, channels, image, seed=0):
        self.random = np.random.default_rng(seed)
        self.shape = ["N", channels, 6, 6] if image else ["N", 7, channels]
        self.constants, self.nodes = {}, []

    def drawn(self, *shape):
        return (self.random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value, np.float32)
        return name

    def op(self, op, *inputs, **attributes):
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        self.nodes.append(helper.make_node(op, names, [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def model(self, result):
        """What was built so far; then there is nothing."""
        outputs = [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)]
        constants = [numpy_helper.from_array(v, k) for k, v in self.constants.items()]
        graph = helper.make_graph(self.nodes, "block", inputs, outputs, constants)
        self.constants, self.nodes = {}, []
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)

    def statistics(self, channels):
        """A normalization, and the scale and shift that it equals."""
        all_of_it = [self.random.uniform(0.5, 2, channels), self.random.standard_normal(channels),
                     self.random.standard_normal(channels), self.random.uniform(0.5, 2, channels)]
        scale, shift, mean, variance = (v.astype(np.float32) for v in all_of_it)
        factor = scale.astype(np.float64) / np.sqrt(variance.astype(np.float64) + np.float64(np.float32(1e-5)))
        return [scale, shift, mean, variance], factor, shift - mean * factor


def normalized_convolution(c, groups=1):
    block = Block(c, image=True)
    weight, (numbers, factor, shift) = block.drawn(c, c // groups, 3, 3), block.statistics(c)
    y = block.op("Conv", "x", weight, pads=[1] * 4, group=groups)
    first = block.model(block.op("BatchNormalization", y, *numbers))
    return first, block.model(block.op("Conv", "x", weight * factor[:, None, None, None], shift, pads=[1] * 4, group=groups))


def depthwise(c):
    return normalized_convolution(c, groups=c)


def repvgg(c):
    block = Block(c, image=True)
    kernels = [block.drawn(c, c, 3, 3), block.drawn(c, c, 1, 1), None]
    branches, weight, bias = [], np.zeros((c, c, 3, 3)), np.zeros(c)
    for kernel in kernels:
        numbers, factor, shift = block.statistics(c)
        y, taps = "x", np.eye(c)[:, :, None, None] if kernel is None else kernel.astype(np.float64)
        if kernel is not None:
            y = block.op("Conv", "x", kernel, pads=[kernel.shape[2] // 2] * 4)
        branches.append(block.op("BatchNormalization", y, *numbers))
        around = (3 - taps.shape[2]) // 2
        weight += np.pad(taps, ((0, 0), (0, 0), (around, around), (around, around))) * factor[:, None, None, None]
        bias += shift
    first = block.model(block.op("Add", block.op("Add", branches[0], branches[1]), branches[2]))
    return first, block.model(block.op("Conv", "x", weight, bias, pads=[1] * 4))


def linear(c):
    block = Block(c, image=False)
    weight, bias, scale, shift = block.drawn(c, c), block.drawn(c), block.drawn(c), block.drawn(c)
    y = block.op("Add", block.op("MatMul", "x", weight), bias)
    first = block.model(block.op("Add", block.op("Mul", y, scale), shift))
    wide = weight.astype(np.float64) * scale, bias.astype(np.float64) * scale + shift
    return first, block.model(block.op("Add", block.op("MatMul", "x", wide[0]), wide[1]))


def two_linear(c):
    block = Block(c, image=False)
    left, right = block.drawn(c, 2 * c), block.drawn(2 * c, c)
    first = block.model(block.op("MatMul", block.op("MatMul", "x", left), right))
    return first, block.model(block.op("MatMul", "x", left.astype(np.float64) @ right.astype(np.float64)))


def lora(c):
    block = Block(c, image=False)
    weight, down, up, scale = block.drawn(c, c), block.drawn(c, 4), block.drawn(4, c), np.float32(0.25)
    low = block.op("Mul", block.op("MatMul", block.op("MatMul", "x", down), up), scale)
    first = block.model(block.op("Add", block.op("MatMul", "x", weight), low))
    whole = weight.astype(np.float64) + 0.25 * (down.astype(np.float64) @ up.astype(np.float64))
    return first, block.model(block.op("MatMul", "x", whole))


class Sizes(unittest.TestCase):
    def proved(self, family):
        lost = {}
        with tempfile.TemporaryDirectory(prefix="isomer_sizes_") as folder:
            for size in SIZES:
                paths = []
                for name, model in zip(("a", "b"), family(size)):
                    paths.append(str(pathlib.Path(folder) / f"{name}.onnx"))
                    pathlib.Path(paths[-1]).write_bytes(model.SerializeToString())
                ran = subprocess.run([programs.program("isomer"), "prove", *paths, "--json"], capture_output=True, text=True,
                                     timeout=600)
                said = json.loads(ran.stdout) if ran.stdout else {"verdict": "none", "why": ran.stderr}
                if said["verdict"] != "proved":
                    lost[size] = said["why"]
        self.assertEqual(sorted(lost), [], f"{family.__name__}: {lost}")


for made in (normalized_convolution, depthwise, repvgg, linear, two_linear, lora):
    setattr(Sizes, f"test_{made.__name__}", lambda self, family=made: self.proved(family))

if __name__ == "__main__":
    unittest.main()
