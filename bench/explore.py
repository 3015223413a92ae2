#!/usr/bin/env python3
# nightly: --short | timeout=1200 unsanitized
"""What `isomer explore` finds: load time, ONNX Runtime's own passes, and two controls.

  bench/explore.py [--parts load,passes,control,resume] [--models NAME,...] [--limit N] [--seconds S] [--results FILE.jsonl] [--filled DIR]
  bench/explore.py --short      load and control of small models, for CI (a minute)

load     the model prepared, portable and for this machine, against ONNX Runtime on the model as it is; beside it what the runtime's own
         offline optimization gives, all four loaded by turns in Python
passes   the best set of passes against all of them
control  20 explorations of passes that change nothing: each gain would be noise
resume   an exploration killed at random moments, resumed, against an undisturbed one
--results keeps what is done, so that a run may be interrupted; --filled keeps the models' weights.
"""
import argparse
import json
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import _paths  # noqa: F401
import programs
import zoo
from records import Records

CONTROLS = 20
CONTROL_MODELS = ["squeezenet1_1", "wide_deep", "mobilenet_v3_small", "gru_tagger"]
# Loads files by turns in one process: CPU time of one thread, the first turn left out.
LOADER = """
import gc, json, sys, time
import onnxruntime as ort
ort.set_default_logger_severity(4)
turns, paths, times = int(sys.argv[1]), sys.argv[2:], []
for turn in range(turns + 1):
    for k, path in enumerate(paths):
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        gc.collect()
        start = time.process_time()
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        spent = time.process_time() - start
        del session
        if turn:
            times.append((k, spent))
print(json.dumps(times))
"""
# The runtime's own way: all passes, the file as it writes it.
OFFLINE = """
import sys
import onnxruntime as ort
ort.set_default_logger_severity(4)
options = ort.SessionOptions()
options.optimized_model_filepath = sys.argv[2]
ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
"""


def explore(model, *arguments):
    start = time.monotonic()
    ran = subprocess.run([programs.program("isomer"), "explore", str(model), "--json", "--quiet", *arguments], capture_output=True, text=True, check=False)
    answer = json.loads(ran.stdout) if ran.stdout else {"error": ran.stderr}
    return answer, round(time.monotonic() - start, 1)


def python(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def load_row(name, model, folder, options):
    """One row: both kinds of prepared model, and all in turns."""
    row, paths = {"part": "load", "model": name}, {"raw": model}
    for kind, extra in (("portable", ()), ("machine", ("--this-machine",))):
        out = folder / f"{kind}.onnx"
        answer, seconds = explore(model, "--objective", "load-time", "-o", str(out), "--seconds", str(options.seconds), "--budget", options.budget, *extra,
                                  *zoo.shape_options(name))
        if "error" in answer:
            return row | {"failure": str(answer["error"])[:200]}
        prepared = answer["prepared"]
        row[kind] = {"verdict": answer["verdict"], "seconds": seconds, **{k: prepared[k] for k in (
            "plain", "with_options", "latency", "peak_bytes_before", "peak_bytes_after", "bytes", "equality", "outputs_differ")}, "why": prepared["why"][:200]}
        if out.exists():
            paths[kind] = out
    try:
        python(OFFLINE, model, folder / "offline.onnx")
        paths["offline"] = folder / "offline.onnx"
    except subprocess.CalledProcessError:
        pass  # larger than protobuf allows
    times = json.loads(python(LOADER, options.turns, *paths.values()))
    row["turns_ms"] = {kind: round(1e3 * statistics.median(t for i, t in times if i == k), 3) for k, kind in enumerate(paths)}
    return row


def passes_row(name, model, folder, options):
    answer, seconds = explore(model, "--seconds", str(options.seconds), "--records", str(folder / "records.jsonl"), *zoo.shape_options(name))
    row = {"part": "passes", "model": name, "seconds": seconds}
    if "error" in answer:
        return row | {"failure": str(answer["error"])[:200]}
    effects = {t["passes"][0]: t["measured"] for t in answer["passes"] if t["measured"]}
    return row | {"verdict": answer["verdict"], "measured": answer["measured"], "best": answer["best"], "effects": effects,
                  "names": len(answer["passes"]), "with_effect": sum(t["changes_graph"] is True for t in answer["passes"])}


def control_row(number, models, options):
    name = CONTROL_MODELS[number % len(CONTROL_MODELS)]
    answer, seconds = explore(models(name), "--control", "--seconds", str(options.seconds), "--seed", str(number), *zoo.shape_options(name))
    return {"part": "control", "model": f"{name} {number}", "verdict": answer["verdict"], "measured": answer["measured"], "seconds": seconds}


def table_of(answer):
    return [(t["passes"], t["kind"], t["changes_graph"], t["bytes"], t["measured"] is None) for t in answer["passes"]]


def resume_row(name, model, folder, options):
    records, draw, kills = folder / "killed.jsonl", random.Random(1), 0
    arguments = ["--seconds", str(options.seconds), *zoo.shape_options(name)]
    whole, undisturbed = explore(model, *arguments)
    command = [programs.program("isomer"), "explore", str(model), "--quiet", "--json", "--records", str(records), *arguments]
    for _ in range(5):
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            running.wait(draw.uniform(0.05, 0.4) * undisturbed)
            break
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            running.wait()
            kills += 1
    resumed, _ = explore(model, "--records", str(records), *arguments)
    return {"part": "resume", "model": name, "kills": kills, "resumed": resumed["resumed"], "same_table": table_of(whole) == table_of(resumed),
            "verdicts": [whole["verdict"], resumed["verdict"]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="load,passes,control,resume")
    parser.add_argument("--models", default="")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--budget", default="60s", help="for a proof")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    names = options.models.split(",") if options.models else [n for n in zoo.names() if "." not in n][:options.limit]
    controls = CONTROLS
    if options.short:
        # tests/suites/explore_test.py looks at passes and at what a killed run leaves.
        options.parts, names, controls = "load,control", ["gcn", "squeezenet1_1"], 2
        options.seconds, options.turns, options.budget = 0.5, 3, "5s"
    records = Records(options.results, "part", "model")
    faults = 0
    with tempfile.TemporaryDirectory(prefix="isomer_explore_") as top:
        def filled(name):
            return zoo.fill_once(name, pathlib.Path(top) / name, options.filled)

        def add(row):
            nonlocal faults
            records.add(row)
            print(json.dumps({k: v for k, v in row.items() if k != "effects"}), flush=True)
            faults += row["part"] == "resume" and not row["same_table"]
            kinds = [row.get(k, {}) for k in ("portable", "machine")]
            faults += row["part"] == "load" and any(k.get("outputs_differ") or k.get("equality") == "refuted" for k in kinds)

        for part, make in (("load", load_row), ("passes", passes_row), ("resume", resume_row)):
            for name in names[:1] if part == "resume" else names:
                if part in options.parts.split(",") and (part, name) not in records:
                    with tempfile.TemporaryDirectory(prefix="isomer_explore_") as folder:
                        add(make(name, filled(name), pathlib.Path(folder), options))
        for number in range(controls if "control" in options.parts.split(",") else 0):
            if ("control", f"{CONTROL_MODELS[number % len(CONTROL_MODELS)]} {number}") not in records:
                add(control_row(number, filled, options))
    found = sum(r["verdict"] == "better" for k, r in records.all.items() if k[0] == "control")
    print(f"{found} controls found something")
    return 1 if faults or found > 1 else 0


if __name__ == "__main__":
    sys.exit(main())
