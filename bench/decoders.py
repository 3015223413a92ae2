#!/usr/bin/env python3
"""Decoders with separate caches through `isomer optimize`, judged at several sizes: a prompt of 128, one word after 128, one word after 1,024.

  bench/decoders.py [--models NAME,...] [--budget 180s] [--results FILE.jsonl] [--kept DIR] [--filled DIR]
Models: llama_tiny_kv, as torch exports it for one word (from the zoo), and decoder.STYLE.PRECISION (bench/make_decoder.py). What was changed is checked,
and run again beside the original, in turns, at each size. Beside it stands what no rewrite can beat: the bytes of weights and caches that a step
must read, by the memory's measured bandwidth. Fails if a result is rejected or slower at a size.
"""
import argparse
import contextlib
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx

import _paths  # noqa: F401
import expert_suite
import make_decoder
import optimizing
import programs
from records import Records

TORCH = "llama_tiny_kv"
MODELS = (TORCH, "decoder.spelled.fp32", "decoder.spelled.int4", "decoder.fused.fp32", "decoder.fused.int4")
SIZES = ((1, 1024), (1, 128), (128, 0))  # new positions, past ones; regions are timed at the first
SLOWER = 0.95                            # of one run again, on a machine that does other things


def bandwidth():
    """Bytes a second that one core reads."""
    data = np.ones(1 << 26, np.float32)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        data.max()
        times.append(time.perf_counter() - start)
    return data.nbytes / min(times)


def must_read(path, feeds):
    """Bytes of weights, but for tables that words are looked up in, and of caches."""
    graph = onnx.load(path).graph
    tables = {n.input[0] for n in graph.node if n.op_type == "Gather"}
    tables |= {v for n in graph.node if n.op_type == "GroupQueryAttention" for v in n.input[7:9]}
    weights = sum(len(t.raw_data) for t in graph.initializer if t.name not in tables)
    return weights + sum(v.nbytes for n, v in feeds.items() if n.startswith("past"))


def in_turns(a, b, feeds, seconds=8):
    """Milliseconds of both, and the median of paired ratios."""
    sessions = [expert_suite.session(p) for p in (a, b)]
    times = [[], []]
    for s in sessions:
        s.run(None, feeds)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 10:
        for k in ((0, 1) if len(times[0]) % 2 == 0 else (1, 0)):
            start = time.perf_counter()
            sessions[k].run(None, feeds)
            times[k].append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[0]), statistics.median(times[1]), statistics.median(x / y for x, y in zip(*times, strict=True))


@contextlib.contextmanager
def model_of(name, kept, filled):
    with tempfile.TemporaryDirectory(dir=kept) as temporary:
        folder = pathlib.Path(temporary)
        path = (kept or folder) / f"{name}.onnx"
        if not path.exists() and name == TORCH:
            with optimizing.filled_model(f"{TORCH}.dyn", filled) as (source, _):
                model = onnx.load(source)
                for tensor in model.graph.initializer:
                    tensor.ClearField("data_location")
                onnx.save(model, path)
        elif not path.exists():
            _, style, precision = name.split(".")
            onnx.save(make_decoder.make(style, precision), path)
        yield path, folder


def sizes_of(name):
    return [s for s in SIZES if name != TORCH or s[0] == 1]


def feeds_of(name, path, seq, past):
    if name != TORCH:
        return make_decoder.feeds_for(seq, past)
    random = np.random.default_rng(99)
    out = {}
    for port in onnx.load(path, load_external_data=False).graph.input:
        shape = [d.dim_value or {"P": past, "T": past + 1}[d.dim_param] for d in port.type.tensor_type.shape.dim]
        if port.name.startswith("past"):
            out[port.name] = (0.3 * random.standard_normal(shape)).astype(np.float32)
        else:
            out[port.name] = np.full(shape, past if port.name == "position_ids" else 1, np.int64)
    return out


def optimize(name, path, folder, budget):
    shapes = []
    for seq, past in sizes_of(name):
        pairs = {"P": past, "T": past + 1} if name == TORCH else {"seq": seq, "past": past}
        for symbol, size in pairs.items():
            shapes += ["--shape", f"{symbol}={size}"]
    out = folder / "out.onnx"
    row = optimizing.optimize(path, out, "--budget", budget, *shapes)
    kept = {k: row.get(k) for k in ("result", "reason", "steps", "accepted", "seconds")}
    kept["sizes"] = []
    speed = bandwidth()
    for (seq, past), judged in zip(sizes_of(name), row.get("sizes") or [{}] * len(SIZES), strict=False):
        feeds = feeds_of(name, path, seq, past)
        before, after, ratio = in_turns(path, out if row["result"] == "improved" else path, feeds)
        ratio = ratio if row["result"] == "improved" else 1.0  # the same file
        bytes_read = must_read(path, feeds)
        kept["sizes"].append({"seq": seq, "past": past, "judged": {k: judged.get(k) for k in ("ratio", "low", "high")}, "before_ms": before,
                              "after_ms": after, "ratio": ratio, "bytes": bytes_read, "bound_ms": 1e3 * bytes_read / speed})
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--kept", "--filled", "--results"):
        parser.add_argument(option, type=pathlib.Path)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--budget", default="180s")
    options = parser.parse_args()
    if options.kept:
        options.kept.mkdir(parents=True, exist_ok=True)
    records = Records(options.results, "model")
    for name in options.models.split(","):
        if (name,) in records:
            continue
        with model_of(name, options.kept, options.filled) as (path, folder):
            records.add({"model": name} | optimize(name, path, folder, options.budget))
    rows = list(records.all.values())
    programs.print_table(("model", "new", "past", "judged", "again", "ms", "bound, ms", "of it"),
                         [(r["model"], s["seq"], s["past"], s["judged"]["ratio"] and round(s["judged"]["ratio"], 3), round(s["ratio"], 3),
                           round(s["after_ms"], 2), round(s["bound_ms"], 2), round(s["after_ms"] / s["bound_ms"], 1)) for r in rows for s in r["sizes"]])
    wrong = [r["model"] for r in rows if r["result"] == "failed" or (r["result"] == "improved" and not r["accepted"])]
    slow = [r["model"] for r in rows if r["result"] == "improved" for s in r["sizes"] if s["ratio"] < SLOWER]
    print(f"{len(rows)} models, {sum(r['result'] == 'improved' for r in rows)} faster; rejected or failed: {wrong or 'none'}; slower: {slow or 'none'}")
    sys.exit(1 if wrong or slow else 0)


if __name__ == "__main__":
    main()
