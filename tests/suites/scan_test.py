"""`isomer scan`: which models it finds, what it says of them, and that files which are no models are no errors."""
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import _paths  # noqa: F401
import programs
import small_models as small

ISOMER = programs.program("isomer")


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def unknown_operator():
    graph = helper.make_graph([helper.make_node("Mystery", ["x"], ["y"], domain="some.where")], "g", [value("x", ["N", 3])], [value("y", ["N", 3])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("some.where", 1)], ir_version=8, producer_name="hand")


def save_external(model, path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path, save_as_external_data=True, location=data, size_threshold=0)


class Scan(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def save(self, model, name):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(model, path)
        return path

    def isomer(self, *arguments, code=0, **environment):
        ran = subprocess.run([ISOMER, *map(str, arguments)], capture_output=True, text=True, cwd=self.path, env=os.environ | environment, check=False)
        self.assertEqual(ran.returncode, code, ran.stderr + ran.stdout)
        return ran

    def scan(self, *arguments):
        """What --json says, with the models by their paths below the folder."""
        said = json.loads(self.isomer("scan", self.path, "--json", *arguments).stdout)
        said["by_path"] = {str(pathlib.Path(m["path"]).relative_to(self.path)): m for m in said["models"]}
        said["reasons"] = {str(pathlib.Path(s["path"]).relative_to(self.path)): s["reason"] for s in said["skipped"]}
        return said


class Finds(Scan):
    def test_a_folder_of_all_kinds(self):
        packages = self.path / "lib" / "python3.11" / "site-packages"
        first = self.save(small.branches(), packages / "ocr" / "models" / "det.onnx")
        (packages / "other").mkdir()
        shutil.copy(first, packages / "other" / "copy.onnx")
        (packages / "ocr" / "loop").symlink_to(packages)
        (packages / "ocr" / "text.onnx").write_text("this is no model\n")
        (packages / "ocr" / "empty.onnx").write_bytes(b"")
        (packages / "ocr" / "phone.ort").write_bytes(b"ORTM")
        self.save(unknown_operator(), "web/node_modules/a/node_modules/@scope/vad/dist/vad.onnx")
        save_external(small.plain(), self.path / "cache" / "large" / "model.onnx", "model.data")

        said = self.scan("--no-estimate")
        found = {path.rpartition("/")[2]: m for path, m in said["by_path"].items()}
        self.assertEqual(sorted(found), ["det.onnx", "model.onnx", "vad.onnx"])
        self.assertEqual({name: m["package"] for name, m in found.items()}, {"det.onnx": "ocr", "model.onnx": "cache", "vad.onnx": "@scope/vad"})
        self.assertEqual([pathlib.Path(c).name for c in found["det.onnx"]["copies"]], ["copy.onnx"])
        self.assertEqual(found["model.onnx"]["external_bytes"], 64 * 64 * 4)
        self.assertGreater(found["model.onnx"]["bytes"], 64 * 64 * 4)
        self.assertEqual([o["op"] for o in found["vad.onnx"]["inspection"]["opaque"]], ["Mystery"])
        self.assertEqual(found["vad.onnx"]["producer"], "hand")
        self.assertEqual({name.rpartition("/")[2] for name in said["reasons"]}, {"text.onnx", "empty.onnx", "phone.ort"})
        self.assertTrue(all(said["reasons"].values()))
        self.assertTrue(all(m["estimate"] is None for m in said["models"]))

        text = self.isomer("scan", self.path, "--no-estimate").stdout
        self.assertTrue(text.startswith("4 models (3 distinct) in 3 packages, "), text)
        self.assertLessEqual(max(len(line) for line in text.splitlines() if str(self.path) not in line), 80)
        for words in ("1 more copy", "1 opaque node (Mystery)", "Not read (3):", "phone.ort", "ONNX Runtime's own format"):
            self.assertIn(words, " ".join(text.split()))

    def test_what_a_model_is(self):
        self.save(small.branches(), "float.onnx")
        weight = numpy_helper.from_array(np.ones((64, 64), np.int8), "w")
        nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), helper.make_node("MatMulInteger", ["q", "w", "z"], ["y"])]
        self.save(small.model(nodes, [weight], [("x", ["N", 64])], [("y", ["N", 64], TensorProto.INT32)]), "int8.onnx")
        said = self.scan("--no-estimate")["by_path"]
        self.assertEqual([said["float.onnx"][k] for k in ("kinds", "precision", "quantization")], [["convolution"], ["float32"], ""])
        self.assertEqual([said["int8.onnx"][k] for k in ("kinds", "precision", "quantization")], [["matrix products"], ["int8"], "dynamic"])
        self.assertEqual(said["float.onnx"]["opsets"], {"": 18})
        inspected = json.loads(self.isomer("inspect", self.path / "float.onnx", "--json").stdout)
        self.assertEqual(said["float.onnx"]["inspection"], inspected)

    def test_weights_in_other_files_tell_models_apart(self):
        """Two files of the same bytes name weights that differ, or that don't."""
        for name, model in (("a", small.plain()), ("b", small.plain()), ("c", None)):
            if model:
                save_external(model, self.path / name / "model.onnx", "model.data")
        shutil.copytree(self.path / "a", self.path / "c")
        self.assertEqual((self.path / "a" / "model.onnx").read_bytes(), (self.path / "b" / "model.onnx").read_bytes())
        said = self.scan("--no-estimate")["by_path"]
        same = {path: m["same_as"] and str(pathlib.Path(m["same_as"]).relative_to(self.path)) for path, m in said.items()}
        self.assertEqual(same, {"a/model.onnx": None, "b/model.onnx": None, "c/model.onnx": "a/model.onnx"})

    def test_a_model_whose_weights_are_missing_is_no_error(self):
        save_external(small.plain(), self.path / "model.onnx", "model.data")
        (self.path / "model.data").unlink()
        self.assertIn("model.data", self.scan("--no-estimate")["reasons"]["model.onnx"])

    def test_a_file_of_gigabytes_is_not_read(self):
        size = 3 << 30
        opset, graph = b"\x42\x02\x10\x11", b"\x3a" + bytes([0x80 | (size >> shift) & 0x7F for shift in (0, 7, 14, 21)]) + bytes([size >> 28])
        for name, head in (("large.onnx", b"\x08\x08\x12\x04hand" + opset + graph), ("zeros.onnx", b"")):
            (self.path / name).write_bytes(head)
            os.truncate(self.path / name, len(head) + size)
        said = self.scan("--budget", "1s")
        large = said["by_path"]["large.onnx"]
        self.assertEqual([large[k] for k in ("producer", "opsets", "inspection", "estimate")], ["hand", {"": 17}, None, None])
        self.assertIn("512 MiB", large["why_not_read"])
        self.assertEqual(list(said["reasons"]), ["zeros.onnx"])

    def test_what_isomer_has_made_is_named_and_not_estimated(self):
        source = self.save(small.branches(1), "in.onnx")
        self.isomer("optimize", source, "-o", self.path / "out.onnx", "--judge", "cost", "--budget", "20s")
        said = self.scan("--budget", "5s")["by_path"]
        self.assertIsNone(said["in.onnx"]["optimized"])
        self.assertRegex(said["out.onnx"]["optimized"]["version"], r"\A\d+\.\d+\.\d+\Z")
        self.assertEqual(said["out.onnx"]["optimized"]["certificate"], str(self.path / "out.onnx.cert"))
        self.assertIsNone(said["out.onnx"]["estimate"])
        self.assertIn("optimized by Isomer", self.isomer("scan", self.path, "--no-estimate").stdout)


