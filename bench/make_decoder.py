#!/usr/bin/env python3
"""Small decoders with separate caches, written in the two ways in which exporters write them. Random weights, no network.

  bench/make_decoder.py FOLDER [--styles spelled,fused] [--precisions fp32,int4] [--seq N --past N]
Each becomes FOLDER/decoder.STYLE.PRECISION.onnx. Styles:
  spelled   as torch exports it: three products, rotations, keys repeated for the heads that share them, a mask, softmax
  fused     as onnxruntime-genai does: one packed product, GroupQueryAttention, SkipSimplifiedLayerNormalization
Precisions: fp32, and int4 (MatMulNBits in blocks of 32). Weights are the same in all. input_ids is [1, seq], a cache [1, 2, past, 64];
--seq and --past make both numbers. Where they are not given the model is for any.
"""
import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import make_deployed

HIDDEN, LAYERS, HEADS, SHARED, SIZE, INNER, WORDS, POSITIONS = 512, 4, 8, 2, 64, 1408, 4096, 2048
EPSILON = 1e-6


class Writer:
    def __init__(self, precision):
        self.precision, self.nodes, self.constants, self.count = precision, [], {}, 0

    def op(self, kind, inputs, outputs=1, domain="", **attributes):
        """A node; what it makes, or all that it makes."""
        names = [f"v{self.count + k}" for k in range(outputs)] if isinstance(outputs, int) else outputs
        self.count += len(names)
        self.nodes.append(helper.make_node(kind, inputs, names, name=f"n{len(self.nodes)}", domain=domain, **attributes))
        return names[0] if len(names) == 1 else names

    def number(self, name, values, kind=np.int64):
        self.constants.setdefault(name, np.asarray(values, kind))
        return name

    def product(self, x, name, weights, output=1):
        """x times a matrix, which is stored as the precision says."""
        if self.precision == "fp32":
            return self.op("MatMul", [x, self.number(name, weights, np.float32)], output)
        numbers, scales = make_deployed.int4_blocks(weights)
        return self.op("MatMulNBits", [x, self.number(f"{name}_q4", numbers, np.uint8), self.number(f"{name}_scales", scales, np.float32)], output,
                       domain="com.microsoft", K=weights.shape[0], N=weights.shape[1], bits=4, block_size=make_deployed.BLOCK)


def weights_of(seed=0):
    random = np.random.default_rng(seed)

    def matrix(rows, columns):
        return (random.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)
    layers = [{"q": matrix(HIDDEN, HEADS * SIZE), "k": matrix(HIDDEN, SHARED * SIZE), "v": matrix(HIDDEN, SHARED * SIZE),
               "o": matrix(HEADS * SIZE, HIDDEN), "gate": matrix(HIDDEN, INNER), "up": matrix(HIDDEN, INNER), "down": matrix(INNER, HIDDEN),
               "norm1": 1 + 0.1 * random.standard_normal(HIDDEN), "norm2": 1 + 0.1 * random.standard_normal(HIDDEN)} for _ in range(LAYERS)]
    return {"words": random.standard_normal((WORDS, HIDDEN)), "layers": layers, "norm": 1 + 0.1 * random.standard_normal(HIDDEN),
            "head": matrix(HIDDEN, WORDS)}


def lengths(w):
    """How many positions there were, and how many there are with the new ones: two scalars."""
    seq = w.op("Gather", [w.op("Shape", ["input_ids"]), w.number("one", 1)])
    past = w.op("Gather", [w.op("Shape", ["past_0_key"]), w.number("two", 2)])
    return past, w.op("Add", [past, seq])


