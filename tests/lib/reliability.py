"""What was tried of a promise, how often, and what went wrong: lines of bench/results/reliability.jsonl, from which docs/developers/reliability.md is written.

A script with a long form takes --record FILE.jsonl and writes its figures with `record`. A promise has one line, the newest: a second run replaces it.
"""
import fcntl
import json
import os
import pathlib
import re
import tempfile
import time

import records

START = time.monotonic()
SHOWN = 5  # of the failures


def add_option(parser):
    parser.add_argument("--record", type=pathlib.Path, metavar="FILE.jsonl", help="tell the figures there (bench/results/reliability.jsonl)")


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def record(path, promise, tried, wrong, limits="", **more):
    """`wrong`: what went wrong, as texts. `limits`: what was not reached, and why. `more`: further figures, by name."""
    if path is None:
        return
    by = records.head()
    by["command"] = re.sub(r" --record \S+", "", by["command"])
    row = {"promise": promise, "tried": tried, "wrong": len(wrong), "shown": [w[:300] for w in wrong[:SHOWN]], "limits": limits,
           "seconds": round(time.monotonic() - START), "figures": more, "by": by}
    with open(pathlib.Path(tempfile.gettempdir(), "isomer_reliability.lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # scripts run beside each other
        _replace(path, row)


def _replace(path, row):
    kept = [r for r in rows(path) if r["promise"] != row["promise"]] + [row]
    lines = [json.dumps(r, ensure_ascii=False) + "\n" for r in sorted(kept, key=lambda r: r["promise"])]
    beside = path.with_suffix(f".{os.getpid()}.tmp")
    beside.write_text("".join(lines), encoding="utf-8")
    beside.replace(path)
