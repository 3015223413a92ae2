#!/usr/bin/env python3
# ci: --check
"""Mutants of zoo models, each against its original: nothing false may be proved.

  tests/evidence/prove_mutants.py [--mutants 2000] [--models 30] [--seed 1] [--seconds 30] [--results FILE.jsonl] [--keep FOLDER] [--check]
A mutant differs in one place; tests/lib/model_changes.py has the families. Half of the pairs are proved in the other direction. One that is
proved equal is run by ONNX Runtime beside its original: if a difference shows, that is a false proof, kept in FOLDER, and this fails.
Every mutant that is proved is listed.
--results keeps what was answered, and a second run goes on where the first was stopped. --check: a short form for ctest.
"""
import argparse
import collections
import pathlib
import random
import shutil
import sys
import tempfile

import onnx

import _paths  # noqa: F401
import programs
import proving
import zoo
from attack import feeds, oracle
from model_changes import FAMILIES, Subject
from records import Records

LARGEST_MB = 30
TRIES = 12  # until there is something to change


def write(subject, path):
    path.parent.mkdir(exist_ok=True)
    for name, data in subject.files.items():
        (path.parent / name).write_bytes(data)
    path.write_bytes(subject.model.SerializeToString())


def draw_pair(original, family, drawn):
    """(the one, the other, what differs), or None: there is no such place."""
    one, other = Subject(onnx.load(original)), Subject(onnx.load(original))
    # Twice the same, by the same draws.
    if not all(family.prepare(s, random.Random(drawn)) for s in (one, other)):
        return None
    draw = random.Random(f"{drawn} change")
    what = family.change(other, draw)
    if what is None:
        return None
    if one.body is not None and draw.random() < 0.3:
        one, what = Subject(onnx.load(original)), f"written out; {what}"
    return (one, other, what) if draw.random() < 0.5 else (other, one, f"{what}, the other way round")


def falsehood(a, b, number):
    """What ONNX Runtime shows of two models that were proved equal."""
    return oracle.falsehood(oracle.Program(a), oracle.Program(b), feeds.drawn(onnx.load(a, load_external_data=False), seed=number))


def written_pair(original, family, folder, drawn):
    """(path, path, what differs) of two models that differ in one place; None: no such change was found that the runtime accepts."""
    folder.mkdir(exist_ok=True)
    a, b = folder / "a" / "model.onnx", folder / "b" / "model.onnx"
    for k in range(TRIES):
        pair = draw_pair(original, family, f"{drawn} {k}")
        if pair is None:
            continue
        write(pair[0], a)
        write(pair[1], b)
        if proving.loads(a) is not None and proving.loads(b) is not None:
            return a, b, pair[2]
    return None


def run_mutant(name, original, folder, number, given):
    """A record; None: there is no such mutant."""
    family = FAMILIES[number // given.models % len(FAMILIES)]
    written = written_pair(original, family, folder, f"{given.seed} {number}")
    if written is None:
        return None
    a, b, what = written
    record = {"number": number, "model": name, "kind": family.name, "what": what} | proving.prove(a, b, given.seconds)
    if record["verdict"] == "proved":
        record["false"] = falsehood(a, b, number)
        if record["false"] and given.keep:
            shutil.copytree(folder, given.keep / str(number), dirs_exist_ok=True)
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=2000)
    parser.add_argument("--models", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.check:
        given.mutants, given.models, given.seconds = len(FAMILIES), 1, 5
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
            pair = folder / "pair"
            pair.mkdir()
            for number in todo:
                answers.add(run_mutant(name, original, pair, number, given) or {"number": number, "verdict": "no model"})
            shutil.rmtree(folder / "pair", ignore_errors=True)
            for file in folder.iterdir():
                file.unlink()
    records = list(answers.all.values())
    report = collections.Counter((r.get("kind", "-"), r["verdict"]) for r in records)
    programs.print_table(("change", "verdict", "mutants"), [(k, v, c) for (k, v), c in sorted(report.items())])
    proved = [r for r in records if r["verdict"] == "proved"]
    for r in proved:
        print(f"proved: {r['model']}: {r['what']}" + (f"; FALSE: {r['false']}" if r["false"] else ""))
    for r in records:
        if r["verdict"] in ("crashed", "error"):
            print(f"{r['verdict']}: {r['model']}: {r['what']}: {r['why']}")
    wrong = [r for r in proved if r["false"]]
    print(f"{sum(r['verdict'] != 'no model' for r in records)} mutants, {len(proved)} proved, {len(wrong)} of them falsely")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
