#!/usr/bin/env python3
# A small slowdown and runtimes that disagree are for an idle machine: run those by hand.
# nightly judge_aa: aa --check | timeout=900 serial unsanitized
# nightly judge_ab: ab --check | timeout=900 serial unsanitized
"""Whether the judge can be trusted: its verdicts where the truth is known.

  bench/judge_figures.py aa [--count 200] [--seconds 6]        models against themselves, half of them beside a busy process
  bench/judge_figures.py slowdown [--count 50] [--seconds 20]  3 % of calibrated extra work, beside a busy process and not
  bench/judge_figures.py ab [--seconds 10]                     expert pairs of ../shared, idle and beside a busy process
  bench/judge_figures.py disagree [--seconds 10]               pairs on which two runtimes disagree
--check: a short form for ctest, which fails on what no noise explains. Prints figures and where each comes from.
"""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("ISOMER_SHARED", ROOT.parent / "shared"))
BUILD = pathlib.Path(os.environ.get("ISOMER", ROOT / "build/release/isomer")).parent
WINS = ["04_densenet_transition_1024_14/xform", "05_parallel_dw_sum_to_one/one_dw", "07_gcn_assoc_512_512_16/xform",
        "08_unrolled_lstm_T16/hoist", "09_einsum_channelmix/matmul", "09_softmax_axis1/transposed", "11_act_PRelu/xform",
        "11_chanpad_dw_58_28/pad8", "12_dwconv1d_c256_L200_k31/conv2d", "12_yolo_focus/conv6x6"]
LOSSES = ["02_resnext_gconv_c1024_7/g4", "02_resnext_gconv_c256_28/g1", "02_resnext_gconv_c512_14/g1",
          "03_fire_13_48_192/xform", "03_fire_13_64_256/xform"]
DISAGREE = ["12_conv3d_3x3x3_to_2d/stack2d", "02_resnext_gconv_c128_56/g8", "09_einsum_attention/matmul"]


# ---- models ---------------------------------------------------------------------------------------------------------

def save(path, nodes, weights, shape):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def layers(path, count, width=192, rows=16):
    """A chain of equal layers: one more of n is 1/n more work."""
    rng = np.random.default_rng(0)
    nodes, weights, last = [], {}, "x"
    for i in range(count):
        weights[f"w{i}"] = (rng.standard_normal((width, width)) / width ** 0.5).astype(np.float32)
        nodes += [helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"]),
                  helper.make_node("Tanh", [f"m{i}"], ["y" if i == count - 1 else f"t{i}"])]
        last = f"t{i}"
    return save(path, nodes, weights, [rows, width])


