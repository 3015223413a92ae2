#!/usr/bin/env python3
# nightly: --check | serial unsanitized
"""Ctrl-C, and SIGTERM by turns, at random moments of `isomer optimize`: how long until it ends, and whether what it leaves is valid.

  tests/evidence/interrupts.py                       20 moments within the first minute, on three models of the zoo
  tests/evidence/interrupts.py --small --moments 200 --within 6 [--record FILE.jsonl]    on a small model, early: the long form; --results FILE.jsonl goes on
                                                     where a run was stopped, --for SECONDS ends it in time
  tests/evidence/interrupts.py --check               4 moments on a small model, with a loose bound: what CI runs
"""
import argparse
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import onnx

import _paths  # noqa: F401
import programs
import reliability
import small_models
import zoo
from records import Records

MODELS = ("repvgg_a0", "resnet18.bn", "llama_tiny.dyn")
ALLOWED, LOOSE = 3, 8  # seconds
LIMITS = "some ended late: the machine was busy with other work, whose load is told above"


def interrupt(path, folder, moment, which):
    out = folder / "out.onnx"
    for stale in (out, pathlib.Path(f"{out}.cert")):
        stale.unlink(missing_ok=True)
    child = subprocess.Popen([programs.program("isomer"), "optimize", str(path), "-o", str(out), "--budget", "5m", "--json"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    answered = None
    try:
        child.wait(moment)
        return {"moment": moment, "seconds": 0.0, "answered": 0.0, "result": "done before", "valid": True}
    except subprocess.TimeoutExpired:
        pass
    start = time.monotonic()
    child.send_signal(which)
    for line in child.stderr:
        if "finishing" in line:
            answered = time.monotonic() - start
            break
    stdout, stderr = child.communicate(timeout=120)
    seconds = time.monotonic() - start
    if child.returncode != 0:
        return {"moment": moment, "seconds": seconds, "answered": answered, "result": f"exit {child.returncode}: {stderr}", "valid": False}
    answer = json.loads(stdout)
    checked = subprocess.run([programs.program("isomer"), "check", str(path), str(out), f"{out}.cert"], capture_output=True, text=True)
    left = [p.name for p in folder.iterdir() if p.name.startswith(".isomer")]
    onnx.checker.check_model(str(out))
    what = f"{answer['ratio']:.2f}x" if answer["result"] == "improved" else answer["result"]
    wrong = [f"check: {checked.stdout}{checked.stderr}"] if checked.returncode != 0 else []
    wrong += [f"left {name}" for name in left]
    if answer["stopped_by"] not in ("interrupt", "done"):
        wrong.append(f"stopped by {answer['stopped_by']}")
    return {"moment": moment, "seconds": seconds, "answered": answered, "result": "; ".join([what, *wrong]), "valid": not wrong}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--small", action="store_true")
    reliability.add_option(parser)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--for", dest="time", type=float, default=float("inf"), metavar="SECONDS")
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--within", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", nargs="*", default=MODELS)
    arguments = parser.parse_args()
    results, end = Records(arguments.results, "number"), time.monotonic() + arguments.time
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if arguments.check or arguments.small:
            path = folder / "model" / "branches.onnx"
            path.parent.mkdir()
            onnx.save(small_models.branches(1, blocks=6, channels=64, size=56), path)
            sources = [("branches", path)]
            if arguments.check:
                arguments.moments, arguments.within = 4, 12
        else:
            sources = []
            for model in arguments.models:
                place = folder / model
                place.mkdir()
                sources.append((model, zoo.fill(model, place)))
        print(f"{'model':20} {'Ctrl-C at':>9} {'answered':>9} {'ended':>7}  result")
        for k in range(arguments.moments):
            if (k,) in results or time.monotonic() > end:
                continue
            model, path = sources[k % len(sources)]
            moment = random.Random(f"{arguments.seed} {k}").uniform(0.1, arguments.within)
            row = interrupt(path, folder, moment, (signal.SIGINT, signal.SIGTERM)[k % 2])
            is_late = row["seconds"] > ALLOWED + (LOOSE if arguments.check else 0)
            wrong = f"ended after {row['seconds']:.1f} s" if is_late else ""
            wrong = wrong if row["valid"] else row["result"]
            results.add({"number": k, "wrong": f"{model} at {row['moment']:.1f} s: {wrong}" if wrong else "", "late": is_late} | row)
            answered = "-" if row["answered"] is None else f"{row['answered']:.2f}s"
            print(f"{model:20} {row['moment']:8.1f}s {answered:>9} {row['seconds']:6.2f}s{' BAD' if wrong else ''}  {row['result']}", flush=True)
    rows = list(results.all.values())
    late, wrong = sum(row["late"] for row in rows), [row["wrong"] for row in rows if row["wrong"]]
    seconds = sorted(row["seconds"] for row in rows)
    print(f"{len(rows)} interrupts, {len(wrong)} bad, the slowest ended after {seconds[-1]:.2f} s")
    reliability.record(arguments.record, "interrupts", len(rows), wrong, LIMITS if late and not arguments.check else "", later_than_3_s=late,
                       done_before=sum(row["result"] == "done before" for row in rows),
                       median_seconds=round(seconds[len(seconds) // 2], 2), slowest_seconds=round(seconds[-1], 2))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
