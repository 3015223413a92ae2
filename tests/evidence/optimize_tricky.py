#!/usr/bin/env python3
# nightly: | timeout=900 unsanitized
"""Never in the way: the legal cases of ../shared/hostile, optimized without measuring, so that rewrites really happen.

  tests/evidence/optimize_tricky.py [--filter TEXT] [--corpus DIR] [--judge cost|any] [--failures]
For each case: `isomer optimize` ends with 0 and `isomer check` accepts; names, order, types and dimensions of inputs and outputs,
opsets, metadata, functions and texts of the model are what they were; the outputs on ONNX Runtime, in a child process, are as
the case's `expectation` and `tol` say (bit for bit, or so near); optimizing the result again changes nothing. No case changed at all is a failure of the test.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx

import _paths  # noqa: F401
import hostile
import programs

SECONDS = 60


def compare(before, after, inputs, tolerance):
    """In the child: prints what differs; nothing if they agree."""
    loaded = np.load(inputs, allow_pickle=False)
    feeds = {name: loaded[name] for name in loaded.files}
    feeds = {name: value.astype(object) if value.dtype.kind == "U" else value for name, value in feeds.items()}
    try:
        signature_a, a = hostile.outputs_of(before, feeds)
    except Exception as error:  # the runtime's own limits are not ours
        print(f"not run: {str(error).splitlines()[0][:80]}")
        return
    signature_b, b = hostile.outputs_of(after, feeds)
    if signature_a != signature_b:
        print("DIFFERS: the interface")
    for k, (x, y) in enumerate(zip(a, b)):
        if x.dtype != y.dtype or x.shape != y.shape:
            print(f"DIFFERS: output {k} is of another type")
        elif hostile.bits(x) == hostile.bits(y):
            continue
        elif not tolerance or x.dtype.kind not in "fc":
            print(f"DIFFERS: output {k}")
        else:
            same_kind = np.array_equal(np.isfinite(x), np.isfinite(y))
            finite = np.isfinite(x) & np.isfinite(y)
            gap = float(np.abs(x[finite].astype(np.float64) - y[finite]).max(initial=0))
            scale = float(np.abs(x[finite].astype(np.float64)).max(initial=0))
            if not same_kind or gap > tolerance * max(scale, 1e-30):
                print(f"DIFFERS: output {k} by {gap:.2e} at {scale:.2e}")


def interface(path):
    """What a user of the model sees besides its nodes and weights."""
    model = onnx.load(path, load_external_data=False)
    graph = model.graph
    return {"inputs": [v.SerializeToString(deterministic=True) for v in graph.input],
            "outputs": [v.SerializeToString(deterministic=True) for v in graph.output],
            "opsets": sorted((o.domain, o.version) for o in model.opset_import),
            "metadata": sorted(programs.own_metadata(model).items()),
            "functions": [f.SerializeToString(deterministic=True) for f in model.functions],
            "texts": (model.ir_version, model.producer_name, model.producer_version, model.domain, model.model_version,
                      model.doc_string, graph.name, graph.doc_string)}


def optimize(source, out, which):
    return programs.run([programs.program("isomer"), "optimize", str(source), "-o", str(out), "--judge", which, "--json", "--quiet"],
                        SECONDS)


def judge(case, corpus, which):
    """(changed, note, faults)"""
    base = corpus / case["name"]
    model = base / "box" / "model.onnx"
    with tempfile.TemporaryDirectory(prefix="isomer_tricky_") as folder:
        out, again = pathlib.Path(folder) / "out.onnx", pathlib.Path(folder) / "again.onnx"
        ran = optimize(model, out, which)
        if ran.code != 0:
            return False, "", [f"exit {ran.code}: {ran.stderr.strip()[-120:]}"]
        answer = json.loads(ran.stdout)
        changed, faults = answer["result"] == "improved", []
        checked = programs.run([programs.program("isomer"), "check", str(model), str(out), str(out) + ".cert"], SECONDS)
        if checked.code != 0:
            faults.append(f"check: {(checked.stdout + checked.stderr).strip()[-120:]}")
        has_data = out.with_name("out.onnx.data").exists()  # written anew, beside its data
        if not changed and not has_data and out.read_bytes() != model.read_bytes():
            faults.append("unchanged, but other bytes")
        old, new = interface(model), interface(out)
        faults += [f"{what} changed" for what in old if old[what] != new[what]]
        note = ""
        if case["expectation"] == "equal" and (base / "inputs.npz").exists():
            tolerance = 0 if case["tol"] == "bit" else float(case["tol"].removeprefix("rtol="))
            if not changed:
                note = "the input's bytes"
            else:
                ran = subprocess.run([sys.executable, __file__, "--compare", str(model), str(out), str(base / "inputs.npz"),
                                      str(tolerance)], capture_output=True, text=True, timeout=SECONDS)
                note = ran.stdout.strip().replace("\n", "; ")
                if ran.returncode != 0 or "DIFFERS" in note:
                    faults.append(f"{note} {ran.stderr.strip()[-120:]}")
        second = optimize(out, again, which)
        if second.code != 0:
            faults.append(f"again: exit {second.code}: {second.stderr.strip()[-120:]}")
        elif json.loads(second.stdout)["result"] != "unchanged":
            faults.append("optimizing the result changes it")
        return changed, note or answer["reason"], faults


def main():
    if sys.argv[1:2] == ["--compare"]:
        compare(*sys.argv[2:5], float(sys.argv[5]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="")
    parser.add_argument("--corpus", type=pathlib.Path, help="a corpus that was made already")
    parser.add_argument("--judge", default="cost")
    parser.add_argument("--failures", action="store_true")
    arguments = parser.parse_args()
    programs.shared("hostile")
    with tempfile.TemporaryDirectory(prefix="isomer_corpus_") as folder:
        corpus = arguments.corpus or pathlib.Path(folder) / "corpus"
        manifest = json.loads((corpus / "manifest.json").read_text()) if arguments.corpus else hostile.make_corpus(corpus)
        cases = [c for c in manifest if c["expectation"] in ("equal", "random", "opaque") and arguments.filter in c["name"]]
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda case: judge(case, corpus, arguments.judge), cases))
    rows = [(case["name"], case["expectation"], "changed" if changed else "", "; ".join(faults) or "ok", note[:60])
            for case, (changed, note, faults) in zip(cases, results) if faults or changed or not arguments.failures]
    programs.print_table(("case", "expects", "rewritten", "verdict", "note"), rows)
    failed = sum(bool(faults) for _, _, faults in results)
    changed = sum(changed for changed, _, _ in results)
    print(f"legal: {len(cases) - failed} of {len(cases)} as they should be; {changed} of them changed")
    return 1 if failed or not changed else 0


if __name__ == "__main__":
    sys.exit(main())
