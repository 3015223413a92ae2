#!/usr/bin/env python3
# nightly: --check | timeout=1200
"""The zoo through `isomer compile`: every model whose nodes have formulas is compiled, run, and as near to float64 as ONNX Runtime is.

  tests/evidence/compile_zoo.py [--models NAME,...] [--limit N] [--results FILE.jsonl] [--filled DIR] [--reference-seconds 300] [--options "..."]
                                [--as module|custom-op]
  tests/evidence/compile_zoo.py --check          three small models, for CI
Small ones first, at the sizes that the zoo's index says. Errors are max|y - y64| / max|y64|, the worst output, where y64 is what the formulas are in
float64; a module may have twice ONNX Runtime's, or 1e-6, which `compile` sees to (`sums`). Where the reference takes longer than
--reference-seconds, the module is compared with ONNX Runtime instead (1e-4; half precision: 5e-3). Ratios are of CPU time on one thread, run by
turns: ONNX Runtime with all of its optimizations over the module; with --as custom-op over a session of its own whose one node is the module.
A model with an opaque node is listed, and is no fault if `inspect` lists the node. --results keeps what is done, so that a run may be interrupted; --filled
keeps weights. The table is Markdown. Exit 1: a fault.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np
import onnx

import _paths  # noqa: F401
import modules
import programs
import reference
import zoo
from records import Records

SHORT = ["gcn", "llama_tiny", "squeezenet1_1"]
LEAST_ERROR, GROWTH = 1e-6, 2
ROUNDS, SECONDS = 5, 3  # of a measurement: at least this number; no new one after this time


# ---- in the child, which generated code may end


def cpu_seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def run_both(model, compiled, feeds_file, out_file, kind):
    with np.load(feeds_file) as file:
        feeds = {name: file[name] for name in file.files}
    session = modules.session(model)
    theirs = session.run(None, feeds)
    if kind == "custom-op":
        operator = modules.session(compiled + "/model.onnx", compiled + "/libmodel.so")
        ours = operator.run(None, feeds)
        run = lambda: operator.run(None, feeds)
    else:
        module = modules.load(compiled)
        ours, run = list(module(**feeds).values()), module.run
    times, start = [], time.monotonic()
    while len(times) < ROUNDS or time.monotonic() - start < SECONDS and len(times) < 300:
        times.append((cpu_seconds(lambda: session.run(None, feeds)), cpu_seconds(run)))
    np.savez(out_file, **{f"{who}{k}": value for who, values in (("theirs", theirs), ("ours", ours)) for k, value in enumerate(values)})
    seconds = [statistics.median(t) for t in zip(*times)]
    print(json.dumps({"ratio": seconds[0] / seconds[1], "ort_ms": 1000 * seconds[0], "module_ms": 1000 * seconds[1]}))


# ---- in the parent


def in_double(model, feeds, folder, seconds):
    """The outputs in float64; None if that takes too long."""
    out = folder / "double.npz"
    ran = programs.run([programs.program("isomer"), "run", str(model), "--feeds", str(feeds), "-o", str(out), "--arithmetic", "double", "--json"], seconds)
    if ran.code != 0:
        return None
    with np.load(out) as file:
        return [file[o.name] for o in onnx.load(model, load_external_data=False).graph.output]


def errors(outputs, expected):
    """Errors of the module and of ONNX Runtime against float64, and of the module against ONNX Runtime."""
    def worst(who, against):
        return max((reference.error_of(outputs[f"{who}{k}"], value) for k, value in enumerate(against)), default=0.0)

    theirs = [outputs[f"theirs{k}"] for k in range(len(outputs) // 2)]
    row = {"apart": worst("ours", theirs), "is_half": any(t.dtype == np.float16 for t in theirs)}
    if expected is not None:
        row |= {"error": worst("ours", expected), "ort_error": worst("theirs", expected)}
    return row


def opaque_nodes(model, sizes):
    ran = programs.run([programs.program("isomer"), "inspect", str(model), "--json", *sizes], 600)
    return [f"{n['op']}: {n['reason']}" for n in json.loads(ran.stdout)["opaque"]] if ran.code == 0 else []


def judge(name, model, folder, options):
    shapes, sizes = zoo.index()[name]["run_shapes"], zoo.shape_options(name)
    compiled, feeds, out = folder / "compiled", folder / "feeds.npz", folder / "outputs.npz"
    # The shortest comparison, for the rule of errors; speed is measured below.
    made = modules.compile_model(model, compiled, *sizes, *([] if "--sums" in options.options else ["--seconds", "0.01"]), *options.options.split())
    if options.kind == "custom-op" and made.returncode == 0:  # whatever its speed is: that is to be seen
        taken = ["--sums", made.answer["sums"]]
        made = modules.compile_model(model, compiled, *sizes, *taken, "--as", "custom-op")
    if made.returncode != 0:
        opaque = opaque_nodes(model, sizes)
        return {"status": "opaque" if opaque else "failed", "reason": opaque[0] if opaque else (made.stderr or made.stdout).strip()[-300:]}
    row = {key: made.answer[key] for key in ("nests", "tiled", "winograd", "functions", "ms", "library_bytes", "weight_bytes", "workspace_bytes", "sums")}
    np.savez(feeds, **reference.feeds_of(onnx.load(model, load_external_data=False), shapes))
    words = [str(model), str(compiled), str(feeds), str(out), options.kind]
    child = subprocess.run([sys.executable, __file__, "--run", *words], capture_output=True, text=True, check=False)
    if child.returncode != 0:
        return row | {"status": "failed", "reason": f"the run ended with {child.returncode}: {child.stderr.strip()[-300:]}"}
    with np.load(out) as file:
        row |= json.loads(child.stdout.splitlines()[-1]) | errors(dict(file), in_double(model, feeds, folder, options.reference_seconds))
    if "error" in row:
        is_good = row["error"] <= max(GROWTH * row["ort_error"], LEAST_ERROR)
    else:
        is_good = row["apart"] <= reference.MOST["float16" if row["is_half"] else "float"]
    return row | {"status": "good" if is_good else "far", "reason": ""}


def print_table(rows):
    print("| model | ratio | error | ONNX Runtime's | apart "
          "| nests | tiled | Winograd | sums | s to compile | library | workspace | |\n|---|" + "---:|" * 11 + "---|")
    for name, row in sorted(rows.items()):
        if "ratio" not in row:
            print(f"| {name} | | | | | | | | | | | | {row['status']}: {row['reason'].splitlines()[0] if row['reason'] else ''} |")
            continue
        error, theirs = (f"{row[k]:.1e}" if k in row else "" for k in ("error", "ort_error"))
        print(f"| {name} | {row['ratio']:.2f} | {error} | {theirs} | {row['apart']:.1e} | {row['nests']} | {row['tiled']} | "
              f"{row['winograd']} | {row['sums']} | {row['ms'] / 1000:.1f} | {row['library_bytes'] / 1e6:.2f} MB | {row['workspace_bytes'] / 1e6:.1f} MB | "
              f"{'' if row['status'] == 'good' else row['status']} |")
    count = {status: sum(row["status"] == status for row in rows.values()) for status in ("good", "far", "failed", "opaque")}
    ratios = [row["ratio"] for row in rows.values() if "ratio" in row]
    mean = f", ratio {math.exp(statistics.fmean(map(math.log, ratios))):.3f} (geometric mean)" if ratios else ""
    print(f"\n{len(rows)} models: {count['good']} compiled and as exact as allowed, {count['far']} too far, {count['failed']} failed, "
          f"{count['opaque']} with an opaque node{mean}")
    return count["far"] + count["failed"]


def main():
    if sys.argv[1:2] == ["--run"]:
        run_both(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path, help="a folder of models with weights: NAME/model.onnx")
    parser.add_argument("--reference-seconds", type=float, default=300)
    parser.add_argument("--options", default="", help="more options of isomer compile")
    parser.add_argument("--as", dest="kind", choices=("module", "custom-op"), default="module")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not modules.has_compiler():
        print("skipped: no C++ compiler here")
        return programs.SKIPPED
    names = SHORT if options.check else options.models.split(",") if options.models else zoo.names(options.limit)
    records = Records(options.results, "model")
    for name, model, folder in zoo.filled_one_by_one(names, records, options.filled):
        row = judge(name, model, folder, options)
        records.add({"model": name} | row)
        print(f"{name}: {row['status']} {row['reason']}", file=sys.stderr, flush=True)
    return 1 if print_table({name: records.all[name,] for name in names if (name,) in records}) else 0


if __name__ == "__main__":
    sys.exit(main())
