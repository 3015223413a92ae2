"""A small ONNX builder in which any operator is a method: g.Conv(x, weight, pads=[1, 1, 1, 1]). Arrays become constants.

A structure is a function that makes a graph as an exporter writes it, an equal one by hand, and inputs; `structure` lists it.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

STRUCTURES = {}
ONE = numpy_helper.from_array(np.ones(1, np.float32))  # the value of ConstantOfShape that makes ones
END = np.iinfo(np.int64).max  # of a slice, as torch writes it


def structure(origin, fact):
    """Lists a function that answers (exported, hand-made, feeds): which network and exporter write this, and what must be known to improve it."""
    def listed(make):
        assert make.__name__ not in STRUCTURES
        STRUCTURES[make.__name__] = (make, origin, fact)
        return make
    return listed


def both(make, feeds):
    """What most structures answer: make(by_hand) is a model."""
    return make(False), make(True), feeds


def ints(*values):
    return np.array(values, np.int64)


def number(value):
    return np.array(value, np.float32)


class Graph:
    """A graph that grows. torch: small constants are nodes, as torch.onnx.export writes them; else all are initializers (tf2onnx, dynamo)."""

    def __init__(self, opset=17, torch=True):
        self.opset, self.torch, self.nodes, self.constants, self.inputs, self.count = opset, torch, [], [], [], 0

    def new(self, kind):
        self.count += 1
        return f"/m/{kind}_{self.count}_output_0" if self.torch else f"{kind}_{self.count}"

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def constant(self, array):
        array = np.asarray(array)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        array = np.ascontiguousarray(array).reshape(array.shape)
        if self.torch and array.size <= 64:
            return self.op("Constant", value=numpy_helper.from_array(array))
        name = self.new("weight")
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        inputs = [x if isinstance(x, str) else self.constant(x) for x in inputs if x is not None]
        names = [self.new(kind) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=f"{names[0]}_node", **attributes))
        return names[0] if outputs == 1 else names

    def __getattr__(self, kind):
        if not kind[0].isupper():
            raise AttributeError(kind)
        return lambda *inputs, **attributes: self.op(kind, *inputs, **attributes)

    # ---- operators whose axes are attributes or inputs, by opset, and short forms ----

    def reduce(self, kind, x, axes, keepdims=1):
        if self.opset >= (13 if kind == "Sum" else 18):
            return self.op(f"Reduce{kind}", x, ints(*axes), keepdims=keepdims)
        return self.op(f"Reduce{kind}", x, axes=list(axes), keepdims=keepdims)

    def unsqueeze(self, x, *axes):
        return self.Unsqueeze(x, ints(*axes))

    def squeeze(self, x, *axes):
        return self.Squeeze(x, ints(*axes))

    def reshape(self, x, *shape):
        return self.Reshape(x, ints(*shape))

    def transpose(self, x, *order):
        return self.Transpose(x, perm=list(order))

    def slice(self, x, axis, begin, end=END, step=1):
        return self.Slice(x, ints(begin), ints(end), ints(axis), ints(step))

    def split(self, x, axis, *sizes):
        return self.Split(x, ints(*sizes), axis=axis, outputs=len(sizes))

    def concat(self, *values, axis=1):
        return self.Concat(*values, axis=axis)

    def conv(self, x, weight, bias=None, stride=1, pad=0, group=1, dilation=1):
        """One number for all axes, or one per axis; pads also one per side."""
        shape = weight.shape[2:]
        rank = len(shape)
        each = lambda v: [v] * rank if np.isscalar(v) else list(v)
        pads = [pad] * 2 * rank if np.isscalar(pad) else list(pad) * (2 if len(pad) == rank else 1)
        return self.op("Conv", x, weight, bias, kernel_shape=list(shape), strides=each(stride), pads=pads, group=group, dilations=each(dilation))

    def linear(self, x, weight, bias=None):
        y = self.MatMul(x, weight)
        return y if bias is None else self.Add(bias, y) if self.torch else self.Add(y, bias)

    def layer_norm(self, x, scale, bias):
        return self.LayerNormalization(x, scale, bias, axis=-1, epsilon=1e-5)

    def heads_of(self, x, heads, width):
        """[b, n, width] as [b, heads, n, width / heads]"""
        return self.transpose(self.reshape(x, 0, -1, heads, width // heads), 0, 2, 1, 3)

    def extents(self, x, *wanted):
        """A shape as torch writes it: (axis,) is that extent of x, by a Gather of its Shape; numbers are as they are."""
        shape = self.Shape(x)
        return self.Concat(*[self.unsqueeze(self.Gather(shape, np.array(w[0], np.int64)), 0) if isinstance(w, tuple) else self.constant(ints(w))
                             for w in wanted], axis=0)

    def model(self, *outputs, kinds=(), shape=None):
        """The model; shape: of all outputs, where ONNX does not infer it."""
        rename = {name: f"out{k}" for k, name in enumerate(outputs)}
        for node in self.nodes:
            for names in (node.input, node.output):
                names[:] = [rename.get(name, name) for name in names]
        kinds = kinds or [TensorProto.FLOAT] * len(outputs)
        declared = [helper.make_tensor_value_info(f"out{k}", kind, shape) for k, kind in enumerate(kinds)]
        graph = helper.make_graph(self.nodes, "main_graph", self.inputs, declared, self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8 if self.opset < 19 else 9,
                                 producer_name="pytorch" if self.torch else "exporter")
        inferred = onnx.shape_inference.infer_shapes(made, data_prop=True)
        for mine, found in zip(made.graph.output, inferred.graph.output):
            if not shape and found.type.tensor_type.HasField("shape"):
                mine.CopyFrom(found)
        onnx.checker.check_model(made)
        return made


class Draw:
    """Numbers of chance, the same ones in every run."""

    def __init__(self, seed=0):
        self.numbers = np.random.default_rng(seed)

    def data(self, *shape, scale=1.0):
        return (self.numbers.standard_normal(shape) * scale).astype(np.float32)

    def conv(self, *shape):
        """A convolution's weight, scaled by what one output reads."""
        return self.data(*shape, scale=1 / np.sqrt(np.prod(shape[1:])))

    def matrix(self, rows, columns):
        return self.data(rows, columns, scale=1 / np.sqrt(rows))

    def vector(self, size):
        return self.data(size, scale=0.1)

    def around_one(self, size):
        return (0.5 + self.numbers.random(size)).astype(np.float32)

    def below(self, limit, *shape):
        return self.numbers.integers(0, limit, shape).astype(np.int64)
