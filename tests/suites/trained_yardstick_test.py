"""How runs of trained models are judged and reported, on made-up runs: needs neither models nor the command."""
import pathlib
import tempfile
import types
import unittest

import onnx

import _paths  # noqa: F401
import small_models
import tell_packages
import tell_trained
import trained_prove
import trained_right
import trained_runs
import trained_speed
from trained import pairs


def provenance(head):
    return head["command"]


class Refusals(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model = types.SimpleNamespace(name="p/m", path=pathlib.Path(folder.name) / "m.onnx")
        onnx.save(small_models.clutter(), self.model.path)

    def judge(self, code, message):
        return trained_runs.judge_ending(self.model, {"exit": code, "message": message})

    def test_a_clear_refusal_names_a_place_and_what_to_type(self):
        self.assertIsNone(self.judge(0, ""))
        self.assertEqual("refused", self.judge(2, "input 'x' has an open size: pass --shape x=2x3x4")[0])
        self.assertEqual("refused", self.judge(3, "value shape is not known; isomer inspect shows it")[0])

    def test_anything_else_is_a_failure(self):
        for code, message in ((2, "something is wrong: pass --shape y=1"), (2, "input 'x' is open"), (2, "x --shape " + "a" * 999), (70, "x --shape"),
                              (-11, "x --shape"), (None, "x --shape")):
            self.assertEqual("failed", self.judge(code, message)[0], (code, message[:40]))

    def test_errors_may_grow_by_the_rule(self):
        self.assertTrue(trained_right.keeps_error(1e-6, 2e-6, 0.5, 0))
        self.assertFalse(trained_right.keeps_error(1e-6, 3e-6, 1e-9, 1))
        self.assertTrue(trained_right.keeps_error(None, None, 5e-4, 0))
        self.assertTrue(trained_right.keeps_error(None, None, 5e-3, 4e-3))
        self.assertFalse(trained_right.keeps_error(None, None, 5e-3, 1e-3))

    def test_an_answer_that_the_runtime_changes_as_much_is_no_fault(self):
        self.assertTrue(trained_runs.is_sensitive({"apart": 6e-3, "own_apart": 6e-3}))
        self.assertFalse(trained_runs.is_sensitive({"apart": 6e-3, "own_apart": 1e-3}))
        self.assertFalse(trained_runs.is_sensitive({}))

    def test_no_folder_is_recorded(self):
        text = trained_runs.without_folders(f"{trained_runs.programs.ROOT}/.deps/m.onnx -o /somewhere/out.onnx", pathlib.Path("/somewhere"))
        self.assertEqual(".deps/m.onnx -o OUT/out.onnx", text)


class Pairs(unittest.TestCase):
    def fault(self, expected, verdict, why="why", **more):
        return trained_prove.fault(pairs.Pair("a", "b", expected), {"verdict": verdict, "why": why} | more)

    def test_false_answers_are_faults(self):
        self.assertIsNone(self.fault("equal", "proved"))
        self.assertIsNone(self.fault("equal", "undecided"))
        self.assertIsNone(self.fault("near", "refuted"))
        self.assertIsNone(self.fault("different", "refuted", seen=0.1))
        for verdicts in (("equal", "refuted"), ("different", "proved"), ("near", "failed")):
            self.assertTrue(self.fault(*verdicts), verdicts)
        self.assertTrue(self.fault("equal", "undecided", why=""))
        self.assertTrue(self.fault("different", "refuted", seen=0.0))

    def test_the_strongest_answer_is_shown(self):
        def answer(verdict, at):
            return {"first": "a", "second": "b", "verdict": verdict, "at": at}
        for choose in (trained_prove.best, tell_trained.strongest):
            self.assertEqual("all sizes", choose([answer("proved", "one size"), answer("proved", "all sizes")])[0]["at"])
            self.assertEqual("proved", choose([answer("undecided", "all sizes"), answer("proved", "one size")])[0]["verdict"])
            self.assertEqual("one size", choose([answer("undecided", "all sizes"), answer("undecided", "one size")])[0]["at"])


def measured(ms, **ways):
    """A row of bench/trained_speed.py: ratio and lower bound by way."""
    return {"model": "rapidocr/rec6", "package": "rapidocr", "file": "rapidocr__models__PP-OCRv6_rec_small.onnx", "task": "read text",
            "options": ["--shape", "x=1x3x48x320"], "feeds": "rapidocr.rec6.usual.npz", "needs_feeds": False,
            "operators": [["Conv", 0.7], ["LSTM", 0.2]], "bytes": {"raw": 1e6} | dict.fromkeys(ways, 2e6),
            "made": {way: {"class": "improved", "words": "w", "seconds": 1.0, "answers": [{"size": "usual", "same": True}, {"size": "large"}]} for way in ways},
            "ways": {"raw": {"ms": ms, "load_ms": 1.0}} | {
                way: {"ratio": ratio, "low": low, "high": ratio, "load_ms": 1.0} for way, (ratio, low) in ways.items()}}


class Speed(unittest.TestCase):
    def test_intervals_hold_the_median(self):
        found = trained_speed.interval([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 9.0])
        self.assertLess(found["low"], found["ratio"])
        self.assertLess(found["ratio"], found["high"])
        self.assertEqual(1.4, found["ratio"])

    def test_only_a_sure_gain_is_one(self):
        self.assertEqual("kernels", tell_trained.best_way(measured(10, graph=(1.1, 1.05), kernels=(2.0, 1.9))))
        self.assertEqual("graph", tell_trained.best_way(measured(10, graph=(1.1, 1.05), kernels=(2.0, 0.9))))
        self.assertIsNone(tell_trained.best_way(measured(10, kernels=(1.1, 0.99))))

    def test_the_page_of_packages_says_the_gain_and_how_to_repeat_it(self):
        page = "\n".join(tell_packages.page(({"command": "c"}, [measured(10, kernels=(2.0, 1.9))]), provenance, ""))
        self.assertIn("`pip install rapidocr==3.10.0` | 1 of 3 | 10.00 | 5.00 | **2.00×** | same text |", page)
        self.assertIn("isomer compile .deps/trained/rapidocr/rapidocr__models__PP-OCRv6_rec_small.onnx -o fast --as custom-op --shape x=1x3x48x320", page)
        self.assertIn("it takes the usual size", page)
        self.assertIn("fast/model.onnx rapidocr/rec6 --library fast/libmodel.so --sizes 0\n", page)

    def test_a_model_that_needs_a_value_is_repeated_with_feeds(self):
        row = measured(10, graph=(2.0, 1.9)) | {"needs_feeds": True}
        page = "\n".join(tell_packages.page(({"command": "c"}, [row]), provenance, ""))
        self.assertIn("bench/trained_answers.py rapidocr/rec6 --write-feeds feeds\n", page)
        self.assertIn("-o fast.onnx --budget 60s --shape x=1x3x48x320 --feeds feeds/rapidocr.rec6.usual.npz", page)

    def test_the_page_of_models_says_where_time_goes_without_a_gain(self):
        page = "\n".join(tell_trained.page(None, ({"command": "c"}, [measured(10)]), None, provenance, ""))
        self.assertIn("Conv 70%, LSTM 20% | faster convolutions at these sizes", page)


unittest.main()
