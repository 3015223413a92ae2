#!/usr/bin/env python3
# nightly: --limit 5 --budget 10s --seconds 60 | timeout=900 serial unsanitized
"""The zoo through `isomer optimize`: faster or the same bytes, accepted by the checker, never slower.

  bench/zoo_optimize.py [--models NAME,...] [--limit N] [--budget 60s] [--results FILE.jsonl] [--filled DIR] [--tools PYTHON]
                        [--runtime ort|openvino] [--threads N] [--kernels]
The 77 plain models, small ones first. Each is optimized, checked, and, if it was changed, measured again by `isomer bench`,
independently. Slower means slower beyond 1.02 in both runs. What inputs, outputs, opsets and metadata say must be as it was.
--models two-threads and --models openvino are the models for those: twelve and ten, of all kinds. --kernels: `isomer optimize --kernels`.
--results keeps what is done, so that a run may be interrupted; --filled keeps the models' weights. --tools: a Python that has onnxsim,
onnxslim and onnxoptimizer; their results are measured beside ours. The table is Markdown. Fails if anything is rejected, slower or changed
in its interface.
"""
import argparse
import math
import pathlib
import statistics
import sys
import time

import onnx

import _paths  # noqa: F401
import optimizing
import programs
import zoo
from records import Records

SLOWER = 1 / 1.02
# The speed that the models' authors reach by fusing in PyTorch, from the project's issue.
BY_NAME = {"mobileone_s0": 3.64, "mobileone_s1": 1.14, "repvgg_a0": 1.14, "repvgg_a2": 1.13, "repvit_m1": 1.09, "bert_lora_r8": 1.25}
# All kinds: plain, depthwise and branched convolutions, transformers, recurrent and generative models.
TWO_THREADS = ["resnet18", "mobilenet_v2", "efficientnet_b0", "nasnetamobile", "mobileone_s0", "repvgg_a0", "segformer_b0", "levit_128s",
               "bert_base_sdpa_4l", "wav2vec2_base_4l", "lstm_unrolled", "sd_unet_small"]
FOR_OPENVINO = ["resnet18", "mobileone_s0", "repvgg_a0", "efficientnet_b0", "nasnetamobile", "segformer_b0", "levit_128s",
                "bert_base_sdpa_4l", "wav2vec2_base_4l", "lstm_unrolled"]


KERNELS = "isomer"  # the domain of kernels
FIRST_IR_WITH_FUNCTIONS = 8


def interface(path, has_kernels=False):
    """All that a caller sees of a model. With kernels a model has functions, which older IR versions do not know."""
    model = onnx.load(path, load_external_data=False)
    ir_version = max(model.ir_version, FIRST_IR_WITH_FUNCTIONS if has_kernels else 0)
    return ([v.SerializeToString() for v in model.graph.input], [v.SerializeToString() for v in model.graph.output],
            sorted((o.domain, o.version) for o in model.opset_import if o.domain != KERNELS), ir_version,
            sorted(programs.own_metadata(model).items()))


KEPT = ("result", "reason", "ratio", "low", "high", "error_before", "error_after", "bytes_in", "bytes_out", "steps", "stopped_by", "seconds",
        "peak_bytes", "accepted", "check_seconds", "rejected")


def optimize(model, folder, options):
    out = folder / "out.onnx"
    judge = ("--runtime", options.runtime, "--threads", str(options.threads))
    feeds = model.with_suffix(".npz")  # that a model brings with it
    judge += ("--feeds", str(feeds)) if feeds.exists() else ()
    row = optimizing.optimize(model, out, "--budget", options.budget, *judge, *(["--kernels"] if options.kernels else []))
    kernels = row.get("kernels") or {}
    row = {key: row[key] for key in KEPT if key in row}
    if options.kernels:
        row |= {"kernels": kernels.get("is_taken", False), "why_no_kernels": kernels.get("reason", "")}
        judge += ("--custom-op-library", kernels["library"]) if row["kernels"] else ()
    if row["result"] == "failed":
        return row
    has_kernels = row.get("kernels", False)
    row["same_interface"] = interface(model, has_kernels) == interface(out, has_kernels)
    if row["result"] == "improved":
        row["again"] = optimizing.bench(model, out, *judge)
    return row


def other_tools(model, folder, python):
    paths = {tool: folder / f"{tool}.onnx" for tool in zoo.TOOLS}
    return {tool: optimizing.bench(model, path) if zoo.rewritten(python, tool, model, path) else None for tool, path in paths.items()}


