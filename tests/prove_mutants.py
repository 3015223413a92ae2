#!/usr/bin/env python3
"""Mutants of zoo models, each against its original: nothing false may be proved.

  tests/prove_mutants.py [--mutants 2000] [--models 30] [--seed 1] [--seconds 30] [--results FILE.jsonl] [--check]
A mutant has one weight element changed by 1 %, or one attribute, or one wire. One that is proved equal is run by ONNX Runtime beside the
original on three sets of inputs: if a difference shows, that is a false proof, and this fails. Every mutant that is proved is listed.
--results keeps what was answered, and a second run goes on where the first was stopped. --check: a short form for ctest.
"""
import argparse
import collections
import pathlib
import random
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

import programs
import proving
import zoo
from records import Records

LARGEST_MB = 30


def change_weight(model, draw):
    """One element by 1 %."""
    floats = [t for t in model.graph.initializer if t.data_type == onnx.TensorProto.FLOAT and np.prod(t.dims) > 1]
    tensor = draw.choice(floats)
    array = numpy_helper.to_array(tensor).copy()
    nonzero = np.flatnonzero(array)
    if not len(nonzero):
        return None
    at = int(draw.choice(nonzero))
    array.flat[at] *= np.float32(1.01)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return f"element {at} of {tensor.name} by 1 %"


def change_attribute(model, draw):
    """One number of one attribute."""
    found = [(n, a) for n in model.graph.node for a in n.attribute
             if a.type in (onnx.AttributeProto.INT, onnx.AttributeProto.FLOAT) or (a.type == onnx.AttributeProto.INTS and a.ints)]
    if not found:
        return None
    node, attribute = draw.choice(found)
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i += draw.choice((-1, 1))
    elif attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f = attribute.f * 1.5 + 0.25
    else:
        k = draw.randrange(len(attribute.ints))
        attribute.ints[k] += draw.choice((-1, 1))
    return f"attribute {attribute.name} of {node.name or node.op_type}"


def change_wire(model, draw):
    """One input of one node is another value, of those that are computed before it."""
    nodes = list(model.graph.node)
    at = draw.randrange(1, len(nodes))
    known = [o for n in nodes[:at] for o in n.output if o]
    slots = [k for k, i in enumerate(nodes[at].input) if i in known]
    if not slots or len(known) < 2:
        return None
    slot = draw.choice(slots)
    other = draw.choice(known[-12:])
    if other == nodes[at].input[slot]:
        return None
    nodes[at].input[slot] = other
    return f"input {slot} of {nodes[at].name or nodes[at].op_type}"


CHANGES = (change_weight, change_attribute, change_wire)


def run_mutant(name, original, path, number, given):
    draw = random.Random(given.seed * 1_000_003 + number)
    model = onnx.load(original)
    change = CHANGES[number // given.models % len(CHANGES)]
    what = change(model, draw)
    if what is None:
        return None
    mutant = path / "mutant.onnx"
    onnx.save(model, mutant)
    session = proving.loads(mutant)
    if session is None:
        return None  # no model any more: there is nothing to prove
    record = {"number": number, "model": name, "kind": change.__name__, "what": what} | proving.prove(original, mutant, given.seconds)
    if record["verdict"] == "proved":
        record["difference"] = proving.runtime_difference(proving.loads(original), session, number)
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=2000)
    parser.add_argument("--models", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.check:
        given.mutants, given.models, given.seconds = 9, 3, 5
    names = [n for n in zoo.names() if zoo.index()[n]["megabytes"] <= LARGEST_MB][:given.models]
    answers = Records(given.results, "number")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for k, name in enumerate(names):
            todo = [n for n in range(k, given.mutants, len(names)) if (n,) not in answers]
            if not todo:
                continue
            filled = pathlib.Path(zoo.fill(name, folder))
            original = folder / "original.onnx"  # weights inside
            onnx.save(onnx.load(filled), original)
            for number in todo:
                answers.add(run_mutant(name, original, folder, number, given) or {"number": number, "verdict": "no model"})
            for file in folder.iterdir():
                file.unlink()
    records = list(answers.all.values())
    report = collections.Counter((r.get("kind", "-"), r["verdict"]) for r in records)
    programs.print_table(("change", "verdict", "mutants"), [(k, v, c) for (k, v), c in sorted(report.items())])
    proved = [r for r in records if r["verdict"] == "proved"]
    for r in proved:
        print(f"proved: {r['model']}: {r['what']}; ONNX Runtime: {r['difference']}")
    for r in records:
        if r["verdict"] in ("crashed", "error"):
            print(f"{r['verdict']}: {r['model']}: {r['what']}: {r['why']}")
    wrong = [r for r in proved if r["difference"] is not None and r["difference"] > (1e-5 if r["rounded"] else 1e-6)]
    print(f"{sum(r['verdict'] != 'no model' for r in records)} mutants, {len(proved)} proved, {len(wrong)} of them falsely")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
