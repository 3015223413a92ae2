#!/usr/bin/env python3
"""The experiment of "Neural Architecture-Aware Exploration of Compiler Optimizations" with ONNX Runtime's passes: sets of them, and what each costs.

  bench/seed_table.py [--models NAME,...] [--turns 7] [--runs 10] [--results FILE.jsonl] [--filled FOLDER] [--check]
For each of the four networks:
  classes   which of the runtime's passes change this model's graph at all: `isomer explore --objective size`, by the graph's hash. Nothing is sorted by hand.
  sets      BL: all passes. none: no pass. AS: only those that change this graph, so the same graph as BL. PO-0 to PO-2: as many as AS, drawn at random.
            prepared and machine: the models that `isomer explore --objective load-time` writes, portable and for processors like this one.
Each set is loaded and run by turns, each time in a process of its own: CPU time and wall time of loading ("compile time"), the median latency of --runs runs,
CPU time of a run (energy, where nobody counts it), the peak of memory. Rows have medians over the turns, and medians of ratios to BL of the same turn.
--turns 0: only the classes, which no clock has a say in.
--check, the short form: one small model, three turns; fails if a set's outputs differ.
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

import _paths  # noqa: F401
import programs
import zoo
from records import Records

MODELS = ("resnet50", "mobilenet_v2", "ssd300_resnet50", "bert_base")
RANDOM_SETS = 3
TRIAL = """
import json, re, sys, time
import numpy as np
import onnxruntime as ort
ort.set_default_logger_severity(4)
path, feeds, level, disabled, runs = sys.argv[1], dict(np.load(sys.argv[2])), sys.argv[3], sys.argv[4].split(";"), int(sys.argv[5])
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
wall, cpu = time.monotonic(), time.process_time()
if disabled != [""]:
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled)
else:
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
load = {"load_cpu_ms": 1e3 * (time.process_time() - cpu), "load_ms": 1e3 * (time.monotonic() - wall)}
outputs = session.run(None, feeds)
walls, cpus = [], []
for _ in range(runs):
    wall, cpu = time.monotonic(), time.process_time()
    session.run(None, feeds)
    walls.append(1e3 * (time.monotonic() - wall))
    cpus.append(1e3 * (time.process_time() - cpu))
if len(sys.argv) > 6:
    np.savez(sys.argv[6], *outputs)
