"""IsomerExecutionProvider in a real ONNX Runtime: it runs what was prepared for exactly this model, machine and runtime; else the model runs as it
does without the provider, and one warning says why."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import _paths  # noqa: F401
import kernel_models
import modules
import programs
import provider

X = kernel_models.normal(4, 3)
HEAD = '<ir_version: 8, opset_import: ["" : 17, "my" : 1]>'
PLAIN = HEAD + "g (float[N, 3] x) => (float[N, 3] y) <float[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> { a = MatMul (x, w) y = Relu (a) }"
OTHER = PLAIN.replace("9}", "8}")  # a weight
CALLS = HEAD + "g (float[N, 3] x) => (float[N, 3] y) { a = my.f (x) y = Relu (a) } "
FUNCTION = '<domain: "my", opset_import: ["" : 17]> f (v) => (w) { w = %s }'
BRANCHES = HEAD + """g (float[N, 3] x, bool c) => (float[N, 3] y) <float[3] w = {1, 2, 3}> {
  k = Neg (x)
  y = If (c) <then_branch = t () => (float[N, 3] p) { p = Add (k, w) }, else_branch = e () => (float[N, 3] p) { p = Mul (x, w) }>
}"""
LOOP = HEAD + """g (float[3] x, int64 n) => (float[3] y, float[M, 3] s) <bool c = {1}> {
  y, s = Loop (n, c, x) <body = b (int64 i, bool d, float[3] v) => (bool e, float[3] o, float[3] t) { e = Identity (d) o = Add (v, x) t = Identity (v) }>
}"""


def without(model, feeds):
    return onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), providers=["CPUExecutionProvider"]).run(None, feeds)


class Provider(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="isomer_provider_")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        self.entries = provider.use_cache(self.path)

    def save(self, text, name="model.onnx"):
        (self.path / name).parent.mkdir(exist_ok=True)
        onnx.save(onnx.parser.parse_model(text) if isinstance(text, str) else text, self.path / name)
        return self.path / name

    def load(self, model, **options):
        return provider.Loaded(model, self.path, **options)

    def prepare(self, model, **options):
        return self.load(model, options={"prepare": "on_first_load", **options})

    def starts(self):
        file = self.path / "starts"
        return file.read_text().splitlines() if file.exists() else []

    def check_used(self, loaded, model, feeds):
        self.assertTrue(loaded.is_claimed, loaded.reason)
        self.assertEqual(loaded.reason, "")
        self.check_outputs(loaded, model, feeds)

    def check_left(self, loaded, words, model, feeds):
        self.check_outputs(loaded, model, feeds)
        self.assertFalse(loaded.is_claimed)
        self.assertIn(words, loaded.reason)

    def check_outputs(self, loaded, model, feeds):
        for _ in range(2):  # the second run writes where the first one was copied to
            for expected, got in zip(without(model, feeds), loaded.run(feeds), strict=True):
                np.testing.assert_array_equal(expected, got)

    def entry(self):
        (manifest,) = self.entries.glob("*/*/manifest")
        return manifest.parent

    def rewrite(self, change):
        """The manifest, changed by a program that knows how it is made."""
        manifest = self.entry() / "manifest"
        text = change(manifest.read_text().split("\n", 1)[1])
        manifest.write_text(hashlib.blake2b(text.encode(), digest_size=32).hexdigest() + "\n" + text)


class Cache(Provider):
    def test_empty(self):
        model = self.save(PLAIN)
        for given in (model, model.read_bytes()):
            self.check_left(self.load(given), "nothing is prepared", model, {"x": X})
        self.assertFalse(self.entries.exists())
        self.assertEqual(self.starts(), [])

    def test_one_warning(self):
        model = self.save(PLAIN)
        program = f"""
