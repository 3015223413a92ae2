#!/usr/bin/env python3
"""Compiled models with several threads, beside ONNX Runtime with as many.

  bench/module_threads.py [--models NAME,...] [--threads 2] [--seconds 10] [--modules DIR] [--results FILE.jsonl] [--filled DIR]
Wall time of a run: the module and ONNX Runtime with all of its optimizations, each with one thread and with --threads, by turns; of each the median. Before
each turn there is a pause, in which threads of the one before fall asleep, and two runs that don't count. Outputs of the module must be the same bits
with any number of threads. --modules keeps compiled modules, and takes those that are there; --results keeps what is done. How much several threads gain
is a matter of the machine: two that share a core have one core's arithmetic. The table is Markdown. Exit 1: bits differ, or a model fails.
"""
import argparse
import pathlib
import statistics
import sys
import time

import numpy as np
import onnx
import onnxruntime

import bench_path  # noqa: F401
import modules
import reference
import zoo
from records import Records

SOME = ["mobilenet_v2", "squeezenet1_1", "resnet18", "vgg16", "vit_small_patch16", "bert_base"]
PAUSE, WARM, RUNS = 0.02, 2, 3  # seconds; runs of a turn that don't count, and that do


def session(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def measure(name, model, compiled, options):
    if not (compiled / "interface.json").exists():
        made = modules.compile_model(model, compiled, *zoo.shape_options(name))
        if made.returncode != 0:
            return {"failure": (made.stderr or made.stdout).strip()[-200:]}
    feeds = reference.feeds_of(onnx.load(model, load_external_data=False), zoo.index()[name]["run_shapes"])
    runs, outputs = {}, []
    for threads in (1, options.threads):
        runtime, module = session(model, threads), modules.load(compiled, threads=threads)
        outputs.append(module(**feeds))
        runs[f"ort_{threads}"], runs[f"module_{threads}"] = (lambda s=runtime: s.run(None, feeds)), module.run
    times, end = {key: [] for key in runs}, time.monotonic() + options.seconds
    while time.monotonic() < end or len(times["ort_1"]) < 3 * RUNS:
        for key, run in runs.items():
            time.sleep(PAUSE)
            for k in range(WARM + RUNS):
                start = time.perf_counter()
                run()
                if k >= WARM:
                    times[key].append(time.perf_counter() - start)
    row = {f"{key}_ms": 1000 * statistics.median(t) for key, t in times.items()}
    return row | {"threads": options.threads, "same_bits": all(np.array_equal(outputs[0][n], outputs[1][n], equal_nan=True) for n in outputs[0])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(SOME))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--modules", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    options = parser.parse_args()
    records, names = Records(options.results, "model"), options.models.split(",")
    for name, model, folder in zoo.filled_one_by_one(names, records, options.filled):
        records.add({"model": name} | measure(name, model, (options.modules or folder) / name, options))
    n, faults = options.threads, 0
    print(f"| model | runtime, 1 | runtime, {n} | module, 1 | module, {n} | gain of the module | ratio, 1 | ratio, {n} |\n|---|" + "---:|" * 7)
    for name in names:
        row = records.all[name,]
        faults += not row.get("same_bits")
        if "failure" in row:
            print(f"| {name} | {row['failure']} | | | | | | |")
            continue
        one, other, ours, several = (row[f"{who}_{k}_ms"] for who in ("ort", "module") for k in (1, n))
        print(f"| {name} | {one:.2f} | {other:.2f} | {ours:.2f} | {several:.2f} | {ours / several:.2f} | {one / ours:.2f} | {other / several:.2f} |"
              f"{'' if row['same_bits'] else ' OTHER BITS'}")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
