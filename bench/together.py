#!/usr/bin/env python3
"""Graphs and kernels, apart and together: how fast each way makes the models of the zoo, on one thread.

  bench/together.py [--models NAME,...] [--limit N] [--budget 60s] [--seconds 3] [--results FILE.jsonl] [--filled DIR] [--check]
ONNX Runtime with all of its optimizations on the model as it is = 1.00. Beside it:
  openvino   the model on OpenVINO in float32, where it is installed
  graph      what `isomer optimize` writes
  kernels    `isomer compile --as custom-op` of the model
  after      `isomer compile --as custom-op` of what `optimize` wrote
  together   `isomer compile --as custom-op` of the model, with two equal graphs offered: that of `optimize`, and of `optimize --judge cost`
Each is made, then all of them run by turns in one process, and ratios of CPU time are taken per turn: what is told is their median, and no candidate's
own measurement. Outputs must be those of the model. --results keeps what is done, so that a run may be interrupted; --filled keeps weights; --budget is of each
`optimize`, --seconds of each comparison that `compile` makes. Exit 1: outputs that differ, or a result that is slower than the model by more than 5 %.
--check: one small model, for CI.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

import bench_path  # noqa: F401
import modules
import optimizing
import programs
import reference
import zoo
from records import Records

WAYS = ("graph", "kernels", "after", "together")
FEWEST, SECONDS, MOST = 8, 12, 300  # turns of the last measurement: at least; no new one after so many seconds; at most
SLOWER = 0.95
OPENVINO_ROUNDS = 3


# ---- in the child, which generated code may end


def run_all(feeds_file, *pairs):
    """Of WAY=FOLDER pairs, the first of which is the model itself: the median ratio of each to the first, and how far outputs are apart."""
    with np.load(feeds_file) as file:
        feeds = {name: file[name] for name in file.files}
    sessions = {}
    for pair in pairs:
        way, _, place = pair.partition("=")
        place = pathlib.Path(place)
        is_folder = place.is_dir()
        sessions[way] = modules.session(place / "model.onnx" if is_folder else place, place / "libmodel.so" if is_folder else None)
    outputs = {way: session.run(None, feeds) for way, session in sessions.items()}
    names, times, start = list(sessions), {way: [] for way in sessions}, time.monotonic()
    while len(times["raw"]) < FEWEST or time.monotonic() - start < SECONDS and len(times["raw"]) < MOST:
        # Each in each place of a turn: none always follows the same.
        turn = len(times["raw"]) % len(names)
        for way in names[turn:] + names[:turn]:
            began = time.process_time()
            sessions[way].run(None, feeds)
            times[way].append(time.process_time() - began)
    answer = {}
    for way in names[1:]:
        ratios = [a / b for a, b in zip(times["raw"], times[way], strict=True)]
        apart = max((reference.error_of(mine, theirs) for mine, theirs in zip(outputs[way], outputs["raw"], strict=True)), default=0.0)
        answer[way] = {"ratio": statistics.median(ratios), "apart": apart}
    answer["raw_ms"] = 1000 * statistics.median(times["raw"])
    print(json.dumps(answer))


# ---- in the parent


def on_openvino(model, sizes):
    command = [programs.program("isomer"), "bench", str(model), "--runtime", "ort,openvino", "--seconds", "2", "--json", *sizes]
    ratios = []
    for _ in range(OPENVINO_ROUNDS):
        done = programs.run(command, timeout=900)
        if done.code != 0:
            return None
        answer = json.loads(done.stdout)
        both = answer["models"][0], answer["others"][0]["models"][0]
        if any("failure" in of for of in both):
            return None
        ratios.append(both[0]["cpu_ns"]["median"] / both[1]["cpu_ns"]["median"])
    return statistics.median(ratios)


def compiled(model, folder, sizes, options, *more):
    made = modules.compile_model(model, folder, "--as", "custom-op", "--seconds", str(options.seconds), *sizes, *more)
    if made.returncode != 0:
        return {"failure": (made.stderr or made.stdout).strip()[-200:]}
    return {key: made.answer[key] for key in ("operators", "graph", "tried", "regions", "ms", "errors", "sums")}


def judge(name, model, folder, options):
    sizes = zoo.shape_options(name)
    row = {"openvino": on_openvino(model, sizes)}
    graphs = {}
    for way, more in (("graph", ()), ("cost", ("--judge", "cost"))):
        out = folder / f"{way}.onnx"
        answer = optimizing.optimize(model, out, "--budget", options.budget, *more)
        row[f"{way}_result"] = answer["result"]
        if answer["result"] == "improved" and answer.get("accepted"):
            graphs[way] = out
    places = {"raw": model}
    if "graph" in graphs:
        places["graph"] = graphs["graph"]
    row["kernels_made"] = compiled(model, folder / "kernels", sizes, options)
    places["kernels"] = folder / "kernels"
    if "graph" in graphs:
        row["after_made"] = compiled(graphs["graph"], folder / "after", sizes, options)
        places["after"] = folder / "after"
    if graphs:
        row["together_made"] = compiled(model, folder / "together", sizes, options, *(word for g in graphs.values() for word in ("--equal", str(g))))
        places["together"] = folder / "together"
    places = {way: place for way, place in places.items() if "failure" not in row.get(f"{way}_made", {})}
    feeds = folder / "feeds.npz"
    np.savez(feeds, **reference.feeds_of(onnx.load(model, load_external_data=False), zoo.index()[name]["run_shapes"]))
    child = subprocess.run([sys.executable, __file__, "--run", str(feeds), *(f"{way}={place}" for way, place in places.items())],
                           capture_output=True, text=True, check=False)
    if child.returncode != 0:
        return row | {"failure": f"the run ended with {child.returncode}: {child.stderr.strip()[-300:]}"}
    return row | {"ways": json.loads(child.stdout.splitlines()[-1])}


def ratio(row, way):
    """What a way gives; where it found nothing, what it starts from."""
    ways = row.get("ways", {})
    if way in ways:
        return ways[way]["ratio"]
    return {"graph": lambda: 1.0, "kernels": lambda: 1.0, "after": lambda: ratio(row, "kernels"), "together": lambda: ratio(row, "kernels")}[way]()


def faults(rows):
    for name, row in rows.items():
        if "failure" in row:
            yield name, row["failure"]
            continue
        for way in WAYS:
            if "failure" in row.get(f"{way}_made", {}):
                yield name, f"{way}: {row[f'{way}_made']['failure'].strip().splitlines()[-1]}"
            found = row["ways"].get(way)
            if found and found["apart"] > reference.MOST["float"]:
                yield name, f"{way}: outputs are {found['apart']:.1e} apart"
            if found and found["ratio"] < SLOWER:
                yield name, f"{way}: slower, {found['ratio']:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--until", type=float, default=math.inf, help="start no model after so many seconds")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        options.models, options.budget, options.seconds = "gcn", "5s", 0.5
    names = options.models.split(",") if options.models else [n for n in zoo.names() if "." not in n][:options.limit]
    records, start = Records(options.results, "model"), time.monotonic()
    for name in names:
        if (name,) in records or time.monotonic() - start > options.until:
            continue
        with tempfile.TemporaryDirectory(prefix="isomer_together_") as temporary:
            folder = pathlib.Path(temporary)
            row = judge(name, zoo.fill_once(name, folder, options.filled), folder, options)
        print(name, {way: round(ratio(row, way), 3) for way in WAYS}, row.get("failure", ""), file=sys.stderr, flush=True)
        records.add({"model": name} | row)
    rows = {name: records.all[name,] for name in names if (name,) in records}
    good = [row for row in rows.values() if "ways" in row]
    print("| model | " + " | ".join(WAYS) + " |\n|---|" + "---:|" * len(WAYS))
    for name, row in rows.items():
        print(f"| {name} | " + " | ".join(f"{ratio(row, way):.2f}" for way in WAYS) + " |")
    for way in WAYS if good else ():
        all_of_it = [ratio(row, way) for row in good]
        print(f"{way}: geometric mean {math.exp(statistics.fmean(map(math.log, all_of_it))):.3f}, median {statistics.median(all_of_it):.3f}")
    wrong = list(faults(rows))
    for name, why in wrong:
        print(f"WRONG {name}: {why}")
    sys.exit(1 if wrong and not options.check else 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run_all(*sys.argv[2:])
    else:
        main()
