#!/usr/bin/env python3
"""Writes the documents' figures from bench/results: the pages of docs/results, the picture, and the headline of the README.

  bench/tell.py           writes them
  bench/tell.py --check   exit 1 if one of them is not what would be written
No figure of these is typed. It runs in the Python of tools/setup.
"""
import argparse
import json
import math
import os
import pathlib
import re
import statistics
import sys
import textwrap

import tell_comparison
import tell_kernels
import tell_packages
import tell_picture
import tell_reliability
import tell_simplify
import tell_sizes
import tell_together
import tell_trained
import tell_tuning
import unsafe

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS, PAGES = ROOT / "bench" / "results", ROOT / "docs" / "results"
BEGIN, END = "<!-- results: written by bench/tell.py -->", "<!-- /results -->"
GENERATED = "<!-- Written by bench/tell.py from bench/results; not edited by hand. -->"
REACHED, BEATEN, SLOWER = 0.9, 1.05, 0.95
LARGE = 1.3  # a gain that is found on a busy machine, too


def read(name):
    """(head, rows), or None where there are no such results. The head is the first one, with the builds of all."""
    path = RESULTS / f"{name}.jsonl"
    if not path.exists():
        return None
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    heads = [line["head"] for line in lines if "head" in line]
    builds = {"build": " and ".join(dict.fromkeys(head["build"] for head in heads))} if len(heads) > 1 else {}
    return (heads[0] if heads else {}) | builds, [line for line in lines if "head" not in line]


def provenance(head):
    """Where figures come from, as one line."""
    parts = [f"`{head['command']}`", f"build {head['build']}", head["date"], f"{head['processor']}, {head['cores']} cores",
             f"ONNX Runtime {head['onnxruntime']}"]
    parts += [f"load {head['load']}"] if "load" in head else []
    parts += [head["note"]] if "note" in head else []
    return "; ".join(parts) + "."


def geometric_mean(numbers):
    return math.exp(statistics.fmean(map(math.log, numbers)))


def operator_count():
    return len(re.findall(r"^\s*X\(\w+\)", (ROOT / "src" / "model" / "ops" / "list.h").read_text(encoding="utf-8"), re.M))


# ---- the zoo ---------------------------------------------------------------------------------------------------------

def gain(row):
    """What was measured a second time, independently; 1 for a model that came back as it was."""
    return (row.get("again") or row)["ratio"] if row["result"] == "improved" else 1.0


def growth(row):
    return row["growth"] if "growth" in row else row["bytes_out"] / max(1, row["bytes_in"])


def interval(pair):
    return f"{pair['ratio']:.2f} [{pair['low']:.2f}, {pair['high']:.2f}]" if pair and pair.get("ratio") else "-"


def zoo_summary(rows):
    gains = sorted((gain(r) for r in rows if r["result"] != "failed"), reverse=True)
    better = [g for g in gains if g > 1]
    slower = sum(g < 1 / 1.02 for g in gains)
    rejected = sum(not r.get("accepted", False) for r in rows)
    return {"models": len(gains), "faster": len(better), "slower": slower, "rejected": rejected, "mean": geometric_mean(gains),
            "mean_without_two": geometric_mean(gains[2:]) if len(gains) > 2 else 1.0, "mean_of_faster": geometric_mean(better) if better else 1.0,
            "median": statistics.median(gains), "best": gains[0]}


def zoo_table(rows):
    yield "| model | gain when chosen | measured again | steps | file size | float error | check, s |"
    yield "|---|---|---|---|---:|---|---:|"
    for row in sorted((r for r in rows if r["result"] == "improved"), key=gain, reverse=True):
        steps = ", ".join(f"{s['count']} {s['kind']}" for s in row["steps"])
        error = f"{row['error_before']:.0e} → {row['error_after']:.0e}" if row.get("error_before") is not None else ""
        yield f"| {row['model']} | {interval(row)} | {interval(row.get('again'))} | {steps} | {growth(row):.2f} | {error} | {row['check_seconds']:.1f} |"
    yield ""
    unchanged = sorted((r for r in rows if r["result"] != "improved"), key=lambda r: r["model"])
    if unchanged:
        yield f"**{len(unchanged)} came back unchanged**, and why:"
        yield ""
        yield "| model | why |"
        yield "|---|---|"
        for row in unchanged:
            yield f"| {row['model']} | {row['reason'].replace('|', '/').strip()} |"
        yield ""


def zoo_section(title, rows):
    s = zoo_summary(rows)
    yield from (f"## {title}", "",
                f"**{s['models']} models: {s['faster']} faster, {s['slower']} slower, {s['rejected']} certificates rejected.** Geometric mean "
                f"{s['mean']:.3f} ({s['mean_without_two']:.3f} without the two best), median {s['median']:.3f}, best {s['best']:.2f}.", "")


def zoo_page():
    yield from ("# Results: the zoo", "", GENERATED, "",
                "Each model was optimized by `isomer optimize`. `isomer check` checked each result, and `isomer bench` measured each changed model again,",
                "independently. Ratios above 1 are faster; brackets are 95 % intervals. The baseline is the original with all of",
                "the runtime's own optimizations.", "",
                "![Gains of the zoo models](zoo.svg)", "")
    if found := read("zoo"):
        head, rows = found
        yield from (*zoo_section("One thread, ONNX Runtime", rows), provenance(head), "")
        yield from zoo_table(rows)
    yield from kernels_section()
    yield from busy_section()


def on_openvino():
    """How much faster OpenVINO runs a model than ONNX Runtime does, by model."""
    rows = (read("comparison") or ({}, []))[1]
    return {row["model"]: row["time"]["ratio"] for row in rows if row["tool"] == "openvino" and row.get("time")}


def kernels_section():
    if (found := read("zoo_kernels")) is None:
        return
    head, rows = found
    alone, openvino = {row["model"]: gain(row) for row in read("zoo")[1]}, on_openvino()
    beside = [(gain(row), openvino[row["model"]]) for row in rows if row["model"] in openvino]
    yield from (*zoo_section("With kernels, one thread, ONNX Runtime", rows),
                f"`isomer optimize --kernels` on the same models. *graph* is the gain without kernels, from the table above. *OpenVINO* is its speed over "
                f"ONNX Runtime's, from [another run](comparison.md): on the {len(beside)} models that both ran, its geometric mean is "
                f"{geometric_mean([b for _, b in beside]):.3f}, Isomer's {geometric_mean([a for a, _ in beside]):.3f}; Isomer is more than 2 % ahead on "
                f"{sum(a > 1.02 * b for a, b in beside)} and more than 2 % behind on {sum(b > 1.02 * a for a, b in beside)}.", "", provenance(head), "",
                "| model | gain when chosen | measured again | graph | OpenVINO | kernels | s |", "|---|---|---|--:|--:|---|--:|")
    for row in sorted(rows, key=gain, reverse=True):
        chosen = (interval(row), interval(row.get("again"))) if row["result"] == "improved" else ("-", "-")
        why = "yes" if row.get("kernels") else (row.get("why_no_kernels") or row["reason"]).replace("|", "/")
        rival = f"{openvino[row['model']]:.2f}" if row["model"] in openvino else ""
        yield f"| {row['model']} | {chosen[0]} | {chosen[1]} | {alone.get(row['model'], 1):.2f} | {rival} | {why} | {row['seconds']:.0f} |"
    yield ""


