"""`isomer compile`: small models become libraries whose outputs are those of ONNX Runtime; what can't be compiled is said.

Cases are compiled together, since each call of a C++ compiler takes a second: a case has inputs and outputs of its own.
"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import _paths  # noqa: F401
import modules
import programs

isomer = programs.program("isomer")
# Relative to the largest value: sums are added in another order, and exp, tanh and erf are other polynomials than the runtime's.
TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12, np.dtype(np.float16): 2e-3}
draw = np.random.default_rng(3)


def normal(*shape, dtype=np.float32):
    return draw.standard_normal(shape).astype(dtype)


def integers(low, high, *shape, dtype=np.int64):
    return draw.integers(low, high, shape).astype(dtype)


class Case:
    """Nodes as text, their inputs and constants as arrays, the names of their outputs with types that are not float's."""

    def __init__(self, body, inputs, outputs, constants=None):
        self.nodes, self.inputs, self.constants = list(onnx.parser.parse_graph(f"g () => () {{ {body} }}").node), inputs, constants or {}
        self.outputs = dict((o.split(":") + ["float"])[:2] for o in outputs.split())

    def renamed(self, prefix):
        """With names that no other case has."""
        def named(names):
            return [n and prefix + n for n in names]

        for node in self.nodes:
            node.input[:], node.output[:] = named(node.input), named(node.output)
        for field in ("inputs", "outputs", "constants"):
            setattr(self, field, {prefix + n: v for n, v in getattr(self, field).items()})
        return self


def model_of(cases, opset=18, open_sizes=()):
    """All cases as one model. `open_sizes`: inputs whose first axis is called N."""
    def value(name, array):
        shape = ["N", *array.shape[1:]] if name in open_sizes else array.shape
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape)

    inputs = [value(name, array) for case in cases for name, array in case.inputs.items()]
    outputs = [helper.make_tensor_value_info(name, getattr(TensorProto, kind.upper()), None) for case in cases for name, kind in case.outputs.items()]
    constants = [numpy_helper.from_array(np.asarray(array), name) for case in cases for name, array in case.constants.items()]
    graph = helper.make_graph([node for case in cases for node in case.nodes], "g", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


class Compiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="isomer_compile_")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def save(self, model):
        onnx.save(model, self.path / "model.onnx")
        return self.path / "model.onnx"

    def module(self, model, *options):
        ran = modules.compile_model(self.save(model), self.path / "compiled", *options)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return modules.load(self.path / "compiled")

    def agree(self, *cases, opset=18, options=()):
        cases = [case.renamed(f"c{k}_") for k, case in enumerate(cases)]
        feeds = {name: array for case in cases for name, array in case.inputs.items()}
        module = self.module(model_of(cases, opset), *options)
        got = module(**feeds)
        for name, expected in zip(got, modules.session(self.path / "model.onnx").run(None, feeds), strict=True):
            with self.subTest(output=name):
                self.assertLessEqual(modules.distance(expected, got[name]), TOLERANCE.get(expected.dtype, 0), f"{expected}\n{got[name]}")


