"""A case is one question to the built command, and what ONNX Runtime says of the answer."""
import dataclasses
import itertools
import json
import pathlib
import random
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import onnx

import library_host
import programs
import proving
from attack import certificates, feeds, oracle
from attack.feeds import Feed
from attack.hand import EQUAL, UNEQUAL
from attack.models import Model

PATIENCE = 60  # seconds beyond what it was given, after which a command hangs
AT_ALL_SIZES = ("--sizes-from", "0")
ANSWERS = ("proved", "refuted", "undecided")


def by_turns(draw: random.Random, kinds: Iterable) -> Iterator[tuple]:
    """Kinds in turn, without an end, each with a seed of its own."""
    start = draw.randrange(2**32)
    for k, kind in enumerate(itertools.cycle(kinds)):
        yield kind, f"{start} {k}"


@dataclasses.dataclass
class Finding:
    """`verdict` is the command's; `unequal` says where the runtime sees the models differ; `false` and `crash` must not be."""
    verdict: str = "not run"  # the runtime doesn't take the models
    unequal: str | None = None
    false: str | None = None
    crash: str | None = None


def _loaded(*paths: pathlib.Path) -> list[oracle.Program] | None:
    try:
        return [oracle.Program(p) for p in paths]
    except Exception:  # whatever the runtime says of a model that it doesn't take
        return None


@dataclasses.dataclass(frozen=True)
class Proof:
    """Two models. Proved and unequal on the runtime is false."""
    name: str
    a: Model | onnx.ModelProto
    b: Model | onnx.ModelProto
    feeds: Callable[[], Iterable[Feed]] | None = None  # None: drawn from the inputs of A
    rounding: float | None = None
    known: str | None = None  # what cannot be seen on the runtime: UNEQUAL or EQUAL
    sizes_from: int = 0  # 1: run without --sizes-from 0, and fed with no open size of 0

    def ask(self, folder: pathlib.Path, seconds: int) -> Finding:
        a, b = _written(self.a, folder / "a" / "model.onnx"), _written(self.b, folder / "b" / "model.onnx")
        loaded = _loaded(a, b)
        if loaded is None:
            return Finding()
        declared = onnx.load(a, load_external_data=False)
        fed = self.feeds() if self.feeds else feeds.drawn(declared, seed=1)
        fed = feeds.of_sizes_from(self.sizes_from, declared, fed)
        unequal = "as the table says" if self.known == UNEQUAL else None if self.known == EQUAL else oracle.falsehood(*loaded, fed, self.rounding)
        record = proving.prove(a, b, seconds, self.sizes_from)
        if record["verdict"] not in ANSWERS:
            return Finding(record["verdict"], unequal, crash=record["why"])
        return Finding(record["verdict"], unequal, unequal if record["verdict"] == "proved" else None)


@dataclasses.dataclass(frozen=True)
class Answer:
    """What was answered; or why not, and whether that is a refusal in words."""
    value: dict | None
    why: str = ""
    is_refusal: bool = False


class ByCommand:
    """Runs the command, with size 0 included."""
    sizes_from = 0

    def _run(self, words: list, seconds: float) -> Answer:
        done = programs.run([programs.program("isomer"), *map(str, words), "--json"], timeout=8 * seconds + PATIENCE)
        try:
            told = json.loads(done.stdout)
        except json.JSONDecodeError:
            told = {"error": {"message": done.stderr.strip()[-200:]}}
        if "error" in told:
            return Answer(None, f"exit {done.code}: {told['error']['message'][-200:]}", done.code == 2)
        return Answer(told)

    def optimize(self, model: pathlib.Path, out: pathlib.Path, certificate: pathlib.Path, seconds: float, strategy: str) -> Answer:
        words = ["optimize", model, "-o", out, "--certificate", certificate, "--judge", "cost", "--budget", f"{seconds}s", "--quiet", "--strategy", strategy,
                 *AT_ALL_SIZES]
        return self._run(words, seconds)

    def check(self, model: pathlib.Path, out: pathlib.Path, certificate: pathlib.Path, seconds: float) -> Answer:
        return self._run(["check", model, out, certificate, *AT_ALL_SIZES], seconds)

    def prove(self, a: pathlib.Path, b: pathlib.Path, seconds: float) -> Answer:
        return self._run(["prove", a, b, "--budget", f"{seconds}s", *AT_ALL_SIZES], seconds)


class ByLibrary:
    """Calls the library, in a process that serves many requests, for open sizes of at least 1."""
    sizes_from = 1

    def __init__(self):
        self.host = library_host.Host(programs.program("isomer"))

    def _ask(self, patience: float, **question) -> Answer:
        try:
            return Answer(self.host.ask(8 * patience + PATIENCE, **{n: str(v) if isinstance(v, pathlib.Path) else v for n, v in question.items()}))
        except library_host.Failed as error:
            return Answer(None, str(error)[-200:], True)
        except library_host.Died as error:
            return Answer(None, str(error))

    def optimize(self, model: pathlib.Path, out: pathlib.Path, certificate: pathlib.Path, seconds: float, strategy: str) -> Answer:
        return self._ask(seconds, do="optimize", model=model, out=out, certificate=certificate, seconds=seconds, strategy=strategy)

    def check(self, model: pathlib.Path, out: pathlib.Path, certificate: pathlib.Path, seconds: float) -> Answer:
        return self._ask(seconds, do="check", model=model, out=out, certificate=certificate)

    def prove(self, a: pathlib.Path, b: pathlib.Path, seconds: float) -> Answer:
        return self._ask(seconds, do="prove", a=a, b=b, seconds=seconds)


