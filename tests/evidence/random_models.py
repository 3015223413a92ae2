#!/usr/bin/env python3
# nightly: --check | timeout=900 unsanitized
"""Random models through optimize, check and prove, and before and after on ONNX Runtime: nothing crashes, nothing is false.

  tests/evidence/random_models.py [--models 20000] [--seed 1] [--seconds 2] [--jobs 1] [--for SECONDS] [--results FILE.jsonl] [--keep FOLDER] [--bank FOLDER]
                                  [--record FILE.jsonl] [--check]
Optimized by cost, by the library in a process that serves many, some by the command; accepted by the checker; some proved without the certificate and run by
the reference.
A half is made of calls of every operator, spliced (attack/spliced.py), the others of nodes that rewrites touch, with open sizes (attack/random_models.py), and
of layers of networks (attack/random_layers.py); every fourth keeps its weights in a file beside it. Strategies by turns. Inputs of 8 kinds (attack/feeds.py,
EXTREMES) and of those that attacks use. Equality is tested as docs/concepts/equality.md defines it (attack/oracle.py), output by output. What goes wrong is
made smaller and kept. --results goes on where a run was stopped; --for ends it in time. --check: half a minute, for ctest.
"""
import argparse
import collections
import dataclasses
import functools
import itertools
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import onnx
from onnx import TensorProto, numpy_helper

import _paths  # noqa: F401
import reliability
from attack import cases as cases_of_attacks
from attack import feeds
from attack.cases import ByCommand, ByLibrary, Finding, Optimization
from attack.minimize import minimized
from attack.random_layers import Layers
from attack.random_models import Builder
from attack.spliced import Bank, Splicer
from attack_generators import ask_all
from records import Records

CALLS = 12  # of each operator, in the bank
STRATEGIES = ("greedy", "greedy", "greedy", "saturate", "greedy", "backtrack:1.3", "greedy", "backtrack:1.05")
TYPES = ("float16", "double", "bfloat16", "int8", "uint8", "int4", "uint4", "string")
SMALLER_SECONDS = 120
BATCH = 100
FEW = 8  # elements of a tensor that stays in the model


COMMAND = ByCommand()


@functools.cache
def library():
    """One process of it for each caller."""
    return ByLibrary()


class Beside:
    """A model whose weights are in a file of their own."""

    def __init__(self, model):
        self.model = model

    def write(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        copy = onnx.ModelProto()
        copy.CopyFrom(self.model)
        for tensor in copy.graph.initializer:
            # Sizes and scales must be in the model: the runtime needs them before it reads other files.
            if tensor.data_type in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE) and numpy_helper.to_array(tensor).size > FEW:
                tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))  # as raw data
                onnx.external_data_helper.set_external_data(tensor, f"{path.stem}.data")
        onnx.save(copy, path)
        return path


@dataclasses.dataclass(frozen=True)
class Drawn:
    """The model of a number, made at first use."""
    seed: int
    number: int
    bank: Bank

    @property
    def name(self):
        return f"{self.seed}.{self.number}"

    def made(self):
        """(model, what must be fed as it is)"""
        kind = (Splicer, Builder, Splicer, Layers)[self.number % 4]
        if kind is Splicer:
            splicer = Splicer(f"random {self.name}", self.bank)
            return splicer.model(), splicer.fixed
        return kind(f"random {self.name}").model().proto(), {}

    def case(self, model, fixed):
        def fed():
            yield from feeds.extreme(model, self.number, fixed)
            for feed in itertools.islice(feeds.drawn(model, self.number), 6):
                yield feed | {n: v for n, v in fixed.items() if n in feed}
        written = Beside(model) if self.number % 16 < 4 else model
        turn, round_ = self.number // 4, self.number // (4 * len(STRATEGIES))  # each kind with each strategy in a round
        return Optimization(self.name, written, fed, strategy=STRATEGIES[turn % len(STRATEGIES)], by=COMMAND if round_ % 8 == 0 else library(),
                            is_proved=round_ % 16 in (0, 4))

    def parts(self, model):
        """What must be among the models, of which this one has some."""
        types = {v.type.tensor_type.elem_type for v in [*model.graph.input, *model.graph.output]} | {t.data_type for t in model.graph.initializer}
        types |= {a.i for n in model.graph.node for a in n.attribute if n.op_type == "Cast" and a.name == "to"}
        yield from (name for name in TYPES if getattr(TensorProto, name.upper()) in types)
        yield from {n.op_type for n in model.graph.node} & {"If", "Loop", "Scan"}
        yield from ["functions"] if model.functions else []
        yield from ["weights_beside"] if self.number % 16 < 4 else []
        yield from ["open_sizes"] if any(d.dim_param for i in model.graph.input for d in i.type.tensor_type.shape.dim) else []

    def ask(self, folder: pathlib.Path, seconds: int) -> Finding:
        model, fixed = self.made()
        try:
            finding = self.case(model, fixed).ask(folder / "whole", seconds)
        except Exception as error:  # noqa: BLE001 - a fault of ours here, or a runtime's: to be looked at either way
            finding = Finding("failed", crash=f"asking: {error!r}"[:300])
        operators = {n.op_type for n in model.graph.node}
        if finding.false or finding.crash:
            def is_bad(part):
                shutil.rmtree(folder / "part", ignore_errors=True)
                try:
                    found = self.case(part, fixed).ask(folder / "part", seconds)
                except Exception:  # noqa: BLE001 - no model any more
                    return False
                return bool(found.false) == bool(finding.false) and bool(found.crash) == bool(finding.crash)
            small = minimized(model, is_bad, SMALLER_SECONDS)
            (folder / "small").mkdir(exist_ok=True)
            onnx.save(small, folder / "small" / "model.onnx")
            (folder / "small" / "why.txt").write_text(f"{finding.false or finding.crash}\n{onnx.printer.to_text(small)[:20000]}\n", encoding="utf-8")
        (folder / "operators").write_text(" ".join(sorted(operators)), encoding="utf-8")
        (folder / "nodes").write_text(str(len(model.graph.node)), encoding="utf-8")
        (folder / "parts").write_text(" ".join(sorted(self.parts(model))), encoding="utf-8")
        return finding


