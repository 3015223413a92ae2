#!/usr/bin/env python3
# ci: --limit 60
"""How much of real models the operators' formulas define.

  bench/coverage.py [--limit N] [--filter TEXT] [--least PERCENT] [--folder DIR]
--folder: the models of a folder instead (bench/make_deployed.py fills one), each node of them counted, integers or not.
Every zoo model (with weights of zeros: only shapes matter) and every trained one (tools/fetch_trained) is inspected. Counted are
nodes with a float input or output, Constant and Identity not, bodies of If and Loop included. What is not defined is listed by
operator and reason. Exit 1 if less than --least per cent are defined, or if a model can't be read.
"""
import argparse
import collections
import json
import pathlib
import re
import sys
import tempfile

import _paths  # noqa: F401
import programs
import zoo

SECONDS = 120  # for one model


def inspect(path):
    ran = programs.run([programs.program("isomer"), "inspect", str(path), "--json"], SECONDS)
    return (json.loads(ran.stdout), None) if ran.code == 0 else (None, f"exit {ran.code}: {ran.stderr.strip()}")


def anonymous(reason):
    """The reason without the names of values, so that equal ones meet."""
    return re.sub(r"^the (shape|type) of .* is not known$", r"the \1 of an input is not known", reason)


class Tally:
    def __init__(self, all_nodes=False):
        self.all_nodes = all_nodes
        self.models = self.total = self.defined = self.nodes = 0
        self.reasons, self.where, self.failures = collections.Counter(), {}, []

    def add(self, name, path):
        told, failure = inspect(path)
        self.models += 1
        if failure:
            self.failures.append((name, failure))
            return
        self.nodes += told["nodes"]
        counted = [e for e in told["opaque"] if self.all_nodes or e["floats"]]
        self.total += told["nodes"] if self.all_nodes else told["float_nodes"]
        self.defined += told["nodes"] - len(counted) if self.all_nodes else told["float_nodes_defined"]
        for entry in counted:
            key = entry["op"], anonymous(entry["reason"])
            self.reasons[key] += 1
            self.where.setdefault(key, set()).add(name)

    def print(self, title):
        rows = [(count, op, reason, f"{min(self.where[op, reason])} and {len(self.where[op, reason]) - 1} more")
                for (op, reason), count in self.reasons.most_common()]
        if rows:
            programs.print_table(("nodes", "operator", "why not defined", "models"), rows)
        for name, failure in self.failures:
            print(f"{name}: {failure}")
        print(f"{title}: {self.models} models, {self.total} nodes{'' if self.all_nodes else ' on floats'}, {self.defined} defined, "
              f"{self.percent():.2f} %\n")

    def percent(self):
        return 100 * self.defined / max(self.total, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--filter", default="")
    parser.add_argument("--least", type=float, default=98)
    parser.add_argument("--folder", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.folder:
        tally = Tally(all_nodes=True)
        for path in [p for p in sorted(arguments.folder.glob("*.onnx")) if arguments.filter in p.name][:arguments.limit]:
            tally.add(path.stem, path)
        tally.print(arguments.folder.name)
        return 1 if tally.percent() < arguments.least or tally.failures else 0
    exports, trained = Tally(), Tally()
    for name in zoo.names(arguments.limit, arguments.filter):
        with tempfile.TemporaryDirectory(prefix="isomer_coverage_") as folder:
            exports.add(name, zoo.hollow(name, pathlib.Path(folder)))
    for path in zoo.trained(arguments.filter)[:arguments.limit]:
        trained.add(f"{path.parent.name}/{path.name}", path)
    exports.print("zoo")
    trained.print("trained")
    total, defined = exports.total + trained.total, exports.defined + trained.defined
    share = 100 * defined / max(total, 1)
    print(f"together: {defined} of {total} nodes on floats are defined, {share:.2f} %")
    return 1 if share < arguments.least or exports.failures or trained.failures else 0


if __name__ == "__main__":
    sys.exit(main())
