#!/usr/bin/env python3
"""Writes rules/prior.txt: which proposers paid for which models, for `isomer optimize` to ask them first.

  bench/train_prior.py [--out rules/prior.txt] [--without FAMILY,...] [--records FILE.jsonl,...] [--features FILE.jsonl] [--told]
Learned from the records of earlier runs (bench/results: steps that the runtime had measured as faster, by proposer) and from what
`isomer inspect --json` says of the models: blocks and numbers (src/optimizer/search/features.h).
Nothing is measured here, and the same records give the same file.

 * models: each with its blocks, by their hashes, and the proposers that paid. `optimize` looks for those that are most like its own.
 * a tree of at most --depth questions about the numbers, for models that are like none: each leaf has the proposers that paid for at least --share
   of its models.
--without: models of these families are left out, for a fair test (bench/search_prior.py). --told: what would be predicted for each model by a prior
that has seen nothing of its family, and how much of what paid is in it.
"""
import argparse
import json
import math
import pathlib
import re
import sys
import tempfile

import _paths  # noqa: F401
import programs
import zoo
from records import Records

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDS = ("zoo.jsonl", "zoo_two_threads.jsonl", "zoo_openvino.jsonl")
NEIGHBOURS, LEAST = 5, 0.08
NOT_ASKED = {"simplify", "widen"}  # always first
# Models of one family share their blocks; what is not here is a family by itself, by the letters that its name begins with.
FAMILIES = {"bert": "bert|albert|distilbert|mobilebert", "resnet": "resnet|resnext|res2net|ssd300_resnet|retinanet_resnet", "vgg": "vgg|ssd300_vgg|repvgg",
            "mobilenet": "mobilenet|keras_mobilenet|mnasnet|ssdlite|deeplabv3_mobilenet|fasterrcnn_mobilenet",
            "efficientnet": "efficientnet|tf_efficientnet|keras_efficientnet",
            "nasnet": "nasnet|keras_nasnet", "vit": "vit|clip_vit", "llama": "llama|gpt2", "whisper": "whisper|wav2vec", "squeezenet": "squeezenet",
            "tagger": "(rnn|gru|lstm)_", "diffusion": "sd_|ddpm", "mobileone": "mobileone|repvit"}


def family(name):
    return next((f for f, pattern in FAMILIES.items() if re.match(pattern, name)), re.match("[a-z]*", name)[0])


def paid_for(files):
    """By model of the zoo, the proposers whose steps were taken in any of the runs."""
    paid = {}
    for file in files:
        for line in file.read_text().splitlines():
            row = json.loads(line)
            if "head" in row or row["model"] not in zoo.index():
                continue
            kinds = {s["kind"] for s in row.get("steps", [])} if row["result"] == "improved" else set()
            paid.setdefault(row["model"], set()).update(kinds - NOT_ASKED)
    return paid


def features_of(names, kept):
    """What the models are made of; rows that are there already are not asked for again."""
    records = Records(kept, "model")
    for name in names:
        if (name,) in records:
            continue
        with tempfile.TemporaryDirectory() as folder:
            ran = programs.run([programs.program("isomer"), "inspect", str(zoo.hollow(name, pathlib.Path(folder))), "--json"], timeout=300)
        if ran.code != 0:
            sys.exit(f"{name}: {ran.stderr}")
        told = json.loads(ran.stdout)["architecture"]
        records.add({"model": name, "features": {k: round(v, 4) for k, v in told["features"].items()},
                     "blocks": sorted(b["hash"] for b in told["blocks"])})
    return {name: records.all[name,] for name in names}


def impurity(rows):
    """Of a set of models, how unsure it is for each proposer whether it pays, summed up."""
    total = 0.0
    for kind in {k for _, paid in rows for k in paid}:
        share = sum(kind in paid for _, paid in rows) / len(rows)
        total += share * (1 - share)
    return total * len(rows)


def tree(rows, depth, least):
    """[feature, bound, left, right], or a list of models: (features, paid)."""
    best = None
    for feature in sorted({f for features, _ in rows for f in features}) if depth else []:
        values = sorted({features.get(feature, 0.0) for features, _ in rows})
        for a, b in zip(values, values[1:]):
            bound = round((a + b) / 2, 4)
            sides = [[r for r in rows if (r[0].get(feature, 0.0) < bound) == below] for below in (True, False)]
            if min(map(len, sides)) < least:
                continue
            left = sum(map(impurity, sides))
            if best is None or left < best[0] - 1e-9:
                best = (left, feature, bound, *sides)
    if best is None or best[0] > 0.97 * impurity(rows):
        return rows
    _, feature, bound, below, above = best
    return [feature, bound, tree(below, depth - 1, least), tree(above, depth - 1, least)]


