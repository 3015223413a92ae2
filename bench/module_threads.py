#!/usr/bin/env python3
"""Compiled models with several threads, and on batches, beside ONNX Runtime with as many of both.

  bench/module_threads.py [--models NAME,...] [--threads 2] [--batch 1] [--seconds 10] [--modules DIR] [--results FILE.jsonl] [--filled DIR]
Wall time of a run: the module and ONNX Runtime with all of its optimizations, each with one thread and with --threads, by turns; of each the median.
Ratios, ONNX Runtime's time over the module's, are taken within each turn, and their median is printed. Only the half of the turns counts in which the host of
a virtual machine took the least processor time from it (`stolen`, its share there). Before each turn there is a pause, in which threads of
the one before fall asleep, and two runs that don't count. Outputs of the module must be the same bits with any number of threads, and those of ONNX Runtime.
--batch N: the model for N samples, which both run. Models of the zoo are for one; the first size of their inputs becomes N, and the leading 1 in constant
shapes of Reshape whatever stands there. That this is the model for N samples is checked twice: shape inference must take it, if it takes the model as it was,
and where it knows an output's size, that is N in place of 1 and else the same; and ONNX Runtime must give each sample what it gives it alone. Other models
are skipped, and it is said why.
--modules keeps compiled modules, and takes those that are there; --results keeps what is done. How much several threads gain is a matter of the machine: two
that share a core have one core's arithmetic. The table is Markdown. Exit 1: bits differ, outputs differ, or a model fails.
"""
import argparse
import math
import os
import pathlib
import statistics
import sys
import time

import numpy as np
import onnx
import onnxruntime

import _paths  # noqa: F401
import modules
import reference
import zoo
from records import Records

SOME = ["squeezenet1_1", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x1_0", "efficientnet_b0", "ghostnet_100", "regnet_y_400mf", "nasnetamobile",
        "googlenet", "resnet18", "resnet50", "densenet121", "unet_bn", "vgg16", "convnext_tiny", "segformer_b0", "swin_t", "vit_small_patch16", "gpt2",
        "bert_base"]
PAUSE, WARM, RUNS = 0.02, 2, 3  # seconds; runs of a turn that don't count, and that do
LARGE = 1 << 30  # bytes of weights that don't fit into a model's own file


class Skipped(Exception):
    """A model that is not one for a batch."""


def taken_by_host():
    """Seconds of processor time, of all processors since the start, that other processes had."""
    stat = pathlib.Path("/proc/stat")
    return int(stat.read_text().split(maxsplit=9)[8]) / os.sysconf("SC_CLK_TCK") if stat.exists() else 0.0


def session(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


# ---- batches


def sizes_of(put):
    return [d.dim_value if d.HasField("dim_value") else None for d in put.type.tensor_type.shape.dim]


def with_batch(model, shapes, batch):
    """The model for this number of samples. Whether it computes them is not known yet."""
    weights = {t.name: t for t in model.graph.initializer}
    inputs = [p for p in model.graph.input if p.name not in weights]
    for put in inputs:
        extents = shapes.get(put.name) or sizes_of(put)
        if not extents or extents[0] != 1:
            raise Skipped(f"input {put.name} is not of one sample")
        for d, extent in zip(put.type.tensor_type.shape.dim, [batch, *extents[1:]], strict=True):
            d.dim_value = extent
    before = [sizes_of(p) for p in model.graph.output]
    # Named anew for each node: a shape may have other readers.
    constants = {n.output[0]: n.attribute[0].t for n in model.graph.node if n.op_type == "Constant" and n.attribute[0].name == "value"} | weights
    for k, node in enumerate(model.graph.node):
        if node.op_type != "Reshape" or node.input[1] not in constants or any(a.name == "allowzero" and a.i for a in node.attribute):
            continue
        shape = onnx.numpy_helper.to_array(constants[node.input[1]])
        if shape.size > 1 and shape[0] == 1:
            node.input[1] = f"shape_of_batch_{k}"
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.concatenate([[0], shape[1:]]).astype(np.int64), node.input[1]))
    del model.graph.value_info[:]
    for put in model.graph.output:
        put.type.tensor_type.ClearField("shape")
    return before


def inferred(path, folder):
    """The sizes of outputs that shape inference finds; (None, why) where it refuses the model."""
    out = folder / "inferred.onnx"
    try:
        onnx.shape_inference.infer_shapes_path(str(path), str(out), strict_mode=True, data_prop=True)
        return [sizes_of(p) for p in onnx.load(out, load_external_data=False).graph.output], ""
    except Exception as error:  # whatever the library says of a shape
        return None, str(error).strip().splitlines()[-1][-120:]
    finally:
        out.unlink(missing_ok=True)


