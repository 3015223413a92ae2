"""A decoder of any number of layers with the weights of one: norms, rotary embedding and attention spelled out, as exporters do."""
import numpy as np
import onnx
from onnx import TensorProto, helper

WIDTH, HEADS, HIDDEN, LENGTH = 64, 4, 160, 16


class Decoder:
    """A model with the weights of one layer, whatever the number of layers."""

    def __init__(self, layers):
        self.nodes, self.constants, self.shared = [], [], {}
        self.data = bytearray()
        self.numbers = np.random.default_rng(1)
        x = "x"
        for layer in range(layers):
            self.layer = layer
            x = self.attention(x)
            x = self.feed_forward(x)
        self.layer = "end"
        self.nodes.append(helper.make_node("Identity", [self.norm(x, "final")], ["y"]))

    def op(self, kind, *inputs, **attributes):
        name = f"{kind}_{self.layer}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name="n" + name, **attributes))
        return name

    def small(self, value, kind=np.float32):
        array = np.asarray(value, kind)
        name = f"c{array.dtype}_{'_'.join(map(str, array.shape))}_{'_'.join(map(str, array.reshape(-1)[:8]))}"
        if name not in self.shared:
            self.shared[name] = True
            self.constants.append(onnx.numpy_helper.from_array(array, name))
        return name

    def weight(self, role, *shape):
        """A tensor of this layer's own, at the place in the file that all layers share."""
        if role not in self.shared:
            self.shared[role] = len(self.data)
            self.data += (self.numbers.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32).tobytes()
        tensor = TensorProto(name=f"{role}_{self.layer}", data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "weights.bin"), ("offset", self.shared[role]), ("length", 4 * int(np.prod(shape)))):
            tensor.external_data.add(key=key, value=str(value))
        self.constants.append(tensor)
        return tensor.name

    def norm(self, x, role):
        mean = self.op("ReduceMean", self.op("Pow", x, self.small(2)), axes=[-1], keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean, self.small(1e-5)))
        return self.op("Mul", self.op("Mul", x, self.op("Div", self.small(1), root)), self.weight(role, WIDTH))

    def heads(self, x):
        split = self.op("Reshape", x, self.small([1, LENGTH, HEADS, WIDTH // HEADS], np.int64))
        return self.op("Transpose", split, perm=[0, 2, 1, 3])

    def rotated(self, x):
        half = WIDTH // HEADS // 2
        ends = [self.small([n], np.int64) for n in (0, half, 2 * half)]
        axis = self.small([3], np.int64)
        low, high = (self.op("Slice", x, ends[k], ends[k + 1], axis) for k in (0, 1))
        turned = self.op("Concat", self.op("Neg", high), low, axis=-1)
        angle = np.outer(np.arange(LENGTH), 1e4 ** (-np.arange(half) / half))
        both = np.concatenate([angle, angle], -1)
        tables = [self.table(name, f(both)) for name, f in (("cos", np.cos), ("sin", np.sin))]
        return self.op("Add", self.op("Mul", x, tables[0]), self.op("Mul", turned, tables[1]))

    def table(self, name, values):
        if name not in self.shared:
            self.shared[name] = True
            self.constants.append(onnx.numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def attention(self, x):
        n = self.norm(x, "norm1")
        q, k, v = (self.heads(self.op("MatMul", n, self.weight(role, WIDTH, WIDTH))) for role in ("q", "k", "v"))
        q, k = self.rotated(q), self.rotated(k)
        scores = self.op("Div", self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2])), self.small(np.sqrt(WIDTH / HEADS)))
        scores = self.op("Add", scores, self.table("mask", np.triu(np.full((LENGTH, LENGTH), -1e9), 1)))
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        joined = self.op("Reshape", self.op("Transpose", mixed, perm=[0, 2, 1, 3]), self.small([1, LENGTH, WIDTH], np.int64))
        return self.op("Add", x, self.op("MatMul", joined, self.weight("o", WIDTH, WIDTH)))

    def feed_forward(self, x):
        n = self.norm(x, "norm2")
        gate = self.op("MatMul", n, self.weight("gate", WIDTH, HIDDEN))
        silu = self.op("Mul", gate, self.op("Sigmoid", gate))
        up = self.op("MatMul", n, self.weight("up", WIDTH, HIDDEN))
        return self.op("Add", x, self.op("MatMul", self.op("Mul", silu, up), self.weight("down", HIDDEN, WIDTH)))

    def save(self, path):
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, LENGTH, WIDTH]) for name in "xy")
        graph = helper.make_graph(self.nodes, "decoder", [x], [y], self.constants)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name("weights.bin").write_bytes(self.data)
        path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
        return len(self.nodes)