def is_leaf(node):
    return not node or not isinstance(node[0], str)


def tree_lines(node, share, first=0):
    """Lines of the file, the first of which has this number."""
    if is_leaf(node):
        counts = {k: sum(k in paid for _, paid in node) for k in sorted({k for _, paid in node for k in paid})}
        likely = sorted((k for k, n in counts.items() if n >= share * len(node)), key=lambda k: (-counts[k], k))
        return [" ".join(["leaf", *likely]) + f"  # of {len(node)} models: " + ", ".join(f"{k} {counts[k]}" for k in likely)]
    feature, bound, below, above = node
    left = tree_lines(below, share, first + 1)
    return [f"if {feature} < {bound:g} then {first + 1} else {first + 1 + len(left)}", *left, *tree_lines(above, share, first + 1 + len(left))]


def prior_text(models, paid, options):
    lines = ["# Which proposers paid for which models: `isomer optimize` asks them first (docs/explore.md). Written by bench/train_prior.py.", "prior 1", "",
             "# So many models whose blocks are most like those of the one at hand, at least this much.", f"nearest {NEIGHBOURS} {LEAST}"]
    for name, row in sorted(models.items()):
        lines += ["", f"model {name} paid {' '.join(sorted(paid[name]))}".rstrip()]
        lines += ["blocks " + " ".join(row["blocks"][k:k + 16]) for k in range(0, len(row["blocks"]), 16)]
    grown = tree([(row["features"], paid[name]) for name, row in sorted(models.items())], options.depth, options.least)
    lines += ["", "# For models that are like none of these. Lines are counted from 0.", *tree_lines(grown, options.share)]
    return "\n".join(lines) + "\n"


def likeness(a, b, with_block, models):
    weight = lambda block: math.log((1 + models) / (1 + with_block.get(block, 0))) + 0.1
    both = sum(weight(x) for x in a | b)
    return sum(weight(x) for x in a & b) / both if both else 0.0


def predicted(name, models, paid, options):
    """What optimize does, of models of other families: the proposers, and whose word that is."""
    others = {n: set(r["blocks"]) for n, r in models.items() if family(n) != family(name)}
    with_block = {}
    for blocks in others.values():
        for b in blocks:
            with_block[b] = with_block.get(b, 0) + 1
    near = sorted(((likeness(set(models[name]["blocks"]), b, with_block, len(others)), n) for n, b in others.items()), key=lambda p: (-p[0], p[1]))
    near = [(like, n) for like, n in near if like >= LEAST][:NEIGHBOURS]
    first = set().union(*(paid[n] for _, n in near)) if near else set()
    if first:
        return first, ", ".join(f"{n} {like:.2f}" for like, n in near)
    node = tree([(r["features"], paid[n]) for n, r in sorted(models.items()) if n in others], options.depth, options.least)
    while not is_leaf(node):
        node = node[2] if models[name]["features"].get(node[0], 0.0) < node[1] else node[3]
    return set(tree_lines(node, options.share)[0].split("#")[0].split()[1:]), "tree"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "rules/prior.txt")
    parser.add_argument("--without", default="")
    parser.add_argument("--records", type=lambda text: [pathlib.Path(p) for p in text.split(",")], default=[ROOT / "bench/results" / f for f in RECORDS])
    parser.add_argument("--features", type=pathlib.Path, default=ROOT / "bench/results/architectures.jsonl")
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--least", type=int, default=8, help="models of a leaf")
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--told", action="store_true")
    options = parser.parse_args()
    paid = paid_for(options.records)
    # A model for which nothing paid says nothing of who does.
    models = features_of(sorted(n for n in paid if paid[n]), options.features)
    if options.told:
        rows = [(name, paid[name], *predicted(name, models, paid, options)) for name in models]
        programs.print_table(["model", "family", "paid", "first", "missing", "by"],
                             [[n, family(n), " ".join(sorted(p)), " ".join(sorted(f)), " ".join(sorted(p - f)), by] for n, p, f, by in rows])
        print(f"{sum(len(p & f) for _, p, f, _ in rows)} of {sum(len(p) for _, p, _, _ in rows)} that paid are first; "
              f"{sum(len(f) for _, _, f, _ in rows) / len(rows):.1f} proposers are first; {sum(p <= f for _, p, f, _ in rows)} of {len(rows)} models miss none")
        return
    left = set(options.without.split(",")) - {""}
    models = {n: r for n, r in models.items() if family(n) not in left}
    options.out.write_text(prior_text(models, paid, options))
    print(f"{options.out.name}: {len(models)} models")


if __name__ == "__main__":
    main()
