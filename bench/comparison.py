#!/usr/bin/env python3
# nightly: --check | serial unsanitized
"""The zoo through other people's optimizers and through ours: how much faster, in what time and memory, and how much of it is proved.

  bench/comparison.py [--tools PYTHON] [--models NAME,...] [--limit N] [--only TOOL,...] [--budget 60s] [--seconds 60] [--faults 5]
                      [--results FILE.jsonl] [--filled DIR] [--check]
A tool gets the model with its weights inside, in a process of its own, whose time and peak of memory are taken. What it writes is measured
against the original by `isomer bench` (paired, in turns, 95 % interval), and `isomer prove` decides whether it is equal, within --seconds.
What onnxsim writes is also given to its own `certify`, with float inputs bounded by 10. OpenVINO writes no model: it is measured as a runtime
beside ONNX Runtime, by turns. Then --faults mutants of the model (tests/lib/model_changes.py): which tool calls one equal that ONNX Runtime shows to differ?
PYTHON is that of an environment with onnxsim, z3-solver, onnxslim and onnxoptimizer (default: $ISOMER_TOOLS_PYTHON; without it these are left out).
--results keeps what is done, so that a run may be interrupted. Fails if our result is slower or not accepted, or a fault is proved equal by us.
"""
import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

import onnx

import _paths  # noqa: F401
import optimizing
import programs
import prove_mutants
import proving
import zoo
from model_changes import FAMILIES
from records import Records

# What ONNX Runtime makes of a model when it loads it, saved. "all" is for this processor only.
OFFLINE = ("import onnxruntime as o, sys\ns = o.SessionOptions()\ns.graph_optimization_level = o.GraphOptimizationLevel.ORT_ENABLE_{}\n"
           "s.optimized_model_filepath = sys.argv[2]\no.InferenceSession(sys.argv[1], s, providers=['CPUExecutionProvider'])")
OURS = {"ort_extended": OFFLINE.format("EXTENDED"), "ort_all": OFFLINE.format("ALL")}  # by our own Python: the judge's version
# Without its proof, which runs and is timed separately.
THEIRS = zoo.TOOLS | {"onnxsim": zoo.TOOLS["onnxsim"].replace("sys.argv[1]))", "sys.argv[1]), certify=False)")}
TOOLS = ("isomer", *THEIRS, *OURS, "openvino")
# Without ranges it calls rounded constants a difference: some input is large enough to show it.
CERTIFY = """import json, onnx, sys
from onnxsim.certify import certify
a, b = onnx.load(sys.argv[1]), onnx.load(sys.argv[2])
weights = {t.name for t in a.graph.initializer}
ranges = {i.name: (-10.0, 10.0) for i in a.graph.input if i.name not in weights and i.type.tensor_type.elem_type == onnx.TensorProto.FLOAT}
outputs = certify(a, b, input_ranges=ranges or None, total_timeout_ms=int(sys.argv[3]) * 1000).outputs
print(json.dumps(list(outputs.values())))"""
ROUNDS = 9  # the second smallest and the second largest of 9 are the ends of an interval of 96 % for the median
LARGEST_MB_OF_FAULTS = prove_mutants.LARGEST_MB
FAILED_CHARACTERS = 200  # of a tool's last output


def last_words(outcome):
    lines = outcome.stderr.strip().splitlines()
    return (lines[-1] if lines else f"exit {outcome.code}")[:FAILED_CHARACTERS]


def cost(outcome):
    return {"seconds": round(outcome.seconds, 2), "peak_bytes": outcome.peak_bytes}


def certify(python, a, b, seconds):
    """What onnxsim's own proof says of each output, for float inputs within 10: {proved, outputs, words}."""
    done = programs.run([python, "-c", CERTIFY, str(a), str(b), str(seconds)], 4 * seconds + 60)
    try:
        words = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        return {"failure": last_words(done)} | cost(done)
    return {"proved": sum(w.startswith("proved") for w in words), "outputs": len(words), "words": sorted(set(words))} | cost(done)


