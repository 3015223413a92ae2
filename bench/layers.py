#!/usr/bin/env python3
"""Single layers of real networks: the nests that `isomer compile` makes of them beside bare oneDNN primitives of the same sizes.

  bench/layers.py --onednn PREFIX [--turns 5] [--only WORD] [--results FILE.jsonl]
PREFIX has oneDNN's include/ and lib/, as ../shared/setup.sh --with-kernels makes them. A layer stands between two small ones (1x1 convolutions or products with
16 channels), so that its layouts are the compiler's choice as they are oneDNN's; its nests have clocks (bench/module_profile.py), the other two are not
counted, nor are oneDNN's reorders. Both run on one thread, by turns, each in a process of its own, with weights as warm as the cache keeps them; of the runs
of a turn, that is taken which a fifth of them is below. The ratio is oneDNN's time over ours, the median over turns, with the least and the largest.
Errors are max|y - y64| / max|y64| of the small model, ours and ONNX Runtime's.
Exit 77: there is no oneDNN or no C++ compiler.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper, numpy_helper

import _paths  # noqa: F401
import module_profile
import modules
from records import Records

SQUARE = [(64, 56), (128, 28), (256, 14), (512, 7), (256, 56), (512, 28), (512, 14), (128, 112)]  # 3x3 convolutions: channels, size
POINTWISE = [(64, 256, 56), (256, 64, 56), (512, 128, 28), (128, 512, 28), (1024, 256, 14), (256, 1024, 14), (2048, 512, 7), (16, 96, 112), (96, 576, 14),
             (576, 96, 14), (320, 1280, 7)]
STRIDED = [(64, 128, 56, 3), (128, 256, 28, 3), (256, 512, 14, 3), (256, 512, 56, 1), (3, 64, 224, 7), (3, 32, 224, 3)]
DEPTHWISE = [(32, 112, 3, 1), (144, 56, 3, 1), (384, 14, 3, 1), (960, 7, 3, 1), (96, 112, 3, 2), (240, 28, 5, 1), (96, 56, 7, 1)]
SHARE = 0.2  # of runs that are faster than what is taken, here and in layers_onednn.cpp: what disturbs a machine makes it slower
ONE_THREAD = os.environ | {"OMP_NUM_THREADS": "1"}
PRODUCTS = [(1, 128, 768, 768), (1, 128, 3072, 768), (1, 128, 768, 3072), (1, 197, 1536, 384), (12, 128, 128, 64), (12, 128, 64, 128)]


def convolution(groups, ic, size, oc, kernel, stride):
    pad = (kernel - 1) // 2
    out = (size + 2 * pad - kernel) // stride + 1
    far = (out - 1) * stride + kernel - size - pad  # what is read of the padding at the end
    return ["conv", 1, groups, ic, size, size, oc, out, out, kernel, kernel, stride, stride, pad, pad, far, far, 1, 1]


def layers():
    for channels, size in SQUARE:
        yield f"3x3 {channels} at {size}", convolution(1, channels, size, channels, 3, 1)
    for ic, oc, size in POINTWISE:
        yield f"1x1 {ic} to {oc} at {size}", convolution(1, ic, size, oc, 1, 1)
    for ic, oc, size, kernel in STRIDED:
        yield f"{kernel}x{kernel} by 2, {ic} to {oc} at {size}", convolution(1, ic, size, oc, kernel, 2)
    for channels, size, kernel, stride in DEPTHWISE:
        yield f"depthwise {kernel}x{kernel}{' by 2' * (stride > 1)}, {channels} at {size}", convolution(channels, channels, size, channels, kernel, stride)
    for batch, m, n, k in PRODUCTS:
        yield f"product {f'{batch} times ' * (batch > 1)}{m} by {k} by {n}", ["matmul", batch, m, n, k]


def weight(draw, name, *shape):
    return numpy_helper.from_array((draw.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) if len(shape) > 2 else shape[0])).astype(np.float32), name)


def model_of(sizes):
    """The layer, named "layer", between two small ones. A convolution of three channels reads the model's input, as oneDNN's does."""
    draw, kind, v = np.random.default_rng(0), sizes[0], sizes[1:]
    node = helper.make_node
    if kind == "conv":
        _, groups, ic, height, width, oc, oh, ow, kh, kw, sh, sw, top, left, bottom, right, _, _ = v
        constants = [weight(draw, "W", oc, ic // groups, kh, kw), numpy_helper.from_array(draw.standard_normal(oc).astype(np.float32), "B"),
                     weight(draw, "L", 16, oc, 1, 1)]
        nodes, start, channels = [], "x", ic
        if ic != 3:
            constants.append(weight(draw, "F", ic, 16, 1, 1))
            nodes, start, channels = [node("Conv", ["x", "F"], ["a"], name="first")], "a", 16
        nodes += [node("Conv", [start, "W", "B"], ["c"], name="layer", group=groups, strides=[sh, sw], pads=[top, left, bottom, right]),
                  node("Relu", ["c"], ["d"]), node("Conv", ["d", "L"], ["y"], name="last")]
        inputs, output = [("x", [1, channels, height, width])], [1, 16, oh, ow]
    else:
        batch, m, n, k = v
        lead = [batch] if batch > 1 else []
        constants = [weight(draw, "F", 16, k), weight(draw, "L", n, 16)]
        nodes, inputs = [node("MatMul", ["x", "F"], ["a"], name="first")], [("x", [*lead, m, 16])]
        if batch == 1:
            constants += [weight(draw, "W", k, n), numpy_helper.from_array(draw.standard_normal(n).astype(np.float32), "B")]
            nodes += [node("MatMul", ["a", "W"], ["c"], name="layer"), node("Add", ["c", "B"], ["d"])]
        else:
            inputs.append(("w", [batch, k, n]))
            nodes.append(node("MatMul", ["a", "w"], ["d"], name="layer"))
        nodes.append(node("MatMul", ["d", "L"], ["y"], name="last"))
        output = [*lead, m, 16]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs]
    graph = helper.make_graph(nodes, "layer", values, [helper.make_tensor_value_info("y", TensorProto.FLOAT, output)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def errors(path, folder):
    """Ours and ONNX Runtime's, against the formulas in float64."""
    model, draw = onnx.load(path), np.random.default_rng(1)
    feeds = {value.name: draw.standard_normal([d.dim_value for d in value.type.tensor_type.shape.dim]).astype(np.float32) for value in model.graph.input}
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for constant in wide.graph.initializer:
        constant.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(constant).astype(np.float64), constant.name))
    for value in [*wide.graph.input, *wide.graph.output]:
        value.type.tensor_type.elem_type = TensorProto.DOUBLE
    exact = onnx.reference.ReferenceEvaluator(wide).run(None, {name: value.astype(np.float64) for name, value in feeds.items()})[0]
    found = modules.load(folder)(**feeds)["y"], modules.session(path).run(None, feeds)[0]
    return [float(np.abs(y - exact).max() / np.abs(exact).max()) for y in found]