import onnxruntime
onnxruntime.register_execution_provider_library("{provider.NAME}", "{provider.LIBRARY}")
session = onnxruntime.InferenceSession("{model}", providers=["{provider.NAME}", "CPUExecutionProvider"])
for _ in range(3): session.run(None, {{"x": [[1.0, 2.0, 3.0]]}})
"""
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertEqual(ran.stderr.count("nothing is prepared for it"), 1, ran.stderr)
        self.assertEqual(ran.stderr.count("IsomerExecutionProvider"), 1, ran.stderr)

    def test_none(self):
        os.environ["ISOMER_CACHE"] = "none"
        model = self.save(PLAIN)
        self.check_left(self.prepare(model), "there is no cache", model, {"x": X})

    def test_right(self):
        model = self.save(PLAIN)
        self.check_used(self.prepare(model), model, {"x": X})
        for given in (model, model.read_bytes(), shutil.copy(model, self.path / "other_name.onnx")):
            self.check_used(self.load(given), model, {"x": X})
        self.check_used(self.load(model, devices=True), model, {"x": X})
        self.assertEqual(len(self.starts()), 1)

    def test_another_model(self):
        model, other = self.save(PLAIN), self.save(OTHER, "other.onnx")
        self.prepare(model)
        self.check_left(self.load(other), "nothing is prepared", other, {"x": X})
        # Its entry in this one's place.
        entry = self.entry()
        mine = entry.parent.rename(self.path / "mine")
        self.prepare(other)
        place = self.entry()
        shutil.rmtree(place)
        shutil.copytree(mine / place.name, place)
        self.check_left(self.load(other), "no entry for this", other, {"x": X})

    def test_renamed_inputs(self):
        self.prepare(self.save(PLAIN))
        for old, new in (("x", "u"), ("y", "v")):
            model = onnx.load(self.path / "model.onnx")
            for value in (*model.graph.input, *model.graph.output):
                value.name = new if value.name == old else value.name
            for node in model.graph.node:
                node.input[:] = [new if n == old else n for n in node.input]
                node.output[:] = [new if n == old else n for n in node.output]
            other = self.save(model, "other.onnx")
            self.check_left(self.load(other), "nothing is prepared", other, {model.graph.input[0].name: X})

    def test_names_inside_are_of_no_meaning(self):
        self.prepare(self.save(PLAIN))
        model = onnx.load(self.path / "model.onnx")
        model.graph.name, model.producer_name, model.graph.node[0].name = "h", "another", "first"
        model.graph.node[0].output[0] = model.graph.node[1].input[0] = "b"
        other = self.save(model, "other.onnx")
        self.check_used(self.load(other), other, {"x": X})

    def test_damaged(self):
        model = self.save(PLAIN)
        self.prepare(model)
        entry = self.entry()
        kept = shutil.copytree(entry, self.path / "kept")

        def cut(file):
            file.write_bytes(file.read_bytes()[:-3])

        def flip(file):
            data = bytearray(file.read_bytes())
            data[len(data) // 2] ^= 1
            file.write_bytes(data)

        def empty(file):
            file.write_bytes(b"")

        def link(file):
            file.rename(self.path / "elsewhere")
            file.symlink_to(self.path / "elsewhere")

        for name in ("manifest", "fast.onnx"):
            for change, words in ((cut, "damaged"), (flip, "damaged"), (empty, "damaged"), (pathlib.Path.unlink, "missing"), (link, "missing"),
                                  (lambda file: file.chmod(0o666), "others may write")):
                change(entry / name)
                self.check_left(self.load(model), words, model, {"x": X})
                shutil.rmtree(entry)
                shutil.copytree(kept, entry)
        self.check_used(self.load(model), model, {"x": X})
        # What is damaged is prepared anew, where that is wanted.
        cut(entry / "fast.onnx")
        self.check_used(self.prepare(model), model, {"x": X})
        self.assertEqual(len(self.starts()), 2)

    def test_a_model_that_does_not_fit(self):
        """Entries are never like that; nothing that one has may become an error."""
        model = self.save(PLAIN)
        ports = HEAD + "g (float[N, 3] x, float[3] more) => (float[N, 3] y) { y = Add (x, more) }"
        output = PLAIN.replace("y", "z")
        for name, text, words in (("ports", ports, "an input of the prepared model alone"), ("output", output, "no output"), ("text", "", "")):
            os.environ["FAKE_MODEL"] = str(self.save(text, f"{name}.onnx")) if text else __file__
            self.check_left(self.load(model, options={"prepare": "anew"}), words, model, {"x": X})

    def test_another_machine(self):
        model = self.save(PLAIN)
        self.prepare(model)
        self.rewrite(lambda text: text.replace("\nprocessor ", "\nprocessor avx9000 "))
        self.check_left(self.load(model), "avx9000", model, {"x": X})
        self.entry().rename(self.entry().parent / "0123456789abcdef")
        self.check_left(self.load(model), "for another machine", model, {"x": X})
        # Both have their places.
        self.check_used(self.prepare(model), model, {"x": X})
        self.assertEqual(len(list(self.entries.glob("*/*/manifest"))), 2)

    def test_another_runtime(self):
        model = self.save(PLAIN)
        self.prepare(model)
        self.rewrite(lambda text: text.replace(f"\nruntime {onnxruntime.__version__}", "\nruntime 1.24.0"))
        self.check_left(self.load(model), "runtime 1.24.0", model, {"x": X})


class Optimized(Provider):
    """What `optimize --kernels` left of a model's file, without a session."""

    def leave(self, model, fast, change=lambda text: text):
        """As the command does: an entry by the digest of the file."""
        self.prepare(self.save(OTHER, "any.onnx"))
        digest = hashlib.blake2b(model.read_bytes(), digest_size=32).hexdigest()
        entry = self.entry()
        shutil.copy(fast, entry / "fast.onnx")
        data = hashlib.blake2b(fast.read_bytes(), digest_size=32).hexdigest()
        lines = [f"model {digest}" if line.startswith("model ") else f"{data} fast.onnx" if line.endswith(" fast.onnx") else line
                 for line in (entry / "manifest").read_text().splitlines()[1:]]
        self.rewrite(lambda text: change("\n".join(lines) + "\n"))
        place = self.entries.parent / "timings.sqlite.optimized" / digest
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        entry.rename(place / entry.name)
        shutil.rmtree(self.entries)
        return place / entry.name

    def test_taken(self):
        model, fast = self.save(PLAIN), self.save(PLAIN, "fast.onnx")
        left = self.leave(model, fast)
        self.check_left(self.load(model.read_bytes()), "nothing is prepared", model, {"x": X})
        self.check_used(self.load(model), model, {"x": X})
        shutil.rmtree(left)
        for given in (model, model.read_bytes()):
            self.check_used(self.load(given), model, {"x": X})
        self.assertEqual(len(self.starts()), 1)

    def test_not_taken(self):
        model, fast = self.save(PLAIN), self.save(PLAIN, "fast.onnx")
        for change in (lambda text: text.replace("processor ", "processor avx9000 "), lambda text: text.replace("runtime ", "runtime 9"), lambda text: ""):
            self.leave(model, fast, change)
            self.check_left(self.load(model), "nothing is prepared", model, {"x": X})
        left = self.leave(model, fast)
        shutil.copy(model, left / "fast.onnx")
        (left / "fast.onnx").write_bytes(model.read_bytes()[:-1])
        self.check_left(self.load(model), "nothing is prepared", model, {"x": X})
        # The session has another model than its file.
        self.leave(model, fast)
        options = onnxruntime.SessionOptions()
        options.add_free_dimension_override_by_name("N", 4)
        self.check_left(self.load(model, session_options=options), "nothing is prepared", model, {"x": X})
        self.check_used(self.load(model), model, {"x": X})


