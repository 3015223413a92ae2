#!/usr/bin/env python3
"""The expert suite: what experts in the runtime rewrite by hand, and what isomer finds alone.

  bench/expert_suite.py BLOCKS [--measured measured.json] [--results FILE.jsonl] [--only NAME,...] [--wanted | --short]
                        [--budget 20s] [--seconds 3] [--check]
BLOCKS has one folder per experiment: orig.onnx, hand-made variants, feeds.npz. Each original is optimized (--budget, and a size growth
of 100, since experts trade size for time, too); then the original, the result and all variants are run in turns on ONNX Runtime, one
thread. Gains are the smaller one of the ratios of medians and of minima of CPU time. --results keeps what is done; an
experiment that it has is not repeated.

--wanted: only experiments in which a variant gained 1.2 by both figures of --measured, without those that are numerically unsafe
(unsafe.py).
--short: for CI, a few small ones of --wanted, fresh each time; fails if one reaches less than half of the hand-made gain.
--check: also `isomer check` of every result, and that its outputs are the original's within 1e-4 of the largest.
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

import _paths  # noqa: F401
import programs
import unsafe
from records import Records

SHORT = ["09_conv1x1_then_GAP", "09_mean_through_matmul", "07_gcn_assoc_512_512_16", "13_broadcast_dot_to_matmul", "13_gqa_S1_N512",
         "09_softmax_axis1", "11_chanpad_dw_58_28"]
WANTED_GAIN, REACHED = 1.2, 0.9


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def measured_in_turns(paths, feeds, seconds):
    """CPU seconds of every run, by name; all models take turns in an order of chance, so that none profits from the one before it: a model that always
    follows the original finds its caches full of that one's data."""
    sessions = {name: session(path) for name, path in paths.items()}
    outputs = {name: s.run(None, feeds) for name, s in sessions.items()}
    times = {name: [] for name in sessions}
    chance = random.Random(1)
    start = time.time()
    while time.time() - start < seconds or len(times["orig"]) < 10:
        for name, s in chance.sample(list(sessions.items()), len(sessions)):
            begin = time.thread_time()
            s.run(None, feeds)
            times[name].append(time.thread_time() - begin)
    return times, outputs


def gain(times, name):
    a, b = times["orig"], times[name]
    # Not the fastest run: the clock of a thread stands still now and then.
    fast = lambda runs: statistics.quantiles(runs, n=20)[0]
    return min(statistics.median(a) / statistics.median(b), fast(a) / fast(b))


def error(outputs, name):
    return max(float(np.abs(x - y).max() / max(np.abs(x).max(), 1e-30)) for x, y in zip(outputs["orig"], outputs[name]))


def optimized(folder, out, budget):
    command = [programs.program("isomer"), "optimize", str(folder / "orig.onnx"), "-o", str(out), "--budget", budget, "--max-size-growth", "100",
               "--feeds", str(folder / "feeds.npz"), "--json", "--quiet"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(answer.stdout) if answer.returncode == 0 else {"error": answer.stdout + answer.stderr}


def experiment(folder, budget, seconds, check):
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "out.onnx"
        answer = optimized(folder, out, budget)
        if "error" in answer:
            return {"error": str(answer["error"])[:300]}
        variants = {p.stem: p for p in sorted(folder.glob("*.onnx")) if p.stem not in ("orig", *unsafe.VARIANTS)}
        feeds = dict(np.load(folder / "feeds.npz"))
        times, outputs = measured_in_turns({"orig": folder / "orig.onnx", "isomer": out, **variants}, feeds, seconds)
        row = {"orig_ms": round(1e3 * min(times["orig"]), 3), "isomer": round(gain(times, "isomer"), 3),
               "hand": {name: round(gain(times, name), 3) for name in variants}, "error": error(outputs, "isomer"),
               "growth": round(answer["bytes_out"] / answer["bytes_in"], 2), "steps": answer.get("changes", []),
               "reason": answer["reason"]}
        if check:
            certificate = answer["certificate"]
            done = subprocess.run([programs.program("isomer"), "check", str(folder / "orig.onnx"), str(out), certificate], capture_output=True,
                                  text=True, check=False)
            row["accepted"] = done.returncode == 0 and row["error"] < 1e-4
        return row


def best_hand(row):
    return max(row["hand"].values(), default=1.0)


def wanted_experiments(measured):
    out = []
    for name, variants in measured.items():
        gains = [min(v["ort"], v["ort_min"]) for k, v in variants.items()
                 if not k.startswith("onnx") and k not in unsafe.VARIANTS]
        if name not in unsafe.EXPERIMENTS and gains and max(gains) >= WANTED_GAIN:
            out.append(name)
    return out


def report(table, names):
    rows = {n: table[n] for n in names if n in table}
    failed = [n for n, r in rows.items() if "error" in r and "hand" not in r]
    done = {n: r for n, r in rows.items() if "hand" in r}
    print(f"{'experiment':42} {'ms':>8} {'hand':>6} {'isomer':>7} {'of it':>6} {'size':>6}  best hand-made; isomer's steps")
    for name, r in done.items():
        best = max(r["hand"], key=r["hand"].get, default="")
        print(f"{name:42} {r['orig_ms']:8.3f} {best_hand(r):6.2f} {r['isomer']:7.2f} {r['isomer'] / best_hand(r):6.2f} "
              f"{r['growth']:6.2f}  {best}; {r['reason'] or (r['steps'] or [''])[0]}"[:190])
    reached = sum(r["isomer"] >= REACHED * best_hand(r) for r in done.values())
    beaten = sum(r["isomer"] > 1.05 * best_hand(r) for r in done.values())
    slower = [n for n, r in done.items() if r["isomer"] < 0.95]
    print(f"{len(done)} experiments: {reached} reach {REACHED} of the best hand-made variant, {beaten} beat it by 5 %, "
          f"slower than the original: {', '.join(slower) or 'none'}; failed: {', '.join(failed) or 'none'}")
    return done, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("blocks", type=pathlib.Path)
    parser.add_argument("--measured", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--wanted", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()

    names = sorted(p.name for p in options.blocks.iterdir() if (p / "orig.onnx").exists())
    wanted = set(wanted_experiments(json.loads(options.measured.read_text())["experiments"])) if options.measured else set()
    if options.wanted and not options.measured:
        parser.error("--wanted needs --measured")
    if options.wanted:
        names = [n for n in names if n in wanted]
    if options.short:
        names = [n for n in SHORT if n in names]
    if options.only:
        names = [n for n in names if any(n.startswith(o) for o in options.only.split(","))]
    records = Records(options.results, "experiment")
    for name in names:
        if (name,) in records:
            continue
        row = experiment(options.blocks / name, options.budget, options.seconds, options.check)
        print(name, {k: v for k, v in row.items() if k != "steps"}, file=sys.stderr, flush=True)
        records.add({"experiment": name, "wanted": name in wanted} | row)
    done, failed = report({name: row for (name,), row in records.all.items()}, names)
    wrong = [n for n, r in done.items() if r.get("accepted") is False]
    if wrong:
        print("rejected or different:", ", ".join(wrong))
    poor = [n for n, r in done.items() if options.short and r["isomer"] < 0.5 * best_hand(r)]
    if poor:
        print("far from the hand-made variant:", ", ".join(poor))
    sys.exit(1 if wrong or failed or poor else 0)


if __name__ == "__main__":
    main()
