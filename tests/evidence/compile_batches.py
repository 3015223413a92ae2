#!/usr/bin/env python3
# nightly: --check | timeout=1200
"""Random models whose batch is of any size through `isomer compile`: what is accepted computes what ONNX Runtime does, at several sizes.

  tests/evidence/compile_batches.py [--models 400] [--seed 1] [--results FILE.jsonl] [--keep FOLDER] [--check]
The models are those of compile_random.py; one size, which inputs have as their first axis and nowhere else, stays open, the others are numbers. Many of
them mix samples, which must be seen: a module that was made for one sample and run for each would compute something else. So every model that is accepted
is compiled, for two threads, and run at batches of several sizes, 0 among them. --results keeps what is done; --keep saves models at fault. --check: some
dozen, for CI. Exit 1: a fault.
"""
import argparse
import collections
import pathlib
import shutil
import sys
import tempfile

import onnx

import _paths  # noqa: F401
import compile_random
import modules
import programs
from attack import feeds, oracle
from attack.random_layers import Layers
from attack.random_models import Builder
from records import Records

BATCH = "batch_of_any_size"
# Called as a compiler: makes the file that -o names, and nothing else.
STAND_IN = '''#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = -o ] && : > "$2"; shift; done
'''


def shapes_of(model):
    return [put.type.tensor_type.shape.dim for put in model.graph.input]


def with_open_batch(model):
    """The model with one open size; None if no size is the first axis of inputs alone."""
    shapes = shapes_of(model)
    symbols = {d.dim_param for shape in shapes for d in shape if d.dim_param}
    firsts = {shape[0].dim_param for shape in shapes if len(shape)} - {d.dim_param for shape in shapes for d in list(shape)[1:]}
    chosen = min(symbols & firsts, default=None)
    if chosen is None and (symbols or not shapes or not len(shapes[0])):
        return None
    size = shapes[0][0].dim_value if chosen is None else None
    for shape in shapes:
        for place, d in enumerate(shape):
            if (d.dim_param == chosen if chosen else place == 0 and d.dim_value == size):
                d.dim_param = BATCH
            elif d.dim_param:
                d.dim_value = 3
    del model.graph.value_info[:]
    for put in model.graph.output:
        put.type.tensor_type.ClearField("shape")
    return model


class Subject(compile_random.Subject):
    """With inputs of several sizes; `model` is None where none can be open."""

    def __init__(self, seed, number, folder):  # other inputs than the one above has
        self.number, self.feeds, self.why = number, [], "no size is that of a batch"
        self.model = with_open_batch((Builder if number % 2 else Layers)(f"batches {seed} {number}").model().proto())
        if self.model is None:
            return
        self.path = folder / f"{number}.onnx"
        onnx.save(self.model, self.path)
        try:
            self.program = oracle.Program(self.path)
        except Exception as error:  # whatever the runtime says of a model that it doesn't take
            self.why = str(error)
            return
        names = [put.name for put in self.model.graph.input if len(put.type.tensor_type.shape.dim) and put.type.tensor_type.shape.dim[0].dim_param == BATCH]
        by_size = {}
        for feed in feeds.drawn(self.model, number):
            if len(feed[names[0]]) not in by_size and not isinstance(self.program.run(feed), oracle.Failure):
                by_size[len(feed[names[0]])] = feed
        some = list(by_size.values())
        self.feeds = [some[k % len(some)] for k in range(compile_random.FEEDS)] if len(some) > 1 else []


def judged(subject, folder, flags):
    stand_in = folder / "stand_in"
    stand_in.write_text(STAND_IN, encoding="utf-8")
    stand_in.chmod(0o755)
    asked = modules.compile_model(subject.path, folder / "asked", "--compiler", str(stand_in))
    if asked.returncode != 0:
        reason = (asked.stderr or asked.stdout).strip()[-300:]
        return ("mixed" if "samples are computed one by one" in asked.stderr else "refused"), reason
    _, status, reason = compile_random.judge([subject], folder, flags)[0]
    return status, reason


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not modules.has_compiler():
        print("skipped: no C++ compiler here")
        return programs.SKIPPED
    records, count = Records(options.results, "seed", "number"), 24 if options.check else options.models
    for number in range(count):
        if (options.seed, number) in records:
            continue
        with tempfile.TemporaryDirectory(prefix="isomer_compile_batches_") as name:
            folder = pathlib.Path(name)
            subject = Subject(options.seed, number, folder)
            status, reason = "not run", subject.why
            if subject.feeds:
                status, reason = judged(subject, folder, [*compile_random.quick_compiler(folder), "--threads", "2"])
            records.add({"seed": options.seed, "number": number, "status": status, "reason": reason})
            if status in ("different", "ended"):
                print(f"{number}: {status}: {reason}", flush=True)
                if options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    shutil.copy(subject.path, options.keep)
    total = collections.Counter(r["status"] for (seed, number), r in records.all.items() if seed == options.seed and number < count)
    print(f"{sum(total.values())} random models: {total['equal']} accepted and equal at several sizes, {total['different']} different, "
          f"{total['ended']} ended their process, {total['mixed']} that mix samples, {total['opaque'] + total['refused']} refused otherwise, "
          f"{total['not run']} that have no batch or do not run")
    return 1 if total["different"] + total["ended"] or not total["equal"] else 0


if __name__ == "__main__":
    sys.exit(main())
