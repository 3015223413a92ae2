#!/usr/bin/env python3
# nightly: --check | timeout=900 unsanitized
"""How long the search takes, and what grows with the size of a model: `isomer optimize --judge cost`.

  bench/search_time.py [--nodes 1000,10000] [--zoo FOLDER] [--strategy NAME] [--results FILE.jsonl] [--check]
A decoder is generated: norms, rotary embedding and attention spelled out, as exporters do. All of its layers map one region of one file, so that
ten thousand nodes need the weights of one layer. With --zoo, the models of that folder with 500 to 1500 nodes are searched too. Per model: nodes,
seconds, unique regions (groups of equal steps), states, proofs that were made and those that were there already.
--check, the short form: a decoder and one of twice its layers need the same proofs, have the same unique regions, and the second takes less than three
times the time of the first.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import onnx

import _paths  # noqa: F401
import programs
from decoder import Decoder
from records import Records

MOST_GROWTH = 3.0  # of the time, for twice the layers; 2 is linear


def searched(path, strategy):
    """Nodes are the caller's; the figures of one run."""
    out = path.with_suffix(".out.onnx")
    command = [programs.program("isomer"), "optimize", str(path), "-o", str(out), "--judge", "cost", "--json", "--quiet"]
    run = programs.run(command + (["--strategy", strategy] if strategy else []), timeout=550)
    for left in (out, pathlib.Path(str(out) + ".cert")):
        left.unlink(missing_ok=True)
    if run.code != 0:
        sys.exit(f"{path}: {run.stderr}")
    return run, json.loads(run.stdout)


def row(records, name, nodes, run, report):
    s = report["search"]
    records.add({"model": name, "nodes": nodes, "seconds": round(run.seconds, 2), "regions": s["regions"], "states": s["states"], "proofs": s["proofs"],
                 "known": s["cache_hits"], "steps": report["steps"]})
    print(f"{name:28}{nodes:7}{run.seconds:8.1f}{s['regions']:9}{s['states']:8}{s['proofs']:8}{s['cache_hits']:8}  "
          + ", ".join(f"{k['count']} {k['kind']}" for k in report["steps"]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="1000,10000")
    parser.add_argument("--zoo", type=pathlib.Path)
    parser.add_argument("--strategy")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    records = Records(options.results, "model")
    print(f"{'model':28}{'nodes':>7}{'s':>8}{'regions':>9}{'states':>8}{'proofs':>8}{'hits':>8}  steps")
    per_layer = len(Decoder(2).nodes) - len(Decoder(1).nodes)
    with tempfile.TemporaryDirectory(prefix="isomer_search_") as folder:
        results = []
        layer_counts = (6, 12) if options.check else [max(1, int(n) // per_layer) for n in options.nodes.split(",")]
        for layers in layer_counts:
            path = pathlib.Path(folder, f"decoder_{layers}.onnx")
            nodes = Decoder(layers).save(path)
            results.append(searched(path, options.strategy))
            row(records, path.stem, nodes, *results[-1])
        for path in sorted(options.zoo.glob("*.onnx")) if options.zoo else ():
            nodes = len(onnx.load(path, load_external_data=False).graph.node)
            if 500 <= nodes <= 1500:
                scratch = pathlib.Path(folder, path.name)
                scratch.symlink_to(path.resolve())
                row(records, path.stem, nodes, *searched(scratch, options.strategy))
                scratch.unlink()
    if not options.check:
        return
    (small, one), (large, two) = results
    one, two = one["search"], two["search"]
    failures = [f"{what}: {one[what]} and {two[what]}" for what in ("regions", "proofs") if one[what] != two[what]]
    if two["cache_hits"] <= one["cache_hits"]:
        failures.append(f"hits do not grow: {one['cache_hits']} and {two['cache_hits']}")
    if large.seconds > MOST_GROWTH * small.seconds:
        failures.append(f"{small.seconds:.2f} s and {large.seconds:.2f} s for twice the layers")
    sys.exit("\n".join(failures) or None)


if __name__ == "__main__":
    main()
