"""Pages to look at: `isomer report` of zoo models and of made-up ones of 1,000 and 10,000 nodes.

  tests/evidence/report_pages.py FOLDER [--models NAME,...]    then: tools/screenshots FOLDER/pictures FOLDER/*.html

Each model is optimized by the analytic cost, so that the result is the same everywhere; the times in its page are the runtime's.
"""
import argparse
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

import _paths  # noqa: F401
import programs
import small_models
import zoo

os.environ["VIRTUAL_ENV"] = sys.prefix
BLOCKS = {"nodes_1000": 172, "nodes_10000": 1720}


def blocks(count, channels=8, size=14):
    """Blocks of branches that are one convolution each, with gates and nodes that change nothing between some of them."""
    nodes, constants, x = [], [numpy_helper.from_array(np.full((1, channels, 1, 1), 0.9, np.float32), "gate")], "x"
    for k in range(count):
        def node(op, inputs, place, **attributes):
            name = f"/model/stages.{k // 50}/blocks.{k % 50}/{place}"
            nodes.append(helper.make_node(op, inputs, [name + "_output_0"], name=name, **attributes))
            return name + "_output_0"

        constants += [small_models.weights(f"w{k}", channels, channels, 3, 3), small_models.weights(f"v{k}", channels, channels, 1, 1)]
        wide, narrow = node("Conv", [x, f"w{k}"], "conv3/Conv", pads=[1] * 4), node("Conv", [x, f"v{k}"], "conv1/Conv")
        x = node("Relu", [node("Add", [node("Add", [wide, narrow], "Add"), x], "Add_1")], "act/Relu")
        if k % 3 == 0:
            x = node("Identity", [x], "drop/Identity")
        if k % 4 == 1:
            x = node("Sigmoid", [node("Mul", [x, "gate"], "gate/Mul")], "gate/Sigmoid")
    nodes.append(helper.make_node("Identity", [x], ["y"]))
    shape = [1, channels, size, size]
    return small_models.model(nodes, constants, [("x", shape)], [("y", shape)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", default=",".join(["mobileone_s0", "bert_base_sdpa_4l", *BLOCKS]))
    options = parser.parse_args()
    isomer = programs.program("isomer")
    for name in options.models.split(","):
        folder = options.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        model, out = folder / f"{name}.onnx", folder / "fast.onnx"
        if name in BLOCKS:
            onnx.save(blocks(BLOCKS[name]), model)
        elif not model.exists():
            zoo.fill(name, folder).rename(model)
        judge = ("--judge", "cost", "--only", "simplify,collapse,linear", "--budget", "10m")
        subprocess.run([isomer, "optimize", model, "-o", out, *judge, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([isomer, "report", model, out, f"{out}.cert", "-o", options.folder / f"{name}.html", "--quiet"], check=True)


if __name__ == "__main__":
    main()
