#!/usr/bin/env python3
# nightly judge_faults: faults --check | timeout=900 unsanitized
# nightly judge_hostile: hostile --check | timeout=900 unsanitized
# nightly judge_cache: cache --check | timeout=900 unsanitized
"""What kills a worker or a process does not kill the judge or the cache.

  tests/evidence/judge_robust.py faults [--count 300]    workers made to die in every way, at random moments
  tests/evidence/judge_robust.py hostile                 the models of ../shared/hostile, straight to the runtime
  tests/evidence/judge_robust.py cache [--seconds 60]    8 processes share a cache, one is killed every few seconds
--check: a short form for ctest. --record FILE.jsonl keeps the figures.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

import onnx

import _paths  # noqa: F401
import reliability

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("ISOMER_SHARED", ROOT.parent / "shared"))
BUILD = pathlib.Path(os.environ.get("ISOMER", ROOT / "build/release/isomer")).parent
JUDGE = BUILD / "isomer-judge"
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
  g (float[64, 4096] x) => (float[64, 4096] y) { a = Erf(x) b = Erf(a) y = Erf(b) }"""


def workers(parent=None):
    """Worker processes by pid, with their state (Z is a zombie): all, or the children of one process."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        state, owner = rest.split()[:2]
        if name == "isomer-worker" and parent in (None, int(owner)):
            found[int(entry.name)] = state
    return found


def temporary_files():
    return set(pathlib.Path(os.environ["TMPDIR"]).rglob("*")) | set(pathlib.Path("/dev/shm").glob("*isomer*"))


def run_watched(command, text=""):
    """Runs it; its output, the most zombies it had, and what it left: workers that still run, and files."""
    before = temporary_files()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    output = []
    reader = threading.Thread(target=lambda: output.append(process.communicate(text)[0]))
    reader.start()
    zombies, seen = 0, set()
    while reader.is_alive():
        first = workers(process.pid)
        seen |= set(first)
        time.sleep(0.2)  # a zombie that is reaped at once is none
        second = workers(process.pid)
        zombies = max(zombies, sum(first.get(pid) == "Z" == state for pid, state in second.items()))
    reader.join()
    time.sleep(1)  # the kernel needs a moment to end what it killed
    running = [pid for pid, state in workers().items() if pid in seen and state != "Z"]
    return process.returncode, output[0], zombies, running, sorted(map(str, temporary_files() - before))


def faults(folder, count, record):
    model = f"{folder}/model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), model)
    code, output, zombies, processes, files = run_watched([JUDGE, "faults", str(count), model])
    answer = json.loads(output or "{}")
    print(f"faults: {answer.get('survived', 0)} of {count} survived; {zombies} zombies; left: {len(processes)} processes, "
          f"{len(files)} files {files or ''}")
    for kind, seen in answer.get("seen", {}).items():
        print(f"  {kind:9} {', '.join(f'{n} {what}' for what, n in seen.items())}")
    fine = code == 0 and answer["survived"] == count and not zombies and not processes and not files
    reliability.record(record, "worker_faults", count, [] if fine else [f"{answer.get('survived', 0)} survived, {zombies} zombies, left {processes} {files}"],
                       kinds=", ".join(answer.get("seen", {})), processes_left=len(processes), files_left=len(files))
    return fine


def orphans(folder, count):
    """Judges killed in the middle of a measurement: their workers end with them."""
    pair = f"{folder}/model.onnx\t{folder}/model.onnx\n"
    left = 0
    for _ in range(count):
        process = subprocess.Popen([JUDGE, "pairs", "ort", "60"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        process.stdin.write(pair * 5)
        process.stdin.flush()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not workers(process.pid):
            time.sleep(0.05)
        time.sleep(0.3)
        mine = set(workers(process.pid))
        process.kill()
        process.wait()
        deadline = time.monotonic() + 5
        # The process that adopted it may be slow to reap it; it runs no more.
        while time.monotonic() < deadline and any(workers().get(pid, "Z") != "Z" for pid in mine):
            time.sleep(0.05)
        left += sum(workers().get(pid, "Z") != "Z" for pid in mine)
    print(f"orphans: {count} judges killed, {left} workers left")
    return left == 0


def hostile(folder, few):
    subprocess.run([sys.executable, "-B", SHARED / "hostile/make_corpus.py", folder], check=True, stdout=subprocess.DEVNULL)
    manifest = json.loads(pathlib.Path(folder, "manifest.json").read_text())
    paths = [path for path in sorted(pathlib.Path(folder).rglob("*.onnx")) if path.is_file()]
    paths = paths[::8] if few else paths
    code, output, _, processes, files = run_watched([JUDGE, "load"], "".join(f"{path}\n" for path in paths))
    rows = [json.loads(line) for line in output.splitlines()]
    outcomes = collections.Counter(row["outcome"] for row in rows)
    print(f"hostile: {len(rows)} of {len(paths)} models answered ({len(manifest)} cases): "
          f"{', '.join(f'{n} {what}' for what, n in outcomes.most_common())}; left: {len(processes)} processes, {len(files)} files")
    for row in rows:
        if row["outcome"] not in ("fine", "refused"):
            print(f"  {pathlib.Path(row['path']).parent.parent.name:32} {row['outcome']:13} {row['step']}: {row['what'][:110]}")
    return code == 0 and len(rows) == len(paths) and not processes and not files


def cache(folder, seconds, record):
    path = f"{folder}/timings.sqlite"
    end = time.monotonic() + seconds
    chance = random.Random(1)
    logs, running, kills, errors = [], [], 0, []

    def start():
        log = open(f"{folder}/log{len(logs)}", "w+")
        error = open(f"{folder}/error{len(logs)}", "w+")
        logs.append((log, error))
        left = max(0.5, end - time.monotonic())
        running.append((subprocess.Popen([JUDGE, "cache", path, str(left)], stdout=log, stderr=error), error))

    for _ in range(8):
        start()
    while time.monotonic() < end - 1:
        time.sleep(chance.uniform(0.5, 2.5))
        victim, _ = running.pop(chance.randrange(len(running)))
        victim.kill()
        victim.wait()
        kills += 1
        start()
    for process, error in running:
        if process.wait(timeout=120) != 0:
            error.seek(0)
            errors.append(error.read())
    for log, error in logs:
        error.seek(0)
        errors += [text for text in [error.read()] if text]
        log.seek(0)
    text = "".join(log.read() for log, _ in logs)
    answer = json.loads(subprocess.run([JUDGE, "check-cache", path], input=text, text=True, stdout=subprocess.PIPE,
                                       check=True).stdout)
    print(f"cache: 8 processes for {seconds:.0f} s, {kills} killed: {answer['acknowledged']} acknowledged, {answer['lost']} lost, "
          f"{answer['size']} in the file; {len(errors)} errors {errors[:2] or ''} {answer['trouble']}")
    wrong = errors + [answer["trouble"]] * bool(answer["trouble"]) + [f"{answer['lost']} lost"] * bool(answer["lost"])
    reliability.record(record, "shared_cache", answer["acknowledged"], wrong, processes=8, killed=kills, lost=answer["lost"])
    return answer["acknowledged"] > 0 and not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=["faults", "hostile", "cache"])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--check", action="store_true")
    reliability.add_option(parser)
    arguments = parser.parse_args()
    if not JUDGE.exists():
        print("skipped: isomer-judge is not built")
        return 77
    if arguments.figure == "hostile" and not (SHARED / "hostile/make_corpus.py").exists():
        print(f"skipped: no corpus at {SHARED}")
        return 77
    os.environ.setdefault("VIRTUAL_ENV", str(pathlib.Path(sys.executable).parent.parent))
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="robust") as folder:
        os.environ["TMPDIR"] = f"{folder}/tmp"  # of the processes that are started here
        os.mkdir(os.environ["TMPDIR"])
        if arguments.figure == "faults":
            fine = faults(folder, 21 if arguments.check else arguments.count, arguments.record)
            fine = orphans(folder, 2 if arguments.check else 10) and fine
        elif arguments.figure == "hostile":
            fine = hostile(folder, arguments.check)
        else:
            fine = cache(folder, 8 if arguments.check else arguments.seconds, arguments.record)
    print(f"{time.monotonic() - start:.0f} s; {'as it should be' if fine else 'NOT REACHED'}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