class Models(Provider):
    def test_functions(self):
        model = self.save(CALLS + FUNCTION % "Add (v, v)")
        other = self.save(CALLS + FUNCTION % "Neg (v)", "other.onnx")
        self.check_used(self.prepare(model), model, {"x": X})
        self.check_used(self.load(model.read_bytes()), model, {"x": X})
        self.check_left(self.load(other), "nothing is prepared", other, {"x": X})
        # The same, written out.
        plain = self.save(HEAD + "g (float[N, 3] x) => (float[N, 3] y) { a = Add (x, x) y = Relu (a) }", "plain.onnx")
        self.check_used(self.load(plain), plain, {"x": X})
        # Where the runtime must leave them, their computation is unknown.
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.disable_aot_function_inlining", "1")
        left = self.load(model, session_options=options)
        self.check_left(left, "my.f is not ONNX Runtime's own", model, {"x": X})

    def test_a_function_with_an_operators_name(self):
        """To ONNX Runtime, Relu is Relu."""
        text = CALLS + FUNCTION % "Neg (v)" + ' <domain: "", opset_import: ["" : 17]> Relu (v) => (w) { w = Neg (v) }'
        model = self.save(text)
        self.check_used(self.prepare(model), model, {"x": X})
        plain = self.save(CALLS + FUNCTION % "Neg (v)", "plain.onnx")
        self.check_used(self.load(plain), plain, {"x": X})

    def test_control_flow(self):
        model = self.save(BRANCHES)
        for c in (True, False):
            self.check_used(self.prepare(model), model, {"x": X, "c": np.array(c)})
        other = self.save(BRANCHES.replace("{1, 2, 3}", "{1, 2, 4}"), "other.onnx")
        self.check_left(self.load(other), "nothing is prepared", other, {"x": X, "c": np.array(True)})
        other = self.save(BRANCHES.replace("p = Mul (x, w)", "p = Mul (k, w)"), "other.onnx")
        self.check_left(self.load(other), "nothing is prepared", other, {"x": X, "c": np.array(True)})
        loop = self.save(LOOP, "loop.onnx")
        self.check_used(self.prepare(loop), loop, {"x": X[0], "n": np.array(5)})

    def test_external_data(self):
        w = kernel_models.normal(30, 30)
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", 1, ["N", 30])],
                                  [helper.make_tensor_value_info("y", 1, ["N", 30])], [numpy_helper.from_array(w, "w")])
        inside = self.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
        outside, data = self.path / "outside.onnx", self.path / "weights"
        onnx.save(onnx.load(inside), outside, save_as_external_data=True, location=data.name, size_threshold=0)
        feeds = {"x": kernel_models.normal(2, 30)}
        self.check_used(self.prepare(inside), inside, feeds)
        self.check_used(self.load(outside), outside, feeds)
        changed = bytearray(data.read_bytes())
        changed[100] ^= 64
        data.write_bytes(changed)
        self.check_left(self.load(outside), "nothing is prepared", outside, feeds)
        # Prepared from there.
        os.environ["FAKE_MODEL"] = str(self.path / "whole.onnx")
        onnx.save(onnx.load(outside), self.path / "whole.onnx")
        self.check_used(self.prepare(outside), outside, feeds)

    def test_optional_inputs(self):
        for version in (3, 8):
            model = self.save(f'<ir_version: {version}, opset_import: ["" : 17]> g (float[N, 3] x, float[3] w) => (float[N, 3] y) '
                              f"<float[3] w = {{1, 2, {version}}}> {{ y = Add (x, w) }}")
            loaded = self.prepare(model)
            self.check_used(loaded, model, {"x": X})
            if version > 3:  # before, weights that are inputs can't be given
                self.check_used(loaded, model, {"x": X, "w": X[0]})

    def test_sizes(self):
        model = self.save(PLAIN)
        loaded = self.prepare(model)
        for rows in (1, 0, 7, 100):
            self.check_used(loaded, model, {"x": kernel_models.normal(rows, 3)})
        # A size that the model declares wrongly, which ONNX Runtime takes with a warning.
        wrong = self.save(HEAD + "g (float[N, 3] x, int64[1] s) => (float[2, 3] y) { y = Reshape (x, s) }", "wrong.onnx")
        self.check_used(self.prepare(wrong), wrong, {"x": X, "s": np.array([-1])})

    def test_what_is_left_to_others(self):
        for name, text, feeds, words in (
                ("strings", "g (string[N] x) => (string[N] y) { y = Identity (x) }", {"x": np.array(["a", "b"], object)}, "no tensor of numbers"),
                ("unused", "g (float[N, 3] x, float[2] u) => (float[N, 3] y) { y = Relu (x) }", {"x": X, "u": X[0, :2]}, "alone")):
            model = self.save(HEAD + text, f"{name}.onnx")
            self.check_left(self.prepare(model), words, model, feeds)
        passed = self.save(HEAD + "g (float[N, 3] x) => (float[N, 3] y, float[N, 3] x) { y = Relu (x) }", "passed.onnx")
        self.check_used(self.prepare(passed), passed, {"x": X})

    def test_errors_are_the_runtimes(self):
        model = self.save(PLAIN)
        loaded = self.prepare(model)
        with self.assertRaises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument):
            loaded.run({"x": X.astype(np.float64)})
        with self.assertRaises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidProtobuf):
            self.load(b"no model")
        gather = self.save(HEAD + "g (float[N, 3] x, int64[M] i) => (float[M, 3] y) { y = Gather <axis = 0> (x, i) }", "gather.onnx")
        loaded = self.prepare(gather)
        feeds, kinds = {"x": X, "i": np.array([9])}, []
        for run in (lambda: without(gather, feeds), lambda: loaded.run(feeds)):
            with self.assertRaisesRegex(Exception, "out of data bounds") as raised:
                run()
            kinds.append(type(raised.exception))
        self.assertIs(*kinds)
        self.assertIn(provider.NAME, loaded.session.get_providers())  # Python's fallback for faults of a provider is not for this
        self.check_used(loaded, gather, {"x": X, "i": np.array([1])})


