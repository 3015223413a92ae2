#!/usr/bin/env python3
"""Runs the fuzz targets (src/**/*_fuzz.cpp, preset `fuzz`) in turns, from seeds, and prints executions, coverage and findings.

  tests/evidence/fuzz_run.py [TARGET...] [--seconds 60] [--rounds 1] [--until N] [--build build/fuzz] [--state build/fuzz/state] [--record FILE.jsonl]
What is found stays in --state: a corpus and the history of coverage for each target, so that runs add up; what crashed, hung or took too much memory in its
`findings`. A finding is open as long as the target as it is built still fails on it. Exit 1: there is one. Exit 77: nothing is built.
"""
import argparse
import json
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

import numpy as np

import _paths  # noqa: F401
import programs
import reliability
from attack.random_models import Builder

LONGEST = 1 << 16  # bytes of an input
SHORTER = {"rule": 1 << 11, "certificate": 1 << 13}  # whose time grows with the length, and which need no more
MEGABYTES, HANG = 3000, 25  # of memory, seconds for one input
PROGRESS = re.compile(r"^#(\d+)\s+\w+\s+cov: (\d+)", re.M)


# ---- seeds -----------------------------------------------------------------------------------------------------------

def small_files(paths):
    for path in paths:
        if path.is_file() and path.stat().st_size <= LONGEST:
            yield path.read_bytes()


def model_seeds():
    """Random models, whole ones and hostile ones."""
    for number in range(40):
        yield Builder(f"fuzz {number}").model().proto().SerializeToString()
    script = programs.SHARED / "hostile" / "make_corpus.py"
    if script.exists():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", str(script), folder], check=True, stdout=subprocess.DEVNULL)
            yield from small_files(sorted(pathlib.Path(folder).rglob("*.onnx")))


def rule_seeds():
    for name in ("rules/generated.rules", "tests/attack/rewrites.rules", "tests/evidence/rules/taso.rules"):
        rules = re.split(r"\n(?=rule |#)", (programs.ROOT / name).read_text(encoding="utf-8"))
        for text in random.Random(1).sample(rules, min(60, len(rules))):
            yield text.encode()