def spelled(w, given, cos, sin):
    past, total = lengths(w)
    zero, one = w.number("zero", 0), w.number("one", 1)
    places = w.op("Range", [past, total, one])
    turns = [w.op("Gather", [w.number(name, table, np.float32), places]) for name, table in (("cos", cos), ("sin", sin))]
    cosines, sines = [w.op("Concat", [t, t], axis=-1) for t in turns]
    keys = w.op("Unsqueeze", [w.op("Range", [zero, total, one]), w.number("axis0", [0])])
    seen = w.op("LessOrEqual", [keys, w.op("Unsqueeze", [places, w.number("axis1", [1])])])
    mask = w.op("Where", [seen, w.number("open", 0, np.float32), w.number("shut", -np.inf, np.float32)])
    repeated = w.op("Concat", [w.number("repeats", [1, SHARED, HEADS // SHARED]), w.op("Unsqueeze", [total, w.number("axis0", [0])]),
                               w.number("size", [SIZE])], axis=0)

    def norm(x, name, scale):
        square = w.op("Pow", [x, w.number("square", 2, np.float32)])
        mean = w.op("Add", [w.op("ReduceMean", [square], axes=[-1], keepdims=1), w.number("epsilon", EPSILON, np.float32)])
        return w.op("Mul", [w.op("Div", [x, w.op("Sqrt", [mean])]), w.number(name, scale, np.float32)])

    def heads(x, count):
        return w.op("Transpose", [w.op("Reshape", [x, w.number(f"heads{count}", [0, 0, count, SIZE])])], perm=[0, 2, 1, 3])

    def turned(x):
        low, high = w.op("Split", [x, w.number("halves", [SIZE // 2, SIZE // 2])], 2, axis=-1)
        other = w.op("Concat", [w.op("Neg", [high]), low], axis=-1)
        return w.op("Add", [w.op("Mul", [x, cosines]), w.op("Mul", [other, sines])])

    def repeat(x):
        wide = w.op("Expand", [w.op("Unsqueeze", [x, w.number("axis2", [2])]), repeated])
        return w.op("Reshape", [wide, w.number("all_heads", [0, HEADS, -1, SIZE])])
    x = w.op("Gather", [w.number("words", given["words"], np.float32), "input_ids"])
    for k, layer in enumerate(given["layers"]):
        h = norm(x, f"norm1_{k}", layer["norm1"])
        q, key, value = [w.product(h, f"{name}_{k}", layer[name]) for name in "qkv"]
        keys = w.op("Concat", [f"past_{k}_key", turned(heads(key, SHARED))], [f"present_{k}_key"], axis=2)
        values = w.op("Concat", [f"past_{k}_value", heads(value, SHARED)], [f"present_{k}_value"], axis=2)
        scores = w.op("MatMul", [turned(heads(q, HEADS)), w.op("Transpose", [repeat(keys)], perm=[0, 1, 3, 2])])
        scores = w.op("Add", [w.op("Mul", [scores, w.number("scale", SIZE ** -0.5, np.float32)]), mask])
        seen = w.op("MatMul", [w.op("Softmax", [scores], axis=-1), repeat(values)])
        seen = w.op("Reshape", [w.op("Transpose", [seen], perm=[0, 2, 1, 3]), w.number("hidden", [0, 0, HEADS * SIZE])])
        x = w.op("Add", [x, w.product(seen, f"o_{k}", layer["o"])])
        h = norm(x, f"norm2_{k}", layer["norm2"])
        gate = w.product(h, f"gate_{k}", layer["gate"])
        inner = w.op("Mul", [w.op("Mul", [gate, w.op("Sigmoid", [gate])]), w.product(h, f"up_{k}", layer["up"])])
        x = w.op("Add", [x, w.product(inner, f"down_{k}", layer["down"])])
    w.product(norm(x, "norm", given["norm"]), "head", given["head"], ["logits"])


def fused(w, given, cos, sin):
    _, total = lengths(w)
    last = w.op("Sub", [w.op("Unsqueeze", [total, w.number("axis0", [0])]), w.number("one_of", [1])])
    last, total = w.op("Cast", [last], to=TensorProto.INT32), w.op("Cast", [total], to=TensorProto.INT32)
    tables = [w.number("cos", cos, np.float32), w.number("sin", sin, np.float32)]

    def skip(x, y, name, scale):
        names = [f"{name}_out", "", "", f"{name}_sum"]
        w.op("SkipSimplifiedLayerNormalization", [x, y, w.number(name, scale, np.float32)], names, domain="com.microsoft", epsilon=EPSILON)
        return names[0], names[3]
    x = w.op("Gather", [w.number("words", given["words"], np.float32), "input_ids"])
    h = w.op("SimplifiedLayerNormalization", [x, w.number("norm1_0", given["layers"][0]["norm1"], np.float32)], axis=-1, epsilon=EPSILON)
    for k, layer in enumerate(given["layers"]):
        packed = w.product(h, f"qkv_{k}", np.concatenate([layer["q"], layer["k"], layer["v"]], axis=1))
        names = [f"attention_{k}", f"present_{k}_key", f"present_{k}_value"]
        w.op("GroupQueryAttention", [packed, "", "", f"past_{k}_key", f"past_{k}_value", last, total, *tables], names, domain="com.microsoft",
             num_heads=HEADS, kv_num_heads=SHARED, do_rotary=1, scale=SIZE ** -0.5)
        h, x = skip(x, w.product(names[0], f"o_{k}", layer["o"]), f"norm2_{k}", layer["norm2"])
        gate = w.product(h, f"gate_{k}", layer["gate"])
        inner = w.op("Mul", [w.op("Mul", [gate, w.op("Sigmoid", [gate])]), w.product(h, f"up_{k}", layer["up"])])
        scale = given["layers"][k + 1]["norm1"] if k + 1 < LAYERS else given["norm"]
        h, x = skip(x, w.product(inner, f"down_{k}", layer["down"]), f"norm1_{k + 1}", scale)
    w.product(h, "head", given["head"], ["logits"])


def make(style, precision, seq=None, past=None):
    angles = np.outer(np.arange(POSITIONS), 1 / 10000 ** (np.arange(0, SIZE, 2) / SIZE))
    writer = Writer(precision)
    {"spelled": spelled, "fused": fused}[style](writer, weights_of(), np.cos(angles), np.sin(angles))
    seq, total, past = seq or "seq", "total" if past is None or seq is None else past + seq, "past" if past is None else past
    caches = [(k, part) for k in range(LAYERS) for part in ("key", "value")]

    def port(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)
    inputs = [port("input_ids", TensorProto.INT64, [1, seq])]
    inputs += [port(f"past_{k}_{part}", TensorProto.FLOAT, [1, SHARED, past, SIZE]) for k, part in caches]
    outputs = [port("logits", TensorProto.FLOAT, [1, seq, WORDS])]
    outputs += [port(f"present_{k}_{part}", TensorProto.FLOAT, [1, SHARED, total, SIZE]) for k, part in caches]
    graph = helper.make_graph(writer.nodes, "decoder", inputs, outputs, [numpy_helper.from_array(np.asarray(v), n) for n, v in writer.constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    return model


def feeds_for(seq, past, seed=99):
    random = np.random.default_rng(seed)
    out = {"input_ids": random.integers(0, WORDS, (1, seq))}
    for k in range(LAYERS):
        for part in ("key", "value"):
            out[f"past_{k}_{part}"] = (0.3 * random.standard_normal((1, SHARED, past, SIZE))).astype(np.float32)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--styles", default="spelled,fused")
    parser.add_argument("--precisions", default="fp32,int4")
    parser.add_argument("--seq", type=int)
    parser.add_argument("--past", type=int)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for style in options.styles.split(","):
        for precision in options.precisions.split(","):
            path = options.folder / f"decoder.{style}.{precision}.onnx"
            onnx.save(make(style, precision, options.seq, options.past), path)
            print(f"{path} {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
