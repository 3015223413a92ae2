#!/usr/bin/env python3
# nightly: | timeout=1800
"""TASO's 133 substitutions and 44 axioms (tests/evidence/rules), decided by `isomer rules prove` for all sizes; prints the figures.

  tests/evidence/taso.py [--seconds 10]   exit 1 if a verdict isn't what the rule's text expects, or the substitutions take longer
"""
import argparse
import json
import pathlib
import sys

import _paths  # noqa: F401
import programs

RULES = pathlib.Path(__file__).resolve().parent / "rules"


def decide(name):
    ran = programs.run([programs.program("isomer"), "rules", "prove", str(RULES / name), "--json"], timeout=1500)
    if ran.code not in (0, 1, 3):
        sys.exit(f"{name}: exit {ran.code}: {ran.stderr}")
    return json.loads(ran.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, help="most that the substitutions may take")
    arguments = parser.parse_args()
    rows, failed, seconds = [], [], 0.0
    for title, name in (("substitutions", "taso.rules"), ("axioms", "taso_axioms.rules")):
        report = decide(name)
        rules = report["rules"]
        failed += [f"{r['name']}: {r['verdict']} {r['requires'] or ''} {r['why']}" for r in rules if r["as_expected"] is not True]
        # A precondition without a counterexample, or a refutation without one, would be no more than a failure to prove.
        failed += [f"{r['name']}: no counterexample" for r in rules if r["verdict"] in ("conditional", "refuted") and not r["counterexample"]]
        if name == "taso.rules":
            seconds = report["ms"] / 1000
        rows.append([title, len(rules), sum(r["instances"] for r in rules), report["proved"], report["conditional"], report["refuted"],
                     report["undecided"], round(report["ms"] / 1000, 1)])
        for r in rules:
            if r["verdict"] == "conditional":
                print(f"{r['name']} requires {'; or '.join(' and '.join(c) for c in r['requires'])}")
            elif r["verdict"] != "proved":
                print(f"{r['name']} {r['verdict']} {r['why']}")
    programs.print_table(["", "rules", "instances", "proved for all sizes", "under a precondition", "refuted", "undecided", "seconds"], rows)
    print("\n".join(f"NOT as expected: {f}" for f in failed) or "all as expected")
    late = arguments.seconds is not None and seconds > arguments.seconds
    if late:
        print(f"the substitutions took {seconds:.1f} s, more than {arguments.seconds}")
    return 1 if failed or late else 0


if __name__ == "__main__":
    sys.exit(main())