class Estimates(Scan):
    def test_the_gain_by_cost_and_the_command(self):
        self.save(small.branches(1), "better it/branches.onnx")
        self.save(small.plain(), "plain.onnx")
        said = self.scan("--budget", "20s")["by_path"]
        better, plain = said["better it/branches.onnx"], said["plain.onnx"]
        self.assertGreater(better["estimate"]["ratio"], 1.05)
        self.assertTrue(better["estimate"]["changes"])
        self.assertEqual((plain["estimate"]["ratio"], plain["estimate"]["changes"]), (1, []))
        self.assertTrue(plain["estimate"]["reason"])
        text = self.isomer("scan", self.path, "--budget", "20s").stdout
        self.assertIn("1 would likely be faster, by an estimate.", text.splitlines()[0])
        self.assertIn("It is not a measurement", " ".join(text.split()))
        command = text.splitlines()[-1].strip()
        self.assertEqual(command, better["command"])
        self.assertEqual({p.name for p in self.path.rglob("*.*")}, {"branches.onnx", "plain.onnx"})  # nothing is written

        environment = os.environ | {"PATH": f"{pathlib.Path(ISOMER).parent}:{os.environ['PATH']}"}
        out = subprocess.run(["sh", "-c", command + " --judge cost --quiet"], cwd=self.path, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertTrue((self.path / "branches.fast.onnx").exists())

    def test_denormal_weights_are_counted(self):
        model = small.plain()
        weight = numpy_helper.to_array(model.graph.initializer[0]).copy()
        weight[0, :50] = 1e-40
        model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weight, "w"))
        self.save(model, "m.onnx")
        self.assertEqual(self.scan()["models"][0]["estimate"]["denormal_weights"], 50)
        text = self.isomer("scan", self.path).stdout
        self.assertIn("50 denormal weights", " ".join(text.split()))
        self.assertIn("1 would likely be faster", text.splitlines()[0])
        self.assertTrue(text.splitlines()[-1].endswith(" -o m.fast.onnx"))


