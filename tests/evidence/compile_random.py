#!/usr/bin/env python3
# ci: --check | timeout=900
# nightly compile_random_open: --open --quick --models 200 | timeout=3600
"""Random models through `isomer compile`, compared with ONNX Runtime.

  tests/evidence/compile_random.py [--models 2000] [--seed 1] [--batch 16] [--results FILE.jsonl] [--keep FOLDER] [--quick] [--check] [--open]
                                   [--sanitize address|thread]
Every second one is of attack/random_models.py (all kinds of operators, small sizes, some of them 0), the others are layers of networks
(attack/random_layers.py). Several are compiled as one, and by halves where that fails; compiled code runs in a child. A difference counts if it is more than
what rounding explains (attack/oracle.py), on inputs on which ONNX Runtime runs and computes finite values. A model with a node that has no formula is
refused, and no fault if `inspect` lists one. --results keeps what is done, so that a run may be interrupted; --keep saves models at fault. --quick: the
C++ compiler optimizes little. --check: two dozen, quickly, for CI. Exit 1: a fault.
--sanitize: compiled code runs under clang's AddressSanitizer or ThreadSanitizer, with three threads; what either of them says ends the child.
--open: models with one to three open sizes, one module each, run at several of them. One that is refused by name is no fault: formulas may need sizes
to be equal that have two names.
"""
import argparse
import collections
import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.compose

import _paths  # noqa: F401
import modules
import programs
from attack import feeds, oracle
from attack.random_layers import Layers
from attack.random_models import Builder
from records import Records

FEEDS = 3  # of each model
CHILD = {}  # what the child's environment has besides


# ---- in the child, which generated code may end


def run_module(folder, feeds_file, out_file):
    module = modules.load(folder)
    with np.load(feeds_file) as given:
        for k in sorted({int(name.split("/", 1)[0]) for name in given.files}):
            feed = {name.split("/", 1)[1]: given[name] for name in given.files if name.startswith(f"{k}/")}
            if modules.is_made_for(folder, feed):
                np.savez(f"{out_file}.{k}.npz", **module(**feed))


# ---- in the parent


class Stored:
    """What a module has computed, as one of the oracle's programs."""

    def __init__(self, outputs, model):
        self.outputs, self.model = outputs, model

    def run(self, feed):
        return self.outputs[id(feed)]

    can_be_noisy = True  # as far as the first model's noise goes

    @property
    def roundings(self):
        return self.model.roundings

    def computed(self, feed):
        return []

    def noisy(self, feed):
        return []


def drawn(seed, number):
    """The model, its open sizes filled in."""
    model = (Builder if number % 2 else Layers)(f"compile {seed} {number}").model().proto()
    sizes = random.Random(f"sizes {seed} {number}").choice([*feeds.SIZES[:3], *feeds.SIZES])
    symbols = {}
    for put in model.graph.input:
        for d in put.type.tensor_type.shape.dim:
            if d.dim_param:
                d.dim_value = symbols.setdefault(d.dim_param, sizes[len(symbols) % 2])
    return model


class Subject:
    """One model with the inputs on which ONNX Runtime runs it; `feeds` is empty if there are none."""

    def __init__(self, seed, number, folder):
        self.number, self.model = number, drawn(seed, number)
        self.path = folder / f"{number}.onnx"
        onnx.save(self.model, self.path)
        self.feeds, self.why = [], ""
        try:
            self.program = oracle.Program(self.path)
        except Exception as error:  # whatever the runtime says of a model that it doesn't take
            self.why = str(error)
            return
        found = (f for f in feeds.drawn(self.model, number) if not isinstance(self.program.run(f), oracle.Failure))
        some = list(itertools.islice(found, FEEDS))
        self.feeds = [some[k % len(some)] for k in range(FEEDS)] if some else []

    def wrong(self, outputs):
        """`outputs`: one dictionary for each of the feeds."""
        names = [o.name for o in self.model.graph.output]
        stored = Stored({id(feed): [out[n] for n in names] for feed, out in zip(self.feeds, outputs)}, self.program)
        return oracle.falsehood(self.program, stored, self.feeds)


# For three open sizes: small ones, 1, no multiple of a vector, a tile and more.
OPEN_SIZES = ((2, 3, 5), (3, 3, 3), (1, 1, 1), (7, 6, 4), (1, 17, 9), (33, 2, 20), (16, 40, 1))


