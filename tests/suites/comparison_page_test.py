"""The page about other tools lists losses, failures and false proofs as it lists wins."""
import unittest

import _paths  # noqa: F401
import tell_comparison


def measured(model, tool, ratio, **more):
    row = {"model": model, "tool": tool, "seconds": 2.0, "peak_bytes": 5_000_000, "time": {"ratio": ratio, "low": ratio - 0.01, "high": ratio + 0.01}}
    return row | ({"accepted": True} if tool == "isomer" else {"equal": {"verdict": "proved"}}) | more


ROWS = [
    measured("a", "isomer", 1.5), measured("a", "onnxsim", 0.8, equal={"verdict": "refuted"}, certify={"proved": 1, "outputs": 2, "words": ["skipped"]}),
    {"model": "b", "tool": "isomer", "accepted": True, "seconds": 3.0, "peak_bytes": 1, "result": "unchanged"}, measured("b", "onnxsim", 1.3),
    {"model": "b", "tool": "onnxslim", "failure": "a | b", "seconds": 1.0, "peak_bytes": 1}, measured("a", "onnxslim", 1.49, equal={"verdict": "undecided"}),
    {"model": "a", "tool": "faults", "faults": 3, "isomer": {"refuted": 3}, "certify": {"proved": 1, "undecided": 2}, "false": [["certify", "w"]]},
]


class Page(unittest.TestCase):
    def setUp(self):
        self.lines = list(tell_comparison.page(ROWS))

    def row(self, start):
        return next(line for line in self.lines if line.startswith(start))

    def section(self, title):
        begin = next(k for k, line in enumerate(self.lines) if line.startswith(f"## {title}"))
        end = next((k for k in range(begin + 1, len(self.lines)) if self.lines[k].startswith("## ")), len(self.lines))
        return self.lines[begin:end]

    def test_each_tool_has_its_losses_counted(self):
        self.assertEqual(self.row("| isomer |"), "| isomer | 2 | 0 | 1 | 0 | 1.225 | 1.50 | 1.00 | 2.5 | 5 | 2 | 0 | 0 |")
        self.assertEqual(self.row("| onnxsim |"), "| onnxsim | 2 | 0 | 1 | 1 | 1.020 | 1.30 | 0.80 | 2.0 | 5 | 1 | 1 | 0 |")
        self.assertEqual(self.row("| OnnxSlim |"), "| OnnxSlim | 2 | 1 | 1 | 0 | 1.490 | 1.49 | 1.49 | 2.0 | 5 | 0 | 0 | 1 |")

    def test_only_sure_differences_are_wins_or_losses(self):
        lost, won = self.section("Where another tool is faster"), self.section("Where isomer is faster")
        self.assertIn("| b | onnxsim | 1.00 [1.00, 1.00] | 1.30 [1.29, 1.31] |", lost)
        self.assertTrue(lost[0].endswith(": 1") and won[0].endswith(": 1"), (lost, won))
        self.assertIn("| a | onnxsim | 1.50 [1.49, 1.51] | 0.80 [0.79, 0.81] |", won)

    def test_failures_and_false_proofs_are_told(self):
        self.assertIn("| OnnxSlim | b | a / b |", self.section("Failures"))
        faults = self.section("Planted faults")
        self.assertIn("| `isomer prove` | 3 refuted | 0 |", faults)
        self.assertIn("| onnxsim's `certify` | 1 proved, 2 undecided | 1 |", faults)
        self.assertTrue(any("proves 1 of 2 outputs" in line for line in self.lines))


if __name__ == "__main__":
    unittest.main()
