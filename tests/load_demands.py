#!/usr/bin/env python3
"""Which operators ONNX Runtime refuses to load if it does not know the sizes of an input: those that src/search/load_demands.cpp lists, and no others.

  tests/load_demands.py [--calls 6] [--bank FOLDER] [--check]
Of every operator that Isomer knows, calls that the runtime runs (attack/spliced.py) are loaded with the sizes of one input unknown, then with its rank
unknown, each in a process of its own: the runtime may die of it. --check: of the operators that are listed, and some others, for ctest.
"""
import argparse
import os
import pathlib
import random
import re
import sys
import tempfile

import onnx

import programs
from attack import oracle
from attack.spliced import Bank, in_our_opset

SOURCE = programs.ROOT / "src" / "search" / "load_demands.cpp"
OTHERS = 12  # operators beside the listed ones, in the short form


def listed():
    """Inputs by domain and operator, as the source has them."""
    rows = re.findall(r'\{"([\w.]*)", "(\w+)", \{([\d, ]+)\}\}', SOURCE.read_text(encoding="utf-8"))
    return {(domain, op): {int(n) for n in inputs.split(",")} for domain, op, inputs in rows}


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=6)
    parser.add_argument("--bank", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    known, wrong = listed(), []
    if not known:
        sys.exit(f"{SOURCE.name} lists nothing")
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.bank or pathlib.Path(scratch)
        bank = Bank(folder, 2 * given.calls, OTHERS if given.check else None, [op for _, op in known])
        for op in bank.operators():
            calls = [in_our_opset(model) for model, _ in bank.calls[op]]
            random.Random(1).shuffle(calls)
            wanted = known.get((calls[0].graph.node[0].domain, op), set())
            found = demanded(calls if wanted else calls[:given.calls])
            if not found <= wanted:
                wrong.append(f"{op}: the sizes of inputs {sorted(found - wanted)} must be known, and nobody says so")
            elif wanted and not found:
                wrong.append(f"{op} is listed, and the runtime loads it all the same")
    print(f"{len(bank.operators())} operators, {len(wrong)} faults")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
