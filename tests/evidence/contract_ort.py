#!/usr/bin/env python3
# ci: --cases 12 | timeout=900
"""Every operator's drawn cases on ONNX Runtime, compared with our results: the only test that can catch a wrong definition.

  tests/evidence/contract_ort.py [OP ...] [--cases 200] [--jobs 2] [--verbose]
Integers and bools must be equal; floats within rtol 1e-4 and 1e-5 of the output's largest magnitude (double: 1e-10; 16 bits:
two units in the last place); NaN equals NaN. The runtime only ever runs in a child, which is started again behind a case that
crashes it. Exit 1 if a result differs, a sample is no legal model, or our own evaluation failed.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import sys
import tempfile

import ml_dtypes
import numpy as np

import _paths  # noqa: F401
import children
import programs

# Per type: relative to the element, relative to the largest magnitude of the output.
TOLERANCE = {np.dtype(np.float32): (1e-4, 1e-5), np.dtype(np.float64): (1e-10, 1e-10), np.dtype(np.float16): (2e-3, 1e-4),
             np.dtype(ml_dtypes.bfloat16): (1.6e-2, 1e-4)}
NEWEST_OPSET = 27  # of onnxruntime 1.31
BAD = ("mismatch", "illegal", "failed", "crashed")


# ---- in the child ---------------------------------------------------------------------------------------------------

def build(case, tensors, op, domain):
    """A model of one node, and its feeds."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    onnx_type = lambda name: TensorProto.DataType.Value(name.upper())
    key = f"{case['number']}."

    def array(name, type_name):
        value = tensors[name]
        return value.view(ml_dtypes.bfloat16) if type_name == "bfloat16" else value

    inputs, initializers, names, feeds = [], [], [], {}
    for i, given in enumerate(case["inputs"]):
        names.append(f"in{i}" if given else "")
        if not given:
            continue
        value = array(f"{key}in{i}", given["type"])
        if given["constant"]:
            initializers.append(numpy_helper.from_array(value, f"in{i}"))
        else:
            inputs.append(helper.make_tensor_value_info(f"in{i}", onnx_type(given["type"]), value.shape))
            feeds[f"in{i}"] = value
    attributes = []
    for name, a in case["attributes"].items():
        value = a["value"]
        if a["kind"] == "tensor":
            value = numpy_helper.from_array(array(value, a["type"]), name)
        elif a["kind"] == "float":
            value = float(value)
        elif a["kind"] == "floats":
            value = [float(v) for v in value]
        kind = getattr(onnx.AttributeProto, a["kind"].upper())
        attributes.append(helper.make_attribute(name, value, attr_type=kind))
    outputs = [f"out{k}" for k in range(case["output_count"])]
    node = helper.make_node(op, names, outputs, domain=domain)
    node.attribute.extend(attributes)
    declared = [helper.make_tensor_value_info(f"out{k}", onnx_type(t), tensors[f"{key}native{k}"].shape)
                for k, t in enumerate(case["outputs"])]
    graph = helper.make_graph([node], "case", inputs, declared, initializers)
    imports = [helper.make_opsetid("", 21 if domain else runtime_opset(op, case["opset"]))]
    if domain:
        imports.append(helper.make_opsetid(domain, case["opset"]))
    return helper.make_model(graph, opset_imports=imports, ir_version=10), feeds


def runtime_opset(op, opset):
    """The opset to run at: where the runtime is older than the case, the newest that it knows, if the operator is the same."""
    import onnx
    older = min(opset, NEWEST_OPSET)
    if not onnx.defs.has(op, opset, ""):  # the runtime's own
        return older
    since = onnx.defs.get_schema(op, opset, "").since_version
    return older if since <= older and onnx.defs.get_schema(op, older, "").since_version == since else opset


def is_legal(model):
    """What is wrong with the model by ONNX's own checker; None: nothing."""
    import onnx
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # of several kinds, all of which mean no
        return str(error)
    return None


def compare(actual, expected):
    """(relative error or None if the outputs differ, what differs)"""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return None, f"{actual.dtype}{list(actual.shape)} instead of our {expected.dtype}{list(expected.shape)}"
    if actual.dtype not in TOLERANCE:
        same = np.array_equal(actual, expected)
        return (0.0, "") if same else (None, f"the runtime has {actual.ravel()[:8]}, we have {expected.ravel()[:8]}")
    relative, scaled = TOLERANCE[actual.dtype]
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.abs(e[np.isfinite(e)])
    largest = finite.max() if finite.size else 0.0
    with np.errstate(invalid="ignore"):
        same = (a == e) | (np.isnan(a) & np.isnan(e))
        gap = np.where(same, 0.0, np.abs(a - e))
        bad = ~same & ~(gap <= relative * np.abs(e) + scaled * largest)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        return None, f"at {list(at)} the runtime has {a[at]}, we have {e[at]} (largest {largest})"
    return float(gap.max() / largest) if largest and gap.size else 0.0, ""