def certificate_seeds():
    """What optimize writes about random models."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number in range(12):
            model = Builder(f"fuzz {number}").model().write(folder / f"{number}.onnx")
            out = folder / f"{number}.out.onnx"
            programs.run([programs.program("isomer"), "optimize", model, "-o", out, "--judge", "cost", "--budget", "5s", "--quiet"])
        yield from small_files(sorted(folder.glob("*.cert")))


def npz_seeds():
    draw = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        file = pathlib.Path(name, "seed.npz")
        for dtype in (np.float32, np.float16, np.float64, np.int8, np.uint8, np.int64, np.bool_, np.complex64):
            for save in (np.savez, np.savez_compressed):
                save(file, x=draw.normal(size=(2, 3)).astype(dtype), empty=np.zeros((0, 4), dtype), scalar=np.asarray(1, dtype))
                yield file.read_bytes()
        np.savez(file, fortran=np.asfortranarray(draw.normal(size=(3, 4))), text=np.array(["a", "bc"]))
        yield file.read_bytes()


def external_seeds():
    for location in ("w", "in", "out", "../secret", "/etc/hostname", "sub/../w", "sub/up/secret", "./w", "w\0x"):
        for more in ((), ("offset", "0"), ("offset", "8", "length", "32"), ("offset", "18446744073709551615", "length", "-1"), ("location", "out")):
            yield b"\x20" + "\n".join(("location", location, *more)).encode()


def text_seeds():
    yield from small_files(sorted((programs.ROOT / "tests" / "suites" / "golden").rglob("*.txt")))
    for number in range(20):
        yield Builder(f"fuzz {number}").model().graph.encode()


def operator_text_seeds():
    pages = [*programs.ROOT.glob("docs/**/*.md"), *programs.ROOT.glob("tests/suites/own_operator*.py"), *programs.ROOT.glob("examples/**/*.operators")]
    for page in pages:
        for block in re.findall(r"(?:```\w*\n|\"\"\")(.*?operator .*?)(?:```|\"\"\")", page.read_text(encoding="utf-8"), re.S):
            yield block.encode()


def cbor_seeds():
    """What a cache keeps of measurements, with its seal and without."""
    with tempfile.TemporaryDirectory() as name:
        file = pathlib.Path(name, "seed.sqlite")
        subprocess.run([programs.program("isomer-judge"), "fill-cache", str(file), "8"], check=True)
        database = sqlite3.connect(file)
        for (samples,) in database.execute("SELECT samples FROM timing"):
            yield samples
            yield samples[32:]
        database.close()
    yield from (b"\xa1\x61a\x82\x01\xf9\x3c\x00", b"\x81" * 60 + b"\x00", b"\x9f\x01\xff", b"\x7f\x61a\xff", b"\xbf\xff", b"\xc1\x00")


SEEDS = {"read": model_seeds, "infer": model_seeds, "rule": rule_seeds, "certificate": certificate_seeds, "npz": npz_seeds, "external": external_seeds,
         "text": text_seeds, "operator_text": operator_text_seeds, "cbor": cbor_seeds}


# ---- one target ------------------------------------------------------------------------------------------------------

class Target:
    def __init__(self, program, state):
        self.program, self.name = program, program.name.removesuffix("_fuzz")
        self.corpus, self.findings, self.file = state / self.name, state / "findings" / self.name, state / f"{self.name}.json"
        for folder in (self.corpus, self.findings):
            folder.mkdir(parents=True, exist_ok=True)
        self.state = json.loads(self.file.read_text()) if self.file.exists() else {"executions": 0, "seconds": 0.0, "history": []}
        if not any(self.corpus.iterdir()):
            for number, seed in enumerate(SEEDS.get(self.name, lambda: ())()):
                (self.corpus / f"seed{number}").write_bytes(seed[:LONGEST])

    def flags(self):
        return [f"-rss_limit_mb={MEGABYTES}", f"-timeout={HANG}"]

    def run(self, seconds):
        """Until the time is over, again and again if something is found."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 1:
            start = time.monotonic()
            words = [self.program, *self.flags(), f"-max_total_time={int(left) or 1}", f"-max_len={SHORTER.get(self.name, LONGEST)}", "-print_final_stats=1",
                     f"-artifact_prefix={self.findings}/", self.corpus]
            ran = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
            seen = [(int(n), int(c)) for n, c in PROGRESS.findall(ran.stderr)]
            done = max([n for n, _ in seen], default=0)
            told = re.search(r"number_of_executed_units:\s*(\d+)", ran.stderr)
            done = int(told.group(1)) if told else done
            before = self.state["executions"]
            most = max([c for _, c in self.state["history"]], default=0)
            for n, c in seen:
                if c > most:
                    most = c
                    self.state["history"].append((before + n, c))
            self.state["executions"] += done
            self.state["seconds"] += time.monotonic() - start
            self.file.write_text(json.dumps(self.state))
            if ran.returncode != 0:
                print(f"{self.name}: {self.summary_of(ran.stderr)}", flush=True)
            if not done:
                break  # it fails on its own corpus
        return self

    @staticmethod
    def summary_of(text):
        found = re.findall(r"^(?:SUMMARY: .*|==\d+== ?ERROR: .*|.*runtime error: .*|isomer: .*)$", text, re.M)
        return (found[-1] if found else text[-200:]).strip()

    def open_findings(self):
        """(file, what it does), of those that still fail."""
        for file in sorted(self.findings.iterdir()):
            try:
                ran = subprocess.run([self.program, *self.flags(), file], capture_output=True, text=True, errors="replace", timeout=4 * HANG, check=False)
            except subprocess.TimeoutExpired:
                yield file, "hangs"
                continue
            if ran.returncode != 0:
                yield file, self.summary_of(ran.stderr)

    def minimize(self):
        """The corpus without what adds nothing."""
        with tempfile.TemporaryDirectory(dir=self.corpus.parent) as name:
            ran = subprocess.run([self.program, *self.flags(), "-merge=1", name, self.corpus], capture_output=True, check=False)
            if ran.returncode == 0 and any(pathlib.Path(name).iterdir()):
                shutil.rmtree(self.corpus)
                shutil.copytree(name, self.corpus)

    def edges(self):
        return max([c for _, c in self.state["history"]], default=0)

    def edges_in_last_tenth(self):
        border = 0.9 * self.state["executions"]
        return self.edges() - max([c for n, c in self.state["history"] if n <= border], default=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--until", type=int, default=sys.maxsize, help="a target with so many executions is not run any more")
    parser.add_argument("--build", type=pathlib.Path, default=programs.ROOT / "build" / "fuzz")
    parser.add_argument("--state", type=pathlib.Path)
    parser.add_argument("--minimize", action="store_true", help="the corpora first")
    reliability.add_option(parser)
    given = parser.parse_args()
    built = {p.name.removesuffix("_fuzz"): p for p in sorted(given.build.glob("*_fuzz")) if p.is_file()}
    if unknown := set(given.targets) - set(built):
        parser.error(f"not built: {', '.join(sorted(unknown))}")
    if not built:
        print(f"skipped: no fuzz target below {given.build}")
        return programs.SKIPPED
    state = (given.state or given.build / "state").resolve()
    targets = [Target(built[name].resolve(), state) for name in given.targets or built]
    for target in targets if given.minimize else ():
        target.minimize()
    rows, wrong = [], 0
    for _ in range(given.rounds):
        rows, wrong = [], 0
        for target in targets:
            if target.state["executions"] < given.until:
                target.run(given.seconds)
            found = [f"{file.name}: {what}" for file, what in target.open_findings()]
            wrong += len(found)
            rows.append((target.name, target.state["executions"], round(target.state["seconds"]), target.edges(), target.edges_in_last_tenth(),
                         sum(1 for _ in target.corpus.iterdir()), len(found)))
            reliability.record(given.record, f"fuzz.{target.name}", target.state["executions"], found, edges=target.edges(),
                               edges_in_last_tenth=target.edges_in_last_tenth(), corpus=rows[-1][5], seconds_in_all=rows[-1][2])
            print(f"{target.name}: {rows[-1][1:]}", flush=True)
    programs.print_table(("target", "executions", "s", "edges", "in the last tenth", "files", "open findings"), rows)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