def convolutions(path, count, channels=32, size=28, groups=1):
    rng = np.random.default_rng(0)
    nodes, weights, last = [], {}, "x"
    for i in range(count):
        weights[f"w{i}"] = (rng.standard_normal((channels, channels // groups, 3, 3)) * 0.1).astype(np.float32)
        nodes += [helper.make_node("Conv", [last, f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1], group=groups),
                  helper.make_node("Relu", [f"c{i}"], ["y" if i == count - 1 else f"r{i}"])]
        last = f"r{i}"
    return save(path, nodes, weights, [1, channels, size, size])


def softmax(path):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Softmax", ["m"], ["s"]),
             helper.make_node("Transpose", ["s"], ["t"], perm=[1, 0]), helper.make_node("Exp", ["t"], ["y"])]
    return save(path, nodes, {"w": np.random.default_rng(0).standard_normal((64, 512)).astype(np.float32)}, [256, 64])


def expert(folder, names):
    """The graphs of these experiments; the script that makes them is not ours and takes a while to import."""
    experiments = sorted({name.split("/")[0] for name in names})
    subprocess.run([sys.executable, "-B", "make_blocks.py", folder, *experiments], cwd=SHARED / "expert", check=True,
                   stdout=subprocess.DEVNULL)
    return [(f"{folder}/{name.split('/')[0]}/orig.onnx", f"{folder}/{name}.onnx") for name in names]


# ---- judging --------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def busy(wanted):
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if wanted else None
    try:
        yield
    finally:
        if process:
            process.kill()
            process.wait()


def judge(pairs, seconds, runtime="ort"):
    text = "".join(f"{a}\t{b}\n" for a, b in pairs)
    done = subprocess.run([BUILD / "isomer-judge", "pairs", runtime, str(seconds)], input=text, text=True,
                          stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def spread(values):
    low, middle, high = np.percentile(values, [5, 50, 95])
    return f"{middle:.3g} (5 % {low:.3g}, 95 % {high:.3g})"


def tell_cost(rows):
    print(f"  seconds each: {spread([r['seconds'] for r in rows])}; own cost, ms: wall "
          f"{spread([r['own_ms'] for r in rows])}, CPU {spread([r['own_cpu_ms'] for r in rows])}; rounds "
          f"{spread([r['rounds'] for r in rows])}")


def load():
    return f"load average {os.getloadavg()[0]:.1f}"


# ---- figures --------------------------------------------------------------------------------------------------------

def aa(folder, count, seconds, check):
    models = [convolutions(f"{folder}/conv.onnx", 3), convolutions(f"{folder}/depthwise.onnx", 4, 64, 28, 64),
              layers(f"{folder}/layers.onnx", 8), softmax(f"{folder}/softmax.onnx")]
    rows = []
    for wanted in (False, True):
        with busy(wanted):
            part = judge([(models[i % 4],) * 2 for i in range(count // 2)], seconds)
        verdicts = [r["verdict"] for r in part]
        print(f"A/A {'beside a busy process' if wanted else 'as the machine is'} ({load()}): {len(part)} comparisons, "
              f"{verdicts.count('faster')} faster, {verdicts.count('slower')} slower, "
              f"{sum(beyond(r) for r in part)} beyond 1.02; high/low {spread([r['high'] / r['low'] for r in part])}")
        tell_cost(part)
        rows += part
    wrong = sum(r["verdict"] != "no difference seen" for r in rows)
    far = sum(beyond(r) for r in rows)
    print(f"A/A: {wrong} of {len(rows)} called different ({100 * wrong / len(rows):.1f} %; limit 5 %), "
          f"{far} beyond 1.02 ({100 * far / len(rows):.1f} %; limit 2 %)")
    # Short: with a true rate of 5 %, 4 of 12 happen once in 500 runs.
    return wrong <= (3 if check else 0.05 * len(rows)) and far <= (2 if check else 0.02 * len(rows))


def beyond(row):
    return row["low"] > 1.02 or row["high"] < 1 / 1.02


def slowdown(folder, count, seconds, check):
    pair = (layers(f"{folder}/33.onnx", 33), layers(f"{folder}/34.onnx", 34))
    rows = []
    for wanted in (False, True):
        with busy(wanted):
            part = judge([pair] * (count // 2), seconds)
        print(f"3 % slower {'beside a busy process' if wanted else 'as the machine is'} ({load()}): "
              f"{sum(r['verdict'] == 'slower' for r in part)} of {len(part)} seen; ratio {spread([r['ratio'] for r in part])}")
        tell_cost(part)
        rows += part
    seen = sum(r["verdict"] == "slower" for r in rows)
    print(f"3 % slower: seen {seen} of {len(rows)} ({100 * seen / len(rows):.0f} %; limit 90 %), ratio "
          f"{spread([r['ratio'] for r in rows])}, 33/34 = {33 / 34:.4f}, longest {max(r['seconds'] for r in rows):.1f} s")
    return not any(r["verdict"] == "faster" for r in rows) and (check or seen >= 0.9 * len(rows))


def ab(folder, _, seconds, check):
    measured = json.loads((SHARED / "expert/measured.json").read_text())["experiments"]
    names = [WINS[0], WINS[5], LOSSES[0]] if check else WINS + LOSSES
    pairs = expert(folder, names)
    agreed = contrary = total = 0
    for wanted in (False, True):
        with busy(wanted):
            rows = judge(pairs, seconds)
        print(f"A/B {'beside a busy process' if wanted else 'as the machine is'} ({load()})")
        for name, row in zip(names, rows):
            experiment, variant = name.split("/")
            known = measured[experiment][variant]["ort"]
            right = row["verdict"] == ("faster" if known > 1 else "slower")
            agreed, total = agreed + right, total + 1
            contrary += row["verdict"] == ("slower" if known > 1 else "faster")
            print(f"  {name:42} known {known:5.2f}  judged {row['ratio']:6.3f} [{row['low']:.3f}, {row['high']:.3f}] "
                  f"{row['verdict']}{'' if right else '  <- DISAGREES'}")
        tell_cost(rows)
    print(f"A/B: {agreed} of {total} verdicts agree, {contrary} are contrary")
    # A machine that others use may be too noisy for a verdict; a wrong one is never right.
    return contrary == 0 and (agreed == total or (check and agreed >= total / 2))


def disagree(folder, _, seconds, check):
    names = DISAGREE[:1] if check else DISAGREE
    found = 0
    for name, (a, b) in zip(names, expert(folder, names)):
        done = subprocess.run([BUILD / "isomer", "bench", a, b, "--runtime", "ort,openvino", "--seconds", str(seconds),
                               "--json"], text=True, stdout=subprocess.PIPE, check=True)
        answer = json.loads(done.stdout)
        verdicts = []
        for part in (answer, answer["others"][0]):
            pair = part["pairs"][0]
            verdicts.append(pair["verdict"])
            print(f"  {name:36} {part['runtime']:9} {pair['ratio']:.3f} [{pair['low']:.3f}, {pair['high']:.3f}] {pair['verdict']}")
        found += set(verdicts) == {"faster", "slower"}
    print(f"disagreement: {found} of {len(names)} pairs are faster on one runtime and slower on the other ({load()})")
    return found > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    figures = {"aa": (aa, 200, 6, 12), "slowdown": (slowdown, 50, 20, 4), "ab": (ab, 0, 10, 0), "disagree": (disagree, 0, 10, 0)}
    parser.add_argument("figure", choices=figures)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    figure, count, seconds, few = figures[arguments.figure]
    if figure in (ab, disagree) and not (SHARED / "expert/make_blocks.py").exists():
        print(f"skipped: no expert pairs at {SHARED}")
        return 77
    if not (BUILD / "isomer-judge").exists():
        print("skipped: isomer-judge is not built")
        return 77
    os.environ.setdefault("VIRTUAL_ENV", str(pathlib.Path(sys.executable).parent.parent))
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        fine = figure(folder, arguments.count or (few if arguments.check else count),
                      arguments.seconds or (3 if arguments.check else seconds), arguments.check)
    print(f"{time.monotonic() - start:.0f} s; {'as it should be' if fine else 'NOT REACHED'}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
