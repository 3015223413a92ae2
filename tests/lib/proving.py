"""`isomer prove` run many times: one answer as a record, and a summary of records."""
import collections
import json
import statistics

import numpy as np
import onnx

import programs

EQUAL = 1e-4  # relative difference on ONNX Runtime below which a refutation is ours to explain


def prove(a, b, seconds, sizes_from=1):
    """What `isomer prove` answers, as a record."""
    words = ["prove", a, b, "--json", "--budget", f"{seconds}s", "--sizes-from", sizes_from]
    outcome = programs.run([programs.program("isomer"), *map(str, words)], 4 * seconds + 60)
    record = {"verdict": "crashed", "why": outcome.stderr[-300:], "rounded": 0, "seconds": round(outcome.seconds, 1),
              "peak_mb": outcome.peak_bytes >> 20}
    try:
        answer = json.loads(outcome.stdout)
    except json.JSONDecodeError:
        return record
    if "verdict" not in answer:
        return record | {"verdict": "error", "why": answer["error"]["message"]}
    return record | {"verdict": answer["verdict"], "why": answer["why"], "rounded": answer["constants_rounded"],
                     "ulp": answer["worst_ulp"]}


def prove_and_run(a, b, seconds):
    """The same; if it is refuted, with what ONNX Runtime says of it."""
    record = prove(a, b, seconds)
    record["nodes"] = [len(onnx.load(p, load_external_data=False).graph.node) for p in (a, b)]
    if record["verdict"] == "refuted":
        x, y = loads(a), loads(b)
        record["difference"] = runtime_difference(x, y, 1) if x and y else None
    return record


def loads(path):
    """A session; None: the runtime does not take the model."""
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    try:
        return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception:  # whatever the runtime says of a mutant that is no model
        return None


def runtime_difference(a, b, seed):
    """The largest relative difference on three sets of inputs; None: the runtime does not run them."""
    numbers, worst = np.random.default_rng(seed), 0.0
    for largest in (2, 2, 1):  # integers below it: at last all of them zero, which masks are and random draws are not
        feeds = {}
        for i in a.get_inputs():
            shape = [d if isinstance(d, int) else int(numbers.integers(1, 4)) for d in i.shape]
            kind = i.type
            feeds[i.name] = (numbers.standard_normal(shape).astype(np.float32) if "float" in kind
                             else numbers.integers(0, largest, shape).astype(bool if "bool" in kind else np.int32 if "int32" in kind else np.int64))
        try:
            x, y = a.run(None, feeds), b.run(None, feeds)
        except Exception:  # a shape that the model does not take
            return None
        for u, v in zip(x, y):
            if u.shape != v.shape:
                return float("inf")
            if u.size:
                worst = max(worst, float(np.abs(u.astype(np.float64) - v).max() / max(np.abs(u).max(), 1e-30)))
    return worst


def tell(label, records):
    """One line: how many were proved, and how long that took."""
    if not records:
        return
    counts = collections.Counter(r["verdict"] for r in records)
    rounded = sum(r["verdict"] == "proved" and r["rounded"] > 0 for r in records)
    seconds = [r["seconds"] for r in records]
    print(f"{label}: {len(records)} pairs, {counts['proved']} proved ({counts['proved'] / len(records):.1%}; {rounded} of them but for rounded "
          f"constants), {counts['refuted']} refuted, {counts['undecided']} undecided, {counts['crashed'] + counts['error']} failed; "
          f"median {statistics.median(seconds):.1f} s, slowest {max(seconds):.1f} s")


def tell_unproved(fields, records):
    rows = [(*(r[f] for f in fields), r["verdict"], r["seconds"], r["why"][:90]) for r in records if r["verdict"] != "proved"]
    if rows:
        programs.print_table((*fields, "verdict", "seconds", "why"), rows)


def false_refutations(records, equal=EQUAL):
    """Those that ONNX Runtime shows equal; each is printed."""
    wrong = [r for r in records if r["verdict"] == "refuted" and r.get("difference") is not None and r["difference"] <= equal]
    for r in wrong:
        print(f"WRONG: refuted, and ONNX Runtime shows it equal ({r['difference']:.1e}): {r}")
    return wrong
