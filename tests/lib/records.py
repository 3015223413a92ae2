"""Answers that outlive an interruption: lines of JSON in a file, the first of which says what made them (bench/results/README.md)."""
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

import programs


def machine():
    """The processor's name; on other systems than Linux its architecture."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def build():
    """The commit that the command was built from: what a file `commit` beside it says, as copies of it have, else that of the tree in which it lies."""
    folder = pathlib.Path(programs.program("isomer")).parent
    if (folder / "commit").exists():
        return (folder / "commit").read_text(encoding="utf-8").strip()
    git = subprocess.run(["git", "-C", str(folder), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return git.stdout.strip() or "unknown"


def head():
    """What made a file of records. Only the last name of a folder is kept, so that a result does not contain the place of the measurement."""
    import onnxruntime
    arguments = [pathlib.Path(a).name if a.startswith("/") else a for a in sys.argv[1:]]
    script = pathlib.Path(sys.argv[0]).resolve()
    name = script.relative_to(programs.ROOT) if script.is_relative_to(programs.ROOT) else script.name
    return {"command": " ".join([str(name), *arguments]), "build": build(), "processor": machine(),
            "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "onnxruntime": onnxruntime.__version__, "date": datetime.date.today().isoformat()}


class Records:
    """Records by key, kept in a file of lines if there is one: a second run goes on where the first was stopped.

    What another build adds follows a head of its own.
    """

    def __init__(self, path, *fields):
        self.path, self.fields, self.all, self.head, self._own_head = path, fields, {}, None, None
        if path and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                if "head" in record:
                    self.head = record["head"]
                else:
                    self._take(record)

    def _take(self, record):
        self.all[tuple(record[f] for f in self.fields)] = record

    def __contains__(self, key):
        return key in self.all

    def add(self, record):
        self._take(record)
        if self.path:
            self._own_head = self._own_head or head()
            is_new = not self.path.exists() or (self.head or {}).get("build") != self._own_head["build"]
            with self.path.open("a", encoding="utf-8") as file:
                if is_new:
                    self.head = self._own_head
                    file.write(json.dumps({"head": self.head}, ensure_ascii=False) + "\n")
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