class Agrees(Compiles):
    def test_convolutions(self):
        def conv(options, image, weights, bias=True):
            x = normal(*image)
            w = normal(*weights) / np.float32(np.sqrt(np.prod(weights[1:])))
            constants = {"w": w, "b": normal(weights[0])} if bias else {"w": w}
            return Case(f"y = Conv {options and f'<{options}>'} ({', '.join(['x', *constants])})", {"x": x}, "y", constants)

        self.agree(
            conv("pads = [1, 1, 1, 1]", (1, 16, 14, 14), (32, 16, 3, 3)),
            conv("pads = [1, 1, 1, 1]", (2, 64, 28, 28), (64, 64, 3, 3)),
            conv("strides = [2, 2], pads = [3, 3, 3, 3]", (1, 3, 33, 31), (16, 3, 7, 7)),
            conv("pads = [0, 1, 2, 0]", (1, 5, 9, 11), (7, 5, 3, 2), bias=False),
            conv("group = 4, pads = [1, 1, 1, 1]", (1, 16, 10, 10), (32, 4, 3, 3)),
            conv("group = 24, pads = [1, 1, 1, 1]", (1, 24, 15, 15), (24, 1, 3, 3)),
            conv("group = 24, strides = [2, 2], pads = [2, 2, 2, 2]", (1, 24, 15, 15), (24, 1, 5, 5)),
            conv("group = 8, pads = [1, 1, 1, 1]", (1, 8, 9, 9), (16, 1, 3, 3)),
            # channels that are no multiple of 16, or fewer; short rows, which have no zeros around them; long windows
            conv("group = 44, pads = [2, 2, 2, 2]", (1, 44, 7, 7), (44, 1, 5, 5)),
            conv("group = 11, strides = [2, 2], pads = [3, 3, 3, 3]", (1, 11, 29, 29), (11, 1, 7, 7)),
            conv("group = 88, pads = [3, 3, 3, 3]", (1, 88, 14, 14), (88, 1, 7, 7)),
            conv("pads = [0, 0, 0, 0]", (1, 11, 13, 13), (11, 11, 1, 1)),
            conv("dilations = [2, 3], pads = [2, 3, 2, 3]", (1, 8, 13, 17), (16, 8, 3, 3)),
            conv("auto_pad = \"SAME_UPPER\", strides = [2, 2]", (1, 8, 10, 11), (8, 8, 3, 3)),
            conv("", (3, 20, 7, 5), (33, 20, 1, 1)),
            conv("pads = [2, 2]", (1, 6, 50), (10, 6, 5)),
            conv("pads = [1, 1, 1, 1, 1, 1]", (1, 3, 6, 7, 8), (5, 3, 3, 3, 3)),
        )

    def test_chains_that_go_strip_by_strip(self):
        """Tensors of more than a megabyte inside of them, of odd sizes, with windows of all kinds."""
        def block(height, width, wide, window, stride, pads, channels=(16, 24), middle="Relu"):
            k = window
            constants = {"a": normal(wide, channels[0], 1, 1) / 4, "ab": normal(wide), "b": normal(wide, 1, k, k) / np.float32(k),
                         "c": normal(channels[1], wide, 1, 1) / np.float32(np.sqrt(wide)), "cb": normal(channels[1])}
            body = (f"d = Conv(x, a, ab) f = {middle}(d) g = Conv<group = {wide}, pads = {pads}, strides = [{stride}, {stride}]>(f, b) h = Relu(g) "
                    "y = Conv(h, c, cb)")
            return Case(body, {"x": normal(1, channels[0], height, width)}, "y", constants)

        def pooled(image, weights, options, pool):
            return Case(f"d = Conv<{options}>(x, w) e = Relu(d) y = MaxPool<{pool}>(e)", {"x": normal(*image)}, "y", {"w": normal(*weights) / 4})

        self.agree(
            block(64, 64, 96, 3, 2, [1, 1, 1, 1]),
            block(61, 53, 144, 3, 1, [1, 1, 1, 1]),
            block(57, 50, 100, 5, 1, [2, 2, 2, 2], channels=(20, 17)),
            block(70, 45, 112, 5, 2, [2, 1, 1, 2], middle="Sigmoid"),
            block(50, 64, 96, 3, 1, [0, 0, 0, 0]),
            pooled((1, 3, 131, 127), (64, 3, 3, 3), "strides = [2, 2]", "kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1"),
            pooled((1, 3, 128, 128), (96, 3, 7, 7), "strides = [2, 2], pads = [3, 3, 3, 3]", "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]"),
        )

    def test_rows_that_go_strip_by_strip(self):
        # The tensors between the nests of a softmax are larger than the caches; 2,100 rows are no multiple of a strip's rows.
        def attention(heads, rows, depth):
            return Case("t = Transpose<perm = [0, 2, 1]>(k) s = MatMul(q, t) p = Softmax(s) y = MatMul(p, v)",
                        {"q": normal(heads, rows, depth), "k": normal(heads, rows, depth), "v": normal(heads, rows, 16)}, "y")

        for threads in ("1", "2"):
            self.agree(attention(1, 2100, 8), attention(3, 1024, 16), options=("--threads", threads))

    def test_every_way_to_add_up(self):
        def weights(*shape):
            return normal(*shape) / np.float32(np.sqrt(np.prod(shape[1:])))

        def chain(image, channels, pads):
            """Two of a row, since the first reads an input as the caller has it."""
            return Case(f"a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Relu (a) c = Conv <pads = {pads}> (b, v, t) y = Tanh (c)", {"x": normal(*image)}, "y",
                        {"w": weights(channels, image[1], 3, 3), "v": weights(channels, channels, 3, 3), "t": normal(channels)})

        for sums, winograd in (("short", 2), ("F(2,3)", 2), ("direct", 0)):
            with self.subTest(sums=sums):
                cases = [chain((2, 32, 14, 14), 32, [1, 1, 1, 1]), chain((1, 32, 17, 13), 48, [0, 0, 0, 0]), chain((1, 32, 15, 21), 64, [0, 1, 2, 0]),
                         Case("y = MatMul (x, w)", {"x": normal(9, 300)}, "y", {"w": weights(300, 40)})]
                self.agree(*cases, options=("--sums", sums))
                shown = modules.compile_model(self.path / "model.onnx", self.path / "compiled", "--sums", sums).answer
                self.assertEqual(shown["sums"], sums)
                self.assertGreaterEqual(shown["winograd"], winograd)
                if sums == "direct":
                    self.assertEqual(shown["winograd"], 0)

    def test_products_of_bfloat16(self):
        """On tiles of the processor where it has them, and by what every processor has: near, and not as near as floats are. Depths that are no multiple
        of 32, columns that are none of 16, one row, more rows than a tile, windows, groups; and what stays in floats."""
        cases = [Case("y = MatMul(x, w)", {"x": normal(21, 70)}, "y", {"w": normal(70, 83)}),
                 Case("m = MatMul(x, w)\na = Add(m, b)\ny = Relu(a)", {"x": normal(1, 300)}, "y", {"w": normal(300, 40), "b": normal(40)}),
                 Case("y = Conv<pads = [1, 1, 1, 1]>(x, w, b)", {"x": normal(2, 33, 17, 18)}, "y", {"w": normal(50, 33, 3, 3), "b": normal(50)}),
                 Case("a = Conv(x, v)\ny = Conv<group = 2, strides = [2, 2]>(a, w)", {"x": normal(1, 8, 9, 9)}, "y",
                      {"v": normal(64, 8, 1, 1), "w": normal(48, 32, 1, 1)}),
                 Case("t = Transpose<perm = [1, 0]>(x)\ny = MatMul(t, w)", {"x": normal(40, 20)}, "y", {"w": normal(40, 24)}),
                 Case("y = MatMul(x, z)", {"x": normal(20, 40), "z": normal(40, 24)}, "y")]
        cases = [case.renamed(f"c{k}_") for k, case in enumerate(cases)]
        feeds = {name: array for case in cases for name, array in case.inputs.items()}
        model = model_of(cases)
        for target in ("native", "x86-64-v3"):
            module = self.module(model, "--precision", "bf16", "--target", target, "--name", target.replace("-", "_"))
            expected = dict(zip([o.name for o in model.graph.output], modules.session(self.path / "model.onnx").run(None, feeds), strict=True))
            apart = {name: modules.distance(expected[name], got) for name, got in module(**feeds).items()}
            with self.subTest(target=target, apart=apart):
                self.assertLess(max(apart.values()), 1e-2)
                self.assertTrue(all(apart[f"c{k}_y"] > 1e-4 for k in range(4)))
                self.assertLess(apart["c5_y"], 1e-5)  # nothing is a weight there
        self.assertEqual(modules.compile_model(self.path / "model.onnx", self.path / "compiled", "--precision", "bf16").answer["sums"], "bf16")

    def test_what_surrounds_convolutions(self):
        def weights(*shape):
            return normal(*shape) / np.float32(np.sqrt(np.prod(shape[1:])))

        residual = Case(
            "a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Relu(a) c = Conv <pads = [1, 1, 1, 1]> (b, v) d = Add(c, x) y = Relu(d) p = GlobalAveragePool(y)",
            {"x": normal(1, 16, 12, 12)}, "y p", {"w": weights(16, 16, 3, 3), "v": weights(16, 16, 3, 3)})
        norm = Case("a = Conv (x, w) b = BatchNormalization (a, s, t, m, v) y = Clip (b, low, high)", {"x": normal(1, 8, 6, 6)}, "y",
                    {"w": weights(12, 8, 1, 1), "s": normal(12), "t": normal(12), "m": normal(12), "v": abs(normal(12)) + 1, "low": np.float32(0),
                     "high": np.float32(6)})
        excite = Case("a = GlobalAveragePool (x) b = Conv (a, w) c = Sigmoid (b) d = Mul (x, c) y = Conv <group = 8, pads = [1, 1, 1, 1]> (d, v)",
                      {"x": normal(1, 8, 7, 7)}, "y", {"w": weights(8, 8, 1, 1), "v": weights(8, 1, 3, 3)})
        branches = Case("a = Conv (x, w) b = Conv <pads = [1, 1, 1, 1]> (x, v) c = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1]> (x) "
                        "y = Concat <axis = 1> (a, b, c)", {"x": normal(1, 9, 8, 8)}, "y", {"w": weights(5, 9, 1, 1), "v": weights(7, 9, 3, 3)})
        pools = Case("y = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (x) "
                     "z = AveragePool <kernel_shape = [2, 3], count_include_pad = 1, pads = [1, 0, 0, 1]> (x) "
                     "m = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)",
                     {"x": normal(2, 3, 9, 9)}, "y z m")
        up = Case("y = ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w) "
                  "r = Resize <mode = \"nearest\"> (x, , s)", {"x": normal(1, 6, 5, 5)}, "y r",
                  {"w": weights(6, 4, 4, 4), "s": np.array([1, 1, 2, 2], np.float32)})
        shuffle = Case("a = Reshape (x, s) b = Transpose <perm = [0, 2, 1, 3, 4]> (a) c = Reshape (b, t) "
                       "y = Conv <group = 2> (c, w) d = DepthToSpace <blocksize = 2> (x)",
                       {"x": normal(1, 12, 6, 6)}, "y d", {"s": np.array([1, 3, 4, 6, 6]), "t": np.array([1, 12, 6, 6]), "w": weights(8, 6, 3, 3)})
        self.agree(residual, norm, excite, branches, pools, up, shuffle)

    def test_products(self):
        self.agree(
            Case("y = MatMul (x, w)", {"x": normal(37, 65)}, "y", {"w": normal(65, 129)}),
            Case("y = MatMul (x, w)", {"x": normal(37, 65), "w": normal(65, 18)}, "y"),
            Case("y = MatMul (x, w)", {"x": normal(2, 3, 17, 20), "w": normal(2, 3, 20, 9)}, "y"),
            Case("y = MatMul (x, w)", {"x": normal(2, 1, 17, 20), "w": normal(3, 20, 9)}, "y"),
            Case("y = MatMul (x, w)", {"x": normal(20)}, "y", {"w": normal(20, 33)}),
            Case("y = MatMul (x, w)", {"x": normal(20), "w": normal(20)}, "y"),
            Case("t = Transpose <perm = [0, 2, 1]> (w) y = MatMul (x, t)", {"x": normal(4, 10, 32), "w": normal(4, 12, 32)}, "y"),
            Case("y = Gemm <transA = 1, transB = 1, alpha = 0.5, beta = 2.0> (a, b, c)", {"a": normal(30, 11), "b": normal(40, 30)}, "y", {"c": normal(40)}),
            Case("a = MatMul (x, w) b = Add (a, c) y = Gelu (b)", {"x": normal(1, 16, 48)}, "y", {"w": normal(48, 64) / np.float32(7), "c": normal(64)}),
            Case("y = Einsum <equation = \"bhid,bhjd->bhij\"> (a, b)", {"a": normal(1, 2, 9, 8), "b": normal(1, 2, 7, 8)}, "y"),
            Case("y = MatMul (x, w)", {"x": normal(5, 64, dtype=np.float64)}, "y:double", {"w": normal(64, 31, dtype=np.float64)}),
            Case("y = MatMul (x, w)", {"x": integers(-9, 9, 6, 20, dtype=np.int32), "w": integers(-9, 9, 20, 7, dtype=np.int32)}, "y:int32"),
            Case("q = MatMul (x, wq) k = MatMul (x, wk) v = MatMul (x, wv) q1 = Reshape (q, s) k1 = Reshape (k, s) v1 = Reshape (v, s) "
                 "q2 = Transpose <perm = [0, 2, 1, 3]> (q1) k2 = Transpose <perm = [0, 2, 3, 1]> (k1) v2 = Transpose <perm = [0, 2, 1, 3]> (v1) "
                 "a = MatMul (q2, k2) b = Div (a, r) c = Softmax <axis = -1> (b) d = MatMul (c, v2) e = Transpose <perm = [0, 2, 1, 3]> (d) y = Reshape (e, t)",
                 {"x": normal(2, 19, 32)}, "y", {"s": np.array([2, 19, 4, 8]), "t": np.array([2, 19, 32]), "r": np.float32(2.83),
                                                 **{f"w{n}": normal(32, 32) / np.float32(6) for n in "qkv"}}),
            opset=20)

    def test_reductions(self):
        self.agree(
            Case("y = Softmax <axis = -1> (x) z = Softmax <axis = 1> (x) l = LogSoftmax <axis = 0> (x)", {"x": 30 * normal(4, 5, 17)}, "y z l"),
            Case("y = LayerNormalization <axis = -1> (x, s, b) z = LayerNormalization <axis = 1> (x, t)", {"x": normal(3, 7, 40)}, "y z",
                 {"s": normal(40), "b": normal(40), "t": normal(7, 40)}),
            Case("m = ReduceMean <axes = [2], keepdims = 1> (x) d = Sub (x, m) q = Mul (d, d) v = ReduceMean <axes = [2], keepdims = 1> (q) e = Add (v, eps) "
                 "r = Sqrt (e) n = Div (d, r) y = Mul (n, s)", {"x": normal(2, 9, 33)}, "y", {"eps": np.float32(1e-5), "s": normal(33)}),
            Case("a = ReduceSum <keepdims = 0> (x, k) b = ReduceMax <axes = [0]> (x) c = ReduceMin <axes = [1, 2]> (x) d = ReduceProd <axes = [1]> (x) "
                 "e = ReduceL2 <axes = [2]> (x)", {"x": normal(3, 4, 5)}, "a b c d e", {"k": np.array([0, 2])}),
            Case("y = ArgMax <axis = 1> (x) z = ArgMin <axis = 2, keepdims = 0, select_last_index = 1> (x)", {"x": integers(0, 4, 3, 6, 5).astype(np.float32)},
                 "y:int64 z:int64"),
            Case("y = CumSum (x, k)", {"x": normal(3, 11)}, "y", {"k": np.array(1)}),
            Case("y = InstanceNormalization (x, s, b)", {"x": normal(2, 3, 8, 8)}, "y", {"s": normal(3), "b": normal(3)}),
            opset=17)

    def test_a_long_sum_keeps_its_digits(self):
        x = normal(3, 200_000) + np.float32(100)
        case = Case("s = ReduceMean <axes = [1], keepdims = 1> (x) d = Sub (x, s) v = ReduceMean <axes = [1]> (d)", {"x": x}, "s v")
        got = self.module(model_of([case], 17))(x=x)
        self.assertLessEqual(np.abs(got["s"][:, 0] / x.mean(1, dtype=np.float64) - 1).max(), 1e-7)

    def test_functions(self):
        x = np.concatenate([normal(200) * 4, np.array([0, -0.0, 88, -88, 120, -120, 1e-30, np.inf, -np.inf, np.nan], np.float32)])
        positive = np.concatenate([abs(normal(100)) * 50, np.array([1, 1e-30, 1e30, np.inf], np.float32)])
        plain = Case("".join(f"{o.lower()} = {o} (x) " for o in ("Exp", "Tanh", "Erf", "Sigmoid", "Relu", "Abs", "Neg", "Softplus", "LeakyRelu", "Elu",
                                                                 "HardSigmoid", "HardSwish", "Floor", "Ceil", "Round", "Sign")),
                     {"x": x[np.isfinite(x)]}, "exp tanh erf sigmoid relu abs neg softplus leakyrelu elu hardsigmoid hardswish floor ceil round sign")
        special = Case("a = Exp (x) b = Tanh (x) c = Sigmoid (x) d = Relu (x) e = IsNaN (x) f = Erf (x)", {"x": x}, "a b c d e:bool f")
        roots = Case("a = Sqrt (x) b = Log (x) c = Reciprocal (x) d = Pow (x, p)", {"x": positive}, "a b c d", {"p": np.float32(0.25)})
        waves = Case("a = Sin (x) b = Cos (x) c = Mod <fmod = 1> (x, p)", {"x": 3 * normal(50)}, "a b c", {"p": np.float32(1.5)})
        double = Case("a = Exp (x) b = Tanh (x) c = Sigmoid (x) d = Sqrt (q)", {"x": normal(30, dtype=np.float64), "q": abs(normal(30, dtype=np.float64))},
                      "a:double b:double c:double d:double")
        self.agree(plain, special, roots, waves, double)

    def test_integers_and_choices(self):
        a, b = integers(-100, 100, 40), integers(1, 9, 40) * np.where(integers(0, 2, 40), 1, -1)
        small = integers(0, 256, 30, dtype=np.uint8)
        self.agree(
            Case("p = Add (a, b) m = Mul (a, b) s = Sub (a, b) d = Div (a, b) r = Mod (a, b) f = Mod <fmod = 1> (a, b) n = Neg (a) x = Max (a, b) v = Abs (a)",
                 {"a": a, "b": b}, "p:int64 m:int64 s:int64 d:int64 r:int64 f:int64 n:int64 x:int64 v:int64"),
            Case("p = Add (a, b) m = Mul (a, b)", {"a": integers(-(2**31), 2**31, 20, dtype=np.int32), "b": integers(-(2**31), 2**31, 20, dtype=np.int32)},
                 "p:int32 m:int32"),
            Case("s = BitShift <direction = \"LEFT\"> (a, k) t = BitShift <direction = \"RIGHT\"> (a, k) i = Cast <to = 6> (a) "
                 "f = Cast <to = 1> (a) o = BitwiseAnd (a, k)",
                 {"a": small, "k": integers(0, 8, 30, dtype=np.uint8)}, "s:uint8 t:uint8 i:int32 f o:uint8"),
            Case("c = Greater (x, y) d = LessOrEqual (x, y) e = Equal (x, x) n = Not (c) o = Or (c, d) p = And (n, d) q = Xor (c, o) w = Where (c, x, y) "
                 "i = Cast <to = 7> (c) f = Cast <to = 1> (n)", {"x": normal(5, 6), "y": normal(6)},
                 "c:bool d:bool e:bool n:bool o:bool p:bool q:bool w i:int64 f"),
            Case("i = Cast <to = 7> (x) j = Cast <to = 6> (x) b = Cast <to = 9> (x) d = Cast <to = 11> (x) h = Cast <to = 10> (x)", {"x": 50 * normal(20)},
                 "i:int64 j:int32 b:bool d:double h:float16"),
            Case("z = Constant <value_float = 0.0> () c = Less (x, z) y = Where (c, k, x)", {"x": normal(1, 4, 1)}, "y", {"k": normal(3, 1, 5)}),
        )

    def test_float16(self):
        half = np.float16
        self.agree(
            Case("a = MatMul (x, w) y = Add (a, b)", {"x": normal(9, 32, dtype=half)}, "y:float16",
                 {"w": (normal(32, 20) / 6).astype(half), "b": normal(20, dtype=half)}),
            Case("a = Cast <to = 1> (x) b = Softmax <axis = -1> (a) y = Cast <to = 10> (b)", {"x": normal(4, 33, dtype=half)}, "y:float16"),
            Case("a = Mul (x, x) b = Sub (a, x) y = Sigmoid (b)", {"x": normal(70, dtype=half)}, "y:float16"),
            Case("y = Transpose (x) z = Concat <axis = 0> (x, x)", {"x": normal(5, 7, dtype=half)}, "y:float16 z:float16"),
        )

    def test_data_movement(self):
        self.agree(
            Case("y = Concat <axis = 1> (a, b, a) p, q = Split <axis = 1, num_outputs = 2> (y)", {"a": normal(2, 3, 4), "b": normal(2, 4, 4)}, "y p q"),
            Case("y = Pad (x, p, v) z = Pad <mode = \"reflect\"> (x, p) e = Pad <mode = \"edge\"> (x, p)", {"x": normal(4, 5)}, "y z e",
                 {"p": np.array([1, 2, 0, 3]), "v": np.float32(7)}),
            Case("y = Pad (x, p)", {"x": normal(6, 5)}, "y", {"p": np.array([-1, 2, -2, -3])}),
            Case("y = Transpose <perm = [2, 0, 3, 1]> (x) r = Reshape (y, s) f = Flatten <axis = 2> (y)", {"x": normal(3, 4, 5, 6)}, "y r f",
                 {"s": np.array([15, -1])}),
            Case("y = Expand (x, s) t = Tile (x, k)", {"x": normal(3, 1, 4)}, "y t", {"s": np.array([2, 3, 5, 4]), "k": np.array([2, 3, 1])}),
            Case("y = Slice (x, b, e, a, s)", {"x": normal(9, 10)}, "y",
                 {"b": np.array([7, 1]), "e": np.array([0, 100]), "a": np.array([0, 1]), "s": np.array([-2, 3])}),
            Case("y = Gather <axis = 1> (x, i) n = Gather (x, j)", {"x": normal(4, 6, 3), "i": integers(-6, 6, 2, 5)}, "y n", {"j": np.array([3, -1, 0])}),
            Case("a = ArgMax <axis = 1, keepdims = 0> (x) y = Gather (t, a)", {"x": normal(7, 10)}, "y", {"t": normal(10, 6)}),
            Case("y = GatherElements <axis = 1> (x, i) n = GatherND (x, k)", {"x": normal(4, 6), "i": integers(0, 6, 4, 3), "k": integers(0, 4, 5, 2)}, "y n"),
            Case("y = ScatterElements <axis = 0> (x, i, u) n = ScatterND (x, k, v)", {"x": normal(6, 4), "u": normal(2, 4), "v": normal(2, 4)}, "y n",
                 {"i": np.array([[0, 1, 2, 3], [5, 4, 3, 2]]), "k": np.array([[1], [4]])}),
            Case("y = OneHot (i, d, v)", {"i": integers(0, 5, 6)}, "y", {"d": np.array(5), "v": np.array([0, 1], np.float32)}),
            Case("y = Squeeze (x, k) u = Unsqueeze (x, j) s = Shape (x) r = Range (a, b, c)", {"x": normal(1, 4, 1, 3)}, "y u s:int64 r:int64",
                 {"k": np.array([0, 2]), "j": np.array([1]), "a": np.array(2), "b": np.array(11), "c": np.array(3)}),
            Case("y = Trilu <upper = 0> (x) e = EyeLike (x)", {"x": normal(5, 6)}, "y e"),
        )

    def test_what_is_small_or_empty(self):
        nothing = np.array([], np.int64)
        self.agree(
            Case("y = Relu (x)", {"x": normal()}, "y"),
            Case("y = Add (x, x) z = Exp (x)", {"x": normal(1, 1)}, "y z"),
            Case("y = Neg (x) s = ReduceSum <keepdims = 0> (x)", {"x": normal(0, 3)}, "y s"),
            Case("y = Concat <axis = 0> (a, b)", {"a": normal(0, 3), "b": normal(2, 3)}, "y"),
            Case("y = MatMul (a, b)", {"a": normal(3, 0), "b": normal(0, 4)}, "y"),
            Case("y = MatMul (a, b)", {"a": normal(1, 1), "b": normal(1, 1)}, "y"),
            Case("y = Conv (x, w)", {"x": normal(1, 1, 1, 1)}, "y", {"w": normal(1, 1, 1, 1)}),
            Case("y = Reshape (x, s) z = Softmax (x)", {"x": normal(1)}, "y z", {"s": nothing}),
        )

    def test_outputs_that_are_computed_by_nobody(self):
        """An input, a constant, one value twice, a value and what is computed of it."""
        case = Case("b = Relu (x) c = Neg (b) i = Identity (x) j = Identity (b) k = Identity (w) l = Add (w, w)",
                    {"x": normal(4, 5)}, "b c i j k l", {"w": normal(3)})
        self.agree(case)
        model = model_of([Case("b = Relu (x)", {"x": normal(4)}, "b", {"w": normal(3)})])
        for name in ("x", "w"):  # without a node
            model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
        module, x = self.module(model), normal(4)
        got = module(x=x)
        np.testing.assert_array_equal(got["x"], x)
        np.testing.assert_array_equal(got["b"], np.maximum(x, 0))
        np.testing.assert_array_equal(got["w"], numpy_helper.to_array(model.graph.initializer[0]))

    def test_names_of_values_are_no_code(self):
        nodes, x = [], normal(1, 3)
        for k, name in enumerate(("a*/b", 'q"uote', "%s{}{0}", "üñï", "*/ int x; /*", "ends in \\")):
            nodes += [helper.make_node("Softmax", [f"x{k}" if k else "x"], [name], name=name), helper.make_node("Neg", [name], [f"x{k + 1}"], name=name + "!")]
        model = model_of([Case("", {"x": x}, "")])
        model.graph.node.extend(nodes)
        model.graph.output.append(helper.make_tensor_value_info("x6", TensorProto.FLOAT, None))
        got = self.module(model)(x=x)["x6"]
        self.assertLessEqual(modules.distance(modules.session(self.path / "model.onnx").run(None, {"x": x})[0], got), TOLERANCE[got.dtype])

    def test_an_input_with_a_default_is_an_input(self):
        model = model_of([Case("y = Add (x, w)", {"x": normal(2, 3)}, "y", {"w": normal(2, 3)})])
        model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [2, 3]))
        one, two = normal(2, 3), normal(2, 3)
        self.assertTrue(np.array_equal(self.module(model)(x=one, w=two)["y"], one + two))

    def test_other_targets_and_names(self):
        self.agree(Case("y = Conv <pads = [1, 1, 1, 1]> (x, w) z = Softmax <axis = 1> (y)", {"x": normal(1, 8, 9, 9)}, "y z",
                        {"w": normal(8, 8, 3, 3) / np.float32(8)}),
                   Case("y = MatMul (x, w)", {"x": normal(13, 40)}, "y", {"w": normal(40, 50)}), options=("--target", "x86-64-v3", "--name", "other_1"))
        self.assertEqual({p.name for p in (self.path / "compiled").iterdir()},
                         {"libother_1.so", "libother_1.a", "other_1.h", "other_1.hpp", "other_1.cpp", "other_1.weights", "interface.json"})

    def test_a_library_that_looks_at_its_processor(self):
        self.agree(Case("y = Conv <pads = [1, 1, 1, 1]> (x, w) z = Relu (y)", {"x": normal(1, 32, 14, 14)}, "z", {"w": normal(32, 32, 3, 3) / np.float32(16)}),
                   Case("y = MatMul (x, w)", {"x": normal(13, 700)}, "y", {"w": normal(700, 50)}), options=("--target", "x86-64"))


