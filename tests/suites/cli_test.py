"""The command line's contract: streams, exit codes, JSON fields, files; and npz files against numpy itself."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

import _paths  # noqa: F401
import programs

FLOAT = TensorProto.FLOAT
# The types that an npz can hold and that Identity takes at opset 16.
TYPES = {np.float16: "f2", np.float32: "f4", np.float64: "f8", np.int8: "i1", np.int16: "i2", np.int32: "i4", np.int64: "i8",
         np.uint8: "u1", np.uint16: "u2", np.uint32: "u4", np.uint64: "u8", np.bool_: "b1", ml_dtypes.bfloat16: "bf"}


def value(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(nodes, inputs, outputs, initializers=(), opset=16, **more):
    graph = helper.make_graph(nodes, "test", inputs, outputs, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *more.pop("imports", [])], ir_version=8)


def relu_model(shape=("batch", 3)):
    return model_of([helper.make_node("Relu", ["x"], ["y"], name="only")], [value("x", shape)], [value("y", shape)])


class CommandLine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="isomer_cli_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def save(self, model, name="m.onnx"):
        path = self.folder / name
        path.write_bytes(model.SerializeToString())
        return str(path)

    def feeds(self, name="feeds.npz", **arrays):
        np.savez(self.folder / name, **arrays)
        return str(self.folder / name)

    def isomer(self, *arguments, code=0):
        ran = subprocess.run([programs.program("isomer"), *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, code, f"{arguments}: {ran.stdout}{ran.stderr}")
        if code != 0:
            self.assertRegex(ran.stderr, r"\Aisomer: [^\n]+\n\Z")
        return ran

    def run_model(self, model, *arguments, code=0, **arrays):
        output = self.folder / "out.npz"
        ran = self.isomer("run", self.save(model), "--feeds", self.feeds(**arrays), "-o", str(output), *arguments, code=code)
        self.assertEqual(output.exists(), code == 0)
        return ran, (dict(np.load(output)) if code == 0 else None)


class Usage(CommandLine):
    def test_version_and_help_go_to_stdout(self):
        self.assertRegex(self.isomer("--version").stdout, r"\Aisomer \d+\.\d+\.\d+\n\Z")
        for arguments in (["--help"], ["inspect", "--help"], ["run", "--help"]):
            self.assertIn("--", self.isomer(*arguments).stdout)

    def test_bad_usage_is_exit_2_and_one_line(self):
        for arguments in ([], ["nonsense"], ["inspect"], ["inspect", "a", "b"], ["inspect", "--nonsense", "a"], ["run", "a"],
                          ["run", "a", "-o", "b", "--engine", "c"]):
            self.assertEqual(self.isomer(*arguments, code=2).stdout, "")

    def test_errors_are_json_where_json_is_asked_for(self):
        for arguments in (["inspect", "--json"], ["inspect", "missing.onnx", "--json"]):
            error = json.loads(self.isomer(*arguments, code=2).stdout)["error"]
            self.assertEqual(list(error), ["message", "node", "attribute"])
            self.assertTrue(error["message"])

    def test_an_error_names_the_node_and_the_attribute(self):
        model = model_of([helper.make_node("Softmax", ["x"], ["y"], name="bad", axis=7)], [value("x", [2, 3])],
                         [value("y", [2, 3])])
        ran = self.isomer("inspect", self.save(model), "--json", code=2)
        error = json.loads(ran.stdout)["error"]
        self.assertEqual((error["node"], error["attribute"]), ("bad", "axis"))
        self.assertIn("bad", ran.stderr)
        self.assertIn("axis", ran.stderr)

    def test_a_name_in_a_file_cannot_speak_for_us(self):
        model = relu_model()
        model.graph.node[0].op_type = "Re\nisomer: fine\x1b[2J"
        ran = subprocess.run([programs.program("isomer"), "inspect", self.save(model)], capture_output=True, text=True)
        self.assertNotIn("\x1b", ran.stdout + ran.stderr)
        self.assertLessEqual(len(ran.stderr.splitlines()), 1)

    def test_a_full_disk_is_no_success(self):
        path = self.save(relu_model())
        with open("/dev/full", "w") as full:
            ran = subprocess.run([programs.program("isomer"), "inspect", path], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(ran.returncode, 2)


class Inspect(CommandLine):
    FIELDS = ["opset", "opsets", "ir", "nodes", "inputs", "outputs", "operators", "float_nodes", "float_nodes_defined", "opaque",
              "flops", "weight_bytes"]

    def inspect(self, model, *arguments):
        return json.loads(self.isomer("inspect", self.save(model), "--json", *arguments).stdout)

    def test_has_the_fields_of_the_contract(self):
        said = self.inspect(relu_model((2, 3)))
        self.assertEqual(list(said), self.FIELDS)
        self.assertEqual((said["opset"], said["ir"], said["nodes"], said["flops"], said["weight_bytes"]), (16, 8, 1, 6, 0))
        self.assertEqual(said["inputs"], [{"name": "x", "type": "float", "shape": [2, 3]}])
        self.assertEqual({k: said["operators"][0][k] for k in ("op", "domain", "count")}, {"op": "Relu", "domain": "", "count": 1})

    def test_flops_are_an_expression_until_sizes_are_bound(self):
        said = self.inspect(relu_model())
        self.assertIsNone(said["flops"])
        self.assertIn("batch", said["flops_expression"])
        self.assertEqual(said["outputs"][0]["shape"], ["batch", 3])
        for shape in ("x=4x3", "batch=4"):
            self.assertEqual(self.inspect(relu_model(), "--shape", shape)["flops"], 12)

    def test_shapes_must_name_an_input_and_fit_it(self):
        path = self.save(relu_model())
        for shape in ("z=1x3", "x", "x=1xx3", "x=-1x3", "x=1x3x", "x=2x2", "x=1x3x3", "batch=1x3", "x=99999999999999999999x3"):
            self.isomer("inspect", path, "--shape", shape, code=2)
        self.isomer("inspect", path, "--shape", "x=1x3", "--shape", "x=1x3", code=2)

    def test_counts_float_nodes_without_constants_and_identities(self):
        constant = helper.make_node("Constant", [], ["c"], value=helper.make_tensor("", FLOAT, [3], [1.0, 2.0, 3.0]))
        nodes = [constant, helper.make_node("Identity", ["x"], ["i"]), helper.make_node("Add", ["i", "c"], ["s"]),
                 helper.make_node("Shape", ["s"], ["n"]), helper.make_node("Add", ["n", "n"], ["m"]),
                 helper.make_node("Mystery", ["s"], ["y"], domain="custom", name="who")]
        model = model_of(nodes, [value("x", [2, 3])], [value("y", None), value("m", [2], TensorProto.INT64)],
                         imports=[helper.make_opsetid("custom", 1)])
        said = self.inspect(model)
        self.assertEqual((said["nodes"], said["float_nodes"], said["float_nodes_defined"]), (6, 3, 2))
        self.assertEqual([(o["node"], o["op"]) for o in said["opaque"]], [("who", "Mystery")])
        self.assertEqual(said["weight_bytes"], 12)

    def test_the_table_is_for_people(self):
        text = self.isomer("inspect", self.save(relu_model())).stdout
        for word in ("m.onnx", "opset 16", "batch", "Relu", "FLOPs"):
            self.assertIn(word, text)
        self.assertNotIn("\x1b", text)


class Run(CommandLine):
    def test_writes_the_outputs(self):
        x = np.array([[-1.0, 2.0, -3.0]], np.float32)
        ran, outputs = self.run_model(relu_model(), x=x)
        np.testing.assert_array_equal(outputs["y"], np.maximum(x, 0))
        self.assertEqual(outputs["y"].dtype, np.float32)
        self.assertIn("y", ran.stdout)

    def test_double_arithmetic_gives_doubles(self):
        model = model_of([helper.make_node("Exp", ["x"], ["y"])], [value("x", [3])], [value("y", [3])])
        x = np.array([0.1, 1.0, 2.5], np.float32)
        _, outputs = self.run_model(model, "--arithmetic", "double", x=x)
        np.testing.assert_allclose(outputs["y"], np.exp(x.astype(np.float64)), rtol=1e-15)

    def test_an_opaque_node_is_exit_3_with_its_reason(self):
        model = model_of([helper.make_node("Mystery", ["x"], ["y"], domain="custom", name="who")], [value("x", [1])],
                         [value("y", [1])], imports=[helper.make_opsetid("custom", 1)])
        ran, _ = self.run_model(model, "--json", code=3, x=np.zeros(1, np.float32))
        said = json.loads(ran.stdout)
        self.assertEqual((said["opaque"]["node"], said["opaque"]["op"]), ("who", "Mystery"))
        self.assertTrue(said["opaque"]["reason"])
        self.assertIn("who", ran.stderr)

    def test_feeds_must_fit_the_inputs(self):
        for arrays in ({}, {"z": np.zeros((1, 3), np.float32)}, {"x": np.zeros((1, 4), np.float32)}, {"x": np.zeros(3, np.float32)},
                       {"x": np.zeros((1, 3))}, {"x": np.zeros((1, 3), np.float32), "more": np.zeros(1)}):
            self.run_model(relu_model(), code=2, **arrays)

    def test_both_engines_agree(self):
        feeds = {"x": np.array([[-1, 0, 2]], np.float32)}
        _, reference = self.run_model(relu_model(), x=feeds["x"])
        _, runtime = self.run_model(relu_model(), "--engine", "ort", x=feeds["x"])
        self.assertEqual(list(reference), list(runtime))
        for name in reference:
            np.testing.assert_array_equal(reference[name], runtime[name])

    def test_never_writes_over_its_inputs(self):
        model, feeds = self.save(relu_model()), self.feeds(x=np.zeros((1, 3), np.float32))
        for target in (model, feeds):
            before = pathlib.Path(target).read_bytes()
            self.isomer("run", model, "--feeds", feeds, "-o", target, code=2)
            self.assertEqual(pathlib.Path(target).read_bytes(), before)

    def test_a_place_that_cannot_be_written_is_exit_2(self):
        model, feeds = self.save(relu_model()), self.feeds(x=np.zeros((1, 3), np.float32))
        self.isomer("run", model, "--feeds", feeds, "-o", str(self.folder / "none" / "o.npz"), code=2)
        self.isomer("run", model, "--feeds", feeds, "-o", str(self.folder), code=2)


class Npz(CommandLine):
    """Identity carries arrays from numpy's files to ours and back."""

    def carry(self, array, kind, save):
        onnx_type = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        model = model_of([helper.make_node("Identity", ["a/x"], ["b/y"])], [value("a/x", array.shape, onnx_type)],
                         [value("b/y", array.shape, onnx_type)])
        feeds, output = self.folder / "f.npz", self.folder / "o.npz"
        save(feeds, **{"a/x": array})
        self.isomer("run", self.save(model), "--feeds", str(feeds), "-o", str(output))
        with np.load(output) as outputs:
            return outputs["b/y"]

    def test_every_type_order_and_compression(self):
        random = np.random.default_rng(0)
        for kind in TYPES:
            for shape in ((), (3,), (2, 3, 4), (2, 0, 3)):
                array = np.asarray(random.integers(0, 2 if kind is np.bool_ else 100, shape)).astype(kind)
                for save in (np.savez, np.savez_compressed):
                    for order in ("C", "F"):
                        back = self.carry(np.asarray(array, order=order), kind, save)
                        what = f"{np.dtype(kind)} {shape} {order} {save.__name__}"
                        self.assertEqual(back.shape, shape, what)
                        self.assertEqual(back.tobytes(), array.tobytes(), what)
                        if kind is not ml_dtypes.bfloat16:
                            self.assertEqual(back.dtype, np.dtype(kind), what)

    def test_what_numpy_can_hold_and_we_cannot_is_refused_by_name(self):
        for array in (np.array(["a"]), np.array([None]), np.zeros(1, ">f4"), np.zeros(1, "M8[s]"), np.zeros(1, [("a", "f4")])):
            ran, _ = self.run_model(relu_model([1]), code=2, x=array)
            self.assertIn("'x'", ran.stderr)

    def test_garbage_is_refused(self):
        model = self.save(relu_model([1]))
        for name, data in (("empty", b""), ("text", b"hello"), ("zip", b"PK\x03\x04" + bytes(100))):
            path = self.folder / name
            path.write_bytes(data)
            self.isomer("run", model, "--feeds", str(path), "-o", str(self.folder / "o.npz"), code=2)


class Prove(CommandLine):
    def test_tells_how_often_the_witnesses_disagree(self):
        path = self.save(relu_model())
        said = json.loads(self.isomer("prove", path, path, "--json").stdout)
        self.assertEqual((said["verdict"], said["witness_disagreements"]), ("proved", 0))


if __name__ == "__main__":
    if not os.access(os.environ.get("ISOMER", ""), os.X_OK) and "ISOMER" in os.environ:
        print("skipped: the command is not built")
        sys.exit(programs.SKIPPED)
    unittest.main()
