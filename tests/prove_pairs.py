#!/usr/bin/env python3
"""Expert pairs: every graph of ../shared/expert against its hand-made variants, which are equal to it.

  tests/prove_pairs.py [--blocks DIR] [--filter TEXT] [--seconds 60] [--jobs 2] [--results FILE.jsonl] [--check] [--verbose]
DIR holds what ../shared/expert/make_blocks.py writes (several GB); without it the experiments that --filter names are made in a
temporary folder. --results keeps what was answered, and a second run goes on where the first was stopped.
A pair that is refuted is run by ONNX Runtime: equal there (1e-3 of the largest value) means that we are wrong.
Fails if anything is refuted that ONNX Runtime shows equal, or fewer than 95 % are proved. --check: a short form, a few small pairs.
"""
import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import programs

WANTED = 0.95
TOLERANCE = 1e-3
SHORT = ["05_", "07_lora_S1_r16", "09_bn_before", "12_conv1d_c128", "13_gqa_S1_N512"]


def pairs_of(folder, texts):
    for orig in sorted(folder.glob("*/orig.onnx")):
        for variant in sorted(orig.parent.glob("*.onnx")):
            name = f"{orig.parent.name}/{variant.stem}"
            if variant != orig and (not texts or any(t in name for t in texts)):
                yield name, orig, variant


def prove(pair, seconds):
    name, orig, variant = pair
    outcome = programs.run([programs.program("isomer"), "prove", orig, variant, "--json", "--budget", f"{seconds}s"], 3 * seconds + 60)
    record = {"name": name, "seconds": round(outcome.seconds, 2), "peak_mb": outcome.peak_bytes >> 20, "verdict": "crashed",
              "why": outcome.stderr[-300:]}
    try:
        answer = json.loads(outcome.stdout)
    except json.JSONDecodeError:
        return record
    if "verdict" in answer:
        record.update(verdict=answer["verdict"], why=answer["why"], rounded=answer["constants_rounded"], ulp=answer["worst_ulp"])
    else:
        record.update(verdict="error", why=answer["error"]["message"])
    return record


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


def known_results(path):
    if path is None or not path.exists():
        return {}
    return {r["name"]: r for r in map(json.loads, path.read_text().splitlines())}


def report(records, verbose):
    counts = collections.Counter(r["verdict"] for r in records)
    rounded = sum(r["verdict"] == "proved" and r["rounded"] > 0 for r in records)
    rows = [(r["name"], r["verdict"], r["seconds"], r["why"][:90]) for r in records if verbose or r["verdict"] != "proved"]
    if rows:
        programs.print_table(("pair", "verdict", "seconds", "why"), rows)
    seconds = sorted(r["seconds"] for r in records)
    print(f"{len(records)} pairs: {counts['proved']} proved ({counts['proved'] / len(records):.1%}; {counts['proved'] - rounded} exactly, "
          f"{rounded} but for rounded constants), {counts['refuted']} refuted, {counts['undecided']} undecided, "
          f"{counts['crashed'] + counts['error']} failed")
    print(f"seconds: median {statistics.median(seconds):.2f}, slowest {seconds[-1]:.1f}; "
          f"peak {max(r['peak_mb'] for r in records)} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=pathlib.Path, default=os.environ.get("ISOMER_BLOCKS"))
    parser.add_argument("--filter", action="append", default=[])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    texts = given.filter or (SHORT if given.check else [])
    with tempfile.TemporaryDirectory() as scratch:
        blocks = pathlib.Path(given.blocks or scratch)
        if not given.blocks:
            make_blocks(blocks, texts)
        pairs = list(pairs_of(blocks, texts))
        known = known_results(given.results)

        def answer(pair):
            if pair[0] in known:
                return known[pair[0]]
            record = prove(pair, given.seconds)
            if record["verdict"] == "refuted":
                record["runtime_difference"] = runtime_difference(pair[1], pair[2])
            if given.results:
                with given.results.open("a") as file:
                    file.write(json.dumps(record) + "\n")
            return record

        with ThreadPoolExecutor(given.jobs) as pool:
            records = list(pool.map(answer, pairs))
    report(records, given.verbose)
    wrong = [r for r in records if r["verdict"] == "refuted" and r["runtime_difference"] <= TOLERANCE]
    for r in wrong:
        print(f"WRONG: {r['name']} is refuted, and ONNX Runtime shows it equal ({r['runtime_difference']:.1e})")
    proved = sum(r["verdict"] == "proved" for r in records)
    return 1 if wrong or proved < WANTED * len(records) else 0


if __name__ == "__main__":
    sys.exit(main())