class Prepare(Provider):
    def test_what_is_started(self):
        model = self.save(PLAIN)
        self.prepare(model, budget="7s", arguments="--threads 1 --shape N=4")
        (words,) = self.starts()
        self.assertIn(f"optimize {model} -o", words)
        for word in ("--kernels", "--require-gain", "--budget=7s", "--threads 1 --shape N=4"):
            self.assertIn(word, words)

    def test_words(self):
        model = self.save(PLAIN)
        self.check_left(self.load(model, options={"prepare": "sometimes"}), "'sometimes'", model, {"x": X})
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("ep.isomerexecutionprovider.prepare", "on_first_load")
        self.check_used(self.load(model, session_options=options), model, {"x": X})

    def test_in_background(self):
        os.environ["FAKE_SECONDS"] = "2"
        model, background = self.save(PLAIN), {"prepare": "in_background"}
        begin = time.monotonic()
        for _ in range(3):
            self.check_left(self.load(model, options=background), "in the background", model, {"x": X})
        self.assertLess(time.monotonic() - begin, 2)
        while not list(self.entries.glob("*/*.work/status")):
            self.assertLess(time.monotonic() - begin, 60)
            time.sleep(0.1)
        time.sleep(0.2)
        self.check_used(self.load(model), model, {"x": X})
        self.assertEqual(len(self.starts()), 1)

    def test_nothing_is_faster(self):
        os.environ |= {"FAKE_CODE": "4", "FAKE_SAYS": "a warning\nisomer: no gain: as fast\n    as it was"}
        model = self.save(PLAIN)
        for _ in range(2):
            self.check_left(self.prepare(model), "found: as fast as it was", model, {"x": X})
        self.assertEqual(len(self.starts()), 1)
        os.environ["FAKE_CODE"] = "0"
        self.check_used(self.load(model, options={"prepare": "anew"}), model, {"x": X})

    def test_it_fails(self):
        model = self.save(PLAIN)
        for variables, words in (({"FAKE_CODE": "2", "FAKE_SAYS": "error: no such option"}, "no such option"), ({"FAKE_CODE": "killed"}, "can't be prepared"),
                                 ({"ISOMER": "/nonexistent/isomer"}, "can't be prepared")):
            kept = dict(os.environ)
            os.environ |= variables
            self.check_left(self.prepare(model), words, model, {"x": X})
            self.assertEqual([p.name for p in self.entries.glob("*/*") if p.suffix != ".lock"], [])
            os.environ.clear()
            os.environ.update(kept)
        self.check_used(self.prepare(model), model, {"x": X})

    def test_what_it_reads_must_be_what_is_loaded(self):
        model = self.save(PLAIN)
        self.check_left(self.prepare(model.read_bytes()), "isomer.prepare", model, {"x": X})
        options = onnxruntime.SessionOptions()
        options.add_free_dimension_override_by_name("N", 4)
        self.check_left(self.load(model, options={"prepare": "on_first_load"}, session_options=options), "options of the session", model, {"x": X})
        self.assertEqual(self.starts(), [])
        os.environ["FAKE_SECONDS"] = "1"
        self.load(model, options={"prepare": "in_background"})
        model.write_bytes(model.read_bytes())
        while not list(self.entries.glob("*/*.work/status")):
            time.sleep(0.1)
        time.sleep(0.2)
        self.check_left(self.load(model), "was written to", model, {"x": X})

    def test_levels(self):
        model = self.save(PLAIN)
        for level in (onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC):
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = level
            self.check_used(self.load(model, options={"prepare": "on_first_load"}, session_options=options), model, {"x": X})

    def test_two_processes_prepare_once(self):
        os.environ["FAKE_SECONDS"] = "1"
        model = self.save(PLAIN)
        program = f"""
import sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import _paths, provider
provider.register({str(provider.LIBRARY)!r})
assert provider.Loaded({str(model)!r}, sys.argv[1], {{"prepare": "on_first_load"}}).is_claimed
"""
        folders = [self.path / str(k) for k in range(4)]
        for folder in folders:
            folder.mkdir()
        running = [subprocess.Popen([sys.executable, "-c", program, str(folder)]) for folder in folders]
        self.assertEqual([process.wait(60) for process in running], [0] * len(running))
        self.assertEqual(len(self.starts()), 1)

    def test_killed_while_an_entry_is_written(self):
        """By kill -9, at moments all over its writing: afterwards there is an entry or none, and never another answer."""
        w = kernel_models.normal(1000, 5000)
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", 1, ["N", 1000])],
                                  [helper.make_tensor_value_info("y", 1, ["N", 5000])], [numpy_helper.from_array(w, "w")])
        model = self.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
        feeds = {"x": kernel_models.normal(1, 1000)}
        program = f"""
import sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import _paths, provider
provider.register({str(provider.LIBRARY)!r})
print("ready", flush=True)
provider.Loaded({str(model)!r}, {str(self.path)!r}, {{"prepare": "anew"}})
"""
        seen = set()
        for milliseconds in (60, 90, 120, 150, 180, 210, 240, 300, 400):
            process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
            process.stdout.readline()
            time.sleep(milliseconds / 1000)
            process.kill()
            process.wait()
            process.stdout.close()
            time.sleep(0.1)  # the program that it started ends, too
            loaded = self.load(model)
            seen.add(loaded.is_claimed)
            self.check_outputs(loaded, model, feeds)
        print("killed: with an entry and without one" if len(seen) == 2 else f"killed: always {seen}")
        self.check_used(self.prepare(model), model, feeds)


