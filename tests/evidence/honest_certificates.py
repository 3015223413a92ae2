#!/usr/bin/env python3
# ci: --short | timeout=900
"""Honest certificates, each checked many times: none is ever rejected, and the same files get the same answer, to the byte.

  tests/evidence/honest_certificates.py [--certificates 200] [--checks 50] [--seed 1] [--minutes M] [--record FILE.jsonl] [--keep FOLDER] [--short]
Small models are drawn: chains of roots, absolute values and their like; what rewrites touch, with open sizes (attack/random_models.py); layers of networks
(attack/random_layers.py). `optimize --judge cost` improves them, and its certificate is one; what `prove` writes of the same pair is another one.
isomer-check runs --checks times, twice about these very bytes, then with a note of another text behind, which gives the second witness another key; what it
prints must be the same each time but for milliseconds. `prove` runs three times, and its answers must be
the same. --record keeps what was found, and a second run goes on where the first was stopped; --minutes stops one. --short: 40 certificates, 5 checks.
Exit 1 if one is rejected or answered in two ways.
"""
import argparse
import itertools
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import _paths  # noqa: F401
import programs
from attack.models import Model, f32
from attack.random_layers import Layers
from attack.random_models import Builder
from records import Records

# Functions of v that simplify before or behind each other; those of a root leave few elements of a finite field to compare in.
CHAIN = ("Sqrt", "Sqrt", "Abs", "Abs", "Relu", "Neg", "Exp", "Log", "Reciprocal", "Identity", "Sigmoid", "Tanh", "Softplus", "Erf", "Sign", "Floor")
BY_CONSTANT = ("{1} = Mul({0},one)", "{1} = Add({0},nought)", "{1} = Div({0},one)", "{1} = Pow({0},half)", "{1} = Pow({0},two)", "{1} = Mul({0},{0})",
               "{1} = Max({0},nought)", "{1} = Mul({0},two)", "{1} = Div(one,{0})", "{1} = Min({0},{0})")
CONSTANTS = {"one": f32(1), "nought": f32(0), "half": f32(0.5), "two": f32(2)}
PROOFS = 3
BUDGET = 5  # seconds of a search, and of a proof
MILLISECONDS = re.compile(rb'"ms": ?[0-9.e+-]+|[0-9.]+ ms')


def chain(seed):
    draw = random.Random(seed)
    length = draw.randint(2, 6)
    steps = [f"{{1}} = {draw.choice(CHAIN)}({{0}})" if draw.random() < 0.75 else draw.choice(BY_CONSTANT) for _ in range(length)]
    if draw.random() < 0.8:  # something of a root that a root leaves as it is
        at = draw.randrange(length - 1)
        steps[at:at + 2] = [draw.choice(("{1} = Sqrt({0})", "{1} = Sqrt({0})", "{1} = Pow({0},half)")), f"{{1}} = {draw.choice(('Abs', 'Relu', 'Abs'))}({{0}})"]
    names = ["x", *(f"v{k}" for k in range(length - 1)), "y"]
    body = " ".join(s.format(a, b) for s, a, b in zip(steps, names, names[1:]))
    size = draw.choice(("5", "n", "1,3", "2,n"))
    return Model(f"(float[{size}] x) => (float[{size}] y) {{ {body} }}", CONSTANTS).proto()


def drawn(number, seed):
    """The model of this number."""
    of_it = f"{seed} {number}"
    kind = number % 5
    if kind == 2:
        return "model", Builder(of_it).model().proto()
    if kind == 3:
        return "layers", Layers(of_it).model().proto()
    return "chain", chain(of_it)


def certificates_of(model, folder):
    """(its maker, the result, the certificate) of each improved model."""
    isomer, a, b, own = programs.program("isomer"), folder / "in.onnx", folder / "out.onnx", folder / "steps.cert"
    a.write_bytes(model.SerializeToString())
    done = programs.run([isomer, "optimize", a, "-o", b, "--certificate", own, "--judge", "cost", "--budget", f"{BUDGET}s", "--quiet", "--json"], timeout=300)
    if done.code != 0 or '"improved"' not in done.stdout:
        return
    yield "optimize", a, b, own
    pairing = folder / "pairing.cert"
    programs.run([isomer, "prove", a, b, "--certificate", pairing, "--budget", f"{BUDGET}s", "--quiet"], timeout=120)
    if pairing.exists():
        yield "prove", a, b, pairing


