#!/usr/bin/env python3
"""Other tools' outputs: zoo models through onnxsim and OnnxSlim, each output against its original.

  tests/prove_tools.py --python PYTHON [--models 60] [--largest 120] [--filter TEXT] [--tool onnxsim|onnxslim] [--seconds 60]
                       [--results FILE.jsonl] [--check]
PYTHON is that of an environment which has the tools (python3 -m venv DIR; DIR/bin/pip install onnxsim onnxslim). Models of up to
--largest MB, small ones first. A refuted output is run by ONNX Runtime beside its original: equal there means that we are wrong, and this
fails; otherwise it is a bug of that tool, to be looked at. --results keeps what was answered; a second run goes on from there.
"""
import argparse
import collections
import json
import os
import pathlib
import statistics
import sys
import tempfile

import onnx

import programs
import zoo
from prove_mutants import loads, runtime_difference

TOOLS = ("onnxsim", "onnxslim")


def run_one(name, tool, original, folder, given):
    path = folder / f"{tool}.onnx"
    record = {"model": name, "tool": tool, "verdict": "tool failed", "why": "", "seconds": 0.0}
    if not zoo.rewritten(given.python, tool, original, path, even_if_unsure=True):
        return record
    outcome = programs.run([programs.program("isomer"), "prove", original, path, "--json", "--budget", f"{given.seconds}s"],
                           4 * given.seconds + 60)
    record |= {"seconds": round(outcome.seconds, 1), "peak_mb": outcome.peak_bytes >> 20,
               "nodes": [len(onnx.load(p, load_external_data=False).graph.node) for p in (original, path)],
               "mb": round((original.stat().st_size + path.stat().st_size) / 1e6, 1)}
    try:
        answer = json.loads(outcome.stdout)
    except json.JSONDecodeError:
        return record | {"verdict": "crashed", "why": outcome.stderr[-300:]}
    record |= {"verdict": answer.get("verdict", "error"), "why": answer.get("why") or str(answer.get("error", ""))}
    record["rounded"] = answer.get("constants_rounded", 0)
    if record["verdict"] == "refuted":
        a, b = loads(original), loads(path)
        record["difference"] = runtime_difference(a, b, 1) if a and b else None
    return record


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
        print("no environment with onnxsim and OnnxSlim (--python): skipped")
        return programs.SKIPPED
    if given.check:
        given.models, given.seconds = 2, 10
    names = [n for n in zoo.names(text=given.filter) if zoo.index()[n]["megabytes"] <= given.largest]
    names = names[::max(1, len(names) // given.models)][:given.models]
    known = {}
    if given.results and given.results.exists():
        known = {(r["model"], r["tool"]): r for r in map(json.loads, given.results.read_text().splitlines())}
    records = []
    for name in names:
        tools = given.tool or list(TOOLS)
        records += [known[name, t] for t in tools if (name, t) in known]
        todo = [t for t in tools if (name, t) not in known]
        if not todo:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            original = folder / "original.onnx"
            onnx.save(onnx.load(zoo.fill(name, folder)), original)
            for tool in todo:
                record = run_one(name, tool, original, folder, given)
                records.append(record)
                if given.results:
                    with given.results.open("a") as file:
                        file.write(json.dumps(record) + "\n")
    rows = [(r["model"], r["tool"], r["verdict"], r["seconds"], r["why"][:80]) for r in records if r["verdict"] != "proved"]
    if rows:
        programs.print_table(("model", "tool", "verdict", "seconds", "why"), rows)
    for tool in TOOLS:
        mine = [r for r in records if r["tool"] == tool]
        counts = collections.Counter(r["verdict"] for r in mine)
        asked = len(mine) - counts["tool failed"]
        if asked:
            print(f"{tool}: {asked} outputs, {counts['proved']} proved ({counts['proved'] / asked:.0%}), {counts['refuted']} refuted, "
                  f"{counts['undecided']} undecided, {counts['tool failed']} where the tool failed; "
                  f"median {statistics.median(r['seconds'] for r in mine):.1f} s, slowest {max(r['seconds'] for r in mine):.1f} s")
    wrong = [r for r in records if r["verdict"] == "refuted" and r.get("difference") is not None and r["difference"] < 1e-4]
    for r in wrong:
        print(f"WRONG: {r['model']} by {r['tool']} is refuted, and ONNX Runtime shows it equal ({r['difference']:.1e})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
