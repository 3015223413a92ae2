"""What the scripts measure of a program is the program's own."""
import sys
import unittest

import _paths  # noqa: F401
import programs


class Run(unittest.TestCase):
    def test_the_peak_is_not_that_of_this_process(self):
        held = bytearray(300 << 20)
        self.assertLess(programs.run(["true"]).peak_bytes, 100 << 20)
        child = programs.run([sys.executable, "-c", "bytearray(200 << 20)"])
        self.assertGreater(child.peak_bytes, 200 << 20)
        self.assertLess(child.peak_bytes, len(held))

    def test_how_it_ended_is_told(self):
        done = programs.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
        self.assertEqual((done.code, done.stdout, done.stderr), (3, "out\n", "err\n"))
        self.assertEqual(programs.run(["sh", "-c", "kill -TERM $$"]).code, -15)
        self.assertEqual(programs.run(["/no/such/program"]).code, 127)

    def test_one_that_takes_too_long_is_killed(self):
        self.assertEqual(programs.run(["sleep", "60"], timeout=0.2).code, -9)


if __name__ == "__main__":
    unittest.main()
