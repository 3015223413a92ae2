"""What commands print fits into the terminal, and the result of `optimize` is read at a glance: ten lines at most, the answer first, the next step last."""
import os
import pathlib
import sys
import tempfile
import unittest

import onnx

import _paths  # noqa: F401
import page_models
import programs
import terminal

isomer = programs.program("isomer")
os.environ["VIRTUAL_ENV"] = sys.prefix
WIDTHS = (80, 120)
MOST_LINES = 10


class Terminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="isomer_terminal_")
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        onnx.save(page_models.doubled(64), cls.path / "two.onnx")
        onnx.save(page_models.chain("rows"), cls.path / "chain.onnx")

    def run_at(self, columns, *words, code=0):
        shown = terminal.run([isomer, *words], columns, self.path, dict(os.environ, ISOMER_CACHE="none"))
        self.assertEqual(shown.code, code, shown.text)
        for line in [*shown.lines(), *shown.progress]:
            self.assertLessEqual(len(line), columns, f"{words}: {line}")
        return shown

    def test_every_line_fits(self):
        for columns in WIDTHS:
            self.run_at(columns, "simplify", "two.onnx", "-o", "simple.onnx")
            for words in (["inspect", "chain.onnx"], ["prove", "two.onnx", "simple.onnx"], ["compare", "two.onnx", "simple.onnx"],
                          ["bench", "two.onnx", "simple.onnx", "--seconds", "0.5"], ["check", "two.onnx", "simple.onnx", "simple.onnx.cert"],
                          ["explain", "simple.onnx.cert"], ["scan", ".", "--no-estimate"], ["cache"], ["run", "--help"], ["optimize", "--help"]):
                self.run_at(columns, *words)
            self.run_at(columns, "prove", "two.onnx", "chain.onnx", code=3)

    def test_optimize_says_the_answer_first_and_the_next_step_last(self):
        for columns in WIDTHS:
            shown = self.run_at(columns, "optimize", "two.onnx", "-o", "out.onnx", "--budget", "20s")
            lines = shown.lines()
            self.assertLessEqual(len(lines), MOST_LINES, shown.text)
            self.assertRegex(lines[0], r"^out\.onnx: .*(proved equal|unchanged)")
            self.assertRegex(lines[-1], "next, ")
            self.assertTrue(any("s left" in line for line in shown.progress), shown.progress)

    def test_verbose_has_more(self):
        few = self.run_at(80, "optimize", "two.onnx", "-o", "few.onnx", "--judge", "cost").lines()
        many = self.run_at(80, "optimize", "two.onnx", "-o", "many.onnx", "--judge", "cost", "-v").lines()
        self.assertGreater(len(many), len(few))


if __name__ == "__main__":
    unittest.main()
