#!/usr/bin/env python3
# nightly: --blocks 12 --seed 2 --least 0.8 | unsanitized
"""Unlisted linear blocks: random sums and chains of convolutions, pools, scalings, slices, pads, reshapes, shuffles, identities.

  bench/linear_blocks.py [--blocks 200] [--seed 1] [--judge any|cost] [--least 0.95] [--verbose] [--keep DIR]
Each block is a small model of its own (block k has seed SEED·1000 + k) that is optimized without measuring; `any` also ignores the
analytic cost. A block is collapsed and proved, or left alone with the reason. Which blocks are one convolution is known by how they
were drawn: nothing but 1x1 operators without bias before the one place that looks around, or all padding in front. What was written
is checked (isomer check) and run by ONNX Runtime beside the original: relative error at most 1e-5.
Fails if anything is wrong, or less than --least of the blocks that are one convolution were found.
"""
import argparse
import collections
import json
import pathlib
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import _paths  # noqa: F401
import programs

WANTED = 0.95
TOLERANCE = 1e-5


class Block:
    """A model that grows. A value is (name, channels, spatial sizes)."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.nodes, self.constants, self.used = [], [], []
        self.rank = self.draw.choices((1, 2, 3), (2, 6, 2))[0]
        self.batch = self.draw.choice((1, 1, 2, "N"))
        self.one = True  # one convolution by construction
        self.why = set()  # why not

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def weights(self, *shape):
        return self.constant((self.numbers.normal(size=shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32))

    def op(self, kind, inputs, **attributes):
        self.used.append(kind)
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"{kind}_{len(self.nodes)}", **attributes))
        return name

    def conv(self, x, outputs, kernel, pad=0, stride=1, dilation=1, group=1, bias=False):
        name, channels, sizes = x
        inputs = [name, self.weights(outputs, channels // group, *[kernel] * self.rank)]
        if bias:
            inputs.append(self.weights(outputs))
        made = self.op("Conv", inputs, kernel_shape=[kernel] * self.rank, pads=[pad] * 2 * self.rank, strides=[stride] * self.rank,
                       dilations=[dilation] * self.rank, group=group)
        return made, outputs, [(n + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1 for n in sizes]

    def pool(self, x, kernel, pad=0, stride=1, count=1):
        made = self.op("AveragePool", [x[0]], kernel_shape=[kernel] * self.rank, pads=[pad] * 2 * self.rank,
                       strides=[stride] * self.rank, count_include_pad=count)
        return made, x[1], [(n + 2 * pad - kernel) // stride + 1 for n in x[2]]

    def pad(self, x, amount):
        pads = [0, 0, *[amount] * self.rank] * 2
        return self.op("Pad", [x[0], self.constant(np.array(pads, np.int64))]), x[1], [n + 2 * amount for n in x[2]]

    def batch_norm(self, x):
        c = x[1]
        positive = [self.constant((0.5 + self.numbers.random(c)).astype(np.float32)) for _ in range(2)]
        made = self.op("BatchNormalization", [x[0], positive[0], self.weights(c), self.weights(c), positive[1]])
        return made, c, x[2]

    def scale(self, x):
        shape = self.draw.choice(((1,), (x[1], *[1] * self.rank), (1, x[1], *[1] * self.rank)))
        factor = self.weights(*shape)
        if self.draw.random() < 0.3:
            return self.op("Div", [x[0], self.constant((1.5 + self.numbers.random(shape)).astype(np.float32))]), x[1], x[2]
        return self.op("Mul", self.draw.sample([x[0], factor], 2)), x[1], x[2]

    def shift(self, x):
        return self.op("Add", [x[0], self.weights(x[1], *[1] * self.rank)]), x[1], x[2]

    def slice_channels(self, x):
        """Some channels, and the rest, together again in another order."""
        at = self.draw.randrange(1, x[1])
        parts = []
        for low, high in ((at, x[1]), (0, at)):
            indices = [self.constant(np.array([v], np.int64)) for v in (low, high, 1)]
            parts.append(self.op("Slice", [x[0], *indices]))
        return self.op("Concat", parts, axis=1), x[1], x[2]

    def split_channels(self, x):
        at = self.draw.randrange(1, x[1])
        parts = [f"v{len(self.nodes)}", f"v{len(self.nodes)}b"]
        self.used.append("Split")
        self.nodes.append(helper.make_node("Split", [x[0], self.constant(np.array([at, x[1] - at], np.int64))], parts, axis=1))
        return self.op("Concat", parts[::-1], axis=1), x[1], x[2]

    def shuffle(self, x):
        groups = self.draw.choice([g for g in (2, 3, 4) if x[1] % g == 0] or [1])
        batch = self.draw.choice((0, -1)) if self.batch == "N" else self.draw.choice((0, -1, self.batch))
        fixed = list(x[2]) if batch == -1 or self.draw.random() < 0.7 else [*x[2][:-1], -1]
        shapes = [[batch, groups, x[1] // groups, *fixed], [batch, x[1], *fixed]]
        perm = [0, 2, 1, *range(3, 3 + self.rank)]
        first = self.op("Reshape", [x[0], self.constant(np.array(shapes[0], np.int64))])
        turned = self.op("Transpose", [first], perm=perm)
        return self.op("Reshape", [turned, self.constant(np.array(shapes[1], np.int64))]), x[1], x[2]

    def last_layout(self, x):
        """A matrix product over channels, in the layout that has them last."""
        outputs = self.draw.choice((x[1], 4, 6))
        there = [0, *range(2, 2 + self.rank), 1]
        back = [0, 1 + self.rank, *range(1, 1 + self.rank)]
        last = self.op("MatMul", [self.op("Transpose", [x[0]], perm=there), self.weights(x[1], outputs)])
        return self.op("Transpose", [last], perm=back), outputs, x[2]

    def gather_channels(self, x):
        order = self.draw.sample(range(x[1]), x[1])
        return self.op("Gather", [x[0], self.constant(np.array(order, np.int64))], axis=1), x[1], x[2]

    def pointwise(self, x, with_bias):
        """An operator that looks at one position only."""
        choices = [self.scale, self.slice_channels, self.split_channels, self.shuffle, self.gather_channels, self.last_layout,
                   lambda v: self.conv(v, self.draw.choice((v[1], 4, 6)), 1, bias=with_bias and self.draw.random() < 0.5),
                   lambda v: (self.op("Identity", [v[0]]), v[1], v[2]), lambda v: (self.op("Neg", [v[0]]), v[1], v[2])]
        if with_bias:
            choices += [self.batch_norm, self.shift]
        return self.draw.choice(choices)(x)

    def around(self, x, stride, keep):
        """An operator that looks around, with all padding that it needs, as one or two nodes."""
        kernel = self.draw.choice((1, 3, 3, 5))
        dilation = self.draw.choice((1, 1, 1, 2)) if kernel == 3 else 1
        pad = (kernel - 1) * dilation // 2 if keep else 0
        kind = self.draw.choice(("conv", "conv", "grouped", "depthwise", "pool", "padded"))
        outputs = self.draw.choice((x[1], 4, 8))
        if kind == "pool" and kernel > 1 and dilation == 1:
            return self.pool(x, kernel, pad, stride)
        if kind == "depthwise":
            return self.conv(x, x[1] * self.draw.choice((1, 2)), kernel, pad, stride, dilation, group=x[1])
        if kind == "grouped" and x[1] % 2 == 0:
            return self.conv(x, outputs, kernel, pad, stride, dilation, group=2)
        if kind == "padded" and pad:
            return self.conv(self.pad(x, pad), outputs, kernel, 0, stride, dilation)
        return self.conv(x, outputs, kernel, pad, stride, dilation, bias=self.draw.random() < 0.5)

    def space_to_depth(self, x):
        if self.rank == 2 and all(n % 2 == 0 for n in x[2]):
            return self.op("SpaceToDepth", [x[0]], blocksize=2), 4 * x[1], [n // 2 for n in x[2]]
        return self.conv(x, 4, 2, 0, 2)

    def to_channels(self, x, channels):
        return x if x[1] == channels else self.conv(x, channels, 1)

    def branch(self, x, stride, channels):
        for _ in range(self.draw.choice((0, 0, 1))):
            x = self.pointwise(x, with_bias=False)
        x = self.around(x, stride, keep=True)
        for _ in range(self.draw.choice((0, 1, 2))):
            x = self.pointwise(x, with_bias=True)
        return self.to_channels(x, channels)

    # The kinds of blocks.
    def sum_of_branches(self, x):
        stride, channels = self.draw.choice((1, 1, 1, 2)), self.draw.choice((4, 6, 8))
        parts = [self.branch(x, stride, channels) for _ in range(self.draw.choice((2, 2, 3)))]
        if stride == 1 and x[1] == channels and self.draw.random() < 0.5:
            parts.append(x)
        names = [p[0] for p in parts]
        if self.draw.random() < 0.3:
            return self.op("Sum", names), channels, parts[0][2]
        total = names[0]
        for name in names[1:]:
            total = self.op(self.draw.choice(("Add", "Add", "Sub")), [total, name])
        return total, channels, parts[0][2]

    def concat_of_branches(self, x):
        stride = self.draw.choice((1, 1, 2))
        parts = [self.branch(x, stride, self.draw.choice((4, 6))) for _ in range(2)]
        return self.op("Concat", [p[0] for p in parts], axis=1), sum(p[1] for p in parts), parts[0][2]

    def chain(self, x):
        """Looks around twice or more; all padding is in front."""
        if self.draw.random() < 0.6:
            x = self.pad(x, self.draw.choice((1, 2)))
        for n in range(self.draw.choice((2, 2, 3))):
            x = self.around(x, self.draw.choice((1, 1, 2)) if n == 0 else 1, keep=False)
            if self.draw.random() < 0.5:
                x = self.pointwise(x, with_bias=True)
        return x

    def focus(self, x):
        x = self.space_to_depth(x)
        return self.pointwise(self.around(x, 1, keep=False), with_bias=True)

    def padded_twice(self, x):
        self.one = False
        self.why.add("border")
        x = self.conv(x, x[1], 3, 1)
        return self.conv(x, 4, 3, 1)

    def bias_before_pad(self, x):
        self.one = False
        self.why.add("border")
        return self.conv(self.shift(x), 4, 3, 1)

    def uncounted_pool(self, x):
        self.one = False
        self.why.add("border")
        return self.scale(self.pool(self.conv(x, 4, 1), 3, 1, 1, count=0))

    def bent(self, x):
        self.one = False
        self.why.add("not linear")
        x = self.conv(x, x[1], 3, 1)
        return self.conv((self.op(self.draw.choice(("Relu", "Sigmoid", "Abs")), [x[0]]), x[1], x[2]), 4, 1)

    def model(self):
        channels, sizes = self.draw.choice((3, 4, 6, 8)), [self.draw.choice((12, 13, 16)) for _ in range(self.rank)]
        if self.rank == 3:
            sizes = [s - 3 for s in sizes]
        kind, = self.draw.choices((self.sum_of_branches, self.concat_of_branches, self.chain, self.focus, self.padded_twice,
                                   self.bias_before_pad, self.uncounted_pool, self.bent), (10, 4, 6, 2, 1, 1, 1, 1))
        self.kind = kind.__name__
        value = kind(("x", channels, sizes))
        self.sizes = value[2]
        if len(self.nodes) < 2:
            value = self.scale(value)
        out = self.op("Relu", [value[0]])
        shape = [self.batch, channels, *sizes]
        graph = helper.make_graph(self.nodes, "block", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(out, TensorProto.FLOAT, [self.batch, value[1], *value[2]])],
                                  self.constants)
        self.feed = self.numbers.normal(size=[3 if n == "N" else n for n in shape]).astype(np.float32)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def outputs_of(path, feed):
    import onnxruntime
    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": feed})[0]


def is_model(seed):
    """Whether no kernel of the block is larger than what it looks at."""
    block = Block(seed)
    block.model()
    return min(block.sizes) >= 1


def judge(seed, which, folder):
    """(block, verdict, reason, error)"""
    block = Block(seed)
    model = block.model()
    onnx.checker.check_model(model, full_check=True)
    source, out = folder / f"{seed}.onnx", folder / f"{seed}_out.onnx"
    onnx.save(model, source)
    ran = programs.run([programs.program("isomer"), "optimize", str(source), "-o", str(out), "--judge", which, "--without",
                        "commute,reassociate,fastpath,bilinear", "--budget", "10s", "--json", "--quiet"], 120)
    if ran.code != 0:
        return block, "left alone" if ran.code == -9 else "WRONG", f"exit {ran.code} after {ran.seconds:.0f} s: {ran.stderr.strip()[-200:]}", None
    answer = json.loads(ran.stdout)
    checked = programs.run([programs.program("isomer"), "check", str(source), str(out), str(out) + ".cert"], 120)
    if checked.code != 0:
        return block, "WRONG", f"check: {(checked.stdout + checked.stderr).strip()[-200:]}", None
    left = [n.op_type for n in onnx.load(out).graph.node]
    before, after = outputs_of(source, block.feed), outputs_of(out, block.feed)
    error = float(np.abs(before - after).max() / max(np.abs(before).max(), 1e-30))
    if error > TOLERANCE:
        return block, "WRONG", f"error {error:.1e}", error
    if left == ["Conv", "Relu"] or left == ["MatMul", "Relu"] or left == ["MatMul", "Add", "Relu"]:
        return block, "collapsed", "", error
    reasons = answer["not_taken"] + answer.get("left_alone", []) or [answer["reason"]]
    return block, "in part" if answer["result"] == "improved" else "left alone", " | ".join(reasons), error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--judge", default="any")
    parser.add_argument("--least", type=float, default=WANTED)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="isomer_blocks_") as folder:
        folder = arguments.keep or pathlib.Path(folder)
        folder.mkdir(exist_ok=True)
        seeds = [seed for seed in range(arguments.seed * 1000, arguments.seed * 1000 + arguments.blocks) if is_model(seed)]
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda seed: judge(seed, arguments.judge, folder), seeds))

    print(f"seeds {seeds[0]} to {seeds[-1]}, --judge {arguments.judge}")
    rows = [(seed, block.kind, f"{block.rank}-D", block.batch, len(block.nodes) - 1, verdict, reason[:150])
            for seed, (block, verdict, reason, _) in zip(seeds, results)
            if verdict == "WRONG" or arguments.verbose or (block.one and verdict != "collapsed")]
    programs.print_table(("seed", "block", "rank", "batch", "nodes", "verdict", "reason"), rows)
    table = collections.Counter((block.kind, verdict) for block, verdict, _, _ in results)
    kinds = sorted({kind for kind, _ in table})
    verdicts = ("collapsed", "in part", "left alone", "WRONG")
    print()
    programs.print_table(("block", *verdicts), [(kind, *[table[kind, v] for v in verdicts]) for kind in kinds])
    ones = [verdict for block, verdict, _, _ in results if block.one]
    found = ones.count("collapsed")
    wrong = sum(verdict == "WRONG" for _, verdict, _, _ in results)
    others = sum(verdict == "collapsed" for block, verdict, _, _ in results if not block.one)
    worst = max((error for _, _, _, error in results if error is not None), default=0)
    print(f"\none convolution by construction: {found} of {len(ones)} found ({100 * found / max(1, len(ones)):.1f} %); of the other "
          f"{len(results) - len(ones)}, {others} collapsed; worst relative error {worst:.1e}; wrong: {wrong}")
    return 1 if wrong or found < arguments.least * len(ones) else 0


if __name__ == "__main__":
    sys.exit(main())