def by_tool(tool, model, folder, given):
    """What another tool made of a model."""
    out = folder / f"{tool}.onnx"
    script, python = (OURS[tool], sys.executable) if tool in OURS else (THEIRS[tool], given.tools)
    done = programs.run([python, "-c", script, str(model), str(out)], timeout=1800)
    row = cost(done)
    if done.code != 0 or not out.exists():
        return row | {"failure": last_words(done)}
    row |= {"bytes_in": model.stat().st_size, "bytes_out": out.stat().st_size,
            "time": optimizing.bench(model, out, "--seconds", str(given.bench_seconds)), "equal": proving.prove_and_run(model, out, given.seconds)}
    if tool == "onnxsim":
        row["certify"] = certify(given.tools, model, out, given.seconds)
    if row["time"] is None:
        row["failure"] = "ONNX Runtime does not run what it wrote"
    return row


def by_isomer(model, folder, given):
    out = folder / "isomer.onnx"
    answer = optimizing.optimize(model, out, "--budget", given.budget)
    if answer["result"] == "failed":
        return {"failure": answer["reason"][-FAILED_CHARACTERS:]}
    row = {key: answer[key] for key in ("result", "reason", "seconds", "peak_bytes", "bytes_in", "bytes_out", "accepted", "check_seconds")}
    if answer["result"] == "improved":
        row |= {"time": optimizing.bench(model, out, "--seconds", str(given.bench_seconds)), "equal": proving.prove(model, out, given.seconds)}
    return row


def on_openvino(model, given):
    """Another runtime with its own optimizer, in rounds of one after the other: the median of their ratios, and an interval of 96 %."""
    command = [programs.program("isomer"), "bench", str(model), "--runtime", "ort,openvino", "--seconds", str(given.bench_seconds / ROUNDS), "--json"]
    ratios = []
    for _ in range(ROUNDS):
        done = programs.run(command, timeout=900)
        if done.code != 0:
            return {"failure": last_words(done)}
        answer = json.loads(done.stdout)
        ours, theirs = answer["models"][0], answer["others"][0]["models"][0]
        for of in (ours, theirs):
            if "failure" in of:
                return {"failure": of["failure"]["message"][:FAILED_CHARACTERS]}
        ratios.append(ours["cpu_ns"]["median"] / theirs["cpu_ns"]["median"])
    ratio, (low, high) = statistics.median(ratios), sorted(ratios)[1:ROUNDS - 1:ROUNDS - 3]
    return {"seconds": theirs["load_ns"] / 1e9, "peak_bytes": theirs["peak_bytes"],
            "time": {"ratio": ratio, "low": low, "high": high, "verdict": "faster" if low > 1 else "slower" if high < 1 else "no difference seen"}}


def planted_faults(name, model, folder, given):
    """The verdicts on mutants that ONNX Runtime shows to differ from the original; others are no faults, or no visible ones."""
    row = {"faults": 0, "isomer": {}, "certify": {}, "false": []}
    pair = folder / "pair"
    for number in range(given.faults):
        # Families by turns, from another one for each model.
        family = FAMILIES[(number + sum(map(ord, name))) % len(FAMILIES)]
        written = prove_mutants.written_pair(model, family, pair, f"{name} {number}")
        if written is None or prove_mutants.falsehood(*written[:2], number) is None:
            continue
        a, b, what = written
        row["faults"] += 1
        said = {"isomer": proving.prove(a, b, given.seconds)["verdict"]}
        if given.tools:
            said["certify"] = verdict_of(certify(given.tools, a, b, given.seconds))
        for who, verdict in said.items():
            row[who][verdict] = row[who].get(verdict, 0) + 1
            if verdict == "proved":
                row["false"].append([who, what])
        shutil.rmtree(pair, ignore_errors=True)
    return row


def verdict_of(certified):
    if "failure" in certified:
        return "failed"
    return "proved" if certified["proved"] == certified["outputs"] else "refuted" if "refuted" in certified["words"] else "undecided"


