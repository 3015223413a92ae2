"""Small models that the suites of the command line share."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

draw = np.random.default_rng(7)


def weights(name, *shape, scale=None):
    scale = scale or 1 / np.sqrt(np.prod(shape[1:]))
    return numpy_helper.from_array((draw.normal(size=shape) * scale).astype(np.float32), name)


def integers(name, values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def model(nodes, constants, inputs, outputs, opset=18):
    def value(v):
        return helper.make_tensor_value_info(v[0], v[2] if len(v) > 2 else TensorProto.FLOAT, v[1])

    graph = helper.make_graph(nodes, "g", [value(v) for v in inputs], [value(v) for v in outputs], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.checker.check_model(made)
    return made


def branches(batch="N", blocks=1, channels=32, size=28):
    """Blocks of two branches and a skip that are one convolution each."""
    nodes, constants, x = [], [], "x"
    for k in range(blocks):
        a, b, c, d, y = (f"{letter}{k}" for letter in "abcdy")
        y = "y" if k == blocks - 1 else y
        nodes += [helper.make_node("Conv", [x, f"w{k}"], [a], pads=[1, 1, 1, 1]), helper.make_node("Conv", [x, f"v{k}"], [b]),
                  helper.make_node("Add", [a, b], [c]), helper.make_node("Add", [c, x], [d]), helper.make_node("Relu", [d], [y])]
        constants += [weights(f"w{k}", channels, channels, 3, 3), weights(f"v{k}", channels, channels, 1, 1)]
        x = y
    shape = [batch, channels, size, size]
    return model(nodes, constants, [("x", shape)], [("y", shape)])


def clutter():
    """Shape arithmetic around a reshape, an Identity, a computation twice over: nothing that takes time."""
    node = helper.make_node
    return model([node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"], axis=0), node("Concat", ["n", "rest"], ["shape"], axis=0),
                  node("Identity", ["x"], ["i"]), node("Reshape", ["i", "shape"], ["r"]), node("Exp", ["r"], ["e"]), node("Exp", ["r"], ["f"]),
                  node("Mul", ["e", "f"], ["y"])],
                 [integers("zero", [0]), integers("rest", [-1])], [("x", [2, 3, 4])], [("y", [2, 12])])


def plain(batch="N"):
    """Nothing to improve."""
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], [weights("w", 64, 64)], [("x", [batch, 64])], [("y", [batch, 64])])
