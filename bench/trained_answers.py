#!/usr/bin/env python3
# nightly: | timeout=1800
# nightly trained_pairs: --pairs | timeout=1800
"""Trained models by what their users see: runs each on real inputs with plain ONNX Runtime, one thread, and prints the task's answer.

  bench/trained_answers.py [NAME ...] [--group GROUP] [--sizes 0,1,2] [--results FILE.jsonl]
  bench/trained_answers.py --compare A.onnx B.onnx NAME [--library B.so] [--sizes 0,1,2]
  bench/trained_answers.py --pairs
  bench/trained_answers.py NAME --write-feeds FOLDER
NAME is one of tests/lib/trained/models.py, or a part of it. Sizes: 0 small, 1 usual, 2 large; all if none is given. --compare runs two models
the questions of NAME: exit 1 if an answer differs (other text, another class, a box elsewhere). --library is a custom-op library that B needs.
--pairs compares the pairs of tests/lib/trained/pairs.py: exit 1 if an equal one gives another answer, or a different one the same.
--write-feeds writes PACKAGE.SHORT.SIZE.npz for `isomer ... --feeds`. Models that were not fetched are left out (tools/fetch_trained).
"""
import argparse
import pathlib
import sys
import time

import numpy as np
import onnxruntime as ort

import _paths  # noqa: F401
import programs
from records import Records
from trained import answers, models, packages, pairs

SIZE_NAMES = ("small", "usual", "large")


def session_of(path, library=None, has_passes=True):
    options = ort.SessionOptions()
    if not has_passes:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if library:
        options.register_custom_ops_library(str(library))
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def ask(session, model, steps):
    """The answer of a session to the feeds of all steps; states go from one step to the next."""
    names, all_outputs, carried = [output.name for output in session.get_outputs()], [], {}
    taken = {declared.name for declared in session.get_inputs()}
    for feeds in steps:
        outputs = dict(zip(names, session.run(None, {name: value for name, value in {**feeds, **carried}.items() if name in taken})))
        carried = {model.task.carry[name]: value for name, value in outputs.items() if name in model.task.carry}
        all_outputs.append(outputs)
    return model.task.read(model, all_outputs if model.task.carry else all_outputs[-1], steps)


def size_name(model, size):
    return "fixed" if len(model.sizes) == 1 else SIZE_NAMES[size]


def chosen_sizes(model, given):
    return [size for size in map(int, given.split(","))] if given and len(model.sizes) > 1 else range(len(model.sizes))


def answer_all(chosen, given):
    """Runs and prints; the names of those that did not run."""
    failed, records = [], Records(given.results, "model", "size")
    for model in chosen:
        try:
            session = session_of(model.path)
            for size in chosen_sizes(model, given.sizes):
                start = time.process_time()
                answer = ask(session, model, model.task.draw(model, model.sizes[size]))
                seconds = time.process_time() - start
                described = answers.describe(answer)
                print(f"{model.name:50} {size_name(model, size):6} {seconds:7.2f} s  {described}", flush=True)
                if given.results:
                    records.add({"model": model.name, "size": size_name(model, size), "shapes": model.sizes[size], "answer": described})
        except Exception as error:  # every model is tried
            failed.append(model.name)
            print(f"{model.name:50} FAILED {type(error).__name__}: {str(error)[:400]}", flush=True)
    print(f"{len(chosen)} models, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}")
    return failed


def ask_both(model, one, other, size, values=None):
    """Whether two sessions give one answer, how near the answers are, and the first one's."""
    extra = {name: np.array(value) for name, value in (values or {}).items()}
    steps = [{**extra, **feeds} for feeds in model.task.draw(model, model.sizes[size])]
    mine, theirs = ask(one, model, steps), ask(other, model, steps)
    return *answers.agree(mine, theirs), answers.describe(mine)


def compare(first, second, name, given):
    """How many sizes have another answer."""
    model = models.by_name(name)
    one, other, differing = session_of(first), session_of(second, given.library), 0
    for size in chosen_sizes(model, given.sizes):
        same, words, described = ask_both(model, one, other, size)
        differing += not same
        print(f"{model.name} {size_name(model, size)}: {'same answer' if same else 'ANOTHER ANSWER'}: {words}; {described}")
    return differing


def compare_pairs(given):
    """How many pairs are not what the table says of them."""
    wrong = compared = 0
    for pair in pairs.PAIRS:
        first, second = models.by_name(pair.first), models.by_name(pair.second)
        if not (first.is_fetched() and second.is_fetched()):
            continue
        one, other = session_of(first.path), session_of(second.path)
        asked = [ask_both(first, one, other, size, pair.values) for size in (chosen_sizes(first, given.sizes) if pair.size is None else [pair.size])]
        is_right = all(same == (pair.verdict != "different") for same, _, _ in asked)
        wrong, compared = wrong + (not is_right), compared + 1
        print(f"{'' if is_right else 'WRONG: '}{pair.verdict:9} {first.name} {second.name}: {asked[-1][1]}", flush=True)
    print(f"{compared} of {len(pairs.PAIRS)} pairs compared, {wrong} wrong")
    return wrong


def write_feeds(chosen, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for model in chosen:
        for size, shapes in enumerate(model.sizes):
            path = folder / f"{model.name.replace('/', '.')}.{size_name(model, size)}.npz"
            np.savez(path, **model.task.draw(model, shapes)[0])
            print(path.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--group", choices=packages.GROUPS)
    parser.add_argument("--sizes", default="")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--compare", nargs=3, metavar=("A", "B", "NAME"))
    parser.add_argument("--library", type=pathlib.Path)
    parser.add_argument("--write-feeds", type=pathlib.Path)
    given = parser.parse_args()
    if given.compare:
        return 1 if compare(*given.compare, given) else 0
    chosen = [m for m in models.fetched() if (not given.names or any(n in m.name for n in given.names)) and given.group in (None, m.package.group)]
    if not chosen:
        print("none of these models is here: tools/fetch_trained")
        return programs.SKIPPED
    if given.pairs:
        return 1 if compare_pairs(given) else 0
    if given.write_feeds:
        write_feeds(chosen, given.write_feeds)
        return 0
    return 1 if answer_all(chosen, given) else 0


if __name__ == "__main__":
    sys.exit(main())
