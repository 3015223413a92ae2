#!/usr/bin/env python3
# nightly: --check | unsanitized
"""Caches of timings and proofs, damaged in every way: no crash, nothing false, and what is still found is what was stored.

  tests/evidence/damaged_caches.py [--caches 10000] [--optimized 100] [--seed 1] [--record FILE.jsonl] [--check]
A cache is filled, copied and cut, flipped, overwritten, exchanged for something else, or poisoned through SQL. Each is opened, queried for all that was
stored, given something new and shrunk, by isomer-judge; some of them (--optimized) serve a whole `isomer optimize` with the runtime, whose result the checker
must accept. --check: a few hundred, for ctest.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import onnx

import _paths  # noqa: F401
import programs
import reliability
from system_faults import text_model

ENTRIES, BATCH = 40, 100
SECONDS = 120


# ---- ways to damage a file: each is given its path, its bytes, and a source of chance -----------------------------------

def cut(path, data, draw):
    path.write_bytes(data[:draw.randrange(len(data))])


def flipped(path, data, draw):
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8, 64))):
        at = draw.randrange(len(changed) * 8)
        changed[at // 8] ^= 1 << at % 8
    path.write_bytes(changed)


def block_of(make):
    def damage(path, data, draw):
        changed, size = bytearray(data), draw.choice((16, 512, 4096))
        at = draw.randrange(max(1, len(changed) - size))
        changed[at:at + size] = make(draw, size)
        path.write_bytes(changed)
    return damage


def pages_swapped(path, data, draw):
    page = 4096
    pages = [data[k:k + page] for k in range(0, len(data), page)]
    a, b = draw.randrange(len(pages)), draw.randrange(len(pages))
    pages[a], pages[b] = pages[b], pages[a]
    path.write_bytes(b"".join(pages))


def header(path, data, draw):
    changed = bytearray(data)
    changed[draw.randrange(100)] = draw.randrange(256)
    path.write_bytes(changed)


def followed(path, data, draw):
    path.write_bytes(data + draw.randbytes(draw.choice((1, 4096, 100000))))


def noise(path, data, draw):
    path.write_bytes(draw.randbytes(draw.choice((1, 100, len(data)))))


def text(path, data, draw):
    path.write_text("not a database\n" * draw.randrange(1, 400))


def empty(path, data, draw):
    path.write_bytes(b"")


def folder(path, data, draw):
    path.mkdir()


def loop_of_links(path, data, draw):
    path.symlink_to(path.name)


def dead_link(path, data, draw):
    path.symlink_to("nowhere/at/all")


def log_beside(path, data, draw):
    """A write-ahead log that belongs to nothing, and an index of it."""
    path.write_bytes(data)
    for ending in ("-wal", "-shm", "-journal"):
        if draw.random() < 0.6:
            pathlib.Path(f"{path}{ending}").write_bytes(draw.randbytes(draw.choice((0, 32, 4096, 40000))))


def by_sql(*statements):
    def damage(path, data, draw):
        path.write_bytes(data)
        with sqlite3.connect(path) as database:
            database.create_function("noise", 1, lambda size: draw.randbytes(size))
            database.create_function("levels", 1, lambda size: b"\x81" * size)  # arrays in arrays, in CBOR
            for statement in statements:
                database.execute(statement)
        database.close()
    return damage


WAYS = {
    "cut": cut, "flipped": flipped, "block of zeros": block_of(lambda draw, size: bytes(size)),
    "block of noise": block_of(lambda draw, size: draw.randbytes(size)), "pages swapped": pages_swapped, "header": header, "followed by noise": followed,
    "noise": noise, "text": text, "empty": empty, "a folder": folder, "a loop of links": loop_of_links, "a dead link": dead_link, "log beside it": log_beside,
    "samples of noise": by_sql("UPDATE timing SET samples = noise(200)"), "samples of nothing": by_sql("UPDATE timing SET samples = x''"),
    "samples of levels": by_sql("UPDATE timing SET samples = levels(40000)"),
    "samples exchanged": by_sql("UPDATE timing SET samples = (SELECT samples FROM timing ORDER BY key DESC LIMIT 1)"),
    "samples as text": by_sql("UPDATE timing SET samples = 'text'"), "descriptions": by_sql("UPDATE timing SET description = ''"),
    "notes of noise": by_sql("UPDATE note SET text = noise(1000)"), "long notes": by_sql("UPDATE note SET text = hex(zeroblob(50000))"),
    "no table": by_sql("DROP TABLE timing"), "other table": by_sql("DROP TABLE note", "CREATE TABLE note(x INTEGER)"),
    "a view": by_sql("ALTER TABLE timing RENAME TO kept", "CREATE VIEW timing AS SELECT * FROM kept"),
    "other version": by_sql("PRAGMA user_version = 7"), "other program": by_sql("PRAGMA application_id = 1"),
    "made tomorrow": by_sql("UPDATE timing SET made = 9223372036854775807", "UPDATE note SET made = -1"),
}


# ---- the judge, and whole runs -------------------------------------------------------------------------------------------

def asked(paths, wrong):
    """Each cache opened by isomer-judge; a process that dies or hangs is the fault of the first that has no answer."""
    paths, answers = list(paths), []
    while paths:
        try:
            ran = subprocess.run([programs.program("isomer-judge"), "damaged-caches", str(ENTRIES)], input="".join(f"{p}\n" for p, _ in paths),
                                 capture_output=True, text=True, timeout=SECONDS, check=False)
            code, out = ran.returncode, ran.stdout
        except subprocess.TimeoutExpired as late:
            code, out = "no end", (late.stdout or b"").decode()
        done = [json.loads(line) for line in out.splitlines()]
        answers += [(way, answer) for (_, way), answer in zip(paths, done)]
        if len(done) == len(paths) and code == 0:
            break
        if len(done) < len(paths):
            wrong.append(f"{paths[len(done)][1]}: isomer-judge ended with {code}")
        paths = paths[len(done) + 1:]
    return answers


class Optimized:
    """What `optimize` makes of a model, with a cache and without."""

    def __init__(self, root):
        self.model, self.out = root / "model.onnx", root / "out.onnx"
        onnx.save(text_model("branches"), self.model)

    def run(self, cache):
        for file in (self.out, pathlib.Path(f"{self.out}.cert")):
            file.unlink(missing_ok=True)
        return programs.run([programs.program("isomer"), "optimize", self.model, "-o", self.out, "--budget", "1s", "--quiet", "--cache", cache], SECONDS)

    def fault(self, cache):
        ran = self.run(cache)
        if ran.code != 0:
            return f"exit {ran.code}: {ran.stderr[-200:]}"
        checked = programs.run([programs.program("isomer-check"), self.model, self.out, f"{self.out}.cert"], SECONDS)
        return f"not accepted: {checked.stdout}{checked.stderr}" if checked.code != 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--caches", type=int, default=10000)
    parser.add_argument("--optimized", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    reliability.add_option(parser)
    given = parser.parse_args()
    if given.check:
        given.caches, given.optimized = 10 * len(WAYS), 6
    draw, wrong, ends, found = random.Random(given.seed), [], collections.Counter(), 0
    with tempfile.TemporaryDirectory(prefix="isomer_damaged_") as name:
        root = pathlib.Path(name)
        whole, real = root / "whole.sqlite", root / "real.sqlite"
        subprocess.run([programs.program("isomer-judge"), "fill-cache", str(whole), str(ENTRIES)], check=True)
        optimized = Optimized(root)
        if optimized.run(real).code != 0 or not real.exists():
            sys.exit("the undisturbed run keeps nothing")
        data, real_data = whole.read_bytes(), real.read_bytes()
        for begin in range(0, given.caches, BATCH):
            box = root / "box"
            box.mkdir()
            paths = []
            for number in range(begin, min(begin + BATCH, given.caches)):
                way = list(WAYS)[number % len(WAYS)]
                paths.append((box / f"{number}.sqlite", way))
                WAYS[way](paths[-1][0], data, draw)
            for way, answer in asked(paths, wrong):
                found += answer["found"]
                ends["kept" if answer["is_kept"] else "said why not" if answer["trouble"] else "SILENT"] += 1
                if answer["changed"] and way != "samples exchanged":
                    wrong.append(f"{way}: {answer['changed']} samples are not what was stored")
                if answer["is_stored"] and not answer["is_kept"] or not answer["is_kept"] and not answer["trouble"]:
                    wrong.append(f"{way}: not kept, without a word: {answer}")
            shutil.rmtree(box)
        for number in range(given.optimized):
            way = list(WAYS)[number % len(WAYS)]
            box = root / "box"
            box.mkdir()
            WAYS[way](box / "c.sqlite", real_data, draw)
            if fault := optimized.fault(box / "c.sqlite"):
                wrong.append(f"{way}: optimize: {fault}")
            shutil.rmtree(box)
    print(f"{given.caches} damaged caches of {len(WAYS)} kinds, seed {given.seed}: {found} of {given.caches * ENTRIES} entries found as they were, new ones "
          f"{', '.join(f'{n} {end}' for end, n in ends.most_common())}; {given.optimized} whole runs; {len(wrong)} faults")
    print("\n".join(wrong[:20]))
    reliability.record(given.record, "damaged_caches", given.caches, wrong, ways=len(WAYS), entries_found_as_they_were=found,
                       new_entries_kept=ends["kept"], whole_runs_of_optimize=given.optimized)
    return 1 if wrong else 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
