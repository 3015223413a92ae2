#!/usr/bin/env python3
# nightly:
"""Size: weights of 8 GiB pass through in little memory, and a graph of 200,000 nodes in little time.

  tests/evidence/size.py [--gibibytes 8] [--nodes 200000]
The weights are holes in a sparse file but for a mark at both ends of each tensor, so that making them costs nothing; the marks
must be in the copy. Memory is the peak of the resident set.
"""
import argparse
import pathlib
import shutil
import sys
import tempfile

import onnx
from onnx import TensorProto, helper

import _paths  # noqa: F401
import programs

INSPECT_PEAK_MIB, REWRITE_PEAK_MIB, CHAIN_SECONDS = 300, 600, 20
TENSOR_BYTES = 1 << 30


def write_large(path, gibibytes):
    """x @ w0 + ... with one external tensor of 1 GiB each."""
    side = (16384, TENSOR_BYTES // 4 // 16384)
    weights, nodes = [], []
    for i in range(gibibytes):
        weight = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=side, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", path.name + ".data"), ("offset", i * TENSOR_BYTES), ("length", TENSOR_BYTES)):
            weight.external_data.add(key=key, value=str(value))
        weights.append(weight)
        nodes.append(helper.make_node("MatMul", ["x", f"w{i}"], [f"y{i}"]))
    float_info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "large", [float_info("x", ["batch", side[0]])],
                              [float_info(f"y{i}", ["batch", side[1]]) for i in range(gibibytes)], weights)
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    with open(f"{path}.data", "wb") as data:
        data.truncate(gibibytes * TENSOR_BYTES)
        for i in range(gibibytes):
            for at in ends(i * TENSOR_BYTES):
                data.seek(at)
                data.write(mark(i))


def mark(i):
    return f"mark{i:04}".encode()


def ends(offset):
    return offset, offset + TENSOR_BYTES - len(mark(0))


def is_copied(path):
    """Whether every tensor of the copy has its marks, wherever the copy keeps it."""
    for i, weight in enumerate(onnx.load(path, load_external_data=False).graph.initializer):
        where = {entry.key: entry.value for entry in weight.external_data}
        with open(path.parent / where["location"], "rb") as data:
            for at in ends(int(where.get("offset", 0))):
                data.seek(at)
                if data.read(len(mark(i))) != mark(i):
                    return False
    return True


def write_chain(path, length):
    """x, relu(x), relu(x) + x, ...: Relu and Add in turn."""
    float_info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8])
    model = helper.make_model(helper.make_graph([], "chain", [float_info("v0")], [float_info(f"v{length}")]),
                              opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    for i in range(length):
        node = model.graph.node.add(op_type="Add" if i % 2 else "Relu", name=f"n{i}", input=[f"v{i}"], output=[f"v{i + 1}"])
        if i % 2:
            node.input.append("v0")
    path.write_bytes(model.SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gibibytes", type=int, default=8)
    parser.add_argument("--nodes", type=int, default=200_000)
    arguments = parser.parse_args()
    rows, ok = [], True

    def measure(what, command, peak_mib=None, seconds=None):
        nonlocal ok
        ran = programs.run(command, 1200)
        peak = ran.peak_bytes / 2**20
        met = ran.code == 0 and (peak_mib is None or peak < peak_mib) and (seconds is None or ran.seconds < seconds)
        ok &= met
        target = f"< {peak_mib} MiB" if peak_mib else f"< {seconds} s"
        rows.append((what, f"{ran.seconds:.1f} s", f"{peak:.0f} MiB", target, "met" if met else f"MISSED, exit {ran.code}"))
        if ran.code != 0:
            print(ran.stderr.strip())

    with tempfile.TemporaryDirectory(prefix="isomer_size_") as name:
        folder = pathlib.Path(name)
        large = folder / "large.onnx"
        need = (arguments.gibibytes + 1) << 30
        if shutil.disk_usage(folder).free < need:
            print(f"less than {need >> 30} GiB free below {folder.parent}: skipped")
            return programs.SKIPPED
        write_large(large, arguments.gibibytes)
        measure(f"inspect, {arguments.gibibytes} GiB of weights", [programs.program("isomer"), "inspect", str(large)], INSPECT_PEAK_MIB)
        copy = folder / "copy.onnx"
        measure(f"rewrite, {arguments.gibibytes} GiB of weights", [programs.program("isomer-rewrite"), str(large), str(copy)],
                REWRITE_PEAK_MIB)
        if ok and not is_copied(copy):
            print("the copy has other weights")
            ok = False
        for path in folder.iterdir():
            path.unlink()
        chain = folder / "chain.onnx"
        write_chain(chain, arguments.nodes)
        measure(f"rewrite --infer, {arguments.nodes:,} nodes",
                [programs.program("isomer-rewrite"), "--infer", str(chain), str(copy)], seconds=CHAIN_SECONDS)
        measure(f"inspect, {arguments.nodes:,} nodes", [programs.program("isomer"), "inspect", str(chain)], seconds=CHAIN_SECONDS)
    programs.print_table(("what", "time", "peak", "target", ""), rows)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
