"""`isomer compile --as custom-op`: regions of a model become operators, the rest stays with ONNX Runtime; the outputs are those of the model."""
import pathlib
import tempfile
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper

import _paths  # noqa: F401
import modules

TOLERANCE = 1e-5  # of the largest value: sums are added up in another order
draw = np.random.default_rng(5)


def normal(*shape):
    return draw.standard_normal(shape).astype(np.float32)


def model_of(body, inputs, outputs, constants, domains=()):
    """Nodes as text; inputs by name with their shapes; outputs by name with their types."""
    kinds = {"float": onnx.TensorProto.FLOAT, "int64": onnx.TensorProto.INT64}
    graph = helper.make_graph(
        list(onnx.parser.parse_graph(f"g () => () {{ {body} }}").node), "g",
        [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, kinds[k], None) for n, k in outputs.items()],
        [numpy_helper.from_array(a, n) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), *(helper.make_opsetid(d, 1) for d in domains)], ir_version=9)


def blocks(count, size, value="x", prefix=""):
    """Equal blocks, one after another, each with a way around it; what they put out, and their weights."""
    body, constants = "", {}
    for k in range(count):
        w, made = f"{prefix}w{k}", f"{prefix}r{k}"
        constants[w] = normal(size, size) / size ** 0.5
        body += f"{prefix}p{k} = MatMul ({value}, {w}) {prefix}t{k} = Tanh ({prefix}p{k}) {made} = Add ({prefix}t{k}, {value}) "
        value = made
    return body, value, constants


