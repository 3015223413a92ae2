#!/usr/bin/env python3
# nightly: --zoo 8 --trained 0
"""Whole models on the reference engine in float64 against ONNX Runtime in their own arithmetic.

  tests/evidence/reference.py [--zoo 40] [--trained 10] [--filter TEXT] [--megabytes 60] [--seconds 600]
One model of each architecture of the zoo (the smallest first, real weights) and trained ones (tools/fetch_trained). error =
max|y - y64| / max|y64|, the worst output; integers must be equal. Exit 1 if one is over 1e-4 (half precision: 5e-3), or a model
does not run. An opaque node is listed and is no failure: the next model takes its place.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx

import _paths  # noqa: F401
import programs
import zoo
from trained import models

MOST = {"float": 1e-4, "double": 1e-4, "float16": 5e-3}


# ---- in the child ---------------------------------------------------------------------------------------------------

def run_runtime(path, feeds_path, out_path):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    with np.load(feeds_path) as feeds:
        results = session.run(None, {name: feeds[name] for name in feeds.files})
    np.savez(out_path, **{declared.name: value for declared, value in zip(session.get_outputs(), results)})


# ---- in the parent --------------------------------------------------------------------------------------------------

def feeds_of(model, extents, seed=1):
    """Floats normal; integers 0 and 1, which index anything; masks all 1."""
    random = np.random.default_rng(seed)
    initializers = {tensor.name for tensor in model.graph.initializer}
    feeds = {}
    for declared in model.graph.input:
        if declared.name in initializers:
            continue
        tensor = declared.type.tensor_type
        shape = extents.get(declared.name) or [d.dim_value if d.dim_value > 0 else 64 if i else 1 for i, d in enumerate(tensor.shape.dim)]
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if kind.kind == "f":
            value = random.standard_normal(shape)
        elif "bytes" in declared.name:
            value = random.integers(0, 256, shape)
        else:
            value = np.ones(shape) if "mask" in declared.name or kind.kind == "b" else random.integers(0, 2, shape)
        feeds[declared.name] = np.asarray(value, dtype=kind)
    return feeds


def trained_feeds(path):
    """Real inputs of the smallest size; of a stream the first step."""
    model = models.of_file(path.parent.name, path.name)
    return model.task.draw(model, model.sizes[0])[0]


def error_of(actual, expected):
    if actual.shape != expected.shape:
        return np.inf
    if expected.size == 0:
        return 0.0
    if actual.dtype.kind != "f":
        return 0.0 if np.array_equal(actual, expected) else np.inf
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        gap = np.where(same, 0.0, np.abs(actual - expected))
    finite = np.abs(expected[np.isfinite(expected)])
    worst = float(np.max(gap) / max(finite.max(initial=0.0), 1e-30))
    return worst if np.isfinite(worst) else np.inf


def judge(path, values, folder, seconds):
    """(status, error or what happened, seconds)"""
    feeds, reference, runtime = (folder / name for name in ("feeds.npz", "reference.npz", "runtime.npz"))
    np.savez(feeds, **values)
    child = subprocess.run([sys.executable, __file__, "--runtime", str(path), str(feeds), str(runtime)], capture_output=True, text=True)
    if child.returncode != 0:
        return "no", f"the runtime: {child.stderr.strip()[-160:]}", 0
    ran = programs.run([programs.program("isomer"), "run", str(path), "--feeds", str(feeds), "-o", str(reference),
                        "--arithmetic", "double", "--json"], seconds)
    if ran.code == 3:
        opaque = json.loads(ran.stdout)["opaque"]
        return "opaque", f"{opaque['op']}: {opaque['reason']}", ran.seconds
    if ran.code != 0:
        return "failed", f"exit {ran.code}: {ran.stderr.strip()[-200:]}", ran.seconds
    with np.load(reference) as ours, np.load(runtime) as theirs:
        errors = {name: error_of(theirs[name], ours[name]) for name in theirs.files}
        half = any(theirs[name].dtype == np.float16 for name in theirs.files)
    worst = max(errors.values(), default=0.0)
    return ("good" if worst <= MOST["float16" if half else "float"] else "bad"), worst, ran.seconds


def architectures(index, text, megabytes):
    """One model of each architecture, the plain export first."""
    chosen = {}
    for name in zoo.names(text=text):
        if index[name]["megabytes"] <= megabytes and name.split(".")[0] not in chosen:
            chosen[name.split(".")[0]] = name
    return sorted(chosen.values(), key=lambda name: index[name]["megabytes"])


def main():
    if sys.argv[1:2] == ["--runtime"]:
        run_runtime(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zoo", type=int, default=40)
    parser.add_argument("--trained", type=int, default=10)
    parser.add_argument("--filter", default="")
    parser.add_argument("--megabytes", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=600)
    arguments = parser.parse_args()
    index, failures, totals = zoo.index(), 0, []
    for title, wanted, chosen in (("zoo", arguments.zoo, architectures(index, arguments.filter, arguments.megabytes)),
                                  ("trained", arguments.trained, zoo.trained(arguments.filter))):
        good, worst = 0, 0.0
        for model in chosen:
            if good >= wanted:
                break
            with tempfile.TemporaryDirectory(prefix="isomer_reference_") as folder:
                folder = pathlib.Path(folder)
                name = model if title == "zoo" else f"{model.parent.name}/{model.name.split('__')[-1]}"
                path = zoo.fill(model, folder) if title == "zoo" else model
                values = feeds_of(onnx.load(path, load_external_data=False), index[model]["run_shapes"]) if title == "zoo" else trained_feeds(path)
                status, what, seconds = judge(path, values, folder, arguments.seconds)
            shown = f"{what:.1e}" if isinstance(what, float) else what
            print(f"{name}: {status}, {shown}, {seconds:.1f} s", flush=True)
            good += status == "good"
            failures += status in ("bad", "failed")
            worst = max(worst, what) if status == "good" else worst
        totals.append(f"{title}: {good} models within tolerance, the worst {worst:.1e}")
    print("; ".join(totals) + f"; {failures} not")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
