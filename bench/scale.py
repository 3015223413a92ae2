#!/usr/bin/env python3
# ci: --check
"""How a store of plans would grow with the number of models (docs/developers/scale.md): how many different regions and anchors the zoo has.

  bench/scale.py --results bench/results/scale.jsonl    one record per zoo model: operators, and digests of its anchors and regions
  bench/scale.py --tell                                  writes docs/developers/scale.md from that and from bench/results/plans.jsonl
  bench/scale.py --check                                 exit 1 if docs/developers/scale.md is not what would be written
Weights are left out (zoo.hollow): they are no part of a key, but which of them are the same is, and zeros of one shape all are.
"""
import argparse
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

import _paths  # noqa: F401
import programs
import zoo
from records import Records

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "bench" / "results", ROOT / "docs" / "developers" / "scale.md"
ORDERS = 200  # random orders of the models: what the curve's error is taken from
REGISTRY = 2_000_000  # models of a large public registry
SEED = 1


def collect(path):
    """One record per zoo model that inference takes."""
    records = Records(path, "model")
    for name in zoo.names():
        if (name,) in records:
            continue
        with tempfile.TemporaryDirectory(prefix="isomer_scale_") as folder:
            model = zoo.hollow(name, pathlib.Path(folder))
            ran = subprocess.run([programs.program("isomer-region-keys"), str(model)], capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            print(f"{name}: {ran.stderr.strip()}")
            continue
        answer = json.loads(ran.stdout)
        # A model's own repetitions are counted, their order is not kept.
        records.add({"model": name, "operators": answer["operators"], "region_places": len(answer["regions"]),
                     "anchors": sorted(set(answer["anchors"])), "regions": sorted(set(answer["regions"]))})
        print(f"{name:32}{answer['operators']:6}{len(set(answer['anchors'])):6}{len(answer['regions']):6}{len(set(answer['regions'])):6}", flush=True)


def read(name):
    path = RESULTS / f"{name}.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    return (lines[0]["head"], lines[1:]) if lines else (None, [])


def growth(rows, field, draw):
    """How many different ones there are after each model, in one random order."""
    order, seen, out = draw.sample(rows, len(rows)), set(), []
    for row in order:
        seen.update(row[field])
        out.append(len(seen))
    return out


def power(curve):
    """(a, b) of a * n**b through a curve, by least squares of logarithms over its second half: what comes after the first surprises."""
    points = [(math.log(n + 1), math.log(y)) for n, y in enumerate(curve) if n >= len(curve) // 2]
    mean_x, mean_y = statistics.fmean(p[0] for p in points), statistics.fmean(p[1] for p in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    return math.exp(mean_y - slope * mean_x), slope


def percentile(numbers, share):
    return sorted(numbers)[min(len(numbers) - 1, int(share * len(numbers)))]


def figures(rows, field):
    """The curve's median at some numbers of models, the exponents of all orders, and what they say of a registry."""
    draw = random.Random(SEED)
    curves = [growth(rows, field, draw) for _ in range(ORDERS)]
    fits = [power(c) for c in curves]
    at = [n for n in (1, 2, 5, 10, 20, 50, 100, len(rows)) if n <= len(rows)]
    far = [a * REGISTRY**b for a, b in fits]
    # Whether such a fit foresees: of the first half of the models, the whole.
    half = len(rows) // 2
    errors = []
    for curve in curves:
        a, b = power(curve[:half])
        errors.append(a * len(rows) ** b / curve[-1])
    def ends(numbers):
        return [percentile(numbers, share) for share in (0.05, 0.5, 0.95)]

    return {"curve": [(n, statistics.median(c[n - 1] for c in curves)) for n in dict.fromkeys(at)],
            "exponent": ends([b for _, b in fits]), "far": ends(far), "error": ends(errors)}


def grouped(number):
    return f"{number:,.0f}".replace(",", " ")


def short(number):
    """A large number with two digits."""
    for size, name in ((1e9, " billion"), (1e6, " million"), (1e3, " thousand")):
        if number >= size:
            return f"{float(f'{number / size:.2g}'):g}{name}"
    return f"{float(f'{number:.2g}'):g}"


INTRODUCTION = """# How far a store of plans goes

<!-- Written by bench/scale.py --tell from bench/results; not edited by hand. -->

A registry could keep a [plan](../guides/plans.md) for each block of the models that it serves. This page measures the size of such a
store on the zoo, then extrapolates with an error estimate.

{provenance}

A region has at most 40 nodes and is cut where the fewest values cross. Weights are zeros here: only their type and
extents count. Where a region begins depends on the cuts of the whole model, so two models share fewer regions than
blocks; plans are looked up at every anchor.

## The zoo
"""
FURTHER = """
## Further

Both grow like a power of the number of models n: regions like n^{regions}, anchors like
n^{anchors} (90 % of {orders} random orders). The zoo's models were chosen to differ; a registry has many
similar models, which add nothing, so its exponent is smaller: these are upper bounds. A fit on half of the zoo predicts
{error} times the size of the whole zoo.
"""
END = """
The step from about a hundred models to millions is four orders of magnitude beyond the measurement, so the extrapolation
is rough.

## What limits a store

- **Lookups, not bytes**: a model needs one lookup per distinct anchor, and each lists a folder. In a directory or a bucket
  that takes a fraction of a second. From a web server `pull` copies a whole store, so the server must split a large one.
- **Popular anchors**: at most 256 entries are read under one anchor. With more, entries need an order: those measured on
  this target first.
- **Records of finished searches** are read as a whole for one set of options; a registry also needs them by anchor.
- **Proofs and weights**: a plan is proved again in each model, once for each distinct region, because the store is
  untrusted. Its weights are computed from the model's own; where branches become one convolution, that takes most of the
  time with a warm store.
"""


def between(ends, form="{:.2f}"):
    """A middle with its ends."""
    return f"{form.format(ends[1])} ({form.format(ends[0])} to {form.format(ends[2])})"


def page():
    head, rows = read("scale")
    if not rows:
        sys.exit("no bench/results/scale.jsonl")
    regions, anchors = figures(rows, "regions"), figures(rows, "anchors")
    operators, different = sum(r["operators"] for r in rows), regions["curve"][-1][1]
    _, measured = read("plans")
    plan_bytes = statistics.fmean(r["bytes_per_plan"] for r in measured) if measured else None
    table = [("models", len(rows)), ("operators", operators), ("regions", sum(r["region_places"] for r in rows)), ("different regions", different),
             ("different anchors", anchors["curve"][-1][1]), ("operators for each different region", operators / different),
             ("lookups of one model: its different anchors, mean", statistics.fmean(len(r["anchors"]) for r in rows))]
    table += [("bytes of a plan, mean of those in bench/results/plans.jsonl", plan_bytes)] if plan_bytes else []
    provenance = f"`{head['command']}`; build {head['build']}; {head['date']}" + (f"; {head['note']}." if "note" in head else ".")
    lines = [INTRODUCTION.format(provenance=provenance), "| | |", "|---|---:|", *(f"| {name} | {grouped(number)} |" for name, number in table), "",
             "The number of distinct ones after N models, median of random orders:", "",
             "| models | " + " | ".join(str(n) for n, _ in regions["curve"]) + " |", "|---|" + "---:|" * len(regions["curve"])]
    for name, found in (("regions", regions), ("anchors", anchors)):
        lines.append(f"| {name} | " + " | ".join(grouped(y) for _, y in found["curve"]) + " |")
    lines += [FURTHER.format(regions=between(regions["exponent"]), anchors=between(anchors["exponent"]), orders=ORDERS, error=between(regions["error"])),
              f"| {grouped(REGISTRY)} models, all as different as the zoo's | low | middle | high |", "|---|---:|---:|---:|"]
    further = [("different regions", regions["far"]), ("different anchors", anchors["far"])]
    further += [("bytes, a plan for each region", [x * plan_bytes for x in regions["far"]])] if plan_bytes else []
    lines += [f"| {name} | " + " | ".join(short(x) for x in ends) + " |" for name, ends in further]
    return "\n".join(lines) + "\n" + END


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--tell", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.results:
        collect(options.results)
    if options.tell:
        PAGE.write_text(page(), encoding="utf-8")
    if options.check and PAGE.read_text(encoding="utf-8") != page():
        sys.exit("docs/developers/scale.md is stale: bench/scale.py --tell")


if __name__ == "__main__":
    main()