def opened(seed, number):
    """The model, some of its sizes open: those that it leaves open, or up to three numbers of its inputs' shapes, wherever these have them."""
    model = (Builder if number % 2 else Layers)(f"compile {seed} {number}").model().proto()
    dims = [d for put in model.graph.input for d in put.type.tensor_type.shape.dim]
    if any(d.dim_param for d in dims):
        return model
    draw = random.Random(f"open {seed} {number}")
    shapes = [put.type.tensor_type.shape.dim for put in model.graph.input]
    free = [d for dims in shapes for axis, d in enumerate(dims) if d.dim_value > 0 and (axis != 1 if len(dims) == 4 else axis + 1 < max(2, len(dims)))]
    numbers = sorted({d.dim_value for d in free})
    for value in draw.sample(numbers, min(len(numbers), draw.randint(1, 3))):
        for d in free:
            if d.dim_value == value and not d.dim_param:
                d.dim_param = f"size{value}"
    del model.graph.value_info[:]
    for put in model.graph.output:
        put.type.tensor_type.ClearField("shape")
    return model


class OpenSubject(Subject):
    """One model with inputs of several sizes at which ONNX Runtime runs it."""

    def __init__(self, seed, number, folder):  # not the other's, which fills sizes in
        self.number, self.model = number, opened(seed, number)
        self.path = folder / f"{number}.onnx"
        onnx.save(self.model, self.path)
        self.feeds, self.why = [], ""
        try:
            self.program = oracle.Program(self.path)
        except Exception as error:
            self.why = str(error)
            return
        names = list(dict.fromkeys(d.dim_param for i in self.model.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param))
        own = tuple(int(n.removeprefix("size")) if n.startswith("size") else 2 for n in names)
        for sizes in [own, *OPEN_SIZES]:
            at = onnx.ModelProto()
            at.CopyFrom(self.model)
            of = {n: sizes[k % len(sizes)] for k, n in enumerate(names)}
            for i in at.graph.input:
                for d in i.type.tensor_type.shape.dim:
                    if d.dim_param:
                        d.dim_value = of[d.dim_param]
            feed = next(iter(feeds.drawn(at, number)))
            if not isinstance(self.program.run(feed), oracle.Failure):
                self.feeds.append(feed)


def judge_open(s, folder, options):
    """(subject, status, reason) of a model with open sizes."""
    compiled, out = folder / "compiled", folder / "out"
    ran = modules.compile_model(s.path, compiled, *options)
    if ran.returncode != 0:
        return s, "refused" if ran.returncode not in (2, 3) or "note:" in ran.stderr else "by name", (ran.stderr or ran.stdout).strip()[-300:]
    about = json.loads((compiled / "interface.json").read_text())
    for old in folder.glob("out.*.npz"):  # of another model
        old.unlink()
    np.savez(folder / "feeds.npz", **{f"{k}/{name}": value for k, feed in enumerate(s.feeds) for name, value in feed.items()})
    child = run_child(compiled, folder / "feeds.npz", out)
    if child.returncode != 0:
        return s, "ended", child.stderr.strip()[-300:]
    ran = [k for k in range(len(s.feeds)) if pathlib.Path(f"{out}.{k}.npz").exists()]
    if not ran:
        return s, "by name", "it refuses all of these sizes"
    s.feeds = [s.feeds[k] for k in ran]
    wrong = s.wrong([dict(np.load(f"{out}.{k}.npz")) for k in ran])
    return s, "different" if wrong else "equal" if about["sizes"] else "equal, a batch", wrong or ""


def run_child(compiled, feeds_file, out):
    return subprocess.run([sys.executable, __file__, "--run", str(compiled), str(feeds_file), str(out)], capture_output=True, text=True, check=False,
                          env=os.environ | CHILD)


def joined(subjects):
    """One model of all, and its feeds."""
    parts = [onnx.compose.add_prefix(s.model, f"m{s.number}_") for s in subjects]
    out = parts[0]
    for part in parts[1:]:
        for field in ("node", "input", "output", "initializer", "value_info"):
            getattr(out.graph, field).extend(getattr(part.graph, field))
        out.functions.extend(part.functions)
        have = {o.domain for o in out.opset_import}
        out.opset_import.extend(o for o in part.opset_import if o.domain not in have)
    given = {f"{k}/m{s.number}_{name}": value for s in subjects for k, feed in enumerate(s.feeds) for name, value in feed.items()}
    return out, given


def is_opaque(path):
    ran = programs.run([programs.program("isomer"), "inspect", str(path), "--json"], 120)
    return ran.code == 0 and bool(json.loads(ran.stdout)["opaque"])