def rebatched(path, shapes, folder, batch):
    """(the model for this number of samples, its inputs)."""
    plain, model, out = onnx.load(path), onnx.load(path), folder / "batch.onnx"
    before = with_batch(model, shapes, batch)
    is_large = sum(len(t.raw_data) for t in model.graph.initializer) > LARGE
    onnx.save(model, out, save_as_external_data=is_large, location="batch.data")
    known, why = inferred(out, folder)
    if known is None and inferred(path, folder)[0] is not None:
        raise Skipped(f"shape inference: {why}")
    for one, many in zip(before, known or [], strict=known is not None):
        if not many or many[0] not in (batch, None) or one and (len(one) != len(many) or any(a and b and a != b for a, b in zip(one[1:], many[1:]))):
            raise Skipped(f"shape inference: an output of {one} becomes one of {many}")
    samples = [reference.feeds_of(plain, shapes, seed) for seed in range(batch)]
    feeds = {key: np.concatenate([s[key] for s in samples]) for key in samples[0]}
    try:
        together, alone = session(out, 1).run(None, feeds), session(path, 1)
    except Exception as error:  # whatever the runtime says
        raise Skipped(f"ONNX Runtime: {str(error).strip().splitlines()[-1][-120:]}") from error
    for k in range(batch):
        apart = max(reference.error_of(t[k:k + 1], a) for t, a in zip(together, alone.run(None, samples[k]), strict=True))
        if apart > reference.MOST["float"]:
            raise Skipped(f"sample {k} of the batch is {apart:.1e} from what it is alone")
    return out, feeds


# ---- measuring


def measure(name, model, folder, options):
    compiled = (options.modules or folder) / (name if options.batch == 1 else f"{name}_{options.batch}")
    if options.batch == 1:
        sizes, feeds = zoo.shape_options(name), reference.feeds_of(onnx.load(model, load_external_data=False), zoo.index()[name]["run_shapes"])
    else:
        sizes, (model, feeds) = [], rebatched(model, zoo.index()[name]["run_shapes"], folder, options.batch)
    if not (compiled / "interface.json").exists():
        # The shortest comparison, for the rule of errors; speed is measured below.
        made = modules.compile_model(model, compiled, *sizes, "--seconds", "0.01")
        if made.returncode != 0:
            return {"failure": (made.stderr or made.stdout).strip()[-200:]}
    runs, outputs, expected, counts = {}, [], None, sorted({1, options.threads})
    for threads in counts:
        runtime, module = session(model, threads), modules.load(compiled, threads=threads)
        outputs.append(module(**feeds))
        expected = expected or runtime.run(None, feeds)
        runs[f"ort_{threads}"], runs[f"module_{threads}"] = (lambda s=runtime: s.run(None, feeds)), module.run
    times, end = {key: [] for key in runs}, time.monotonic() + options.seconds
    stolen = []
    while time.monotonic() < end or len(stolen) < 6:
        began, before = time.monotonic(), taken_by_host()
        for key, run in runs.items():
            time.sleep(PAUSE)
            turn = []
            for k in range(WARM + RUNS):
                start = time.perf_counter()
                run()
                if k >= WARM:
                    turn.append(time.perf_counter() - start)
            times[key].append(statistics.median(turn))
        stolen.append((taken_by_host() - before) / (time.monotonic() - began) / os.cpu_count())
    best = sorted(range(len(stolen)), key=stolen.__getitem__)[:(len(stolen) + 1) // 2]
    times = {key: [t[k] for k in best] for key, t in times.items()}
    row = {f"{key}_ms": 1000 * statistics.median(t) for key, t in times.items()}
    for n in counts:
        row[f"ratio_{n}"] = statistics.median(a / b for a, b in zip(times[f"ort_{n}"], times[f"module_{n}"], strict=True))
    apart = max(reference.error_of(mine, theirs) for mine, theirs in zip(outputs[0].values(), expected, strict=True))
    same = all(np.array_equal(outputs[0][n], o[n], equal_nan=True) for o in outputs for n in outputs[0])
    return row | {"threads": options.threads, "batch": options.batch, "apart": apart, "same_bits": same,
                  "stolen": max(stolen[k] for k in best)}


def judged(name, model, folder, options):
    try:
        return measure(name, model, folder, options)
    except Skipped as why:
        return {"skipped": str(why)}
    except Exception as failure:  # the others go on
        return {"failure": f"{type(failure).__name__}: {failure}"[-200:]}


def print_table(rows, n):
    """Whether all is as it should be."""
    faults, ratios = 0, []
    print(f"| model | runtime, 1 | runtime, {n} | module, 1 | module, {n} | gain of the module | ratio, 1 | ratio, {n} |\n|---|" + "---:|" * 7)
    for name, row in rows.items():
        if "ratio_1" not in row:
            faults += "failure" in row
            print(f"| {name} | {row.get('failure') or 'skipped: ' + row['skipped']} | | | | | | |")
            continue
        wrong = "" if row["same_bits"] else " OTHER BITS"
        wrong += "" if row["apart"] <= reference.MOST["float"] else f" {row['apart']:.1e} APART"
        faults += bool(wrong)
        ratios.append(row[f"ratio_{n}"])
        one, other, ours, several = (row[f"{who}_{k}_ms"] for who in ("ort", "module") for k in (1, n))
        print(f"| {name} | {one:.2f} | {other:.2f} | {ours:.2f} | {several:.2f} | {ours / several:.2f} | {row['ratio_1']:.2f} | {ratios[-1]:.2f} |{wrong}")
    if ratios:
        print(f"\n{len(ratios)} models: geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.3f}, median {statistics.median(ratios):.3f}")
    return not faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(SOME))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--modules", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    options = parser.parse_args()
    records, names = Records(options.results, "model"), options.models.split(",")
    for name, model, folder in zoo.filled_one_by_one(names, records, options.filled):
        row = judged(name, model, folder, options)
        print(name, row, file=sys.stderr, flush=True)
        records.add({"model": name} | row)
    return 0 if print_table({name: records.all[name,] for name in names}, options.threads) else 1


if __name__ == "__main__":
    sys.exit(main())