def busy_section():
    if (found := read("busy")) is None:
        return
    head, rows = found
    large = [r for r in rows if r["idle"] >= LARGE]
    yield from ("## On a busy machine", "",
                f"The same while {rows[0]['processes']} other processes multiply matrices on {head['cores']} cores. When they have ended, `isomer "
                f"bench` measures "
                f"the gain again. **Of {len(large)} models that gain {LARGE} or more on an idle machine, "
                f"{sum(r['result'] == 'improved' for r in large)} are improved**, of the other {len(rows) - len(large)}, "
                f"{sum(r['result'] == 'improved' for r in rows) - sum(r['result'] == 'improved' for r in large)}.", "", provenance(head), "",
                "| model | gain on an idle machine | gain when chosen, busy | measured again, idle | s | why unchanged |", "|---|--:|---|---|--:|---|")
    for r in rows:
        chosen = (interval(r), interval(r["again"]), "") if r["result"] == "improved" else ("", "", r["reason"].replace("|", "/"))
        yield f"| {r['model']} | {r['idle']:.2f} | {chosen[0]} | {chosen[1]} | {r['seconds']:.0f} | {chosen[2]} |"
    yield ""


DEPLOYED = {"fp16": "float16", "qdq": "int8, QuantizeLinear and DequantizeLinear", "qdq_pc": "the same, a scale for each channel",
            "qdq_only": "the same around Conv, MatMul and Gemm only", "qop": "int8, QLinear operators", "dynamic": "int8, quantised while it runs",
            "nbits4": "weights of four bits"}
SLOWER_AGAIN = 0.95  # as bench/decoders.py has it
INT8 = ("qdq", "qdq_pc", "qdq_only", "qop", "dynamic")


def kind_of(row):
    return row["model"].rsplit(".", 1)[1]


def deployed_page():
    yield from ("# Results: deployed models", "", GENERATED, "",
                "Models of the zoo in the formats that are deployed (`bench/make_deployed.py`), optimized as [the zoo](zoo.md): each result was checked,",
                "and each changed model measured again. Errors are against the original in float64. The page lists only models that were run.", "")
    found = read("deployed")
    if found is None:
        yield "There are no results yet."
        return
    head, rows = found
    yield from (provenance(head), "")
    if int8 := [r for r in rows if kind_of(r) in INT8]:
        s = zoo_summary(int8)
        yield from (f"**All of int8: {s['models']} models, {s['faster']} faster, {s['slower']} slower; geometric mean {s['mean']:.3f}**, "
                    f"median {s['median']:.3f}.", "")
    for kind, title in DEPLOYED.items():
        if some := [r for r in rows if kind_of(r) == kind]:
            yield from (*zoo_section(title, some), *zoo_table(some))
    yield from decoders_part()


def decoders_part():
    """Decoders, at each size that they were judged at."""
    found = read("decoders")
    if found is None:
        return
    head, rows = found
    faster = [r for r in rows if r["result"] == "improved"]
    slower = sum(s["ratio"] < SLOWER_AGAIN for r in faster for s in r["sizes"])
    yield from ("## Decoders with separate caches", "",
                f"**{len(rows)} models at {sum(len(r['sizes']) for r in rows)} sizes: {len(faster)} faster, {slower} of these slower at a size.** One model "
                "is judged at all of its sizes and accepted if none is slower. The bound is a lower bound for every rewrite: the bytes of weights and caches",
                "that must be read, divided by the memory's bandwidth (`bench/decoders.py`).", "", provenance(head), "",
                "| model | new positions | past ones | gain when chosen | run again | ms | bound, ms |", "|---|---:|---:|---|---:|---:|---:|")
    for r in rows:
        for s in r["sizes"]:
            judged = s["judged"]
            chosen = f"{judged['ratio']:.2f} [{judged['low']:.2f}, {judged['high']:.2f}]" if r["result"] == "improved" and judged["ratio"] else "the same file"
            yield f"| {r['model']} | {s['seq']} | {s['past']} | {chosen} | {s['ratio']:.2f} | {s['after_ms']:.1f} | {s['bound_ms']:.1f} |"
    if same := [r for r in rows if r["result"] != "improved"]:
        yield from ("", "| unchanged | why |", "|---|---|", *(f"| {r['model']} | {r['reason']} |" for r in same))


def picture():
    """Every model of the zoo as a bar, on a logarithmic axis, with the interval of the second measurement."""
    found = read("zoo")
    if found is None:
        return
    _, rows = found
    rows = sorted((r for r in rows if r["result"] != "failed"), key=gain, reverse=True)
    s = zoo_summary(rows)
    left, top, step, height = 52, 46, 12, 230
    width, top_ratio = left + step * len(rows) + 16, 5.0

    def y(ratio):
        return top + height * (1 - math.log(max(ratio, 0.9) / 0.9) / math.log(top_ratio / 0.9))

    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top + height + 34}" width="{width}" font-family="sans-serif" font-size="11" '
           f'role="img" aria-label="{s["faster"]} of {s["models"]} models are faster, none slower">')
    yield f'<rect width="{width}" height="{top + height + 34}" rx="6" fill="#ffffff"/>'
    yield (f'<text x="{left}" y="20" font-size="14" fill="#1f2328">Times as fast as ONNX Runtime with all of its own optimizations: '
           f'{s["models"]} models, proved equal</text>')
    yield (f'<text x="{left}" y="37" fill="#59636e">{s["faster"]} faster (geometric mean {s["mean_of_faster"]:.2f}), '
           f'{s["models"] - s["faster"]} returned unchanged, {s["slower"] or "none"} slower</text>')
    for tick in (1, 1.25, 1.5, 2, 3, 4):
        yield f'<line x1="{left}" x2="{width - 12}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="{"#8c959f" if tick == 1 else "#e1e4e8"}"/>'
        yield f'<text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end" fill="#59636e">{tick}×</text>'
    for i, row in enumerate(rows):
        x, ratio = left + step * i + 1, gain(row)
        name = f"<title>{row['model']}: {ratio:.2f}</title>"
        if ratio == 1:
            yield f'<rect x="{x}" y="{y(1) - 1.5:.1f}" width="{step - 3}" height="3" fill="#c4cad1">{name}</rect>'
            continue
        yield f'<rect x="{x}" y="{y(ratio):.1f}" width="{step - 3}" height="{y(1) - y(ratio):.1f}" fill="#2f81f7">{name}</rect>'
        pair = row.get("again") or row
        middle = x + (step - 3) / 2
        yield f'<line x1="{middle}" x2="{middle}" y1="{y(min(pair["high"], top_ratio)):.1f}" y2="{y(pair["low"]):.1f}" stroke="#0b3d91"/>'
        if i < 7:
            yield (f'<text transform="translate({middle + 3.5:.1f} {y(min(pair["high"], top_ratio)) - 5:.1f}) rotate(-62)" font-size="9.5" '
                   f'fill="#1f2328">{row["model"]}</text>' if i > 1 else
                   f'<text x="{middle + 9:.1f}" y="{y(ratio) + 10 * i + 4:.1f}" font-size="9.5" fill="#1f2328">{row["model"]}</text>')
    yield f'<text x="{left}" y="{top + height + 24}" fill="#59636e">one bar per model, sorted; line: 95 % interval of an independent second measurement</text>'
    yield "</svg>"


