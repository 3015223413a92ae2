#!/usr/bin/env python3
# nightly: --models dlrm,llama_tiny,squeezenet1_1 --budget 10s | timeout=900 serial unsanitized
"""Models of the zoo with open sizes beside the same models with fixed sizes: what the search loses where sizes are open.

  bench/fixed_and_open.py [--models NAME,...] [--budget 30s] [--measure] [--results FILE.jsonl] [--filled DIR] [--seconds N]
Each pair, `NAME` and `NAME.dyn`, goes through `isomer optimize` with the sizes of the zoo's index, so that both are judged at one size.
The judge is `--judge cost`, or the runtime with --measure. *kept*: the open model's gain as a share of the fixed one's. *only fixed*: kinds of
steps that the open model's result has fewer of. Fails if a result is rejected by the checker.
"""
import argparse
import collections
import math
import pathlib
import sys
import time

import _paths  # noqa: F401
import optimizing
import programs
import zoo
from records import Records

LOST = 0.95  # below this share of the fixed gain, the loss counts


def pairs():
    """Names that the zoo has with fixed and with open sizes, small ones first."""
    names = zoo.names()
    return [n for n in names if f"{n}.dyn" in names]


def optimize(name, options):
    judge = () if options.measure else ("--judge", "cost")
    with optimizing.filled_model(name, options.filled) as (model, folder):
        row = optimizing.optimize(model, folder / "out.onnx", "--budget", options.budget, *judge, *zoo.shape_options(name))
    kept = {key: row.get(key) for key in ("result", "reason", "ratio", "accepted", "stopped_by", "seconds")}
    if row["result"] != "failed":
        kept["gain"] = (row["ratio"] or 1.0) if options.measure else row["search"]["cost_before"] / row["search"]["cost_after"]
        kept["steps"] = {step["kind"]: step["count"] for step in row["steps"]}
        kept["not_taken"] = row.get("not_taken")
    return kept


def judge_pair(name, options):
    return {"model": name, "fixed": optimize(name, options), "open": optimize(f"{name}.dyn", options)}


def fewer_steps(row):
    """Kinds of steps that the open model's result has fewer of."""
    missing = collections.Counter(row["fixed"]["steps"])
    missing.subtract(row["open"]["steps"])
    return ", ".join(f"{count} {kind}" for kind, count in sorted(missing.items()) if count > 0)


def loses(row):
    return row["open"]["gain"] < LOST * row["fixed"]["gain"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="")
    parser.add_argument("--budget", default="30s")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=math.inf, help="start no pair after so long")
    options = parser.parse_args()
    wanted, start = options.models.split(",") if options.models else pairs(), time.monotonic()
    records = Records(options.results, "model")
    for name in wanted:
        if (name,) not in records and time.monotonic() - start < options.seconds:
            records.add(judge_pair(name, options))
    rows = [records.all[name,] for name in wanted if (name,) in records]
    whole = [row for row in rows if "gain" in row["fixed"] and "gain" in row["open"]]
    programs.print_table(["model", "fixed", "open", "kept", "s fixed", "s open", "only fixed"], [
        [row["model"], f"{row['fixed']['gain']:.3f}", f"{row['open']['gain']:.3f}", f"{row['open']['gain'] / row['fixed']['gain']:.3f}",
         round(row["fixed"]["seconds"]), round(row["open"]["seconds"]), fewer_steps(row)] for row in whole])
    losing = [row["model"] for row in whole if loses(row)]
    print(f"{len(whole)} pairs; {len(losing)} lose more than {1 - LOST:.0%} of the gain: {', '.join(losing) or '-'}")
    wrong = [(row["model"], side, row[side]["reason"]) for row in rows for side in ("fixed", "open") if not row[side]["accepted"]]
    for model, side, why in wrong:
        print(f"WRONG {model}, {side}: {why}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
