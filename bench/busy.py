#!/usr/bin/env python3
# nightly: --models lstm_unrolled --budget 20s | timeout=600 serial unsanitized
"""Zoo models with known gains through `isomer optimize` on a machine that is busy: two other processes for each core.

  bench/busy.py [--models NAME,...] [--budget 60s] [--each-core 2] [--kernels] [--results FILE.jsonl] [--filled DIR]
What was found is then measured again by `isomer bench`, when the other processes have ended. The gain on an idle machine is that of bench/results/zoo.jsonl,
or with --kernels that of zoo_kernels.jsonl.
Exit 1: a model that gains 1.3 or more on an idle machine came back unchanged, or something was rejected or slower.
"""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys

import _paths  # noqa: F401
import optimizing
import programs
import tell
from records import Records

MODELS = ["lstm_unrolled", "mobileone_s0", "whisper_tiny_decoder", "segformer_b0", "sd_unet_small", "regnet_y_400mf", "wav2vec2_base_4l", "shufflenet_v2_x1_0",
          "nasnetamobile", "keras_nasnetmobile", "bert_lora_r8", "ghostnet_100"]
SLOWER = 1 / 1.02
WORK = "import numpy; a = numpy.random.rand(384, 384).astype('f')\nwhile True: a = a @ a % 1"


@contextlib.contextmanager
def busy(processes):
    """Processes that multiply matrices, one thread each."""
    one_thread = os.environ | {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    started = [subprocess.Popen([sys.executable, "-c", WORK], env=one_thread) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def gains_when_idle(kernels):
    lines = (programs.ROOT / "bench" / "results" / ("zoo_kernels.jsonl" if kernels else "zoo.jsonl")).read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if "head" not in row]
    return {row["model"]: (row.get("again") or row)["ratio"] if row["result"] == "improved" else 1.0 for row in rows}


def run(name, options):
    with optimizing.filled_model(name, options.filled) as (model, folder):
        out = folder / "out.onnx"
        with busy(options.each_core * os.cpu_count()):
            row = optimizing.optimize(model, out, "--budget", options.budget, *(["--kernels"] if options.kernels else []))
        kernels = row.get("kernels") or {}
        row = {key: row[key] for key in ("result", "reason", "ratio", "low", "high", "seconds", "accepted", "check_seconds", "rejected") if key in row}
        library = ("--custom-op-library", kernels["library"]) if kernels.get("is_taken") else ()
        row["again"] = optimizing.bench(model, out, *library) if row["result"] == "improved" else None
    return {"model": name, "processes": options.each_core * os.cpu_count()} | row


def fault(row):
    again = row["again"]
    if row["result"] == "failed" or not row["accepted"]:
        return row.get("rejected") or row["reason"]
    if row["result"] != "improved" and row["idle"] >= tell.LARGE:
        return f"unchanged: {row['reason']}"
    return "it is slower" if again and again["verdict"] == "slower" and again["high"] < SLOWER else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--each-core", type=int, default=2)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    options = parser.parse_args()
    if not (programs.SHARED / "zoo").exists():
        print("the zoo is not here")
        return programs.SKIPPED
    idle, records, wrong = gains_when_idle(options.kernels), Records(options.results, "model"), 0
    for name in options.models.split(","):
        if (name,) not in records:
            records.add(run(name, options) | {"idle": idle.get(name, 1.0)})
        row = records.all[name,]
        found = f"{row['ratio']:.2f}, again {row['again']['ratio']:.2f}" if row["again"] else row["reason"]
        print(f"{name}: idle {row['idle']:.2f}, busy {found} ({row['seconds']:.0f} s)", flush=True)
        if why := fault(row):
            wrong += 1
            print(f"  WRONG {why}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
