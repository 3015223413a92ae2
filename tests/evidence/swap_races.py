#!/usr/bin/env python3
# nightly: --check | unsanitized
"""External data is exchanged for a link out of the model's directory, again and again, while it is read: no byte of another file is taken.

  tests/evidence/swap_races.py [--races 2000] [--seconds 1800] [--seed 1] [--record FILE.jsonl] [--check]
Beside the model lies `w`, which a process renames things over all the time: a regular file with known bytes, a link to a file outside, in other models a
folder that is a link to one outside, a named pipe, a shorter file, nothing. The model is written again by isomer-rewrite, optimized and inspected by turns.
Either it is refused with one line, or what was written has the known bytes and no others. A race counts only if the exchange went on while the program ran.
"""
import argparse
import collections
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile
import time

import onnx
from onnx import TensorProto, helper

import _paths  # noqa: F401
import programs
import reliability

SIZE = 4096  # floats
INSIDE, OUTSIDE = b"insi", b"SECR"  # as floats, finite ones
LINE = re.compile(r"\A(?:isomer|isomer-rewrite): [^\n]+\n\Z")
SECONDS = 60


def model(location):
    weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[64, 64], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"), ("length", str(4 * SIZE))):
        weights.external_data.add(key=key, value=value)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Neg", ["a"], ["b"]), helper.make_node("Neg", ["b"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 64])], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def put(box, outside, kind, at):
    """Puts something of a kind in the place of the weights, at once."""
    fresh = box / ".fresh"
    if at == "d/w":  # the folder is what is exchanged
        if (box / "d").is_symlink():
            os.unlink(box / "d")
        elif (box / "d").exists():
            os.rename(box / "d", box / f".old{time.monotonic_ns()}")
        if kind == "link":
            os.symlink(outside, box / "d")
        elif kind != "nothing":
            (box / ".d").mkdir()
            (box / ".d" / "w").write_bytes(INSIDE * SIZE if kind != "short" else INSIDE)
            os.rename(box / ".d", box / "d")
        return
    if kind == "nothing":
        (box / "w").unlink(missing_ok=True)
        return
    if kind == "link":
        os.symlink(outside / "w", fresh)
    elif kind == "pipe":
        os.mkfifo(fresh)
    else:
        fresh.write_bytes(INSIDE * SIZE if kind == "inside" else INSIDE)
    os.rename(fresh, box / "w")


def exchange(box, outside, at, kinds, turns, seed):
    """Until it is ended: kinds by chance, the right file every second time."""
    draw = random.Random(seed)
    while True:
        put(box, outside, draw.choice(kinds), at)
        turns.value += 1
        time.sleep(draw.choice((0, 0, 0.0002, 0.002)))
        put(box, outside, "inside", at)
        time.sleep(draw.choice((0, 0.0002, 0.002, 0.005)))


def commands(box, out):
    return (("rewrite", [programs.program("isomer-rewrite"), "--infer", box / "m.onnx", out / "o.onnx"]),
            ("optimize", [programs.program("isomer"), "optimize", box / "m.onnx", "-o", out / "o.onnx", "--judge", "cost", "--quiet"]),
            ("inspect", [programs.program("isomer"), "inspect", box / "m.onnx"]))


def fault(ran, out):
    if ran.code < 0 or ran.seconds >= SECONDS:
        return f"signal {-ran.code}" if ran.code < 0 else "no end"
    if ran.code != 0 and not LINE.match(ran.stderr):
        return f"exit {ran.code} without one clear line: {ran.stderr[-200:]!r}"
    written = b"".join(p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file())
    if ran.code != 0 and written:
        return "refused, and something is written"
    if OUTSIDE in written or OUTSIDE.decode() in ran.stdout + ran.stderr:
        return "bytes of a file outside are taken"
    models = list(out.glob("*.onnx"))
    if ran.code == 0 and models:
        values = onnx.load(models[0]).graph.initializer
        if not any(set(v.raw_data[k:k + 4] for k in range(0, len(v.raw_data), 4)) == {INSIDE} for v in values):
            return "other weights than there were"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--races", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=1800, help="at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    reliability.add_option(parser)
    given = parser.parse_args()
    given.races = 60 if given.check else given.races
    wrong, ends, races, swaps, start = [], collections.Counter(), 0, 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="isomer_races_") as name:
        root = pathlib.Path(name)
        number = 0
        while races < given.races and time.monotonic() - start < given.seconds:
            number += 1
            at, kinds = (("w", ("link", "link", "short", "pipe", "nothing")), ("d/w", ("link", "link", "nothing", "short")))[number % 2]
            box, outside = root / "box", root / "outside"
            box.mkdir()
            outside.mkdir()
            (outside / "w").write_bytes(OUTSIDE * SIZE)
            (box / "m.onnx").write_bytes(model(at).SerializeToString())
            put(box, outside, "inside", at)
            turns = multiprocessing.Value("q", 0)
            other = multiprocessing.Process(target=exchange, args=(box, outside, at, kinds, turns, f"{given.seed} {number}"), daemon=True)
            other.start()
            for round_ in range(30):
                out = root / "out"
                out.mkdir()
                verb, command = commands(box, out)[round_ % 3]
                before = turns.value
                ran = programs.run(command, SECONDS)
                done = turns.value - before
                swaps += done
                races += done > 0
                ends["taken" if ran.code == 0 else "refused"] += done > 0
                if what := fault(ran, out):
                    wrong.append(f"{verb}, {at}: {what}")
                shutil.rmtree(out)
            other.kill()
            other.join()
            shutil.rmtree(box)
            shutil.rmtree(outside)
    print(f"{races} races, {swaps} exchanges meanwhile, seed {given.seed}: {ends['taken']} taken, {ends['refused']} refused, {len(wrong)} faults")
    print("\n".join(wrong[:20]))
    if races and (not ends["taken"] or not ends["refused"]):
        wrong.append("all ended alike: this was no race")
    reliability.record(given.record, "swap_races", races, wrong, exchanges=swaps, taken=ends["taken"], refused=ends["refused"])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
