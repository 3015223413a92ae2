#!/usr/bin/env python3
# nightly: --check | timeout=900 unsanitized
"""Every call of the system fails in turn, under every command: nothing half-written, nothing lost, nothing false, one clear line.

  tests/evidence/system_faults.py [--every] [--mallocs 200] [--slow 12] [--commands NAME,...] [--models NAME,...] [--kinds KIND,...] [--jobs 2] [--seed 1]
                                  [--results FILE.jsonl] [--earlier FILE.jsonl] [--for SECONDS] [--record FILE.jsonl] [--check]
A shim (tests/lib/faults/fail_call.cpp) makes the n-th open, read, write, fsync, rename, truncate, mmap, malloc, fork, poll or mkdir of `isomer` fail, once,
or that call and all after it. How many there are is counted in an undisturbed run. Each n is tried, of kinds with more than --mallocs calls that many, drawn
(--every: each), of commands that measure or compile --slow. After each: exit 0 with the outputs of the undisturbed run, or others that the checker accepts,
or another code and a line that says what failed; an output is absent, as it was before, or whole; inputs are untouched; a pair that is not equal is not
proved, a certificate that does not hold not accepted. Temporary files that are left are counted. --results goes on where a run was stopped; --for ends
it in time. --earlier: results that were run again; what they call wrong and these do not is counted, not forgotten. --check: a few of each, for ctest.
"""
import argparse
import collections
import hashlib
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper, parser

import _paths  # noqa: F401
import programs
import reliability
from records import Records
from written_files import digest, leftovers, without_stamp

SECONDS = 60
LINE = re.compile(r"\A(?:isomer: [^\n]*\n)*isomer: [^\x00-\x1f\x7f]{5,1000}\n\Z")  # before it: progress, remarks
SHIM = "isomer_fail_call.so"
WRITTEN = "written"  # an output's content before
ALL_KINDS = ("open", "read", "write", "fsync", "rename", "truncate", "mmap", "malloc", "fork", "poll", "mkdir")
TEXTS = {
    "branches": """<ir_version: 8, opset_import: ["": 18]> g (float[1, 8, 8, 8] x) => (float[1, 8, 8, 8] y)
        <float[8, 8, 3, 3] w = {}, float[8, 8, 1, 1] v = {}> { a = Conv<pads = [1, 1, 1, 1]>(x, w) b = Conv(x, v) c = Add(a, b) y = Relu(c) }""",
    "body": """<ir_version: 8, opset_import: ["": 18]> g (float[4, 8] x, bool c) => (float[4, 6] y) <float[8, 6] w = {}, float[8, 6] v = {}> {
        y = If(c)<then_branch = t () => (float[4, 6] p) { a = MatMul(x, w) b = MatMul(x, v) p = Add(a, b) },
                  else_branch = e () => (float[4, 6] q) { q = MatMul(x, w) }> }""",
}
TEXTS["external"] = TEXTS["branches"]


def text_model(name):
    """The model of a text, with drawn weights."""
    text = TEXTS[name]
    draw = np.random.default_rng(3)
    shapes = [[int(d) for d in dims.split(",")] for dims in re.findall(r"float\[([\d, ]+)\] \w+ = \{\}", text)]
    model = parser.parse_model(re.sub(r"<float\[[\d, ]+\] \w+ = \{\}(?:, float\[[\d, ]+\] \w+ = \{\})*>", "", text))
    names = re.findall(r"(\w+) = \{\}", text)
    model.graph.initializer.extend(numpy_helper.from_array(draw.normal(size=s).astype(np.float32), n) for n, s in zip(names, shapes))
    return model


