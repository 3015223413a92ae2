"""What functions return: small records. Each has all that the command prints with --json in `report` (docs/reference/json.md)."""

from __future__ import annotations

import dataclasses
import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

if TYPE_CHECKING:
    import numpy as np

    from ._inputs import Runtime

Model = TypeVar("Model")
Rows = Sequence[tuple[str, object]]


def _report() -> Any:
    return dataclasses.field(repr=False, compare=False)


class _Shown:
    """One line as text, a table in a notebook."""

    def _line(self) -> str:
        raise NotImplementedError

    def _rows(self) -> Rows:
        return ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._line()}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr style='text-align:left'><th>{html.escape(k)}</th><td>{html.escape(str(v))}</td></tr>" for k, v in self._rows())
        return f"<div><b>{type(self).__name__}</b>: {html.escape(self._line())}<table>{rows}</table></div>"


@dataclasses.dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.3g} [{self.low:.3g}, {self.high:.3g}]"


def interval_of(figures: dict[str, Any] | None, name: str = "estimate") -> Interval | None:
    """Out of JSON; None where a figure is not known."""
    if figures is None or figures.get(name) is None:
        return None
    return Interval(figures[name], figures["low"], figures["high"])


@dataclasses.dataclass(repr=False)
class Optimized(_Shown, Generic[Model]):
    """What `optimize` found. `model`: of the kind that was given; the one that was given, if the result is "unchanged".
    `reason`: why it is unchanged, else "". `certificate`: for `check` and for the program isomer-check. `ratio`: how many times as
    fast as before, if that was measured."""

    result: Literal["improved", "simplified", "unchanged"]
    reason: str
    model: Model
    certificate: bytes
    ratio: Interval | None
    nodes_in: int
    nodes_out: int
    report: dict[str, Any] = _report()

    def _line(self) -> str:
        speed = f", {self.ratio}× faster" if self.ratio and self.result != "unchanged" else ""
        why = f", because {self.reason}" if self.reason else ""
        return f"{self.result}{speed}, {self.nodes_in} nodes -> {self.nodes_out}{why}"

    def _rows(self) -> Rows:
        return [("change", words) for words in self.report["changes_in_words"]]


@dataclasses.dataclass(repr=False)
class Proof(_Shown):
    """The result of `prove`; true only if it is proved. `why`: the reason if it is not. `certificate`: of a proof, for `check`.
    `counterexample`: inputs on which the models differ, if they are refuted and some were found."""

    verdict: Literal["proved", "refuted", "undecided"]
    why: str
    certificate: bytes
    counterexample: dict[str, np.ndarray]
    report: dict[str, Any] = _report()

    def __bool__(self) -> bool:
        return self.verdict == "proved"

    def _line(self) -> str:
        return self.verdict + (f": {self.why}" if self.why else "")

    def _rows(self) -> Rows:
        return [(f"{o['a']} and {o['b']}", o["verdict"]) for o in self.report["outputs"]]


@dataclasses.dataclass(repr=False)
class Checked(_Shown):
    """What `check` found; true only if the certificate is accepted: every step of it was proved again. `reason`: why not."""

    accepted: bool
    reason: str
    report: dict[str, Any] = _report()

    def __bool__(self) -> bool:
        return self.accepted

    def _line(self) -> str:
        return f"accepted, {self.report['steps']} steps" if self.accepted else f"{self.report['verdict']}: {self.reason}"


@dataclasses.dataclass(repr=False)
class Comparison(_Shown):
    """How far apart two models are on one input. `differ`: by more than the tolerance. `outputs`: each pair of outputs, as the report has it."""

    differ: bool
    outputs: list[dict[str, Any]]
    report: dict[str, Any] = _report()

    def __bool__(self) -> bool:
        raise TypeError("a comparison is neither true nor false: use .differ")

    def _line(self) -> str:
        return "they differ" if self.differ else "no difference beyond the tolerance"

    def _rows(self) -> Rows:
        return [(o["b"], o["misfit"] or f"{o['differing']} of {o['elements']} differ, the largest by {o['largest_absolute']:.3g}") for o in self.outputs]


@dataclasses.dataclass(repr=False)
class Compiled(_Shown):
    """The output of `compile`, for `load`. `nests`: name and text of all loops. `ratio`: the speedup over ONNX Runtime, if that was measured."""

    folder: Path
    nests: list[tuple[str, str]]
    ratio: Interval | None
    report: dict[str, Any] = _report()

    def _line(self) -> str:
        speed = f", {self.ratio}× faster than the runtime" if self.ratio else ""
        return f"{self.folder}, {self.report['nests']} nests, for {self.report['target']}{speed}"

    def _rows(self) -> Rows:
        return [(k.replace("_", " "), v) for k, v in self.report.items()]


