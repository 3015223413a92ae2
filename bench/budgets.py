#!/usr/bin/env python3
# nightly: --check | serial unsanitized
"""How long `isomer optimize` takes against the budget that it was given: at most 10 % and 2 s more.

  bench/budgets.py                 budgets of 5, 10, 30 and 60 s on six models of the zoo (11 minutes)
  bench/budgets.py --results FILE.jsonl   the same, kept
  bench/budgets.py --check         5 s on two small models of our own, with a loose bound: what CI runs
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import onnx

import _paths  # noqa: F401
import programs
import small_models
import zoo
from records import Records

MODELS = ("squeezenet1_1", "mobilenet_v2", "repvgg_a0", "resnet18.bn", "llama_tiny.dyn", "resnet50")
BUDGETS = (5, 10, 30, 60)
LOOSE = 8  # seconds: on a machine that does other things


def allowed(budget):
    return 1.1 * budget + 2


def run(path, budget, folder):
    out = folder / "out.onnx"
    start = time.monotonic()
    ran = subprocess.run([programs.program("isomer"), "optimize", str(path), "-o", str(out), "--budget", f"{budget}s", "--json",
                          "--quiet"], capture_output=True, text=True, check=True)
    seconds = time.monotonic() - start
    answer = json.loads(ran.stdout)
    left = [p.name for p in folder.iterdir() if p.name.startswith(".isomer")]
    return {"seconds": seconds, "result": answer["result"], "ratio": answer["ratio"], "reason": answer["reason"],
            "stopped_by": answer["stopped_by"], "left": left}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--budgets", nargs="*", type=float, default=BUDGETS)
    arguments = parser.parse_args()
    late = 0
    records = Records(arguments.results, "model", "budget")
    print(f"{'model':24} {'budget':>7} {'allowed':>8} {'taken':>7}  result")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if arguments.check:
            sources = {"branches": small_models.branches(1, blocks=6, channels=64, size=56), "plain": small_models.plain(1)}
            arguments.budgets = [5]
        else:
            sources = {m: None for m in arguments.models}
        for model, made in sources.items():
            place = folder / model
            place.mkdir()
            path = place / "model.onnx"
            if made is None:
                path = zoo.fill(model, place)
            else:
                onnx.save(made, path)
            for budget in arguments.budgets:
                row = run(path, budget, folder)
                records.add({"model": model, "budget": budget} | row)
                bound = allowed(budget) + (LOOSE if arguments.check else 0)
                is_late = row["seconds"] > bound or row["left"]
                late += bool(is_late)
                what = f"{row['ratio']:.2f}x" if row["result"] == "improved" else f"{row['result']}: {row['reason']}"
                print(f"{model:24} {budget:6g}s {bound:7.1f}s {row['seconds']:6.1f}s{' LATE' if is_late else ''}  {what}", flush=True)
    print(f"{late} of {len(sources) * len(arguments.budgets)} runs took longer than allowed")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