class Places(Scan):
    def test_the_active_environment_is_the_default(self):
        self.save(small.plain(), "env/lib/python3.11/site-packages/p/m.onnx")
        for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
            none = {"VIRTUAL_ENV": "", "CONDA_PREFIX": ""}
            said = json.loads(self.isomer("scan", "--no-estimate", "--json", **(none | {variable: str(self.path / "env")})).stdout)
            self.assertEqual([m["package"] for m in said["models"]], ["p"])
        ran = self.isomer("scan", code=2, VIRTUAL_ENV="", CONDA_PREFIX="")
        self.assertIn("isomer scan DIR", ran.stderr)

    def test_a_folder_that_is_not_there_is_an_error(self):
        self.assertIn("nowhere", self.isomer("scan", self.path / "nowhere", code=2).stderr)

    def test_an_empty_folder_is_none(self):
        self.assertEqual(self.isomer("scan", self.path).stdout, "No ONNX model was found.\n")
        self.assertEqual(self.scan()["models"], [])

    def test_a_name_cannot_speak_for_us(self):
        self.save(small.plain(), "evil\x1b[2J\nisomer: fine.onnx")
        (self.path / "bad\x1b[2J.onnx").write_text("x")
        text = self.isomer("scan", self.path, "--no-estimate").stdout
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\nisomer: fine", text)


class Interrupted(Scan):
    def test_ctrl_c_ends_with_what_was_found(self):
        for k in range(8):
            self.save(small.branches(1, blocks=12), f"m{k}.onnx")
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        with subprocess.Popen([ISOMER, "scan", str(self.path), "--budget", "60s", "--json"], stdout=subprocess.PIPE, stderr=slave, text=True) as ran:
            os.close(slave)
            seen, end = "", time.monotonic() + 60
            while "estimating" not in seen and time.monotonic() < end:
                if select.select([master], [], [], 0.1)[0]:
                    seen += os.read(master, 4096).decode(errors="replace")
            self.assertIn("estimating", seen)  # the line that a terminal shows
            ran.send_signal(signal.SIGINT)
            said = json.loads(ran.communicate(timeout=60)[0])
        self.assertEqual(ran.returncode, 0)
        self.assertTrue(said["interrupted"])
        self.assertEqual(len(said["models"]), 8)
        self.assertIsNone(said["models"][-1]["estimate"])


if __name__ == "__main__":
    unittest.main()
