"""The functions of the package. Each says what its command says (docs/reference/commands.md), of files or of models in memory."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from . import _core
from ._inputs import (
    Feeds,
    PathLike,
    Runtime,
    Sizes,
    Tensors,
    Values,
    as_files,
    budget_seconds,
    certificate_bytes,
    given_tensors,
    is_proto,
    made_tensors,
    path_of,
    runtime_options,
    set_feeds,
    size_texts,
    value_texts,
    write_proto,
)
from ._results import (
    Bench,
    Checked,
    Comparison,
    Compiled,
    Explanation,
    Exploration,
    Gate,
    Inspection,
    ModelSpeed,
    Optimized,
    PairSpeed,
    Port,
    Proof,
    Report,
    interval_of,
)

if TYPE_CHECKING:
    import numpy as np
    import onnx

Progress = Callable[[str], object]
Engine = Literal["reference", "double", "runtime"]


def _engine(name: str, allowed: Sequence[str] = ("reference", "double", "runtime")) -> _core.Engine:
    if name not in allowed:
        raise ValueError(f"engine is one of {', '.join(allowed)}, not {name!r}")
    return getattr(_core.Engine, name)


def _member(enum: Any, what: str, name: str, names: Sequence[str]) -> Any:
    """The value of an enum of the extension that has this name."""
    if name not in names:
        raise ValueError(f"{what} is {', '.join(names[:-1])} or {names[-1]}, not {name!r}")
    return getattr(enum, name.replace("-", "_"))


def _clock(name: str) -> _core.Clock:
    return _member(_core.Clock, "clock", name, ("auto", "wall", "cpu"))


class OptimizeOptions(TypedDict, total=False):
    """The options of `optimize`, for type checkers."""

    certificate: PathLike | None
    kernels: bool
    compiler: str
    budget: float | str
    judge: Literal["runtime", "cost", "nodes"]
    min_gain: float
    max_error_growth: float
    max_size_growth: float | None
    simplify: bool
    fix_shape: bool
    sizes_from: Literal[0, 1]
    strategy: str
    without: Sequence[str]
    only: Sequence[str]
    rules: PathLike | None
    steps: int
    seed: int
    feeds: Feeds | None
    shape: Sizes | None
    value: Values | None
    runtime: Runtime | None
    cache: PathLike | None
    plans: PathLike | None
    progress: Progress | None


@overload
def optimize(model: onnx.ModelProto, out: PathLike | None = None, **options: Unpack[OptimizeOptions]) -> Optimized[onnx.ModelProto]: ...
@overload
def optimize(model: PathLike, out: PathLike, **options: Unpack[OptimizeOptions]) -> Optimized[Path]: ...
def optimize(
    model: PathLike | onnx.ModelProto,
    out: PathLike | None = None,
    *,
    certificate: PathLike | None = None,
    kernels: bool = False,
    compiler: str = "",
    budget: float | str = 300,
    judge: Literal["runtime", "cost", "nodes"] = "runtime",
    min_gain: float = 1.02,
    max_error_growth: float = 2,
    max_size_growth: float | None = None,
    simplify: bool = False,
    fix_shape: bool = False,
    sizes_from: Literal[0, 1] = 1,
    strategy: str = "greedy",
    without: Sequence[str] = (),
    only: Sequence[str] = (),
    rules: PathLike | None = None,
    steps: int = 0,
    seed: int = 1,
    feeds: Feeds | None = None,
    shape: Sizes | None = None,
    value: Values | None = None,
    runtime: Runtime | None = None,
    cache: PathLike | None = None,
    plans: PathLike | None = None,
    progress: Progress | None = None,
) -> Optimized[Any]:
    """Returns a model that is proved equal and measured faster, or the original with the reason.

    A path needs `out`, where the result goes; its certificate goes to `certificate`, or beside it as OUT.cert. For a ModelProto the result is
    a ModelProto, and is written only if `out` is given. Ctrl-C ends the search: the result is then the best so far.

    `kernels`: also make kernels, a library beside `out` that `isomer.InferenceSession(out)` finds, where that is faster still; it needs a C++
    `compiler` ("": $CXX, clang++ or g++). A ModelProto then needs `out`, too.
    `budget`: limit of the whole run, in seconds or as the command takes it, "5m". `judge`: "runtime" measures; "cost" is an analytic cost, which
    measures nothing; "nodes" is that cost, and accepts only results with fewer nodes. `min_gain`: a result must be faster by this ratio with 95 %
    confidence. `max_error_growth`, `max_size_growth`: limits of rounding error and of the file's size, relative to the original's.
    `simplify`: if no result is faster, keep a simpler one that is not slower. `fix_shape`: make a model for one size only, that of `shape` or of the
    defaults. `sizes_from`: sizes that inputs leave open are at least this in what is proved.
    `strategy`: "greedy", "backtrack:ALPHA" or "saturate". `without`, `only`: names of `proposers()`, those that are not used; those that
    are, and no others. `rules`: a file of your own rewrite rules, or a folder of them (docs/reference/rules.md). `steps`:
    proposals to try, for repeatable runs.
    `feeds`: inputs to measure with, arrays by name or an npz file; without them they are made up, at `shape`, filled as `value` says ({"sr": 16000}).
    `cache`: a file in which measurements are remembered (`default_cache()` is that of the command). `plans`: a store of plans (docs/guides/plans.md), a folder
    that is read first and written to. `progress`: called with the current task.

    >>> import isomer, onnx
    >>> model = onnx.parser.parse_model('''
    ...   <ir_version: 8, opset_import: ["" : 17]>
    ...   twice (float[batch, 3] x) => (float[batch, 3] y) { a = Identity(x) b = Identity(a) y = Relu(b) }''')
    >>> isomer.optimize(model, judge="cost")
    <Optimized: improved, 3 nodes -> 1>
    """
    options = _core.OptimizeOptions()
    options.judge = _member(_core.Judge, "judge", judge, ("runtime", "cost", "nodes"))
    plain = {"seconds": budget_seconds(budget), "min_gain": min_gain, "max_error_growth": max_error_growth, "max_size_growth": max_size_growth,
             "simplify": simplify, "strategy": strategy, "without": list(without), "only": list(only),
             "steps": steps, "seed": seed, "sizes": size_texts(shape), "values": value_texts(value)}  # fmt: skip
    for name, value in plain.items():
        setattr(options, name, value)
    options.runtime = runtime_options(runtime)
    if rules is not None:
        options.rules = path_of(rules, "`rules`")
    if cache is not None:
        options.cache = path_of(cache, "a cache")
    if plans is not None:
        options.plans = path_of(plans, "a store of plans")
    arrays = set_feeds(options, feeds)
    with contextlib.ExitStack() as stack:
        is_in_memory = is_proto(model)
        if is_in_memory:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="isomer-")))
            read = write_proto(model, folder / "model.onnx")
        else:
            read = path_of(model)
            if out is None:
                raise TypeError("optimize of a file needs `out`: where the result goes")
        if kernels and out is None:
            raise TypeError("optimize with kernels needs `out`: their library goes beside it")
        written = path_of(out, "`out`") if out is not None else folder / "out.onnx"
        proof = path_of(certificate, "`certificate`") if certificate is not None else ""
        text, found = _core.optimize_file(read, written, proof, fix_shape, sizes_from, kernels, compiler, options, arrays, progress)
        report = json.loads(text)
        is_same = report["result"] == "unchanged" and not fix_shape
        result: Any = model if is_in_memory and is_same else _load(written) if is_in_memory else written
    return Optimized(report["result"], report["reason"], result, found, interval_of(report, "ratio"), report["nodes_in"], report["nodes_out"], report)


@overload
def simplify(
    model: onnx.ModelProto,
    out: PathLike | None = None,
    *,
    certificate: PathLike | None = None,
    budget: float | str = 60,
    sizes_from: Literal[0, 1] = 1,
    progress: Progress | None = None,
) -> Optimized[onnx.ModelProto]: ...
@overload
def simplify(
    model: PathLike,
    out: PathLike,
    *,
    certificate: PathLike | None = None,
    budget: float | str = 60,
    sizes_from: Literal[0, 1] = 1,
    progress: Progress | None = None,
) -> Optimized[Path]: ...
def simplify(
    model: PathLike | onnx.ModelProto,
    out: PathLike | None = None,
    *,
    certificate: PathLike | None = None,
    budget: float | str = 60,
    sizes_from: Literal[0, 1] = 1,
    progress: Progress | None = None,
) -> Optimized[Any]:
    """The same model with fewer nodes, proved equal; no runtime is needed and nothing is measured. Files are as in `optimize`.

    >>> import isomer, onnx
    >>> model = onnx.parser.parse_model('''
    ...   <ir_version: 8, opset_import: ["" : 17]>
    ...   twice (float[batch, 3] x) => (float[batch, 3] y) { a = Identity(x) b = Identity(a) y = Relu(b) }''')
    >>> isomer.simplify(model)
    <Optimized: improved, 3 nodes -> 1>
    """
    return optimize(model, out, certificate=certificate, budget=budget, sizes_from=sizes_from, progress=progress, judge="nodes")


def _load(path: Path) -> onnx.ModelProto:
    import onnx

    return onnx.load(path)


def prove(
    a: PathLike | onnx.ModelProto,
    b: PathLike | onnx.ModelProto,
    *,
    shape: Sizes | None = None,
    value: Values | None = None,
    sizes_from: Literal[0, 1] = 1,
    budget: float | str = 300,
    certificate: bytes | PathLike | None = None,
    progress: Progress | None = None,
) -> Proof:
    """Whether two models are equal for all inputs (docs/concepts/equality.md says in which sense): proved, refuted or undecided.

    Inputs are matched by name; outputs, too, if both models have the same names of them, else by position. `shape`: the question is about these only.
    `value`: inputs that are fixed, {"sr": 16000}; the models are compared as models without them. `sizes_from`: open sizes are at least this.
    `certificate`: tried first, a proof that need not be found. Ctrl-C makes it undecided.

    >>> import isomer, onnx
    >>> def model(body):
    ...     return onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) {' + body + '}')
    >>> isomer.prove(model("a = Neg(x) y = Neg(a)"), model("y = Identity(x)"))
    <Proof: proved>
    >>> found = isomer.prove(model("y = Neg(x)"), model("y = Identity(x)"))
    >>> found.verdict, sorted(found.counterexample)
    ('refuted', ['x'])
    """
    with as_files(a, b) as (first, second):
        one, two = _core.load_pair(first, second, size_texts(shape), value_texts(value), sizes_from)
        text, proof, example = _core.prove(one, two, budget_seconds(budget), certificate_bytes(certificate), progress)
    report = json.loads(text)
    return Proof(report["verdict"], report["why"], proof, made_tensors(example), report)


def check(
    model: PathLike | onnx.ModelProto,
    out: PathLike | onnx.ModelProto,
    certificate: bytes | PathLike,
    *,
    shape: Sizes | None = None,
    value: Values | None = None,
    sizes_from: Literal[0, 1] = 1,
) -> Checked:
    """Whether a certificate proves that `out` equals `model`: every step of it is proved again, nothing is searched.

    `shape`, `value`: that the certificate is about, if it was made by `prove` with them, or with `fix_shape`. `sizes_from=0`: a certificate
    that does not cover open sizes of 0 is rejected.

    >>> import isomer, onnx
    >>> model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { a = Identity(x) y = Relu(a) }')
    >>> found = isomer.optimize(model, judge="cost")
    >>> isomer.check(model, found.model, found.certificate).accepted
    True
    >>> isomer.check(model, model, found.certificate).accepted
    False
    """
    with as_files(model, out) as (first, second):
        one, two = _core.load_pair(first, second, size_texts(shape), value_texts(value), sizes_from)
        text = _core.check(one, two, certificate_bytes(certificate))
    report = json.loads(text)
    return Checked(report["verdict"] == "accepted", report["reason"], report)


def explain(certificate: bytes | PathLike) -> Explanation:
    """The steps that a certificate states. They are not proved here: `check` does that.

    >>> import isomer, onnx
    >>> model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { a = Identity(x) y = Relu(a) }')
    >>> isomer.explain(isomer.optimize(model, judge="cost").certificate).steps > 0
    True
    """
    report = json.loads(_core.explain(certificate_bytes(certificate)))
    return Explanation(report["steps"], [note["words"] for note in report["notes"]], report)


def report(
    model: PathLike | onnx.ModelProto,
    out: PathLike | onnx.ModelProto,
    certificate: bytes | PathLike,
    *,
    found: Optimized[Any] | None = None,
    measure: bool = True,
    feeds: Feeds | None = None,
    shape: Sizes | None = None,
    value: Values | None = None,
    seed: int = 1,
    runtime: Runtime | None = None,
    progress: Progress | None = None,
) -> Report:
    """A page that shows what a certificate did to `model` to make `out`: which nodes became which, by which law, how long they take.

    `found`: what `optimize` returned; the page then has its figures and its search, too. `measure`: measure the time of each node on the runtime; where it
    can't, an analytic cost stands for that. Nothing is proved again: `check` does that.

    >>> import isomer, onnx
    >>> model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { a = Identity(x) y = Relu(a) }')
    >>> found = isomer.optimize(model, judge="cost")
    >>> page = isomer.report(model, found.model, found.certificate, found=found, measure=False)
    >>> page.html.startswith("<!doctype html>")
    True
    """
    options = _core.ReportOptions()
    options.measure, options.seed, options.sizes, options.values = measure, seed, size_texts(shape), value_texts(value)
    options.runtime = runtime_options(runtime)
    if found is not None:
        options.optimized = json.dumps(found.report)
    if not isinstance(certificate, bytes):
        options.certificate_file = path_of(certificate, "`certificate`")
    arrays = set_feeds(options, feeds)
    with as_files(model, out) as (first, second):
        models = _core.load(first, []), _core.load(second, [])
        text, html, is_measured, why = _core.report(*models, certificate_bytes(certificate), options, arrays, progress)
    return Report(html, is_measured, why, json.loads(text))


def compare(
    a: PathLike | onnx.ModelProto,
    b: PathLike | onnx.ModelProto,
    *,
    engine: Literal["reference", "runtime"] = "runtime",
    feeds: Feeds | None = None,
    shape: Sizes | None = None,
    value: Values | None = None,
    tolerance: float | None = None,
    seed: int = 1,
    runtime: Runtime | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """How far apart the outputs of two models are on one input, and where the models part first.

    `engine`: "reference" computes by the operators' own formulas, slowly. `tolerance`: relative to the largest value; None for what is usual
    for the type. `feeds`: arrays by name or an npz file; without them they are made up, at `shape`, filled as `value` says ({"sr": 16000}).

    >>> import isomer, onnx
    >>> def model(body):
    ...     return onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) {' + body + '}')
    >>> isomer.compare(model("y = Neg(x)"), model("y = Neg(x)"), engine="reference").differ
    False
    >>> isomer.compare(model("y = Neg(x)"), model("y = Exp(x)"), engine="reference").outputs[0]["differing"]
    4
    """
    options = _core.CompareOptions()
    options.engine = _engine(engine, ("reference", "runtime"))
    options.tolerance, options.seed, options.sizes, options.values = tolerance, seed, size_texts(shape), value_texts(value)
    options.runtime = runtime_options(runtime)
    arrays = set_feeds(options, feeds)
    with as_files(a, b) as (first, second):
        text = _core.compare(_core.load(first, []), _core.load(second, []), options, arrays, progress)
    report = json.loads(text)
    return Comparison(report["differ"], report["outputs"], report)


def bench(
    *models: PathLike | onnx.ModelProto,
    seconds: float = 20,
    clock: Literal["auto", "wall", "cpu"] = "auto",
    feeds: Feeds | None = None,
    shape: Sizes | None = None,
    value: Values | None = None,
    seed: int = 0,
    runtime: Runtime | None = None,
    cache: PathLike | None = None,
    progress: Progress | None = None,
) -> Bench:
    """How fast models are on a runtime; each but the first one is compared with the first, in pairs (docs/concepts/judge.md).

    `seconds`: of one comparison, at most. `clock`: "auto" is CPU time with one thread, else wall time. `feeds`: arrays by name or an npz file;
    without them they are made up, at `shape`, filled as `value` says ({"sr": 16000}). `cache`: a file of comparisons that need not be made again.

    >>> import isomer, onnx
    >>> model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[64] x) => (float[64] y) { y = Tanh(x) }')
    >>> found = isomer.bench(model, seconds=1)
    >>> found.models[0].latency_ns.estimate > 0
    True
    """
    options = _core.BenchOptions()
    options.clock = _clock(clock)
    options.seconds, options.seed, options.sizes, options.values = seconds, seed, size_texts(shape), value_texts(value)
    options.runtime = runtime_options(runtime)
    if cache is not None:
        options.cache = path_of(cache, "a cache")
    arrays = set_feeds(options, feeds)
    with as_files(*models) as files:
        report = json.loads(_core.bench([_core.load(file, []) for file in files], options, arrays, progress))
    measured, pairs = [], []
    for number, (model, told) in enumerate(zip(models, report["models"])):
        name = f"model {number}" if is_proto(model) else str(model)
        failure = told.get("failure")
        latency = interval_of(told.get("latency_ns"), "median")
        measured.append(ModelSpeed(name, failure["message"] if failure else "", latency, told.get("peak_bytes"), told.get("load_ns")))
    for told in report["pairs"]:
        failure = told.get("failure")
        pairs.append(PairSpeed(told["number_of_b"], told.get("verdict", ""), failure["message"] if failure else "", interval_of(told, "ratio")))
    return Bench(f"{report['title']} {report['version']}", measured, pairs, report)


def explore(
    model: PathLike | onnx.ModelProto,
    *,
    objective: Literal["latency", "load-time", "memory", "size", "energy"] = "latency",
    mode: Literal["fast", "mixed", "full"] = "mixed",
    output: PathLike | None = None,
    this_machine: bool = False,
    seconds: float = 5,
    budget: float | str = 60,
    min_gain: float = 1.02,
    clock: Literal["auto", "wall", "cpu"] = "auto",
    control: bool = False,
    records: PathLike | None = None,
    feeds: Feeds | None = None,
    shape: Sizes | None = None,
    value: Values | None = None,
    seed: int = 0,
    runtime: Runtime | None = None,
    progress: Progress | None = None,
) -> Exploration:
    """Finds by trials which of ONNX Runtime's passes and settings help a model (docs/guides/explore.md).

    `objective`: the quantity to improve; "load-time" makes a model that loads faster, written to `output`, `this_machine`: one for processors like
    this one only; `budget`: for proving it equal. `mode`: "fast" combines all that help alone with 95 % confidence, "mixed" adds passes
    greedily while that helps, "full" tries all subsets of the few that help most. `seconds`: of one trial, at most. `min_gain`: the least gain.
    `control`: measure passes that change nothing. `records`: a file with which a run that was stopped goes on. `feeds`: arrays by name or an npz
    file; without them they are made up, at `shape`, filled as `value` says ({"sr": 16000}).

    >>> import isomer, onnx
    >>> model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[64] x) => (float[64] y) { a = Identity(x) y = Tanh(a) }')
    >>> found = isomer.explore(model, objective="size", mode="fast")
    >>> "EliminateIdentity" in [name for trial in found.report["passes"] if trial["changes_graph"] for name in trial["passes"]]
    True
    """
    options = _core.ExploreOptions()
    plain = {"objective": _member(_core.Objective, "objective", objective, ("latency", "load-time", "memory", "size", "energy")),
             "mode": _member(_core.ExploreMode, "mode", mode, ("fast", "mixed", "full")), "this_machine": this_machine, "seconds": seconds,
             "prove_seconds": budget_seconds(budget), "min_gain": min_gain, "control": control, "seed": seed, "sizes": size_texts(shape),
             "values": value_texts(value)}  # fmt: skip
    for name, value in plain.items():
        setattr(options, name, value)
    options.clock, options.runtime = _clock(clock), runtime_options(runtime)
    for name, place in (("output", output), ("records", records)):
        if place is not None:
            setattr(options, name, path_of(place, f"`{name}`"))
    arrays = set_feeds(options, feeds)
    with as_files(model) as (file,):
        text, _, html = _core.explore(_core.load(file, []), options, arrays, progress)
    report = json.loads(text)
    chosen = report["configuration"]
    best = dataclasses.replace(runtime or Runtime(), optimization_level=chosen["optimization_level"],
                               disabled_optimizers=tuple(chosen["disabled_optimizers"]), config=chosen["config"])  # fmt: skip
    return Exploration(report["verdict"] == "better", report["line"], interval_of(report["measured"], "ratio"), best, report["python"], html, report)


def gate(
    base: PathLike | onnx.ModelProto,
    candidate: PathLike | onnx.ModelProto,
    *,
    min_ratio: float = 0.98,
    equal: bool = False,
    certificate: bytes | PathLike | None = None,
    seconds: float = 60,
    budget: float | str = 300,
    clock: Literal["auto", "wall", "cpu"] = "auto",
    feeds: Feeds | None = None,
    shape: Sizes | None = None,
    value: Values | None = None,
    seed: int = 0,
    runtime: Runtime | None = None,
    base_runtime: Runtime | None = None,
    progress: Progress | None = None,
) -> Gate:
    """Whether `candidate` may take the place of `base`: a check for CI.

    `min_ratio`: how fast it has to be, of the base's speed. `equal`: it must be proved equal, too; `certificate` is tried first. `seconds`: of
    measuring, at most; `budget`: of proving. `base_runtime`: of the base, if it is another one: give the same model twice to compare two
    versions of a runtime.

    >>> import isomer, onnx
    >>> def model(body):
    ...     return onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[64] x) => (float[64] y) {' + body + '}')
    >>> isomer.gate(model("y = Neg(x)"), model("y = Identity(x)"), equal=True, seconds=1).verdict
    'fails'
    >>> bool(isomer.gate(model("a = Neg(x) y = Neg(a)"), model("y = Identity(x)"), equal=True, min_ratio=0.01, seconds=1))
    True
    """
    options = _core.GateOptions()
    options.min_ratio, options.equal, options.clock = min_ratio, equal, _clock(clock)
    options.seconds, options.prove_seconds, options.seed = seconds, budget_seconds(budget), seed
    options.sizes, options.values = size_texts(shape), value_texts(value)
    options.runtime = runtime_options(runtime)
    if base_runtime is not None:
        options.base_runtime = runtime_options(base_runtime)
    arrays = set_feeds(options, feeds)
    with as_files(base, candidate) as (first, second):
        one, two = _core.load_pair(first, second, [], [])
        text, markdown = _core.gate(one, two, options, certificate_bytes(certificate), arrays, progress)
    report = json.loads(text)
    return Gate(report["verdict"], report["line"], interval_of(report["speed"], "ratio"), markdown, report)


def inspect(model: PathLike | onnx.ModelProto, *, shape: Sizes | None = None) -> Inspection:
    """What a model is: operators, shapes, floating-point operations, and which nodes have no meaning here, with the reason.

    >>> import isomer, onnx
    >>> model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[N, 3] x) => (float[N, 3] y) { y = Relu(x) }')
    >>> isomer.inspect(model)
    <Inspection: 1 nodes, opset 17, 0 bytes of weights, 0 nodes without a meaning here>
    >>> isomer.inspect(model).inputs
    [Port(name='x', type='float', shape=['N', 3])]
    >>> isomer.inspect(model, shape={"N": 8}).flops
    24
    """
    with as_files(model) as (file,):
        report = json.loads(_core.inspect(_core.load(file, []), size_texts(shape)))
    inputs, outputs = ([Port(p["name"], p["type"], p["shape"]) for p in report[key]] for key in ("inputs", "outputs"))
    operators = {f"{o['domain']}.{o['op']}" if o["domain"] else o["op"]: o["count"] for o in report["operators"]}
    return Inspection(
        report["nodes"], report["opset"], inputs, outputs, operators, report["float_nodes"], report["float_nodes_defined"], report["opaque"],
        report["flops"], report["weight_bytes"], report,
    )  # fmt: skip


def compile(
    model: PathLike | onnx.ModelProto,
    folder: PathLike,
    *,
    name: str = "model",
    target: Literal["native", "x86-64", "x86-64-v3", "x86-64-v4", "aarch64", "wasm32"] = "native",
    shape: Sizes | None = None,
    value: Values | None = None,
    compiler: str = "",
    schedule: str = "",
    as_operator: bool = False,
    fixed_sizes: bool = False,
    threads: int = 1,
    feeds: Feeds | None = None,
    budget: float | str = 300,
    tune: float | str = 0,
    seconds: float = 5,
    sums: Literal["", "fast", "short", "F(2,3)", "direct"] = "",
    max_error_growth: float = 2,
    runtime: Runtime | None = None,
) -> Compiled:
    """Makes a library of a model in `folder`, which needs no runtime (docs/guides/compile.md); `load_module` gives it back as a function.

    `name`: what its files and symbols begin with. `target`: the processor, this one or a level. `shape`: of inputs, where the model leaves them
    open. `compiler`: a C++ compiler; without it `$CXX`, or clang++ or g++ of `$PATH`. `schedule`: how loops run, as text. `as_operator`: also
    model.onnx, in which the regions that are faster so are operators of ONNX Runtime. It runs at every size, and is faster at `shape`;
    `fixed_sizes`: it is for these alone. `threads`: of a run, where `load_module` says nothing else. `budget`: limit of the whole run, in seconds or as
    the command takes it, "5m"; `tune`: the time for finding faster schedules, beyond it. `seconds`: of comparing it
    with that runtime, which has as many threads; 0: it is not compared. `feeds`: inputs to compare with, arrays by name or an npz file; without
    them they are made up, filled as `value` says. `sums`: how products are added up; without it the first way whose rounding error is at most
    `max_error_growth` times the runtime's (0: it is not measured).

    >>> import isomer, onnx, tempfile
    >>> model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { a = Exp(x) y = Neg(a) }')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     compiled = isomer.compile(model, folder, shape={"N": 100}, target="x86-64-v3", seconds=0)
    >>> len(compiled.nests)
    1
    """
    options = _core.CompileOptions()
    options.name, options.target, options.compiler, options.schedules = name, target, compiler, schedule
    options.sizes, options.values = size_texts(shape), value_texts(value)
    options.as_operator, options.fixed_sizes = as_operator, fixed_sizes
    options.seconds, options.runtime = seconds, runtime_options(runtime)
    options.budget, options.tune_seconds = budget_seconds(budget), budget_seconds(tune, "tune")
    options.sums, options.max_error_growth, options.threads = sums, max_error_growth, threads
    arrays = set_feeds(options, feeds)
    place = path_of(folder, "`folder`")
    with as_files(model) as (file,):
        text, nests = _core.compile(_core.load(file, []), place, options, arrays)
    report = json.loads(text)
    return Compiled(place, nests, interval_of(report["speed"], "ratio"), report)


def run(
    model: PathLike | onnx.ModelProto, feeds: Tensors | None = None, *, engine: Engine = "reference", runtime: Runtime | None = None
) -> dict[str, np.ndarray]:
    """The outputs of a model, by name, for inputs by name.

    `engine`: "reference" computes by the operators' own formulas, slowly: that is what "equal" is about. "double": the same, with all
    floating-point numbers as float64. "runtime": on the runtime.

    >>> import isomer, numpy, onnx
    >>> model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { y = Relu(x) }')
    >>> isomer.run(model, {"x": numpy.array([-1, 2], numpy.float32)})["y"].tolist()
    [0.0, 2.0]
    """
    with as_files(model) as (file,):
        return made_tensors(_core.run(_core.load(file, []), given_tensors(feeds or {}), _engine(engine), runtime_options(runtime)))


def proposers() -> list[str]:
    """The names that `without` of `optimize` may have.

    >>> import isomer
    >>> "collapse" in isomer.proposers()
    True
    """
    return _core.proposers()


def runtimes() -> list[str]:
    """The names that a `Runtime` may have.

    >>> import isomer
    >>> isomer.runtimes()
    ['ort', 'openvino']
    """
    return _core.runtimes()


def default_cache() -> Path:
    """The file in which the command remembers what it measured; an empty path, if there is none. For `cache`, since functions use none by themselves.

    >>> import isomer
    >>> str(isomer.default_cache()) != ""
    True
    """
    return _core.default_cache()
