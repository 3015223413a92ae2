#!/usr/bin/env python3
# nightly: --check | unsanitized
"""One process that optimizes for hours, beside others that are killed, interrupted and given damaged files: nothing grows, nothing is left.

  tests/evidence/soak.py [--minutes 60] [--seed 1] [--filled FOLDER] [--record FILE.jsonl] [--check]
The process is one that has loaded libisomer.so (library_host.py): it optimizes, checks and proves, by cost and with the runtime, with damaged models among
those that it is given. Beside it `isomer optimize` is run on the same cache: undisturbed, killed, interrupted, its worker killed, its model damaged, the cache
damaged. After every tenth, when all is quiet: resident memory, open files, threads and children of the process; processes of ours anywhere, files in our
temporary folder and beside the outputs, shared memory, locks. Wrong is what is more than at the beginning, memory that grows from the second quarter of
the time to the last by more than a tenth, a result that the checker does not accept, a model that changed, a damaged model without an error.
Models: small ones made here, and those of --filled (zoo models with weights) that are no larger than a few megabytes. --check: half a minute, for ctest.
"""
import argparse
import collections
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import onnx

import _paths  # noqa: F401
import programs
import reliability
import small_models
from attack.random_models import Builder
from library_host import Died, Failed, Host
from system_faults import text_model
from written_files import digest, leftovers

LARGEST = 8 << 20  # bytes of a zoo model
SECONDS = 2  # of one search
SAMPLE = 10
PATIENCE = 900  # a long run may be stopped for a while
MARK = "ISOMER_SOAK"
GROWTH, SLACK = 1.1, 4 << 20  # of memory, from the second quarter to the last


def models(folder, filled):
    """Paths by name."""
    folder.mkdir()
    made = {"branches": small_models.branches(1), "clutter": small_models.clutter(), "plain": small_models.plain(), "body": text_model("body")}
    made |= {f"random{k}": Builder(f"soak {k}").model().proto() for k in range(8)}
    for name, model in made.items():
        onnx.save(model, folder / f"{name}.onnx")
    onnx.save(text_model("branches"), folder / "external.onnx", save_as_external_data=True, location="external.data", size_threshold=0)
    found = {p.stem: p for p in sorted(folder.glob("*.onnx"))}
    for path in sorted(filled.glob("*/model.onnx")) if filled else ():
        if sum(p.stat().st_size for p in path.parent.iterdir()) <= LARGEST:
            found[path.parent.name] = path
    return found


# ---- what is there -----------------------------------------------------------------------------------------------------

def status(process):
    text = pathlib.Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return {line.split(":")[0]: line.split(":")[1].split()[0] for line in text.splitlines() if ":" in line and line.split(":")[1].split()}


def children(process):
    tasks = pathlib.Path(f"/proc/{process}/task")
    return [c for t in tasks.iterdir() for c in (t / "children").read_text(encoding="ascii").split()]