class Compares(Compiles):
    """With ONNX Runtime, and inside of it."""

    def setUp(self):
        super().setUp()
        self.model = model_of([Case("a = MatMul (x, w) y = Softmax <axis = 1> (a) i = Gather (t, k)", {"x": normal(40, 96), "k": np.zeros(3, np.int64)}, "y i",
                                    {"w": normal(96, 80), "t": normal(4, 2)})], open_sizes=("x",))
        self.options = ("--shape", "N=40", "--name", "net")

    def compiled(self, *more):
        ran = modules.compile_model(self.save(self.model), self.path / "compiled", *self.options, *more)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.answer

    def test_its_speed_is_told(self):
        answer = self.compiled("--seconds", "1")
        self.assertEqual(answer["not_compared"], "")
        self.assertTrue(0 < answer["speed"]["low"] <= answer["speed"]["ratio"] <= answer["speed"]["high"])
        self.assertIsNone(self.compiled("--seconds", "0")["speed"])
        self.assertFalse((self.path / "compiled" / "model.onnx").exists())

    def test_with_threads_and_inputs_that_are_given(self):
        np.savez(self.path / "feeds.npz", x=normal(40, 96), k=np.array([3, 0, 1]))
        answer = self.compiled("--seconds", "1", "--threads", "2", "--feeds", str(self.path / "feeds.npz"))
        self.assertEqual((answer["not_compared"], answer["threads"]), ("", 2))
        self.assertGreater(answer["speed"]["ratio"], 0)
        np.savez(self.path / "feeds.npz", x=normal(40, 96), k=np.array([3, 0, 4]))  # outside of its tensor
        ran = modules.compile_model(self.save(self.model), self.path / "compiled", *self.options, "--seconds", "1", "--feeds", str(self.path / "feeds.npz"))
        self.assertEqual(ran.returncode, 2, ran.stdout)
        self.assertIn("Gather", ran.answer["error"]["message"])

    def test_errors_are_measured_and_kept(self):
        """The difference of two convolutions that are nearly the same shows how both were rounded."""
        w, v = (normal(64, 64, 3, 3) / 24 for _ in range(2))
        self.model = model_of([Case("a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Relu (a) c = Conv <pads = [1, 1, 1, 1]> (b, v) "
                                    "d = Conv <pads = [1, 1, 1, 1]> (b, u) y = Sub (c, d)", {"x": normal(1, 64, 16, 16)}, "y",
                                    {"w": w, "v": v, "u": v * np.float32(1.03125)})])
        self.options = ("--name", "net")
        kept = self.compiled("--seconds", "0.01")
        self.assertTrue(kept["errors"]["kept"], kept)
        self.assertLessEqual(kept["errors"]["module"], max(2 * kept["errors"]["runtime"], 1e-6))
        never = self.compiled("--seconds", "0.01", "--max-error-growth", "0.001")  # then the last way is used, and the output says so
        self.assertEqual((never["sums"], never["errors"]["kept"], never["winograd"]), ("direct", False, 0))
        chosen = self.compiled("--seconds", "0.01", "--max-error-growth", "0.001", "--sums", "fast")
        self.assertEqual((chosen["sums"], chosen["errors"]["kept"]), ("fast", False))
        self.assertGreater(chosen["errors"]["module"], never["errors"]["module"])
        self.assertIsNone(self.compiled("--seconds", "0.01", "--max-error-growth", "0")["errors"])

    def test_where_rounding_errors_are_large_float64_decides(self):
        """The difference of two convolutions that are even nearer to each other: two engines are far apart, and both from the truth."""
        w, v = (normal(64, 64, 3, 3) / 24 for _ in range(2))
        case = Case("a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Relu (a) c = Conv <pads = [1, 1, 1, 1]> (b, v) d = Conv <pads = [1, 1, 1, 1]> (b, u) "
                    "y = Sub (c, d)", {"x": normal(1, 64, 16, 16)}, "y", {"w": w, "v": v, "u": v * np.float32(1.001)})
        ran = modules.compile_model(self.save(model_of([case])), self.path / "compiled", "--seconds", "0.1")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertGreater(ran.answer["errors"]["runtime"], 1e-4)
        unmeasured = modules.compile_model(self.path / "model.onnx", self.path / "compiled", "--seconds", "0.1", "--max-error-growth", "0")
        self.assertIn("are not ONNX Runtime's", unmeasured.stderr + unmeasured.stdout)  # where float64 may not decide

    def test_values_next_to_a_step_of_a_quantizer(self):
        """Means that are nearly a half: which side of a step each falls on is a matter of the order of its sum, and a step is much."""
        noise, halves = draw.standard_normal((2000, 512)), (2 * draw.integers(0, 16, (2000, 1)) + 1) / 4
        x = (noise - noise.mean(axis=1, keepdims=True) + halves).astype(np.float32)
        case = Case("a = ReduceMean <keepdims = 1> (x, k) q = QuantizeLinear (a, s, z) y = DequantizeLinear (q, s, z)", {"x": x}, "y",
                    {"k": np.array([1]), "s": np.array(0.5, np.float32), "z": np.array(0, np.uint8)})
        np.savez(self.path / "feeds.npz", x=x)
        ran = modules.compile_model(self.save(model_of([case])), self.path / "compiled", "--seconds", "0.1", "--feeds", str(self.path / "feeds.npz"))
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertTrue(ran.answer["errors"]["kept"], ran.answer)
        self.assertIn("step", ran.answer["note"])

    def test_where_the_runtime_is_off_float64_decides(self):
        """A sigmoid that is nearly 0: ONNX Runtime's is a rational function, which is off by percents of that."""
        x = np.linspace(-17.5, -15, 64).astype(np.float32)
        np.savez(self.path / "feeds.npz", x=x)
        model = self.save(model_of([Case("y = Sigmoid (x)", {"x": x}, "y")]))
        ran = modules.compile_model(model, self.path / "compiled", "--seconds", "0.1", "--feeds", str(self.path / "feeds.npz"))
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertGreater(ran.answer["errors"]["runtime"], 0.01)
        self.assertIn("float64", ran.answer["note"])

    def test_sizes_of_inputs_that_are_given(self):
        np.savez(self.path / "feeds.npz", x=normal(7, 96), k=np.zeros(3, np.int64))
        self.options = ("--name", "net")
        self.compiled("--seconds", "0", "--feeds", str(self.path / "feeds.npz"))
        self.assertEqual(modules.load(self.path / "compiled").inputs[0].shape, [7, 96])

    def test_a_runtime_that_is_not_there_is_told(self):
        answer = self.compiled("--seconds", "1", "--runtime-library", str(self.path / "none.so"))
        self.assertIsNone(answer["speed"])
        self.assertIn("none.so", answer["not_compared"])

    def session(self):
        options = onnxruntime.SessionOptions()
        options.register_custom_ops_library(str(self.path / "compiled" / "libnet.so"))
        return onnxruntime.InferenceSession(str(self.path / "compiled" / "model.onnx"), options, providers=["CPUExecutionProvider"])

    def test_an_operator_of_the_runtime(self):
        self.assertTrue(self.compiled("--as", "custom-op", "--seconds", "0")["is_operator"])
        session = self.session()
        for draw_number in range(3):
            feeds = {"x": normal(40, 96), "k": integers(-4, 4, 3)}
            for expected, got in zip(modules.session(self.path / "model.onnx").run(None, feeds), session.run(None, feeds), strict=True):
                self.assertLessEqual(modules.distance(expected, got), TOLERANCE[got.dtype], draw_number)

    def test_runs_side_by_side(self):
        self.compiled("--as", "custom-op", "--seconds", "0", "--threads", "3")
        session = self.session()
        feeds = [{"x": normal(40, 96), "k": integers(-4, 4, 3)} for _ in range(64)]
        alone = [session.run(None, f)[0] for f in feeds]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for one, other in zip(alone, pool.map(lambda f: session.run(None, f)[0], feeds), strict=True):
                np.testing.assert_array_equal(one, other)

    def test_what_an_operator_refuses(self):
        self.compiled("--as", "custom-op", "--seconds", "0", "--fixed-sizes")
        session = self.session()
        with self.assertRaisesRegex(Exception, "outside of its tensor"):
            session.run(None, {"x": normal(40, 96), "k": np.array([0, 4, 0])})
        with self.assertRaisesRegex(Exception, "(?i)dimension"):
            session.run(None, {"x": normal(39, 96), "k": np.zeros(3, np.int64)})
        (self.path / "compiled" / "net.weights").unlink()
        with self.assertRaisesRegex(Exception, "weights are not beside its library"):
            self.session()

    def test_an_operator_that_is_slower_is_not_taken(self):
        # One channel at a time, by plain loops: much slower than the runtime's own product.
        self.model = model_of([Case("y = MatMul (x, w)", {"x": normal(300, 300)}, "y", {"w": normal(300, 300)})])
        self.options = ("--name", "net")
        schedule = self.path / "slow"
        schedule.write_text("nest MatMul producing y\nreorder r0 i0 i1\n")
        answer = self.compiled("--as", "custom-op", "--seconds", "2", "--schedule", str(schedule))
        self.assertLess(answer["speed"]["high"], 1)
        self.assertFalse(answer["is_operator"])
        self.assertEqual((self.path / "compiled" / "model.onnx").read_bytes(), (self.path / "model.onnx").read_bytes())

    def test_linked_from_cpp(self):
        self.compiled("--seconds", "0")
        x = normal(40, 96)
        (self.path / "x").write_bytes(x.tobytes())
        (self.path / "main.cpp").write_text("""
#include <cstdint>
#include <cstdio>
#include <vector>
#include "compiled/net.hpp"
int main(int, char** words) {
  std::vector<float> x(40 * 96), y(40 * 80), i(6);
  std::vector<int64_t> k(3);
  std::FILE* in = std::fopen(words[1], "rb");
  if (std::fread(x.data(), 4, x.size(), in) != x.size()) return 1;
  net model(words[2]);
  if (!model || net("nowhere")) return 2;
  if (!model.run({x.data(), k.data()}, {y.data(), i.data()})) return 3;
  k[1] = 4;
  if (model.run({x.data(), k.data()}, {y.data(), i.data()})) return 4;
  net several(words[2], 3);
  std::vector<float> again(40 * 80);
  k[1] = 0;
  if (!several.run({x.data(), k.data()}, {again.data(), i.data()}) || again != y) return 6;
  return std::fwrite(y.data(), 4, y.size(), stdout) == y.size() ? 0 : 5;
}
""")
        subprocess.run(["g++", "-std=c++17", "-Wall", "-Werror", str(self.path / "main.cpp"), str(self.path / "compiled" / "libnet.a"), "-lm", "-ldl",
                        "-lpthread", "-o", str(self.path / "main")], check=True)
        ran = subprocess.run([str(self.path / "main"), str(self.path / "x"), str(self.path / "compiled" / "net.weights")], capture_output=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        expected = modules.session(self.path / "model.onnx").run(["y"], {"x": x, "k": np.zeros(3, np.int64)})[0]
        self.assertLessEqual(modules.distance(expected, np.frombuffer(ran.stdout, np.float32).reshape(40, 80)), TOLERANCE[np.dtype(np.float32)])


class Runs(Compiles):
    """The module's own behaviour, in Python."""

    def test_an_index_outside_is_an_error_of_the_run(self):
        module = self.module(model_of([Case("y = Gather (t, i)", {"i": np.zeros(3, np.int64)}, "y", {"t": normal(4, 2)})]))
        table = module(i=np.array([0, 1, 3]))["y"]
        np.testing.assert_array_equal(module(i=np.array([-4, -3, -1]))["y"], table)
        for outside in (4, -5, 2**40):
            with self.assertRaisesRegex(modules.BadInput, "outside"):
                module(i=np.array([0, outside, 1]))
        np.testing.assert_array_equal(module(i=np.array([0, 1, 3]))["y"], table)

    def test_what_is_wrong_is_named(self):
        module = self.module(model_of([Case("y = Add (x, z)", {"x": normal(2, 3), "z": normal(3)}, "y")]))
        self.assertEqual([(p.name, p.type, p.shape) for p in module.inputs], [("x", "float", [2, 3]), ("z", "float", [3])])
        for name, value, words in (("w", normal(2, 3), "no input 'w'.*x, z"), ("x", normal(3, 2), r"'x'.*\[2, 3\].*\[3, 2\]"),
                                   ("x", np.zeros((2, 3)), "'x'.*float32.*float64")):
            with self.assertRaisesRegex(modules.BadInput, words):
                module.set_input(name, value)
        with self.assertRaisesRegex(modules.BadInput, "no run"):
            module.get_output(0)
        module.set_input("x", np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)))
        with self.assertRaisesRegex(modules.BadInput, "'z'"):
            module.run()
        module.set_input("z", np.ones(3, np.float32))
        module.run()
        first = module.get_output("y")
        np.testing.assert_array_equal(first, [[1, 2, 3], [4, 5, 6]])
        module(z=np.zeros(3, np.float32))
        np.testing.assert_array_equal(first, [[1, 2, 3], [4, 5, 6]])  # as it was
        np.testing.assert_array_equal(module.get_output(0), [[0, 1, 2], [3, 4, 5]])
        for which in ("x", 1, -1):
            with self.assertRaisesRegex(modules.BadInput, "no output"):
                module.get_output(which)
        with self.assertRaisesRegex(modules.BadInput, "interface.json"):
            modules.load(self.path)

    def test_weights_of_another_model_are_refused(self):
        self.module(model_of([Case("y = MatMul (x, w)", {"x": normal(2, 3)}, "y", {"w": normal(3, 4)})]))
        (self.path / "compiled" / "model.weights").write_bytes(b"short")
        with self.assertRaisesRegex(modules.BadInput, "model.weights"):
            modules.load(self.path / "compiled")

    def test_a_folder_can_be_compiled_into_again(self):
        for body, expected in (("y = Relu (x)", 0), ("y = Neg (x)", 2)):
            module = self.module(model_of([Case(body, {"x": normal(1)}, "y")]))
            self.assertEqual(module(x=np.array([-2], np.float32))["y"][0], expected)
            del module


