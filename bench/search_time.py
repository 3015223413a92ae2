#!/usr/bin/env python3
"""How long the search takes, and what grows with the size of a model: `isomer optimize --judge cost`.

  tests/search_time.py [--nodes 1000,10000] [--zoo FOLDER] [--strategy NAME] [--check]
A decoder is generated: norms, rotary embedding and attention spelled out, as exporters do. All of its layers map one region of one file, so that
ten thousand nodes need the weights of one layer. With --zoo, the models of that folder with 500 to 1500 nodes are searched too. Per model: nodes,
seconds, unique regions (groups of equal steps), states, proofs that were made and those that were there already.
--check, the short form: a decoder and one of twice its layers need the same proofs, have the same unique regions, and the second takes less than three
times as long as the first.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

import programs

WIDTH, HEADS, HIDDEN, LENGTH = 64, 4, 160, 16
MOST_GROWTH = 3.0  # of the time, for twice the layers; 2 is linear


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


def searched(path, strategy):
    """Nodes are the caller's; the figures of one run."""
    out = path.with_suffix(".out.onnx")
    command = [programs.program("isomer"), "optimize", str(path), "-o", str(out), "--judge", "cost", "--json", "--quiet"]
    run = programs.run(command + (["--strategy", strategy] if strategy else []), timeout=550)
    for left in (out, pathlib.Path(str(out) + ".cert")):
        left.unlink(missing_ok=True)
    if run.code != 0:
        sys.exit(f"{path}: {run.stderr}")
    return run, json.loads(run.stdout)


def row(name, nodes, run, report):
    s = report["search"]
    print(f"{name:28}{nodes:7}{run.seconds:8.1f}{s['regions']:9}{s['states']:8}{s['proofs']:8}{s['cache_hits']:8}  "
          + ", ".join(f"{k['count']} {k['kind']}" for k in report["steps"]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="1000,10000")
    parser.add_argument("--zoo", type=pathlib.Path)
    parser.add_argument("--strategy")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    print(f"{'model':28}{'nodes':>7}{'s':>8}{'regions':>9}{'states':>8}{'proofs':>8}{'hits':>8}  steps")
    per_layer = len(Decoder(2).nodes) - len(Decoder(1).nodes)
    with tempfile.TemporaryDirectory(prefix="isomer_search_") as folder:
        results = []
        layer_counts = (6, 12) if options.check else [max(1, int(n) // per_layer) for n in options.nodes.split(",")]
        for layers in layer_counts:
            path = pathlib.Path(folder, f"decoder_{layers}.onnx")
            nodes = Decoder(layers).save(path)
            results.append(searched(path, options.strategy))
            row(path.stem, nodes, *results[-1])
        for path in sorted(options.zoo.glob("*.onnx")) if options.zoo else ():
            nodes = len(onnx.load(path, load_external_data=False).graph.node)
            if 500 <= nodes <= 1500:
                scratch = pathlib.Path(folder, path.name)
                scratch.symlink_to(path.resolve())
                row(path.stem, nodes, *searched(scratch, options.strategy))
                scratch.unlink()
    if not options.check:
        return
    (small, one), (large, two) = results
    one, two = one["search"], two["search"]
    failures = [f"{what}: {one[what]} and {two[what]}" for what in ("regions", "proofs") if one[what] != two[what]]
    if two["cache_hits"] <= one["cache_hits"]:
        failures.append(f"hits do not grow: {one['cache_hits']} and {two['cache_hits']}")
    if large.seconds > MOST_GROWTH * small.seconds:
        failures.append(f"{small.seconds:.2f} s and {large.seconds:.2f} s for twice the layers")
    sys.exit("\n".join(failures) or None)


if __name__ == "__main__":
    main()