def judge(subjects, folder, options):
    """(subject, status, reason) of each; of several that fail together each half is tried."""
    def by_halves():
        half = len(subjects) // 2
        return judge(subjects[:half], folder, options) + judge(subjects[half:], folder, options)

    model, given = joined(subjects)
    path, compiled, out = folder / "joined.onnx", folder / "compiled", folder / "out"
    onnx.save(model, path)
    ran = modules.compile_model(path, compiled, *options)
    if ran.returncode != 0:
        if len(subjects) > 1:
            return by_halves()
        status = "opaque" if is_opaque(path) else "refused"
        return [(subjects[0], status, (ran.stderr or ran.stdout).strip()[-300:])]
    np.savez(folder / "feeds.npz", **given)
    child = run_child(compiled, folder / "feeds.npz", out)
    if child.returncode != 0:
        return by_halves() if len(subjects) > 1 else [(subjects[0], "ended", child.stderr.strip()[-300:])]
    found = []
    files = [dict(np.load(f"{out}.{k}.npz")) for k in range(FEEDS)]
    for s in subjects:
        begin = f"m{s.number}_"
        wrong = s.wrong([{n.removeprefix(begin): v for n, v in file.items() if n.startswith(begin)} for file in files])
        found.append((s, "different" if wrong else "equal", wrong or ""))
    return found


def sanitizing_compiler(folder, kind):
    """clang with a sanitizer, whose runtime the child loads first; None if there is no such compiler."""
    clang = next((name for name in (*(f"clang++-{v}" for v in range(30, 10, -1)), "clang++") if shutil.which(name)), None)
    library = {"address": "asan", "thread": "tsan"}[kind]
    runtime = clang and subprocess.run([clang, f"-print-file-name=libclang_rt.{library}-x86_64.so"], capture_output=True, text=True, check=True).stdout.strip()
    if not clang or not pathlib.Path(runtime).is_absolute():
        return None
    CHILD.update({"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "exitcode=66:halt_on_error=1"})
    path = folder / "sanitizing_compiler"
    path.write_text(f'#!/bin/sh\nexec {clang} "$@" -O1 -g -fsanitize={kind} -shared-libsan\n')
    path.chmod(0o755)
    return ["--compiler", str(path), "--threads", "3"]


def quick_compiler(folder):
    """The compiler that `isomer compile` would take, optimizing little."""
    path = folder / "quick_compiler"
    found = os.environ.get("CXX") or next((name for name in [*(f"clang++-{v}" for v in range(30, 10, -1)), "clang++", "g++"] if shutil.which(name)), "c++")
    path.write_text(f'#!/bin/sh\nexec {found} "$@" -O1\n')
    path.chmod(0o755)
    return ["--compiler", str(path)]


def main():
    if sys.argv[1:2] == ["--run"]:
        run_module(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--sanitize", choices=("address", "thread"))
    options = parser.parse_args()
    if not modules.has_compiler():
        print("skipped: no C++ compiler here")
        return programs.SKIPPED
    count = 24 if options.check else options.models
    records = Records(options.results, "seed", "number")
    todo = [n for n in range(count) if (options.seed, n) not in records]
    for begin in range(0, len(todo), options.batch):
        with tempfile.TemporaryDirectory(prefix="isomer_compile_random_") as name:
            folder = pathlib.Path(name)
            flags = quick_compiler(folder) if options.quick or options.check else []
            if options.sanitize:
                flags = sanitizing_compiler(folder, options.sanitize)
                if flags is None:
                    print("skipped: no clang with this sanitizer here")
                    return programs.SKIPPED
            subjects = [(OpenSubject if options.open else Subject)(options.seed, n, folder) for n in todo[begin:begin + options.batch]]
            found = [(s, "not run", s.why) for s in subjects if not s.feeds]
            found += [(s, "opaque", "") for s in subjects if s.feeds and is_opaque(s.path)]
            left = [s for s in subjects if s not in [f[0] for f in found]]
            if options.open:
                found += [judge_open(s, folder, flags) for s in left]
            else:
                found += judge(left, folder, flags) if left else []
            for s, status, reason in found:
                records.add({"seed": options.seed, "number": s.number, "status": status, "reason": reason})
                if status in ("different", "ended", "refused"):
                    print(f"{s.number}: {status}: {reason}", flush=True)
                    if options.keep:
                        options.keep.mkdir(parents=True, exist_ok=True)
                        shutil.copy(s.path, options.keep)
    rows = [r for (seed, number), r in records.all.items() if seed == options.seed and number < count]
    total = collections.Counter(r["status"] for r in rows)
    print(f"{len(rows)} random models: {total['equal']} compiled and equal, {total['different']} different, {total['ended']} ended their process, "
          f"{total['refused']} refused without a reason, {total['by name']} by name, {total['equal, a batch']} with a batch alone, "
          f"{total['opaque']} with a node that has no formula, {total['not run']} that ONNX Runtime does not run")
    return 1 if total["different"] + total["ended"] + total["refused"] or not total["equal"] else 0


if __name__ == "__main__":
    sys.exit(main())
