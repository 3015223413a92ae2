#!/usr/bin/env python3
"""What `bilinear` adds: Winograd's filtering where dense 3x3 convolutions are most of the work.

  bench/fewer_multiplications.py [--models NAME,...] [--budget 60s] [--results FILE.jsonl] [--filled DIR]
Each model four times through `isomer optimize`: with the default --max-error-growth and with 40, each with and without the proposer; all
with --max-size-growth 4, since transformed kernels are larger. What it adds is one result measured against the other by `isomer bench`. Then
every layer that was tried, by itself. The tables are Markdown. Fails if a result is rejected, or slower than without.
"""
import argparse
import pathlib
import re
import sys

import _paths  # noqa: F401
import optimizing
from records import Records

MODELS = ["vgg16", "resnet18", "repvgg_a2", "retinanet_resnet50_fpn_heads", "sd_vae_decoder_small"]
GROWTHS = ["2", "40"]
LAYER = re.compile(r"\((\d+) to (\d+) channels, (\d+)x(\d+)\) as (F\(\d,\d\) .*)")


KEPT = ("result", "reason", "ratio", "error_before", "error_after", "bytes_in", "bytes_out", "steps", "regions", "not_taken", "accepted", "seconds")


def both(model, folder, growth, budget):
    paths = {"without": folder / "without.onnx", "with": folder / "with.onnx"}
    row = {}
    for which, out in paths.items():
        answer = optimizing.optimize(model, out, "--budget", budget, "--max-error-growth", growth, "--max-size-growth", "4",
                                     *(("--without", "bilinear") if which == "without" else ()))
        row[which] = {key: answer[key] for key in KEPT if key in answer}
    if all(r["result"] != "failed" for r in row.values()):
        row["added"] = optimizing.bench(*paths.values())
    return row


def taken(row):
    return sum(s["count"] for s in row["steps"] if s["kind"] == "bilinear") if row["result"] == "improved" else 0


def number(value, form):
    return format(value, form) if value is not None else "-"


def print_models(rows):
    print("| model | error growth | without | with | bilinear adds | layers | error | size |")
    print("|---|---:|---:|---:|---|---:|---|---:|")
    for (name, growth), row in rows.items():
        a, b, added = row["without"], row["with"], row.get("added")
        if added is None:
            print(f"| {name} | {growth} | failed: {a.get('reason', '')} {b.get('reason', '')} | | | | | |")
            continue
        print(f"| {name} | {growth} | {number(a['ratio'], '.2f')} | {number(b['ratio'], '.2f')} | "
              f"{added['ratio']:.3f} [{added['low']:.2f}, {added['high']:.2f}] | {taken(b)} | "
              f"{number(b['error_before'], '.0e')} → {number(b['error_after'], '.0e')} | {b['bytes_out'] / b['bytes_in']:.2f} |")


def print_layers(rows):
    """Each size once, the forms beside each other; a dash: its error was too large, or there was no time."""
    layers, forms = {}, set()
    for row in rows.values():
        for region in row["with"].get("regions", []):
            if match := LAYER.search(region["first"]):
                size, form = tuple(map(int, match.groups()[:4])), match[5]
                layers.setdefault(size, {}).setdefault(form, []).append(region["ratio"])
                forms.add(form)
    print("\n| channels | image | " + " | ".join(sorted(forms)) + " |\n|---|---|" + "---:|" * len(forms))
    for (c, o, h, w), ratios in sorted(layers.items()):
        cells = [f"{max(ratios[f]):.2f}" if f in ratios else "-" for f in sorted(forms)]
        print(f"| {c} → {o} | {h}x{w} | " + " | ".join(cells) + " |")


def faults(rows):
    for (name, growth), row in rows.items():
        for which in ("without", "with"):
            if row[which]["result"] == "failed" or not row[which]["accepted"]:
                yield f"{name}, {growth}, {which}: {row[which].get('reason') or 'rejected'}"
        if (row.get("added") or {}).get("verdict") == "slower":
            yield f"{name}, {growth}: slower than without"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    options = parser.parse_args()
    records = Records(options.results, "model", "growth")
    rows = {}
    for name in options.models.split(","):
        for growth in GROWTHS:
            if (name, growth) not in records:
                with optimizing.filled_model(name, options.filled) as (model, folder):
                    row = both(model, folder, growth, options.budget)
                print(f"{name} {growth}: {number((row.get('added') or {}).get('ratio'), '.3f')}", file=sys.stderr, flush=True)
                records.add({"model": name, "growth": growth} | row)
            rows[name, growth] = records.all[name, growth]
    print_models(rows)
    print_layers(rows)
    wrong = list(faults(rows))
    for why in wrong:
        print(f"WRONG {why}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
