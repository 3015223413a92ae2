#!/usr/bin/env python3
# nightly: --check | timeout=900 unsanitized
"""Very large models: a decoder of tens of billions of parameters, whose weights are holes of a file, and a model of very many nodes.

  tests/evidence/very_large.py [--layers 72] [--nodes 100000] [--seconds 1500] [--record FILE.jsonl] [--check]
Each is inspected, optimized by cost and checked; time and peak of memory of each are printed, and how much of the disk the result takes: holes stay holes. 72
layers are 70 billion parameters, 280 GB of float32. --check: one layer and 2,000 nodes.
"""
import argparse
import pathlib
import sys
import tempfile

import numpy as np
from onnx import TensorProto

import _paths  # noqa: F401
import decoder
import programs
import reliability

WIDTH, HEADS, HIDDEN = 8192, 64, 28672
BLOCK = 1 << 16  # tensors begin there, as writers align them


class Sparse(decoder.Decoder):
    """Each weight has a place of its own in the file, and one number that is not 0."""

    def weight(self, role, *shape):
        if not isinstance(self.data, list):
            self.data, self.end = [], 0
        size = 4 * int(np.prod(shape))
        tensor = TensorProto(name=f"{role}_{self.layer}", data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "weights.bin"), ("offset", self.end), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        self.constants.append(tensor)
        self.data.append(self.end)
        self.end = -(-(self.end + size) // BLOCK) * BLOCK
        return tensor.name

    def save(self, path):
        places, self.data = self.data, b""
        nodes = super().save(path)
        with open(path.with_name("weights.bin"), "wb") as file:
            file.truncate(self.end)
            for number, place in enumerate(places):
                file.seek(place)
                file.write(np.float32(number + 1).tobytes())
        return nodes


def sparse_decoder(layers, path):
    old = decoder.WIDTH, decoder.HEADS, decoder.HIDDEN
    decoder.WIDTH, decoder.HEADS, decoder.HIDDEN = WIDTH, HEADS, HIDDEN
    try:
        made = Sparse(layers)
        return made.save(path), made.end // 4
    finally:
        decoder.WIDTH, decoder.HEADS, decoder.HIDDEN = old


def many_nodes(count, path):
    made = decoder.Decoder(-(-count // 54))  # the number of a layer
    return made.save(path), len(made.data) // 4


def used_bytes(folder):
    return sum(512 * p.stat().st_blocks for p in folder.rglob("*") if p.is_file())


def judged(name, model, folder, seconds):
    """(row of the table, faults)"""
    out, rows, wrong = folder / "out" / "model.onnx", [], []
    out.parent.mkdir()
    isomer = programs.program("isomer")
    for verb, command in (("inspect", [isomer, "inspect", model]),
                          ("optimize", [isomer, "optimize", model, "-o", out, "--judge", "cost", "--budget", f"{seconds // 3}s", "--quiet"]),
                          ("check", [programs.program("isomer-check"), model, out, f"{out}.cert"])):
        ran = programs.run(command, seconds)
        rows.append((name, verb, round(ran.seconds, 1), ran.peak_bytes >> 20, ran.code))
        if ran.code != 0:
            wrong.append(f"{name}, {verb}: exit {ran.code}: {(ran.stderr or ran.stdout).strip()[-200:]}")
            break
    return rows, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=72)
    parser.add_argument("--nodes", type=int, default=100000)
    parser.add_argument("--seconds", type=int, default=1500, help="for each command, at most")
    parser.add_argument("--check", action="store_true")
    reliability.add_option(parser)
    given = parser.parse_args()
    if given.check:
        given.layers, given.nodes, given.seconds = 1, 2000, 300
    rows, wrong, figures = [], [], {}
    for name, make, size in (("decoder", sparse_decoder, given.layers), ("nodes", many_nodes, given.nodes)):
        if not size:
            continue
        with tempfile.TemporaryDirectory(prefix="isomer_very_large_") as scratch:
            folder = pathlib.Path(scratch)
            nodes, parameters = make(size, folder / "in" / "model.onnx")
            before = used_bytes(folder / "in")
            some, faults = judged(name, folder / "in" / "model.onnx", folder, given.seconds)
            after = used_bytes(folder / "out")
            rows += [(*row, f"{parameters / 1e9:.1f}", nodes) for row in some]
            wrong += faults
            if after > 4 * before + (256 << 20):
                wrong.append(f"{name}: the result takes {after >> 20} MiB of the disk, the model {before >> 20}")
            figures |= {f"{name}_parameters": parameters, f"{name}_nodes": nodes, f"{name}_MiB_on_disk_before_and_after": f"{before >> 20}, {after >> 20}"}
            figures |= {f"{name}_{verb}": f"{seconds} s, {mebibytes} MiB" for _, verb, seconds, mebibytes, _ in some}
    programs.print_table(("model", "command", "s", "peak MiB", "exit", "billions of parameters", "nodes"), rows)
    print("\n".join(wrong))
    reliability.record(given.record, "very_large", len(rows), wrong, "" if given.layers >= 72 and given.nodes >= 100000 else "smaller than wanted", **figures)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