def is_slower(row):
    again = row.get("again")
    return bool(again) and again["verdict"] == "slower" and again["high"] < SLOWER and row["ratio"] < SLOWER


def faults(rows):
    for name, row in rows.items():
        if row["result"] == "failed":
            yield name, row["reason"]
        elif not row["accepted"]:
            yield name, "rejected: " + row["rejected"]
        elif not row["same_interface"]:
            yield name, "its interface was changed"
        elif is_slower(row):
            yield name, "it is slower"


def ratio_text(pair):
    return f"{pair['ratio']:.3f} [{pair['low']:.2f}, {pair['high']:.2f}]" if pair and pair["ratio"] else "-"


def print_table(rows):
    tools = [t for t in zoo.TOOLS if any(t in row.get("tools", {}) for row in rows.values())]
    print("| model | result | again | steps | size | error | check s | " + "".join(f"{t} | " for t in tools) + "why not |")
    print("|---|---|---|---|---:|---|---:|" + "---|" * (len(tools) + 1))
    for name, row in sorted(rows.items()):
        if row["result"] == "failed":
            print(f"| {name} | failed | | | | | | " + "| " * len(tools) + f"{row['reason']} |")
            continue
        changed = row["result"] == "improved"
        steps = ", ".join(f"{s['count']} {s['kind']}" for s in row["steps"]) if changed else ""
        error = f"{row['error_before']:.0e} → {row['error_after']:.0e}" if changed and row["error_before"] is not None else ""
        others = "".join(f"{ratio_text(row.get('tools', {}).get(t))} | " for t in tools)
        print(f"| {name} | {ratio_text(row) if changed else 'the same'} | {ratio_text(row.get('again'))} | {steps} | "
              f"{row['bytes_out'] / max(1, row['bytes_in']):.2f} | {error} | {row['check_seconds']:.1f} | {others}"
              f"{'' if changed else row['reason']} |")
    gains = [row["again"]["ratio"] if row["result"] == "improved" and row.get("again") else 1.0
             for row in rows.values() if row["result"] != "failed"]
    improved = sum(g > 1 for g in gains)
    if gains:
        print(f"\n{len(gains)} models: {improved} improved, geometric mean {math.exp(statistics.fmean(map(math.log, gains))):.3f}, "
              f"median {statistics.median(gains):.3f}, best {max(gains):.2f}")
    for tool in tools:
        ratios = [row["tools"][tool]["ratio"] for row in rows.values() if row.get("tools", {}).get(tool)]
        if ratios:
            print(f"{tool}: {len(ratios)} models, geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.3f}")
    for name, wanted in BY_NAME.items():
        if name in rows and rows[name]["result"] != "failed":
            reached = (rows[name].get("again") or {}).get("ratio") or 1.0
            print(f"by name: {name} {reached:.2f}, wanted {wanted:.2f} ({reached / wanted:.2f} of it)")


def add_options(parser):
    """What every script has that runs `optimize` on many models."""
    parser.add_argument("--models", default="")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--tools")
    parser.add_argument("--runtime", choices=("ort", "openvino"), default="ort")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--seconds", type=float, default=math.inf, help="start no model after so long")


def run_all(names, opened, options):
    """A row for each model, which `opened` gives by its name with a folder to write into; what is done is kept. Exits with 1 if anything is wrong."""
    start = time.monotonic()
    records = Records(options.results, "model")
    for name in names:
        if (name,) in records or time.monotonic() - start > options.seconds:
            continue
        with opened(name) as (model, folder):
            row = optimize(model, folder, options)
            if options.tools:
                row["tools"] = other_tools(model, folder, options.tools)
        print(f"{name}: {row['result']} {ratio_text(row.get('again'))} {row.get('reason', '')}", file=sys.stderr, flush=True)
        records.add({"model": name} | row)
    rows = {name: records.all[name,] for name in names if (name,) in records}
    print_table(rows)
    wrong = list(faults(rows))
    for name, why in wrong:
        print(f"WRONG {name}: {why}")
    sys.exit(1 if wrong else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    options = parser.parse_args()
    lists = {"two-threads": TWO_THREADS, "openvino": FOR_OPENVINO}
    names = lists.get(options.models) or options.models.split(",") if options.models else [n for n in zoo.names() if "." not in n][:options.limit]
    run_all(names, lambda name: optimizing.filled_model(name, options.filled), options)


if __name__ == "__main__":
    main()