def write_models(folder, name):
    """in.onnx, equal.onnx, other.onnx (one weight differs), and what optimize makes of in.onnx."""
    model, other = text_model(name), text_model(name)
    data = numpy_helper.to_array(other.graph.initializer[0]).copy()
    data.flat[1] += 1.0
    other.graph.initializer[0].CopyFrom(numpy_helper.from_array(data, other.graph.initializer[0].name))
    for file, message in (("in", model), ("other", other)):
        more = {"save_as_external_data": True, "location": f"{file}.data", "size_threshold": 0} if name == "external" else {}
        onnx.save(message, folder / f"{file}.onnx", **more)
    for source, out in (("in", "equal"), ("other", "other_equal")):
        ran = programs.run([programs.program("isomer"), "optimize", folder / f"{source}.onnx", "-o", folder / f"{out}.onnx", "--judge", "cost", "--quiet"])
        if ran.code != 0 or not (folder / f"{out}.onnx.cert").exists():
            sys.exit(f"{name}: optimize finds nothing to do: {ran.stdout}{ran.stderr}")


# What is run: its words, the files it writes, and whether exit 0 would be a falsehood.
COMMANDS = {
    "optimize": (["optimize", "in.onnx", "-o", "out.onnx", "--judge", "cost", "--quiet"], ("out.onnx", "out.onnx.cert"), False),
    "measured": (["optimize", "in.onnx", "-o", "out.onnx", "--budget", "2s", "--quiet"], ("out.onnx", "out.onnx.cert"), False),
    "inspect": (["inspect", "in.onnx"], (), False),
    "prove": (["prove", "in.onnx", "equal.onnx"], (), False),
    "prove falsehood": (["prove", "in.onnx", "other.onnx"], (), True),
    "check": (["check", "in.onnx", "equal.onnx", "equal.onnx.cert"], (), False),
    "check falsehood": (["check", "in.onnx", "other_equal.onnx", "equal.onnx.cert"], (), True),
    "explain": (["explain", "equal.onnx.cert"], (), False),
    "compare": (["compare", "in.onnx", "equal.onnx"], (), False),
    "compile": (["compile", "in.onnx", "-o", "out.compiled", "--seconds", "0", "--max-error-growth", "0"], ("out.compiled/interface.json",), False),
    "bench": (["bench", "in.onnx", "--seconds", "0.2"], (), False),
    "gate": (["gate", "in.onnx", "other.onnx", "--equal", "--seconds", "0.2"], (), True),
}


SLOW = {"measured", "compile", "bench", "gate"}  # seconds each
REFUSED = {("body", "compile")}  # control flow has no loops yet


