#!/usr/bin/env python3
# nightly: --check --budget 30s | unsanitized
"""How much sooner `isomer optimize` is there with a prior that knows nothing of the model's family: the work until it has 95 % of its whole gain.

  bench/search_prior.py [--models NAME,...] [--filled FOLDER] [--budget 120s] [--judge cost|runtime] [--structures FOLDER] [--results FILE.jsonl] [--check]
Models of the zoo that gain (bench/results/zoo.jsonl), each with --no-prior and with a prior that bench/train_prior.py made without the model's family.
--judge cost is repeatable: the gain is that of the analytic cost, and time is CPU time of the process. With --judge runtime the gain is what was measured
at the moment, and time goes by the clock. A row has for both: seconds until 95 % of the larger of both gains (null: never), the gain, proposals tried.
--structures: models of a folder instead, by the analytic cost; only the gains are compared.
--check, the short form: three small models; no gain is lower.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

import _paths  # noqa: F401
import programs
import train_prior
import zoo
from records import Records

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARE = 0.95
LOWER = 0.002  # of a gain by the analytic cost: the same, but for the order of sums


def optimized(model, out, budget, judge, *flags):
    command = [programs.program("isomer"), "optimize", str(model), "-o", str(out), "--judge", judge, "--budget", budget, "--json", "--quiet", *flags]
    ran = programs.run(command, timeout=1000)
    if ran.code != 0:
        return {"error": ran.stderr[-200:]}
    answer = json.loads(ran.stdout)
    search = answer["search"]
    reached = [{"seconds": round(r["cpu_seconds" if judge == "cost" else "seconds"], 2), "tried": r["tried"],
                "gain": search["cost_before"] / r["cost"] if judge == "cost" else r["ratio"]} for r in search["reached"]]
    reached = [r for r in reached if r["gain"]]
    gain = max((r["gain"] for r in reached), default=1.0) if judge == "cost" else (answer["ratio"] if answer["result"] == "improved" else 1.0)
    return {"gain": gain, "reached": reached, "seconds": round(answer["seconds"], 1), "stopped_by": answer["stopped_by"], "prior": search["prior"],
            "steps": {s["kind"]: s["count"] for s in answer["steps"]}}


def until(run, gain):
    """The first moment with this share of the gain, and proposals until then."""
    wanted = 1 + SHARE * (gain - 1)
    return next(((r["seconds"], r["tried"]) for r in run["reached"] if r["gain"] >= wanted - 1e-12), (None, None))


def row_of(model, options, without):
    with tempfile.TemporaryDirectory() as folder:
        prior, out = pathlib.Path(folder) / "prior.txt", pathlib.Path(folder) / "out.onnx"
        subprocess.run([sys.executable, str(ROOT / "bench/train_prior.py"), "--out", str(prior), "--without", without, "--features", str(options.features)],
                       check=True, capture_output=True)
        runs = {"none": optimized(model, out, options.budget, options.judge, "--no-prior"),
                "prior": optimized(model, out, options.budget, options.judge, "--prior", str(prior))}
    if any("error" in r for r in runs.values()):
        return {"error": {arm: r.get("error") for arm, r in runs.items()}}
    # Both have to come to the same: what the run without a prior had in the end.
    goal = runs["none"]["gain"]
    row = {arm: {"gain": round(r["gain"], 5), "until": until(r, goal)[0], "tried": until(r, goal)[1], "all": r["seconds"], "stopped_by": r["stopped_by"],
                 "steps": r["steps"]} for arm, r in runs.items()}
    return row | {"first": (runs["prior"]["prior"] or {}).get("first"), "why": (runs["prior"]["prior"] or {}).get("why")}


def told(rows, judge):
    good = [r for r in rows if "error" not in r]
    gaining = [r for r in good if r["none"]["gain"] > 1.0005]
    table = [[r["model"], r["none"]["gain"], r["prior"]["gain"], r["none"]["until"], r["prior"]["until"] if r["prior"]["until"] is not None else "never",
              " ".join(r["first"] or []), (r["why"] or "")[:70]] for r in good]
    programs.print_table(["model", "gain", "with prior", "s", "s with prior", "first", "why"], table)
    both = [r for r in gaining if r["none"]["until"] and r["prior"]["until"]]
    if both:
        ratios = [r["prior"]["until"] / r["none"]["until"] for r in both]
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        sums = [sum(r[arm]["until"] for r in both) for arm in ("prior", "none")]
        print(f"{len(gaining)} models that gain by {judge}; {len(both)} have {SHARE:.0%} of the gain with the prior, too, in {mean:.2f} of the time "
              f"(geometric mean; median {statistics.median(ratios):.2f}, sums {sums[0]:.0f} of {sums[1]:.0f} s); "
              f"in at most half of it: {sum(x <= 0.5 for x in ratios)}")
    lower = [r["model"] for r in good if r["prior"]["gain"] < r["none"]["gain"] - (LOWER if judge == "cost" else 0.02)]
    higher = [r["model"] for r in good if r["prior"]["gain"] > r["none"]["gain"] + (LOWER if judge == "cost" else 0.02)]
    print(f"lower in the end: {', '.join(lower) or 'none'}; higher: {', '.join(higher) or 'none'}")
    return lower


def gaining_models():
    rows = [json.loads(line) for line in (ROOT / "bench/results/zoo.jsonl").read_text().splitlines()]
    rows = [r for r in rows if "head" not in r and r["result"] == "improved"]
    return [r["model"] for r in sorted(rows, key=lambda r: r["bytes_in"])]


def structures(options, records):
    """Every structure by itself; nothing of the prior knows them."""
    folder = pathlib.Path(options.structures)
    for path in sorted(folder.glob("*/orig.onnx")) + sorted(folder.glob("*.onnx")):
        name = path.parent.name if path.name == "orig.onnx" else path.stem
        if (name,) not in records:
            records.add({"model": name} | row_of(path, options, ""))
    return list(records.all.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=lambda text: text.split(","))
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--budget", default="120s")
    parser.add_argument("--judge", choices=("cost", "runtime"), default="cost")
    parser.add_argument("--structures", type=pathlib.Path, help="a folder of models, each NAME/orig.onnx or NAME.onnx, instead of the zoo")
    parser.add_argument("--features", type=pathlib.Path, default=ROOT / "bench/results/architectures.jsonl")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    records = Records(options.results, "model")
    if options.structures:
        sys.exit(1 if told(structures(options, records), options.judge) else 0)
    names = options.models or (["lstm_unrolled", "wide_deep", "squeezenet1_1"] if options.check else gaining_models())
    for name in names:
        if (name,) in records:
            continue
        with tempfile.TemporaryDirectory() as folder:
            model = zoo.fill_once(name, pathlib.Path(folder), options.filled)
            records.add({"model": name} | row_of(model, options, train_prior.family(name)))
        print(json.dumps(records.all[name,])[:400], flush=True)
    lower = told([records.all[n,] for n in names], options.judge)
    sys.exit(1 if lower else 0)


if __name__ == "__main__":
    main()