def run_case(case, tensors, op, domain, options):
    """(status, error, reason) of one case. A sample is illegal if neither the checker nor the runtime takes it. The checker alone
    also refuses what is only deprecated, and some function bodies: such a case is compared, and its reason is kept."""
    import onnxruntime
    if "opaque" in case:
        return "opaque", 0.0, case["opaque"]
    if "failed" in case:
        return "failed", 0.0, case["failed"]
    model, feeds = build(case, tensors, op, domain)
    wrong = is_legal(model)
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results = run_session(session, model, feeds)
    except Exception as error:  # whatever the runtime throws is its reason for not running the case
        return ("illegal", 0.0, wrong) if wrong else ("skipped", 0.0, str(error))
    worst = 0.0
    for k, type_name in enumerate(case["outputs"]):
        for lane in ("native", "double"):
            expected = tensors[f"{case['number']}.{lane}{k}"]
            if type_name == "bfloat16" and lane == "native":
                expected = expected.view(ml_dtypes.bfloat16)
            if lane == "double" and expected.dtype == np.float64:
                with np.errstate(over="ignore"):
                    expected = expected.astype(results[k].dtype)
            error, what = compare(results[k], expected)
            if error is None:
                return "mismatch", 0.0, f"output {k} ({lane}): {what}"
            worst = max(worst, error)
    return "compared", worst, wrong or ""


def run_session(session, model, feeds):
    """Outputs as arrays; bfloat16 goes in and out as OrtValues, since numpy itself has no such type."""
    import onnxruntime
    from onnx import TensorProto
    ort_feeds = {}
    for declared in model.graph.input:
        value = feeds[declared.name]
        if value.dtype == ml_dtypes.bfloat16:
            ort_feeds[declared.name] = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
                value.view(np.uint16), TensorProto.BFLOAT16)
        else:
            ort_feeds[declared.name] = onnxruntime.OrtValue.ortvalue_from_numpy(value)
    names = [o.name for o in model.graph.output]
    return [value.numpy() for value in session.run_with_ort_values(names, ort_feeds)]


def work(say, base, first):
    """Runs the cases from `first` on; says when a case begins and when it ends."""
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    described = json.loads(pathlib.Path(f"{base}.json").read_text())
    with np.load(f"{base}.npz") as tensors:
        for case in described["cases"][first:]:
            say({"begins": case["number"]})
            status, error, reason = run_case(case, tensors, described["op"], described["domain"], options)
            say({"ends": case["number"], "status": status, "error": error, "reason": reason})


# ---- in the parent --------------------------------------------------------------------------------------------------

def judge(op, cases, folder):
    """The results of one operator: a list of (number, status, error, reason), and the texts of its cases."""
    base = folder / f"{op['domain']}.{op['op']}"
    made = programs.run([programs.program("isomer-contract-cases"), op["op"], str(cases), str(base), op["domain"]])
    if made.code != 0:
        return [(0, "failed", 0.0, f"isomer-contract-cases: exit {made.code}: {made.stderr.strip()}")], {}
    texts = {case["number"]: case["text"] for case in json.loads(pathlib.Path(f"{base}.json").read_text())["cases"]}
    results, first = [], 0
    while first < cases:
        told, ended = children.said_by(work, str(base), first)
        begun = first
        for said in told:
            if "begins" in said:
                begun = said["begins"]
            else:
                results.append((said["ends"], said["status"], said["error"], said["reason"]))
                first = said["ends"] + 1
        if ended == 0:
            break
        results.append((begun, "crashed", 0.0, f"exit {ended}"))
        first = begun + 1
    for end in (".json", ".npz"):
        pathlib.Path(f"{base}{end}").unlink()
    return results, texts


def short(reason):
    reason = re.sub(r"\s+", " ", reason)
    reason = re.sub(r"^\[ONNXRuntimeError\] : \d+ : ", "", reason)
    reason = re.sub(r"^INVALID_GRAPH : .*?, Error ", "", reason)
    return reason if len(reason) < 160 else reason[:157] + "..."


def report(op, results, texts, verbose):
    """Prints what is bad, returns the table's row."""
    count = collections.Counter(status for _, status, _, _ in results)
    shown = collections.Counter()
    for number, status, _, reason in results:
        if status in BAD:
            shown[status] += 1
            if verbose or shown[status] <= 3:
                print(f"{status}: {texts.get(number, op['op'])}\n    {short(reason)}", flush=True)
    skips = collections.Counter(re.sub(r"\d+", "#", short(reason)) for _, status, _, reason in results if status == "skipped")
    why = "; ".join(f"{n}x {reason}" for reason, n in skips.most_common(None if verbose else 2))
    worst = max((error for _, status, error, _ in results if status == "compared"), default=0.0)
    unchecked = [reason for _, status, _, reason in results if status == "compared" and reason]
    if unchecked:
        why = "; ".join(filter(None, [why, f"the checker refuses: {short(unchecked[0])}"]))
    return (op["op"], len(results), count["compared"], f"{worst:.1e}", sum(count[s] for s in BAD), count["opaque"],
            count["skipped"], len(unchecked), why)


def main():
    os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"  # before the first child
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    listed = json.loads(programs.run([programs.program("isomer-contract-cases"), "--list"]).stdout)
    chosen = [op for op in listed if not arguments.operators or op["op"] in arguments.operators]
    with tempfile.TemporaryDirectory(prefix="isomer_contract_") as folder:
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            judged = pool.map(lambda op: judge(op, arguments.cases, pathlib.Path(folder)), chosen)
            rows = [report(op, *outcome, arguments.verbose) for op, outcome in zip(chosen, judged)]
    programs.print_table(("operator", "cases", "compared", "error", "bad", "opaque", "skipped", "unchecked", "reasons"), rows)
    total = [sum(row[i] for row in rows) for i in (1, 2, 4, 5, 6, 7)]
    print("{} operators, {} cases: {} compared, {} bad, {} opaque, {} skipped by the runtime, {} compared though ONNX's checker "
          "refuses them".format(len(rows), *total))
    return 1 if total[2] or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
