#!/usr/bin/env python3
"""Exporters: one PyTorch module with the same weights, by the legacy exporter and by dynamo. Are the two files the same model?

  bench/prove_exporters.py --python PYTHON [--models NAME,...] [--exports DIR] [--seconds 60] [--results FILE.jsonl]
PYTHON is that of an environment with PyTorch, torchvision, timm, transformers and onnxscript; ../shared/zoo/README.md says how to have one.
DIR keeps the exports. A refuted pair is run by ONNX Runtime: equal there means that we are wrong, and this fails; otherwise one of the
exporters is. --results keeps what was answered; a second run goes on from there.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import _paths  # noqa: F401
import programs
import proving
from records import Records

MODELS = ("resnet18,mobilenet_v2,mobilenet_v3_small,efficientnet_b0,densenet121,googlenet,squeezenet1_1,shufflenet_v2_x1_0,mnasnet1_0,"
          "regnet_y_400mf,convnext_tiny,vit_small_patch16,swin_t,repvgg_a0,ghostnet_100,mixer_s32,bert_base_sdpa_4l,llama_tiny,moe_dense,unet_bn")
EXPORT = """
import sys
sys.path.insert(0, sys.argv[1])
import export_zoo
export_zoo.export(sys.argv[2], sys.argv[3], sys.argv[4])
"""


def export(python, name, variant, folder):
    """The exported file; None: the exporter failed."""
    path = folder / f"{name}{'.' + variant if variant else ''}.onnx"
    if not path.exists():
        done = subprocess.run([python, "-B", "-c", EXPORT, str(programs.shared("zoo/export")), name, variant, str(folder)],
                              capture_output=True, text=True, timeout=900)
        if not path.exists():
            print(f"{name} {variant or 'legacy'}: {done.stderr.strip().splitlines()[-1:]}")
    return path if path.exists() else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--exports", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--results", type=pathlib.Path)
    given = parser.parse_args()
    records = Records(given.results, "model")
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.exports or pathlib.Path(scratch)
        folder.mkdir(exist_ok=True)
        for name in given.models.split(","):
            if (name,) in records:
                continue
            legacy, dynamo = (export(given.python, name, variant, folder) for variant in ("", "dynamo"))
            if legacy and dynamo:
                records.add({"model": name} | proving.prove_and_run(legacy, dynamo, given.seconds))
    answers = list(records.all.values())
    proving.tell_unproved(("model",), answers)
    proving.tell("legacy against dynamo", answers)
    return 1 if proving.false_refutations(answers) else 0


if __name__ == "__main__":
    sys.exit(main())
