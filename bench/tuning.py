#!/usr/bin/env python3
# nightly: --check | timeout=1200 unsanitized
"""What `isomer compile --tune` gains by the time spent: evolution against random drawing.

  bench/tuning.py [--models NAME,...] [--tune 1m] [--seconds 3] [--results FILE.jsonl --records DIR] [--filled DIR] [--check]
Each model is tuned from nothing, once per search, each with a folder of records of its own. `expected` is what the units take in all, untuned, by what they
take with the best schedules known by then (by how many were timed: seconds depend on what else the machine does), and with those that were measured again;
`ratio` is the whole model, tuned against untuned, measured by turns. One thread. Exit 1: a tuned model that was taken although it is slower than the untuned
one. --results and --records keep what is done, so that a run may be interrupted. --check: one small model for seconds, for CI.
"""
import argparse
import json
import math
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

import _paths  # noqa: F401
import programs
import zoo
from records import Records

SEARCHES = ("evolution", "random")
MODELS = "squeezenet1_1,mobilenet_v2,resnet18,regnet_y_400mf,nasnetamobile"
POINTS = (10, 20, 40, 80, 160, 320)  # schedules timed


def tuned(model, folder, sizes, options, search, records):
    command = [programs.program("isomer"), "compile", str(model), "-o", str(folder), "--json", "--quiet", "--seconds", str(options.seconds),
               "--tune", options.tune, "--tune-search", search, "--tuning", str(records), *sizes]
    done = programs.run(command, timeout=3600)
    if done.code != 0:
        return {"failure": (done.stderr or done.stdout).strip()[-200:]}
    answer = json.loads(done.stdout)
    return answer["tuning"] | {"speed": answer["speed"] and answer["speed"]["ratio"], "taken": len(answer["tuning"]["taken"])}


def at(curve, tried):
    """The expected speedup after `tried` schedules; None: the search had ended."""
    known = [p["expected"] for p in curve if p["tried"] <= tried]
    return known[-1] if known and curve[-1]["tried"] >= 0.8 * tried else None


def mean(numbers):
    return math.exp(statistics.fmean(map(math.log, numbers))) if numbers else math.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--searches", default=",".join(SEARCHES))
    parser.add_argument("--tune", default="1m")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--records", type=pathlib.Path, help="a folder for what is measured (default: one that is removed)")
    parser.add_argument("--until", type=float, default=math.inf, help="start nothing after so many seconds")
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        options.models, options.searches, options.tune, options.seconds = "squeezenet1_1", "evolution", "8s", 0.5
    names, searches = options.models.split(","), options.searches.split(",")
    records = Records(options.results, "model", "search")
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="isomer_tuning_") as temporary:
        kept = options.records or pathlib.Path(temporary)
        for search in searches:
            for name in names:
                if (name, search) in records or time.monotonic() - start > options.until:
                    continue
                memory = kept / search / name
                shutil.rmtree(memory, ignore_errors=True)  # of a run that was interrupted
                memory.mkdir(parents=True)
                with tempfile.TemporaryDirectory(dir=temporary) as place:
                    folder = pathlib.Path(place)
                    model = zoo.fill_once(name, folder, options.filled)
                    row = tuned(model, folder / "compiled", zoo.shape_options(name), options, search, memory)
                row = {"model": name, "search": search, "tune": options.tune} | row
                records.add(row)
                shown = {key: row.get(key) for key in ("tried", "taken", "expected", "ratio", "is_taken", "why")}
                print(name, search, row.get("failure") or shown, file=sys.stderr, flush=True)
    wrong = 0
    rows = [records.all[name, search] for search in searches for name in names if (name, search) in records]
    good = [row for row in rows if "failure" not in row]
    print("| search | models | " + " | ".join(f"{p} timed" for p in POINTS) + " | measured again | whole model |\n|---|---:|" + "---:|" * (len(POINTS) + 2))
    for search in searches:
        mine = [row for row in good if row["search"] == search]
        cells = []
        for point in POINTS:
            known = [x for x in (at(row["curve"][:-1], point) for row in mine) if x]
            cells.append(f"{mean(known):.3f}" if known and len(known) == len(mine) else "-")
        whole = [row["ratio"] if row["is_taken"] else 1.0 for row in mine]
        print(f"| {search} | {len(mine)} | " + " | ".join(cells) + f" | {mean([row['expected'] for row in mine]):.3f} | {mean(whole):.3f} |")
    for row in rows:
        if "failure" in row or (row["is_taken"] and row["ratio"] < 1):
            print(f"WRONG {row['model']}, {row['search']}: {row.get('failure') or row['ratio']}")
            wrong += 1
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
