#!/usr/bin/env python3
"""What the generated rules are worth alone, by the analytic cost; and what it costs to have them.

  bench/rules_worth.py BLOCKS --measured measured.json [--results FILE.jsonl] [--only NAME,...] [--budget 60s] [--seconds 0]
Each wanted experiment of the expert suite (bench/expert_suite.py) is optimized twice with --judge cost: with all proposers, and with
`--only generated`. A win is found if the cost falls by more than 2 %. --seconds S: what is found is also run on ONNX Runtime, in turns with
the original and the hand-made variants.

  bench/rules_worth.py --load [--runs 20]
CPU time of a run on a model of three products with the pack, less that of a run that asks no rules; the median of pairs.
"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx.parser

import bench_path  # noqa: F401
import expert_suite
import programs
from records import Records

FOUND = 1.02


def optimized(source, out, budget, *flags):
    ran = subprocess.run([programs.program("isomer"), "optimize", str(source), "-o", str(out), "--judge", "cost", "--budget", budget,
                          "--max-size-growth", "100", "--json", "--quiet", *flags], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        return {"error": ran.stderr[:200]}
    answer = json.loads(ran.stdout)
    search = answer["search"]
    ratio = search["cost_before"] / search["cost_after"] if search["cost_after"] > 0 else 1.0
    return {"ratio": round(ratio, 3), "steps": answer["changes"][:8], "proofs": search["proofs"], "refused": len(answer["not_taken"]),
            "stopped_by": answer["stopped_by"], "seconds": round(answer["seconds"], 2)}


def experiment(folder, budget, seconds):
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "out.onnx"
        row = {"all": optimized(folder / "orig.onnx", out, budget), "generated": optimized(folder / "orig.onnx", out, budget, "--only", "generated")}
        if seconds > 0 and row["generated"].get("ratio", 1) > FOUND:
            variants = {p.stem: p for p in folder.glob("*.onnx") if p.stem not in ("orig", *expert_suite.unsafe.VARIANTS)}
            times, _ = expert_suite.measured_in_turns({"orig": folder / "orig.onnx", "isomer": out, **variants}, dict(np.load(folder / "feeds.npz")), seconds)
            row["measured"] = round(expert_suite.gain(times, "isomer"), 3)
            row["hand"] = round(max((expert_suite.gain(times, name) for name in variants), default=1.0), 3)
        return row


def worth(options):
    measured = json.loads(options.measured.read_text())["experiments"]
    names = [n for n in expert_suite.wanted_experiments(measured) if (options.blocks / n / "orig.onnx").exists()]
    if options.only:
        names = [n for n in names if any(n.startswith(o) for o in options.only.split(","))]
    names.sort(key=lambda n: (options.blocks / n / "orig.onnx").stat().st_size)
    records = Records(options.results, "experiment")
    for name in names:
        if (name,) not in records:
            records.add({"experiment": name} | experiment(options.blocks / name, options.budget, options.seconds))
    rows = [records.all[(n,)] for n in names]
    ratio = lambda row, who: row[who].get("ratio", 1.0)
    programs.print_table(["experiment", "all", "generated", "measured", "hand", "first step of generated"],
                         [[r["experiment"], ratio(r, "all"), ratio(r, "generated"), r.get("measured", ""), r.get("hand", ""),
                           (r["generated"].get("steps") or [""])[0][:80]] for r in rows])
    found = {who: sum(ratio(r, who) > FOUND for r in rows) for who in ("all", "generated")}
    near = sum(ratio(r, "generated") >= 0.9 * ratio(r, "all") and ratio(r, "generated") > FOUND for r in rows)
    more = [r["experiment"] for r in rows if ratio(r, "generated") > FOUND * ratio(r, "all")]
    print(f"{len(rows)} experiments: the cost falls for {found['all']} with all proposers, for {found['generated']} with the generated rules alone "
          f"({near} of them by 0.9 of what all do); further than with all: {', '.join(more) or 'none'}")


def cpu_seconds(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def load(runs):
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch) / "in.onnx"
        onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[4, 4] x, float[4, 4] a, float[4, 4] b) => (float[4, 4] y) '
                                          "{ s = MatMul(x, a) t = Relu(s) u = Add(t, x) y = MatMul(u, b) }"), source)
        command = [programs.program("isomer"), "optimize", str(source), "-o", str(source) + ".out", "--judge", "cost", "--quiet", "--only"]
        pairs = [cpu_seconds(*command, "generated") - cpu_seconds(*command, "user") for _ in range(runs)]
    print(f"the pack: {1000 * statistics.median(pairs):.1f} ms of CPU time in {runs} pairs of runs (from {1000 * min(pairs):.1f} to {1000 * max(pairs):.1f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("blocks", type=pathlib.Path, nargs="?")
    parser.add_argument("--measured", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    if options.load:
        load(options.runs)
    elif not options.blocks or not options.measured:
        parser.error("BLOCKS and --measured, or --load")
    else:
        worth(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
