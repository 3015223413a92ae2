#!/usr/bin/env python3
# ci: --check
"""Expert pairs: every graph of ../shared/expert against its hand-made variants, which are equal to it.

  bench/prove_pairs.py [--blocks DIR] [--filter TEXT] [--seconds 60] [--jobs 2] [--results FILE.jsonl] [--check]
DIR holds what ../shared/expert/make_blocks.py writes (several GB); without it the experiments that --filter names are made in a
temporary folder. --results keeps what was answered, and a second run goes on where the first was stopped.
A pair that is refuted is run by ONNX Runtime: equal there (1e-3 of the largest value) means that we are wrong.
Fails if anything is refuted that ONNX Runtime shows equal, or fewer than 95 % are proved. --check: a short form, a few small pairs.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import _paths  # noqa: F401
import programs
import proving
from records import Records

WANTED = 0.95
TOLERANCE = 1e-3
SHORT = ["05_", "07_lora_S1_r16", "09_bn_before", "12_conv1d_c128", "13_gqa_S1_N512"]


def pairs_of(folder, texts):
    for orig in sorted(folder.glob("*/orig.onnx")):
        for variant in sorted(orig.parent.glob("*.onnx")):
            name = f"{orig.parent.name}/{variant.stem}"
            if variant != orig and (not texts or any(t in name for t in texts)):
                yield name, orig, variant


def runtime_difference(orig, variant):
    """The largest difference of the outputs, relative to the largest value."""
    import numpy as np
    import onnxruntime
    feeds = dict(np.load(orig.parent / "feeds.npz"))
    a, b = (onnxruntime.InferenceSession(str(p), providers=["CPUExecutionProvider"]).run(None, feeds) for p in (orig, variant))
    return max(float(np.abs(x - y).max() / max(np.abs(x).max(), 1e-30)) for x, y in zip(a, b))


def make_blocks(folder, texts):
    script = programs.shared("expert/make_blocks.py")
    subprocess.run([sys.executable, str(script), str(folder), *texts], check=True, cwd=script.parent, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=pathlib.Path, default=os.environ.get("ISOMER_BLOCKS"))
    parser.add_argument("--filter", action="append", default=[])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    texts = given.filter or (SHORT if given.check else [])
    with tempfile.TemporaryDirectory() as scratch:
        blocks = pathlib.Path(given.blocks or scratch)
        if not given.blocks:
            make_blocks(blocks, texts)
        pairs = list(pairs_of(blocks, texts))
        records = Records(given.results, "name")

        def answer(pair):
            name, orig, variant = pair
            if (name,) in records:
                return
            record = {"name": name} | proving.prove(orig, variant, given.seconds)
            if record["verdict"] == "refuted":
                record["difference"] = runtime_difference(orig, variant)
            records.add(record)

        with ThreadPoolExecutor(given.jobs) as pool:
            list(pool.map(answer, pairs))
    asked = [records.all[name,] for name, _, _ in pairs]
    proving.tell_unproved(("name",), asked)
    proving.tell("expert pairs", asked)
    print(f"peak {max(r['peak_mb'] for r in asked)} MB")
    proved = sum(r["verdict"] == "proved" for r in asked)
    return 1 if proving.false_refutations(asked, TOLERANCE) or proved < WANTED * len(asked) else 0


if __name__ == "__main__":
    sys.exit(main())
