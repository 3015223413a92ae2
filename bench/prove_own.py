#!/usr/bin/env python3
"""Own outputs: what `optimize` made of a model, given to `check` and to `prove` in both orders.

  bench/prove_own.py [--blocks DIR] [--filter TEXT] [--zoo N] [--seconds 30] [--results FILE.jsonl] [--least 0.0] [--check]
DIR holds what ../shared/expert/make_blocks.py writes; --zoo adds the N smallest models of the zoo. `prove` runs without the
certificate, so that it has to find a proof of its own, and once with it. Fails if a result is rejected by `check`, refuted by `prove` in the
order in which it was made, not proved with its certificate, or if fewer than --least are proved without.
--check: a short form, a few small blocks.
"""
import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile

import _paths  # noqa: F401
import programs
import prove_pairs
import proving
import zoo
from records import Records

SHORT = ["05_", "07_lora_S1_r16", "09_bn_before", "13_gqa_S1_N512"]


def optimize(model, out, seconds):
    """Whether the model became another one."""
    outcome = programs.run([programs.program("isomer"), "optimize", model, "-o", out, "--judge", "cost", "--budget", f"{seconds}s",
                            "--max-size-growth", "10", "--json"], 10 * seconds + 60)
    try:
        return json.loads(outcome.stdout).get("result") == "improved"
    except json.JSONDecodeError:
        return False


def look_at(name, model, folder, seconds):
    """A record of one model, or None where nothing was changed."""
    out = folder / "out.onnx"
    if not optimize(model, out, seconds):
        return None
    certificate = folder / "out.onnx.cert"
    check = programs.run([programs.program("isomer-check"), model, out, certificate, "--json"])
    with_it = proving.prove(model, out, seconds)
    hidden = folder / "hidden.cert"
    shutil.move(certificate, hidden)
    there, back = proving.prove(model, out, seconds), proving.prove(out, model, seconds)
    return {"model": name, "check": check.code, "check_seconds": round(check.seconds, 2), "with_certificate": with_it["verdict"],
            "verdict": there["verdict"], "why": there["why"], "rounded": there["rounded"], "seconds": there["seconds"],
            "back": back["verdict"], "back_why": back["why"], "back_seconds": back["seconds"]}


def models(given, scratch):
    texts = given.filter or (SHORT if given.check else [])
    if given.blocks or given.check:
        blocks = pathlib.Path(given.blocks or scratch / "blocks")
        if not given.blocks:
            blocks.mkdir()
            prove_pairs.make_blocks(blocks, texts)
        for orig in sorted(blocks.glob("*/orig.onnx")):
            if not texts or any(t in orig.parent.name for t in texts):
                yield orig.parent.name, lambda folder, path=orig: path
    names = sorted(zoo.names(text=""), key=lambda n: zoo.index()[n]["megabytes"]) if given.zoo else []
    for name in names[:given.zoo]:
        yield f"zoo/{name}", lambda folder, n=name: zoo.fill(n, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=pathlib.Path, default=os.environ.get("ISOMER_BLOCKS"))
    parser.add_argument("--filter", action="append", default=[])
    parser.add_argument("--zoo", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--least", type=float, default=0.0)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    records = Records(given.results, "model")
    with tempfile.TemporaryDirectory() as scratch:
        for name, path in models(given, pathlib.Path(scratch)):
            if (name,) in records:
                continue
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                record = look_at(name, path(pathlib.Path(folder)), pathlib.Path(folder), given.seconds)
            records.add(record or {"model": name, "verdict": "unchanged"})
    changed = [r for r in records.all.values() if r["verdict"] != "unchanged"]
    proving.tell_unproved(("model",), changed)
    proving.tell("own results", changed)
    back = [r | {"verdict": r["back"], "why": r["back_why"], "seconds": r["back_seconds"]} for r in changed]
    proving.tell_unproved(("model",), back)
    proving.tell("the other way round", back)
    print(f"with its certificate: {sum(r['with_certificate'] == 'proved' for r in changed)} of {len(changed)} proved; "
          f"check accepted {sum(r['check'] == 0 for r in changed)}")
    proved = sum(r["verdict"] == "proved" for r in changed)
    bad = [r["model"] for r in changed if r["check"] != 0 or r["verdict"] == "refuted" or r["with_certificate"] != "proved"]
    print("\n".join(f"WRONG: {name}" for name in bad))
    return 1 if bad or (changed and proved < given.least * len(changed)) else 0


if __name__ == "__main__":
    sys.exit(main())
