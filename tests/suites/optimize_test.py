"""isomer optimize as its user meets it: what is found, what is promised, what is left alone."""
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import _paths  # noqa: F401
import programs

isomer = os.environ["ISOMER"]
draw = np.random.default_rng(7)


def weights(name, *shape):
    return numpy_helper.from_array((draw.normal(size=shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32), name)


def integers(name, values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def model(nodes, constants, inputs, outputs):
    value = lambda v: helper.make_tensor_value_info(v[0], TensorProto.FLOAT, v[1])
    graph = helper.make_graph(nodes, "g", [value(v) for v in inputs], [value(v) for v in outputs], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    made.metadata_props.add(key="author", value="someone")
    onnx.checker.check_model(made)
    return made


def branches(batch="N"):
    """Two branches and a skip that are one convolution, with an open batch."""
    node = helper.make_node
    return model([node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), node("Conv", ["x", "v"], ["b"]), node("Add", ["a", "b"], ["c"]),
                  node("Add", ["c", "x"], ["d"]), node("Relu", ["d"], ["y"])],
                 [weights("w", 32, 32, 3, 3), weights("v", 32, 32, 1, 1)], [("x", [batch, 32, 28, 28])], [("y", [batch, 32, 28, 28])])


def clutter():
    """Shape arithmetic around a reshape, an Identity, a computation twice over."""
    node = helper.make_node
    return model([node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"], axis=0), node("Concat", ["n", "rest"], ["shape"], axis=0),
                  node("Identity", ["x"], ["i"]), node("Reshape", ["i", "shape"], ["r"]), node("Exp", ["r"], ["e"]), node("Exp", ["r"], ["f"]),
                  node("Mul", ["e", "f"], ["y"])],
                 [integers("zero", [0]), integers("rest", [-1])], [("x", [2, 3, 4])], [("y", [2, 12])])


def quantized():
    """A convolution and a product in eight bits, as quantizers write them, and clutter beside it."""
    node = helper.make_node
    scale = lambda name, value: numpy_helper.from_array(np.array(value, np.float32), name)
    small = lambda name, type, *shape: numpy_helper.from_array(draw.integers(0, 100, shape).astype(type), name)
    nodes = [node("QuantizeLinear", ["x", "s", "z"], ["xq"]), node("DequantizeLinear", ["xq", "s", "z"], ["xd"]),
             node("DequantizeLinear", ["w", "ws"], ["wd"]), node("DequantizeLinear", ["b", "bs"], ["bd"]),
             node("Conv", ["xd", "wd", "bd"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"]),
             node("Shape", ["r"], ["shape"]), node("Gather", ["shape", "zero"], ["n"], axis=0), node("Concat", ["n", "rest"], ["to"], axis=0),
             node("Reshape", ["r", "to"], ["f"]), node("QuantizeLinear", ["f", "s", "z"], ["fq"]), node("DequantizeLinear", ["fq", "s", "z"], ["fd"]),
             node("DequantizeLinear", ["v", "ws"], ["vd"]), node("Transpose", ["vd"], ["vt"]), node("MatMul", ["fd", "vt"], ["y"])]
    constants = [scale("s", 0.05), numpy_helper.from_array(np.array(128, np.uint8), "z"), scale("ws", 0.01), scale("bs", 0.0005),
                 small("w", np.int8, 16, 8, 3, 3), small("b", np.int32, 16), small("v", np.int8, 64, 16 * 36), integers("zero", [0]),
                 integers("rest", [-1])]
    return model(nodes, constants, [("x", [3, 8, 6, 6])], [("y", [3, 64])])


def computed(nodes, **constants):
    """x plus 3,000 numbers that are computed from constants."""
    made = helper.make_graph([*nodes, helper.make_node("Add", ["x", "k"], ["y"])], "g",
                             [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3000])],
                             [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3000])],
                             [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def halved(made):
    """The same model in float16."""
    for tensor in made.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
    for value in [*made.graph.input, *made.graph.output]:
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    onnx.checker.check_model(made)
    return made


class Optimize(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def save(self, made, name="in.onnx"):
        onnx.save(made, self.path / name)
        return self.path / name

    def optimize(self, source, *flags, code=0):
        ran = subprocess.run([isomer, "optimize", str(source), "-o", str(self.path / "out.onnx"), "--json", "--quiet", *flags],
                             capture_output=True, text=True, timeout=300)
        self.assertEqual(ran.returncode, code, ran.stderr)
        return json.loads(ran.stdout)

    def outputs(self, path, feeds):
        return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, feeds)

    def assert_equal_and_certified(self, source, feeds):
        out = self.path / "out.onnx"
        ran = subprocess.run([isomer, "check", str(source), str(out), f"{out}.cert"], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for a, b in zip(self.outputs(source, feeds), self.outputs(out, feeds)):
            self.assertLessEqual(np.abs(a - b).max(), 1e-5 * np.abs(a).max())
        before, after = onnx.load(source), onnx.load(out)
        self.assertEqual(before.graph.input, after.graph.input)
        self.assertEqual(before.graph.output, after.graph.output)
        self.assertEqual(before.opset_import, after.opset_import)
        self.assertEqual({p.key: p.value for p in before.metadata_props}, programs.own_metadata(after))

    def operators(self):
        return [n.op_type for n in onnx.load(self.path / "out.onnx").graph.node]

    def test_what_was_removed_is_refused_with_one_line_that_says_why(self):
        source, out = self.save(branches()), str(self.path / "out.onnx")
        for words in (["--prior", "FILE"], ["--no-prior"], ["--trust-timings"], ["--strategy", "beam:16"]):
            ran = subprocess.run([programs.program("isomer"), "optimize", source, "-o", out, "--judge", "cost", *words], capture_output=True, text=True)
            self.assertEqual((ran.returncode, ran.stdout, len(ran.stderr.splitlines())), (2, "", 1), words)
            self.assertIn("was removed", ran.stderr)

    def test_branches_are_one_convolution(self):
        source = self.save(branches())
        report = self.optimize(source, "--judge", "cost")
        self.assertEqual(report["result"], "improved")
        self.assertEqual(self.operators(), ["Conv", "Relu"])
        self.assert_equal_and_certified(source, {"x": draw.normal(size=(3, 32, 28, 28)).astype(np.float32)})

    def test_branches_are_one_convolution_in_float16(self):
        source = self.save(halved(branches()))
        report = self.optimize(source, "--judge", "cost")
        self.assertEqual((report["result"], self.operators()), ("improved", ["Conv", "Relu"]))
        self.assertTrue(all(t.data_type == TensorProto.FLOAT16 for t in onnx.load(self.path / "out.onnx").graph.initializer))
        feeds = {"x": draw.normal(size=(3, 32, 28, 28)).astype(np.float16)}
        a, b = (self.outputs(p, feeds)[0].astype(np.float64) for p in (source, self.path / "out.onnx"))
        self.assertLessEqual(np.abs(a - b).max(), 1e-2 * np.abs(a).max())

    def test_float16_is_computed_in_float32_and_that_is_said(self):
        """Clip no longer joins a convolution in float16: computing in float32 gains, and rounds less."""
        node = helper.make_node
        nodes, constants, x = [], [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in (("low", 0), ("high", 6))], "x"
        for k in range(4):
            nodes += [node("Conv", [x, f"w{k}"], [f"c{k}"], pads=[1, 1, 1, 1], group=64), node("Clip", [f"c{k}", "low", "high"], [f"r{k}"])]
            constants += [weights(f"w{k}", 64, 1, 3, 3)]
            x = f"r{k}"
        nodes[-1].output[0] = "y"
        source = self.save(halved(model(nodes, constants, [("x", [1, 64, 56, 56])], [("y", [1, 64, 56, 56])])))
        report = self.optimize(source, "--budget", "20s", "--only", "widen", "--min-gain", "1")
        if report["result"] == "unchanged":  # a busy machine
            self.assertIn("faster", report["reason"])
            return
        self.assertEqual([s["kind"] for s in report["steps"]], ["widen"])
        self.assertLessEqual(report["error_after"], report["error_before"])
        self.assertEqual(self.operators().count("Cast"), 1 + 4 + 1)
        # Weights are as they were stored.
        kept = {t.name: t for t in onnx.load(self.path / "out.onnx").graph.initializer}
        self.assertTrue(all(kept[f"w{k}"].data_type == TensorProto.FLOAT16 for k in range(4)))
        out = self.path / "out.onnx"
        said = subprocess.run([isomer, "check", str(source), str(out), f"{out}.cert"], capture_output=True, text=True, check=True).stdout
        self.assertIn("8 values of 16-bit floats are computed in float32", said)
        told = subprocess.run([isomer, "explain", f"{out}.cert"], capture_output=True, text=True, check=True).stdout
        self.assertIn("rounded less", told)

    def test_denormal_weights_become_zero_and_that_is_said(self):
        """A processor that is slow with them takes 100× longer; on another one the model stays as it is."""
        node, w = helper.make_node, np.full((64, 64, 3, 3), 1e-40, np.float32)
        w[0] = 0.1
        constants = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(np.array([1, 1e-41], np.float32), "k")]
        nodes = [node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), node("ReduceSum", ["k"], ["s"], keepdims=0), node("Div", ["c", "s"], ["y"])]
        source = self.save(model(nodes, constants, [("x", [1, 64, 28, 28])], [("y", [1, 64, 28, 28])]))
        out = self.path / "out.onnx"
        kept = self.optimize(source, "--budget", "20s", "--keep-denormals")
        self.assertEqual(kept["flushed"], 0)
        report = self.optimize(source, "--budget", "20s")
        tried = [r for r in report["regions"] if r["kind"] == "denormals"]
        self.assertEqual(len(tried), 1)
        if report["result"] == "unchanged":
            self.assertLess(tried[0]["low"], 1.1)
            return
        # No number of the divisor is changed.
        self.assertEqual(report["flushed"], 63 * 64 * 9)
        said = subprocess.run([isomer, "check", str(source), str(out), f"{out}.cert"], capture_output=True, text=True, check=True).stdout
        self.assertIn(f"but for {63 * 64 * 9} denormal numbers of its constants, which are zero", said)
        answer = json.loads(subprocess.run([isomer, "prove", str(source), str(out), "--json"], capture_output=True, text=True, check=True).stdout)
        self.assertEqual((answer["verdict"], answer["flushed"]), ("proved", 63 * 64 * 9))
        exact = subprocess.run([isomer, "prove", str(source), str(out), "--exact-constants"], capture_output=True, text=True)
        self.assertEqual(exact.returncode, 3)

    def test_several_shapes_are_all_judged(self):
        source = self.save(branches())
        report = self.optimize(source, "--budget", "20s", "--shape", "N=1", "--shape", "N=4", "--only", "collapse,simplify")
        self.assertEqual([s["size"] for s in report["sizes"]], ["N=1", "N=4"])
        self.assertEqual(report["ratio"], report["sizes"][0]["ratio"])
        if report["result"] == "improved":
            for size in report["sizes"]:
                self.assertGreater(size["low"], 1 / 1.02)
            notes = [json.loads(line)["note"] for line in (self.path / "out.onnx.cert").read_text().splitlines() if line.startswith('{"note"')]
            self.assertIn("the whole model at N=4", [n["what"] for n in notes if n["kind"] == "measured"])
        else:
            self.assertRegex(report["reason"], "^at N=[14]: ")
        one = self.optimize(source, "--budget", "5s", "--shape", "N=1", "--judge", "cost")
        self.assertEqual(one["sizes"], [])
        for flags, why in ((("--shape", "N=1", "--shape", "N=4", "--fix-shape"), "one size"), (("--shape", "N=1", "--shape", "N=x"), "N=x"),
                           (("--shape", "N=1", "--shape", "x=1x2"), "")):
            ran = subprocess.run([isomer, "optimize", str(source), "-o", str(self.path / "o.onnx"), *flags], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 2, flags)
            self.assertIn(why, ran.stderr)

    def test_a_users_true_rule_is_used_and_a_false_one_told(self):
        graph = onnx.parser.parse_graph("agraph (float[3, 4] x) => (float[3, 4] y) "
                                        "{ a = Tanh(x) b = Tanh(a) c = Relu(b) y = Relu(c) }")
        source = self.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8))
        rules = self.path / "mine"
        rules.mkdir()
        (rules / "a.rules").write_text("rule once\ngiven float[M, K] x\nleft { t = Relu(x)\n y = Relu(t) } => y\nright { y = Relu(x) } => y\n")
        (rules / "b.rules").write_text("rule wrong\ngiven float[M, K] x\nleft { t = Tanh(x)\n y = Tanh(t) } => y\nright { y = Tanh(x) } => y\n")
        report = self.optimize(source, "--judge", "cost", "--only", "user", "--rules", str(rules))
        self.assertEqual(self.operators(), ["Tanh", "Tanh", "Relu"])
        self.assertEqual([r["verdict"] for r in report["user_rules"]], ["proved", "refuted"])
        self.assertEqual(report["changes"], ["Relu producing y by rule once"])
        self.assert_equal_and_certified(source, {"x": draw.normal(size=(3, 4)).astype(np.float32)})
        ran = subprocess.run([isomer, "optimize", str(source), "-o", str(self.path / "out.onnx"), "--judge", "cost", "--rules", str(rules)],
                             capture_output=True, text=True, timeout=300)
        self.assertIn("rule wrong is false and is not used: for example, x [", ran.stderr)

    def test_only_these_proposers_are_asked(self):
        source = self.save(branches())
        self.assertEqual(self.optimize(source, "--judge", "cost", "--only", "commute")["result"], "unchanged")
        report = self.optimize(source, "--judge", "cost", "--only", "generated")
        self.assertEqual({s["kind"] for s in report["steps"]}, {"generated"})
        self.assert_equal_and_certified(source, {"x": draw.normal(size=(3, 32, 28, 28)).astype(np.float32)})
        ran = subprocess.run([isomer, "optimize", str(source), "-o", str(self.path / "out.onnx"), "--only", "nobody"], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("--only nobody: no proposer has this name", ran.stderr)

    def test_two_convolutions_are_one_and_their_border_is_as_before(self):
        graph = onnx.parser.parse_graph("agraph (float[1, 3, 64, 64] x) => (float[1, 8, 64, 64] y) "
                                        "{ t = Conv<pads = [1, 1, 1, 1]>(x, w, b) y = Conv<pads = [1, 1, 1, 1]>(t, v) }")
        for name, shape in (("w", (32, 3, 3, 3)), ("b", (32,)), ("v", (8, 32, 3, 3))):
            graph.initializer.append(weights(name, *shape))
        source = self.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8))
        feeds = {"x": draw.normal(size=(1, 3, 64, 64)).astype(np.float32)}
        self.assertIn("partial", {s["kind"] for s in self.optimize(source, "--judge", "cost")["steps"]})
        self.assert_equal_and_certified(source, feeds)

    def test_saturation_is_certified_and_the_same_every_time(self):
        source = self.save(branches())
        outs = []
        for _ in range(2):
            report = self.optimize(source, "--judge", "cost", "--without", "collapse", "--strategy", "saturate")
            self.assertEqual(report["result"], "improved")
            outs.append(((self.path / "out.onnx").read_bytes(), report["search"]["saturation"]))
        self.assertEqual(outs[0], outs[1])
        self.assertGreater(outs[0][1]["nodes"], 0)
        self.assert_equal_and_certified(source, {"x": draw.normal(size=(3, 32, 28, 28)).astype(np.float32)})

    def test_clutter_goes(self):
        source = self.save(clutter())
        self.optimize(source, "--judge", "cost")
        self.assertEqual(self.operators(), ["Reshape", "Exp", "Mul"])
        self.assert_equal_and_certified(source, {"x": draw.normal(size=(2, 3, 4)).astype(np.float32)})

    def test_quantized_weights_stay_quantized(self):
        source = self.save(quantized())
        self.assertEqual(self.optimize(source, "--judge", "cost")["result"], "improved")
        before = [n.op_type for n in onnx.load(source).graph.node]
        for op in ("DequantizeLinear", "QuantizeLinear"):
            self.assertEqual(self.operators().count(op), before.count(op))
        self.assertNotIn("Shape", self.operators())
        self.assertLessEqual(self.bytes_without_stamp(), source.stat().st_size)
        self.assert_equal_and_certified(source, {"x": draw.normal(size=(3, 8, 6, 6)).astype(np.float32)})

    def test_constants_are_folded_as_the_runtime_computes_them(self):
        node, f = helper.make_node, np.float32
        count, tenth = np.arange(1, 3001).astype(f), np.full(3000, 0.1, f)
        draws = draw.normal(size=3000).astype(f)
        cases = {
            "ceil": computed([node("Mul", ["a", "b"], ["p"]), node("Ceil", ["p"], ["k"])], a=count, b=tenth),
            "cast": computed([node("Div", ["a", "b"], ["p"]), node("Cast", ["p"], ["i"], to=TensorProto.INT64),
                              node("Cast", ["i"], ["k"], to=TensorProto.FLOAT)], a=count, b=tenth),
            "equal": computed([node("Div", ["a", "b"], ["p"]), node("Mul", ["p", "b"], ["q"]), node("Equal", ["q", "a"], ["e"]),
                               node("Cast", ["e"], ["k"], to=TensorProto.FLOAT)], a=count, b=tenth),
            "bfloat16": computed([node("Cast", ["a"], ["h"], to=TensorProto.BFLOAT16), node("Cast", ["h"], ["k"], to=TensorProto.FLOAT)], a=draws),
            "what float16 loses": computed([node("Cast", ["a"], ["h"], to=TensorProto.FLOAT16), node("Cast", ["h"], ["b"], to=TensorProto.FLOAT),
                                            node("Sub", ["b", "a"], ["k"])], a=draws),
            "uint8": computed([node("Add", ["a", "b"], ["s"]), node("Div", ["s", "c"], ["d"]), node("Cast", ["d"], ["e"], to=TensorProto.FLOAT),
                               node("Expand", ["e", "n"], ["k"])], a=np.array([200], np.uint8), b=np.array([100], np.uint8),
                              c=np.array([2], np.uint8), n=np.array([3000], np.int64)),
        }
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        feeds = {"x": np.zeros(3000, f)}
        for what, made in cases.items():
            with self.subTest(what):
                source = self.save(made)
                self.optimize(source, "--judge", "cost")
                self.assertEqual(self.operators(), ["Add"])
                a, b = (onnxruntime.InferenceSession(str(p), options).run(None, feeds)[0] for p in (source, self.path / "out.onnx"))
                np.testing.assert_array_equal(a, b)

    def test_its_own_result_is_left_alone(self):
        for made in (branches(), clutter()):
            self.optimize(self.save(made), "--judge", "cost")
            first = (self.path / "out.onnx").read_bytes()
            again = self.path / "again.onnx"
            again.write_bytes(first)
            self.assertEqual(self.optimize(again, "--judge", "cost")["result"], "unchanged")
            self.assertEqual((self.path / "out.onnx").read_bytes(), first)

    def test_measured_and_faster(self):
        source = self.save(branches(1))
        report = self.optimize(source, "--budget", "30s")
        # The machine may be too busy to decide; then nothing may have changed.
        if report["result"] == "unchanged":
            self.assertRegex(report["reason"], "the best candidate|time ran out")
            self.assertEqual((self.path / "out.onnx").read_bytes(), source.read_bytes())
            return
        self.assertGreater(report["low"], 1.02)
        self.assertEqual(self.stamp()["pkg.isomer.ratio"], f"{report['ratio']:.3f} [{report['low']:.3f}, {report['high']:.3f}]")
        self.assertRegex(self.stamp()["pkg.isomer.runtime"], r"^\w+ \d+\.")
        self.assertIsNotNone(report["error_after"])
        self.assertTrue(report["regions"])
        self.assert_equal_and_certified(source, {"x": draw.normal(size=(1, 32, 28, 28)).astype(np.float32)})

    def stamp(self):
        made = onnx.load(self.path / "out.onnx")
        onnx.checker.check_model(made)
        return {p.key: p.value for p in made.metadata_props if p.key.startswith("pkg.isomer.")}

    def bytes_without_stamp(self):
        made = onnx.load(self.path / "out.onnx")
        del made.metadata_props[1:]  # the author's is the first
        return made.ByteSize()

    def test_a_result_is_stamped_once_and_nothing_else_is(self):
        source = self.save(branches(1))
        self.optimize(source, "--judge", "cost")
        proof = (self.path / "out.onnx.cert").read_bytes()
        version = subprocess.run([isomer, "--version"], capture_output=True, text=True).stdout.split()[-1]
        wanted = {"pkg.isomer.version": version, "pkg.isomer.certificate": hashlib.blake2b(proof, digest_size=32).hexdigest()}
        self.assertEqual(self.stamp(), wanted)
        stamped = onnx.load(self.path / "out.onnx")
        self.assertEqual(onnx.load(source).producer_name, stamped.producer_name)
        # Optimized again, it has one stamp, the last; equality is blind to it.
        stamped.graph.node.insert(0, helper.make_node("Identity", ["x"], ["i"]))
        stamped.graph.node[1].input[0] = "i"
        again = self.save(stamped, "again.onnx")
        self.optimize(again, "--judge", "cost")
        self.assertEqual(len(self.stamp()), 2)
        self.assertNotEqual(self.stamp(), wanted)
        self.assertEqual(subprocess.run([isomer, "check", str(again), str(self.path / "out.onnx"), str(self.path / "out.onnx.cert")],
                                        stdout=subprocess.DEVNULL).returncode, 0)
        self.assertEqual(subprocess.run([isomer, "prove", str(source), str(self.path / "out.onnx")], stdout=subprocess.DEVNULL).returncode, 0)

    def test_a_stamp_keeps_to_the_size_that_was_asked_for(self):
        source = self.save(branches(1))
        out = self.path / "out.onnx"
        self.optimize(source, "--judge", "cost")
        bare, size = self.bytes_without_stamp(), source.stat().st_size
        for room in (0, out.stat().st_size - bare):
            report = self.optimize(source, "--judge", "cost", "--max-size-growth", str((bare + room + 0.5) / size))
            self.assertEqual((report["result"], bool(self.stamp())), ("improved", room > 0))
            self.assertEqual(report["bytes_out"], out.stat().st_size)

    def test_without_a_proposer(self):
        report = self.optimize(self.save(branches()), "--judge", "cost", "--without", "collapse,reassociate,commute,fastpath,generated")
        self.assertEqual(report["result"], "unchanged")
        ran = subprocess.run([isomer, "optimize", str(self.path / "in.onnx"), "-o", str(self.path / "o.onnx"), "--without", "wishes"],
                             capture_output=True, text=True)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("wishes", ran.stderr)

    def test_steps_are_repeatable(self):
        source = self.save(branches())
        results = []
        for _ in range(2):
            self.optimize(source, "--judge", "cost", "--steps", "1", "--seed", "5")
            results.append((self.path / "out.onnx").read_bytes())
        self.assertEqual(results[0], results[1])

    def test_interrupt_keeps_the_best_so_far(self):
        source = self.save(branches(1))
        out = self.path / "out.onnx"
        child = subprocess.Popen([isomer, "optimize", str(source), "-o", str(out), "--budget", "60s", "--json", "--quiet"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1.0)
        child.send_signal(signal.SIGINT)
        answer, errors = child.communicate(timeout=200)
        self.assertEqual(child.returncode, 0, errors)
        self.assertIn(json.loads(answer)["stopped_by"], ("interrupt", "done"))
        self.assertTrue(out.exists())
        self.assertEqual([p.name for p in self.path.iterdir() if "tmp" in p.name or p.name.startswith(".")], [])

    def test_input_is_not_overwritten(self):
        source = self.save(branches())
        before = source.read_bytes()
        ran = subprocess.run([isomer, "optimize", str(source), "-o", str(source)], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 2)
        self.assertTrue(ran.stderr.startswith("isomer: "), ran.stderr)
        self.assertEqual(source.read_bytes(), before)


if __name__ == "__main__":
    if not os.access(isomer, os.X_OK):
        print("skipped: the command is not built")
        sys.exit(77)
    unittest.main()
