#!/usr/bin/env python3
# nightly: --check | timeout=900 unsanitized
"""Relaxed substitutions matter: what strategies that accept a loss on their way find, and what a measured judge refuses.

  bench/strategies.py BLOCKS [--experiments NAME,...] [--without collapse] [--measure] [--seconds 60]
                      [--results FILE.jsonl] [--check]
  bench/strategies.py --structures [--limit N] [--seconds 20] [--results FILE.jsonl]
BLOCKS holds the expert experiments as models (EXPERIMENT/orig.onnx). Every strategy searches each of them with --judge cost, without what would
find it in one step: the analytic cost that is reached (of the original's), states, proofs, what was known already, CPU seconds. backtrack:1 walks the same
steps and accepts no loss. With --measure, experiments in which the cost model likes a merge are also run with the runtime as judge: does it agree?
--structures: the same of the structures in bench/structures, with all proposers.
--check (needs no BLOCKS): a block of two branches, generated; backtracking must find what greedy and backtrack:1 don't, saturation as much as that, and of
four such blocks in a row, whose programs are too many to be looked at one by one, too; all certificates must hold.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import onnx

import _paths  # noqa: F401
import linear_blocks
import programs
import structures
from records import Records

STRATEGIES = ("greedy", "backtrack:1", "backtrack:1.05", "backtrack:1.3", "saturate")
OF_STRUCTURES = ("greedy", "backtrack:1.05", "saturate")
EXPERIMENTS = ("01_mobileone_s0_train", "05_parallel_dw_sum_to_one", "09_up2nearest_conv3x3_64_64_64", "09_upsample_linear_256_64_32",
               "09_upsample_nearest_256_64_32")
MERGES = ("04_googlenet_512_14", "04_inceptionA_35", "03_fire_13_48_192", "03_fire_55_16_64")


def optimized(model, strategy, folder, without=None, judge="cost", seconds=60):
    """The report, or None where the time was not enough."""
    out = pathlib.Path(folder, "out.onnx")
    command = [programs.program("isomer"), "optimize", str(model), "-o", str(out), "--judge", judge, "--strategy", strategy, "--json", "--quiet",
               "--max-size-growth", "100", "--budget", f"{seconds}s"] + (["--without", without] if without else [])
    run = programs.run(command, timeout=4 * seconds + 60)
    if run.code != 0:
        sys.exit(f"{model}: {run.stderr}")
    check = subprocess.run([programs.program("isomer-check"), str(model), str(out), f"{out}.cert"], capture_output=True)
    if check.returncode != 0:
        sys.exit(f"{model}, {strategy}: the certificate is not accepted: {check.stdout.decode()}")
    return json.loads(run.stdout), run.seconds


def row(records, name, strategy, report, seconds):
    s = report["search"]
    # A search that had to be left in the middle of a long step does not report the cost of its result.
    cost = s["cost_after"] / s["cost_before"] if s["cost_before"] else None
    records.add({"experiment": name, "strategy": strategy, "cost": cost, "states": s["states"], "proofs": s["proofs"],
                 "known": s["cache_hits"], "seconds": round(seconds, 1), "steps": report["steps"], "stopped_by": report["stopped_by"]}
                | ({"saturation": s["saturation"]} if strategy == "saturate" else {}))
    print(f"{name:34}{strategy:16}{'left' if cost is None else f'{cost:.3f}':>8}{s['states']:8}{s['proofs']:8}{s['cache_hits']:8}{seconds:8.1f}  "
          + ", ".join(f"{k['count']} {k['kind']}" for k in report["steps"]) + (" (out of time)" if report["stopped_by"] != "done" else ""), flush=True)
    return cost


def generated(folder, times=1):
    """Branches of a block: a 5x5 and a 1x1 convolution, added; `count` in a row. The generated rules enlarge the small kernel, which costs more, then merge."""
    from onnx import TensorProto, helper
    block = linear_blocks.Block(1)
    block.rank = 2
    x = ("x", 16, [14, 14])
    for k in range(times):
        made = block.op("Add", [block.conv(x, 16, 5, pad=2)[0], block.conv(x, 16, 1)[0]])
        x = ("y" if k + 1 == times else f"y{k}", 16, [14, 14])
        block.nodes.append(helper.make_node("Relu", [made], [x[0]]))
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 16, 14, 14]) for n in "xy"]
    path = pathlib.Path(folder, "block.onnx")
    onnx.save(helper.make_model(helper.make_graph(block.nodes, "block", infos[:1], infos[1:], block.constants),
                                opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def on_structures(records, folder, options):
    """Each structure by each strategy, as they are written, the smallest first; what is done already is not done again."""
    models = {name: make()[0] for name, (make, _, _) in structures.STRUCTURES.items()}
    for name in sorted(models, key=lambda n: models[n].ByteSize())[: options.limit]:
        onnx.save(models[name], pathlib.Path(folder, "in.onnx"))
        for strategy in OF_STRUCTURES:
            if (name, strategy) not in records:
                row(records, name, strategy, *optimized(pathlib.Path(folder, "in.onnx"), strategy, folder, seconds=options.seconds))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("blocks", type=pathlib.Path, nargs="?")
    parser.add_argument("--experiments", default=",".join(EXPERIMENTS))
    parser.add_argument("--without", default="collapse")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--structures", action="store_true")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    records = Records(options.results, "experiment", "strategy")
    print(f"{'experiment':34}{'strategy':16}{'cost':>8}{'states':>8}{'proofs':>8}{'known':>8}{'s':>8}  steps")
    with tempfile.TemporaryDirectory(prefix="isomer_strategies_") as folder:
        if options.check:
            model = generated(folder)
            cost = {s: row(records, "block", s, *optimized(model, s, folder, "collapse", seconds=60))
                    for s in ("greedy", "backtrack:1", "backtrack:1.3", "saturate")}
            if cost["backtrack:1.3"] >= 0.95 * min(cost["greedy"], cost["backtrack:1"]):
                sys.exit("backtracking finds nothing more")
            four = row(records, "four blocks", "saturate", *optimized(generated(folder, 4), "saturate", folder, "collapse", seconds=120))
            sys.exit(0 if max(cost["saturate"], four) < 1.01 * cost["backtrack:1.3"] else "saturation finds less than backtracking")
        if options.structures:
            on_structures(records, folder, options)
            return
        if not options.blocks:
            parser.error("BLOCKS is needed")
        for name in options.experiments.split(","):
            for strategy in STRATEGIES:
                row(records, name, strategy, *optimized(options.blocks / name / "orig.onnx", strategy, folder, options.without, seconds=options.seconds))
        for name in MERGES if options.measure else ():
            model = options.blocks / name / "orig.onnx"
            liked, _ = optimized(model, "greedy", folder, seconds=options.seconds)
            judged, _ = optimized(model, "greedy", folder, judge="runtime", seconds=options.seconds)
            merges = {g["what"] for g in liked["groups"]}
            measured = "; ".join(f"{r['what']} {r['ratio']:.2f}" for r in judged["regions"] if r["what"] in merges)
            print(f"{name:34}by cost {liked['search']['cost_after'] / liked['search']['cost_before']:.3f}: {'; '.join(sorted(merges)) or 'nothing'} | "
                  f"measured: {measured or 'nothing of it'} | {judged['result']}", flush=True)


if __name__ == "__main__":
    main()
