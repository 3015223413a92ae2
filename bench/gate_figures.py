#!/usr/bin/env python3
"""How often `isomer gate` is right: a planted slowdown of 5 %, a model against itself, and a changed weight.

  bench/gate_figures.py --record bench/results/gate.jsonl    20 slowdowns, 50 times nothing, 20 weights (half an hour); goes on where it was stopped
  bench/gate_figures.py --short                              two of each

The slow model has one more layer of twenty equal ones, so it takes 21/20 of the time. Each record has the machine's load when it began:
the promise (19 of 20 caught, at most 1 false alarm of 50) is for a quiet core.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import _paths  # noqa: F401
import programs
from records import Records

LAYERS = 20
EXIT = {0: "passes", 1: "fails", 3: "unsure"}


def model(kind, layers, seed):
    """Equal layers, one after the other: matrix products or convolutions, each with a Tanh that keeps numbers small."""
    draw = np.random.default_rng(seed)
    shape = [64, 256] if kind == "matmul" else [1, 48, 28, 28]
    nodes, weights, value = [], [], "x"
    for k in range(layers):
        size = (256, 256) if kind == "matmul" else (48, 48, 3, 3)
        weights.append(numpy_helper.from_array((draw.standard_normal(size) * 0.05).astype(np.float32), f"w{k}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{k}"], [f"p{k}"], name=f"product{k}") if kind == "matmul" else
                     helper.make_node("Conv", [value, f"w{k}"], [f"p{k}"], name=f"product{k}", pads=[1, 1, 1, 1]))
        value = f"v{k}" if k + 1 < layers else "y"
        nodes.append(helper.make_node("Tanh", [f"p{k}"], [value], name=f"tanh{k}"))
    io = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "layers", [io[0]], [io[1]], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def changed_weight(made, seed):
    """The model with one element of one weight changed, by a thousandth of its value or more."""
    draw = np.random.default_rng(seed)
    out = onnx.ModelProto()
    out.CopyFrom(made)
    weight = out.graph.initializer[draw.integers(len(out.graph.initializer))]
    array = numpy_helper.to_array(weight).copy()
    at = tuple(int(draw.integers(n)) for n in array.shape)
    array[at] *= np.float32(1 + 10.0 ** draw.uniform(-3, 1))
    weight.CopyFrom(numpy_helper.from_array(array, weight.name))
    return out


def pair(case, number):
    kind = ("matmul", "conv")[number % 2]
    base = model(kind, LAYERS, number)
    if case == "slower":
        return base, model(kind, LAYERS + 1, number)
    return base, changed_weight(base, number) if case == "weight" else base


def gate(case, number, folder):
    paths = [folder / f"{name}.onnx" for name in ("base", "new")]
    for path, made in zip(paths, pair(case, number)):
        onnx.save(made, path)
    options = ["--equal", "--min-ratio", "0.5", "--seconds", "5"] if case == "weight" else []
    load, start = round(os.getloadavg()[0], 1), time.monotonic()
    ran = subprocess.run([programs.program("isomer"), "gate", *map(str, paths), "--json", "--quiet", "--seed", str(number), *options],
                         capture_output=True, text=True, check=False)
    answer = json.loads(ran.stdout)
    if EXIT.get(ran.returncode) != answer["verdict"]:
        sys.exit(f"exit {ran.returncode} and {answer['verdict']}")
    return {"case": case, "number": number, "verdict": answer["verdict"], "ratio": answer["speed"]["ratio"], "low": answer["speed"]["low"],
            "high": answer["speed"]["high"], "rounds": answer["speed"]["rounds"], "proof": answer["equality"] and answer["equality"]["proof"],
            "seconds": round(time.monotonic() - start, 1), "load": load}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit 1 if the promise is not kept")
    arguments = parser.parse_args()
    wanted = {"slower": 2, "same": 2, "weight": 2} if arguments.short else {"slower": 20, "same": 50, "weight": 20}
    records = Records(arguments.record, "case", "number")
    for case, count in wanted.items():
        for number in range(count):
            if (case, number) in records:
                continue
            with tempfile.TemporaryDirectory() as name:
                record = gate(case, number, pathlib.Path(name))
            records.add(record)
            print(json.dumps(record), flush=True)
    counts = {}
    for case, count in wanted.items():
        verdicts = [records.all[(case, number)]["verdict"] for number in range(count)]
        counts[case] = {verdict: verdicts.count(verdict) for verdict in EXIT.values()}
        print(f"{case}: " + ", ".join(f"{number} {verdict}" for verdict, number in counts[case].items()))
    is_right = counts["slower"]["fails"] * 20 >= 19 * wanted["slower"] and counts["same"]["fails"] * 50 <= wanted["same"] and \
        counts["weight"]["fails"] == wanted["weight"]
    return 1 if arguments.check and not is_right else 0


if __name__ == "__main__":
    sys.exit(main())
