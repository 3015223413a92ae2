#!/usr/bin/env python3
# ci: --check | timeout=900
"""ONNX's own node tests on the reference engine: every case passes or is refused as opaque with a reason; none is wrong.

  tests/evidence/conformance.py [--filter TEXT] [--limit N] [--jobs 2] [--verbose]
  tests/evidence/conformance.py --write    also writes docs/reference/operators.md
  tests/evidence/conformance.py --check    exit 1 only if docs/reference/operators.md, which names every wrong case, is not what --write would make
Outputs are compared within each case's own tolerance, types and shapes exactly; all that is neither within it nor opaque is wrong.
But "nearer" is a float output that misses the tolerance and is right: ONNX's own evaluator, with every float of the model a
float64, is the referee, and where ours is off from the expected output, its error is no larger than the expected output's own,
which is rounding only.
For wrong 16-bit floats the reason says if they are within two units in the last place. Refused are models of an opset before 7,
which the reader doesn't take. Without --check any wrong case is exit 1.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import warnings

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper

import _paths  # noqa: F401
import programs
import referee

DOCUMENT = programs.ROOT / "docs" / "reference" / "operators.md"
FEEDABLE = {np.dtype(kind) for kind in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ml_dtypes.bfloat16)}
LAST_BIT = {np.dtype(np.float16): 2.0**-10, np.dtype(ml_dtypes.bfloat16): 2.0**-7}

Verdict = collections.namedtuple("Verdict", "case status op reason")  # status: one of STATUSES
STATUSES = ("passed", "nearer", "opaque", "refused", "wrong")


def collect():
    warnings.filterwarnings("ignore", category=RuntimeWarning)  # of making the cases: overflowing casts, log of zero
    from onnx.backend.test.case.node import collect_testcases
    return sorted(collect_testcases(None), key=lambda case: case.name)


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def feeds_of(case):
    """The inputs by name, or None if one of them is nothing that an npz can hold: then the graph must be opaque."""
    feeds = {}
    for declared, value in zip(case.model.graph.input, case.data_sets[0][0]):
        if value is None or isinstance(value, (list, dict)):
            return None
        array = as_array(value)
        if array.dtype not in FEEDABLE:
            return None
        feeds[declared.name] = array
    return feeds


def is_rounding(actual, expected, last_bit):
    """Whether the floats are at most two units in the last place apart."""
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = last_bit * 2.0 ** np.floor(np.log2(np.abs(expected)))
    return bool(np.all((actual == expected) | (np.abs(actual - expected) <= 2 * unit) | (np.isnan(actual) & np.isnan(expected))))


def difference(actual, expected, case, exact):
    """(status, what differs); `exact` gives the referee's output."""
    expected = as_array(expected)
    if expected.dtype == ml_dtypes.bfloat16:
        actual = actual.view(ml_dtypes.bfloat16) if actual.dtype.itemsize == 2 else actual
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return "wrong", f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if expected.dtype.kind in "biu":
        return ("passed", "") if np.array_equal(actual, expected) else ("wrong", "other integers")
    last_bit = LAST_BIT.get(expected.dtype, 0)
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    try:
        np.testing.assert_allclose(actual, expected, rtol=case.rtol, atol=case.atol)
        return "passed", ""
    except AssertionError as error:
        is_off = ~np.isclose(actual, expected, rtol=case.rtol, atol=case.atol, equal_nan=True)
        if referee.is_nearer(actual, expected, exact(), is_off, last_bit or 2.0**-23):
            return "nearer", f"{is_off.sum()} of {is_off.size} elements"
        near = "within two units in the last place: " if last_bit and is_rounding(actual, expected, last_bit) else ""
        return "wrong", near + " ".join(str(error).split())


def main_operator(case):
    """The operator that a case is about."""
    nodes = case.model.graph.node
    return nodes[0].op_type if len(nodes) == 1 else ""