class Real(Provider):
    """With the program itself, and a C++ compiler."""

    def test_kernels(self):
        if not modules.has_compiler():
            self.skipTest("there is no C++ compiler")
        os.environ["ISOMER"] = ISOMER
        model = self.save(kernel_models.chain("rows"))
        first = self.prepare(model, budget="20s", arguments="--shape rows=64 --threads 1")
        self.assertEqual(first.reason, "")
        self.assertTrue(list(self.entry().glob("*.so")))
        self.assertFalse((self.entries.parent / "timings.sqlite.optimized").exists())
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        for loaded in (first, self.load(model, session_options=options), self.load(model.read_bytes())):
            self.assertTrue(loaded.is_claimed)
            for rows in (64, 1, 100):
                feeds = {"x": kernel_models.normal(rows, 24)}
                for expected, got in zip(without(model, feeds), loaded.run(feeds), strict=True):
                    self.assertLessEqual(modules.distance(expected, got), kernel_models.TOLERANCE)
        # Where no session has prepared it, and what optimize wrote is found.
        shutil.rmtree(self.entries)
        data = self.save(onnx.load(model), "copy/model.onnx")
        command = [ISOMER, "optimize", str(model), "-o", str(self.path / "faster.onnx"), "--kernels", "--budget", "20s", "--shape", "rows=64"]
        for expected in (False, True):
            loaded = self.load(data)
            self.assertEqual(loaded.is_claimed, expected, loaded.reason)
            if not expected:
                subprocess.run(command, check=True, capture_output=True)
        self.assertTrue(self.load(model.read_bytes()).is_claimed)
        shutil.rmtree(self.entries.parent / "timings.sqlite.optimized")
        library = next(self.entry().glob("*.so"))
        data = library.read_bytes()
        library.unlink()  # sessions run what is mapped
        library.write_bytes(data[:-1])
        self.check_left(self.load(model), "damaged", model, {"x": kernel_models.normal(64, 24)})


if __name__ == "__main__":
    if provider.why_not():
        print(f"skipped: {provider.why_not()}")
        sys.exit(programs.SKIPPED)
    ISOMER = programs.program("isomer")
    provider.register()
    unittest.main()
