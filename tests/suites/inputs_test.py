"""Sizes and values that models run with, found by the command itself: by the model's constants, by names, by comparisons, by trying."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx

import _paths  # noqa: F401
import programs
import small_models

isomer = programs.program("isomer")
os.environ["VIRTUAL_ENV"] = sys.prefix
node = onnx.helper.make_node
INT64 = onnx.TensorProto.INT64


def line_reader():
    """Wants lines of height 48: what is left of them after pooling is put beside a row of the model's own."""
    return small_models.model([node("MaxPool", ["x"], ["p"], kernel_shape=[48, 1], strides=[48, 1]), node("Concat", ["p", "row"], ["y"], axis=3)],
                              [small_models.weights("row", 1, 3, 1, 4)], [("x", ["N", 3, "H", "W"])], [("y", ["N", 3, "R", "C"])])


def recurrent():
    """A state that must have as many samples as the input, without a name that says so."""
    nodes = [node("Transpose", ["x"], ["t"], perm=[1, 0, 2]), node("LSTM", ["t", "w", "r", "", "", "first", "cell"], ["", "h", "c"], hidden_size=8)]
    constants = [small_models.weights("w", 1, 32, 4), small_models.weights("r", 1, 32, 8)]
    inputs = [("x", [None, None, 4]), ("first", [1, None, 8]), ("cell", [1, None, 8])]
    return small_models.model(nodes, constants, inputs, [("h", [1, "A", 8]), ("c", [1, "B", 8])])


def rates():
    """Runs at one rate only: at another it divides what is there by rows that are not."""
    then = onnx.helper.make_graph([node("Relu", ["x"], ["a"])], "then", [], [onnx.helper.make_tensor_value_info("a", 1, ["N", 10])])
    other = onnx.helper.make_graph([node("Reshape", ["x", "seven"], ["b"])], "else", [], [onnx.helper.make_tensor_value_info("b", 1, [7, "M"])])
    return small_models.model([node("Equal", ["rate", "sixteen"], ["e"]), node("If", ["e"], ["y"], then_branch=then, else_branch=other)],
                              [small_models.integers("sixteen", [16001]), small_models.integers("seven", [7, -1])],
                              [("x", ["N", 10]), ("rate", [1], INT64)], [("y", ["R", "C"])])


def words():
    """Ids below 30."""
    table = small_models.weights("table", 30, 4)
    return small_models.model([node("Gather", ["table", "ids"], ["y"])], [table], [("ids", ["N", "S"], INT64)], [("y", ["N", "S", 4])])


def impossible():
    """No size has five numbers that are not 0; inference does not see it."""
    nodes = [node("Mul", ["x", "nought"], ["z"]), node("NonZero", ["z"], ["i"]), node("Cast", ["i"], ["f"], to=1), node("MatMul", ["f", "w"], ["y"])]
    nought = onnx.numpy_helper.from_array(np.zeros(1, np.float32), "nought")
    return small_models.model(nodes, [nought, small_models.weights("w", 5, 2)], [("x", ["N", "S"])], [("y", [2, 2])])


class Inputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="isomer_inputs_")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def save(self, made, name="m.onnx"):
        onnx.save(made, self.path / name)
        return str(self.path / name)

    def isomer(self, *arguments, code=0):
        ran = subprocess.run([isomer, *map(str, arguments)], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, code, f"{arguments}: {ran.stdout}{ran.stderr}")
        return ran.stdout + ran.stderr

    def inputs(self, made, *options):
        """What the command says of the inputs on which it compared the model with itself."""
        path = self.save(made)
        return json.loads(self.isomer("compare", path, path, "--json", *options))["inputs"]

    def test_the_height_that_constants_demand(self):
        said = self.inputs(line_reader())
        self.assertRegex(said, r"x 1x3x(48|64|80)x128 ")
        self.assertIn("found, which the model's constants require", said)
        self.assertIn("W=128", said)

    def test_the_samples_of_a_state(self):
        said = self.inputs(recurrent())
        self.assertIn("first 1x1x8", said)
        self.assertIn("cell 1x1x8", said)

    def test_the_rate_that_the_model_compares_with(self):
        said = self.inputs(rates())
        self.assertIn("rate=16001 found, which the model compares it with", said)
        self.assertIn("rate 1 = 16001", self.inputs(rates(), "--value", "rate=16001"))

    def test_ids_stay_within_their_table(self):
        self.assertIn("ids 1x128", self.inputs(words()))

    def test_a_size_that_is_given_is_kept(self):
        self.assertIn("x 1x3x60x16", self.inputs(line_reader(), "--shape", "x=1x3x60x16"))
        said = self.inputs(line_reader(), "--shape", "W=16")
        self.assertRegex(said, r"x 1x3x(48|64|80)x16 ")

    def test_optimize_runs_at_what_was_found(self):
        out = self.path / "out.onnx"
        report = json.loads(self.isomer("optimize", self.save(line_reader()), "-o", out, "--budget", "8s", "--json", "--quiet"))
        self.assertIn("which the model's constants require", report["inputs"])
        self.assertNotIn("does not run", report["reason"])

    def test_fix_shape_takes_it_too(self):
        out = self.path / "fixed.onnx"
        self.isomer("optimize", self.save(line_reader()), "-o", out, "--fix-shape", "--budget", "8s", "--json", "--quiet")
        shape = onnx.load(out).graph.input[0].type.tensor_type.shape
        self.assertIn([d.dim_value for d in shape.dim], [[1, 3, h, 128] for h in (48, 64, 80)])

    def test_what_is_not_found_is_refused_with_what_to_type(self):
        path = self.save(impossible())
        for command in (("compare", path, path), ("bench", path), ("optimize", path, "-o", self.path / "out.onnx")):
            said = self.isomer(*command, code=2)
            for part in ("no inputs were found", "--shape N=1", "--shape S=128", "--feeds F.npz"):
                self.assertIn(part, " ".join(said.split()))
        self.assertFalse((self.path / "out.onnx").exists())

    def test_values_that_do_not_fit_are_refused(self):
        path = self.save(rates())
        for wrong in ("rate", "rate=x", "other=1", "rate=0.5"):
            self.assertIn("--value", self.isomer("compare", path, path, "--value", wrong, code=2))

    def test_a_value_completes_a_file_of_feeds(self):
        path, feeds = self.save(rates()), self.path / "x.npz"
        np.savez(feeds, x=np.ones((1, 10), np.float32))
        self.isomer("compare", path, path, "--feeds", feeds, code=2)
        self.assertIn("rate", self.isomer("compare", path, path, "--feeds", feeds, "--value", "rate=16001"))


if __name__ == "__main__":
    unittest.main()
