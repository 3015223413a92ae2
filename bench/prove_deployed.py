#!/usr/bin/env python3
"""Deployed models and their twins, by `isomer prove`.

  bench/prove_deployed.py [--kept DIR] [--filled DIR] [--tools PYTHON] [--seconds 120] [--results FILE.jsonl] [--only TEXT]
Two kinds of pairs: a model with QuantizeLinear and DequantizeLinear and the same with QLinear operators; a model in float16 and what onnxsim makes
of it (of the environment of --tools; without it these are left out). Of the first kind the answer may be "equal but for the last digits
of constants": a bias is stored with the product of two scales, and one of the twins has rounded it.
--kept has the models, or gets them (bench/make_deployed.py). Decoders by two exporters: bench/prove_exporters.py. Fails if a pair is refuted.
"""
import argparse
import contextlib
import pathlib
import sys
import tempfile

import _paths  # noqa: F401
import make_deployed
import programs
import proving
import zoo
from records import Records

QUANTISED = ("squeezenet1_1", "mobilenet_v2", "resnet18", "mobilenet_v3_small")
HALVES = ("squeezenet1_1", "mobilenet_v2", "vit_small_patch16", "levit_128s")


@contextlib.contextmanager
def pair_of(name, kind, options):
    """Both files; the second is None where there is no twin."""
    with contextlib.ExitStack() as stack:
        def opened(full_name):
            return stack.enter_context(make_deployed.deployed_model(full_name, options.kept, options.filled))[0]
        if kind == "qdq, qop":
            yield opened(f"{name}.qdq"), opened(f"{name}.qop")
        else:
            simplified = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())) / "simplified.onnx"
            original = opened(f"{name}.fp16")
            yield original, simplified if zoo.rewritten(options.tools, "onnxsim", original, simplified) else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--kept", "--filled", "--results"):
        parser.add_argument(option, type=pathlib.Path)
    parser.add_argument("--tools")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    records = Records(options.results, "model", "pair")
    wanted = [(n, "qdq, qop") for n in QUANTISED] + [(n, "fp16, onnxsim") for n in HALVES if options.tools]
    for name, kind in wanted:
        if (name, kind) in records or options.only not in f"{name} {kind}":
            continue
        with pair_of(name, kind, options) as (a, b):
            if b:
                records.add({"model": name, "pair": kind} | proving.prove_and_run(a, b, options.seconds))
    rows = [r for r in records.all.values() if options.only in f"{r['model']} {r['pair']}"]
    programs.print_table(("model", "pair", "verdict", "s", "why"), [(r["model"], r["pair"], r["verdict"], r["seconds"], r["why"]) for r in rows])
    proved, digits = sum(r["verdict"] == "proved" for r in rows), sum("last digits" in r["why"] for r in rows)
    print(f"{proved} of {len(rows)} proved equal, {digits} equal but for the last digits of constants before a jump")
    return 1 if any(r["verdict"] in ("refuted", "crashed") for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
