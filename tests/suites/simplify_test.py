"""`isomer simplify`: fewer nodes, the same outputs, a proof; the interface and what can't be simplified stay."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import _paths  # noqa: F401
import modules
import programs

ISOMER, CHECK = programs.program("isomer"), programs.program("isomer-check")


def exported():
    """As exporters leave it: shape arithmetic, constants as nodes, a norm behind a convolution, an Identity, the same node twice."""
    draw = np.random.default_rng(3)
    weights = {"w": draw.normal(size=(8, 3, 3, 3)), "scale": draw.random(8) + 0.5, "bias": draw.normal(size=8), "mean": draw.normal(size=8),
               "variance": draw.random(8) + 0.5}
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "variance"], ["n"]),
             helper.make_node("Identity", ["n"], ["i"]), helper.make_node("Relu", ["i"], ["r"]), helper.make_node("Relu", ["i"], ["again"]),
             helper.make_node("Add", ["r", "again"], ["sum"]), helper.make_node("Shape", ["sum"], ["shape"]),
             helper.make_node("Constant", [], ["zero"], value=numpy_helper.from_array(np.array(0))), helper.make_node("Gather", ["shape", "zero"], ["batch"]),
             helper.make_node("Constant", [], ["axes"], value=numpy_helper.from_array(np.array([0]))),
             helper.make_node("Unsqueeze", ["batch", "axes"], ["first"]),
             helper.make_node("Constant", [], ["rest"], value=numpy_helper.from_array(np.array([-1]))),
             helper.make_node("Concat", ["first", "rest"], ["wanted"], axis=0), helper.make_node("Reshape", ["sum", "wanted"], ["y"])]
    graph = helper.make_graph(nodes, "exported", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 512])],
                              [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Simplify(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def simplify(self, model, *options):
        onnx.save(model, self.path / "m.onnx")
        ran = subprocess.run([ISOMER, "simplify", "m.onnx", "-o", "s.onnx", *options], capture_output=True, text=True, cwd=self.path, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran

    def test_fewer_nodes_and_the_same_outputs(self):
        said = self.simplify(exported()).stdout
        made = onnx.load(self.path / "s.onnx")
        operators = [node.op_type for node in made.graph.node]
        self.assertLessEqual(len(operators), 8, operators)
        self.assertEqual(set(operators) & {"Constant", "BatchNormalization", "Identity"}, set())
        self.assertEqual(operators.count("Relu"), 1)
        self.assertIn(f"s.onnx: 14 nodes → {len(operators)}, proved equal", said)
        self.assertEqual([(i.name, i.type) for i in made.graph.input], [(i.name, i.type) for i in exported().graph.input])
        self.assertEqual([o.name for o in made.graph.output], ["y"])
        for batch in (1, 3):
            x = np.random.default_rng(batch).normal(size=(batch, 3, 8, 8)).astype(np.float32)
            before, after = (modules.session(self.path / name).run(None, {"x": x})[0] for name in ("m.onnx", "s.onnx"))
            self.assertLess(modules.distance(before, after), 1e-5)

    def test_the_proof_is_checked_by_the_small_program(self):
        self.simplify(exported())
        ran = subprocess.run([CHECK, "m.onnx", "s.onnx", "s.onnx.cert"], capture_output=True, text=True, cwd=self.path, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        weights = onnx.load(self.path / "s.onnx")
        changed = numpy_helper.to_array(weights.graph.initializer[0]).copy()
        changed.flat[0] += 1
        weights.graph.initializer[0].CopyFrom(numpy_helper.from_array(changed, weights.graph.initializer[0].name))
        onnx.save(weights, self.path / "s.onnx")
        ran = subprocess.run([CHECK, "m.onnx", "s.onnx", "s.onnx.cert"], capture_output=True, text=True, cwd=self.path, check=False)
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)

    def test_what_is_simple_is_copied(self):
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
        ran = self.simplify(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "--json")
        self.assertEqual(json.loads(ran.stdout)["result"], "unchanged")
        self.assertEqual((self.path / "s.onnx").read_bytes(), (self.path / "m.onnx").read_bytes())

    def test_weights_beside_the_model(self):
        model = exported()
        onnx.save(model, self.path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
        ran = subprocess.run([ISOMER, "simplify", "m.onnx", "-o", "s.onnx"], capture_output=True, text=True, cwd=self.path, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        x = np.random.default_rng(1).normal(size=(2, 3, 8, 8)).astype(np.float32)
        before, after = (modules.session(self.path / name).run(None, {"x": x})[0] for name in ("m.onnx", "s.onnx"))
        self.assertLess(modules.distance(before, after), 1e-5)


if __name__ == "__main__":
    unittest.main()
