"""Models that `optimize --kernels` makes faster, and how far its outputs may be from the runtime's."""
import numpy as np
import onnx
from onnx import helper, numpy_helper

TOLERANCE = 1e-5  # of the largest value: sums are added up in another order


def normal(*shape, seed=5):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def chain(rows=64, seed=5, blocks=6):
    """Products with many small steps behind them: the runtime runs through the rows once for each step, ours once for all."""
    body, value, constants = "", "x", {}
    for k in range(blocks):
        constants |= {f"w{k}": normal(24, 24, seed=seed + k) / 5, f"c{k}": normal(24, seed=seed + k), f"d{k}": normal(24, seed=seed + k + 100)}
        body += f"p{k} = MatMul ({value}, w{k}) b{k} = Add (p{k}, c{k}) t{k} = Relu (b{k}) s{k} = Mul (t{k}, d{k}) n{k} = Neg (b{k}) m{k} = Max (s{k}, n{k}) "
        body += f"a{k} = Abs (m{k}) q{k} = Sub (a{k}, c{k}) r{k} = Add (q{k}, {value}) "
        value = f"r{k}"
    body += f"y = Relu ({value})"
    graph = helper.make_graph(
        list(onnx.parser.parse_graph(f"g () => () {{ {body} }}").node), "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [rows, 24])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [rows, 24])], [numpy_helper.from_array(a, n) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