# ---- beside other tools ----------------------------------------------------------------------------------------------

def comparison_page():
    yield from ("# Results: beside other tools", "", GENERATED, "")
    found = read("comparison")
    if found is None:
        yield "There are no results yet: `bench/comparison.py` makes them."
        return
    yield from (provenance(found[0]), "")
    yield from tell_comparison.page(found[1])


# ---- the expert suite ------------------------------------------------------------------------------------------------

def best_hand(row):
    return max(row["hand"].values(), default=1.0)


def wanted(rows):
    """Where a rewrite by hand gains 1.2 or more."""
    return [r for r in rows if r.get("wanted")]


def expert_summary(rows):
    done = [r for r in rows if "hand" in r]
    return {"experiments": len(done), "reached": sum(r["isomer"] >= REACHED * best_hand(r) for r in done),
            "beaten": sum(r["isomer"] > BEATEN * best_hand(r) for r in done), "slower": sum(r["isomer"] < SLOWER for r in done)}


def left_out():
    """Said wherever the number of wins stands."""
    return ("Not counted are rewrites that are equal over the reals but numerically unsafe: "
            + "; ".join([*unsafe.EXPERIMENTS.values(), *unsafe.VARIANTS.values()]) + ".")


def expert_page():
    found = read("expert")
    yield from ("# Results: the expert suite", "", GENERATED, "")
    if found is None:
        yield "There are no results yet."
        return
    head, rows = found[0], wanted(found[1])
    s = expert_summary(rows)
    yield from (f"Experts in the runtime rewrote {len(rows)} pieces of models by hand and made them at least 1.2× faster. Each original is "
                f"optimized by `isomer",
                "optimize`; then the original, the result and the hand-written variants run in turns. `hand` is the gain of the best hand-written "
                "variant, `isomer`",
                "that of the automatic result, `of it` their quotient.", "",
                provenance(head), "",
                f"**{s['reached']} of {s['experiments']} reach {REACHED} of the best rewrite by hand, {s['beaten']} beat it by 5 %, {s['slower']} are slower "
                "than the original.**",
                left_out(), "")
    yield from expert_table(rows)


def expert_table(rows):
    yield "| experiment | ms | hand | isomer | of it | file size | what was done, or why nothing |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    for r in rows:
        if "hand" not in r:
            yield f"| {r['experiment']} | | | | | | failed: {r.get('error', '')[:80]} |"
            continue
        what = r["reason"] or (r["steps"] or [""])[0]
        yield (f"| {r['experiment']} | {r['orig_ms']:.3f} | {best_hand(r):.2f} | {r['isomer']:.2f} | {r['isomer'] / best_hand(r):.2f} | "
               f"{r['growth']:.2f} | {what.replace('|', '/')[:110]} |")
    yield ""


# ---- structures of real networks -------------------------------------------------------------------------------------

def structures_page():
    yield from ("# Results: structures of real networks", "", GENERATED, "")
    found = read("structures")
    if found is None:
        yield "There are no results yet."
        return
    head, rows = found
    yield from ("Graphs of networks that nothing was tuned for, as exporters write them, each with an equal graph written by hand "
                "(`bench/structures/`, and those",
                "of the shared material). `hand` is the gain of the hand-written graph, `isomer` that of `isomer optimize --budget 20s`, `of it` their",
                "quotient; `equal` is the answer of `isomer prove` for the pair within 20 s.", "", provenance(head), "")
    for name, title in (("own", "Our own"), ("shared", "Shared")):
        if done := [r for r in rows if r["set"] == name and "isomer" in r]:
            yield from (f"## {title}: {len(done)}", "", f"**{structures_summary(done)}**", "", *structures_table(done))


def structures_summary(rows):
    gains, by_hand = [structure_gain(r) for r in rows], [r["hand"] for r in rows]
    return (f"{sum(g >= REACHED * h for g, h in zip(gains, by_hand))} of {len(rows)} reach {REACHED} of the gain by hand, "
            f"{sum(r['verdict'] == 'proved' for r in rows)} pairs are proved, {sum(g < SLOWER for g in gains)} results are slower than the "
            f"original. Geometric mean {geometric_mean(gains):.2f}, by hand {geometric_mean(by_hand):.2f}.")


def structure_gain(row):
    """1 for a model that came back as it was, whatever the noise says."""
    return row["isomer"] if row["result"] == "improved" else 1.0


def structures_table(rows):
    yield "| structure | what must be known | ms | hand | isomer | of it | equal | what was done, or why nothing | why it is not proved |"
    yield "|---|---|---:|---:|---:|---:|---|---|---|"
    for r in rows:
        what, why = (text.replace("|", "/")[:90] for text in (r["reason"] or (r["steps"] or [""])[0], r["why"]))
        yield (f"| {r['structure']} | {r['fact']} | {r['orig_ms']:.3f} | {r['hand']:.2f} | {structure_gain(r):.2f} | {structure_gain(r) / r['hand']:.2f} | "
               f"{r['verdict']} | {what} | {why} |")
    yield ""


# ---- proofs ----------------------------------------------------------------------------------------------------------

def proofs_page():
    yield from ("# Results: proofs", "", GENERATED, "", "## Expert pairs", "")
    found = read("pairs")
    if found is None:
        yield "There are no results yet."
        return
    head, rows = found
    proved = [r for r in rows if r["verdict"] == "proved"]
    refuted = sum(r["verdict"] == "refuted" for r in rows)
    seconds = [r["seconds"] for r in rows]
    yield from ("The answers of `isomer prove` for every piece of the expert suite and its hand-written variants, which are equal to it.", "",
                f"**{len(proved)} of {len(rows)} proved ({len(proved) / len(rows):.1%})**, {sum(r['rounded'] > 0 for r in proved)} of them but for rounded "
                f"constants; {refuted} refuted, {len(rows) - len(proved) - refuted} not decided. "
                f"Median {statistics.median(seconds):.1f} s, slowest {max(seconds):.1f} s, "
                f"peak {max(r['peak_mb'] for r in rows)} MB.", "", provenance(head), "", "| not proved | answer | s | why |", "|---|---|---:|---|")
    for r in rows:
        if r["verdict"] != "proved":
            yield f"| {r['name']} | {r['verdict']} | {r['seconds']} | {r['why'].replace('|', '/')[:120]} |"


