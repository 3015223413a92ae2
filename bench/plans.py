#!/usr/bin/env python3
# nightly: --check
"""What a store of plans saves: the second model of a family, with what a search of the first one left (docs/guides/plans.md).

  bench/plans.py [--pairs NAME[:NAME],...] [--strategies S,...] [--judge cost|runtime] [--filled FOLDER] [--budget T]
                 [--results FILE.jsonl] [--check]
A family is made of a zoo model: a sibling of the same architecture with other weights, all values renamed and the nodes in another order, as another
training and exporter would leave it. NAME:NAME is a pair of zoo models that share blocks. Per pair and strategy, of the second model: proofs and
seconds without a store and with one, seconds until the same result was reached, and whether it is the same.
--check, the short form for CI: a small family, judged by cost: the same result, fewer proofs, and a certificate that isomer-check accepts.
"""
import argparse
import json
import pathlib
import random
import shutil
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper

import _paths  # noqa: F401
import programs
import small_models
import zoo
from records import Records

NAMES = "squeezenet1_1,mobileone_s0,repvgg_a0,shufflenet_v2_x1_0,mobilenet_v3_small,mobilebert_tiny,bert_base:distilbert"
LEAST = 64  # elements of a constant that training would change; smaller ones are shapes, axes and similar values


def sibling(source, target, seed):
    """The same architecture as another training and another exporter would leave it."""
    model = onnx.load(source)
    draw, numbers = random.Random(seed), numpy.random.default_rng(seed)
    graph = model.graph
    for tensor in graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(tensor)
        if values.size <= LEAST or values.min() == values.max():
            continue
        # With the same scale and sign, and the same values equal: a normalization's variance stays positive.
        other = values * numbers.uniform(0.8, 1.25, values.shape).astype(numpy.float32)
        tensor.CopyFrom(numpy_helper.from_array(other.astype(numpy.float32), tensor.name))
    keep = {v.name for v in [*graph.input, *graph.output]} | {""}
    names = {}

    def renamed(name):
        return name if name in keep else names.setdefault(name, f"z{draw.randrange(16**6):06x}.{len(names)}")

    bodies = any(a.HasField("g") or a.graphs for n in graph.node for a in n.attribute)
    if not bodies:
        for node in graph.node:
            node.name = ""
            node.input[:] = [renamed(n) for n in node.input]
            node.output[:] = [renamed(n) for n in node.output]
        for tensor in graph.initializer:
            tensor.name = renamed(tensor.name)
        del graph.value_info[:]
        nodes, done = list(graph.node), {t.name for t in graph.initializer} | {v.name for v in graph.input} | {""}
        del graph.node[:]
        while nodes:
            ready = [n for n in nodes if all(i in done for i in n.input)]
            node = draw.choice(ready[:8])
            nodes.remove(node)
            done.update(node.output)
            graph.node.append(node)
    onnx.save(model, target, save_as_external_data=True, location=target.stem + ".bin", size_threshold=1024)
    return target


def optimized(path, out, options, store=None, more=()):
    """The report of one run, with its wall time."""
    command = [programs.program("isomer"), "optimize", str(path), "-o", str(out), "--json", "--quiet", "--judge", options.judge, "--budget", options.budget,
               "--cache", "none", *more]
    if store:
        command += ["--plans", str(store)]
    run = programs.run(command, timeout=1200)
    if run.code != 0:
        sys.exit(f"{path}: {run.stderr}")
    return json.loads(run.stdout), run.seconds


def seconds_to(report, seconds, cost, clock="seconds"):
    """Until a draft of this analytic cost was reached; if none was, the whole run. `cpu_seconds`: of the processor, which others on it do not change."""
    reached = [r[clock] for r in report["search"]["reached"] if r["cost"] <= cost * (1 + 1e-9)]
    return round(min(reached, default=seconds), 3)


