#!/usr/bin/env python3
"""What `bilinear` adds: Winograd's filtering where dense 3x3 convolutions are most of the work.

  tests/fewer_multiplications.py [--models NAME,...] [--budget 60s] [--state FILE.json] [--filled DIR]
Each model four times through `isomer optimize`: with the default --max-error-growth and with 40, each with and without the proposer; all
with --max-size-growth 4, since transformed kernels are larger. What it adds is one result measured against the other by `isomer bench`. Then
every layer that was tried, by itself. The tables are Markdown. Fails if a result is rejected, or slower than without.
"""
import argparse
import json
import pathlib
import re
import sys
import tempfile

import programs
import zoo

MODELS = ["vgg16", "resnet18", "repvgg_a2", "retinanet_resnet50_fpn_heads", "sd_vae_decoder_small"]
GROWTHS = ["2", "40"]
LAYER = re.compile(r"\((\d+) to (\d+) channels, (\d+)x(\d+)\) as (F\(\d,\d\) .*)")


def optimize(model, out, growth, budget, without):
    isomer = programs.program("isomer")
    command = [isomer, "optimize", str(model), "-o", str(out), "--budget", budget, "--json", "--quiet", "--max-error-growth", growth,
               "--max-size-growth", "4"] + (["--without", "bilinear"] if without else [])
    done = programs.run(command, timeout=3000)
    if done.code != 0:
        return {"result": "failed", "reason": done.stderr[-300:]}
    answer = json.loads(done.stdout)
    row = {key: answer[key] for key in ("result", "reason", "ratio", "error_before", "error_after", "bytes_in", "bytes_out", "steps",
                                        "regions", "refused")}
    check = programs.run([isomer, "check", str(model), str(out), f"{out}.cert", "--json"], timeout=900)
    return row | {"accepted": check.code == 0, "seconds": done.seconds}


def both(model, folder, growth, budget):
    without, with_it = folder / "without.onnx", folder / "with.onnx"
    row = {"without": optimize(model, without, growth, budget, True), "with": optimize(model, with_it, growth, budget, False)}
    if any(r["result"] == "failed" for r in row.values()):
        return row
    bench = programs.run([programs.program("isomer"), "bench", str(without), str(with_it), "--json"], timeout=900)
    row["added"] = json.loads(bench.stdout)["pairs"][0] if bench.code == 0 else None
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
    parser.add_argument("--state", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    options = parser.parse_args()
    state = json.loads(options.state.read_text()) if options.state and options.state.exists() else {}
    rows = {}
    for name in options.models.split(","):
        for growth in GROWTHS:
            key = f"{name} {growth}"
            if key not in state:
                with tempfile.TemporaryDirectory(dir=options.filled) as temporary:
                    folder = pathlib.Path(temporary)
                    kept = options.filled / f"{name}.onnx" if options.filled else None
                    model = kept if kept and kept.exists() else zoo.fill(name, folder)
                    state[key] = both(model, folder, growth, options.budget)
                print(f"{key}: {number((state[key].get('added') or {}).get('ratio'), '.3f')}", file=sys.stderr, flush=True)
                if options.state:
                    options.state.write_text(json.dumps(state, indent=1))
            rows[name, growth] = state[key]
    print_models(rows)
    print_layers(rows)
    wrong = list(faults(rows))
    for why in wrong:
        print(f"WRONG {why}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
