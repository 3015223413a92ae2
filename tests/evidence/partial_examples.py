#!/usr/bin/env python3
# nightly: --check
"""Programs that are wrong at a few positions, corrected there (the proposer `partial`), on PET's four examples (Wang et al., OSDI 2021).

  tests/evidence/partial_examples.py [--check] [--core N] [--seconds 20] [--keep FOLDER]
For each example, with numbers and with names as sizes: where each mutant is wrong, as the prover says it, and whether the corrected one is proved.
Those with numbers are run on ONNX Runtime beside the original and measured with `isomer bench`, one thread, on core N where that is given: how many times
as fast, and which part of the time the correction takes (of the mutant as it is and the corrected one, the difference).
--check: the short form, smaller and not measured; exit 1 unless each example has a mutant that is wrong somewhere, corrected, proved and equal on
ONNX Runtime, in its form with names too, and `isomer optimize` takes one, with a certificate that is accepted.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx.parser
import onnxruntime
from onnx import numpy_helper

import _paths  # noqa: F401
import programs

# What follows the inputs, and the shapes of weights. C channels, S rows and columns.
EXAMPLES = {
    "two images side by side": {
        "numbers": ("float[8, C, S, S] x", "y = Conv<pads = [1, 1, 1, 1]>(x, w)"),
        "names": ("float[1, C, 6, 6] a, float[N, C, 6, 6] b", "x = Concat<axis = 0>(a, b)\ny = Conv<pads = [1, 1, 1, 1]>(x, w)"),
        "weights": {"w": "C C 3 3"},
        "is": "side by side",
    },
    "3x3 after 3x3 as one 5x5": {
        "numbers": ("float[1, 3, S, S] x", "t = Conv<pads = [1, 1, 1, 1]>(x, v, p)\ny = Conv<pads = [1, 1, 1, 1]>(t, w, q)"),
        "names": ("float[N, 3, H, W] z", "x = Pad(z, fours)\nt = Conv<pads = [1, 1, 1, 1]>(x, v, p)\ny = Conv<pads = [1, 1, 1, 1]>(t, w, q)"),
        "weights": {"v": "C 3 3 3", "p": "C", "w": "C C 3 3", "q": "C"},
        "is": "as one of",
    },
    "dilated as space to batch": {
        "numbers": ("float[1, C, S, S] x", "y = Conv<pads = [2, 2, 2, 2], dilations = [2, 2]>(x, w)"),
        "names": ("float[N, C, 13, 13] x", "y = Conv<pads = [2, 2, 2, 2], dilations = [2, 2]>(x, w)"),
        "weights": {"w": "C C 3 3"},
        "is": "holes as a batch",
    },
    "1xN after Nx1 as one NxN": {
        "numbers": ("float[1, 4, S, S] x", "t = Conv<pads = [2, 0, 2, 0]>(x, v, p)\ny = Conv<pads = [0, 2, 0, 2]>(t, w, q)"),
        "names": ("float[N, 4, H, W] z", "x = Pad(z, fours)\nt = Conv<pads = [2, 0, 2, 0]>(x, v, p)\ny = Conv<pads = [0, 2, 0, 2]>(t, w, q)"),
        "weights": {"v": "C 4 5 1", "p": "C", "w": "4 C 1 5", "q": "4"},
        "is": "as one of",
    },
}
# C and S: for the check, and where PET's idea has a chance here (a batch of small images, few channels outside and many inside).
SMALL, LARGE = (dict(zip(EXAMPLES, sizes)) for sizes in (((4, 6), (4, 10), (4, 13), (6, 12)), ((512, 7), (32, 112), (64, 57), (32, 112))))


def model(example, form, channels, size):
    inputs, body = example[form]
    numbers = {"C": channels, "S": size}
    for name, number in numbers.items():
        inputs = inputs.replace(f" {name},", f" {number},").replace(f" {name}]", f" {number}]")
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> example ({inputs}) => (float[a, b, c, d] y) {{\n{body}\n}}')
    draw = np.random.default_rng(1)
    for name, shape in example["weights"].items():
        shape = [numbers.get(n) or int(n) for n in shape.split()]
        weights = draw.normal(size=shape) / np.sqrt(np.prod(shape[1:]))
        made.graph.initializer.append(numpy_helper.from_array(weights.astype(np.float32), name))
    if "fours" in body:
        made.graph.initializer.append(numpy_helper.from_array(np.array([0, 0, 4, 4, 0, 0, 4, 4]), "fours"))
    return made


def mutants(source, folder):
    """By number: what it is, where it is wrong, and how each way to correct it ends."""
    ran = programs.run([programs.program("isomer-mutants"), str(source), str(folder)])
    if ran.code != 0:
        sys.exit(f"isomer-mutants: exit {ran.code}: {ran.stderr}")
    found = {}
    for line in ran.stdout.splitlines():
        kind, number, name, told = line.split("\t")
        if kind == "mutant":
            found[number] = {"what": name, "wrong": told, "joins": {}}
        else:
            found[number]["joins"][name] = told
    return found


def is_equal(source, other):
    """On ONNX Runtime, but for rounding."""
    session, again = (onnxruntime.InferenceSession(str(f), providers=["CPUExecutionProvider"]) for f in (source, other))
    draw = np.random.default_rng(2)
    feeds = {i.name: draw.normal(size=i.shape).astype(np.float32) for i in session.get_inputs()}
    expected, got = session.run(None, feeds)[0], again.run(None, feeds)[0]
    return expected.shape == got.shape and np.abs(expected - got).max() <= 1e-4 * np.abs(expected).max()


def is_wrong_nowhere(mutant):
    return mutant["wrong"].endswith(": false }")


def bench(options, source, others):
    """The speedup of each file over the first one."""
    pinned = ["taskset", "-c", str(options.core)] if options.core is not None else []
    ran = programs.run([*pinned, programs.program("isomer"), "bench", str(source), *map(str, others), "--json", "--quiet", "--seconds", str(options.seconds)])
    if ran.code != 0:
        sys.exit(f"bench: exit {ran.code}: {ran.stderr}")
    pairs = {p["number_of_b"]: p for p in json.loads(ran.stdout)["pairs"]}
    return [pairs[k + 1] for k in range(len(others))]


def measured(options, source, folder, found):
    rows = []
    for number, mutant in found.items():
        for join, told in mutant["joins"].items():
            if told == "proved":
                rows.append((number, mutant, join, folder / f"{number}.{join}.onnx"))
    bare = {number: folder / f"{number}.onnx" for number, *_ in rows}
    files = [row[3] for row in rows] + list(bare.values())
    speed = dict(zip(files, bench(options, source, files)))
    for number, mutant, join, file in rows:
        ratio = speed[file]
        share = 1 - ratio["ratio"] / speed[bare[number]]["ratio"]
        correction = "no correction" if is_wrong_nowhere(mutant) else f"{join}, {100 * share:5.1f} % of the time"
        print(f"    {ratio['ratio']:6.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}]  {mutant['what']}: {correction}")


def optimized(source, folder):
    """Whether `isomer optimize` takes a step of partial, and the checker accepts it."""
    isomer, out = programs.program("isomer"), folder / "optimized.onnx"
    ran = programs.run([isomer, "optimize", str(source), "-o", str(out), "--only", "partial", "--judge", "any", "--json", "--quiet"])
    if ran.code != 0:
        sys.exit(f"optimize: exit {ran.code}: {ran.stderr}")
    taken = json.loads(ran.stdout)["result"] == "improved"
    return taken and programs.run([isomer, "check", str(source), str(out), f"{out}.cert"]).code == 0


def examine(options, name, folder):
    """One example in both forms; whether all is as it should be."""
    example, fine = EXAMPLES[name], True
    channels, size = (SMALL if options.check else LARGE)[name]
    print(name)
    for form in ("numbers", "names"):
        place = folder / f"{name.replace(' ', '_')}_{form}"
        place.mkdir(parents=True)
        source = place / "example.onnx"
        onnx.save(model(example, form, channels if form == "numbers" else 3, size), source)
        found = {k: m for k, m in mutants(source, place).items() if example["is"] in m["what"]}
        corrected = False
        for number, mutant in found.items():
            print(f"  {mutant['what']}\n    wrong at {mutant['wrong']}")
            for join, told in mutant["joins"].items():
                print(f"    {join}: {told}")
                if told != "proved":
                    continue
                corrected = corrected or (not is_wrong_nowhere(mutant) and (form == "numbers" or mutant["wrong"].startswith("[")))
                if form == "numbers" and not is_equal(source, place / f"{number}.{join}.onnx"):
                    print("    NOT EQUAL on ONNX Runtime")
                    fine = False
        if not corrected:
            print(f"  NO corrected mutant with {form}")
            fine = False
        if form == "numbers" and not options.check:
            measured(options, source, place, found)
        if form == "numbers" and options.check and not optimized(source, place):
            print("  optimize takes NONE")
            fine = False
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--core", type=int)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="isomer_partial_") as scratch:
        fine = [examine(options, name, options.keep or pathlib.Path(scratch)) for name in EXAMPLES]
    print(f"{sum(fine)} of {len(fine)} as they should be")
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