SAME = 2  # checks of the very same bytes


def answers(command, times):
    """(exit code, what is printed but for milliseconds), each with how often."""
    said = {}
    for _ in range(times):
        done = subprocess.run([str(c) for c in command], capture_output=True, check=False, timeout=300)
        answer = done.returncode, MILLISECONDS.sub(b"ms", done.stdout), MILLISECONDS.sub(b"ms", done.stderr)
        said[answer] = said.get(answer, 0) + 1
    return said


def checked(a, b, certificate, checks):
    """A record of one certificate."""
    command = [programs.program("isomer-check"), a, b]
    said = answers([*command, certificate, "--json"], SAME)
    keyed = certificate.with_suffix(".keyed")
    for k in range(checks - SAME):
        keyed.write_text(certificate.read_text() + f'{{"note": {{"kind": "key", "what": "{k}"}}}}\n')
        for answer, times in answers([*command, keyed, "--json"], 1).items():
            said[answer] = said.get(answer, 0) + times
    rejected = sum(times for (code, _, _), times in said.items() if code != 0)
    why = next((out.decode(errors="replace")[:300] for (code, out, _) in said if code != 0), "")
    by_other = answers([programs.program("isomer"), "check", a, b, certificate], 2)
    proofs = answers([programs.program("isomer"), "prove", a, b, "--json", "--quiet", "--budget", "60s"], PROOFS)
    rejected += sum(times for (code, _, _), times in by_other.items() if code != 0)
    return {"steps": certificate.read_text().count("\n") - 1, "checks": checks, "rejected": rejected, "answers": len(said), "texts": len(by_other),
            "proofs": len(proofs), "why": why}


def is_wrong(record):
    return record.get("rejected", 0) > 0 or max(record.get("answers", 1), record.get("texts", 1), record.get("proofs", 1)) > 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--certificates", type=int, default=200)
    parser.add_argument("--checks", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--short", action="store_true")
    given = parser.parse_args()
    if given.short:
        given.certificates, given.checks = 40, 5
    end = time.monotonic() + 60 * given.minutes
    records = Records(given.record, "model", "by")
    for number in itertools.count():
        found = [r for r in records.all.values() if r["by"]]
        if len(found) >= given.certificates or time.monotonic() > end:
            break
        if (number, "") in records:
            continue
        with tempfile.TemporaryDirectory(prefix="isomer_honest_") as scratch:
            folder = pathlib.Path(scratch)
            kind, model = drawn(number, given.seed)
            for by, a, b, certificate in certificates_of(model, folder):
                record = {"model": number, "by": by, "kind": kind} | checked(a, b, certificate, given.checks)
                records.add(record)
                if is_wrong(record):
                    print(f"WRONG: model {number} ({kind}), certificate of {by}: {record['rejected']} of {given.checks + 2} checks reject it, "
                          f"{record['answers']} different answers, {record['texts']} texts, {record['proofs']} answers of prove. {record['why']}", flush=True)
                    if given.keep:
                        shutil.copytree(folder, given.keep / str(number), dirs_exist_ok=True)
            records.add({"model": number, "by": "", "kind": kind})
    found = [r for r in records.all.values() if r["by"]]
    kinds = sorted({(r["kind"], r["by"]) for r in found})
    rows = [(k, by, len(mine := [r for r in found if (r["kind"], r["by"]) == (k, by)]), sum(r["steps"] for r in mine), sum(r["checks"] for r in mine),
             sum(r["rejected"] for r in mine), sum(is_wrong(r) for r in mine)) for k, by in kinds]
    programs.print_table(("models", "written by", "certificates", "steps", "checks", "rejected", "wrong"), rows)
    wrong = sum(map(is_wrong, found))
    print(f"{len(found)} certificates, {sum(r['checks'] for r in found)} checks: {sum(r['rejected'] for r in found)} rejections, {wrong} certificates rejected "
          f"or answered in two ways{'' if len(found) >= given.certificates else '; stopped in time, go on with --record'}")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
