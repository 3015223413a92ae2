#!/usr/bin/env python3
# ci: --limit 12
"""Inferred shapes against computed ones: every value of every zoo model, at three sizes where its inputs have symbolic ones.

  tests/evidence/shapes.py [--limit N] [--filter TEXT] [--megabytes M] [--verbose]
Shapes are inferred once, symbolically; ONNX Runtime computes the shape of every value in a child process, with weights of
zeros. Rank and extents must agree. An extent that depends on the values of a tensor has a symbol of its own ("?name.axis") and
agrees with anything; the number of values that have one is printed. Exit 1 if a shape differs or less than 99 per cent of them are known.
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

STEPS = (0, 1, 3)  # added to every symbolic size: sizes that depend on each other (past and total) stay consistent


# ---- in the child ---------------------------------------------------------------------------------------------------

def computed_shapes(path, runs):
    """Prints, for each run, the shape of every value that a node of the main graph puts out."""
    import onnxruntime

    from round_trip import feeds_for
    onnxruntime.set_default_logger_severity(4)
    model = onnx.load(path, load_external_data=False)
    names = [name for node in model.graph.node for name in node.output if name]
    del model.graph.output[:]
    for k, name in enumerate(names):
        model.graph.node.append(onnx.helper.make_node("Shape", [name], [f"isomer_shape_{k}"]))
        model.graph.output.append(onnx.helper.make_tensor_value_info(f"isomer_shape_{k}", onnx.TensorProto.INT64, None))
    del model.graph.value_info[:]
    probed = pathlib.Path(path).with_name("probed.onnx")
    probed.write_bytes(model.SerializeToString())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(probed), options, providers=["CPUExecutionProvider"])
    for shapes in json.loads(runs):
        results = session.run(None, feeds_for(session, shapes))
        print(json.dumps({name: np.asarray(shape).tolist() for name, shape in zip(names, results)}), flush=True)


# ---- in the parent --------------------------------------------------------------------------------------------------

def sizes_of(entry):
    """The sizes to run at: for each, the value of every symbol, and the shape of every input."""
    symbols = {dim: entry["run_shapes"][name][i] for name, (_, dims) in entry["inputs"].items()
               for i, dim in enumerate(dims) if isinstance(dim, str)}
    for step in STEPS if symbols else STEPS[:1]:
        values = {symbol: value + step for symbol, value in symbols.items()}
        yield values, {name: [values[dim] if isinstance(dim, str) else extent for dim, extent in zip(dims, entry["run_shapes"][name])]
                       for name, (_, dims) in entry["inputs"].items()}


class Tally:
    def __init__(self):
        self.values = self.complete = self.dependent = self.compared = 0
        self.differences = []

    def add(self, model, inferred, runs):
        for name, info in inferred.items():
            self.values += 1
            if info["shape"] is None:
                continue
            self.complete += 1
            self.dependent += any("?" in dim for dim in info["shape"])
            for expected, computed in zip(info["extents"], runs):
                actual = computed[name]
                self.compared += 1
                agrees = len(actual) == len(expected) and all(e is None or a == e for a, e in zip(actual, expected))
                if not agrees:
                    self.differences.append((model, info["op"], name, f"inferred {info['shape']}, computed {actual}"))
                    break


def judge(name, entry, folder, tally):
    """What went wrong, or None."""
    path = zoo.hollow(name, folder)
    sizes = list(sizes_of(entry))
    lists = [",".join(f"{k}={v}" for k, v in values.items()) for values, _ in sizes]
    ran = programs.run([programs.program("isomer-value-shapes"), str(path), *lists])
    if ran.code != 0:
        return f"exit {ran.code}: {ran.stderr.strip()}"
    child = subprocess.run([sys.executable, __file__, "--compute", str(path), json.dumps([shapes for _, shapes in sizes])],
                           capture_output=True, text=True)
    runs = [json.loads(line) for line in child.stdout.splitlines()]
    tally.add(name, json.loads(ran.stdout), runs)
    if child.returncode != 0:
        return f"the runtime, at size {len(runs)}: {child.stderr.strip()[-300:]}"
    return None


def main():
    if sys.argv[1:2] == ["--compute"]:
        computed_shapes(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--filter", default="")
    parser.add_argument("--megabytes", type=float, default=1e9)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    index, tally, failures, sizes = zoo.index(), Tally(), 0, 0
    names = [n for n in zoo.names(text=arguments.filter) if index[n]["megabytes"] <= arguments.megabytes][:arguments.limit]
    for name in names:
        with tempfile.TemporaryDirectory(prefix="isomer_shapes_") as folder:
            before = len(tally.differences), tally.values - tally.complete
            failure = judge(name, index[name], pathlib.Path(folder), tally)
        sizes += len(list(sizes_of(index[name])))
        failures += failure is not None
        if failure:
            print(f"{name}: {failure}", flush=True)
        for model, op, value, what in tally.differences[before[0]:None if arguments.verbose else before[0] + 3]:
            print(f"{model}: {op} {value}: {what}", flush=True)
        unknown = tally.values - tally.complete - before[1]
        if unknown:
            print(f"{name}: {unknown} values without a shape", flush=True)
    share = 100 * tally.complete / max(tally.values, 1)
    print(f"{len(names)} models at {sizes} sizes, {tally.values} values: {tally.complete} with a complete shape ({share:.2f} %), of which "
          f"{tally.dependent} have an extent that depends on values; {tally.compared} compared, {len(tally.differences)} differ; "
          f"{failures} models did not run")
    return 1 if tally.differences or failures or share < 99 else 0


if __name__ == "__main__":
    sys.exit(main())
