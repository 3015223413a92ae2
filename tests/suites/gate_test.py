"""isomer gate: what passes, what fails, what is not sure; on a real runtime, without any absolute time."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import onnx

import _paths  # noqa: F401
import programs

isomer = programs.program("isomer")
os.environ["VIRTUAL_ENV"] = sys.prefix
CODES = {"passes": 0, "fails": 1, "unsure": 3}


def layers(count, factor=1.0):
    """`count` equal layers; a factor for one of its constants."""
    lines = " ".join(f"p{k} = Mul({'x' if k == 0 else f'v{k - 1}'}, c) v{k} = Erf(p{k})" for k in range(count))
    return onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
      g (float[1, 20000] x) => (float[1, 20000] v{count - 1}) <float c = {{ {factor} }}> {{ {lines} }}""")


class Gate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="isomer_gate_")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def save(self, made, name):
        onnx.save(made, self.path / name)
        return str(self.path / name)

    def gate(self, *arguments, code):
        """The answer; None for `code`: the one that belongs to its verdict."""
        ran = subprocess.run([isomer, "gate", *arguments, "--quiet", "--json"], capture_output=True, text=True, check=False)
        answer = json.loads(ran.stdout)
        wanted = CODES[answer["verdict"]] if code is None else code
        self.assertEqual(ran.returncode, wanted, f"{arguments}: {ran.stdout}{ran.stderr}")
        return answer

    def test_a_model_that_takes_four_times_as_long_fails(self):
        base, slow = self.save(layers(1), "base.onnx"), self.save(layers(4), "slow.onnx")
        page = self.path / "gate.md"
        answer = self.gate(base, slow, "--seconds", "60", "--markdown", str(page), code=1)
        self.assertEqual((answer["verdict"], answer["speed"]["verdict"], answer["equality"]), ("fails", "fails", None))
        self.assertLess(answer["speed"]["high"], answer["min_ratio"])
        self.assertIn("❌", page.read_text(encoding="utf-8"))
        self.assertIn("slower", answer["line"])

    def test_a_faster_one_passes_and_the_line_is_one(self):
        base, fast = self.save(layers(4), "base.onnx"), self.save(layers(1), "fast.onnx")
        ran = subprocess.run([isomer, "gate", base, fast, "--seconds", "60", "--quiet"], capture_output=True, text=True, check=False)
        self.assertEqual((ran.returncode, ran.stdout.count("\n")), (0, 1), ran.stdout + ran.stderr)
        self.assertTrue(ran.stdout.startswith("passes: "), ran.stdout)

    def test_a_changed_weight_fails_and_the_same_model_is_equal(self):
        base, other = self.save(layers(2), "base.onnx"), self.save(layers(2, 1.01), "other.onnx")
        answer = self.gate(base, other, "--equal", "--min-ratio", "0.2", "--seconds", "30", code=1)
        self.assertEqual((answer["speed"]["verdict"], answer["equality"]["verdict"]), ("passes", "fails"))
        answer = self.gate(base, base, "--equal", "--min-ratio", "0.2", "--seconds", "30", code=0)
        self.assertEqual(answer["equality"]["proof"], "proved")

    def test_what_cannot_be_decided_is_said_to_be_unsure(self):
        # A model is as fast as itself. One interval in twenty misses that.
        base = self.save(layers(1), "base.onnx")
        tries = [self.gate(base, base, "--min-ratio", "1", "--seconds", "2", code=None) for _ in range(4)]
        for answer in tries:
            expected = "passes" if answer["speed"]["low"] > 1 else "fails" if answer["speed"]["high"] < 1 else "unsure"
            self.assertEqual(answer["verdict"], expected)
        self.assertIn("unsure", [answer["verdict"] for answer in tries])

    def test_one_model_on_two_libraries(self):
        import onnxruntime
        library = next((pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so*"))
        base = self.save(layers(2), "base.onnx")
        answer = self.gate(base, "--runtime-library", str(library), "--runtime-library", str(library), "--min-ratio", "0.2", "--seconds", "30",
                           "--equal", code=0)
        self.assertEqual(answer["base"]["runtime"], answer["new"]["runtime"])
        self.assertIs(answer["equality"]["outputs_differ"], False)

    def test_a_model_that_does_not_run_fails_and_a_base_that_does_not_is_bad_input(self):
        base, broken = self.save(layers(1), "base.onnx"), layers(1)
        broken.graph.node[0].op_type, broken.graph.node[0].domain = "NoSuchOperator", "com.example"
        broken.opset_import.append(onnx.helper.make_opsetid("com.example", 1))
        broken = self.save(broken, "broken.onnx")
        answer = self.gate(base, broken, "--seconds", "2", code=1)
        self.assertIn("failure", answer["speed"])
        self.assertIn("error", self.gate(broken, base, "--seconds", "2", code=2))
        self.assertIn("error", self.gate(base, code=2))  # one model, and no second library


if __name__ == "__main__":
    unittest.main()