def measure(name, sizes, onednn, compiler, scratch, turns):
    path, folder, program = scratch / "layer.onnx", scratch / "module", scratch / "profile"
    onnx.save(model_of(sizes), path)
    ran = modules.compile_model(path, folder)
    if ran.returncode:
        return {"layer": name, "failure": ran.stderr[:200]}
    calls, ours, theirs = module_profile.build(folder, compiler, 30, program), [], []
    for _ in range(turns):
        output = subprocess.run([onednn], input=" ".join(map(str, sizes)) + "\n", capture_output=True, text=True, check=True, env=ONE_THREAD).stdout
        us, implementation = output.strip().split(" | ", 1)
        theirs.append(float(us))
        ours.append(sum(ns for ns, call in module_profile.run(program, calls, SHARE) if call.startswith("layer")) / 1e3)
    if not min(ours) or min(theirs) < 0:
        return {"layer": name, "failure": f"no nest of its own: {calls}" if min(theirs) > 0 else implementation}
    ratios = [t / o for t, o in zip(theirs, ours, strict=True)]
    error, runtime_error = errors(path, folder)
    return {"layer": name, "sizes": " ".join(map(str, sizes)), "ours_us": round(statistics.median(ours), 1), "onednn_us": round(statistics.median(theirs), 1),
            "onednn": implementation, "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios), "error": error,
            "runtime_error": runtime_error}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onednn", type=pathlib.Path, metavar="PREFIX")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="", help="layers whose name has this word")
    parser.add_argument("--results", type=pathlib.Path)
    options = parser.parse_args()
    compiler = next(filter(shutil.which, module_profile.COMPILERS), None)
    if compiler is None or options.onednn is None or not (options.onednn / "lib" / "libdnnl.so").exists():
        print("skipped: there is no C++ compiler, or no oneDNN (--onednn PREFIX)")
        return 77
    records, failed = Records(options.results, "layer"), 0
    with tempfile.TemporaryDirectory(prefix="isomer_layers_") as top:
        scratch, prefix = pathlib.Path(top), options.onednn.resolve()
        onednn = scratch / "onednn"
        subprocess.run([compiler, "-std=c++20", "-O2", f"-I{prefix}/include", str(pathlib.Path(__file__).with_name("layers_onednn.cpp")), "-o", str(onednn),
                        f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-ldnnl"], check=True)
        for name, sizes in layers():
            if options.only in name and (name,) not in records:
                with tempfile.TemporaryDirectory(dir=top) as folder:
                    row = measure(name, sizes, onednn, compiler, pathlib.Path(folder), options.turns)
                records.add(row)
                print(json.dumps(row), flush=True)
                failed += "failure" in row
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
