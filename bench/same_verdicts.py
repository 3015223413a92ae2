#!/usr/bin/env python3
"""Which proofs does a build lose or gain? Two files of records of bench/prove_pairs.py, prove_tools.py or prove_own.py are compared.

  bench/same_verdicts.py BEFORE.jsonl AFTER.jsonl [--lost N]
Counts the verdicts of both builds, over the pairs of both, and lists each that changed. Exit 1 if more than N are no longer proved (default: 0).
"""
import argparse
import collections
import pathlib
import sys

import _paths  # noqa: F401
import programs
from records import Records

KEYS = ("name", "model", "tool", "pair")


def read(path):
    """Records by what they are about; those of own results count in both orders."""
    fields = [k for k in KEYS if any(f'"{k}":' in line for line in path.read_text(encoding="utf-8").splitlines() if '"head"' not in line)]
    found = {}
    for key, record in Records(path, *fields).all.items():
        found[" ".join(key)] = (record["verdict"], record.get("why", ""))
        if "back" in record:
            found[" ".join(key) + ", the other way round"] = (record["back"], record["back_why"])
            found[" ".join(key) + ", with its certificate"] = (record["with_certificate"], "")
            found[" ".join(key) + ", checked"] = ("proved" if record["check"] == 0 else "rejected", "")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--lost", type=int, default=0)
    given = parser.parse_args()
    before, after = read(given.before), read(given.after)
    both = [k for k in before if k in after]
    if not both:
        sys.exit("nothing was asked of both")
    counts = [collections.Counter(found[k][0] for k in both) for found in (before, after)]
    programs.print_table(("verdict", "before", "after"), [(v, counts[0][v], counts[1][v]) for v in sorted(counts[0] | counts[1])])
    changed = [(k, before[k][0], after[k][0], (after[k][1] or before[k][1])[:100]) for k in both if before[k][0] != after[k][0]]
    if changed:
        programs.print_table(("what", "before", "after", "why"), changed)
    lost = sum(was == "proved" for _, was, _, _ in changed)
    gained = sum(now == "proved" for _, _, now, _ in changed)
    alone = len(before) - len(both), len(after) - len(both)
    print(f"{len(both)} asked of both ({alone[0]} of the first only, {alone[1]} of the second): {lost} proofs lost, {gained} gained")
    return 1 if lost > given.lost else 0


if __name__ == "__main__":
    sys.exit(main())
