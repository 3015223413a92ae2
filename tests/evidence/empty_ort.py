#!/usr/bin/env python3
# ci: --cases 4
"""Tensors without elements on ONNX Runtime: what formulas promise of them, held against what the runtime does.

  tests/evidence/empty_ort.py [OP ...] [--cases 64] [--jobs 2] [--verbose]
An extent of every drawn case is made 0. Where the formula's conditions hold then, the runtime must run the call and compute what
the formula says; where one of them is needed and broken, it must fail, compute what is not finite, or give a shape that ONNX
does not allow: proofs assume that the first model does not run there. Others are not covered
(operators that are not listed in model/ops/shared/empty.cpp, say). The runtime runs in a child, which is started again behind a case that crashes or
hangs it. Exit 1 if a promise is broken.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile

import ml_dtypes
import numpy as np

import _paths  # noqa: F401
import children
import contract_ort
import programs

PATIENCE = 60  # seconds for the cases of one operator; the runtime hangs on some


# ---- in the child ---------------------------------------------------------------------------------------------------

def run_case(case, tensors, op, domain, options):
    """(what the runtime does, more about it)"""
    import onnx
    import onnxruntime
    case = dict(case, outputs=[])
    model, feeds = contract_ort.build(case, tensors, op, domain)
    model.graph.output.extend(onnx.ValueInfoProto(name=f"out{k}") for k in range(case["output_count"]))
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # no kernel for these types says nothing about sizes
        return ("no kernel" if "NOT_IMPLEMENTED" in str(error) or "INVALID_GRAPH" in str(error) else "fails"), str(error)
    try:
        results = contract_ort.run_session(session, model, feeds)
    except Exception as error:
        return "fails", str(error)
    shapes = [list(r.shape) for r in results]
    if shapes != case["shapes"][:len(shapes)]:
        return "gives a wrong shape", f"shapes {shapes} instead of {case['shapes']}"
    for k, result in enumerate(results):
        if not np.issubdtype(result.dtype, np.integer) and result.dtype != bool and not np.isfinite(
                result.astype(np.float64)).all():
            return "is not finite", f"output {k}"
        name = f"{case['number']}.native{k}"
        if name not in tensors:  # the formula at the size 0 itself is opaque
            return ("runs" if all(r.size == 0 for r in results) else "unknown"), ""
        expected = tensors[name]
        if result.dtype == ml_dtypes.bfloat16:
            expected = expected.view(ml_dtypes.bfloat16)
        error, what = contract_ort.compare(result, expected)
        if error is None:
            return "departs", f"output {k}: {what}"
    return "runs", ""


def work(say, base, first):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    described = json.loads(pathlib.Path(f"{base}.json").read_text())
    with np.load(f"{base}.npz") as tensors:
        for place, case in enumerate(described["cases"]):
            if place < first or case["promise"] == "none":
                continue
            say({"begins": place})
            said, more = run_case(case, tensors, described["op"], described["domain"], options)
            say({"ends": place, "said": said, "more": more})


# ---- in the parent --------------------------------------------------------------------------------------------------

def judge(op, cases, folder):
    """(promise, what the runtime does, more, the case's text) of every case of an operator."""
    base = folder / f"{op['domain']}.{op['op']}"
    made = programs.run([programs.program("isomer-contract-cases"), "--empty", op["op"], str(cases), str(base), op["domain"]])
    if made.code != 0:
        return [("runs", "our own failure", made.stderr.strip(), op["op"])]
    listed = json.loads(pathlib.Path(f"{base}.json").read_text())["cases"]
    results, first = [], 0
    while first < len(listed):
        told, ended = children.said_by(work, str(base), first, seconds=PATIENCE)
        begun = None
        for said in told:
            begun = said.get("begins")
            if begun is None:
                case = listed[said["ends"]]
                results.append((case["promise"], said["said"], said["more"], case["text"]))
                first = said["ends"] + 1
        if ended == 0 or begun is None:
            break
        results.append((listed[begun]["promise"], "crashes", "", listed[begun]["text"]))
        first = begun + 1
    return results


def is_kept(promise, said):
    if said == "no kernel":
        return True
    return said in ("runs", "unknown") if promise == "runs" else said in ("fails", "is not finite", "gives a wrong shape", "crashes")


def main():
    os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"  # before the first child
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*")
    parser.add_argument("--cases", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    listed = json.loads(programs.run([programs.program("isomer-contract-cases"), "--list"]).stdout)
    chosen = [op for op in listed if not arguments.operators or op["op"] in arguments.operators]
    broken, rows = 0, []
    with tempfile.TemporaryDirectory(prefix="isomer_empty_") as folder:
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            judged = list(pool.map(lambda op: judge(op, arguments.cases, pathlib.Path(folder)), chosen))
    for op, results in zip(chosen, judged):
        bad = [r for r in results if not is_kept(*r[:2])]
        for promise, said, more, text in bad if arguments.verbose else bad[:3]:
            print(f"{op['op']}: promised that it {promise}, but it {said}: {contract_ort.short(more)}\n    {text}")
        count = collections.Counter((promise, said) for promise, said, _, _ in results)
        rows.append((op["op"], "yes" if op["runs_on_nothing"] else "", len(results), count["runs", "runs"],
                     sum(n for (promise, _), n in count.items() if promise == "fails"), len(bad)))
        broken += len(bad)
    programs.print_table(("operator", "listed", "cases", "run", "fail", "broken"), rows)
    print(f"{len(rows)} operators, {sum(row[2] for row in rows)} promises, {broken} broken")
    return 1 if broken or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
