#!/usr/bin/env python3
# ci: --limit 6
"""Reading a real model and writing it back changes nothing: ONNX Runtime's outputs are equal bit for bit, and so are the
interface, the opset imports and the metadata.

  tests/evidence/round_trip.py [--megabytes 130] [--limit N] [--filter TEXT] [--state FILE]
Models of the zoo up to --megabytes are filled one by one, rewritten, run before and after in a child process on one thread
with the same feeds, and deleted. With --state, what passed is noted in FILE and not run again.
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

INTERFACE = ("ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string", "opset_import",
             "metadata_props", "functions")
GRAPH_INTERFACE = ("name", "doc_string", "input", "output", "metadata_props")


# ---- in the child ---------------------------------------------------------------------------------------------------

def feeds_for(session, shapes):
    """Floats normal; integers 0 and 1, which index anything; masks all 1."""
    random = np.random.default_rng(1)
    feeds = {}
    for declared in session.get_inputs():
        shape = shapes[declared.name]
        if declared.type in ("tensor(float)", "tensor(double)", "tensor(float16)"):
            feeds[declared.name] = random.standard_normal(shape)
        elif "mask" in declared.name or declared.type == "tensor(bool)":
            feeds[declared.name] = np.ones(shape)
        else:
            feeds[declared.name] = random.integers(0, 2, shape)
        kind = {"float": "float32", "double": "float64"}.get(declared.type[7:-1], declared.type[7:-1])
        feeds[declared.name] = feeds[declared.name].astype(kind)
    return feeds


def outputs_of(path, shapes):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return [np.asarray(value) for value in session.run(None, feeds_for(session, shapes))]


def compare_runs(before, after, shapes):
    """Prints what differs between the outputs of two models; nothing if they are equal."""
    for k, (a, b) in enumerate(zip(*(outputs_of(path, json.loads(shapes)) for path in (before, after)))):
        if a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
            print(f"output {k} differs")


# ---- in the parent --------------------------------------------------------------------------------------------------

def interface_difference(before, after):
    for message, fields in ((lambda m: m, INTERFACE), (lambda m: m.graph, GRAPH_INTERFACE)):
        for field in fields:
            if getattr(message(before), field) != getattr(message(after), field):
                return f"{field} differs"
    if len(before.graph.node) != len(after.graph.node):
        return f"{len(after.graph.node)} nodes instead of {len(before.graph.node)}"
    return None


def check(name, entry, folder):
    """(seconds to rewrite, what went wrong or None)"""
    before, after = folder / "before.onnx", folder / "after.onnx"
    zoo = programs.shared("zoo")
    fill = subprocess.run([sys.executable, "-B", str(zoo / "fill.py"), str(zoo / "models" / f"{name}.onnx.zst"), str(before)],
                          capture_output=True, text=True)
    if fill.returncode != 0:
        return 0.0, f"can't be filled: {fill.stderr.strip()[-200:]}"
    rewritten = programs.run([programs.program("isomer-rewrite"), str(before), str(after)])
    if rewritten.code != 0:
        return rewritten.seconds, f"exit {rewritten.code}: {rewritten.stderr.strip()}"
    what = interface_difference(onnx.load(before, load_external_data=False), onnx.load(after, load_external_data=False))
    if what:
        return rewritten.seconds, what
    ran = subprocess.run([sys.executable, __file__, "--compare", str(before), str(after), json.dumps(entry["run_shapes"])],
                         capture_output=True, text=True)
    if ran.returncode != 0:
        return rewritten.seconds, f"the runtime: exit {ran.returncode}: {ran.stderr.strip()[-200:]}"
    return rewritten.seconds, ran.stdout.strip() or None


def main():
    if sys.argv[1:2] == ["--compare"]:
        compare_runs(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=130)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--filter", default="")
    parser.add_argument("--state", type=pathlib.Path)
    arguments = parser.parse_args()
    index = json.loads((programs.shared("zoo") / "index.json").read_text())
    names = [name for name in sorted(index, key=lambda n: (index[n]["megabytes"], n))
             if index[name]["megabytes"] <= arguments.megabytes and arguments.filter in name][:arguments.limit]
    done = set(arguments.state.read_text().split()) if arguments.state and arguments.state.exists() else set()
    rows, failures = [], 0
    for name in names:
        if name in done:
            continue
        with tempfile.TemporaryDirectory(prefix="isomer_round_trip_") as folder:
            seconds, what = check(name, index[name], pathlib.Path(folder))
        rows.append((name, index[name]["nodes"], index[name]["megabytes"], round(seconds, 2), what or "equal"))
        failures += what is not None
        print(f"{name}: {what or 'equal'}", flush=True)
        if arguments.state and not what:
            with open(arguments.state, "a") as state:
                print(name, file=state)
    programs.print_table(("model", "nodes", "MB", "s", "round trip"), rows)
    print(f"{len(names)} models: {len(names) - failures} equal bit for bit, {failures} not")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
