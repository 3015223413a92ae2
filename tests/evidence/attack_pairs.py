#!/usr/bin/env python3
# ci: | timeout=900
"""Pairs and certificates that have fooled Isomer, each answered as it must be.

  tests/evidence/attack_pairs.py [NAME...] [--seconds 20]
The tables are attack/hand.py and attack/certificates.py. What a table says of a pair is checked on ONNX Runtime first: that the second model differs
or fails on the input given while the first runs and is finite, or that it doesn't. Then: an unequal pair must not be proved, an equal one must be,
one that differs only where A computes NaN or infinities must be answered as it was before; a forged certificate must be rejected by `isomer check`
and by `isomer-check`, for another reason than a digest. The same for the files of ../shared/attack/pairs, if there are any.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import _paths  # noqa: F401
import programs
import proving
from attack import certificates, hand, oracle
from attack.feeds import Feed

# For ../shared/attack/pairs: true pairs, and those that differ on NaN and infinities only, with their answers.
SHARED_EQUAL = ("hole_wit_softmax_leaky",)
SHARED_SPECIAL = {
    "hole_inf_intermediate": "proved",
    "hole_inf_intermediate_tanh": "proved",
    "hole_nan_addsub_SPECIAL": "proved",
    "hole_nan_divmul": "proved",
    "hole_nan_divmul_SPECIAL": "proved",
    "hole_nan_isnan_false_SPECIAL": "proved",
    "hole_nan_mulzero_SPECIAL": "proved",
}
SHARED_HONEST = ("cert_sanity",)


def runtime_fault(a: pathlib.Path, b: pathlib.Path, feed: Feed | None, kind: str) -> str | None:
    """What ONNX Runtime doesn't confirm of an entry."""
    first, second = oracle.Program(a), oracle.Program(b)
    if feed is None:
        types = [[i.type for i in p.session.get_inputs()] for p in (first, second)]
        return None if types[0] != types[1] else "the runtime sees the same types"
    x, y = first.run(feed), second.run(feed)
    if isinstance(x, oracle.Failure):
        return f"the first model fails: {x}"
    differs = isinstance(y, oracle.Failure) or oracle.difference(x, y) is not None
    if differs == (kind == hand.EQUAL):
        return "the runtime sees a difference" if differs else "the runtime sees no difference"
    finite = oracle.is_finite([*feed.values(), *first.computed(feed)])
    if kind == hand.UNEQUAL and not finite:
        return "the first model is not finite"
    if kind == hand.SPECIAL and finite and not isinstance(y, oracle.Failure):
        return "the first model is finite"
    return None


def answer_fault(record: dict, kind: str, answer: str) -> str | None:
    """What is wrong with an answer."""
    verdict = record["verdict"]
    if verdict not in ("proved", "refuted", "undecided"):
        return f"{verdict}: {record['why']}"
    if kind == hand.UNEQUAL:
        return "PROVED, and it is false" if verdict == "proved" else None
    wanted = "proved" if kind == hand.EQUAL else answer
    return None if verdict == wanted else f"{verdict}, not {wanted}: {record['why']}"


def try_pair(name: str, a: pathlib.Path, b: pathlib.Path, kind: str, answer: str, seconds: int) -> tuple:
    record = proving.prove(a, b, seconds, sizes_from=0)
    return name, kind, record["verdict"], answer_fault(record, kind, answer) or "ok"


def own_pairs(folder: pathlib.Path, chosen, seconds: int):
    for pair in hand.PAIRS:
        if not chosen(pair.name):
            continue
        a, b = pair.a.write(folder / pair.name / "a" / "model.onnx"), pair.b.write(folder / pair.name / "b" / "model.onnx")
        if doubt := runtime_fault(a, b, pair.feed, pair.kind):
            yield pair.name, pair.kind, "not asked", f"the table is wrong: {doubt}"
        else:
            yield try_pair(pair.name, a, b, pair.kind, pair.answer, seconds)


def shared_pairs(folder: pathlib.Path, chosen, seconds: int):
    for a in sorted(folder.glob("hole_*_a.onnx")):
        name = a.name.removesuffix("_a.onnx")
        if not chosen(name):
            continue
        kind = hand.EQUAL if name in SHARED_EQUAL else hand.SPECIAL if name in SHARED_SPECIAL else hand.UNEQUAL
        yield try_pair(name, a, folder / f"{name}_b.onnx", kind, SHARED_SPECIAL.get(name, ""), seconds)


def try_certificate(name: str, before: pathlib.Path, after: pathlib.Path, steps: list[dict], honest: bool, folder: pathlib.Path) -> tuple:
    said = certificates.answers(before, after, certificates.write(folder / f"{name}.cert", before, after, steps))
    reason = said["isomer check"]["reason"]
    return name, "honest" if honest else "forged", said["isomer check"]["verdict"], certificates.fault(said, honest) or f"ok {reason}".strip()


def own_certificates(folder: pathlib.Path, chosen):
    for forgery in certificates.FORGERIES:
        if not chosen(forgery.name):
            continue
        before = forgery.before.write(folder / forgery.name / "in" / "model.onnx")
        after = forgery.after.write(folder / forgery.name / "out" / "model.onnx")
        if doubt := runtime_fault(before, after, forgery.feed, forgery.kind):
            yield forgery.name, forgery.kind, "not asked", f"the table is wrong: {doubt}"
        else:
            yield try_certificate(forgery.name, before, after, forgery.steps, forgery.kind == hand.EQUAL, folder)


def shared_certificates(shared: pathlib.Path, folder: pathlib.Path, chosen):
    for path in sorted(shared.glob("cert_*.cert")):
        name = path.stem
        if not chosen(name):
            continue
        # The digests are made again, beside copies: what is wrong with these certificates is what they say.
        before, after = folder / f"{name}_in.onnx", folder / f"{name}_out.onnx"
        for copy in (before, after):
            copy.write_bytes((shared / copy.name).read_bytes())
        steps = [json.loads(line) for line in path.read_text().splitlines()[1:]]
        for step in steps:  # these are of a time when programs were texts
            if "by" in step:
                step["by"] = certificates.as_model(step["by"])
        yield try_certificate(name, before, after, steps, name in SHARED_HONEST, folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only those whose name has one of these in it")
    parser.add_argument("--seconds", type=int, default=20, help="for each proof")
    given = parser.parse_args()

    def chosen(name: str) -> bool:
        return not given.names or any(n in name for n in given.names)

    shared = programs.SHARED / "attack" / "pairs"
    with tempfile.TemporaryDirectory(prefix="isomer_attack_") as scratch:
        folder = pathlib.Path(scratch)
        rows = [*own_pairs(folder, chosen, given.seconds), *own_certificates(folder, chosen)]
        if shared.exists():
            rows += [*shared_pairs(shared, chosen, given.seconds), *shared_certificates(shared, folder, chosen)]
    programs.print_table(("name", "kind", "answer", "verdict"), rows)
    wrong = [r for r in rows if not r[3].startswith("ok")]
    missing = "" if shared.exists() else f" (no {shared})"
    print(f"{len(rows)} pairs and certificates{missing}: {len(wrong)} answered wrongly")
    for row in wrong:
        print("  " + ": ".join(row))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
