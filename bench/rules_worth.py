#!/usr/bin/env python3
# nightly: --check
"""The gain of proposers and of generated rules alone, by the analytic cost and measured; and what it costs to have the generated rules.

  bench/rules_worth.py BLOCKS --measured measured.json [--results FILE.jsonl] [--only NAME,...] [--proposers generated,partial]
                       [--strategy greedy] [--judge cost] [--budget 60s] [--seconds 0]
Each wanted experiment of the expert suite (bench/expert_suite.py) is optimized with --judge cost: with all proposers, and with each of --proposers
alone (`--only NAME`). The cost falls if it falls by more than 2 %. --judge runtime: the runtime decides, and the ratio is that of times, as far as
isomer has measured it; bets, whose cost does not fall, are then tried, too. --seconds S: what is found is also run on ONNX Runtime, in turns with
the original and the hand-made variants; a win is found if 0.9 of the hand-made gain is reached.

  bench/rules_worth.py --models MODEL.onnx... [--strategy backtrack:1.05] [--budget 60s] [--results FILE.jsonl]
What each of --proposers adds to the hand-written ones, by the analytic cost: each model without all of them, and with each of them. Not by greedy, which
does not use `generated`. A search that is out of time says so: then a difference may be time's.

  bench/rules_worth.py --load [--runs 20]
CPU time of a run on a model of three products with the pack, less that of a run without rules; the median of pairs.

  bench/rules_worth.py --check
Short form: a small graph that the rules alone must improve, with a certificate that holds.
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

import _paths  # noqa: F401
import expert_suite
import programs
from records import Records

FOUND = 1.02


def optimized(source, out, budget, *flags, judge="cost"):
    ran = subprocess.run([programs.program("isomer"), "optimize", str(source), "-o", str(out), "--judge", judge, "--budget", budget,
                          "--max-size-growth", "100", "--json", "--quiet", *flags], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        return {"error": ran.stderr[:200]}
    answer = json.loads(ran.stdout)
    search = answer["search"]
    ratio = search["cost_before"] / search["cost_after"] if search["cost_after"] > 0 else 1.0
    if judge == "runtime":
        ratio = answer["ratio"] if answer["result"] == "improved" else 1.0
    return {"ratio": round(ratio, 4), "steps": answer["changes"][:8], "proofs": search["proofs"], "refused": len(answer["not_taken"]),
            "stopped_by": answer["stopped_by"], "seconds": round(answer["seconds"], 2)}


def experiment(folder, options):
    with tempfile.TemporaryDirectory() as scratch:
        outs = {who: pathlib.Path(scratch) / f"{who}.onnx" for who in ("all", *options.proposers)}
        flags = lambda who: ["--strategy", options.strategy] + ([] if who == "all" else ["--only", who])
        row = {who: optimized(folder / "orig.onnx", out, options.budget, *flags(who), judge=options.judge) for who, out in outs.items()
               if who != "all" or options.judge == "cost"}
        better = {who: outs[who] for who in options.proposers if row[who].get("ratio", 1) > FOUND}
        if options.seconds > 0 and better:
            variants = {p.stem: p for p in folder.glob("*.onnx") if p.stem not in ("orig", *expert_suite.unsafe.VARIANTS)}
            times, _ = expert_suite.measured_in_turns({"orig": folder / "orig.onnx", **variants, **{f"isomer {who}": p for who, p in better.items()}},
                                                      dict(np.load(folder / "feeds.npz")), options.seconds)
            for who in better:
                row[who]["measured"] = round(expert_suite.gain(times, f"isomer {who}"), 3)
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
            records.add({"experiment": name} | experiment(options.blocks / name, options))
    rows = [records.all[(n,)] for n in names]
    asked = [who for who in ("all", *options.proposers) if rows and who in rows[0]]
    programs.print_table(["experiment", *asked, "measured", "hand", "first step"],
                         [[r["experiment"], *(ratio(r, who) for who in asked),
                           max((r[who].get("measured", 0) for who in options.proposers), default=0) or "", r.get("hand", ""),
                           next((r[who]["steps"][0][:80] for who in options.proposers if r[who].get("steps")), "")] for r in rows])
    for who in options.proposers:
        print(f"{who} alone: {worth_text(rows, who)}")


def added(options):
    """What proposers add to the others on whole models."""
    if options.strategy == "greedy":
        sys.exit("greedy does not ask generated: another --strategy")
    records = Records(options.results, "model")
    for path in sorted(options.models, key=lambda p: p.stat().st_size):
        name = path.parent.name if path.stem == "model" else path.stem
        if (name,) in records:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            flags = lambda who: ["--strategy", options.strategy, "--without", ",".join(p for p in options.proposers if p != who)]
            records.add({"model": name} | {who: optimized(path, pathlib.Path(scratch, "out.onnx"), options.budget, *flags(who))
                                           for who in ("none", *options.proposers)})
    asked = ["none", *options.proposers]
    programs.print_table(["model", *asked], [[r["model"], *(f"{ratio(r, who):.4f}{'' if r[who].get('stopped_by') == 'done' else '*'}" for who in asked)]
                                             for r in records.all.values()])


def ratio(row, who):
    return row[who].get("ratio", 1.0)


def worth_text(rows, who):
    falls = [r for r in rows if ratio(r, who) > FOUND]
    text = f"better in {len(falls)} of {len(rows)} experiments"
    if rows and "all" in rows[0]:
        near = sum(ratio(r, who) >= expert_suite.REACHED * ratio(r, "all") for r in falls)
        more = [r["experiment"] for r in falls if ratio(r, who) > FOUND * ratio(r, "all")]
        text += f", in {near} of them by 0.9 of what all proposers do; by more than all: {', '.join(more) or 'none'}"
    asked = [r for r in falls if "measured" in r[who]]
    reached = sum(r[who]["measured"] >= expert_suite.REACHED * r["hand"] for r in asked)
    return text + (f"; measured: {reached} wins of the hand-made graphs found" if asked else "")


def check():
    """What each of them must find alone, by any change in the search."""
    weight = "float[{0}, {0}] {1} = {{" + ", ".join(["0.5", "-1"] * 32) + "}}"
    texts = {"generated": "g (float[8, 8] x) => (float[8, 8] y) <" + weight.format(8, "a") + ", " + weight.format(8, "b")
             + "> { s = MatMul(x, a) t = MatMul(x, b) y = Add(s, t) }"}
    with tempfile.TemporaryDirectory() as scratch:
        for who, text in texts.items():
            source, out = pathlib.Path(scratch) / "in.onnx", pathlib.Path(scratch) / "out.onnx"
            onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> ' + text), source)
            found = optimized(source, out, "30s", "--only", who)
            asked = subprocess.run([programs.program("isomer-check"), str(source), str(out), f"{out}.cert"], capture_output=True, check=False)
            accepted = asked.returncode == 0
            print(who, found, "accepted" if accepted else "REJECTED")
            if found.get("ratio", 1) <= FOUND or not accepted:
                sys.exit(f"{who} alone finds nothing")


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
    parser.add_argument("--proposers", type=lambda text: text.split(","), default=["generated", "partial"])
    parser.add_argument("--strategy", default="greedy")
    parser.add_argument("--judge", choices=("cost", "runtime"), default="cost")
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--models", type=pathlib.Path, nargs="+")
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.load:
        load(options.runs)
    elif options.check:
        check()
    elif options.models:
        added(options)
    elif not options.blocks or not options.measured:
        parser.error("BLOCKS and --measured, or --load")
    else:
        worth(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