def kills_the_runtime(path):
    """Whether ONNX Runtime dies of loading the model as it is: then there is nothing to compare."""
    words = "import pathlib, sys; import _paths; from attack import oracle; oracle.Program(pathlib.Path(sys.argv[1]))"
    return path.exists() and subprocess.run([sys.executable, "-c", words, str(path)], cwd=pathlib.Path(__file__).resolve().parent,
                                            stderr=subprocess.DEVNULL, check=False).returncode < 0


def told(path, default):
    return path.read_text(encoding="utf-8") if path.exists() else default


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=2, help="for each search and each proof")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--for", dest="time", type=float, default=float("inf"), metavar="SECONDS")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--bank", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    reliability.add_option(parser)
    given = parser.parse_args()
    calls, most = CALLS, None
    if given.check:
        given.models, given.seconds, given.time, calls, most = 48, 1, 30, 3, 30
    cases_of_attacks.PATIENCE = 60 if given.check else 1200  # a long run may be stopped for a while
    results, wrong = Records(given.results, "seed", "number"), []
    end = time.monotonic() + given.time
    with tempfile.TemporaryDirectory(prefix="isomer_random_models_") as scratch:
        bank = Bank(given.bank or pathlib.Path(scratch) / "bank", calls, most)
        todo = [n for n in range(given.models) if (given.seed, n) not in results]
        for begin in range(0, len(todo), BATCH):
            cases = [("random", Drawn(given.seed, n, bank)) for n in todo[begin:begin + BATCH]]
            for _, case, finding, folder in ask_all(cases, given, pathlib.Path(scratch) / "asked"):
                if finding.crash and kills_the_runtime(folder / "whole" / "model.onnx"):
                    finding = Finding()
                results.add({"seed": given.seed, "number": case.number, "operators": told(folder / "operators", "").split(),
                             "nodes": int(told(folder / "nodes", "0")), "parts": told(folder / "parts", "").split()} | dataclasses.asdict(finding))
                if finding.false or finding.crash:
                    print(f"{case.name}: {'FALSE' if finding.false else 'CRASH'}: {finding.verdict}: {finding.false or finding.crash}", flush=True)
                    if given.keep:
                        shutil.copytree(folder, given.keep / case.name, dirs_exist_ok=True)
                if time.monotonic() > end:
                    break
            if time.monotonic() > end:
                break
    rows = [r for r in results.all.values() if r["seed"] == given.seed]
    verdicts = collections.Counter(r["verdict"] for r in rows)
    operators = {o for r in rows if r["verdict"] != "not run" for o in r["operators"]}
    ran = len(rows) - verdicts["not run"]
    parts = collections.Counter(p for r in rows if r["verdict"] != "not run" for p in r.get("parts", ()))
    wrong = [f"{r['seed']}.{r['number']}: {r['false'] or r['crash']}" for r in rows if r["false"] or r["crash"]]
    changed = ran - verdicts["unchanged"]
    print(f"{len(rows)} random models, {verdicts['not run']} that ONNX Runtime does not run; of the others {verdicts['unchanged']} unchanged, "
          f"{changed} changed and accepted; {verdicts['proved']} of {verdicts['proved'] + verdicts['undecided']} proved without the certificate; "
          f"{len(operators)} operators; {len(wrong)} faults")
    print("\n".join(wrong[:20]))
    reliability.record(given.record, "random_models", ran, wrong, "" if ran >= 20000 else "as many as there was time for",
                       changed_and_accepted=changed, unchanged=verdicts["unchanged"], not_run_by_the_runtime=verdicts["not run"],
                       run_by_the_reference_and_asked_for_a_proof_without_the_certificate=verdicts["proved"] + verdicts["undecided"],
                       of_them_proved=verdicts["proved"],
                       operators=len(operators), most_nodes=max((r["nodes"] for r in rows), default=0), seed=given.seed,
                       begun_with_build=(results.head or {}).get("build", "this one"),
                       models_with="; ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in parts.most_common()))
    return 1 if wrong or not changed else 0


if __name__ == "__main__":
    sys.exit(main())