print(json.dumps(load | {"latency_ms": sorted(walls)[len(walls) // 2], "run_cpu_ms": sorted(cpus)[len(cpus) // 2],
                         "peak_mb": int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024}))
"""
FIGURES = ("load_cpu_ms", "load_ms", "latency_ms", "run_cpu_ms", "peak_mb")


def explore(model, *arguments):
    ran = subprocess.run([programs.program("isomer"), "explore", str(model), "--json", "--quiet", *arguments], capture_output=True, text=True, check=False)
    return json.loads(ran.stdout) if ran.returncode == 0 else {"error": ran.stderr[-300:]}


def feeds_of(name, model, path):
    """Inputs at the zoo's sizes."""
    draw, feeds = np.random.default_rng(0), {}
    shapes = zoo.index()[name]["run_shapes"]
    for value in onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"]).get_inputs():
        shape = shapes.get(value.name) or [d if isinstance(d, int) else 1 for d in value.shape]
        feeds[value.name] = draw.standard_normal(shape).astype(np.float32) if "float" in value.type else np.ones(shape, np.int64)
    np.savez(path, **feeds)


def sets_of(classes, model, prepared):
    """By name: file, level, passes that are left out."""
    names = [p for p, changes in classes.items() if changes is not None]
    useful = [p for p in names if classes[p]]
    out = {"BL": (model, "ORT_ENABLE_ALL", []), "none": (model, "ORT_DISABLE_ALL", []),
           "AS": (model, "ORT_ENABLE_ALL", [p for p in names if not classes[p]])}
    for k in range(RANDOM_SETS):
        kept = set(random.Random(k).sample(names, len(useful)))
        out[f"PO-{k}"] = (model, "ORT_ENABLE_ALL", [p for p in names if p not in kept])
    return out | {kind: (path, "ORT_ENABLE_ALL", []) for kind, path in prepared.items()}


def trial(path, level, disabled, feeds, runs, kept=None):
    ran = subprocess.run([sys.executable, "-c", TRIAL, str(path), str(feeds), level, ";".join(disabled), str(runs), *([str(kept)] if kept else [])],
                         capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def same(a, b):
    """Whether all outputs agree but for rounding."""
    one, two = np.load(a), np.load(b)
    return all(one[k].shape == two[k].shape and np.abs(one[k].astype(np.float64) - two[k]).max(initial=0) <= 1e-3 * max(1.0, np.abs(one[k]).max(initial=0))
               for k in one.files)


def row_of(name, model, folder, options):
    shapes = zoo.shape_options(name)
    scanned = explore(model, "--objective", "size", "--mode", "fast", *shapes)
    if "error" in scanned:
        return {"model": name, "failure": scanned["error"]}
    classes = {t["passes"][0]: t["changes_graph"] for t in scanned["passes"] if t["kind"] == "optimizer"}
    if not options.turns:
        return {"model": name, "classes": sorted(p for p, c in classes.items() if c), "names": len(classes), "note": scanned["note"]}
    prepared, equality = {}, {}
    for kind, extra in (("prepared", ()), ("machine", ("--this-machine",))):
        out = folder / f"{kind}.onnx"
        told = explore(model, "--objective", "load-time", "-o", str(out), "--seconds", str(options.seconds), "--budget", options.budget, *extra, *shapes)
        equality[kind] = told["line"] if "line" in told else told["error"]
        if out.exists():
            prepared[kind] = out
    feeds = folder / "feeds.npz"
    feeds_of(name, model, feeds)
    sets, turns = sets_of(classes, model, prepared), []
    for turn in range(options.turns + 1):
        figures = {}
        for kind, (path, level, disabled) in sets.items():
            figures[kind] = trial(path, level, disabled, feeds, options.runs, None if turn else folder / f"{kind}.npz")
        if turn:  # the first one fills the system's cache
            turns.append(figures)
    rows = {kind: {f: round(statistics.median(t[kind][f] for t in turns), 3) for f in FIGURES}
            | {"of_BL": {f: round(statistics.median(t[kind][f] / t["BL"][f] for t in turns), 4) for f in FIGURES}}
            | {"passes_left_out": len(sets[kind][2]), "same_outputs": same(folder / "BL.npz", folder / f"{kind}.npz")} for kind in sets}
    return {"model": name, "classes": sorted(p for p, c in classes.items() if c), "names": len(classes), "sets": rows,
            "explored": equality, "turns": options.turns, "note": scanned["note"]}


def told(row):
    print(f"\n{row['model']}: {len(row.get('classes', []))} of {row.get('names', 0)} passes change its graph: {', '.join(row.get('classes', []))}")
    if "failure" in row:
        print(row["failure"])
        return
    if "sets" not in row:
        return
    programs.print_table(["set", "load CPU ms", "of BL", "latency ms", "of BL", "CPU of a run", "peak MB", "of BL", "outputs"],
                         [[k, s["load_cpu_ms"], s["of_BL"]["load_cpu_ms"], s["latency_ms"], s["of_BL"]["latency_ms"], s["of_BL"]["run_cpu_ms"], s["peak_mb"],
                           s["of_BL"]["peak_mb"], "same" if s["same_outputs"] else "DIFFERENT"] for k, s in row["sets"].items()])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--budget", default="60s", help="for a proof")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        options.models, options.turns, options.runs, options.seconds, options.budget = ["squeezenet1_1"], 3, 3, 0.5, "5s"
    records = Records(options.results, "model")
    for name in options.models:
        if (name,) not in records:
            with tempfile.TemporaryDirectory(prefix="isomer_seed_") as folder:
                model = zoo.fill_once(name, pathlib.Path(folder), options.filled)
                records.add(row_of(name, model, pathlib.Path(folder), options))
        told(records.all[name,])
    different = [r["model"] for r in records.all.values() if not all(s["same_outputs"] for s in r.get("sets", {}).values())]
    return 1 if different or (options.check and any("failure" in r for r in records.all.values())) else 0


if __name__ == "__main__":
    sys.exit(main())
