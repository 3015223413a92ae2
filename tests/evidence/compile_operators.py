#!/usr/bin/env python3
# nightly: Cast Conv Gather MaxPool Mod Pad Resize ScatterND Slice --cases 4 | timeout=1200
"""Every operator's drawn cases through `isomer compile`, compared with what its formula evaluates to.

  tests/evidence/compile_operators.py [OP ...] [--cases 40] [--empty]
The cases are those of tests/evidence/contract_ort.py, which compares the formulas with ONNX Runtime, with its tolerances; those of one operator and opset are
compiled together, and alone where that fails. Compiled code runs in a child. Exit 1 if a case is not compiled, differs or ends its process.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx

import _paths  # noqa: F401
import contract_ort
import modules
import programs


def model_of(cases, tensors, op, domain):
    """The cases as one model, and its feeds."""
    graph, feeds = onnx.GraphProto(name="cases"), {}
    for case in cases:
        model, given = contract_ort.build(case, tensors, op, domain)
        part = onnx.compose.add_prefix(model, f"c{case['number']}_").graph
        for field in ("node", "input", "output", "initializer"):
            getattr(graph, field).extend(getattr(part, field))
        feeds |= {f"c{case['number']}_{name}": value for name, value in given.items()}
    imports = [onnx.helper.make_opsetid(domain, cases[0]["opset"])] + ([onnx.helper.make_opsetid("", 21)] if domain else [])
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=10), feeds


def run_in_child(base, numbers, folder):
    """Prints, for each case of these, what differs."""
    described = json.loads(pathlib.Path(f"{base}.json").read_text())
    with np.load(f"{base}.npz") as tensors:
        cases = [case for case in described["cases"] if str(case["number"]) in numbers.split(",")]
        _, feeds = model_of(cases, tensors, described["op"], described["domain"])
        made = modules.load(folder)(**feeds)
        for case in cases:
            wrong = []
            for k, kind in enumerate(case["outputs"]):
                expected = tensors[f"{case['number']}.native{k}"]
                expected = expected.view(ml_dtypes.bfloat16) if kind == "bfloat16" else expected
                error, what = contract_ort.compare(made[f"c{case['number']}_out{k}"], expected)
                if error is None:
                    wrong.append(f"output {k}: {what.replace('the runtime has', 'the module has')}")
            print(json.dumps([case["number"], "; ".join(wrong)]))


def judge(cases, base, described, tensors, folder):
    """(number of the case, what is wrong) for each case; several that fail together are tried alone."""
    model, _ = model_of(cases, tensors, described["op"], described["domain"])
    onnx.save(model, folder / "model.onnx")
    ran = modules.compile_model(folder / "model.onnx", folder / "compiled")
    wrong = (ran.stderr or ran.stdout).strip() if ran.returncode else ""
    if not wrong:
        numbers = ",".join(str(case["number"]) for case in cases)
        child = subprocess.run([sys.executable, __file__, "--run", str(base), numbers, str(folder / "compiled")], capture_output=True, text=True, check=False)
        if child.returncode == 0:
            return [json.loads(line) for line in child.stdout.splitlines()]
        wrong = f"its run ended with {child.returncode}: {child.stderr.strip()[-200:]}"
    if len(cases) == 1:
        return [(cases[0]["number"], wrong)]
    return [found for case in cases for found in judge([case], base, described, tensors, folder)]


def operator(op, options, folder):
    """How many cases were compared, how many are opaque, and the text of each wrong one with what is wrong."""
    base = folder / "cases"
    drawn = ["--empty"] if options.empty else []
    made = programs.run([programs.program("isomer-contract-cases"), *drawn, op["op"], str(options.cases), str(base), op["domain"]])
    if made.code != 0:
        return 0, 0, [(op["op"], f"isomer-contract-cases: exit {made.code}: {made.stderr.strip()}")]
    described = json.loads(pathlib.Path(f"{base}.json").read_text())
    groups = collections.defaultdict(list)
    for case in described["cases"]:
        if "opaque" not in case and "failed" not in case:
            groups[case["opset"]].append(case)
    texts, results = {case["number"]: case["text"] for case in described["cases"]}, []
    with np.load(f"{base}.npz") as tensors:
        for cases in groups.values():
            results += judge(cases, base, described, tensors, folder)
    return len(results), options.cases - len(results), [(texts[number], wrong) for number, wrong in results if wrong]


def main():
    if sys.argv[1:2] == ["--run"]:
        run_in_child(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*")
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--empty", action="store_true", help="tensors without elements")
    options = parser.parse_args()
    if not modules.has_compiler():
        print("skipped: no C++ compiler here")
        return programs.SKIPPED
    listed = json.loads(programs.run([programs.program("isomer-contract-cases"), "--list"]).stdout)
    chosen = [op for op in listed if not options.operators or op["op"] in options.operators]
    compared = opaque = bad = 0
    for op in chosen:
        with tempfile.TemporaryDirectory(prefix="isomer_compile_operators_") as folder:
            good, left, faults = operator(op, options, pathlib.Path(folder))
        compared, opaque, bad = compared + good, opaque + left, bad + len(faults)
        for text, wrong in faults[:3]:
            print(f"{text}\n    {' '.join(wrong.split())[:300]}", flush=True)
        print(f"{op['op']}: {good} compared, {len(faults)} bad", file=sys.stderr, flush=True)
    print(f"{len(chosen)} operators: {compared} cases compiled and compared, {bad} bad, {opaque} opaque")
    return 1 if bad or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
