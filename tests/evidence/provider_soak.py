#!/usr/bin/env python3
# ci: | timeout=300
# nightly long: --long | timeout=1800
"""Many loads, and many runs from 8 threads, of sessions with IsomerExecutionProvider: each answer is right, and neither memory nor open files grow.

  tests/evidence/provider_soak.py [--long] [--loads N] [--runs N]     --long: 1,000 loads and 100,000 runs
The model is prepared first, by the program itself. Growth is counted after a tenth of the work, when caches are full.
"""
import argparse
import concurrent.futures
import gc
import os
import pathlib
import sys
import tempfile
import time

import onnx
import onnxruntime

import _paths  # noqa: F401
import kernel_models
import modules
import programs
import provider

THREADS = 8
# What allocators keep, in bytes and in ranges of memory; a library that stays loaded has four of these.
MOST_GROWTH = {"bytes": 8e6, "files": 0, "threads": 0, "mappings": 40}


def resources():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return {"bytes": pages * os.sysconf("SC_PAGESIZE"), "files": len(os.listdir("/proc/self/fd")), "threads": len(os.listdir("/proc/self/task")),
            "mappings": pathlib.Path("/proc/self/maps").read_text().count("\n")}


class Soak:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.model = self.folder / "model.onnx"
        onnx.save(kernel_models.chain("rows"), self.model)
        plain = modules.session(self.model)
        self.feeds = [{"x": kernel_models.normal(8 + 8 * k, 24)} for k in range(THREADS)]
        self.expected = [plain.run(None, feeds)[0] for feeds in self.feeds]

    def load(self, given=None, **options):
        session_options = onnxruntime.SessionOptions()
        session_options.intra_op_num_threads = 1
        return provider.Loaded(given or self.model, self.folder, options, session_options)

    def check(self, loaded, place):
        (got,) = loaded.run(self.feeds[place])
        assert modules.distance(self.expected[place], got) <= kernel_models.TOLERANCE

    def loads(self, count):
        data = self.model.read_bytes()
        for number in range(count):
            loaded = self.load(data if number % 2 else self.model)
            assert loaded.is_claimed, loaded.reason
            self.check(loaded, number % THREADS)

    def runs(self, loaded, count):
        def work(place):
            for _ in range(count // THREADS):
                self.check(loaded, place)

        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, range(THREADS)))


def grown(what, count, work):
    """The faults of doing it `count` times, of which a tenth is for warming up."""
    work(count // 10)
    gc.collect()
    before, begin = resources(), time.monotonic()
    work(count - count // 10)
    seconds = time.monotonic() - begin
    gc.collect()
    after = resources()
    print(f"{count} {what}, {1e6 * seconds / (count - count // 10):.0f} us each: " +
          ", ".join(f"{key} {before[key]:,} -> {after[key]:,}" for key in before), flush=True)
    return [f"{count} {what}: {key} grew from {before[key]} to {after[key]}" for key in before
            if after[key] > before[key] + MOST_GROWTH[key]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--loads", type=int)
    parser.add_argument("--runs", type=int)
    given = parser.parse_args()
    why = provider.why_not() or ("" if modules.has_compiler() else "there is no C++ compiler")
    if why:
        print(f"skipped: {why}")
        return programs.SKIPPED
    isomer = programs.program("isomer")
    provider.register()
    with tempfile.TemporaryDirectory(prefix="isomer_soak_") as folder:
        provider.use_cache(folder)
        os.environ["ISOMER"] = isomer
        soak = Soak(folder)
        loaded = soak.load(prepare="on_first_load", budget="20s", arguments="--shape rows=64 --threads 1")
        assert loaded.is_claimed, loaded.reason
        faults = grown("loads", given.loads or (1000 if given.long else 60), soak.loads)
        faults += grown(f"runs from {THREADS} threads", given.runs or (100_000 if given.long else 4000), lambda count: soak.runs(loaded, count))
    print("\n".join(faults) or "nothing grows")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
