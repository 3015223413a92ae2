"""isomer explore: what it finds of ONNX Runtime's passes, what it calls none, what it writes, and that a stopped run goes on."""
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
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import _paths  # noqa: F401
import programs

isomer = programs.program("isomer")
os.environ["VIRTUAL_ENV"] = sys.prefix
QUICK = ("--seconds", "0.5", "--mode", "fast")


def products(layers=6, size=256):
    """Products with sums behind them, which MatMulAddFusion makes one Gemm each of, and identities, which EliminateIdentity removes."""
    draw = np.random.default_rng(0)
    nodes, weights, value = [], [], "x"
    for k in range(layers):
        weights += [numpy_helper.from_array((draw.standard_normal((size, size)) / size).astype(np.float32), f"w{k}"),
                    numpy_helper.from_array(draw.standard_normal(size).astype(np.float32), f"b{k}")]
        nodes += [helper.make_node("MatMul", [value, f"w{k}"], [f"p{k}"]), helper.make_node("Add", [f"p{k}", f"b{k}"], [f"s{k}"]),
                  helper.make_node("Identity", [f"s{k}"], [f"i{k}"]), helper.make_node("Relu", [f"i{k}"], [f"v{k}"])]
        value = f"v{k}"
    io = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [32, size]) for name in ("x", value)]
    graph = helper.make_graph(nodes, "products", [io[0]], [io[1]], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Explore(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="isomer_explore_")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.model = str(self.path / "model.onnx")
        onnx.save(products(), self.model)

    def explore(self, *arguments, code=0):
        ran = subprocess.run([isomer, "explore", self.model, *arguments, "--quiet", "--json"], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, code, f"{arguments}: {ran.stdout}{ran.stderr}")
        return json.loads(ran.stdout)

    def test_names_have_the_effect_that_the_graph_shows(self):
        answer = self.explore(*QUICK, "--objective", "size")
        effect = {t["passes"][0]: t["changes_graph"] for t in answer["passes"]}
        self.assertGreater(len(effect), 50)
        self.assertTrue(effect["MatMulAddFusion"] and effect["EliminateIdentity"])
        self.assertIs(effect["ConvBNFusion"], False)  # there is no convolution
        self.assertIsNone(effect["session.enable_mem_pattern=0"])
        measured = [t["passes"][0] for t in answer["passes"] if t["measured"]]
        self.assertTrue(set(measured) <= {name for name, changes in effect.items() if changes}, measured)

    def test_what_is_better_is_a_configuration_that_bench_reads(self):
        config = self.path / "config.json"
        answer = self.explore(*QUICK, "--objective", "memory", "--config", str(config), "--min-gain", "1")
        self.assertEqual(json.loads(config.read_text()), answer["configuration"])
        ran = subprocess.run([isomer, "bench", self.model, "--seconds", "1", "--runtime-config-file", str(config), "--quiet"],
                             capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        scope = {"onnxruntime": onnxruntime}
        exec(answer["python"], scope)  # what is to be pasted is Python
        onnxruntime.InferenceSession(self.model, scope["options"])
        config.write_text('{"disabled_optimizers": ["NoSuchFusion"]}')
        for text in ('{"disabled_optimizers": ["NoSuchFusion"]}', '{"levels": 1}', "none"):
            config.write_text(text)
            ran = subprocess.run([isomer, "bench", self.model, "--runtime-config-file", str(config), "--quiet"], capture_output=True, text=True, check=False)
            self.assertEqual(ran.returncode, 2, text)

    def test_passes_that_change_nothing_gain_nothing(self):
        answer = self.explore(*QUICK, "--control", "--min-gain", "1.1")
        self.assertEqual(answer["verdict"], "none", answer["line"])
        measured = [t for t in answer["passes"] if t["measured"]]
        self.assertTrue(measured and all(t["changes_graph"] is False for t in measured))
        self.assertEqual(answer["configuration"], {"optimization_level": "all", "disabled_optimizers": [], "config": {}})

    def test_a_prepared_model_is_equal_and_says_what_it_is_for(self):
        out = self.path / "fast.onnx"
        answer = self.explore("--objective", "load-time", "-o", str(out), "--seconds", "2")
        if answer["verdict"] == "none":  # a busy machine: then there is no file
            self.assertFalse(out.exists())
            return
        prepared = answer["prepared"]
        self.assertGreater(prepared["plain"]["load"]["low"], 1)
        self.assertEqual((prepared["equality"], prepared["outputs_differ"]), ("proved", False), prepared["why"])
        self.assertTrue((self.path / "fast.onnx.data").exists())
        made = onnx.load(out)
        metadata = {p.key: p.value for p in made.metadata_props}
        self.assertEqual(metadata["pkg.isomer.prepared_for"], "any processor")
        self.assertNotIn("com.microsoft.nchwc", {n.domain for n in made.graph.node})
        x = {"x": np.random.default_rng(1).standard_normal((32, 256)).astype(np.float32)}
        one, two = (onnxruntime.InferenceSession(str(p)).run(None, x)[0] for p in (self.model, out))
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)
        self.assertEqual([p.name for p in self.path.iterdir() if p.name.startswith(".isomer")], [])

    def test_the_model_is_not_overwritten(self):
        before = pathlib.Path(self.model).read_bytes()
        self.assertIn("error", self.explore("--objective", "load-time", "-o", self.model, code=2))
        self.assertIn("error", self.explore("-o", str(self.path / "out.onnx"), code=2))  # of load-time only
        self.assertEqual(pathlib.Path(self.model).read_bytes(), before)

    def test_a_killed_run_goes_on_and_ends_with_the_same_table(self):
        records = self.path / "records.jsonl"
        command = [isomer, "explore", self.model, *QUICK, "--records", str(records), "--quiet", "--json"]
        for least in (10, 60):
            running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            end = time.monotonic() + 120
            while time.monotonic() < end and (not records.exists() or records.read_text().count("\n") < least):
                time.sleep(0.02)
            running.send_signal(signal.SIGKILL)
            running.wait()
        with records.open("a") as file:
            file.write('{"key": "graph cut o')  # as a write that was cut off leaves it
        answer = self.explore(*QUICK, "--records", str(records))
        self.assertGreaterEqual(answer["resumed"], 50)
        again = self.explore(*QUICK, "--records", str(records))
        same = ("passes", "sets", "best", "measured", "verdict", "configuration")
        self.assertEqual([answer[k] for k in same], [again[k] for k in same])
        whole = self.explore(*QUICK)
        seen = [[(t["passes"], t["kind"], t["changes_graph"], t["bytes"]) for t in a["passes"]] for a in (answer, whole)]
        self.assertEqual(*seen)
        # Records of another question are refused.
        self.assertIn("error", self.explore("--seconds", "0.5", "--mode", "full", "--records", str(records), code=2))
        for other in (("--seed", "7"), ("--min-gain", "1.5")):
            self.assertIn("error", self.explore(*QUICK, *other, "--records", str(records), code=2), other)

    def test_what_a_killed_run_left_goes_away_with_the_next(self):
        left, other = self.path / ".isomer-explore-abcdef", self.path / ".isomer-explore-foreign"
        for folder in (left, other):
            folder.mkdir()
            (folder / "graph.onnx").write_bytes(b"x")
        owner = left / ".isomer-owner"
        owner.touch()
        os.utime(owner, (time.time() - 3600,) * 2)
        self.explore("--objective", "load-time", "-o", str(self.path / "fast.onnx"), "--seconds", "0.2", "--budget", "2s")
        self.assertFalse(left.exists())
        self.assertTrue(other.exists())  # its owner is unknown

    def test_the_page_shows_each_pass_that_was_measured(self):
        page = self.path / "page.html"
        answer = self.explore(*QUICK, "--objective", "memory", "--report", str(page))
        text = page.read_text(encoding="utf-8")
        measured = [t for part in ("passes", "sets") for t in answer[part] if t["measured"]]
        self.assertEqual(text.count('class="trial"'), len(measured))
        self.assertTrue(all(t["passes"][0] in text for t in measured))
        self.assertIn("model.onnx", text)
        self.assertNotIn("<script", text)


if __name__ == "__main__":
    if not os.access(isomer, os.X_OK):
        print("skipped: the command is not built")
        sys.exit(programs.SKIPPED)
    unittest.main()
