#!/usr/bin/env python3
# nightly: --check | unsanitized
"""Which operators ONNX Runtime refuses to load if it does not know the sizes of an input, or dies of if some inputs are constants and others are not:
those that src/optimizer/search/load_demands.cpp lists, and no others.

  tests/evidence/load_demands.py [--calls 6] [--bank FOLDER] [--check]
For every operator that Isomer knows, calls that the runtime runs (attack/spliced.py) are loaded with the sizes of one input unknown, then with its rank
unknown, and with each choice of inputs as constants; each in a process of its own: the runtime may die of it. --check: of the operators that are listed, and
some others, for ctest.
"""
import argparse
import itertools
import os
import pathlib
import random
import re
import sys
import tempfile

import onnx
from onnx import numpy_helper

import _paths  # noqa: F401
import programs
from attack import oracle
from attack.spliced import Bank, in_our_opset

SOURCE = programs.ROOT / "src" / "optimizer" / "search" / "load_demands.cpp"
OTHERS = 12  # operators beside the listed ones, in the short form
MANY = 6  # inputs of which every choice is tried; of more, those of few and of nearly all


def listed():
    """Inputs by domain and operator, as the source has them."""
    rows = re.findall(r'\{"([\w.]*)", "(\w+)", \{([\d, ]+)\}\}', SOURCE.read_text(encoding="utf-8"))
    return {(domain, op): {int(n) for n in inputs.split(",")} for domain, op, inputs in rows}


def listed_constants():
    """By domain and operator, the inputs that, where they are constants, want others to be: as the source has them."""
    rows = re.findall(r'\{"([\w.]*)", "(\w+)", \{([\d, ]+)\}, \{([\d, ]+)\}\}', SOURCE.read_text(encoding="utf-8"))
    return {(domain, op): tuple({int(n) for n in inputs.split(",")} for inputs in both) for domain, op, *both in rows}


def is_loaded(model):
    child = os.fork()
    if child == 0:
        try:
            oracle.session(model.SerializeToString())
        except Exception:  # noqa: BLE001 - whatever it says
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def without_sizes(model, k, is_rank_known):
    out = onnx.ModelProto()
    out.CopyFrom(model)
    for o in out.graph.output:
        o.type.tensor_type.ClearField("shape")
    kind = out.graph.input[k].type.tensor_type
    for dim in kind.shape.dim:
        dim.Clear()
    if not is_rank_known:
        kind.ClearField("shape")
    return out


def demanded(calls):
    """Inputs of a call that must be of known size."""
    found = set()
    for model in calls:
        names = list(model.graph.node[0].input)
        if not is_loaded(model):
            continue
        for k, given in enumerate(model.graph.input):
            if not all(is_loaded(without_sizes(model, k, is_rank_known)) for is_rank_known in (True, False)):
                found.add(names.index(given.name))
    return found


def with_constants(model, feeds, names):
    out = onnx.ModelProto()
    out.CopyFrom(model)
    del out.graph.input[:]
    for given in model.graph.input:
        if given.name in names:
            tensor = numpy_helper.from_array(feeds[given.name], given.name)
            tensor.data_type = given.type.tensor_type.elem_type
            out.graph.initializer.append(tensor)
        else:
            out.graph.input.append(given)
    return out


def choices(inputs):
    sizes = range(len(inputs) + 1)
    return [c for n in sizes if len(inputs) <= MANY or not 2 < n < len(inputs) - 2 for c in itertools.combinations(inputs, n)]


def wrong_constants(model, feeds, listed_inputs):
    """Choices of inputs as constants that crash the runtime though they are not listed; and whether a listed one did."""
    names = list(model.graph.node[0].input)
    given, wanted = listed_inputs or (set(), set())
    always = {t.name for t in model.graph.initializer}
    free = [i.name for i in model.graph.input if i.name in feeds]
    wrong, is_seen = [], False
    named = [n for n in free if names.index(n) in given | wanted]
    tried = {*choices(free), *(c for k in range(len(named) + 1) for c in itertools.combinations(named, k))}
    for chosen in sorted(tried):
        constant = {k for k, n in enumerate(names) if n in chosen or n in always}
        is_told = bool(given) and given <= constant and not wanted <= constant
        if not is_loaded(with_constants(model, feeds, chosen)):
            is_seen = is_seen or is_told
            wrong += [] if is_told else [sorted(constant)]
    return wrong, is_seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=6)
    parser.add_argument("--bank", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    known, known_constants, wrong = listed(), listed_constants(), []
    if not known or not known_constants:
        sys.exit(f"{SOURCE.name} lists nothing")
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.bank or pathlib.Path(scratch)
        bank = Bank(folder, 2 * given.calls, OTHERS if given.check else None, [op for _, op in [*known, *known_constants]])
        for op in bank.operators():
            calls = [in_our_opset(model) for model, _ in bank.calls[op]]
            random.Random(1).shuffle(calls)
            wanted = known.get((calls[0].graph.node[0].domain, op), set())
            found = demanded(calls if wanted else calls[:given.calls])
            if not found <= wanted:
                wrong.append(f"{op}: the sizes of inputs {sorted(found - wanted)} must be known, and nobody says so")
            elif wanted and not found:
                wrong.append(f"{op} is listed, and the runtime loads it all the same")
            model, feeds = bank.calls[op][0]
            together = known_constants.get((model.graph.node[0].domain, op))
            unsaid, is_seen = wrong_constants(in_our_opset(model), feeds, together)
            wrong += [f"{op}: with constants at {unsaid[0]} the runtime does not load it, and nobody says so"] if unsaid else []
            if together and not is_seen:
                wrong.append(f"{op} is listed to need constants, and the runtime loads it all the same")
    print(f"{len(bank.operators())} operators, {len(wrong)} faults")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
