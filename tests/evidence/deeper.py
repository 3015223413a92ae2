#!/usr/bin/env python3
# ci: | timeout=900
"""The checks of ../shared/attack/deeper: false proofs, crashes and wrong rejections that were found once, each with honest controls.

  tests/evidence/deeper.py
Runs run_all.py there on the build under test, and prints the cases that are wrong. Exit 1 if there is one; 77 without ../shared.
"""
import subprocess
import sys

import _paths  # noqa: F401
import programs


def main():
    script = programs.shared("attack/deeper/run_all.py")
    return subprocess.run([sys.executable, "-B", str(script), "-v", programs.program("isomer")], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