def row_of(name, tool, model, folder, given):
    if tool == "isomer":
        return by_isomer(model, folder, given)
    if tool == "openvino":
        return on_openvino(model, given)
    return planted_faults(name, model, folder, given) if tool == "faults" else by_tool(tool, model, folder, given)


def asked_tools(given):
    tools = [t for t in (given.only.split(",") if given.only else TOOLS) if t not in THEIRS or given.tools]
    return tools + (["faults"] if given.faults > 0 and not given.only else [])


def is_possible(name, tool):
    return tool != "faults" or zoo.index()[name]["megabytes"] <= LARGEST_MB_OF_FAULTS


def compare(name, tools, given, records):
    todo = [t for t in tools if (name, t) not in records and is_possible(name, t)]
    if not todo:
        return
    with optimizing.filled_model(name, given.filled) as (filled, folder):
        model = folder / "original.onnx"  # with its weights inside, as most tools want it
        onnx.save(onnx.load(filled), model)
        for tool in todo:
            # A folder of its own, so that no tool sees another's files.
            with tempfile.TemporaryDirectory(dir=folder) as own:
                row = row_of(name, tool, model, pathlib.Path(own), given)
            print(f"{name} {tool}: {told(row)}", file=sys.stderr, flush=True)
            records.add({"model": name, "tool": tool} | row)


def told(row):
    if "faults" in row:
        return f"{row['faults']} faults, {len(row['false'])} called equal"
    if "failure" in row:
        return f"failed: {row['failure']}"
    pair = row.get("time")
    speed = f"{pair['ratio']:.3f} [{pair['low']:.2f}, {pair['high']:.2f}]" if pair else "the same"
    return f"{speed}, {row['seconds']:.1f} s, {row.get('equal', {}).get('verdict', '-')}"


def print_table(rows):
    table = []
    for tool in TOOLS:
        of = [r for r in rows if r["tool"] == tool]
        gains = [(r.get("time") or {"ratio": 1.0})["ratio"] for r in of if "failure" not in r]
        if not gains:
            continue
        mean, seconds = math.exp(statistics.fmean(map(math.log, gains))), statistics.median(r.get("seconds", 0) for r in of)
        proved = sum(r.get("equal", {}).get("verdict") == "proved" for r in of)
        table.append((tool, len(of), len(of) - len(gains), round(mean, 3), round(max(gains), 2), round(min(gains), 2), proved, round(seconds, 1)))
    programs.print_table(("tool", "models", "failed", "mean", "best", "worst", "proved", "median s"), table)


def wrongs(rows):
    for r in rows:
        if r["tool"] == "isomer":
            pair = r.get("time")
            if "failure" in r or not r["accepted"]:
                yield f"{r['model']}: {r.get('failure', 'rejected by the checker')}"
            elif pair and pair["high"] < 1 / 1.02:
                yield f"{r['model']}: slower, {pair['ratio']:.3f}"
        elif r["tool"] == "faults":
            yield from (f"{r['model']}: proved equal, and is not: {what}" for who, what in r["false"] if who == "isomer")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", default=os.environ.get("ISOMER_TOOLS_PYTHON"))
    parser.add_argument("--models", default="")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--seconds", type=int, default=60, help="for one proof")
    parser.add_argument("--bench-seconds", type=int, default=20, help="for one comparison")
    parser.add_argument("--faults", type=int, default=5)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--check", action="store_true", help="a short form for ctest")
    given = parser.parse_args()
    if given.check:
        given.limit, given.budget, given.seconds, given.bench_seconds, given.faults, given.tools = 1, "5s", 10, 2, 2, None
    names = given.models.split(",") if given.models else [n for n in zoo.names() if "." not in n][:given.limit]
    tools, records = asked_tools(given), Records(given.results, "model", "tool")
    for name in names:
        compare(name, tools, given, records)
    rows = [r for r in records.all.values() if r["model"] in names]
    print_table(rows)
    wrong = list(wrongs(rows))
    for line in wrong:
        print(f"WRONG {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
