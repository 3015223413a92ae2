#!/usr/bin/env python3
# nightly: --check | timeout=900 unsanitized
"""Structures of real networks as exporters write them, each with an equal graph made by hand: what isomer finds and proves of it.

  bench/structures.py [--only TEXT,...] [--results FILE.jsonl] [--shared] [--budget 20s] [--seconds 3] [--hand | --check]
The structures are in bench/structures/, frozen: nothing is tuned for one of them. For each one the original is optimized (--budget, and a
size growth of 100, as the expert suite does); original, result and hand-made graph take turns on ONNX Runtime, one thread (gains as in
expert_suite.py); the result is checked; and `isomer prove` decides whether the hand-made graph is equal (20 s).
--results keeps what is done: a second run goes on where the first was stopped. --shared: those of ../shared/expert/make_structures.py.
--hand: only whether the hand-made graph is equal and what it gains. --check: short form: all hand-made graphs are equal, and of a few
small ones the results are accepted by the checker, equal, and not much slower.
"""
import argparse
import importlib.util
import pathlib
import sys
import tempfile

import numpy as np
import onnx

import _paths  # noqa: F401
import expert_suite
import optimizing
import programs
import proving
import structures
from records import Records

REACHED, EQUAL, PROVE_SECONDS = expert_suite.REACHED, 1e-4, 20
MUCH_SLOWER = 0.8  # more than a busy machine's noise
SHORT = ["detr_auxiliary_heads", "pcen_unrolled_average", "segmentation_argmax_of_softmax", "dlinear_decomposition"]


def shared_structures():
    """Those of the shared material, in our form: {name: (make, origin, fact)}."""
    path = programs.shared("expert/make_structures.py")
    spec = importlib.util.spec_from_file_location("make_structures", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.B


def difference(outputs, name):
    """The largest one, relative to the largest value; infinite if shapes or NaNs differ."""
    worst = 0.0
    for x, y in zip(outputs["orig"], outputs[name]):
        if x.shape != y.shape or not np.array_equal(np.isnan(x), np.isnan(y)):
            return float("inf")
        x, y = (np.nan_to_num(v.astype(np.float64)) for v in (x, y))
        worst = max(worst, float(np.abs(x - y).max() / max(np.abs(x).max(), 1e-30)))
    return worst


def doubled(model, feeds):
    """The same inputs twice along every symbolic axis; None: there is none."""
    out = dict(feeds)
    for value in model.graph.input:
        for axis, extent in enumerate(value.type.tensor_type.shape.dim):
            if extent.dim_param:
                out[value.name] = np.concatenate([out[value.name]] * 2, axis=axis)
    return None if all(out[name] is feeds[name] for name in feeds) else out


def hand_difference(paths, outputs, feeds):
    """Checks the hand-made graph, also at other extents where they are symbolic."""
    worst = difference(outputs, "hand")
    more = doubled(onnx.load(paths["orig"]), feeds)
    if more is not None:
        worst = max(worst, difference({name: expert_suite.session(paths[name]).run(None, more) for name in ("orig", "hand")}, "hand"))
    return worst


def write(make, folder):
    original, by_hand, feeds = make()
    for name, model in (("orig", original), ("hand", by_hand)):
        onnx.save(model, folder / f"{name}.onnx")
    np.savez(folder / "feeds.npz", **feeds)
    return feeds


def measured(make, options):
    """One structure's record."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        feeds = write(make, folder)
        paths = {name: folder / f"{name}.onnx" for name in ("orig", "hand")}
        row = {}
        if not options.hand:
            answer = optimizing.optimize(paths["orig"], folder / "isomer.onnx", "--budget", options.budget, "--max-size-growth", "100",
                                         "--feeds", str(folder / "feeds.npz"))
            row = {"result": answer["result"], "accepted": answer.get("accepted", False), "reason": answer["reason"], "steps": answer.get("changes", []),
                   "search_seconds": round(answer.get("seconds", 0), 1)}
            if row["accepted"]:
                paths["isomer"] = folder / "isomer.onnx"
        times, outputs = expert_suite.measured_in_turns(paths, feeds, options.seconds)
        row |= {"orig_ms": round(1e3 * min(times["orig"]), 3), "hand": round(expert_suite.gain(times, "hand"), 3),
                "hand_difference": hand_difference(paths, outputs, feeds)}
        if "isomer" in paths:
            row |= {"isomer": round(expert_suite.gain(times, "isomer"), 3), "isomer_difference": difference(outputs, "isomer")}
        if not options.hand and not options.check:
            answer = proving.prove(paths["orig"], paths["hand"], PROVE_SECONDS)
            row |= {"verdict": answer["verdict"], "why": answer["why"], "rounded": answer["rounded"], "prove_seconds": answer["seconds"]}
        return row


def reaches(row):
    return "isomer" in row and found_gain(row) >= REACHED * row["hand"]


def found_gain(row):
    """1 for a model that came back as it was, whatever the noise says."""
    return row["isomer"] if row["result"] == "improved" else 1.0


def report(rows):
    def cells(r):
        cause = r.get("why") or r.get("reason") or (r.get("steps") or [""])[0]
        return (r["structure"], r["fact"][:34], r["orig_ms"], r["hand"], found_gain(r) if "isomer" in r else "-", "yes" if reaches(r) else "",
                r.get("verdict", "-"), cause[:90])
    programs.print_table(("structure", "fact", "ms", "hand", "isomer", "reached", "proved", "cause or first step"), [cells(r) for r in rows])
    asked = [r for r in rows if "isomer" in r]
    if not asked:
        return
    mean = lambda gain: float(np.exp(np.mean([np.log(gain(r)) for r in asked])))
    count = lambda verdict: sum(r.get("verdict") == verdict for r in asked)
    print(f"{len(asked)} structures: {sum(map(reaches, asked))} reach {REACHED} of the hand-made gain; geometric mean {mean(found_gain):.2f}, by hand "
          f"{mean(lambda r: r['hand']):.2f}; {count('proved')} proved, {count('refuted')} refuted")


def wrong(row):
    """What no noise explains."""
    if row["hand_difference"] > EQUAL:
        return "the hand-made graph is not equal"
    if row.get("accepted") is False:
        return "not accepted by the checker, or failed"
    if row.get("isomer_difference", 0) > EQUAL:
        return "isomer's result is not equal"
    if row.get("verdict") == "refuted":
        return "an equal pair is refuted"
    if "isomer" in row and found_gain(row) < MUCH_SLOWER:
        return "isomer's result is slower"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--hand", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()

    found = shared_structures() if options.shared else structures.STRUCTURES
    wanted = [name for name in found if not options.only or any(text in name for text in options.only.split(","))]
    records = Records(options.results, "structure")
    for name in wanted:
        if (name,) in records:
            continue
        make, origin, fact = found[name]
        short = argparse.Namespace(**vars(options) | {"hand": name not in SHORT, "seconds": 0.3, "budget": "10s"}) if options.check else options
        row = {"structure": name, "set": "shared" if options.shared else "own", "origin": origin, "fact": fact} | measured(make, short)
        print(name, {k: row.get(k) for k in ("orig_ms", "hand", "hand_difference", "isomer", "verdict", "reason")}, file=sys.stderr, flush=True)
        records.add(row)
    rows = [records.all[name,] for name in wanted]
    report(rows)
    faults = [(row["structure"], fault) for row in rows if (fault := wrong(row))]
    for name, fault in faults:
        print(f"WRONG: {name}: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