@dataclasses.dataclass(frozen=True)
class Optimization:
    """A model that is optimized: its result is checked, proved again without its certificate, and run beside it."""
    name: str
    model: Model | onnx.ModelProto
    feeds: Callable[[], Iterable[Feed]] | None = None
    rounding: float | None = None
    strategy: str = "greedy"
    by: ByCommand | ByLibrary = ByCommand()
    is_proved: bool = True  # and run by the reference; otherwise the checker's word is enough

    def ask(self, folder: pathlib.Path, seconds: float) -> Finding:
        model, out = _written(self.model, folder / "model.onnx"), folder / "out.onnx"
        certificate = folder / "steps.cert"  # not beside OUT: `prove` would take it from there
        before = _loaded(model)
        declared = onnx.load(model, load_external_data=False)
        fed = list(feeds.of_sizes_from(self.by.sizes_from, declared, self.feeds() if self.feeds else feeds.drawn(declared, seed=1)))
        if before is None or all(isinstance(before[0].run(f), oracle.Failure) for f in fed):
            return Finding()
        done = self.by.optimize(model, out, certificate, seconds, self.strategy)
        if done.is_refusal and oracle.never_runs(model, fed):
            return Finding()
        if done.value is None:
            return Finding("failed", crash=f"optimize: {done.why}")
        if done.value["result"] != "improved":
            return Finding("unchanged")
        after = _loaded(out)
        wrong = "the runtime doesn't take the result" if after is None else oracle.falsehood(*before, *after, fed, self.rounding)
        check = self.by.check(model, out, certificate, seconds)
        if check.value is None or check.value["verdict"] != "accepted":
            return Finding("failed", wrong, wrong, f"check rejects an own result: {check.why or check.value}"[:300])
        if not self.is_proved or after is None:
            return Finding("accepted", wrong, wrong)
        wrong = wrong or _falsehood_of_reference(*before, *after, out, fed[0])
        proof = self.by.prove(model, out, seconds)
        if proof.value is None or proof.value["verdict"] not in ("proved", "undecided"):
            return Finding("failed", wrong, wrong, f"prove of an own result: {proof.why or proof.value['verdict'] + ': ' + proof.value['why']}"[:300])
        return Finding(proof.value["verdict"], wrong, wrong)


def _falsehood_of_reference(a: oracle.Program, b: oracle.Program, out: pathlib.Path, feed: Feed) -> str | None:
    """What our own interpreter makes of the result, beside what the runtime makes of the model; None too where it can't run it."""
    given, made = out.with_suffix(".feed.npz"), out.with_suffix(".made.npz")
    np.savez(given, **feed)
    words = [programs.program("isomer"), "run", out, "--feeds", given, "-o", made, "--engine", "reference"]
    done = programs.run(words, timeout=PATIENCE)
    if done.code in (2, 3):
        return None
    if done.code != 0:
        return f"the reference ends with {done.code}: {done.stderr.strip()[-200:]}"
    with np.load(made) as values:
        wrong = oracle.falsehood_of_outputs(a, b, feed, [values[o.name] for o in b.session.get_outputs()])
    return f"by the reference: {wrong}" if wrong else None


@dataclasses.dataclass(frozen=True)
class Certificate:
    """A forged certificate: accepted is false. An honest one that is rejected is a crash."""
    forgery: certificates.Forgery

    @property
    def name(self) -> str:
        return self.forgery.name

    def ask(self, folder: pathlib.Path, seconds: int) -> Finding:
        del seconds  # a checker has no budget
        before, after = self.forgery.before.write(folder / "in" / "model.onnx"), self.forgery.after.write(folder / "out" / "model.onnx")
        said = certificates.answers(before, after, certificates.write(folder / "model.cert", before, after, self.forgery.steps))
        fault = certificates.fault(said, self.forgery.kind == EQUAL)
        accepted = any(s["verdict"] == "accepted" for s in said.values())
        verdict = "proved" if accepted else "undecided"
        return Finding(verdict, None if self.forgery.kind == EQUAL else "as the table says", fault if accepted else None, None if accepted else fault)


@dataclasses.dataclass(frozen=True)
class Reading:
    """An odd model, run by our own interpreter: what it computes is what the runtime computes, or it refuses."""
    name: str
    model: onnx.ModelProto
    feed: Feed

    def ask(self, folder: pathlib.Path, seconds: int) -> Finding:
        path = _written(self.model, folder / "model.onnx")
        np.savez(folder / "feed.npz", **self.feed)
        out = folder / "out.npz"
        command = [programs.program("isomer"), "run", str(path), "--feeds", str(folder / "feed.npz"), "-o", str(out), "--engine", "reference"]
        done = programs.run(command, timeout=seconds + 60)
        loaded = _loaded(path)
        x = loaded[0].run(self.feed) if loaded else oracle.Failure("not loaded")
        if done.code in (2, 3):
            return Finding("undecided")
        if done.code != 0:
            return Finding("crashed", crash=f"exit {done.code}: {done.stderr.strip()[-200:]}")
        if isinstance(x, oracle.Failure):
            return Finding("undecided", unequal=f"only we run it: {x}")
        with np.load(out) as values:
            wrong = oracle.difference(x, [values[o.name] for o in self.model.graph.output])
        return Finding("proved", wrong, wrong)


def _written(model: Model | onnx.ModelProto, path: pathlib.Path) -> pathlib.Path:
    if not isinstance(model, onnx.ModelProto):
        return model.write(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())
    return path