# ---- attacks ---------------------------------------------------------------------------------------------------------

def attacks_page():
    yield from ("# Results: attacks", "", GENERATED, "", "Long runs that try to make Isomer call unequal models equal. [the checker](../concepts/checker.md) "
                "lists the part that each one tests.", "",
                "## Cases drawn against the command", "")
    if found := read("generators"):
        head, rows = found
        names = list(rows[0])
        yield from (provenance(head), "", "| " + " | ".join(names) + " |", "|---|" + "---:|" * (len(names) - 1))
        for r in rows:
            yield "| " + " | ".join(f"{r[n]:,}" if isinstance(r[n], int) else str(r[n]) for n in names) + " |"
    else:
        yield "There are no results yet."
    yield from ("", "## Others", "", "The output of each run; for a stopped run, the output so far.", "", "| attack | command | build | it said "
                "|", "|---|---|---|---|")
    if found := read("attacks"):
        for r in found[1]:
            yield f"| {r['attack']} | `{r['command']}` | {r['build']} | {r['said'].replace('|', '/')} |"


# ---- the search ------------------------------------------------------------------------------------------------------

def search_page():
    yield from ("# Results: the search", "", GENERATED, "",
                "How long `isomer optimize --judge cost` takes, and how it grows with the size of a model: equal layers are proved once.", "")
    found = read("search_time")
    if found is None:
        yield "There are no results yet."
        return
    head, rows = found
    yield from (provenance(head), "", "| model | nodes | s | unique regions | states | proofs | known already |", "|---|---:|---:|---:|---:|---:|---:|")
    for r in rows:
        yield f"| {r['model']} | {r['nodes']:,} | {r['seconds']:.1f} | {r['regions']} | {r['states']} | {r['proofs']} | {r['known']:,} |"
    yield from strategies_section("strategies", "Strategies", "experiments of experts, without `collapse`, which would find most of it in one step")
    yield from strategies_section("strategies_structures", "Strategies on structures", "structures of real networks, with all proposers")
    yield from worth_section()
    yield from plans_section()
    yield from fleet_section()


def fleet_section():
    """A fleet under fire: real Ray, rules in shards, damaged plans."""
    if (found := read("fleet")) is None:
        return
    head, rows = found
    rows = {r["what"]: r for r in rows}
    yield from ("", "## A fleet whose machines die", "",
                "[isomer fleet](../guides/fleet.md) over a real Ray cluster of separate processes on one machine, beside other work.", "", provenance(head), "")
    if r := rows.get("ray"):
        kind = "zoo models" if r["zoo"] else "models"
        same = "the same bytes as one by one" if r["same"] else "OTHER BYTES than one by one"
        yield (f"- {r['models']} {kind} on {r['kinds']} faked kinds, {r['nodes']} nodes, `--judge cost --steps {r['steps']}`; {r['kills']} nodes and "
               f"{r['heads']} heads killed (SIGKILL): {r['done']} of {2 * r['models']} results, {same}; {r['tasks']} different tasks have {r['results']} "
               f"results in the store, {r['claims'] - r['tasks']} were begun once more. {r['seconds']} s in {r['parts']} parts, between which the command was "
               f"stopped and went on; the process that talks to Ray was started {r['restarts']} times again.")
    if r := rows.get("shards"):
        other = f"NOT the pack of one process: {r['only_alone']} rules are only in that one, {r['only_sharded']} only in this one" if not r["same"] else ""
        same = other or "byte for byte the pack of one process"
        doubt = "" if r.get("most_doubtful") is None else f" (`--most-doubtful {r['most_doubtful']}`)"
        yield f"- Rules of up to {r['operators']} operators{doubt} in {r['shards']} shards: {r['rules']} rules, {r['bytes']:,} bytes, {same}."
    if r := rows.get("tune"):
        yield (f"- `isomer fleet tune` of {r['models']} models ({', '.join(r['names'])}; {r['budget']} each) on {r['kinds']} kinds: {r['done']} of "
               f"{r['models'] * r['kinds']} compiled, {r['failed']} failed; {r['tried']} schedules were measured, {r['taken']} of these libraries are "
               f"faster as a whole for it. Compilations that came later remembered {r['remembered']} of the measurements.")
    for r in (rows[what] for what in ("damaged", "damaged_again") if what in rows):
        again = "Again, by a later build: " if r["what"] == "damaged_again" else ""
        yield (f"- {again}{r['damaged']:,} damaged files of a store and {r['forged']:,} plans forged under right names: {r['wrong']} wrong models, "
               f"{r['crashes']} crashes. {r['found']:,} of the forged ones were still plans of the model's region; the prover refused {r['refused']:,} "
               f"of these, and proved the rest.")