class Regions(unittest.TestCase):
    def setUp(self):
        if not modules.has_compiler():
            self.skipTest("there is no C++ compiler")
        folder = tempfile.TemporaryDirectory(prefix="isomer_regions_")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def compiled(self, model, *options):
        onnx.save(model, self.path / "model.onnx")
        ran = modules.compile_model(self.path / "model.onnx", self.path / "compiled", "--as", "custom-op", "--name", "net", *options)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.result = onnx.load(self.path / "compiled" / "model.onnx")
        return ran.answer

    def assert_unchanged(self, answer, word):
        self.assertFalse(answer["is_operator"])
        self.assertIn(word, answer["reason"])
        self.assertEqual((self.path / "compiled" / "model.onnx").read_bytes(), (self.path / "model.onnx").read_bytes())

    def operators(self):
        return [n for n in self.result.graph.node if n.domain == "isomer"]

    def compare(self, *shape):
        """The result on ONNX Runtime beside the model."""
        theirs = modules.session(self.path / "model.onnx")
        ours = modules.session(self.path / "compiled" / "model.onnx", self.path / "compiled" / "libnet.so")
        for _ in range(3):
            feeds = {"x": normal(*shape)}
            for expected, got in zip(theirs.run(None, feeds), ours.run(None, feeds), strict=True):
                self.assertLessEqual(modules.distance(expected, got), TOLERANCE)

    def test_a_node_without_a_formula_in_the_middle(self):
        first, value, constants = blocks(2, 64)
        # Sorted, which puts the size of the following values beyond inference; its neighbours are compiled.
        body = first + f"u, ui, uj, uc = Unique <sorted = 1> ({value}) n = ReduceMax <keepdims = 0> (u) "
        second, end, more = blocks(2, 64, value, "s")
        model = model_of(body + second + f"y = Add ({end}, n)", {"x": [48, 64]}, {"y": "float", "n": "float"}, constants | more)
        self.assertEqual(len(self.compiled(model)["regions"]) > 0, True)
        self.assertEqual([n.op_type for n in self.result.graph.node if n.op_type == "Unique"], ["Unique"])
        self.assertGreater(len(self.operators()), 0)
        self.compare(48, 64)

    def test_measured_with_a_node_without_a_formula(self):
        # Ours is faster on a chain of many small steps; whatever is chosen runs, and is what the model is.
        first, value, constants = blocks(3, 32)
        body = first + f"k, ki = TopK <axis = 1, sorted = 1> ({value}, five) u, ui, uj, uc = Unique (k) s = Size (u) "
        model = model_of(body, {"x": [64, 32]}, {"s": "int64", "k": "float"}, constants | {"five": np.array([5])})
        answer = self.compiled(model, "--seconds", "2")
        self.assertEqual(answer["not_compared"], "")
        self.assertEqual(answer["is_operator"], answer["operators"] > 0)
        self.assertEqual(len(self.operators()), answer["operators"])
        for region in answer["regions"]:
            self.assertGreater(region["runtime_ms"], 0)
        if answer["is_operator"]:
            self.assertGreater(answer["speed"]["low"], 1.02)
        else:
            self.assertNotEqual(answer["reason"], "")
        self.compare(64, 32)

    def test_a_branch_stays_with_the_runtime(self):
        body, value, constants = blocks(2, 64)
        model = model_of(body + f"m = ReduceMean <keepdims = 0> ({value}) c = Greater (m, zero) y = If (c) <then_branch = t () => (float[48, 64] a) "
                         f"{{ a = Relu ({value}) }}, else_branch = e () => (float[48, 64] b) {{ b = Neg ({value}) }}>",
                         {"x": [48, 64]}, {"y": "float"}, constants | {"zero": np.array(0, np.float32)})
        self.compiled(model)
        self.assertGreater(len(self.operators()), 0)
        self.assertIn("If", [n.op_type for n in self.result.graph.node])
        self.compare(48, 64)

    def test_a_node_of_a_domain_that_nobody_knows(self):
        first, value, constants = blocks(2, 64)
        model = model_of(first + f"o = other.Odd ({value}) y = Relu (o)", {"x": [48, 64]}, {"y": "float", value: "float"}, constants, ["other"])
        for seconds in ("0", "1"):  # the runtime does not know it, either: what it does not load is not written
            answer = self.compiled(model, "--seconds", seconds)
            self.assert_unchanged(answer, "other")

    def test_sizes_at_which_a_branch_is_invalid(self):
        # The runtime infers shapes of both branches when it loads a model, also of the one that never runs at this size.
        body, value, constants = blocks(2, 64)
        model = model_of(body + f"m = ReduceMean <keepdims = 0> ({value}) c = Greater (m, many) y = If (c) <then_branch = t () => (float[N, 64] a) "
                         f"{{ a = Add ({value}, five) }}, else_branch = e () => (float[N, 64] b) {{ b = Add ({value}, four) }}>",
                         {"x": ["N", 64]}, {"y": "float"}, constants | {"many": np.array(1000, np.float32), "five": normal(5, 64), "four": normal(4, 64)})
        for seconds in ("0", "1"):
            self.assert_unchanged(self.compiled(model, "--shape", "N=4", "--seconds", seconds), "If")
        self.compare(4, 64)

    def test_one_comparison_is_no_region(self):
        model = model_of("c = Greater (x, zero) y = If (c) <then_branch = t () => (float[1] a) { a = Relu (x) }, else_branch = e () => (float[1] b) "
                         "{ b = Neg (x) }>", {"x": [1]}, {"y": "float"}, {"zero": np.zeros(1, np.float32)})
        self.assert_unchanged(self.compiled(model), "worth")

    def test_what_is_not_surely_faster_is_not_taken(self):
        # Independent of the measurement: a required gain that no region has.
        body, value, constants = blocks(3, 32)
        answer = self.compiled(model_of(body + f"y = Identity ({value})", {"x": [64, 32]}, {"y": "float"}, constants), "--seconds", "0.5", "--min-gain", "99")
        self.assert_unchanged(answer, "faster")
        self.assertGreater(len(answer["tried"]), 0)

    def test_time_that_ends(self):
        body, value, constants = blocks(3, 32)
        model = model_of(body + f"y = Identity ({value})", {"x": [64, 32]}, {"y": "float"}, constants)
        self.assert_unchanged(self.compiled(model, "--seconds", "5", "--budget", "0.01"), "time ran out")

    def test_equal_regions_share_code_and_not_weights(self):
        # Sizes that depend on values between equal blocks: three operators of one kind.
        body, value, constants = "", "x", {}
        for k in range(3):
            more, end, own = blocks(1, 64, value, f"b{k}")
            value = f"v{k}"
            body += more + f"f{k} = NonZero ({end}) g{k} = Shape (f{k}) h{k} = Cast <to = 1> (g{k}) "
            body += f"q{k} = ReduceMin <keepdims = 0> (h{k}) {value} = Add ({end}, q{k}) "
            constants |= own
        model = model_of(body + f"y = Identity ({value})", {"x": [48, 64]}, {"y": "float"}, constants)
        self.compiled(model)
        files = sorted(f.name for f in (self.path / "compiled").iterdir())
        self.assertLess(sum(f.startswith("net_") and f[4].isdigit() for f in files), len(self.operators()), files)
        self.assertEqual(len({n.op_type for n in self.operators()}), len(self.operators()), "each has its own function")
        numbers = [a.i for n in self.operators() for a in n.attribute if a.name == "weights"]
        self.assertEqual(len(set(numbers)), len(numbers))
        self.assertNotIn("net.h", files)
        self.compare(48, 64)

    def test_nothing_but_a_node_without_a_formula(self):
        self.compiled(model_of("y, i, j, k = Unique (x)", {"x": [9]}, {"y": "float"}, {}))
        self.assertEqual((self.path / "compiled" / "model.onnx").read_bytes(), (self.path / "model.onnx").read_bytes())
        self.compare(9)  # a program that registers the library still runs

    def test_a_model_that_is_faster_as_it_was(self):
        # The runtime sorts; ours would count.
        body = "k, ki = TopK <axis = 0, largest = 1, sorted = 1> (x, many) y = Relu (k)"
        answer = self.compiled(model_of(body, {"x": [3000]}, {"y": "float"}, {"many": np.array([2000])}), "--seconds", "1")
        self.assertEqual(answer["operators"], 0)
        self.assert_unchanged(answer, "faster")
        self.compare(3000)

    def test_sizes_that_were_given(self):
        body, value, constants = blocks(1, 64)
        model = model_of(body + f"u, ui, uj, uc = Unique ({value}) n = ReduceMax <keepdims = 0> (u)", {"x": ["N", 64]}, {"n": "float", value: "float"},
                         constants)
        self.compiled(model, "--shape", "N=48", "--fixed-sizes")
        self.assertEqual([d.dim_value for d in self.result.graph.input[0].type.tensor_type.shape.dim], [48, 64])
        self.compare(48, 64)
        for given, sizes in ((("--shape", "N=48"), ["N=48"]), ((), ["x=1x64"])):
            answer = self.compiled(model, *given)
            self.assertEqual([s["sizes"] for s in answer["sizes"]], [sizes])
            for rows in (48, 1, 7):
                self.compare(rows, 64)

    def test_what_is_read_is_not_overwritten(self):
        (self.path / "compiled").mkdir()
        file = self.path / "compiled" / "model.onnx"
        onnx.save(model_of("y = Tanh (x)", {"x": [9]}, {"y": "float"}, {}), file)
        before = file.read_bytes()
        ran = modules.compile_model(file, self.path / "compiled", "--as", "custom-op")
        self.assertIn("would be overwritten", ran.stdout + ran.stderr)
        self.assertEqual(file.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