class Threads(Compiles):
    """Any number of them computes the same bits."""

    def cases(self):
        def weights(*shape):
            return normal(*shape) / np.float32(np.sqrt(np.prod(shape[1:])))

        return [
            # Winograd's tiles, by one block and by several, with a batch
            Case("a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Relu (a) c = Conv <pads = [1, 1, 1, 1]> (b, v) y = Tanh (c)", {"x": normal(2, 32, 29, 23)}, "y",
                 {"w": weights(64, 32, 3, 3), "v": weights(64, 64, 3, 3)}),
            # panels of Winograd's weights
            Case("a = Exp (x) y = Conv <pads = [1, 1, 1, 1]> (a, w)", {"x": normal(2, 256, 14, 13)}, "y", {"w": weights(272, 256, 3, 3)}),
            # strips: rows that are few, two windows one after the other, zeros behind the last row, a sum over a ring buffer
            Case("d = Conv(x, a) f = Clip(d) g = Conv<group = 96, pads = [1, 1, 1, 1]>(f, b) y = Conv(g, c)",
                 {"x": normal(1, 16, 3, 480)}, "y", {"a": weights(96, 16, 1, 1), "b": weights(96, 1, 3, 3), "c": weights(24, 96, 1, 1)}),
            Case("d = Conv(x, a) f = Relu(d) g = Conv<group = 96, pads = [1, 1, 1, 1]>(f, b) h = Conv(g, c) i = Conv(h, a) j = Relu(i) "
                 "k = Conv<group = 96, pads = [2, 2, 2, 2], strides = [2, 2]>(j, e) y = Conv(k, c)",
                 {"x": normal(1, 24, 61, 70)}, "y", {"a": weights(96, 24, 1, 1), "b": weights(96, 1, 3, 3), "c": weights(24, 96, 1, 1),
                                                     "e": weights(96, 1, 5, 5)}),
            Case("d = Conv(x, a) f = Relu(d) g = Conv<group = 96, pads = [1, 1, 1, 1], strides = [2, 2]>(f, b) h = Sigmoid(g) y = Conv(h, c)",
                 {"x": normal(1, 16, 67, 61)}, "y", {"a": weights(96, 16, 1, 1), "b": weights(96, 1, 3, 3), "c": weights(24, 96, 1, 1)}),
            # products: by tiles of rows in several blocks, by panels, in pieces of a long sum, by rows of an image, of a batch
            Case("y = MatMul (x, w)", {"x": normal(517, 800)}, "y", {"w": weights(800, 72)}),
            Case("y = MatMul (x, w)", {"x": normal(1, 700)}, "y", {"w": weights(700, 1000)}),
            Case("y = MatMul (x, w)", {"x": normal(100, 3000)}, "y", {"w": weights(3000, 100)}),
            Case("y = Conv <strides = [2, 2], pads = [3, 3, 3, 3]> (x, w)", {"x": normal(1, 3, 65, 67)}, "y", {"w": weights(16, 3, 7, 7)}),
            Case("y = MatMul (x, w) z = Softmax <axis = -1> (y)", {"x": normal(2, 3, 50, 64), "w": normal(2, 3, 64, 70)}, "y z"),
            # loops: one long one of an odd length, several, sums, windows, extrema
            Case("y = Gelu (x)", {"x": normal(100_003)}, "y"),
            Case("y = Erf (x) s = Softmax <axis = 1> (x) l = LayerNormalization (x, g)", {"x": normal(7, 301, 40)}, "y s l", {"g": normal(40)}),
            Case("y = Conv <group = 50, pads = [1, 1, 1, 1]> (x, w) m = MaxPool <kernel_shape = [3, 3]> (y) p = GlobalAveragePool (m)",
                 {"x": normal(1, 50, 40, 30)}, "y m p", {"w": weights(50, 1, 3, 3)}),
            Case("y = ReduceMax (x, k) t = Transpose <perm = [1, 0]> (x)", {"x": normal(200, 333)}, "y t", {"k": np.array([1])}),
            Case("y = Gather <axis = 0> (t, i)", {"i": integers(-50, 50, 900)}, "y", {"t": normal(50, 60)}),
        ]

    def several(self, options=(), also=()):
        cases = [case.renamed(f"c{k}_") for k, case in enumerate(self.cases())]
        feeds = {name: array for case in cases for name, array in case.inputs.items()}
        self.module(model_of(cases, 20), *options)
        alone = modules.load(self.path / "compiled", threads=1)(**feeds)
        for name, expected in zip(alone, modules.session(self.path / "model.onnx").run(None, feeds), strict=True):
            self.assertLessEqual(modules.distance(expected, alone[name]), 2e-5, name)
        for threads in (2, 3, 7, *also):
            module = modules.load(self.path / "compiled", threads=threads)
            for run in range(3):
                for name, got in module(**feeds).items():
                    with self.subTest(output=name, threads=threads, run=run):
                        np.testing.assert_array_equal(got, alone[name])
        return feeds, alone

    def test_the_same_bits(self):
        feeds, alone = self.several(also=(64,))
        about = json.loads((self.path / "compiled" / "interface.json").read_text())
        self.assertEqual(about["threads"], 1)
        self.assertGreater(about["thread_workspace_bytes"], 0)
        # A process that another one makes has no threads of a team but its own.
        module = modules.load(self.path / "compiled", threads=3)
        module(**feeds)
        child = os.fork()
        if child == 0:
            same = all(np.array_equal(got, alone[name]) for name, got in module(**feeds).items())
            module._end()
            os._exit(0 if same else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_the_same_bits_for_other_processors(self):
        self.several(("--target", "x86-64", "--threads", "2"))

    def test_all_kinds_of_loops_are_divided(self):
        shown = subprocess.run([isomer, "compile", str(self.save(model_of([c.renamed(f"c{k}_") for k, c in enumerate(self.cases())], 20))),
                                "-o", str(self.path / "compiled"), "--show", "all", "--seconds", "0"], capture_output=True, text=True, check=True).stdout
        nests = shown.split("\n\n")
        for words in (("tensorize F(4,3)", "parallel rows"), ("tensorize\n", "parallel rows"), ("tensorize\n", "parallel columns"),
                      ("tensorize F(4,3)", "parallel columns"), ("compute_at", "threads divide its rows"), ("parallel for i0 in 100003",)):
            with self.subTest(words=words):
                self.assertTrue(any(all(w in nest for w in words) for nest in nests), shown)

    def test_denormal_numbers_are_zero_and_cost_no_time(self):
        small = np.float32(1e-40)
        case = Case("c = Conv <pads = [1, 1, 1, 1]> (x, w) d = Mul (c, one) y = Relu (d) z = Mul (x, one)", {"x": normal(1, 64, 40, 40)}, "y z",
                    {"w": np.abs(normal(64, 64, 3, 3)), "one": np.ones((), np.float32)})
        module = self.module(model_of([case]))

        def seconds(x):
            """The time of the fastest of several runs."""
            times = []
            for _ in range(15):
                start = time.perf_counter()
                module(x=x)
                times.append(time.perf_counter() - start)
            return min(times)

        usual, denormal = np.abs(normal(1, 64, 40, 40)), np.full((1, 64, 40, 40), small)
        self.assertLess(seconds(denormal) / seconds(usual), 3)
        for threads in (1, 3):
            found = modules.load(self.path / "compiled", threads=threads)(x=denormal)
            for name in ("y", "z"):
                self.assertTrue((found[name] == 0).all(), (name, threads))
            self.assertEqual(float(small * np.float32(1)), float(small))  # the caller's threads compute as before

    def test_a_default_and_what_is_no_number(self):
        module = self.module(model_of([Case("y = Exp (x)", {"x": normal(50_000)}, "y")]), "--threads", "3")
        self.assertEqual(module.threads, 3)
        self.assertEqual(modules.load(self.path / "compiled", threads=2).threads, 2)
        for wrong in (0, -1, "2", 5000):
            with self.assertRaisesRegex(modules.BadInput, "threads"):
                modules.load(self.path / "compiled", threads=wrong)

    def test_an_index_outside_in_one_of_them(self):
        module = self.module(model_of([Case("y = Gather (t, i)", {"i": np.zeros(3000, np.int64)}, "y", {"t": normal(4, 50)})]), "--threads", "3")
        for bad in (0, 1500, 2999):
            i = integers(0, 4, 3000)
            expected = module(i=i)["y"].copy()
            outside = i.copy()
            outside[bad] = 4
            with self.assertRaisesRegex(modules.BadInput, "outside"):
                module(i=outside)
            np.testing.assert_array_equal(module(i=i)["y"], expected)

    def test_no_race(self):
        """Two runs at once, of which one has the threads, under ThreadSanitizer."""
        compiler = next((c for c in ("clang++", "g++", "clang++-19", "clang++-14") if shutil.which(c)), None)
        probe = subprocess.run([compiler or "false", "-fsanitize=thread", "-x", "c++", "-", "-o", str(self.path / "probe")], input="int main() {}", text=True,
                               capture_output=True, check=False)
        if probe.returncode != 0 or subprocess.run([str(self.path / "probe")], capture_output=True, check=False).returncode != 0:
            self.skipTest("no ThreadSanitizer here")
        case = Case("g = Conv (x, k) h = Relu (g) i = Conv <group = 96, pads = [1, 1, 1, 1], strides = [2, 2]> (h, l) j = Conv (i, m) "
                    "a = Conv <pads = [1, 1, 1, 1]> (j, w) b = Relu (a) c = Conv <pads = [1, 1, 1, 1]> (b, v) d = Exp (c) s = Softmax <axis = 1> (d) "
                    "f = Flatten (s) y = MatMul (f, u)", {"x": normal(1, 16, 66, 48)}, "y",
                    {"k": normal(96, 16, 1, 1) / 4, "l": normal(96, 1, 3, 3) / 3, "m": normal(16, 96, 1, 1) / 10,
                     "w": normal(32, 16, 3, 3) / 12, "v": normal(32, 32, 3, 3) / 17, "u": normal(32 * 33 * 24, 40)})
        self.module(model_of([case]), "--name", "net")
        self.assertIn("last[high]", (self.path / "compiled" / "net.cpp").read_text())  # strips whose rows threads divide
        (self.path / "main.cpp").write_text("""
#include "compiled/net.cpp"
#include <vector>
int main(int, char** words) {
  net_module* module = net_create_with_threads(words[1], 4);
  if (module == NULL) return 2;
  const auto several = [](void* given) -> void* {
    net_module* module = (net_module*)given;
    std::vector<char> memory(net_workspace_size(module) + 64);
    char* workspace = memory.data() + (64 - (uintptr_t)memory.data() % 64) % 64;
    std::vector<float> x(16 * 66 * 48, 0.5f), y(40), first;
    const void* inputs[] = {x.data()};
    void* outputs[] = {y.data()};
    for (int run = 0; run < 20; ++run) {
      if (run == 10) usleep(20000);
      if (net_run(module, inputs, outputs, workspace) != 0) return given;
      if (run == 0) first = y;
      if (first != y) return given;
    }
    return NULL;
  };
  pthread_t other;
  pthread_create(&other, NULL, several, module);
  void* wrong = several(module);
  void* wrong_there = NULL;
  pthread_join(other, &wrong_there);
  net_destroy(module);
  return wrong != NULL || wrong_there != NULL;
}
""")
        subprocess.run([compiler, "-std=c++17", "-O1", "-g", "-march=native", "-fsanitize=thread", "-w", str(self.path / "main.cpp"), "-o",
                        str(self.path / "main"), "-lm", "-ldl", "-lpthread"], check=True)
        ran = subprocess.run([str(self.path / "main"), str(self.path / "compiled" / "net.weights")], capture_output=True, text=True, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stderr[-3000:])


class Sizes(Compiles):
    """Operators for some sizes, in a model that runs at every size."""

    BODY = ("a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Relu (a) c = Conv <pads = [1, 1, 1, 1]> (b, v) d = Add (c, z) e = Sigmoid (d) "
            "y = GlobalAveragePool (e)")

    def setUp(self):
        super().setUp()
        weights = {"w": normal(16, 3, 3, 3) / 5, "v": normal(16, 16, 3, 3) / 12}
        self.model = model_of([Case(self.BODY, self.feeds(20), "y", weights)])
        for value, name in zip(self.model.graph.input, ("width", "width"), strict=True):
            value.type.tensor_type.shape.dim[3].dim_param = name
        self.out = self.path / "compiled"

    @staticmethod
    def feeds(width):
        return {"x": normal(1, 3, 20, width), "z": normal(1, 16, 20, width)}

    def compiled(self, *options):
        return modules.compile_model(self.save(self.model), self.out, "--as", "custom-op", "--name", "net", "--seconds", "0", *options)

    def check_at(self, *widths):
        session, right = modules.session(self.out / "model.onnx", self.out / "libnet.so"), modules.session(self.path / "model.onnx")
        for width in widths:
            feeds = self.feeds(width)
            self.assertLessEqual(modules.distance(right.run(None, feeds)[0], session.run(None, feeds)[0]), TOLERANCE[np.dtype(np.float32)], width)
        return session

    def test_of_two_and_of_all_others(self):
        ran = self.compiled("--shape", "width=20", "--shape", "width=33")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual([(s["sizes"], s["is_operator"]) for s in ran.answer["sizes"]], [(["width=20"], True), (["width=33"], True)])
        self.assertEqual(ran.answer["operators"], 3, "one for each, and one for every size")
        session = self.check_at(20, 33, 1, 32, 34)
        self.assertEqual([i.shape[3] for i in session.get_inputs()], ["width", "width"])
        self.assertEqual(len(list(self.out.glob("*.weights"))), 1, "one network has its weights once")

    def branches(self, graph):
        choice = next(node for node in graph.node if node.op_type == "If")
        return {a.name: a.g for a in choice.attribute}

    def test_an_operator_runs_at_its_size_alone(self):
        self.compiled("--shape", "width=20")
        graph = onnx.load(self.out / "model.onnx").graph
        self.assertRegex(" ".join(n.op_type for n in graph.node), r"^net_\w+_choice If$")
        given = self.branches(graph)
        self.assertEqual([n.op_type[:4] + n.op_type[-2:] for n in given["then_branch"].node], ["net__0"])
        every = self.branches(given["else_branch"])
        self.assertTrue(any(n.op_type.endswith("_1") for n in every["then_branch"].node))
        self.assertIn("Conv", [n.op_type for n in every["else_branch"].node])

    def test_operators_for_every_size(self):
        ran = self.compiled()
        every = ran.answer["every_size"]
        self.assertEqual((every["is_taken"], [s["name"] for s in every["sizes"]]), (True, ["width"]), every["reason"])
        self.check_at(1, 2, 3, 17, 20, 33, 64, 130)

    def test_a_size_that_works_as_one_number_alone(self):
        # With open height and width; the sum with a constant is right at one height.
        weights = {"w": normal(16, 3, 3, 3) / 5, "edge": normal(20, 1)}
        self.model = model_of([Case("a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Add (a, edge) y = Relu (b)", {"x": normal(1, 3, 20, 20)}, "y", weights)])
        for axis, name in ((2, "height"), (3, "width")):
            self.model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
        ran = self.compiled("--shape", "height=20", "--shape", "width=20")
        every = ran.answer["every_size"]
        self.assertTrue(every["is_taken"], every["reason"])
        self.assertEqual({s["name"]: (s["least"], s["most"]) for s in every["sizes"]}["height"], (20, 20))
        session, right = modules.session(self.out / "model.onnx", self.out / "libnet.so"), modules.session(self.path / "model.onnx")
        for width in (1, 20, 33):
            feeds = {"x": normal(1, 3, 20, width)}
            self.assertLessEqual(modules.distance(right.run(None, feeds)[0], session.run(None, feeds)[0]), TOLERANCE[np.dtype(np.float32)], width)

    def test_fixed_if_that_is_wanted(self):
        self.compiled("--shape", "width=20", "--fixed-sizes")
        session = self.check_at(20)
        with self.assertRaisesRegex(Exception, "(?i)dimension"):
            session.run(None, self.feeds(21))

    def test_that_runs_is_found(self):
        ran = self.compiled()
        self.assertEqual((ran.returncode, len(ran.answer["sizes"])), (0, 1), ran.stderr)
        self.check_at(20, 128)

    def test_what_has_one_size(self):
        two = ("--shape", "width=20", "--shape", "width=33")
        for options, words in (((*two, "--fixed-sizes"), "--fixed-sizes"), ((*two, "--optimize", "5s"), "--kernels")):
            ran = self.compiled(*options)
            self.assertEqual(ran.returncode, 2)
            self.assertIn(words, ran.stderr)


class Batches(Compiles):
    """Models with a batch of any size, which each run gets."""

    def setUp(self):
        super().setUp()
        self.weights = {"w": normal(16, 3, 3, 3) / 5, "v": normal(16, 16, 3, 3) / 12, "u": normal(16, 10), "r": np.array([-1, 16])}
        body = ("a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Relu (a) c = Conv <pads = [1, 1, 1, 1]> (b, v) p = GlobalAveragePool (c) f = Reshape (p, r) "
                "m = MatMul (f, u) n = Add (m, z) l = Mul (n, t) y = Softmax <axis = 1> (l)")
        self.case = Case(body, {"x": normal(1, 3, 20, 20), "z": normal(1, 10), "t": normal(1)}, "y", self.weights)
        self.model = model_of([self.case], open_sizes=("x", "z"))

    def feeds(self, batch):
        return {"x": normal(batch, 3, 20, 20), "z": normal(batch, 10), "t": normal(1)}

    def test_of_all_sizes(self):
        self.module(self.model)
        about = json.loads((self.path / "compiled" / "interface.json").read_text())
        self.assertEqual((about["batch"], about["inputs"][0]["shape"], about["outputs"][0]["shape"]), ("N", ["N", 3, 20, 20], ["N", 10]))
        session = modules.session(self.path / "model.onnx")
        loaded = [modules.load(self.path / "compiled", threads=threads) for threads in (1, 2, 3, 7)]
        for batch in (1, 2, 3, 5, 8, 0):
            feeds = self.feeds(batch)
            got = [module(**feeds)["y"] for module in loaded]
            self.assertEqual(got[0].shape, (batch, 10))
            if batch:
                self.assertLessEqual(modules.distance(session.run(None, feeds)[0], got[0]), TOLERANCE[np.dtype(np.float32)])
            for other in got[1:]:
                np.testing.assert_array_equal(got[0], other)

    def test_sizes_that_differ_are_named(self):
        module = self.module(self.model)
        self.assertIn("x float['N', 3, 20, 20]", repr(module))
        with self.assertRaisesRegex(modules.BadInput, "N is another.*'x' has 2.*'z' has 3"):
            module(**{**self.feeds(2), "z": normal(3, 10)})
        for wrong in (normal(2, 3, 20, 21), normal(2, 3, 20), normal(20, 20)):
            with self.assertRaisesRegex(modules.BadInput, "shape"):
                module.set_input("x", wrong)

    def test_inside_of_the_runtime(self):
        options = ("--as", "custom-op", "--name", "net")
        answer = modules.compile_model(self.save(self.model), self.path / "compiled", *options, "--seconds", "0.5", "--threads", "2").answer
        self.assertEqual((answer["batch"], answer["not_compared"]), ("N", ""))
        modules.compile_model(self.path / "model.onnx", self.path / "compiled", *options)
        session, right = modules.session(self.path / "compiled" / "model.onnx", self.path / "compiled" / "libnet.so"), modules.session(self.path / "model.onnx")
        for batch in (1, 4, 3):
            feeds = self.feeds(batch)
            self.assertLessEqual(modules.distance(right.run(None, feeds)[0], session.run(None, feeds)[0]), TOLERANCE[np.dtype(np.float32)])
        with self.assertRaisesRegex(Exception, "different sizes"):
            session.run(None, {**self.feeds(2), "z": normal(3, 10)})

    def test_an_index_outside_in_one_sample(self):
        case = Case("y = GatherElements <axis = 1> (x, i)", {"x": normal(1, 4), "i": integers(0, 4, 1, 2)}, "y")
        module = self.module(model_of([case], open_sizes=("x", "i")), "--threads", "2")
        x, i = normal(5, 4), integers(0, 4, 5, 2)
        np.testing.assert_array_equal(module(x=x, i=i)["y"], np.take_along_axis(x, i, 1))
        i[3, 1] = 4
        with self.assertRaisesRegex(modules.BadInput, "outside"):
            module(x=x, i=i)

    def test_linked_from_cpp(self):
        model = model_of([Case("a = MatMul (x, w) y = Relu (a)", {"x": normal(1, 6)}, "y", {"w": normal(6, 4)})], open_sizes=("x",))
        self.module(model, "--name", "net")
        x = normal(7, 6)
        (self.path / "x").write_bytes(x.tobytes())
        (self.path / "main.cpp").write_text("""
#include <cstdio>
#include <vector>
#include "compiled/net.hpp"
int main(int, char** words) {
  std::vector<float> x(42), y(28);
  std::FILE* in = std::fopen(words[1], "rb");
  if (std::fread(x.data(), 4, x.size(), in) != x.size()) return 1;
  net model(words[2], 2);
  if (!model || !model.run(7, {x.data()}, {y.data()}) || !model.run(0, {x.data()}, {y.data()})) return 2;
  return std::fwrite(y.data(), 4, y.size(), stdout) == y.size() ? 0 : 3;
}
""")
        subprocess.run(["g++", "-std=c++17", "-Wall", "-Werror", str(self.path / "main.cpp"), str(self.path / "compiled" / "libnet.a"), "-lm", "-ldl",
                        "-lpthread", "-o", str(self.path / "main")], check=True)
        ran = subprocess.run([str(self.path / "main"), str(self.path / "x"), str(self.path / "compiled" / "net.weights")], capture_output=True, check=True)
        expected = modules.session(self.path / "model.onnx").run(None, {"x": x})[0]
        self.assertLessEqual(modules.distance(expected, np.frombuffer(ran.stdout, np.float32).reshape(7, 4)), TOLERANCE[np.dtype(np.float32)])


class OpenSizes(Compiles):
    """Sizes that a run is given, which depend on each other: no batch whose samples are computed one by one."""

    def setUp(self):
        super().setUp()
        constants = {"w": normal(32, 96) / 6, "o": normal(32, 32) / 6, "table": normal(1, 48, 32), "heads": np.array([0, 0, 6, 16]),
                     "flat": np.array([0, 0, 32]), "one": np.array([1]), "zero": np.array([0])}
        body = ("n = Shape (x) l = Gather (n, one) p = Slice (table, zero, l, one) e = Add (x, p) q = MatMul (e, w) h = Reshape (q, heads) "
                "t = Transpose <perm = [0, 2, 1, 3]> (h) a, b, c = Split <axis = 1, num_outputs = 3> (t) d = Transpose <perm = [0, 1, 3, 2]> (b) "
                "s = MatMul (a, d) k = Mul (s, m) f = Softmax <axis = -1> (k) g = MatMul (f, c) "
                "i = Transpose <perm = [0, 2, 1, 3]> (g) j = Reshape (i, flat) r = MatMul (j, o) "
                "y = Add (r, e) z = ReduceMean <keepdims = 0> (y, one)")
        self.model = model_of([Case(body, {"x": normal(2, 5, 32), "m": normal(2, 1, 1, 5)}, "y z", constants)])
        for put, names in zip(self.model.graph.input, (["batch", "length", 0], ["batch", 0, 0, "length"])):
            for d, name in zip(put.type.tensor_type.shape.dim, names):
                if name:
                    d.dim_param = name

    def feeds(self, batch, length):
        return {"x": normal(batch, length, 32), "m": normal(batch, 1, 1, length)}

    def test_of_all_sizes(self):
        answer = modules.compile_model(self.save(self.model), self.path / "compiled", "--seconds", "0.2").answer
        self.assertEqual((answer["open_sizes"], answer["batch"], answer["not_compared"]), (["batch", "length"], None, ""))
        about = json.loads((self.path / "compiled" / "interface.json").read_text())
        self.assertEqual(about["sizes"], [{"name": "batch", "least": 1, "most": None, "step": 1}, {"name": "length", "least": 1, "most": 48, "step": 1}])
        self.assertEqual([p["shape"] for p in about["outputs"]], [["batch", "length", 32], ["batch", 32]])
        module, session = modules.load(self.path / "compiled"), modules.session(self.path / "model.onnx")
        for sizes in ((1, 1), (2, 5), (1, 48), (3, 17), (5, 2), (2, 33), (1, 16)):
            feeds = self.feeds(*sizes)
            got = module(**feeds)
            for name, expected in zip("yz", session.run(None, feeds)):
                self.assertLessEqual(modules.distance(expected, got[name]), TOLERANCE[np.dtype(np.float32)], f"{name} at {sizes}")

    def test_sizes_that_do_not_fit_are_named(self):
        module = self.module(self.model)
        self.assertIn("x float['batch', 'length', 32]", repr(module))
        with self.assertRaisesRegex(modules.BadInput, "length is 49.*1 to 48"):
            module(**self.feeds(1, 49))
        with self.assertRaisesRegex(modules.BadInput, "batch is 0"):
            module(**self.feeds(0, 3))
        with self.assertRaisesRegex(modules.BadInput, "'m' has shape .* where batch is 2, length is 7, not"):
            module(**{**self.feeds(2, 7), "m": normal(2, 1, 1, 6)})

    def test_linked_from_cpp(self):
        self.module(self.model, "--name", "net")
        feeds = self.feeds(3, 9)
        for name, array in feeds.items():
            (self.path / name).write_bytes(array.tobytes())
        (self.path / "main.cpp").write_text("""
#include <cstdio>
#include <vector>
#include "compiled/net.hpp"
static std::vector<float> read(const char* path, size_t count) {
  std::vector<float> out(count);
  std::FILE* in = std::fopen(path, "rb");
  if (in == nullptr || std::fread(out.data(), 4, count, in) != count) std::exit(3);
  std::fclose(in);
  return out;
}
int main(int, char** words) {
  net module(words[1]);
  if (!module) return 2;
  const std::vector<float> x = read(words[2], 3 * 9 * 32), m = read(words[3], 3 * 9);
  std::vector<float> y(3 * 9 * 32), z(3 * 32);
  const int64_t sizes[] = {3, 9}, more[] = {3, 49};
  const void* in[] = {x.data(), m.data()};
  void* out[] = {y.data(), z.data()};
  if (module.run(more, in, out)) return 4;
  if (!module.run(sizes, in, out)) return 5;
  std::fwrite(z.data(), 4, z.size(), stdout);
}
""")
        library = self.path / "compiled" / "libnet.so"
        program = self.path / "main"
        subprocess.run(["c++", "-std=c++17", str(self.path / "main.cpp"), str(library), f"-Wl,-rpath,{library.parent}", "-o", str(program)], check=True)
        ran = subprocess.run([str(program), str(self.path / "compiled" / "net.weights"), str(self.path / "x"), str(self.path / "m")],
                             capture_output=True, check=False)
        self.assertEqual(ran.returncode, 0)
        expected = modules.session(self.path / "model.onnx").run(None, feeds)[1]
        self.assertLessEqual(modules.distance(expected, np.frombuffer(ran.stdout, np.float32).reshape(3, 32)), TOLERANCE[np.dtype(np.float32)])


class Schedules(Compiles):
    """Loops that a user orders: the results stay, and what is no order is said."""

    CASE = Case("a = MatMul (x, w) y = Relu (a)", {"x": normal(12, 20)}, "y", {"w": normal(20, 30)})
    PAGE = (programs.ROOT / "docs" / "guides" / "compile.md").read_text(encoding="utf-8").split("```\nnest ", 1)[1].split("```", 1)[0]
    NEST = PAGE.split("#", 1)[0].strip()

    def scheduled(self, lines, *options):
        (self.path / "schedule").write_text(f"nest {self.NEST}\n{lines}\n")
        return modules.compile_model(self.save(model_of([self.CASE])), self.path / "compiled", "--schedule", str(self.path / "schedule"), *options)

    def test_keep_the_results(self):
        expected = np.maximum(self.CASE.inputs["x"] @ self.CASE.constants["w"], 0)
        for lines in (self.PAGE.split("\n", 1)[1], "reorder i1 i0", "split i0 5\nreorder i0.o i1 i0.i", "split r0 4\nunroll r0.i",
                      "split i0 4\nsplit i1 7\nreorder i0.o i1.o r0 i0.i i1.i  # a tile\nparallel i0.o"):
            with self.subTest(lines=lines):
                ran = self.scheduled(lines)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertLessEqual(modules.distance(expected, modules.load(self.path / "compiled")(**self.CASE.inputs)["y"]), TOLERANCE[expected.dtype])

    def test_that_are_none(self):
        for lines, words in (("split i0 0", "split"), ("split i7 2", "i7"), ("tile i0 2", "tile"), ("fuse i0 i0", "i0"), ("reorder i0 i0", "twice"),
                             ("vectorize", "vectorize"), ("vectorize i0", "innermost"), ("pack x0 7", "pack"), ("tensorize F(4,3)", "Winograd"),
                             ("compute_at nobody 3", "nobody"), ("nest nobody", "nobody"), ("parallel i1", "parallel"),
                             ("reorder r0 i1 i0\nparallel r0", "two threads"), ("tensorize\nparallel i0", "parallel rows")):
            with self.subTest(lines=lines):
                ran = self.scheduled(lines)
                self.assertEqual(ran.returncode, 2, ran.stdout)
                self.assertIn(words, ran.answer["error"]["message"])

    def test_are_shown(self):
        shown = subprocess.run([isomer, "compile", str(self.save(model_of([self.CASE]))), "-o", str(self.path / "compiled"), "--show", "Relu"],
                               capture_output=True, text=True, check=True).stdout
        self.assertIn(self.NEST + ":", shown)
        self.assertIn("relu(sum(", shown)
        # What is shown may be given again.
        lines = [line.strip() for line in shown.splitlines() if line.strip().startswith(("pack ", "tensorize", "block ", "group "))]
        self.assertEqual([line.split()[0] for line in lines], ["pack", "tensorize", "block", "group"])
        ran = self.scheduled("\n".join(lines))
        self.assertEqual((ran.returncode, ran.answer.get("tiled")), (0, 1), ran.stdout)
        ran = self.scheduled("\n".join(lines).replace("pack x1 32", "pack x1 16"))
        self.assertEqual((ran.returncode, ran.answer.get("tiled")), (0, 1), ran.stdout)
        expected = np.maximum(self.CASE.inputs["x"] @ self.CASE.constants["w"], 0)
        self.assertLessEqual(modules.distance(expected, modules.load(self.path / "compiled")(**self.CASE.inputs)["y"]), TOLERANCE[expected.dtype])


class Kernels(Compiles):
    """C++ of a user's own: the page's example, in another network, and what computes something else."""

    PAGE = (programs.ROOT / "docs" / "guides" / "compile.md").read_text(encoding="utf-8").split("```\nintrinsic ", 1)[1].split("```", 1)[0]
    TEXT, LINES = ("intrinsic " + PAGE).split("\nnest ", 1)
    CASE = Case("a = MatMul (x, w) y = Relu (a)", {"x": normal(16, 20)}, "y", {"w": normal(20, 24)})

    def kernel(self, text, lines=LINES, case=CASE, options=()):
        (self.path / "schedule").write_text(f"{text}\nnest {lines}\n")
        return modules.compile_model(self.save(model_of([case])), self.path / "compiled", "--schedule", str(self.path / "schedule"), *options)

    def test_of_the_page(self):
        turned = Case("b = Transpose (x) a = MatMul (b, w) y = Relu (a)", {"x": normal(20, 16)}, "y", {"w": normal(20, 24)})
        for case, of in ((self.CASE, lambda x: x), (turned, np.transpose)):
            with self.subTest(case=case):
                command = [isomer, "compile", str(self.save(model_of([case]))), "-o", str(self.path / "compiled"), "--show", "all", "--seconds", "0"]
                first = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                name = next(line.split(":")[0] for line in first.splitlines() if "MatMul" in line and line.endswith("]"))
                ran = self.kernel(self.TEXT, name.strip() + "\n" + self.LINES.split("\n", 1)[1], case)
                self.assertEqual(ran.returncode, 0, ran.stdout)
                self.assertEqual(ran.answer["tiled"], 0)
                self.assertIn("im_own_dot8(sum", (self.path / "compiled" / "model.cpp").read_text())
                expected = np.maximum(of(case.inputs["x"]) @ case.constants["w"], 0)
                self.assertLessEqual(modules.distance(expected, modules.load(self.path / "compiled")(**case.inputs)["y"]), TOLERANCE[expected.dtype])

    def test_that_compute_something_else(self):
        for old, new in (("k < 4", "k < 3"), ("+=", "="), ("b_1", "b_0"), ("a[i*a_0 + k*a_1]", "a[4*i + k]"), ("8*i + j", "8*j + i")):
            with self.subTest(new=new):
                self.assertIn(old, self.TEXT.split("code", 1)[1])
                ran = self.kernel("code".join((self.TEXT.split("code", 1)[0], self.TEXT.split("code", 1)[1].replace(old, new))))
                self.assertEqual(ran.returncode, 2, ran.stdout)
                self.assertIn("intrinsic dot8: its code was tested", ran.answer["error"]["message"])

    def test_that_do_not_fit(self):
        for old, new, words in (("reorder i0.o i1.o r0.o i0.i i1.i r0.i", "reorder i0.o i1.o r0.o i1.i i0.i r0.i", "refused"),
                                ("split r0 4", "split r0 5", "refused"), ("tensorize dot8", "tensorize dot9", "dot9")):
            with self.subTest(new=new):
                ran = self.kernel(self.TEXT, self.LINES.replace(old, new))
                self.assertEqual(ran.returncode, 2, ran.stdout)
                self.assertIn(words, ran.answer["error"]["message"])

    def test_that_can_not_be_tried(self):
        ran = self.kernel(self.TEXT, options=("--target", "aarch64"))
        self.assertEqual(ran.returncode, 2, ran.stdout)
        self.assertIn("can't be tested", ran.answer["error"]["message"])


class Tuned(Compiles):
    """Schedules that are looked for: whatever is found, the results stay; what was measured outlives the process."""

    CASE = Case("a = Conv <pads = [1, 1, 1, 1]> (x, v) b = Relu (a) c = Conv <pads = [1, 1, 1, 1]> (b, w) y = Relu (c)", {"x": normal(1, 32, 28, 28)}, "y",
                {"v": normal(48, 32, 3, 3) / 20, "w": normal(64, 48, 3, 3) / 20})

    def command(self, tune, *more):
        return [isomer, "compile", str(self.save(model_of([self.CASE]))), "-o", str(self.path / "compiled"), "--json", "--quiet", "--seconds", "0.3",
                "--tune", tune, "--tuning", str(self.path / "tuning"), *more]

    def tuned(self, tune, *more):
        answer = json.loads(subprocess.run(self.command(tune, *more), capture_output=True, text=True, check=True).stdout)
        expected = modules.session(self.path / "model.onnx").run(None, self.CASE.inputs)[0]
        if (self.path / "compiled" / "interface.json").exists():
            got = modules.load(self.path / "compiled")(**self.CASE.inputs)["y"]
        else:
            got = modules.session(self.path / "compiled" / "model.onnx", self.path / "compiled" / "libmodel.so").run(None, self.CASE.inputs)[0]
        self.assertLessEqual(modules.distance(expected, got), 10 * TOLERANCE[expected.dtype])  # Winograd's
        self.assertEqual([p.name for p in (self.path / "compiled").glob(".*")], [])
        return answer

    def records(self):
        return {p.name: p.read_bytes() for p in (self.path / "tuning").glob("v2/*/*.txt")}

    def test_killed_at_any_time(self):
        process = subprocess.Popen(self.command("60s"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while not self.records() and time.monotonic() < end and process.poll() is None:
            time.sleep(0.05)
        process.kill()
        process.wait()
        kept = self.records()
        self.assertTrue(kept)
        tuning = self.tuned("8s")["tuning"]
        self.assertGreater(tuning["remembered"], 0)
        self.assertGreater(tuning["tried"], 0)
        self.assertLessEqual(kept.items(), self.records().items())  # nothing was lost, nor changed
        self.assertTrue(tuning["is_taken"] or tuning["why"])
        self.assertTrue(not tuning["is_taken"] or tuning["ratio"] > 1)

    def test_as_an_operator(self):
        answer = self.tuned("5s", "--as", "custom-op", "--tune-search", "random")
        self.assertEqual(answer["tuning"]["search"], "random")

    def test_nothing_is_looked_for_unasked(self):
        self.assertIsNone(self.tuned("0")["tuning"])
        self.assertEqual(self.records(), {})
        for words, line in ((("--tune", "soon"), ""), (("--tune", "-1"), ""), (("--tune-search", "luck"), "luck"), (("--tune-search", "learned"), "removed"),
                            (("--optimize", "30s"), "")):
            ran = subprocess.run([*self.command("0"), *words], capture_output=True, text=True, check=False)
            self.assertEqual(ran.returncode, 2, words)
            self.assertEqual(len(ran.stderr.splitlines()), 1, words)
            self.assertIn(line, ran.stderr)


class Profile(Compiles):
    def test_every_nest_has_a_share(self):
        self.module(model_of([Case("a = MatMul (x, w) b = Softmax (a) y = Conv <group = 4> (z, v)", {"x": normal(4, 32), "z": normal(1, 4, 9, 9)}, "b y",
                                   {"w": normal(32, 48), "v": normal(4, 1, 3, 3)})]))
        script = programs.ROOT / "bench" / "module_profile.py"
        told = subprocess.run([sys.executable, str(script), str(self.path / "compiled"), "--runs", "3"], capture_output=True, text=True, check=True).stdout
        shares = [float(line.split()[1]) for line in told.splitlines() if "%" in line]
        self.assertAlmostEqual(sum(shares), 100, delta=1)
        for word in ("MatMul", "Softmax", "Conv"):
            self.assertIn(word, told)


class Rebatched(Compiles):
    """What bench/module_threads.py takes as a model for several samples."""

    def rebatched(self, body, constants):
        import module_threads
        try:
            model, feeds = module_threads.rebatched(self.save(model_of([Case(body, {"x": normal(1, 4, 6)}, "y", constants)])), {}, self.path, 3)
        except module_threads.Skipped:
            return None
        self.assertEqual(feeds["x"].shape, (3, 4, 6))
        return modules.session(model).run(None, feeds)[0].shape

    def test_samples_stay_apart(self):
        shape = {"s": np.array([1, -1])}
        self.assertEqual(self.rebatched("y = Reshape (x, s)", shape), (3, 24))
        self.assertIsNone(self.rebatched("a = Reshape (x, s) y = Softmax <axis = 0> (a)", shape))  # of all samples
        self.assertIsNone(self.rebatched("y = ReduceMax <keepdims = 1> (x, s)", {"s": np.array([0])}))  # one for all
        self.assertIsNone(self.rebatched("y = Concat <axis = 1> (x, c)", {"c": normal(1, 2, 6)}))  # a constant for one
        self.assertIsNone(self.rebatched("y = Reshape (x, s)", {"s": np.array([4, 6])}))


class Refuses(Compiles):
    def refused(self, model, code, *words, options=(), **more):
        folder = self.path / "compiled"
        ran = subprocess.run([isomer, "compile", str(self.save(model)), "-o", str(folder), *options], capture_output=True, text=True, check=False, **more)
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        for word in words:
            self.assertIn(word, ran.stderr)
        self.assertFalse(folder.exists())
        self.assertLess(len(ran.stderr), 1000)
        with self.assertRaises(modules.BadInput):
            modules.load(folder)

    def test_time_that_ends(self):
        model = model_of([Case("y = Relu (x)", {"x": normal(3)}, "y")])
        self.refused(model, 2, "the time ran out", "--budget", options=("--budget", "0.001"))

    def test_a_folder_that_was_there_stays_as_it_was(self):
        (self.path / "compiled").mkdir()
        (self.path / "compiled" / "mine.txt").write_text("mine")
        ran = modules.compile_model(self.save(model_of([Case("y = Relu (x)", {"x": normal(3)}, "y")])), self.path / "compiled", "--compiler", "false")
        self.assertEqual(ran.returncode, 2)
        self.assertEqual([f.name for f in (self.path / "compiled").iterdir()], ["mine.txt"])

    def test_a_user_who_stops_it(self):
        model = self.save(model_of([Case("y = Relu (x)", {"x": normal(3)}, "y")]))
        slow = self.path / "slow_compiler"
        slow.write_text("#!/bin/sh\nsleep 60\n")
        slow.chmod(0o755)
        command = [isomer, "compile", str(model), "-o", str(self.path / "compiled"), "--compiler", str(slow)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            while not list(self.path.glob("compiled/.isomer-compile/*/*.cpp")) and running.poll() is None:
                time.sleep(0.02)
            running.send_signal(signal.SIGINT)
            _, words = running.communicate(timeout=30)
        self.assertEqual(running.returncode, 130, words)
        self.assertIn("it was stopped: no file was written", words)
        self.assertFalse((self.path / "compiled").exists())

    def test_a_node_without_a_formula(self):
        node = helper.make_node("Mystery", ["x"], ["y"], name="who knows", domain="mine")
        model = model_of([Case("", {"x": normal(3)}, "y")])
        model.graph.node.append(node)
        model.opset_import.append(helper.make_opsetid("mine", 1))
        self.refused(model, 2, "who knows", "Mystery", "--as custom-op")

    def test_a_size_that_is_not_known(self):
        # Only where two sizes are equal, and of a size that depends on values.
        model = model_of([Case("y = Add (x, z)", {"x": normal(3, 4), "z": normal(3, 4)}, "y")], open_sizes="x")
        model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "M"
        self.refused(model, 2, "Add", "N")
        other = model_of([Case("i = NonZero (x) f = Cast <to = 1> (i) y = Relu (f)", {"x": normal(3, 4)}, "y")], open_sizes="x")
        self.refused(other, 2, "NonZero")
        self.assertEqual(self.module(model, "--shape", "N=3", "--shape", "M=3").inputs[0].shape, [3, 4])

    def test_no_compiler_or_one_that_fails(self):
        model = model_of([Case("y = Relu (x)", {"x": normal(3)}, "y")])
        environment = {k: v for k, v in os.environ.items() if k != "CXX"}
        self.refused(model, 2, "no C++ compiler", "--compiler", env={**environment, "PATH": str(self.path)})
        self.refused(model, 2, "no_such_compiler", options=("--compiler", "no_such_compiler"))
        self.refused(model, 2, "false", options=("--compiler", "false"))

    def test_names_and_targets_that_there_are_not(self):
        model = model_of([Case("y = Relu (x)", {"x": normal(3)}, "y")])
        for name in ("not a name", "../up", "1st", ""):
            self.refused(model, 2, "--name", "identifier", options=("--name", name))
        self.refused(model, 2, "x86-64-v3", options=("--target", "vax"))


if __name__ == "__main__":
    if not modules.has_compiler():
        print("skipped: no C++ compiler here")
        sys.exit(programs.SKIPPED)
    unittest.main()
