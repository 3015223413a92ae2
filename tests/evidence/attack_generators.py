#!/usr/bin/env python3
# ci: --short | timeout=900
"""Cases drawn by the thousand against the built command: nothing false may be called proved.

  tests/evidence/attack_generators.py [FAMILY...] [--count N] [--seed 1] [--seconds 6] [--jobs 1] [--only TEXT] [--record FILE.jsonl]
                                      [--minutes M] [--summary FILE.jsonl] [--keep FOLDER] [--short]
A case is a pair that is proved or not, a model that is optimized, checked and proved again, a forged certificate, or an odd model to be read. It is
false if the command says proved and ONNX Runtime shows, on an input on which the first model runs and computes finite values only, that the second
fails or differs beyond rounding (attack/oracle.py). --count draws this number of each family, chosen by --seed. --record keeps the answers, and a
second run goes on where the first was stopped, by --minutes for example. --summary writes a line for each family.
--keep saves the models of false answers and crashes. --short: some of each, for ctest.
Prints a table; exit 1 if anything is false or crashed.
"""
import argparse
import collections
import dataclasses
import itertools
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

import _paths  # noqa: F401
import programs
from attack import families
from attack.cases import Finding
from records import Records

COLUMNS = ("proved", "refuted", "undecided", "unchanged", "not run")


@dataclasses.dataclass
class Worker:
    """A process that runs cases: a runtime may end it, and then another one continues."""
    process: multiprocessing.Process
    pipe: multiprocessing.connection.Connection
    at: int | None = None  # the case that it is about

    @staticmethod
    def start(cases: list, folder: pathlib.Path, seconds: int) -> "Worker":
        mine, other = multiprocessing.Pipe()
        process = multiprocessing.Process(target=serve, args=(other, cases, folder, seconds), daemon=True)
        process.start()
        other.close()
        return Worker(process, mine)


def serve(pipe, cases: list, folder: pathlib.Path, seconds: int) -> None:
    folder = folder / str(os.getpid())
    while (at := pipe.recv()) is not None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        pipe.send((dataclasses.asdict(cases[at][1].ask(folder, seconds)), str(folder)))


def ask_all(cases: list, given: argparse.Namespace, scratch: pathlib.Path, minutes: float = float("inf")):
    """(family, case, finding, folder of its models), in the order in which they are done; none is begun after `minutes`."""
    end = time.monotonic() + 60 * minutes
    todo = itertools.takewhile(lambda _: time.monotonic() < end, range(len(cases)))
    workers = [Worker.start(cases, scratch, given.seconds) for _ in range(min(given.jobs, len(cases)))]
    for worker in workers:
        worker.at = next(todo, None)
        worker.pipe.send(worker.at)
    while busy := [w for w in workers if w.at is not None]:
        for pipe in multiprocessing.connection.wait([w.pipe for w in busy]):
            worker = next(w for w in busy if w.pipe is pipe)
            try:
                finding, folder = pipe.recv()
                yield *cases[worker.at], Finding(**finding), pathlib.Path(folder)
            except EOFError:
                worker.process.join()
                yield *cases[worker.at], Finding(crash=f"asking ended the process: {worker.process.exitcode}"), scratch / str(worker.process.pid)
                workers[workers.index(worker)] = worker = Worker.start(cases, scratch, given.seconds)
            worker.at = next(todo, None)
            if worker.at is not None:
                worker.pipe.send(worker.at)
            else:
                worker.pipe.send(None)


def chosen_cases(name: str, given: argparse.Namespace) -> list:
    family = families.FAMILIES[name]
    count = family.short if given.short else given.count or family.full
    made = family.cases(random.Random(given.seed))
    if family.is_endless:
        return list(itertools.islice(made, count))
    everything = list(made)
    return everything if count is None or count >= len(everything) else random.Random(given.seed).sample(everything, count)


HEADINGS = ("family", "cases", *COLUMNS, "unequal", "FALSE", "crashes", "seconds")


def print_findings(records: list[dict], summary: pathlib.Path | None) -> None:
    rows = []
    for family in dict.fromkeys(r["family"] for r in records):
        mine = [r for r in records if r["family"] == family]
        verdicts = collections.Counter(r["verdict"] for r in mine)
        rows.append((family, len(mine), *(verdicts[c] for c in COLUMNS), sum(r["unequal"] is not None for r in mine),
                     sum(r["false"] is not None for r in mine), sum(r["crash"] is not None for r in mine), round(sum(r["seconds"] for r in mine))))
    if summary:
        summary.unlink(missing_ok=True)
        kept = Records(summary, "family")
        for row in rows:
            kept.add(dict(zip(HEADINGS, row, strict=True)))
    if len(rows) > 1:
        rows.append(("all", *(sum(column) for column in list(zip(*rows))[1:])))
    programs.print_table(HEADINGS, rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"of {', '.join(families.FAMILIES)}; all by default")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=6, help="for each proof and each search")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("--summary", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--short", action="store_true")
    given = parser.parse_args()
    if unknown := set(given.families) - set(families.FAMILIES):
        parser.error(f"no family {', '.join(unknown)}")
    programs.program("isomer-check")  # or there is nothing to attack
    records = Records(given.record, "family", "case")
    names = given.families or list(families.FAMILIES)
    cases = [(n, c) for n in names for c in chosen_cases(n, given) if given.only in c.name and (n, c.name) not in records]
    with tempfile.TemporaryDirectory(prefix="isomer_attack_") as scratch:
        last = time.monotonic()
        for family, case, finding, folder in ask_all(cases, given, pathlib.Path(scratch), given.minutes):
            seconds, last = time.monotonic() - last, time.monotonic()
            records.add({"family": family, "case": case.name, "seconds": round(seconds, 3)} | dataclasses.asdict(finding))
            if finding.false or finding.crash:
                print(f"{'FALSE' if finding.false else 'CRASH'}: {family}: {case.name}: {finding.verdict}: {finding.false or finding.crash}", flush=True)
                if given.keep:
                    shutil.copytree(folder, given.keep / f"{family} {case.name}".replace(" ", "_"), dirs_exist_ok=True)
    print_findings([r for r in records.all.values() if r["family"] in names], given.summary)
    if left := sum((n, c.name) not in records for n, c in cases):
        print(f"stopped in time: {left} cases are left; go on with --record")
    return 1 if any(r["false"] or r["crash"] for r in records.all.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