def figures(name, strategy, cold, cold_seconds, warm, warm_seconds, store):
    c, w = cold["search"], warm["search"]
    files = [p for p in store.rglob("*") if p.is_file()]
    plans = [p.stat().st_size for p in files if "objects" in p.parts]
    return {"pair": name, "strategy": strategy, "nodes": cold["nodes_in"], "proofs_cold": c["proofs"], "proofs_warm": w["proofs"],
            "seconds_cold": round(cold_seconds, 2), "seconds_warm": round(warm_seconds, 2), "reached_cold": seconds_to(cold, cold_seconds, c["cost_after"]),
            "reached_warm": seconds_to(warm, warm_seconds, c["cost_after"]), "cpu_cold": seconds_to(cold, cold_seconds, c["cost_after"], "cpu_seconds"),
            "cpu_warm": seconds_to(warm, warm_seconds, c["cost_after"], "cpu_seconds"), "same": w["cost_after"] <= c["cost_after"] * (1 + 1e-9),
            "cost_before": c["cost_before"], "cost_cold": c["cost_after"], "cost_warm": w["cost_after"],
            "ratio_cold": cold["ratio"], "ratio_warm": warm["ratio"], "plans": w["plans"],
            "stored": len(plans), "bytes_per_plan": round(sum(plans) / max(1, len(plans)))}


def pair_of(name, folder, options):
    """Paths of a first and of a second model."""
    first, _, second = name.partition(":")
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    one = zoo.fill_once(first, folder / "a", options.filled)
    return one, zoo.fill_once(second, folder / "b", options.filled) if second else sibling(one, folder / "b" / "model.onnx", 7)


def measure(name, strategy, options, records):
    with tempfile.TemporaryDirectory(prefix="isomer_plans_") as place:
        folder = pathlib.Path(place)
        one, two = pair_of(name, folder, options)
        out, store = folder / "out.onnx", folder / "store"
        more = ["--strategy", strategy]
        cold, cold_seconds = optimized(two, out, options, more=more)
        optimized(one, out, options, store, more)
        warm, warm_seconds = optimized(two, out, options, store, more)
        check = programs.run([programs.program("isomer-check"), str(two), str(out), str(out) + ".cert"], timeout=600)
        if check.code != 0:
            sys.exit(f"{name}: the certificate is refused: {check.stdout}{check.stderr}")
        row = figures(name, strategy, cold, cold_seconds, warm, warm_seconds, store)
        row |= {"judge": options.judge}
        records.add(row)
        print(f"{name:24}{strategy:12}{row['proofs_cold']:6}{row['proofs_warm']:6}{row['seconds_cold']:8.1f}{row['seconds_warm']:8.1f}"
              f"{row['reached_cold']:9.2f}{row['reached_warm']:9.2f}{row['cpu_cold']:9.2f}{row['cpu_warm']:9.2f}  "
              f"{'same' if row['same'] else 'OTHER':6}{row['plans']}", flush=True)
        return row


def check(options):
    """Two small models of one family, by cost."""
    faults = []
    with tempfile.TemporaryDirectory(prefix="isomer_plans_") as place:
        folder = pathlib.Path(place)
        onnx.save(small_models.branches(1), folder / "one.onnx")
        sibling(folder / "one.onnx", folder / "two.onnx", 3)
        out, store = folder / "out.onnx", folder / "store"
        cold, seconds = optimized(folder / "two.onnx", out, options)
        optimized(folder / "one.onnx", out, options, store)
        warm, more = optimized(folder / "two.onnx", out, options, store)
        row = figures("branches", "greedy", cold, seconds, warm, more, store)
        print(row)
        if programs.run([programs.program("isomer-check"), str(folder / "two.onnx"), str(out), str(out) + ".cert"], timeout=60).code != 0:
            faults.append("isomer-check refuses what was made with plans")
        if not row["same"] or row["plans"]["taken"] < 1:
            faults.append("the plans of one model are not those of its sibling")
        if row["proofs_warm"] > row["proofs_cold"]:
            faults.append("more proofs with plans than without")
        shutil.rmtree(store)
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", default=NAMES)
    parser.add_argument("--strategies", default="greedy,saturate")
    parser.add_argument("--judge", default="cost")
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--budget", default="2m")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        sys.exit("\n".join(check(options)) or None)
    records = Records(options.results, "pair", "strategy", "judge")
    print(f"{'pair':24}{'strategy':12}{'proofs cold, warm':>12}{'s cold, warm':>14}{'s to the same result':>22}{'of processor':>18}")
    for name in options.pairs.split(","):
        for strategy in options.strategies.split(","):
            if (name, strategy, options.judge) not in records:
                measure(name, strategy, options, records)


if __name__ == "__main__":
    main()
