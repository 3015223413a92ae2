"""`isomer optimize --kernels`: a model with a library beside it, which isomer.InferenceSession finds, and which it also runs without."""
import json
import operator
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import warnings

import numpy as np
import onnx
import onnxruntime

import _paths  # noqa: F401
import modules
import programs
import terminal
import zoo_optimize
from kernel_models import TOLERANCE, chain, normal

isomer = programs.program("isomer")
BUDGET = 20
SLACK = 6  # seconds: as in promises_test.py
# What a model says of itself.
WORDS = [operator.attrgetter(name) for name in ("producer_name", "producer_version", "model_version", "doc_string", "domain", "graph.name", "graph.doc_string")]


class Kernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not modules.has_compiler():
            raise unittest.SkipTest("there is no C++ compiler")
        folder = tempfile.TemporaryDirectory(prefix="isomer_kernels_")
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)

    def optimize(self, model, name, *options, code=0):
        folder = self.path / name
        folder.mkdir(exist_ok=True)
        onnx.save(model, folder / "model.onnx")
        start = time.monotonic()
        ran = subprocess.run([isomer, "optimize", str(folder / "model.onnx"), "-o", str(folder / "fast.onnx"), "--kernels", "--json", "--budget", f"{BUDGET}s",
                              *options], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        answer = json.loads(ran.stdout) if ran.stdout.startswith("{") else {}
        answer["wall"] = time.monotonic() - start
        return folder, answer

    def check(self, folder):
        ran = programs.run([isomer, "check", str(folder / "model.onnx"), str(folder / "fast.onnx"), str(folder / "fast.onnx.cert")], 120)
        self.assertEqual(ran.code, 0, ran)

    def session(self, folder):
        """With the reason why kernels are not used; None: they are."""
        from isomer import _session

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            made = _session.InferenceSession(str(folder / "fast.onnx"), options, providers=["CPUExecutionProvider"])
        self.assertLessEqual(len(told), 1)
        for warning in told:
            self.assertIs(warning.category, _session.KernelWarning)
        return made, str(told[0].message) if told else None

    def compare(self, folder, session, *sizes):
        right = modules.session(folder / "model.onnx")
        for size in sizes:
            feeds = {"x": normal(size, 24)}
            for expected, got in zip(right.run(None, feeds), session.run(None, feeds), strict=True):
                self.assertLessEqual(modules.distance(expected, got), TOLERANCE)


class OneSize(Kernels):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.made, cls.answer = cls.optimize(cls(), chain(), "one")

    def copy(self, name):
        return pathlib.Path(shutil.copytree(self.made, self.path / name))

    def test_the_answer(self):
        self.assertEqual(self.answer["result"], "improved", self.answer["reason"])
        kernels = self.answer["kernels"]
        self.assertTrue(kernels["is_taken"], kernels["reason"])
        self.assertGreater(self.answer["low"], 1.02)
        self.assertEqual({p.name for p in self.made.iterdir()},
                         {"model.onnx", "fast.onnx", "fast.onnx.cert", "fast.kernels.so", "fast.kernels.weights"})
        self.assertEqual(kernels["library_bytes"], (self.made / "fast.kernels.so").stat().st_size)
        self.assertEqual(kernels["weight_bytes"], (self.made / "fast.kernels.weights").stat().st_size)

    def test_the_second_time(self):
        """Kernels of an earlier run are taken if they are whole, and if the command is the same."""
        cache = ("--cache", str(self.path / "kept.sqlite"))
        first = self.optimize(chain(), "first", *cache)[1]["kernels"]
        self.assertFalse(first["is_kept"])
        folder, answer = self.optimize(chain(), "second", *cache)
        self.assertTrue(answer["kernels"]["is_kept"])
        self.assertGreater(answer["low"], 1.02)
        self.check(folder)
        session, why = self.session(folder)
        self.assertIsNone(why)
        self.compare(folder, session, 64)
        state = json.loads(subprocess.check_output([isomer, "cache", "--json", *cache]))
        self.assertGreater(state["kernel_bytes"], first["library_bytes"])
        self.assertFalse(self.optimize(chain(), "other", *cache, "--min-gain", "1.03")[1]["kernels"]["is_kept"])
        for library in (self.path / "kept.sqlite.kernels").rglob("*.so"):
            library.write_bytes(library.read_bytes()[:-1])
        self.assertFalse(self.optimize(chain(), "damaged", *cache)[1]["kernels"]["is_kept"])
        subprocess.run([isomer, "cache", "--clear", *cache], check=True, capture_output=True)
        self.assertFalse((self.path / "kept.sqlite.kernels").exists())

    def test_the_budget_is_kept(self):
        self.assertLessEqual(self.answer["wall"], 1.1 * BUDGET + 2 + SLACK)

    def test_it_is_proved(self):
        self.check(self.made)
        onnx.checker.check_model(str(self.made / "fast.onnx"))

    def test_the_interface_is_kept(self):
        model = chain()
        model.producer_name, model.model_version, model.doc_string, model.domain = "an exporter", 7, "of two layers", "org.example"
        model.graph.doc_string, model.graph.output[0].doc_string = "the graph", "scores"
        model.graph.input[0].doc_string = ""  # there, and empty
        model.graph.input[0].type.denotation = "IMAGE"
        onnx.helper.set_model_props(model, {"names": "cat,dog", "stride": "32"})
        folder, answer = self.optimize(model, "words")
        self.assertTrue(answer["kernels"]["is_taken"], answer["kernels"]["reason"])
        fast = onnx.load(folder / "fast.onnx")
        self.assertEqual(zoo_optimize.interface(folder / "model.onnx"), zoo_optimize.interface(folder / "fast.onnx"))
        self.assertEqual([field(model) for field in WORDS], [field(fast) for field in WORDS])

    def test_many_denormal_weights(self):
        """They are zero before kernels are made, and the result says so."""
        model = chain(blocks=12)
        for constant in model.graph.initializer:
            if constant.name.startswith("w"):
                weights = onnx.numpy_helper.to_array(constant).copy()
                weights[:, ::2] = 1e-40  # so sums are denormal, too
                constant.CopyFrom(onnx.numpy_helper.from_array(weights, constant.name))
        folder, answer = self.optimize(model, "denormals")
        self.assertEqual(answer["result"], "improved", answer["reason"])
        self.assertGreater(answer["flushed"], 0)
        self.assertTrue(answer["kernels"]["is_taken"], answer["kernels"]["reason"])
        self.check(folder)
        session, why = self.session(folder)
        self.assertIsNone(why)
        self.compare(folder, session, 64)

    def test_with_the_library(self):
        session, why = self.session(self.made)
        self.assertIsNone(why)
        self.compare(self.made, session, 64)

    def test_options_may_be_used_again(self):
        from isomer import _session

        options = onnxruntime.SessionOptions()
        for _ in range(2):
            self.compare(self.made, _session.InferenceSession(self.made / "fast.onnx", options), 64)

    def test_by_the_runtime_alone(self):
        self.compare(self.made, modules.session(self.made / "fast.onnx"), 64)
        self.compare(self.made, modules.session(self.made / "fast.onnx", self.made / "fast.kernels.so"), 64)

    def test_exceptions_are_the_runtimes(self):
        session, _ = self.session(self.made)
        self.assertIsInstance(session, onnxruntime.InferenceSession)
        for make in (onnxruntime.InferenceSession, type(session)):
            with self.assertRaises(onnxruntime.capi.onnxruntime_pybind11_state.NoSuchFile):
                make(str(self.made / "none.onnx"))

    def test_without_the_library(self):
        def gone(path):
            path.unlink()

        def cut(path):
            path.write_bytes(path.read_bytes()[:5000])

        def changed(path):
            data = bytearray(path.read_bytes())
            data[len(data) // 2 if path.suffix == ".so" else 20] ^= 1
            path.write_bytes(data)

        for file in ("fast.kernels.so", "fast.kernels.weights"):
            for change in (gone, cut, changed):
                folder = self.copy(f"{file}-{change.__name__}")
                change(folder / file)
                session, why = self.session(folder)
                self.assertIn(file, why)
                self.compare(folder, session, 64)

    def test_for_another_processor(self):
        folder = self.copy("processor")
        data = (folder / "fast.onnx").read_bytes()
        self.assertIn(b"kernels_processor", data)
        model = onnx.load(folder / "fast.onnx")
        next(e for e in model.metadata_props if e.key == "pkg.isomer.kernels_processor").value += " avx9000"
        onnx.save(model, folder / "fast.onnx")
        session, why = self.session(folder)
        self.assertIn("avx9000", why)
        self.compare(folder, session, 64)

    def test_another_models_library(self):
        other, answer = self.optimize(chain(seed=90), "other")
        self.assertTrue(answer["kernels"]["is_taken"], answer["kernels"]["reason"])
        folder = self.copy("foreign")
        for file in ("fast.kernels.so", "fast.kernels.weights"):
            shutil.copy(other / file, folder / file)
        session, why = self.session(folder)
        self.assertIn("not what was written", why)
        self.compare(folder, session, 64)
        # Registered by hand: its operators have other names, so the model's own functions run.
        self.compare(folder, modules.session(folder / "fast.onnx", folder / "fast.kernels.so"), 64)
        # The library with another's weights.
        shutil.copy(self.made / "fast.kernels.so", folder / "fast.kernels.so")
        with self.assertRaisesRegex(Exception, "another model's"):
            modules.session(folder / "fast.onnx", folder / "fast.kernels.so")

    def test_as_bytes(self):
        from isomer import _session

        with self.assertWarnsRegex(_session.KernelWarning, "bytes"):
            session = _session.InferenceSession((self.made / "fast.onnx").read_bytes())
        self.compare(self.made, session, 64)


class OpenSizes(Kernels):
    def test_every_size(self):
        folder, answer = self.optimize(chain("rows"), "open", "--shape", "rows=64")
        kernels = answer["kernels"]
        self.assertTrue(kernels["is_taken"], kernels["reason"])
        self.check(folder)
        session, why = self.session(folder)
        self.assertIsNone(why)
        for run in (session, modules.session(folder / "fast.onnx")):
            self.compare(folder, run, 64, 1, 7, 100)

    def test_kernels_that_round_too_much_are_made_again(self):
        """The difference of two convolutions that are nearly the same has few digits: with this limit, each way to add up is tried."""
        w, v = (normal(64, 64, 3, 3, seed=seed) / 24 for seed in (5, 6))
        model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]> net (float[1, 64, rows, 56] x) => (float[1, 64, rows, 56] y) {
            a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Relu (a) c = Conv <pads = [1, 1, 1, 1]> (b, v) d = Conv <pads = [1, 1, 1, 1]> (b, u) y = Sub (c, d) }""")
        for name, value in {"w": w, "v": v, "u": v * np.float32(1.03125)}.items():
            model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
        onnx.save(model, self.path / "sums.onnx")
        shown = terminal.run([isomer, "optimize", self.path / "sums.onnx", "-o", self.path / "exact.onnx", "--kernels", "--budget", "60s", "--shape", "rows=56",
                              "--max-error-growth", "0.01"], 100)
        self.assertEqual(shown.code, 0, shown.text)
        work = [line for line in shown.progress if "kernels:" in line]
        compared = next(k for k, line in enumerate(work) if "comparing with float64" in line)
        self.assertTrue(any("compiling kernels for the whole model" in line for line in work[compared:]), shown.text)
        self.assertIn("exact.kernels.so", shown.text)

    def test_two_sizes(self):
        folder, answer = self.optimize(chain("rows"), "two", "--shape", "rows=32", "--shape", "rows=64")
        if answer["kernels"]["is_taken"]:
            self.assertEqual([s["sizes"] for s in answer["kernels"]["sizes"]], [["rows=32"], ["rows=64"]])
        self.check(folder)
        session, _ = self.session(folder)
        self.compare(folder, session, 32, 64, 5)


class Unchanged(Kernels):
    def wait_for_search(self, process, folder):
        """Until kernels are being made."""
        while not any(p.name.startswith(".isomer-kernels") for p in folder.iterdir()):
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        time.sleep(1)
        self.assertIsNone(process.poll())

    def test_nothing_is_gained(self):
        folder = self.path / "same"
        folder.mkdir()
        stale = [folder / "fast.kernels.so", folder / "fast.kernels.weights"]
        for file in stale:
            file.write_bytes(b"of an earlier run")
        folder, answer = self.optimize(chain(blocks=2), "same", "--min-gain", "99")
        self.assertEqual(answer["result"], "unchanged")
        self.assertFalse(answer["kernels"]["is_taken"])
        self.assertNotEqual(answer["kernels"]["reason"], "")
        self.assertEqual((folder / "fast.onnx").read_bytes(), (folder / "model.onnx").read_bytes())
        self.assertEqual([f for f in stale if f.exists()], [])
        _, why = self.session(folder)
        self.assertIsNone(why)

    def test_what_was_there_stays_until_the_end(self):
        folder = self.path / "kept"
        folder.mkdir()
        files = {name: f"of an earlier run: {name}".encode() for name in ("fast.onnx", "fast.onnx.cert", "fast.kernels.so", "fast.kernels.weights")}
        for name, text in files.items():
            (folder / name).write_bytes(text)
        onnx.save(chain(), folder / "model.onnx")
        command = [isomer, "optimize", str(folder / "model.onnx"), "-o", str(folder / "fast.onnx"), "--kernels", "--quiet", "--budget", "60s"]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self.wait_for_search(process, folder)
        self.assertEqual({name: (folder / name).read_bytes() for name in files}, files)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        self.assertEqual(process.wait(60), 0)
        self.assertLessEqual(time.monotonic() - start, 3 + SLACK)
        self.assertNotEqual((folder / "fast.onnx").read_bytes(), files["fast.onnx"])
        self.check(folder)
        session, why = self.session(folder)
        self.assertIsNone(why)
        self.compare(folder, session, 64)
        self.assertEqual([p.name for p in folder.iterdir() if p.name.startswith(".isomer")], [])

    def test_killed(self):
        folder = self.path / "killed"
        folder.mkdir()
        onnx.save(chain(), folder / "model.onnx")
        process = subprocess.Popen([isomer, "optimize", str(folder / "model.onnx"), "-o", str(folder / "fast.onnx"), "--kernels", "--quiet"],
                                   stderr=subprocess.DEVNULL)
        self.wait_for_search(process, folder)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.kill()
        process.wait()
        self.assertEqual([p.name for p in folder.glob("fast*")], [])

    def test_no_compiler(self):
        folder, answer = self.optimize(chain(blocks=2), "none", "--compiler", "/nonexistent/c++")
        self.assertFalse(answer["kernels"]["is_taken"])
        self.assertIn("c++", answer["kernels"]["reason"])
        self.compare(folder, self.session(folder)[0], 64)

    def test_refused(self):
        for options, words in ((("--judge", "cost"), "measure"), (("--runtime", "openvino"), "ONNX Runtime"), (("--sizes-from", "0"), "size")):
            folder = self.path / "refused"
            folder.mkdir(exist_ok=True)
            onnx.save(chain(blocks=1), folder / "model.onnx")
            ran = subprocess.run([isomer, "optimize", str(folder / "model.onnx"), "-o", str(folder / "fast.onnx"), "--kernels", *options],
                                 capture_output=True, text=True, check=False)
            self.assertEqual(ran.returncode, 2)
            self.assertIn(words, ran.stderr)
            self.assertFalse((folder / "fast.onnx").exists())


if __name__ == "__main__":
    unittest.main()
