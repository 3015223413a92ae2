#!/usr/bin/env python3
# nightly: --check | timeout=900
"""Other tools' outputs: zoo models through onnxsim, OnnxSlim and onnxoptimizer, each output against its original.

  bench/prove_tools.py --python PYTHON [--models 60] [--largest 120] [--filter TEXT] [--tool onnxsim|onnxslim|onnxoptimizer] [--seconds 60]
                       [--results FILE.jsonl] [--check]
PYTHON is that of an environment which has the tools (python3 -m venv DIR; DIR/bin/pip install onnxsim onnxslim onnxoptimizer). Models of up to
--largest MB, small ones first. A refuted output is run by ONNX Runtime beside its original: equal there means that we are wrong, and this
fails; otherwise it is a bug of that tool, to be looked at. --results keeps what was answered; a second run goes on from there.
"""
import argparse
import os
import pathlib
import sys
import tempfile

import onnx

import _paths  # noqa: F401
import programs
import proving
import zoo
from records import Records

TOOLS = tuple(zoo.TOOLS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=os.environ.get("ISOMER_TOOLS_PYTHON"))
    parser.add_argument("--models", type=int, default=60)
    parser.add_argument("--largest", type=float, default=120)
    parser.add_argument("--filter", default="")
    parser.add_argument("--tool", action="append", choices=TOOLS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if not given.python:
        print("no environment with these tools (--python): skipped")
        return programs.SKIPPED
    if given.check:
        given.models, given.seconds = 2, 10
    names = [n for n in zoo.names(text=given.filter) if zoo.index()[n]["megabytes"] <= given.largest]
    names = names[::max(1, len(names) // given.models)][:given.models]
    tools = given.tool or list(TOOLS)
    records = Records(given.results, "model", "tool")
    for name in names:
        todo = [t for t in tools if (name, t) not in records]
        if not todo:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            original = folder / "original.onnx"
            onnx.save(onnx.load(zoo.fill(name, folder)), original)
            for tool in todo:
                path = folder / f"{tool}.onnx"
                is_there = zoo.rewritten(given.python, tool, original, path, even_if_unsure=True)
                answer = proving.prove_and_run(original, path, given.seconds) if is_there else {"verdict": "tool failed"}
                records.add({"model": name, "tool": tool} | answer)
    asked = [r for r in records.all.values() if r["verdict"] != "tool failed"]
    proving.tell_unproved(("model", "tool"), asked)
    for tool in tools:
        proving.tell(tool, [r for r in asked if r["tool"] == tool])
    print(f"{len(records.all) - len(asked)} times the tool itself failed")
    return 1 if proving.false_refutations(asked) else 0


if __name__ == "__main__":
    sys.exit(main())