@dataclasses.dataclass(frozen=True)
class Port:
    """An input or an output. `shape`: a number, or the name of a size that is open; None if the rank is unknown."""

    name: str
    type: str
    shape: list[int | str] | None


@dataclasses.dataclass(repr=False)
class Inspection(_Shown):
    """What a model is. `float_nodes_defined` of `float_nodes` have a meaning here; `opaque` are nodes that have none, each with the
    reason. `flops`: None, if they depend on sizes that are open."""

    nodes: int
    opset: int
    inputs: list[Port]
    outputs: list[Port]
    operators: dict[str, int]
    float_nodes: int
    float_nodes_defined: int
    opaque: list[dict[str, Any]]
    flops: int | None
    weight_bytes: int
    report: dict[str, Any] = _report()

    def _line(self) -> str:
        return f"{self.nodes} nodes, opset {self.opset}, {self.weight_bytes} bytes of weights, {len(self.opaque)} nodes without a meaning here"

    def _rows(self) -> Rows:
        ports = [("input", p) for p in self.inputs] + [("output", p) for p in self.outputs]
        shapes = [(kind, f"{p.name}: {p.type} {'of unknown rank' if p.shape is None else p.shape}") for kind, p in ports]
        return [*shapes, *((op, count) for op, count in self.operators.items())]


@dataclasses.dataclass(frozen=True)
class ModelSpeed:
    """One model of a `bench`. `failure`: "", or why it was not measured; then the figures are None. Latency is of one run, in nanoseconds."""

    name: str
    failure: str
    latency_ns: Interval | None
    peak_bytes: int | None
    load_ns: float | None


@dataclasses.dataclass(frozen=True)
class PairSpeed:
    """The first model of a `bench` against another one, number `b`. `ratio`: latency of the first, divided by that of the other.
    `verdict`: of the other: "faster", "slower" or "no difference seen"; or "", with the reason in `failure`."""

    b: int
    verdict: str
    failure: str
    ratio: Interval | None


@dataclasses.dataclass(repr=False)
class Bench(_Shown):
    """What `bench` measured: each model, and each but the first one compared with the first."""

    runtime: str
    models: list[ModelSpeed]
    pairs: list[PairSpeed]
    report: dict[str, Any] = _report()

    def _line(self) -> str:
        said = [f"{self.models[p.b].name}: {p.verdict}, {p.ratio}" if p.ratio else f"{self.models[p.b].name}: {p.failure}" for p in self.pairs]
        return "; ".join(said) or "; ".join(_speed(m) for m in self.models)

    def _rows(self) -> Rows:
        return [(m.name, _speed(m)) for m in self.models]


def _speed(model: ModelSpeed) -> str:
    return f"{model.latency_ns.estimate / 1e6:.3g} ms" if model.latency_ns else model.failure


@dataclasses.dataclass(repr=False)
class Exploration(_Shown):
    """The result of `explore`; true only if a candidate is better with 95 % confidence. `line`: the answer as text. `ratio`: the gain; None if no
    candidate was worth a final comparison. `runtime`: the settings to use, for `bench` and other functions; `python`: the same, to paste. `html`: a
    page with a picture of all passes."""

    is_better: bool
    line: str
    ratio: Interval | None
    runtime: Runtime
    python: str
    html: str = dataclasses.field(repr=False)
    report: dict[str, Any] = _report()

    def __bool__(self) -> bool:
        return self.is_better

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _line(self) -> str:
        return self.line


@dataclasses.dataclass(repr=False)
class Gate(_Shown):
    """Whether a model may take another one's place; true only if it "passes". `line`: the answer and why. `ratio`: latency of the base, divided
    by that of the candidate; None, if that does not run. `markdown`: for a pull request."""

    verdict: Literal["passes", "fails", "unsure"]
    line: str
    ratio: Interval | None
    markdown: str
    report: dict[str, Any] = _report()

    def __bool__(self) -> bool:
        return self.verdict == "passes"

    def _line(self) -> str:
        return self.line


@dataclasses.dataclass(repr=False)
class Report(_Shown):
    """A page about a result: one file that loads nothing from a network. `is_measured`: its widths are times; `why`: why they are not, although requested."""

    html: str = dataclasses.field(repr=False)
    is_measured: bool
    why: str
    report: dict[str, Any] = _report()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _line(self) -> str:
        return f"{len(self.html) / 1000:.0f} kB, widths are {'times' if self.is_measured else 'an analytic cost'}"


@dataclasses.dataclass(repr=False)
class Explanation(_Shown):
    """The steps that a certificate states. `notes`: each change as text; nothing is proved here."""

    steps: int
    notes: list[str]
    report: dict[str, Any] = _report()

    def _line(self) -> str:
        return f"{self.steps} steps, {len(self.notes)} notes"

    def _rows(self) -> Rows:
        return [("note", note) for note in self.notes]