class Bench:
    """A command over a model in folders of its own, undisturbed or with one call failing."""

    def __init__(self, name, model, root):
        self.name, self.words, self.outputs, self.is_false = name, *COMMANDS[name]
        self.model, self.root = model, root
        self.only_run = []  # of results that were only run and neither checked nor proved: what the checker and the prover say
        self.inputs = {p.name: digest(p) for p in model.iterdir()}
        counts = root / "counts"
        ran, folder = self.run({"ISOMER_FAIL_COUNTS": str(counts)}, None)
        self.code = ran.returncode
        self.whole = {o: {digest(folder / o), without_stamp(folder / o)} for o in self.outputs}
        if self.is_false == (self.code == 0):
            sys.exit(f"{name} undisturbed: exit {self.code}: {ran.stderr}")
        lines = [line.split() for line in counts.read_text().splitlines()]
        own = [line for line in lines if line[0] == "isomer"][-1]
        self.calls = {kind: int(count) for kind, count in (entry.split("=") for entry in own[1:])}
        counts.unlink()
        shutil.rmtree(folder)

    def run(self, environment, before, seconds=SECONDS):
        """The process, and the folder that it ran in. before: what stands where the outputs go."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.root))
        for file in self.model.iterdir():
            shutil.copy(file, folder)
        for output in self.outputs if before else ():
            (folder / output).parent.mkdir(exist_ok=True)
            (folder / output).write_text(before)
        shim = pathlib.Path(programs.program("isomer")).parent / "tests" / SHIM
        ran = subprocess.run([programs.program("isomer"), *self.words], cwd=folder, capture_output=True, text=True, errors="replace", timeout=seconds,
                             env=os.environ | environment | {"LD_PRELOAD": str(shim), "ISOMER_FAIL_IN": "isomer"}, check=False)
        return ran, folder

    def why_not_whole(self, folder):
        """Another result than undisturbed (a proof had no memory, a measurement went otherwise) is as good if the checker takes it, it is proved anew, or,
        where its certificate is gone and the proof is too long, it does the same on ONNX Runtime. None: it is; else what each of them says."""
        if "out.onnx" not in self.outputs or not (folder / "out.onnx").is_file():
            return "there is none"
        files = [str(folder / file) for file in ("in.onnx", "out.onnx", "out.onnx.cert")]
        said = []
        for command in ([programs.program("isomer-check"), *files], [programs.program("isomer"), "prove", *files[:2], "--budget", "30s"]):
            ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            if ran.returncode == 0:
                return None
            said.append((ran.stdout + ran.stderr)[-100:])
        try:
            before, after = (onnxruntime.InferenceSession(f, providers=["CPUExecutionProvider"]) for f in files[:2])
            draw = np.random.default_rng(4)
            feeds = {i.name: draw.normal(size=i.shape).astype(np.float32) if "float" in i.type else np.array(True) for i in before.get_inputs()}
            if all(np.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in zip(before.run(None, feeds), after.run(None, feeds), strict=True)):
                self.only_run.append(repr(said))
                return None
            said.append("other outputs")
        except Exception as error:  # noqa: BLE001 - whatever the runtime says
            said.append(str(error)[-100:])
        return repr(said)

    def fault(self, call):
        """What is wrong after this call has failed (None: nothing), and in one word how it ended."""
        old = sum(map(ord, call)) % 2 == 0  # by turns
        for seconds in (SECONDS, 6 * SECONDS):  # a machine that others use may be slow
            try:
                ran, folder = self.run({"ISOMER_FAIL": call}, WRITTEN if old else None, seconds)
                break
            except subprocess.TimeoutExpired:
                continue
        else:
            return f"{seconds} s and no end", "hangs"
        wrong, end = [], "done" if ran.returncode == self.code else "refused"
        if ran.returncode == 0 and self.is_false:
            wrong.append("a falsehood is called true")
        elif ran.returncode < 0:
            wrong.append(f"signal {-ran.returncode}: {ran.stderr[-200:]!r}")
        elif ran.returncode != self.code and not LINE.match(ran.stderr):
            wrong.append(f"exit {ran.returncode} without one clear line: {ran.stderr[-200:]!r}")
        before = {hashlib.sha256(WRITTEN.encode()).hexdigest()} if old else {"absent"}
        if self.name == "compile":
            before.add("absent")  # removed first: beside a new library an old description would be wrong
        for output, whole in self.outputs and self.whole.items():
            states = {digest(folder / output), without_stamp(folder / output)}
            is_whole, why = bool(states & whole), ""
            if not is_whole and (ran.returncode == 0 or output == "out.onnx") and not states & before:
                why = self.why_not_whole(folder)
                is_whole = why is None
            if ran.returncode == 0 and not is_whole and self.code == 0:
                wrong.append(f"exit 0, but {output} is not what it should be: {why}")
            elif not is_whole and not states & before:
                wrong.append(f"{output} is neither whole nor as it was before: {why}")
        wrong += [f"{file} changed" for file, was in self.inputs.items() if digest(folder / file) != was]
        if leftovers(folder):
            end += ", temporaries"
        shutil.rmtree(folder)
        return "; ".join(wrong) or None, end


def chosen_calls(bench, kinds, mallocs, draw):
    """KIND:N for one failure, KIND:N+ for all from there on."""
    for kind in kinds:
        count = bench.calls[kind]
        numbers = range(1, count + 1)
        if mallocs is not None and count > mallocs:
            numbers = sorted(draw.sample(numbers, mallocs))
        for number in numbers:
            yield f"{kind}:{number}"
            if kind not in ("malloc", "poll"):  # with no memory at all, or never an answer, there is nothing to learn from
                yield f"{kind}:{number}+"


def main():
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--every", action="store_true")
    given.add_argument("--mallocs", type=int, default=200)
    given.add_argument("--slow", type=int, default=12, help="of commands that measure or compile: calls of each kind")
    given.add_argument("--results", type=pathlib.Path)
    given.add_argument("--earlier", type=pathlib.Path)
    given.add_argument("--for", dest="time", type=float, default=float("inf"), metavar="SECONDS")
    given.add_argument("--commands", default=",".join(COMMANDS))
    given.add_argument("--models", default=",".join(TEXTS))
    given.add_argument("--kinds", default=",".join(ALL_KINDS))
    given.add_argument("--jobs", type=int, default=2)
    given.add_argument("--seed", type=int, default=1)
    given.add_argument("--check", action="store_true")
    reliability.add_option(given)
    given = given.parse_args()
    if given.check:
        given.mallocs, given.models = 6, "external"
        given.commands = "optimize,inspect,prove,prove falsehood,check,check falsehood,compare"
    most = None if given.every else given.mallocs
    results, end = Records(given.results, "model", "command"), time.monotonic() + given.time
    with tempfile.TemporaryDirectory(prefix="isomer_faults_") as name, ThreadPoolExecutor(given.jobs) as pool:
        for model in given.models.split(","):
            folder = pathlib.Path(name) / model
            folder.mkdir()
            write_models(folder, model)
            for command in given.commands.split(","):
                if (model, command) in REFUSED or (model, command) in results or time.monotonic() > end:
                    continue
                bench = Bench(command, folder, pathlib.Path(name))
                draw = random.Random(f"{given.seed} {model} {command}")
                calls = list(chosen_calls(bench, given.kinds.split(","), given.slow if command in SLOW and most else most, draw))
                ends, faults = collections.Counter(), []
                for call, (wrong, how) in zip(calls, pool.map(bench.fault, calls)):
                    ends[how] += 1
                    if wrong:
                        faults.append(f"{model}, {command}, {call}: {wrong.replace(name, '...')}")
                        print(faults[-1], file=sys.stderr, flush=True)
                results.add({"model": model, "command": command, "calls": sum(bench.calls.values()), "failed": len(calls), "faults": faults, "ends": ends,
                             "only_run": bench.only_run})
    rows = list(results.all.values())
    faults = [f for r in rows for f in r["faults"]]
    earlier = [f for r in Records(given.earlier, "model", "command").all.values() for f in r["faults"]] if given.earlier else []
    unseen = [f for f in earlier if f not in faults]
    print("".join(f"wrong in an earlier run, not seen again: {f}\n" for f in unseen), end="")
    table = [(r["model"], r["command"], r["calls"], r["failed"], *(r["ends"].get(e, 0) for e in ENDS)) for r in rows]
    programs.print_table(("model", "command", "calls", "failed in turn", *ENDS), table)
    print(f"{sum(row[3] for row in table)} failures of {len(given.kinds.split(','))} kinds, seed {given.seed}: {len(faults)} faults")
    print("\n".join(faults))
    limits = "" if given.every else f"of kinds with more than {most} calls, {most} are drawn, and of commands that measure or compile {given.slow}"
    reliability.record(given.record, "system_faults", sum(row[3] for row in table), faults, limits,
                       kinds=len(given.kinds.split(",")), commands=len({row[1] for row in table}), models=len({row[0] for row in table}),
                       results_that_were_only_run=sum(len(r.get("only_run", ())) for r in rows),
                       wrong_in_an_earlier_run_and_not_seen_again=len(unseen),
                       begun_with_build=(results.head or {}).get("build", "this one"),
                       **{end.replace(",", " with").replace(" ", "_"): sum(row[4 + k] for row in table) for k, end in enumerate(ENDS)})
    return 1 if faults else 0


ENDS = ("done", "refused", "done, temporaries", "refused, temporaries", "hangs")

if __name__ == "__main__":
    sys.exit(main())
