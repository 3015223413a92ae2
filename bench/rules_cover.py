#!/usr/bin/env python3
# nightly: --check
"""Which hand-written proposers the generated rules cover: what is lost, by the analytic cost, where one of them is left out.

  bench/rules_cover.py [--suites tests,structures,expert] [--blocks BLOCKS] [--results FILE.jsonl] [--only TEXT] [--limit N] [--budget 10s] [--steps 80]
Graphs: tests: the programs of the proposers' own tests (isomer_optimizer_propose_test writes them to $ISOMER_KEEP_PROGRAMS);
structures: those of bench/structures;
expert: the expert suite's originals, of BLOCKS. The smallest first; --limit: at most this number of each suite.
Each graph by `optimize --judge cost`: with all proposers by greedy, which does not use the pack, and by backtrack, which does; with the pack alone (and
simplify); and for each proposer P that has a step in one of the first two: without P, by the strategies in which it has one, and P alone (and simplify).
A proposer without a step in a result loses nothing there if it is left out. A cost is the same if it is not more than 0.1 % higher.
Bets, which only a runtime decides (fastpath above all), are not judged here. --results keeps what is done: a second run goes on.

  bench/rules_cover.py --check
Short form, of a few programs: the pack alone is as good as two proposers, which only greedy then needs; a third is needed by both strategies.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx
import onnx.parser

import _paths  # noqa: F401
import cover_table
import programs
import structures
from cover_table import FAR, STRATEGIES
from records import Records

# What is no hand-written rewrite for a kind of graph, and what the user gives.
NOT_ASKED = ("generated", "user")
# For --check, by proposer: tests whose programs the pack does as well, and tests whose programs only the proposer does.
COVERED = {"commute": "Commute.UpsamplingGoesAfterThePointwiseConvolution", "collapse": "Collapse.ScalesAndShiftsAreOneOfEach"}
NEEDED = {"structure": "Structure.SeesHolesAsDilation"}


def programs_of_tests(folder, which="*"):
    """{name: model} of the proposers' tests, without copies."""
    ran = subprocess.run([programs.program("isomer_optimizer_propose_test"), f"--gtest_filter={which}"], capture_output=True, text=True, check=False,
                         env=os.environ | {"ISOMER_KEEP_PROGRAMS": str(folder)})
    if ran.returncode != 0:
        sys.exit(f"isomer_optimizer_propose_test: exit {ran.returncode}\n{ran.stdout[-2000:]}")
    out, seen = {}, set()
    for path in sorted(pathlib.Path(folder).glob("*.txt"), key=lambda p: int(p.stem.rsplit(".", 1)[1])):
        text = path.read_text(encoding="utf-8")
        if text not in seen:
            seen.add(text)
            test = path.stem.rsplit(".", 1)[0]
            out[f"{test}.{sum(n.startswith(test + '.') for n in out)}"] = onnx.parser.parse_model(text)
    return out


def graphs(suite, folder, options):
    if suite == "tests":
        return programs_of_tests(folder)
    if suite == "structures":
        return {name: make()[0] for name, (make, _, _) in structures.STRUCTURES.items()}
    return {path.parent.name: onnx.load(path) for path in options.blocks.glob("*/orig.onnx")}


def optimized(model, out, options, strategy, *flags):
    """The remaining cost, and the steps; {} if the model can't be optimized."""
    ran = programs.run([programs.program("isomer"), "optimize", str(model), "-o", str(out), "--judge", "cost", "--strategy", strategy, "--json", "--quiet",
                        "--max-size-growth", "100", "--budget", options.budget, "--steps", str(options.steps), *flags], timeout=600)
    if ran.code != 0:
        return {}
    answer = json.loads(ran.stdout)
    search = answer["search"]
    if not search["cost_before"]:
        return {}
    return {"cost": search["cost_after"] / search["cost_before"], "steps": {s["kind"]: s["count"] for s in answer["steps"]}, "changes": answer["changes"][:6],
            "stopped_by": answer["stopped_by"]}


def asked(model, folder, options):
    """One graph's record."""
    out = pathlib.Path(folder, "out.onnx")
    row = {"all": {s: optimized(model, out, options, s) for s in STRATEGIES}}
    if not all(row["all"].values()):
        return row | {"left": True}
    row["pack"] = optimized(model, out, options, FAR, "--only", "generated,simplify")
    row["without"], row["alone"] = {}, {}
    for who in sorted({k for run in row["all"].values() for k in run["steps"]} - {*NOT_ASKED}):
        row["without"][who] = {s: optimized(model, out, options, s, "--without", who) for s in STRATEGIES if who in row["all"][s]["steps"]}
        if who != "simplify":
            row["alone"][who] = optimized(model, out, options, FAR, "--only", f"{who},simplify")
    return row


def cover(options):
    records = Records(options.results, "suite", "graph")
    with tempfile.TemporaryDirectory(prefix="isomer_cover_") as scratch:
        for suite in options.suites:
            models = graphs(suite, scratch, options)
            names = sorted((n for n in models if options.only in n), key=lambda n: models[n].ByteSize())[: options.limit]
            for name in names:
                if (suite, name) not in records:
                    path = pathlib.Path(scratch, "in.onnx")
                    onnx.save(models[name], path)
                    records.add({"suite": suite, "graph": name} | asked(path, scratch, options))
    rows = list(records.all.values())
    report(rows)
    print(f"{len(rows)} graphs, {sum('left' in r for r in rows)} of them told no cost")


def report(rows):
    programs.print_table(("proposer", "graphs", "the pack as good", "lost without, backtrack", "lost without, greedy", "largest loss"),
                         [(who, *cover_table.cells(entry)) for who, entry in cover_table.proposers(rows).items()])


def check(options):
    with tempfile.TemporaryDirectory(prefix="isomer_cover_") as scratch:
        rows = []
        for name, model in programs_of_tests(scratch, ":".join([*COVERED.values(), *NEEDED.values()])).items():
            path = pathlib.Path(scratch, "in.onnx")
            onnx.save(model, path)
            rows.append({"suite": "tests", "graph": name} | asked(path, scratch, options))
    report(rows)
    found = cover_table.proposers(rows)
    for who in COVERED:
        entry = found.get(who)
        if not entry or not entry["covered"] or entry["lost"][FAR] or not entry["lost"]["greedy"]:
            sys.exit(f"{who}: the pack is not as good, or greedy does not need it: {entry}")
    for who in NEEDED:
        if who not in found or not all(found[who]["lost"].values()):
            sys.exit(f"{who}: leaving it out loses nothing")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", type=lambda text: text.split(","), default=["tests", "structures"])
    parser.add_argument("--blocks", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--budget", default="10s")
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        check(options)
        return 0
    if "expert" in options.suites and not options.blocks:
        parser.error("--blocks is needed for the expert suite")
    cover(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