def plans_section():
    """The second model of a family, with a store of plans and without."""
    if (found := read("plans")) is None:
        return
    head, rows = found
    yield from ("", "## With a store of plans", "",
                "The second model of a family without a [store](../guides/plans.md) and with the store of the first one. A family is a zoo model and one of "
                "the same architecture with other weights, values renamed and nodes in another order; A:B are two zoo models. *Reached*: seconds until a "
                "draft as good as the last one without a store was there. All certificates were accepted by `isomer-check`. The machine "
                "had other work: compare pairs, not seconds.",
                "", provenance(head), "",
                "| model | strategy | judge | proofs without | with | for plans | s without | with | reached without | with | of processor without | with | "
                "same result |",
                "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    for r in rows:
        cpu = f"{r['cpu_cold']:.2f} | {r['cpu_warm']:.2f}" if "cpu_cold" in r and r["same"] else "— | —"
        yield (f"| {r['pair']} | {r['strategy']} | {r['judge']} | {r['proofs_cold']} | {r['proofs_warm']} | "
               f"{min(r['plans']['found'], r['proofs_warm'])} | {r['seconds_cold']:.1f} | {r['seconds_warm']:.1f} | "
               f"{r['reached_cold']:.1f} | {r['reached_warm']:.1f} | {cpu} | "
               f"{'yes' if r['same'] else 'no'} |")
    for judge in dict.fromkeys((r["strategy"], r["judge"]) for r in rows):
        group = [r for r in rows if (r["strategy"], r["judge"]) == judge]
        cold, warm = sum(r["proofs_cold"] for r in group), sum(r["proofs_warm"] for r in group)
        times = geometric_mean([max(r["reached_warm"], 0.001) / max(r["reached_cold"], 0.001) for r in group])
        whole = geometric_mean([r["seconds_warm"] / r["seconds_cold"] for r in group])
        known = [max(r["cpu_warm"], 0.001) / max(r["cpu_cold"], 0.001) for r in group if "cpu_cold" in r and r["same"]]
        cpu = f", {100 * geometric_mean(known):.0f} % of the processor's" if known else ""
        yield from ("", f"`{judge[0]}`, {judge[1]}: {100 * warm / max(1, cold):.0f} % of the proofs; "
                        f"{100 * times:.0f} % of the time to the same result{cpu}, {100 * whole:.0f} % of the whole run's "
                        "(geometric means).")
    yield from ("", "With a store each distinct accepted region costs one proof, and its weights are computed: no store saves that. A greedy search by "
                    "cost proves little else, so a store saves few proofs; it saves more where many candidates are tried and rejected.")


WORTH = (("worth", "by the analytic cost", "(`--judge cost`)"),
         ("worth_measured", "on the runtime", "(`--judge runtime`, then in turns with the hand-made graphs)"))
FOUND = 1.02  # as bench/rules_worth.py has it


def worth_section():
    """The rewrites of experts that single proposers find."""
    for name, how, judge in WORTH:
        if (found := read(name)) is None:
            continue
        head, rows = found
        ratio = lambda row, who: row[who].get("ratio", 1.0)
        who_all = [who for who in rows[0] if isinstance(rows[0][who], dict)]
        yield from ("", f"## Proposers alone, {how}", "",
                    f"Those of the {len(rows)} rewrites by experts in which `--only NAME` {judge} gains more than 2 %.", "", provenance(head), "",
                    "| asked | better | by 0.9 of what all do | by 0.9 of the hand-made gain, measured |", "|---|---:|---:|---:|")
        for who in who_all:
            better = [r for r in rows if ratio(r, who) > FOUND]
            near = str(sum(ratio(r, who) >= REACHED * ratio(r, "all") for r in better)) if "all" in who_all and who != "all" else ""
            asked = [r for r in better if "measured" in r[who]]
            hand = str(sum(r[who]["measured"] >= REACHED * r["hand"] for r in asked)) if asked else ""
            yield f"| {'all proposers' if who == 'all' else f'`{who}`'} | {len(better)} | {near} | {hand} |"
        single = [who for who in who_all if who != "all"]
        yield from ("", "| experiment | " + " | ".join(who_all) + " | first step |", "|---|" + "---:|" * len(who_all) + "---|")
        for r in rows:
            best = max(single, key=lambda who: ratio(r, who))
            if ratio(r, best) > FOUND:
                step = (r[best].get("steps") or [""])[0].replace("|", "/")
                yield f"| {r['experiment']} | " + " | ".join(f"{ratio(r, who):.2f}" for who in who_all) + f" | {step} |"


SAME_COST = 1.001  # a cost that is not further from another one is the same


def strategies_section(name, title, what):
    """What is left of the analytic cost, by strategy."""
    if (found := read(name)) is None:
        return
    head, rows = found
    cost = {}
    for r in rows:
        cost.setdefault(r["experiment"], {})[r["strategy"]] = r
    strategies = list(dict.fromkeys(r["strategy"] for r in rows))
    asked = {n: c for n, c in cost.items() if len(c) == len(strategies)}
    done = {n: c for n, c in asked.items() if all(r["cost"] for r in c.values())}
    yield from ("", f"## {title}", "", f"The remaining analytic cost (`--judge cost`) of {what}. *: out of time; *left*: a search that was in the middle "
                "of a long step at its time limit has no cost. All certificates were accepted by `isomer-check`. Experiments in which all strategies "
                "end at the same cost are counted, not listed. `beam` was removed after this.", "", provenance(head), "",
                "| experiment | " + " | ".join(strategies) + " |", "|---|" + "---:|" * len(strategies))
    least = {n: min(c[s]["cost"] for s in strategies) for n, c in done.items()}
    for n, c in asked.items():
        if n not in done or max(c[s]["cost"] for s in strategies) > SAME_COST * least[n]:
            cells = ["left" if c[s]["cost"] is None else f"{c[s]['cost']:.3f}{'' if c[s]['stopped_by'] == 'done' else '*'}" for s in strategies]
            yield f"| {n} | " + " | ".join(cells) + " |"
    per_strategy = lambda text: "| " + " | ".join(text(s) for s in strategies) + " |"
    yield f"| **geometric mean of the {len(done)} that none left** " + per_strategy(lambda s: f"{geometric_mean([c[s]['cost'] for c in done.values()]):.3f}")
    yield "| of these, the least cost of all strategies, or 0.1 % more " + per_strategy(
        lambda s: str(sum(c[s]["cost"] <= SAME_COST * least[n] for n, c in done.items())))
    yield f"| left, of {len(asked)} " + per_strategy(lambda s: str(sum(c[s]["cost"] is None for c in asked.values())))
    yield "| seconds, of all " + per_strategy(lambda s: f"{sum(c[s]['seconds'] for c in asked.values()):.0f}")
    yield "| proofs, of those that none left " + per_strategy(lambda s: f"{sum(c[s]['proofs'] for c in done.values()):,}")
    all_of = [c["saturate"]["saturation"] for c in asked.values() if "saturate" in c]
    if all_of:
        total = {key: sum(x[key] for x in all_of) for key in all_of[0]}
        yield from ("", f"`saturate`: {total['nodes']:,} nodes in {total['classes']:,} classes; {total['complete']} regions with nothing left to look at, "
                    f"{total['exact'] + total['greedy']} in all; {total['exact']} last choices exact (HiGHS), {total['greedy']} greedy; of the programs "
                    f"that were chosen out of parts {total['proved']} were proved and {total['not_proved']} not.")


# ---- compiled models -------------------------------------------------------------------------------------------------

def compiled_page():
    yield from ("# Results: compiled models", "", GENERATED, "",
                "Models of the zoo compiled by `isomer compile`, one thread. `ratio` is the CPU time of ONNX Runtime with all of its optimizations over "
                "that of the module, run by turns. Errors are the largest difference to float64, relative to the largest value. *far*: the error is more than "
                "twice ONNX Runtime's, and more than 1e-6. *sums*: how products are added ([values](../reference/json.md#compile)); the first "
                "within that limit is used.", "")
    found = read("compile")
    if found is None:
        yield "There are no results yet."
        return
    head, rows = found
    ran = [r for r in rows if r.get("ratio")]
    ratios = [r["ratio"] for r in ran]
    status = [r["status"] for r in rows]
    now = [r["ratio"] for r in ran if "build" not in r]
    yield from (f"**{len(ran)} of {len(rows)} compiled and run** ({status.count('opaque')} have a node without a formula); {status.count('far')} are far. "
                f"Geometric mean of the ratios {geometric_mean(ratios):.2f}, median {statistics.median(ratios):.2f}; "
                f"{sum(r > 1 for r in ratios)} are faster than ONNX Runtime, {sum(r > 1.05 for r in ratios)} by more than 5 %, "
                f"{sum(r < 0.95 for r in ratios)} slower by more than 5 %.",
                *(["", f"Among these, {len(now)} were measured by the build below: geometric mean {geometric_mean(now):.2f}, median "
                       f"{statistics.median(now):.2f}. "
                   "A row that names a build was measured by that build."] if len(now) < len(ratios) else []),
                "", provenance(head), "",
                "| model | ratio | runtime ms | module ms | error | runtime's | sums | nests | tiled | Winograd | made in s "
                "| library KB | weights MB | workspace MB | |",
                "|---|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---|")
    for r in sorted(rows, key=lambda r: -(r.get("ratio") or 0)):
        if not r.get("ratio"):
            yield f"| {r['model']} |" + " |" * 13 + f" {r['status']}: {r['reason'].replace('|', '/')[:80]} |"
            continue
        error = f"{r['error']:.1e} | {r['ort_error']:.1e}" if r.get("error") is not None and r.get("ort_error") is not None else f"{r['apart']:.1e} apart |"
        yield (f"| {r['model']} | {r['ratio']:.2f} | {r['ort_ms']:.2f} | {r['module_ms']:.2f} | {error} | {r.get('sums', 'fast')} | "
               f"{r['nests']} | {r['tiled']} | {r['winograd']} | "
               f"{r['ms'] / 1000:.1f} | {r['library_bytes'] // 1024:,} | {r['weight_bytes'] / 1e6:.1f} | {r['workspace_bytes'] / 1e6:.1f} | "
               f"{'' if r['status'] == 'good' else r['status']}{' (' + r['build'] + ')' if 'build' in r else ''} |")
    yield from modules_of("compile_operator", "As an operator of ONNX Runtime", words_of_operators, "operator", ["sums"])
    yield from modules_of("compile_bf16", "Products of bfloat16, which is not equal", words_of_bfloat16, "module")
    yield from threads_of_modules("module_threads", "With threads", "One sample.")
    batch = next((r["batch"] for r in (read("module_batch") or ({}, []))[1] if "batch" in r), 0)
    yield from threads_of_modules("module_batch", f"Batches of {batch}", BATCHES)
    yield ""
    yield from layers_beside_onednn()


def layers_beside_onednn():
    found = read("layers")
    if found is None:
        return
    head, rows = found
    ran = [r for r in rows if "failure" not in r]
    near, mean = sum(r["ratio"] >= 0.9 for r in ran), geometric_mean([r["ratio"] for r in ran])
    yield from ("## Single layers beside oneDNN", "",
                "Time of a bare oneDNN primitive over that of our nest for the same layer, by turns; each side chooses its layouts, and reorders are not "
                "counted. oneDNN's convolutions are direct; ours are Winograd's where that is faster. Errors are those of a small model around the layer, "
                "ours and ONNX Runtime's.", "",
                f"**{near} of {len(ran)} layers take at most a tenth longer than oneDNN's**; geometric mean {mean:.2f}.", "",
                provenance(head), "", "| layer | ratio | from | to | ours us | oneDNN us | error | runtime's | oneDNN's choice |",
                "|---|---:|---:|---:|---:|---:|---:|---:|---|")
    for r in rows:
        if "failure" in r:
            yield f"| {r['layer']} |" + " |" * 7 + f" {r['failure'][:80]} |"
        else:
            yield (f"| {r['layer']} | {r['ratio']:.2f} | {r['low']:.2f} | {r['high']:.2f} | {r['ours_us']} | {r['onednn_us']} | {r['error']:.1e} | "
                   f"{r['runtime_error']:.1e} | {r['onednn']} |")
    yield ""


def modules_of(name, title, words, ours, more=()):
    """A table of modules in another form. `words`: of the rows; `ours`: what runs; `more`: fields that stand behind the errors."""
    found = read(name)
    if found is None:
        return
    head, rows = found
    rows = sorted((r for r in rows if r.get("ratio")), key=lambda r: -r["ratio"])
    yield from ("", f"## {title}", "", words(rows), "", provenance(head), "",
                " | ".join([f"| model | ratio | runtime ms | {ours} ms | error | runtime's", *more]) + " |",
                "|---|---:|---:|---:|---:|---:|" + "---|" * len(more))
    for r in rows:
        errors = f"{r['error']:.1e} | {r['ort_error']:.1e}"
        model = r["model"] + (f" ({r['build']})" if "build" in r else "")
        yield " | ".join([f"| {model} | {r['ratio']:.2f} | {r['ort_ms']:.2f} | {r['module_ms']:.2f} | {errors}", *(r[k] for k in more)]) + " |"


def words_of_operators(_rows):
    return "The same modules by `--as custom-op`: a session whose one node is the module, beside a session of the model."


def words_of_bfloat16(rows):
    ratios = [r["ratio"] for r in rows]
    return ("`--precision bf16`, an opt-in: weights, and on tile registers their other factors, have 8 bits of precision; sums are in float32. "
            f"Geometric mean {geometric_mean(ratios):.2f}, median {statistics.median(ratios):.2f} of ONNX Runtime in float32. "
            "Errors are against float64, of the largest value.")


def threads_of_modules(name, title, about):
    """Modules with several threads, or on batches: the lines of bench/module_threads.py."""
    found = read(name)
    if found is None:
        return
    head, rows = found
    ran = [r for r in rows if "threads" in r]
    n = ran[0]["threads"]

    def ratio(r, k):
        return r[f"ratio_{k}"] if f"ratio_{k}" in r else r[f"ort_{k}_ms"] / r[f"module_{k}_ms"]

    of = {k: [ratio(r, k) for r in ran] for k in sorted({1, n})}
    ratios = ", ".join(f"{geometric_mean(some):.2f} and {statistics.median(some):.2f} with {k}" for k, some in of.items())
    yield from ("", f"## {title}", "",
                f"Wall time of one run in milliseconds, with one thread and with {n}, by turns; ratios are ONNX Runtime's time over the module's, "
                f"both with the same "
                f"number of threads. {about} The machine is virtual and does not show whether its processors are cores or threads of one core. "
                f"Results of the module are the same bits for {sum(r['same_bits'] for r in ran)} of {len(ran)}.", "",
                f"**Geometric mean and median of the ratios: {ratios}**; {sum(r < SLOWER for r in of[n])} of {len(ran)} are slower by more than 5 %.", "",
                provenance(head), "",
                f"| model | runtime, 1 | runtime, {n} | module, 1 | module, {n} | gain of the runtime | gain of the module | ratio, 1 | ratio, {n} |",
                "|---|" + "---:|" * 8)
    for r in sorted(ran, key=lambda r: -ratio(r, n)):
        one, other, ours, several = (r[f"{who}_{k}_ms"] for who in ("ort", "module") for k in (1, n))
        yield (f"| {r['model']} | {one:.2f} | {other:.2f} | {ours:.2f} | {several:.2f} | {one / other:.2f} | {ours / several:.2f} | {ratio(r, 1):.2f} | "
               f"{ratio(r, n):.2f} |")
    if rest := [r for r in rows if "threads" not in r]:
        yield from ("", "Not measured: " + "; ".join(f"{r['model']} ({(r.get('skipped') or r['failure']).replace('|', '/')[:100]})" for r in rest) + ".")


BATCHES = ("Models of the zoo are for one sample: the first size of their inputs is written anew, and with it the leading 1 of constant shapes, "
           "and both run that model. Taken where shape inference does not contradict, and each sample's outputs are those that ONNX Runtime gives it alone.")


# ---- the runtime's own passes ----------------------------------------------------------------------------------------

def explore_page():
    yield from ("# Results: load time, and the runtime's own passes", "", GENERATED, "",
                "Models of the zoo explored by `isomer explore` ([how](../guides/explore.md)), one thread, CPU time.", "")
    found = read("explore")
    yield from explored_section(found) if found else ("There are no results of load time yet.", "")


def explored_section(found):
    head, rows = found
    yield from (provenance(head), "")
    parts = {part: [r for r in rows if r["part"] == part and "failure" not in r] for part in ("load", "passes", "control", "resume")}
    yield from load_section(parts["load"], [r for r in rows if r["part"] == "load" and "failure" in r])
    yield from passes_section(parts["passes"])
    if parts["control"]:
        found_something = sum(r["verdict"] == "better" for r in parts["control"])
        yield from ("## Controls", "",
                    f"{len(parts['control'])} explorations of passes that change nothing: {found_something or 'none'} found a gain.", "")
    for r in parts["resume"]:
        yield (f"An exploration of {r['model']} was killed {r['kills']} times and resumed: {'the same table' if r['same_table'] else 'ANOTHER TABLE'} "
               f"as that of one which was left alone, {r['resumed']} answers known.")
        yield ""


def load_section(rows, failed):
    if not rows:
        return
    yield from ("## Load time", "",
                "Times faster than ONNX Runtime on the model as it is, all of its passes on: session creation. *with options*: those that `explore` "
                "prints. *its own*: what the runtime's offline optimization gives (all passes,"
                " tied to the processor, one file), loaded by turns with the prepared ones in Python.", "",
                "| | geometric mean | models | proved equal |", "|---|---:|---:|---:|")
    for kind, title in (("portable", "portable"), ("machine", "this machine")):
        found = [r[kind] for r in rows]
        proved = sum(f["equality"] == "proved" for f in found)
        yield f"| {title}, no option | {geometric_mean([f['plain']['load']['ratio'] for f in found]):.2f} | {len(found)} | {proved} |"
        best = [(f["with_options"] or f["plain"])["load"]["ratio"] for f in found]
        yield f"| {title}, with options | {geometric_mean(best):.2f} | {len(found)} | |"
        first = [f["plain"]["load_and_first_run"]["ratio"] for f in found]
        yield f"| {title}, loading and the first run | {geometric_mean(first):.2f} | {len(found)} | |"
    own = [r["turns_ms"]["raw"] / r["turns_ms"]["offline"] for r in rows if "offline" in r["turns_ms"]]
    if own:
        yield f"| the runtime's own | {geometric_mean(own):.2f} | {len(own)} | |"
    none = [f"{r['model']} ({kind})" for r in rows for kind in ("portable", "machine") if r[kind]["verdict"] == "none"]
    yield from ("", f"Not written, because they do not load faster with 95 % confidence or run slower: {', '.join(none) or 'none'}.", "")
    if failed:
        yield from (f"Failed: {', '.join(r['model'] for r in failed)}.", "")
    yield from ("| model | portable | with options | this machine | with options | its own | latency portable | this machine "
                "| peak MB before | portable | this machine | equal |",
                "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    for r in sorted(rows, key=lambda r: -r["portable"]["plain"]["load"]["ratio"]):
        p, m = r["portable"], r["machine"]
        own = f"{r['turns_ms']['raw'] / r['turns_ms']['offline']:.2f}" if "offline" in r["turns_ms"] else ""
        cells = [r["model"]]
        for f in (p, m):
            cells += [f"{f['plain']['load']['ratio']:.2f}", f"{f['with_options']['load']['ratio']:.2f}" if f["with_options"] else ""]
        cells += [own] + [f"{f['latency']['ratio']:.3f}" for f in (p, m)] + [f"{p['peak_bytes_before'] / 1e6:.0f}"]
        cells += [f"{f['peak_bytes_after'] / 1e6:.0f}" for f in (p, m)] + [f"{p['equality']} / {m['equality']}"]
        yield "| " + " | ".join(cells) + " |"
    yield ""


def passes_section(rows):
    if not rows:
        return
    better = [r for r in rows if r["verdict"] == "better"]
    yield from ("## The runtime's own passes", "",
                f"For {len(better)} of {len(rows)} models a set of passes and settings is more than 2 % faster than the default, with 95 % confidence.", "",
                "| model | times faster | without (or with) | passes with an effect |", "|---|---:|---|---:|")
    for r in sorted(better, key=lambda r: -r["measured"]["ratio"]):
        m = r["measured"]
        yield f"| {r['model']} | {m['ratio']:.3f} [{m['low']:.3f}, {m['high']:.3f}] | {', '.join(r['best'])} | {r['with_effect']} |"
    yield ""
    seen = {}
    for r in rows:
        for name, measured in r["effects"].items():
            seen.setdefault(name, []).append(measured)
    yield from ("The effect of each pass: the number of models whose graph it changes (settings: that were measured), that it helps (leaving "
                "it out costs 2 % or more), and that it hurts, both with 95 % confidence.", "",
                "| pass | models | helps | hurts | most | least |", "|---|---:|---:|---:|---:|---:|")
    for name, all_measured in sorted(seen.items(), key=lambda item: (-len(item[1]), item[0])):
        ratios = [m["ratio"] for m in all_measured]
        helps = sum(m["high"] is not None and m["high"] < 1 and m["ratio"] < 1 / 1.02 for m in all_measured)
        hurts = sum(m["low"] > 1 and m["ratio"] > 1.02 for m in all_measured)
        yield f"| {name} | {len(ratios)} | {helps} | {hurts} | {1 / min(ratios):.2f} | {1 / max(ratios):.2f} |"
    yield ""


# ---- what was tried to hurt users ------------------------------------------------------------------------------------

def reliability_rows():
    """Each says itself what made it: there is no head."""
    path = RESULTS / "reliability.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


# ---- the first page and the README -----------------------------------------------------------------------------------

def headline():
    parts = []
    if zoo := read("zoo"):
        s = zoo_summary(zoo[1])
        proofs = f"{s['rejected']} certificates rejected" if s["rejected"] else "every result proved equal"
        parts.append((f"{s['models']} models of the zoo, `optimize`",
                      f"**{s['faster']} faster, {s['slower'] or 'none'} slower**, {proofs}; geometric mean {s['mean_of_faster']:.2f}× on the "
                      f"{s['faster']}, {s['mean']:.2f}× on all {s['models']}; best {s['best']:.1f}×", "zoo.md"))
    if kernels := read("zoo_kernels"):
        s = zoo_summary(kernels[1])
        parts.append((f"{s['models']} of them, `optimize --kernels`",
                      f"**{s['faster']} faster, {s['slower'] or 'none'} slower**; geometric mean {s['mean']:.2f}× on all {s['models']}, median "
                      f"{s['median']:.2f}×, best {s['best']:.1f}×", "zoo.md"))
    if trained := read("trained_speed"):
        parts.append(tell_trained.headline(trained))
    if simplified := read("simplify"):
        parts.append(tell_simplify.headline(simplified))
    if expert := read("expert"):
        s = expert_summary(wanted(expert[1]))
        parts.append((f"{s['experiments']} rewrites by experts that are at least 1.2× faster",
                      f"{s['reached']} found automatically, with at least {REACHED} of their gain; "
                      f"{s['beaten']} beaten by 5 % (numerically unsafe rewrites are not counted: pairwise distance as a matrix product, Mish by a "
                      "sigmoid, Winograd's F(4,3))", "expert.md"))
    if pairs := read("pairs"):
        proved = sum(r["verdict"] == "proved" for r in pairs[1])
        parts.append((f"{len(pairs[1])} pairs of equal models, `prove`", f"{proved} proved", "proofs.md"))
    parts.append((f"{operator_count()} operators", "have an exact formula", "../reference/operators.md"))
    return parts


def headline_table(folder):
    """Links are relative to the page's folder: "" for docs/results, "docs/results/" for the README."""
    yield from ("| what | result |", "|---|---|")
    for what, result, page in headline():
        yield f"| [{what}]({os.path.normpath(folder + page)}) | {result} |"


def first_page():
    yield from ("# Results", "", GENERATED, "")
    yield from headline_table("")
    yield from ("", "| page | what |", "|---|---|",
                "| [zoo.md](zoo.md) | whole models through `isomer optimize` |",
                "| [deployed.md](deployed.md) | models as people deploy them: float16, int8, int4 |",
                "| [trained.md](trained.md) | trained models out of packages: every command, speed, pairs in the wild |",
                "| [packages.md](packages.md) | what a user of each package gains, with commands to repeat it |",
                "| [sizes.md](sizes.md) | models with open sizes: compiled once, run at many sizes |",
                "| [kernels.md](kernels.md) | `isomer optimize --kernels`: gain, and how long it takes the first and the second time |",
                "| [simplify.md](simplify.md) | `isomer simplify` beside onnxsim and OnnxSlim: nodes and seconds |",
                "| [comparison.md](comparison.md) | the same models through other tools |",
                "| [expert.md](expert.md) | pieces of models that experts rewrote by hand |",
                "| [structures.md](structures.md) | structures of real networks that nothing was tuned for |",
                "| [proofs.md](proofs.md) | what `isomer prove` decides |",
                "| [attacks.md](attacks.md) | what was tried to make it say something false |",
                "| [search.md](search.md) | how long the search takes, what strategies find, what proposers find alone |",
                "| [compiled.md](compiled.md) | models through `isomer compile`, beside ONNX Runtime |",
                "| [together.md](together.md) | graphs and kernels, apart and together |",
                "| [tuning.md](tuning.md) | schedules that were looked for by measuring |",
                "| [explore.md](explore.md) | load time, and which of ONNX Runtime's own passes pay |",
                "| [reliability](../developers/reliability.md) | what was tried to hurt a user: faults, kills, bad files, fuzzing, random models |",
                "", "How to measure again: [bench/results](../../bench/results/README.md) says what is kept; each script says how it is run.")


def fold(lines):
    """Paragraphs and points in lines of at most 120 characters (tools/prose); tables, headings and code as they are."""
    block, is_code = [], False
    for line in [*"\n".join(lines).split("\n"), None]:
        is_prose = line and not is_code and not line.startswith(("|", "#", "<", "```"))
        if block and (not is_prose or line.startswith("- ")):
            yield from fold_block(block)
            block = []
        if is_prose:
            block.append(line)
        elif line is not None:
            is_code ^= line.startswith("```")
            yield line


def fold_block(block):
    if max(map(len, block)) <= 120:
        return block
    kept_together = re.sub(r"`[^`]*`|\d %", lambda match: match.group().replace(" ", "\0"), " ".join(line.strip() for line in block))
    folded = textwrap.wrap(kept_together, 120, subsequent_indent="  " * block[0].startswith("- "), break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in folded]


def before_and_after():
    """Gains with kernels, by model: of the zoo, and of packages."""
    zoo, packages = read("zoo_kernels"), read("kernel_time")
    return ({row["model"]: gain(row) for row in zoo[1] if row["result"] != "failed"} if zoo else {},
            {row["model"]: row["first"]["ratio"] for row in packages[1] if row["first"].get("kernels")} if packages else {})


def readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before, rest = text.split(BEGIN, 1)
    lines = [*tell_kernels.example(read("kernel_time")), "![Well-known models before and after](docs/results/models.svg)", "",
             *tell_packages.short_table(read("trained_speed")), "", *headline_table("docs/results/")]
    return before + BEGIN + "\n" + "\n".join(fold(lines)) + "\n" + END + rest.split(END, 1)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    pages = {PAGES / "README.md": first_page(), PAGES / "zoo.md": zoo_page(), PAGES / "zoo.svg": picture(),
             PAGES / "models.svg": tell_picture.picture(*before_and_after()), PAGES / "expert.md": expert_page(),
             PAGES / "proofs.md": proofs_page(), PAGES / "attacks.md": attacks_page(), PAGES / "search.md": search_page(),
             PAGES / "structures.md": structures_page(), PAGES / "comparison.md": comparison_page(), PAGES / "compiled.md": compiled_page(),
             PAGES / "deployed.md": deployed_page(), PAGES / "explore.md": explore_page(),
             ROOT / "docs" / "developers" / "reliability.md": tell_reliability.page(reliability_rows(), GENERATED),
             PAGES / "together.md": tell_together.page(read("together"), provenance, GENERATED),
             PAGES / "trained.md": tell_trained.page(read("trained_right"), read("trained_speed"), read("trained_prove"), provenance, GENERATED),
             PAGES / "packages.md": tell_packages.page(read("trained_speed"), provenance, GENERATED),
             PAGES / "sizes.md": tell_sizes.page(read("compile_sizes"), read("fixed_and_open"), read("open_sizes"), provenance, GENERATED),
             PAGES / "kernels.md": tell_kernels.page(read("kernel_time"), provenance, GENERATED),
             PAGES / "simplify.md": tell_simplify.page(read("simplify"), provenance, GENERATED),
             PAGES / "tuning.md": tell_tuning.page(read("tuning"), provenance, GENERATED)}
    texts = {path: "\n".join(lines if path.suffix == ".svg" else fold(lines)).rstrip("\n") + "\n" for path, lines in pages.items()}
    texts[ROOT / "README.md"] = readme()
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if options.check:
            print(f"{path.relative_to(ROOT)} is not what bench/tell.py writes: run it")
        else:
            path.write_text(text := texts[path], encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: {len(text)} characters")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
