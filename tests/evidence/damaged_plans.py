#!/usr/bin/env python3
"""Damaged files of a store of plans, and plans forged under right names, by the thousand: no wrong model, no crash.

  tests/evidence/damaged_plans.py [--cases N] [--part N] [--folder DIR] [--results FILE.jsonl [--again]]
Runs the two tests of isomer_optimizer_search_test in parts, each with a seed of its own; with --folder what is done stays done, and the same command goes on.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import _paths  # noqa: F401
import programs
from records import Records

TESTS = ("ThatAreDamagedDoNoHarm", "ThatAreForgedDoNoHarm")


def run_part(seed, cases, report):
    """One part; what gtest says of each test is written to `report`, unless the process ended otherwise. What it said, if it failed."""
    env = os.environ | {"ISOMER_DAMAGED_PLANS": str(cases), "ISOMER_DAMAGED_SEED": str(seed)}
    names = ":".join(f"Plans.{t}" for t in TESTS)
    ran = subprocess.run([programs.program("isomer_optimizer_search_test"), f"--gtest_filter={names}", f"--gtest_output=json:{report}.part"], env=env,
                         capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        return f"exit {ran.returncode}: {ran.stdout[-1000:]}{ran.stderr[-1000:]}"
    os.rename(f"{report}.part", report)
    return ran.stdout[-1000:] if ran.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10000, help="half of them damaged, half forged")
    parser.add_argument("--part", type=int, default=500, help="cases of one process")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--again", action="store_true", help="told beside what is there, as a run of a later build")
    options = parser.parse_args()
    what = "damaged_again" if options.again else "damaged"
    total = {"what": what, "models": 0, "damaged": 0, "forged": 0, "found": 0, "refused": 0, "wrong": 0, "crashes": 0}
    with tempfile.TemporaryDirectory(prefix="isomer_damaged_") as place:
        folder = options.folder or pathlib.Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        for seed in range(-(-options.cases // options.part)):
            report = folder / f"{seed}.{options.part}.json"
            if not report.exists():
                if said := run_part(seed, options.part, report):
                    print(f"seed {seed}: {said}")
            if not report.exists():
                total["crashes"] += 1
                continue
            for test in (t for suite in json.loads(report.read_text(encoding="utf-8"))["testsuites"] for t in suite["testsuite"]):
                total["damaged" if test["name"] == TESTS[0] else "forged"] += options.part // 2
                total["wrong"] += bool(test.get("failures"))
                total["found"] += int(test.get("found", 0))
                total["refused"] += int(test.get("refused", 0))
    print(total)
    if options.results:
        Records(options.results, "what", "models").add(total)
    sys.exit(1 if total["wrong"] or total["crashes"] else 0)


if __name__ == "__main__":
    main()
