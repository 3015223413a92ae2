#!/usr/bin/env python3
"""What compiled models need of memory: the planned workspace, beside a greedy plan, the sum of its tensors, and the peak of ONNX Runtime.

  bench/compile_memory.py [--models NAME,...] [--results FILE.jsonl] [--filled DIR] [--plans]
Twenty models of the zoo. The workspace is all that a run of a module writes besides its outputs; its tensors together are what that would be if none of them
shared memory. A greedy plan places the largest tensors first; where that is more than what lives at the same time, which no plan is below, an exact one is
asked of HiGHS. A module's whole need is workspace and weights, which are mapped. The runtime's peak is what `isomer bench` sees of loading and running
the model in a process of its own, weights included. --plans: only plans, without a C++ compiler (a stand-in writes empty files) and without the runtime.
The table is Markdown. Fails if a workspace is larger than its tensors together, or than the greedy plan's.
"""
import argparse
import json
import pathlib
import sys

import _paths  # noqa: F401
import modules
import programs
import zoo
from records import Records

TWENTY = ["squeezenet1_1", "mobilenet_v2", "mobilenet_v3_small", "resnet18", "resnet50", "vgg16", "googlenet", "densenet121", "inception_v3", "efficientnet_b0",
          "shufflenet_v2_x1_0", "unet_bn", "convnext_tiny", "levit_128s", "segformer_b0", "vit_small_patch16", "bert_base", "gpt2", "llama_tiny", "lstm_tagger"]


KEYS = ("workspace_bytes", "greedy_workspace_bytes", "least_workspace_bytes", "tensor_bytes", "weight_bytes")


# Called as a compiler: makes the file that -o names, and nothing else.
STAND_IN = '''#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = -o ] && : > "$2"; shift; done
'''


def measure(name, model, folder, plans):
    sizes, options = zoo.shape_options(name), []
    if plans:
        stand_in = folder / "compiler"
        stand_in.write_text(STAND_IN, encoding="utf-8")
        stand_in.chmod(0o755)
        options = ["--compiler", str(stand_in)]
    made = modules.compile_model(model, folder / "compiled", *sizes, *options)
    if made.returncode != 0:
        return {"failure": (made.stderr or made.stdout).strip()[-200:]}
    if plans:
        return {key: made.answer[key] for key in KEYS}
    ran = programs.run([programs.program("isomer"), "bench", str(model), "--seconds", "1", "--quiet", "--json", *sizes], 600)
    told = json.loads(ran.stdout)["models"][0] if ran.code == 0 else {}
    return {key: made.answer[key] for key in KEYS} | {"ort_peak_bytes": told.get("peak_bytes")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(TWENTY))
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--plans", action="store_true")
    options = parser.parse_args()
    records, names = Records(options.results, "model"), options.models.split(",")
    for name, model, folder in zoo.filled_one_by_one(names, records, options.filled):
        records.add({"model": name} | measure(name, model, folder, options.plans))
    print("| model | workspace MB | greedy plan MB | no plan is below MB | tensors MB | weights MB | runtime's peak MB |\n|---|" + "---:|" * 6)
    faults = 0
    for name in names:
        row = records.all[name,]
        if "failure" in row:
            print(f"| {name} | {row['failure']} | | | | | |")
            faults += 1
            continue
        faults += row["workspace_bytes"] > min(row["tensor_bytes"], row["greedy_workspace_bytes"])
        figures = [row.get(k) for k in (*KEYS, "ort_peak_bytes")]
        print(f"| {name} | " + " | ".join("" if f is None else f"{f / 1e6:.1f}" for f in figures) + " |")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
