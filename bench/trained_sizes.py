#!/usr/bin/env python3
# nightly: | timeout=1800
"""Which trained models run without any option: their open sizes and the values of their inputs are found by Isomer.

  bench/trained_sizes.py [NAME ...] [--results FILE.jsonl]
NAME is one of tests/lib/trained/models.py, or a part of it. Each model is compared with itself (`isomer compare M M`), the cheapest command that makes
inputs and runs a model. A refusal is clear if it exits with 2 and says what to type (--shape, --value, --feeds). With --results a second run continues
where the first stopped. Exit 1 if more than five models are refused, or one fails without a clear refusal.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time

import _paths  # noqa: F401
import programs
from records import Records
from trained import models

MOST_REFUSED = 5  # of all trained models
SECONDS = 300     # of one model


def try_model(model):
    start = time.monotonic()
    path = str(model.path)
    try:
        done = subprocess.run([programs.program("isomer"), "compare", path, path, "--json"], capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"model": model.name, "outcome": "failed", "words": f"no answer in {SECONDS} s", "seconds": SECONDS}
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {}
    words = answer.get("inputs") or answer.get("error") or done.stderr.strip()
    if done.returncode == 0:
        outcome = "ran"
    elif done.returncode == 2 and any(option in str(words) for option in ("--shape", "--value", "--feeds")):
        outcome = "refused"
    else:
        outcome = "failed"
    return {"model": model.name, "outcome": outcome, "exit": done.returncode, "words": str(words).replace(path, model.path.name),
            "seconds": round(time.monotonic() - start, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--results", type=pathlib.Path)
    given = parser.parse_args()
    chosen = [model for model in models.fetched() if not given.names or any(name in model.name for name in given.names)]
    if not chosen:
        print("no trained model is here: tools/fetch_trained")
        return 77
    records = Records(given.results, "model")
    for model in chosen:
        if (model.name,) in records:
            continue
        record = try_model(model)
        records.add(record)
        print(f"{record['outcome']:7} {record['seconds']:6.1f} s  {model.name}: {record['words']}", flush=True)
    counts = {outcome: sorted(model.name for model in chosen if records.all[(model.name,)]["outcome"] == outcome) for outcome in ("ran", "refused", "failed")}
    print(f"{len(chosen)} models: {len(counts['ran'])} run without options, {len(counts['refused'])} refused clearly, {len(counts['failed'])} failed")
    for outcome in ("refused", "failed"):
        for name in counts[outcome]:
            print(f"{outcome} {name}: {records.all[(name,)]['words']}")
    return 1 if counts["failed"] or len(counts["refused"]) > MOST_REFUSED else 0


if __name__ == "__main__":
    sys.exit(main())