def isomer(*arguments):
    """How the command ends; 60 s are all it gets. Started directly: `programs.run` measures memory, which takes longer than most cases."""
    try:
        return subprocess.run([programs.program("isomer"), *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(arguments, -signal.SIGKILL, "", "out of time")


def judge(case, folder):
    model, feeds_path, output = (folder / f"{case.name}{end}" for end in (".onnx", ".in.npz", ".out.npz"))
    model.write_bytes(case.model.SerializeToString())
    feeds = feeds_of(case)
    verdict = lambda status, op="", reason="": Verdict(case, status, op, reason)
    nearer = []
    try:
        if feeds is None:
            ran = isomer("inspect", model, "--json")
            opaque = json.loads(ran.stdout).get("opaque") if ran.returncode == 0 else None
            if opaque:
                return verdict("opaque", opaque[0]["op"], opaque[0]["reason"])
            return verdict("wrong", "", f"its inputs can't be fed, yet nothing is opaque ({ran.stderr.strip()})")
        np.savez(feeds_path, **feeds)
        ran = isomer("run", model, "--feeds", feeds_path, "-o", output, "--engine", "reference", "--json")
        if ran.returncode == 3:
            opaque = json.loads(ran.stdout)["opaque"]
            if output.exists():
                return verdict("wrong", opaque["op"], "refused, yet wrote its output")
            return verdict("opaque", opaque["op"], opaque["reason"])
        if ran.returncode == 2 and "the oldest known is 7" in ran.stderr and case.model.opset_import[0].version < 7:
            return verdict("refused", "", f"opset {case.model.opset_import[0].version}")
        if ran.returncode != 0:
            return verdict("wrong", "", f"exit {ran.returncode}: {ran.stderr.strip()}")
        with np.load(output) as outputs:
            for declared, expected in zip(case.model.graph.output, case.data_sets[0][1]):
                if isinstance(expected, list):
                    return verdict("wrong", "", f"{declared.name} should be a sequence")
                exact = lambda: (referee.outputs_in_double(case.model, feeds) or {}).get(declared.name)
                status, what = difference(outputs[declared.name], expected, case, exact)
                if status == "nearer":
                    nearer.append(f"{declared.name}: {what}")
                elif status != "passed":
                    return verdict(status, "", f"{declared.name}: {what}")
        return verdict("nearer", "", nearer[0]) if nearer else verdict("passed")
    finally:
        for path in (model, feeds_path, output):
            path.unlink(missing_ok=True)


def run_all(cases, jobs):
    with tempfile.TemporaryDirectory(prefix="isomer_conformance_") as folder:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(lambda case: judge(case, pathlib.Path(folder)), cases))


def is_expanded(case):
    return "_expanded" in case.name


def cell(text):
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def document(verdicts):
    listed = json.loads(programs.run([programs.program("isomer-contract-cases"), "--list"]).stdout)
    direct = [v for v in verdicts if not is_expanded(v.case)]
    expanded = [v for v in verdicts if is_expanded(v.case)]
    total = lambda some: ", ".join(f"{sum(v.status == s for v in some)} {s}" for s in STATUSES)
    by_operator = collections.defaultdict(list)
    for v in direct:
        by_operator[main_operator(v.case)].append(v)
    reasons = lambda some: "; ".join(f"{cell(reason)} ({count})" for reason, count in sorted(
        collections.Counter(v.reason for v in some if v.status == "opaque").items(), key=lambda x: (-x[1], x[0])))
    fold = lambda text: textwrap.fill(text, 120, break_on_hyphens=False)
    lines = ["# Operators", "",
             fold("Generated by `tests/evidence/conformance.py --write`; not edited by hand. An *opaque* call is an unknown function of its "
                  "inputs: the graph around it is still optimised."), "",
             fold(f"ONNX {onnx.__version__} has {len(verdicts)} node tests. On the reference engine: {total(verdicts)}. Among these are "
                  f"function bodies written out as nodes: {total(expanded)}."),
             "", f"## Defined: {len(listed)}", "",
             "| operator | since | what it computes | passed | opaque, and why |", "|---|---:|---|---:|---|"]
    for op in sorted(listed, key=lambda op: (op["domain"], op["op"])):
        mine = by_operator.get(op["op"], [])
        name = f"{op['domain']}.{op['op']}" if op["domain"] else op["op"]
        lines.append(f"| {name} | {op['since']} | {cell(op['doc'])} | {sum(v.status in ('passed', 'nearer') for v in mine)} | {reasons(mine)} |")
    defined = {op["op"] for op in listed}
    others = {op: some for op, some in by_operator.items() if op and op not in defined}
    lines += ["", f"## Not defined: {len(others)} of the operators with node tests", "", "| operator | tests | why |", "|---|---:|---|"]
    lines += [f"| {op} | {len(some)} | {reasons(some)} |" for op, some in sorted(others.items())]
    nearer = [v for v in verdicts if v.status == "nearer"]
    if nearer:
        lines += ["", f"## Nearer: {len(nearer)}", "",
                  fold("These outputs are outside of the test's tolerance and right: ONNX's own evaluator in float64 is nearer to our output than "
                       "to the expected one."), "", "| test | outside |", "|---|---|"]
        lines += [f"| {v.case.name} | {cell(v.reason)} |" for v in nearer]
    wrong = [v for v in verdicts if v.status == "wrong"]
    if wrong:
        lines += ["", f"## Wrong: {len(wrong)}", "", "| test | what was seen |", "|---|---|"]
        lines += [f"| {v.case.name} | {cell(v.reason.split(': ')[1])} |" for v in wrong]
    return "\n".join(lines) + "\n"


def print_report(verdicts, verbose):
    count = collections.Counter(v.status for v in verdicts)
    refused = collections.Counter((v.op, v.reason) for v in verdicts if v.status == "opaque")
    if verbose or len(refused) < 20:
        rows = sorted(((n, op, reason) for (op, reason), n in refused.items()), reverse=True)
        programs.print_table(("cases", "opaque at", "reason"), rows)
    for v in verdicts:
        if v.status in ("wrong", "nearer"):
            print(f"{v.status}: {v.case.name}: {v.reason}")
    print(f"{len(verdicts)} cases: " + ", ".join(f"{count[s]} {s}" for s in STATUSES))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    cases = [case for case in collect() if arguments.filter in case.name]
    if arguments.limit:
        cases = cases[::max(1, len(cases) // arguments.limit)]
    verdicts = run_all(cases, arguments.jobs)
    print_report(verdicts, arguments.verbose)
    if arguments.write:
        DOCUMENT.parent.mkdir(exist_ok=True)
        DOCUMENT.write_text(document(verdicts), encoding="utf-8")
    if arguments.check and (not DOCUMENT.exists() or DOCUMENT.read_text(encoding="utf-8") != document(verdicts)):
        print(f"{DOCUMENT.relative_to(programs.ROOT)} is not today's: run tests/evidence/conformance.py --write")
        return 1
    return 1 if not arguments.check and any(v.status == "wrong" for v in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
