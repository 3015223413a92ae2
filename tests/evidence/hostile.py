#!/usr/bin/env python3
# ci: --failures | timeout=1800 unsanitized
# ci: --failures --asan | timeout=1800 sanitized
"""Hostile and tricky models: every case of ../shared/hostile is judged by its manifest.

  tests/evidence/hostile.py [--asan] [--filter TEXT] [--corpus DIR] [--failures] [--record FILE.jsonl]
One process a case, 20 s, 8 GiB of address space (--asan: 60 s and no limit, which the sanitizer's shadow would exceed).
Every case is inspected and rewritten (with inference). Hostile: no signal, no hang, one clear line, nothing written, no file
outside the model's directory read. Legal: accepted; the written model is the same message, and on ONNX Runtime, in a child
process, its outputs are equal bit for bit. --failures prints only the rows that failed.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx

import _paths  # noqa: F401
import children
import programs
import reliability

LINE = re.compile(r"\Aisomer: [^\x00-\x1f\x7f]{5,1000}\n\Z")
CANARIES = (b"1234567", b"7654321", b"424242", b"31337.5")  # values of outside/secret.bin
RUN_SECONDS = 60  # for the runtime, in the child


# ---- in the child ---------------------------------------------------------------------------------------------------

def outputs_of(path, feeds):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # As the model says: the runtime's own rewriting breaks a legal case (x_identity_mul_one).
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    signature = [[(v.name, v.type, v.shape) for v in values] for values in (session.get_inputs(), session.get_outputs())]
    return signature, [np.asarray(value) for value in session.run(None, feeds)]


def bits(array):
    return array.tolist() if array.dtype == object else array.tobytes()


def compare_runs(say, before, after, inputs):
    """Says what differs between two models on the runtime; nothing if they are equal."""
    loaded = np.load(inputs, allow_pickle=False)
    feeds = {name: loaded[name] for name in loaded.files}
    feeds = {name: value.astype(object) if value.dtype.kind == "U" else value for name, value in feeds.items()}
    try:
        (signature_a, a), (signature_b, b) = outputs_of(before, feeds), outputs_of(after, feeds)
    except Exception as error:  # whatever the runtime says of one of them
        say(f"the runtime: {str(error)[-160:]}")
        return
    if signature_a != signature_b:
        say("the interface differs")
    for k, (x, y) in enumerate(zip(a, b)):
        if x.dtype != y.dtype or x.shape != y.shape or bits(x) != bits(y):
            say(f"output {k} differs")


# ---- in the parent --------------------------------------------------------------------------------------------------

def limited(command, asan):
    if asan:
        return command
    return ["sh", "-c", 'ulimit -v 8388608; exec "$@"', "sh", *command]


def snapshot(folder):
    """Names, kinds, sizes and times of change: what writing a file would alter."""
    return {path.relative_to(folder).as_posix(): (s.st_mode, s.st_size, s.st_mtime_ns)
            for path in folder.rglob("*") for s in [path.lstat()]}


def forget_access(path):
    """Sets the access time so far back that a file system with relatime notes the next one."""
    os.utime(path, ns=(10**18, time.time_ns()))
    return path.stat().st_atime_ns


def notes_access(folder):
    probe = folder / "probe"
    probe.write_bytes(b"x")
    before = forget_access(probe)
    probe.read_bytes()
    return probe.stat().st_atime_ns != before


def fault_of_run(ran, seconds, may_accept, may_refuse):
    """What is wrong with how the program ended, or None."""
    if ran.seconds >= seconds:
        return "hangs"
    if ran.code < 0:
        return f"dies of signal {-ran.code}"
    if ran.code == 0:
        return None if may_accept else "accepts"
    if ran.code != 2 or not may_refuse:
        return f"exit {ran.code}: {ran.stderr.strip()[-160:]}"
    if not LINE.match(ran.stderr) or ran.stdout:
        return f"refuses without one clear line: {ran.stderr.strip()[:160]!r}"
    return None


def fault_of_model(case, before, after, inputs):
    """What differs between the model and what was written of it, or None."""
    messages = [onnx.load(path, load_external_data=True) for path in (before, after)]
    if messages[0] != messages[1]:
        return "the written model is another message"
    if case["expectation"] != "equal" or not inputs.exists():
        return None
    said, ended = children.said_by(compare_runs, str(before), str(after), str(inputs), seconds=RUN_SECONDS)
    if ended is None:
        return "the runtime hangs"
    return "; ".join(said) or (f"the runtime's process ends with {ended}" if ended else None)


def judge(case, corpus, asan, access_noted):
    """(seconds, the refusal if there was one, faults)"""
    seconds = 60 if asan else 20
    may_refuse, may_accept = case["expectation"] in ("reject", "bounded"), case["expectation"] != "reject"
    base = corpus / case["name"]
    model, secret = base / "box" / "model.onnx", base / "outside" / "secret.bin"
    accessed, before = forget_access(secret), snapshot(base)
    faults, slowest, said = [], 0.0, ""
    with tempfile.TemporaryDirectory(prefix="isomer_hostile_") as folder:
        out = pathlib.Path(folder) / "out.onnx"
        for verb, command in (("inspect", [programs.program("isomer"), "inspect", str(model)]),
                              ("rewrite", [programs.program("isomer-rewrite"), "--infer", str(model), str(out)])):
            ran = programs.run(limited(command, asan), seconds)
            slowest, said = max(slowest, ran.seconds), ran.stderr.strip() or said
            if fault := fault_of_run(ran, seconds, may_accept, may_refuse):
                faults.append(f"{verb} {fault}")
            if any(canary in stream.encode() for canary in CANARIES for stream in (ran.stdout, ran.stderr)):
                faults.append(f"{verb} shows bytes from outside")
        written = list(pathlib.Path(folder).iterdir())
        if ran.code == 0 and not faults:
            if fault := fault_of_model(case, model, out, base / "inputs.npz"):
                faults.append(fault)
        elif ran.code != 0 and written:
            faults.append(f"rewrite leaves {written[0].name}")
    if access_noted and secret.stat().st_atime_ns != accessed:
        faults.append("a file outside is read")
    if snapshot(base) != before:
        faults.append("writes into the model's directory")
    return slowest, said, faults


def make_corpus(folder):
    script = programs.shared("hostile") / "make_corpus.py"
    subprocess.run([sys.executable, "-B", str(script), str(folder)], check=True, stdout=subprocess.DEVNULL)
    return json.loads((folder / "manifest.json").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--asan", action="store_true")
    parser.add_argument("--filter", default="")
    parser.add_argument("--corpus", type=pathlib.Path, help="a corpus that was made already")
    parser.add_argument("--failures", action="store_true")
    reliability.add_option(parser)
    arguments = parser.parse_args()
    programs.shared("hostile")
    with tempfile.TemporaryDirectory(prefix="isomer_corpus_") as folder:
        access_noted = notes_access(pathlib.Path(folder))
        corpus = arguments.corpus or pathlib.Path(folder) / "corpus"
        manifest = json.loads((corpus / "manifest.json").read_text()) if arguments.corpus else make_corpus(corpus)
        cases = [case for case in manifest if arguments.filter in case["name"]]
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda case: judge(case, corpus, arguments.asan, access_noted), cases))

    rows = [(case["name"], case["expectation"], round(seconds, 2), "; ".join(faults) or "ok", said.split("model.onnx: ")[-1][:90])
            for case, (seconds, said, faults) in zip(cases, results) if faults or not arguments.failures]
    programs.print_table(("case", "expects", "s", "verdict", "said"), rows)
    failed = {case["name"] for case, (_, _, faults) in zip(cases, results) if faults}
    for title, promise, kinds in (("hostile", "hostile", ("reject", "bounded")), ("legal", "tricky", ("equal", "random", "opaque"))):
        names = [case["name"] for case in cases if case["expectation"] in kinds]
        passed = sum(name not in failed for name in names)
        print(f"{title}: {passed} of {len(names)}")
        faults = [f"{case['name']}: {'; '.join(found)}" for case, (_, _, found) in zip(cases, results) if found and case["name"] in names]
        reliability.record(arguments.record, promise, len(names), faults, "each is inspected and written again; other commands read models by the same code",
                           sanitizer="yes" if arguments.asan else "no", slowest_seconds=round(max((s for s, _, _ in results), default=0), 1))
    print(f"slowest: {max((seconds for seconds, _, _ in results), default=0):.2f} s; reads outside the directory "
          f"{'are noted by access times' if access_noted else 'are not checked: no access times on this file system'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
