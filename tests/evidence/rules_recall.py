#!/usr/bin/env python3
# ci: --least 125
"""How many of TASO's 133 substitutions (tests/evidence/rules/taso.rules) follow from the generated pack in at most 3 steps, one by one.

  tests/evidence/rules_recall.py [--pack rules/generated.rules] [--steps 3] [--least N]   exit 1 if fewer than N follow in all instances
A false substitution counts by the instances that satisfy its precondition. The generator never reads TASO's file.
"""
import argparse
import json
import pathlib
import re
import sys

import _paths  # noqa: F401
import programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
TASO = ROOT / "tests" / "evidence" / "rules" / "taso.rules"


def ask(*arguments):
    ran = programs.run([programs.program("isomer"), "rules", *arguments, "--json"], timeout=1500)
    if ran.code not in (0, 3):
        sys.exit(f"{' '.join(arguments)}: exit {ran.code}: {ran.stderr}")
    return json.loads(ran.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pack", type=pathlib.Path, default=ROOT / "rules" / "generated.rules")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--least", type=int, default=0)
    arguments = parser.parse_args()
    says = {r["name"]: re.sub(r"; .*", "", r["says"]) for r in ask("list", str(arguments.pack))["rules"]}
    rows, all_of, some_of = [], 0, 0
    report = ask("derive", str(TASO), "--from", str(arguments.pack), "--steps", str(arguments.steps))
    for rule in report["rules"]:
        every, some = rule["derived"], rule["derived_instances"] > 0
        all_of, some_of = all_of + every, some_of + some
        how = " ; ".join(says[name] for name in rule["steps"]) if some else "-"
        rows.append([rule["name"], f"{rule['derived_instances']}/{rule['instances']}", len(rule["steps"]) if some else "", how])
    programs.print_table(["rule", "instances", "steps", "by"], rows)
    print(f"{all_of} of {len(rows)} follow in all instances in at most {arguments.steps} steps, {some_of - all_of} more in some; "
          f"{len(says)} rules in the pack")
    return 1 if all_of < arguments.least else 0


if __name__ == "__main__":
    sys.exit(main())
