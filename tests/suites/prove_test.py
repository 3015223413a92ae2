"""isomer prove and isomer compare as their users meet them."""
import json
import os
import pathlib
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
import programs
import small_models as small

isomer = programs.program("isomer")
node = helper.make_node


def changed(model, change):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    change(copy)
    return copy


def shift(index, by):
    def change(model):
        weights = numpy_helper.to_array(model.graph.initializer[0]).copy()
        weights.flat[index] += by
        model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, model.graph.initializer[0].name))
    return change


class Commands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="isomer_prove_")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def save(self, made, name):
        onnx.save(made, self.path / name)
        return str(self.path / name)

    def isomer(self, *arguments, code=0):
        ran = subprocess.run([isomer, *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(ran.returncode, code, f"{arguments}: {ran.stdout}{ran.stderr}")
        return ran

    def answer(self, *arguments, code=0):
        return json.loads(self.isomer(*arguments, "--json", "--quiet", code=code).stdout)


class Prove(Commands):
    def test_a_constant_that_differs_in_one_element_is_said_at_once(self):
        first = small.branches(1, blocks=4, channels=32)
        a, b = self.save(first, "a.onnx"), self.save(changed(first, shift(100, 0.5)), "b.onnx")
        start = time.monotonic()
        answer = self.answer("prove", a, b, "--budget", "5m", code=1)
        self.assertLess(time.monotonic() - start, 100)  # not its budget
        self.assertEqual(answer["verdict"], "refuted")
        self.assertEqual([(c["name"], c["differing"], c["elements"]) for c in answer["constants_differ"]], [("w0", 1, 32 * 32 * 9)])
        self.assertEqual(answer["constants_differ"][0]["first"], list(np.unravel_index(100, (32, 32, 3, 3))))
        self.assertIn("w0 differs in 1 of 9,216 elements, first at", self.isomer("prove", a, b, code=1).stdout)

    def test_the_refuting_input_is_saved_and_shows_it(self):
        a = self.save(small.model([node("Sin", ["x"], ["y"])], [], [("x", [2, 3])], [("y", [2, 3])]), "a.onnx")
        b = self.save(small.model([node("Cos", ["x"], ["y"])], [], [("x", [2, 3])], [("y", [2, 3])]), "b.onnx")
        saved = str(self.path / "shows.npz")
        answer = self.answer("prove", a, b, "--save-input", saved, code=1)
        self.assertEqual(answer["input"], saved)
        feeds = dict(np.load(saved))
        outputs = [onnxruntime.InferenceSession(m, providers=["CPUExecutionProvider"]).run(None, feeds)[0] for m in (a, b)]
        self.assertGreater(np.abs(outputs[0] - outputs[1]).max(), 1e-3)
        position = tuple(answer["outputs"][0]["example"]["position"])
        self.assertAlmostEqual(float(outputs[0][position]), answer["outputs"][0]["example"]["a"], 3)
        self.assertEqual(self.answer("compare", a, b, "--feeds", saved)["differ"], True)

    def test_static_against_dynamic_at_one_size(self):
        dynamic, static = self.save(small.branches("N"), "dynamic.onnx"), self.save(small.branches(2), "static.onnx")
        models = [onnx.load(m) for m in (dynamic, static)]
        del models[1].graph.initializer[:]
        models[1].graph.initializer.extend(models[0].graph.initializer)
        onnx.save(models[1], static)
        self.isomer("prove", dynamic, static, code=3)
        answer = self.answer("prove", dynamic, static, "--shape", "N=2")
        self.assertEqual((answer["verdict"], answer["sizes"]), ("proved", "N=2"))
        self.isomer("prove", dynamic, static, "--shape", "N=3", code=3)
        self.isomer("prove", dynamic, static, "--shape", "M=3", code=2)

    def test_equal_is_equal_in_both_orders(self):
        a, b = self.save(small.branches(1), "a.onnx"), str(self.path / "b.onnx")
        self.isomer("optimize", a, "-o", b, "--judge", "cost", "--quiet")
        self.assertEqual(self.answer("prove", a, b)["verdict"], "proved")
        self.assertEqual(self.answer("prove", b, a)["verdict"], "proved")

    def test_what_the_search_does_others_may_have_done(self):
        """Votes of capsules, weighted alike, as one product: the search finds it, and the product's weight is then understood."""
        w = np.random.default_rng(1).normal(size=(1, 2, 6, 4, 3)).astype(np.float32)
        votes = [node("Unsqueeze", ["x", "axes"], ["u"]), node("MatMul", ["w", "u"], ["m"]), node("Squeeze", ["m", "last"], ["s"]),
                 node("ConstantOfShape", ["shape"], ["z"]), node("Softmax", ["z"], ["c"], axis=1), node("Mul", ["c", "s"], ["p"]),
                 node("ReduceSum", ["p", "two"], ["y"], keepdims=0)]
        constants = [numpy_helper.from_array(w, "w"), *(small.integers(*v) for v in (
            ("axes", [1, 4]), ("last", [4]), ("shape", [1, 2, 6, 1]), ("two", [2])))]
        a = self.save(small.model(votes, constants, [("x", [1, 6, 3])], [("y", [1, 2, 4])]), "a.onnx")
        whole = (w[0] / 2).transpose(1, 3, 0, 2).reshape(18, 8)
        product = [node("Reshape", ["x", "row"], ["r"]), node("MatMul", ["r", "v"], ["t"]), node("Reshape", ["t", "parts"], ["y"])]
        constants = [numpy_helper.from_array(whole, "v"), small.integers("row", [1, 18]), small.integers("parts", [1, 2, 4])]
        b = self.save(small.model(product, constants, [("x", [1, 6, 3])], [("y", [1, 2, 4])]), "b.onnx")
        certificate = str(self.path / "cert")
        self.assertEqual(self.answer("prove", a, b, "--certificate", certificate)["verdict"], "proved")
        self.assertGreater(json.loads(self.isomer("explain", certificate, "--json").stdout)["steps"], 0)
        self.isomer("check", a, b, certificate)
        wrong = self.save(changed(onnx.load(b), shift(5, 0.5)), "wrong.onnx")
        self.assertEqual(self.answer("prove", a, wrong, code=1)["verdict"], "refuted")
        self.isomer("check", a, wrong, certificate, code=1)

    def test_a_proof_in_the_other_order_counts_only_where_nothing_can_fail(self):
        """x and x*z/z: the second refines nothing where z is 0."""
        inputs = [("x", [4]), ("z", [4])]
        plain = self.save(small.model([node("Identity", ["x"], ["y"]), node("Neg", ["z"], ["unused"])], [], inputs, [("y", [4])]), "plain.onnx")
        divided = self.save(small.model([node("Mul", ["x", "z"], ["p"]), node("Div", ["p", "z"], ["y"])], [], inputs, [("y", [4])]), "divided.onnx")
        answer = json.loads(subprocess.run([isomer, "prove", plain, divided, "--json", "--budget", "20s"], capture_output=True, text=True).stdout)
        self.assertNotEqual(answer["verdict"], "proved")

    def test_float16_may_be_computed_in_float32_but_no_rounding_of_the_model_is_dropped(self):
        half, w = TensorProto.FLOAT16, np.random.default_rng(3).normal(size=(8, 8)).astype(np.float16)
        ports = [("x", [2, 8], half)], [("y", [2, 8], half)]
        wide = [node("Cast", ["x"], ["xw"], to=1), node("Cast", ["w"], ["ww"], to=1), node("MatMul", ["xw", "ww"], ["a"]), node("Tanh", ["a"], ["t"])]
        narrow = [node("MatMul", ["x", "w"], ["a"]), node("Tanh", ["a"], ["y"])]
        stored = numpy_helper.from_array(w, "w")
        save = lambda nodes, name, constant=stored: self.save(small.model(nodes, [constant], *ports), name)
        a, b = save(narrow, "a.onnx"), save([*wide, node("Cast", ["t"], ["y"], to=10)], "b.onnx")
        certificate = str(self.path / "cert")
        answer = self.answer("prove", a, b, "--certificate", certificate)
        self.assertEqual((answer["verdict"], answer["widened"]), ("proved", 2))
        self.assertIn("computed in float32", " ".join(self.isomer("prove", a, b).stdout.split()))
        self.isomer("check", a, b, certificate)
        self.isomer("check", b, a, certificate, code=1)
        # The weights as float32, and the rounding before them kept or lost.
        c = save([wide[0], node("MatMul", ["xw", "v"], ["a"]), node("Tanh", ["a"], ["t"]), node("Cast", ["t"], ["y"], to=10)], "c.onnx",
                 numpy_helper.from_array(w.astype(np.float32), "v"))
        self.assertEqual(self.answer("prove", a, c)["verdict"], "proved")
        rounds = [*wide, node("Cast", ["t"], ["r"], to=10), node("Exp", ["r"], ["y"])]
        lost = [*wide, node("Exp", ["t"], ["e"]), node("Cast", ["e"], ["y"], to=10)]
        ran = subprocess.run([isomer, "prove", save(rounds, "rounds.onnx"), save(lost, "lost.onnx"), "--json", "--budget", "20s"],
                             capture_output=True, text=True)
        self.assertNotEqual(json.loads(ran.stdout)["verdict"], "proved")

    def test_what_is_said_is_said_once(self):
        a = self.save(small.branches(1), "a.onnx")
        ran = self.isomer("prove", a, a)
        self.assertEqual(ran.stdout, "equal for all inputs\n")
        self.assertEqual(ran.stderr, "")


class Compare(Commands):
    def test_of_equal_models(self):
        a, b = self.save(small.branches(1), "a.onnx"), str(self.path / "b.onnx")
        self.isomer("optimize", a, "-o", b, "--judge", "cost", "--quiet")
        answer = self.answer("compare", a, b)
        self.assertFalse(answer["differ"])
        self.assertLess(answer["outputs"][0]["of_scale"], 1e-4)
        self.assertIsNone(answer["first_parting"])
        self.isomer("compare", a, b, "--tolerance", "1e-3")

    def test_of_models_that_differ(self):
        first = small.branches(1, blocks=3)
        a, b = self.save(first, "a.onnx"), self.save(changed(first, shift(100, 0.5)), "b.onnx")
        answer = self.answer("compare", a, b)
        self.assertTrue(answer["differ"])
        self.assertEqual(answer["first_parting"]["a"], "a0")  # the convolution with that weight
        feeds = {"x": np.ones((1, 32, 28, 28), np.float32)}
        np.savez(self.path / "feeds.npz", **feeds)
        answer = self.answer("compare", a, b, "--feeds", str(self.path / "feeds.npz"))
        x, y = (onnxruntime.InferenceSession(m, providers=["CPUExecutionProvider"]).run(None, feeds)[0] for m in (a, b))
        self.assertAlmostEqual(answer["outputs"][0]["largest_absolute"], float(np.abs(x.astype(np.float64) - y).max()), 5)
        self.assertEqual(answer["outputs"][0]["differing"], int((x != y).sum()))
        self.assertEqual(answer["outputs"][0]["first"]["position"], [int(i[0]) for i in np.nonzero(x != y)])
        self.isomer("compare", a, b, "--tolerance", "1e-6", code=1)

    def typed(self, kind, value, name):
        array = numpy_helper.from_array(np.array([1, 2, value], kind), "c")
        onnx_type = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        graph = helper.make_graph([node("Identity", ["c"], ["i"]), node("Concat", ["x", "i"], ["y"], axis=0)], "g",
                                  [helper.make_tensor_value_info("x", onnx_type, [2])], [helper.make_tensor_value_info("y", onnx_type, [5])], [array])
        return self.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), name)

    def test_of_small_types(self):
        for engine in ("ort", "reference"):
            for kind in (np.float16, np.int8, np.uint8, np.int32, np.float64):
                a, b, c = (self.typed(kind, v, f"{v}.onnx") for v in (3, 3, 100))
                same = self.answer("compare", a, b, "--engine", engine)["outputs"][0]
                self.assertEqual((same["differing"], same["largest_absolute"]), (0, 0), kind)
                other = self.answer("compare", a, c, "--engine", engine)
                self.assertTrue(other["differ"])
                self.assertEqual((other["outputs"][0]["largest_absolute"], other["outputs"][0]["first"]["position"]), (97, [4]), kind)

    def test_says_what_does_not_fit(self):
        a = self.save(small.plain(1), "a.onnx")
        b = self.save(small.model([node("Relu", ["x"], ["y"])], [], [("x", [1, 32])], [("y", [1, 32])]), "b.onnx")
        self.isomer("compare", a, b, code=2)


if __name__ == "__main__":
    if not os.access(isomer, os.X_OK):
        print("skipped: the command is not built")
        sys.exit(programs.SKIPPED)
    unittest.main()