def marked(mark):
    """Processes that run with our mark, with any parent."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:  # it ended, or is not ours to read
            continue
    return found


def locks(root):
    """The size of all files below a folder."""
    inodes = {str(p.stat().st_ino) for p in root.rglob("*") if p.is_file()}
    lines = [line.split() for line in pathlib.Path("/proc/locks").read_text(encoding="ascii").splitlines()]
    return sum(any(word.rpartition(":")[2] in inodes for word in line if word.count(":") == 2) for line in lines)


# ---- the soak ------------------------------------------------------------------------------------------------------------

class Soak:
    def __init__(self, root, draw, sources):
        self.draw, self.sources, self.wrong, self.counts, self.samples = draw, sources, [], collections.Counter(), []
        self.refused = self.refused_runtime = self.too_early = 0
        self.box, self.temporary, self.cache = root / "box", root / "tmp", root / "cache.sqlite"
        self.root = root
        for folder in (self.box, self.temporary):
            folder.mkdir()
        self.mark = f"{os.getpid()}"
        os.environ |= {"TMPDIR": str(self.temporary), MARK: self.mark}
        self.digests = {name: digest(path) for name, path in sources.items()}
        self.shared = set(os.listdir("/dev/shm"))
        self.host = Host(programs.program("isomer"))

    def fault(self, what):
        self.wrong.append(what)
        print(what, flush=True)

    # ---- the process that lasts
    def by_library(self):
        name, path = self.draw.choice(list(self.sources.items()))
        out, proof = self.box / "library.onnx", self.box / "library.cert"
        judge = "runtime" if self.draw.random() < 0.3 else "cost"
        self.counts[f"library {judge}"] += 1
        ask = {"model": str(path), "out": str(out), "certificate": str(proof)}
        self.host.ask(PATIENCE, do="optimize", seconds=SECONDS, judge=judge, cache=str(self.cache), **ask,
                      strategy=self.draw.choice(("greedy", "greedy", "saturate", "backtrack:1.3", "backtrack:1.05")))
        if not self.host.ask(PATIENCE, do="check", **ask)["accepted"]:
            self.fault(f"library, {name}: the checker does not accept it")
        if self.draw.random() < 0.2 and self.host.ask(PATIENCE, do="prove", a=str(path), b=str(out), seconds=1)["verdict"] == "refuted":
            self.fault(f"library, {name}: refuted")

    def damaged(self):
        """A model with something cut or flipped."""
        data = bytearray(self.draw.choice([p for p in self.sources.values() if p.stat().st_size < LARGEST]).read_bytes())
        if self.draw.random() < 0.5:
            del data[self.draw.randrange(len(data)):]
        for _ in range(self.draw.choice((1, 8, 64))):
            if data:
                data[self.draw.randrange(len(data))] = self.draw.randrange(256)
        path = self.box / "damaged.onnx"
        path.write_bytes(data)
        return path

    def damaged_by_library(self):
        self.counts["library damaged model"] += 1
        try:
            self.host.ask(PATIENCE, do="optimize", model=str(self.damaged()), out=str(self.box / "never.onnx"), seconds=SECONDS)
        except Failed:
            self.refused += 1

    # ---- processes that come and go
    def command(self, path, *more):
        words = [programs.program("isomer"), "optimize", str(path), "-o", str(self.box / "out.onnx"), "--budget", f"{SECONDS}s", "--quiet",
                 "--cache", str(self.cache), *more]
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def ended(self, process, name):
        try:
            _, said = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.fault(f"{name}: no end")
            return None
        return process.returncode, said.strip()[-200:]

    def accepted(self, name, path):
        ran = programs.run([programs.program("isomer-check"), path, self.box / "out.onnx", self.box / "out.onnx.cert"], PATIENCE)
        if ran.code != 0:
            self.fault(f"{name}: not accepted: {ran.stdout}{ran.stderr}")

    def outputs(self):
        return [digest(self.box / name) for name in ("out.onnx", "out.onnx.cert", "out.onnx.data")]

    def undisturbed(self):
        name, path = self.draw.choice(list(self.sources.items()))
        self.counts["command"] += 1
        end = self.ended(self.command(path, *self.draw.choice(((), ("--judge", "cost")))), name)
        if end and end[0] != 0:
            self.fault(f"command, {name}: exit {end[0]}: {end[1]}")
        elif end:
            self.accepted(f"command, {name}", path)

    def disturbed(self):
        name, path = self.draw.choice(list(self.sources.items()))
        how = self.draw.choice(("killed", "interrupted", "terminated", "worker killed"))
        self.counts[how] += 1
        before = self.outputs()
        process = self.command(path)
        time.sleep(self.draw.uniform(0.02, SECONDS))
        if how == "worker killed":
            try:
                for child in children(process.pid):
                    os.kill(int(child), signal.SIGKILL)
            except OSError:  # it ended
                pass
        elif process.poll() is None:
            process.send_signal({"killed": signal.SIGKILL, "interrupted": signal.SIGINT, "terminated": signal.SIGTERM}[how])
        end = self.ended(process, name)
        if end and end[0] == 0:
            self.accepted(f"{how}, {name}", path)
        elif end and how == "worker killed" and end[0] == 2 and "it kills the runtime" in end[1]:
            self.refused_runtime += 1  # it died of the model itself, as far as one can see
        elif end and end[0] in (-signal.SIGINT, -signal.SIGTERM) and self.outputs() == before:
            self.too_early += 1  # it was being loaded: no handler was installed yet
        elif end and how != "killed":
            self.fault(f"{how}, {name}: exit {end[0]}: {end[1]}")

    def damaged_by_command(self):
        self.counts["command damaged model"] += 1
        end = self.ended(self.command(self.damaged(), "--judge", "cost"), "damaged")
        if end and (end[0] < 0 or end[0] != 0 and not end[1]):
            self.fault(f"damaged model: exit {end[0]}: {end[1]}")

    def damaged_cache(self):
        """Noise in it, or nothing; both go on with what is left of it."""
        self.counts["damaged cache"] += 1
        data = bytearray(self.cache.read_bytes() if self.cache.exists() else b"")
        if self.draw.random() < 0.2 or not data:
            self.cache.unlink(missing_ok=True)
            return
        for _ in range(self.draw.choice((1, 64, 1000))):
            data[self.draw.randrange(len(data))] = self.draw.randrange(256)
        self.cache.write_bytes(data)

    # ---- what has become of us
    def wait_for_workers(self, host):
        """Those of a process that was killed need a moment to end, and hold its files until then."""
        end = time.monotonic() + 10
        while set(marked(self.mark)) - {host, os.getpid()} and time.monotonic() < end:
            time.sleep(0.05)

    def sample(self):
        host = self.host.process.pid
        self.wait_for_workers(host)
        self.undisturbed()  # sweeps up after those that were killed
        self.wait_for_workers(host)
        told = status(host)
        now = {"rss": int(told["VmRSS"]) << 10, "threads": int(told["Threads"]), "files": len(os.listdir(f"/proc/{host}/fd")), "children": len(children(host)),
               "processes": len([p for p in marked(self.mark) if p not in (host, os.getpid())]),
               "temporaries": len(list(self.temporary.iterdir())) + len(leftovers(self.box)), "locks": locks(self.root),
               "shared memory": len([n for n in set(os.listdir("/dev/shm")) - self.shared if "isomer" in n])}
        self.samples.append(now)
        first = self.samples[0]
        for what in ("threads", "files", "children", "processes", "temporaries", "locks", "shared memory"):
            if now[what] > first[what]:
                self.fault(f"{what}: {now[what]} after {sum(self.counts.values())} runs, {first[what]} at first: {list(self.temporary.iterdir())[:3]}")
        for name, path in self.sources.items():
            if digest(path) != self.digests[name]:
                self.fault(f"{name} changed")

    def step(self):
        kind = self.draw.random()
        does = (self.by_library if kind < 0.5 else self.undisturbed if kind < 0.6 else self.disturbed if kind < 0.8 else self.damaged_by_library if kind < 0.9
                else self.damaged_by_command if kind < 0.95 else self.damaged_cache)
        try:
            does()
        except Failed as error:
            self.fault(f"{does.__name__}: {error}")
        except Died as error:
            self.fault(f"the process died: {does.__name__}: {error}")

    def run(self, end):
        self.by_library()
        self.sample()
        while time.monotonic() < end and len(self.wrong) < 20:
            for _ in range(SAMPLE):
                self.step()
                if time.monotonic() > end:
                    break
            self.sample()
        memory = [s["rss"] for s in self.samples]
        if len(memory) >= 8:
            early, late = (statistics.median(part) for part in (memory[len(memory) // 4:len(memory) // 2], memory[3 * len(memory) // 4:]))
            if late > GROWTH * early + SLACK:
                self.fault(f"memory: {early / 2**20:.0f} MiB in the second quarter, {late / 2**20:.0f} MiB in the last")
        if self.host.end() != 0:
            self.fault("the process does not end as it should")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    reliability.add_option(parser)
    given = parser.parse_args()
    if not (pathlib.Path(programs.program("isomer")).parent / "libisomer.so").exists():
        print("no libisomer.so is built: skipped")
        return programs.SKIPPED
    minutes = 0.4 if given.check else given.minutes
    with tempfile.TemporaryDirectory(prefix="isomer_soak_") as name:
        root = pathlib.Path(name)
        soak = Soak(root, random.Random(given.seed), models(root / "models", given.filled))
        soak.run(time.monotonic() + 60 * minutes)
    memory = [s["rss"] / 2**20 for s in soak.samples]
    last, quarter = soak.samples[-1], max(1, len(memory) // 4)
    runs = sum(soak.counts.values())
    print(f"{runs} runs over {len(soak.sources)} models, {len(soak.wrong)} faults: {dict(soak.counts)}")
    print(f"memory {memory[0]:.0f} MiB at first, {max(memory):.0f} at most, {memory[-1]:.0f} at last; {last}")
    reliability.record(given.record, "soak", runs, soak.wrong, "" if minutes >= 24 * 60 else "hours that there were, not a day", models=len(soak.sources),
                       by_the_lasting_process=sum(n for k, n in soak.counts.items() if k.startswith("library")),
                       killed_or_interrupted=sum(soak.counts[k] for k in ("killed", "interrupted", "terminated", "worker killed")),
                       damaged=sum(n for k, n in soak.counts.items() if "damaged" in k), of_the_models_among_them_refused_by_the_lasting_process=soak.refused,
                       refused_as_the_worker_was_killed_at_its_first_load=soak.refused_runtime, ended_while_being_loaded=soak.too_early, samples=len(memory),
                       MiB_in_the_second_quarter=round(statistics.median(memory[quarter:2 * quarter] or memory)),
                       MiB_in_the_last=round(statistics.median(memory[-quarter:])), open_files_at_first_and_last=f"{soak.samples[0]['files']}, {last['files']}",
                       threads_at_first_and_last=f"{soak.samples[0]['threads']}, {last['threads']}",
                       left=", ".join(f"{last[k]} {k}" for k in ("processes", "temporaries", "locks", "shared memory")))
    return 1 if soak.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
