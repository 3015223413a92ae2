#!/usr/bin/env python3
# ci: --gibibytes 1 | unsanitized
"""Memory: the peak of `isomer optimize` on a model of several gigabytes, external data, at most 1.2 times the model and 400 MiB.

  tests/evidence/optimize_memory.py [--gibibytes 4] [--measure]
A block that collapses, then matrix products with weights in an external file (holes but for a few bytes, so that making them costs
nothing). --measure also lets the runtime judge, whose process is counted apart and printed beside.
"""
import argparse
import pathlib
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import _paths  # noqa: F401
import programs

TENSOR_BYTES = 1 << 28
SIDE = 8192
FACTOR, REST = 1.2, 400 << 20


def write(path, gibibytes):
    count = gibibytes * (1 << 30) // TENSOR_BYTES
    draw = np.random.default_rng(1)
    small = [numpy_helper.from_array((draw.normal(size=s) / 10).astype(np.float32), n)
             for n, s in (("w", (8, 8, 3, 3)), ("v", (8, 8, 1, 1)))]
    small.append(numpy_helper.from_array(np.array([0, SIDE], np.int64), "flat"))
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Conv", ["x", "v"], ["b"]),
             helper.make_node("Add", ["a", "b"], ["c"]), helper.make_node("Reshape", ["c", "flat"], ["y0"])]
    large = []
    for i in range(count):
        tensor = TensorProto(name=f"m{i}", data_type=TensorProto.FLOAT, dims=(SIDE, TENSOR_BYTES // 4 // SIDE),
                             data_location=TensorProto.EXTERNAL)
        for key, value in (("location", path.name + ".data"), ("offset", i * TENSOR_BYTES), ("length", TENSOR_BYTES)):
            tensor.external_data.add(key=key, value=str(value))
        large.append(tensor)
        nodes += [helper.make_node("MatMul", [f"y{i}", f"m{i}"], [f"z{i}"]), helper.make_node("Relu", [f"z{i}"], [f"y{i + 1}"])]
    info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "large", [info("x", [1, 8, 32, 32])], [info(f"y{count}", [1, SIDE])], small + large)
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    with open(f"{path}.data", "wb") as data:
        data.truncate(count * TENSOR_BYTES)
        for i in range(count):
            data.seek(i * TENSOR_BYTES)
            data.write(np.float32(i + 1).tobytes())
    return count * TENSOR_BYTES


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gibibytes", type=int, default=4)
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    isomer = programs.program("isomer")
    with tempfile.TemporaryDirectory() as temporary:
        source, out = pathlib.Path(temporary) / "in.onnx", pathlib.Path(temporary) / "out.onnx"
        size = write(source, options.gibibytes)
        allowed = FACTOR * size + REST
        ran = programs.run([isomer, "optimize", str(source), "-o", str(out), "--judge", "cost", "--json", "--quiet"], timeout=900)
        is_changed = '"improved"' in ran.stdout
        print(f"optimize: {size / 2**30:.0f} GiB of weights, peak {ran.peak_bytes / 2**20:.0f} MiB of {allowed / 2**20:.0f} allowed, "
              f"{ran.seconds:.0f} s, exit {ran.code}, {'collapsed' if is_changed else 'NOT collapsed'}")
        check = programs.run([isomer, "check", str(source), str(out), f"{out}.cert"], timeout=900)
        print(f"check: peak {check.peak_bytes / 2**20:.0f} MiB, {check.seconds:.0f} s, exit {check.code}")
        if options.measure:
            timed = programs.run([isomer, "optimize", str(source), "-o", str(out), "--budget", "60s", "--json", "--quiet"], timeout=900)
            print(f"measured: peak of isomer or its runtime's process, the larger, {timed.peak_bytes / 2**20:.0f} MiB, exit {timed.code}")
    sys.exit(0 if ran.code == check.code == 0 and is_changed and ran.peak_bytes <= allowed else 1)


if __name__ == "__main__":
    main()
