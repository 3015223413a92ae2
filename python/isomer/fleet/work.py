"""What a machine of the fleet does with a task: the plain `isomer` command in a process of its own; its files are the result.

Nothing here needs Ray. A task is a dict: `id`, `kind`, `command` (arguments of isomer; {out} is a folder of its own, {place} the fleet's
folder), `seconds` after which the process is ended.
"""
import ctypes
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from . import protocol
from .places import Clock, place

MOST_EPOCHS = 6  # a task is begun at most this often; one that always takes its machine down is reported as failed
LAST_WORDS = 2000  # characters of a command's stderr, kept with its result


def die_with_parent():
    """In a child: ends when the process that started it does, however that ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Process:
    """A command that runs beside its machine's beats; `poll` is the `work` of protocol.drive."""

    def __init__(self, task, where, isomer):
        self.task, self.where, self.isomer = task, where, isomer
        self.folder = self.process = None

    def poll(self, task, epoch):
        if self.process is None:
            self._start()
        if self.process.poll() is None:
            if time.monotonic() < self.end:
                return None
            self._stop()
        return self._result()

    def _start(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="isomer-fleet-"))
        arguments = [a.format(out=self.folder, place=self.where) for a in self.task["command"]]
        self.end = time.monotonic() + self.task["seconds"]
        with open(self.folder / "stdout", "wb") as out, open(self.folder / "stderr", "wb") as err:
            self.process = subprocess.Popen([self.isomer, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            start_new_session=True, preexec_fn=die_with_parent)  # noqa: PLW1509

    def _stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def close(self):
        """Ends what still runs, and takes its files away."""
        if self.process is not None and self.process.poll() is None:
            self._stop()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _result(self):
        """Files are written before the list that names them."""
        files = {}
        store = place(self.where)
        for path in sorted(p for p in self.folder.rglob("*") if p.is_file() and p.name != "stderr"):
            data = path.read_bytes()
            name = protocol.digest(data)
            store.write(f"objects/{name}", data)
            files[path.relative_to(self.folder).as_posix()] = name
        words = (self.folder / "stderr").read_text(encoding="utf-8", errors="replace")[-LAST_WORDS:]
        # The same work has the same result, byte by byte: it contains nothing about the machine.
        exit_code = self.process.returncode
        return json.dumps({"exit": exit_code, "files": files, "stderr": words if exit_code else ""}, sort_keys=True).encode()


def patient_claim(task, worker, lease):
    """Waits until a task is this worker's or done: its epoch, or None."""
    watch = protocol.Watch(lease)
    while True:
        if (yield from protocol.is_done(task)) is not None:
            return None
        epoch = yield from protocol.claim(task, worker, watch)
        if epoch is not None:
            return epoch
        yield protocol.Sleep(min(1.0, lease / 4))


def perform(task, where, isomer, lease=protocol.LEASE):
    """A task from claim to commit on this machine: the record of its result."""
    worker = f"{socket.gethostname()}.{os.getpid()}.{time.time_ns()}"
    store, clock = place(where), Clock()
    process = Process(task, where, isomer)
    try:
        epoch = protocol.drive(patient_claim(task["id"], worker, lease), store, clock)
        if epoch is not None:
            if epoch > MOST_EPOCHS:
                data = json.dumps({"exit": -1, "files": {}, "stderr": f"begun {MOST_EPOCHS} times, and never ended"}, sort_keys=True).encode()
                protocol.drive(protocol.commit(task["id"], worker, epoch, data), store, clock)
            else:
                protocol.drive(protocol.perform(task["id"], worker, epoch, min(protocol.BEAT, lease / 4)), store, clock, process.poll)
        return protocol.drive(protocol.is_done(task["id"]), store, clock)
    finally:
        process.close()


def result_of(record, store):
    """What a record names: exit code, files by name (digests), last words."""
    return json.loads(store.read(f"objects/{record['object']}"))


def processor():
    """The processor's name and a digest of its features."""
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    lines = dict(line.split(":", 1) for line in text.split("\n\n")[0].splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in lines.items()}
    flags = " ".join(sorted(fields.get("flags", fields.get("Features", "")).split()))
    return f"{fields.get('model name', 'unknown')} {protocol.digest(flags.encode())[:8]}"


def probe(isomer, model, seconds, runtime):
    """What a machine is, and whether it measures evenly: a model against itself. `trouble`: why it should be left out."""
    version = subprocess.run([isomer, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    out = {"fingerprint": os.environ.get("ISOMER_FLEET_FINGERPRINT", f"{version}; {processor()}"), "trouble": ""}
    if model is None:
        return out
    command = [isomer, "bench", model, model, "--seconds", str(seconds), "--json", *(["--runtime", runtime] if runtime else [])]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, preexec_fn=die_with_parent)  # noqa: PLW1509
    if ran.returncode not in (0, 1):
        return out | {"trouble": f"it can't measure: {ran.stderr.strip()[-300:]}"}
    answer = json.loads(ran.stdout)
    out["fingerprint"] += f"; {answer['runtime']} {answer['version']}"
    pair = answer["pairs"][0]
    if not pair["low"] <= 1 <= pair["high"]:
        out["trouble"] = f"a model compared with itself has the ratio {pair['ratio']:.3f} there [{pair['low']:.3f}, {pair['high']:.3f}]"
    return out
