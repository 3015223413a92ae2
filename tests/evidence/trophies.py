#!/usr/bin/env python3
# ci:
"""Trophies: what `isomer prove` found that other tools changed, each cut down to a small pair of models.

  tests/evidence/trophies.py
Each pair must be refuted, and ONNX Runtime must show the difference, on the input that was found.
"""
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import parser

import _paths  # noqa: F401
import programs

# name, what differs, the two models, an input at which ONNX Runtime shows it
ATTENTION = """<ir_version: 8, opset_import: ["" : 18]>
attention (float[2, 4] scores, bool[2, 4] mask, float[4, 3] v) => (float[2, 3] y) {{
  zero = Constant<value_float = 0.0>()
  low = Constant<value = float {{{low}}}>()
  bias = Where(mask, zero, low)
  s = Add(scores, bias)
  p = Softmax<axis = -1>(s)
  n = IsNaN(p)
  q = Where(n, zero, p)
  y = MatMul(q, v)
}}"""
TROPHIES = [
    ("masked_row", "PyTorch's legacy exporter masks attention with -inf, its dynamo exporter with -3.4e38: a row in which nothing is "
     "attended to is 0 in the one and the mean of all values in the other (BERT with an attention_mask of zeros)",
     ATTENTION.format(low="-inf"), ATTENTION.format(low="-3.4028234663852886e38"),
     {"scores": np.zeros((2, 4), np.float32), "mask": np.zeros((2, 4), bool), "v": np.ones((4, 3), np.float32)}),
]


def model(text):
    """The parser knows no infinities: the number is put in afterwards."""
    made = parser.parse_model(text.replace("-inf", "-1e38"))
    for node in made.graph.node:
        for attribute in node.attribute:
            if "-inf" in text and attribute.type == onnx.AttributeProto.TENSOR:
                attribute.t.CopyFrom(onnx.numpy_helper.from_array(np.float32(-np.inf)))
    return made


def outputs(path, feeds):
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, feeds)


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        a, b = pathlib.Path(folder, "a.onnx"), pathlib.Path(folder, "b.onnx")
        for name, what, first, second, feeds in TROPHIES:
            onnx.save(model(first), a)
            onnx.save(model(second), b)
            answer = json.loads(programs.run([programs.program("isomer"), "prove", str(a), str(b), "--json"]).stdout)
            apart = max(float(np.abs(x - y).max()) for x, y in zip(outputs(a, feeds), outputs(b, feeds)))
            print(f"{name}: {answer['verdict']}, {answer['why']}; ONNX Runtime: {apart:.3g} apart. {what}")
            if answer["verdict"] != "refuted" or not apart > 1e-3:
                wrong.append(name)
    print(f"{len(TROPHIES) - len(wrong)} of {len(TROPHIES)} trophies refuted and shown")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
