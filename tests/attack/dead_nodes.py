"""Nodes that no output needs. ONNX Runtime runs them all the same: B with one that fails where A runs is not equal to A.

The dead node is a call of the contract suite, of every operator. The first model passes on what the call reads. The integers that the call reads, and its
sizes, may be fed, so that an index lies outside, a shape does not fit, a step or a divisor is 0. Three pairs of each: B has it and A does not (never proved
where the runtime fails, nor accepted by a checker); A has it and B does not, and both have it (these stay provable).
"""
import copy
import dataclasses
import pathlib
import random
from collections.abc import Iterator

import numpy as np
import onnx
from onnx import helper, numpy_helper

import proving
from attack import calls, certificates, oracle
from attack.calls import Call
from attack.cases import ANSWERS, Finding
from attack.feeds import Feed

MOST_TRIES = 6  # until the runtime takes the call
ODD = (-100, -7, -2, -1, 0, 1, 9, 70)  # larger ones would take memory only
# Operators whose calls fail for values, not only for sizes: every second case is of these.
FAILING = [("", op) for op in (
    "Add", "ArgMax", "BitShift", "CenterCropPad", "Col2Im", "Compress", "Concat", "ConstantOfShape", "CumSum", "Div", "Expand", "Gather", "GatherElements",
    "GatherND", "MatMul", "Mod", "OneHot", "Pad", "Range", "ReduceMax", "ReduceSum", "Reshape", "Resize", "ReverseSequence", "ScatterElements", "ScatterND",
    "Slice", "Split", "Squeeze", "TensorScatter", "Tile", "TopK", "Trilu", "Unsqueeze", "Where")]
ANY_SIZES, IN_A_FUNCTION = 0.4, 0.2


@dataclasses.dataclass
class Host:
    """What the call reads, passed on; and the same with the call."""
    without: onnx.ModelProto
    with_it: onnx.ModelProto
    feeds: list[Feed]


def _declared(feed: Feed, any_sizes: bool) -> list[onnx.ValueInfoProto]:
    """Each axis of each input has a size of its own, or the drawn one."""
    extents = {n: [f"{n}_{k}" for k in range(v.ndim)] if any_sizes else list(v.shape) for n, v in feed.items()}
    return [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), extents[n]) for n, v in feed.items()]


def host(call: Call, draw: random.Random) -> Host:
    feed, constants = dict(call.feed), call.constants
    free = [n for n, v in constants.items() if v.dtype.kind in "iu"] if draw.random() < 0.7 else []
    for name in free or list(constants)[:0 if feed else 1]:
        feed[name] = constants.pop(name)
    any_sizes = draw.random() < ANY_SIZES
    model = copy.deepcopy(call.model)
    for field in ("input", "initializer", "output", "node"):
        model.graph.ClearField(field)
    model.graph.input.extend(_declared(feed, any_sizes))
    kept = [helper.make_node("Identity", [n], [f"kept_{n}"]) for n in feed]
    model.graph.output.extend(helper.make_tensor_value_info(f"kept_{n}", helper.np_dtype_to_tensor_dtype(v.dtype), None) for n, v in feed.items())
    with_it = copy.deepcopy(model)
    model.graph.node.extend(kept)
    if feed and draw.random() < IN_A_FUNCTION:
        _hide(with_it, call, kept, [*feed, *constants])
    else:
        at = draw.randint(0, len(kept))
        with_it.graph.node.extend([*kept[:at], call.node, *kept[at:]])
    with_it.graph.initializer.extend(numpy_helper.from_array(v, n) for n, v in constants.items())
    return Host(model, with_it, list(_fed(feed, any_sizes, draw)))


def _hide(model: onnx.ModelProto, call: Call, kept: list[onnx.NodeProto], inputs: list[str]) -> None:
    """Puts the call into a function that passes on the first input."""
    body = [helper.make_node("Identity", [inputs[0]], ["passed"]), call.node]
    model.functions.append(helper.make_function("my", "f", inputs, ["passed"], body, list(model.opset_import)))
    model.opset_import.append(helper.make_opsetid("my", 1))
    model.graph.node.extend([helper.make_node("f", inputs, [kept[0].output[0]], domain="my"), *kept[1:]])


def _fed(feed: Feed, any_sizes: bool, draw: random.Random) -> Iterator[Feed]:
    """As drawn; then one element or all of an integer input changed, or one size."""
    yield feed
    numbers = np.random.default_rng(draw.randrange(2**32))
    for name, value in feed.items():
        if value.dtype.kind not in "iu" or not value.size:
            continue
        odd = [v for v in ODD if np.iinfo(value.dtype).min <= v <= np.iinfo(value.dtype).max]
        for v in draw.sample(odd, min(4, len(odd))):
            changed = value.copy()
            changed.flat[draw.randrange(value.size)] = v
            yield feed | {name: changed}
        for v in (0, *([-1] if value.dtype.kind == "i" else [])):
            yield feed | {name: np.full_like(value, v)}
    for name, value in feed.items() if any_sizes else ():
        for axis in range(value.ndim):
            extents = list(value.shape)
            extents[axis] = draw.choice((extents[axis] + 1, extents[axis] + 3, 0, 1))
            yield feed | {name: np.resize(value, extents) if value.size else np.asarray(numbers.integers(0, 2, extents)).astype(value.dtype)}


def _failing(paths: list[pathlib.Path], feeds: list[Feed]) -> tuple[bool, str | None] | None:
    """Whether the second model runs on one of the feeds, and how it fails on another one on which the first runs; None: the runtime does not take it."""
    try:
        a, b = map(oracle.Program, paths)
    except Exception:  # noqa: BLE001 - whatever it says
        return None
    ran = [(feed, b.run(feed)) for feed in feeds if not isinstance(a.run(feed), oracle.Failure)]
    failed = next((f"the second fails: {y}; fed {oracle.spelled(feed)}" for feed, y in ran if isinstance(y, oracle.Failure)), None)
    return any(not isinstance(y, oracle.Failure) for _, y in ran), failed


@dataclasses.dataclass(frozen=True)
class DeadNode:
    """One of them, made when it is its turn."""
    name: str
    seed: str
    domain: str
    op: str
    side: str  # which model has the dead node

    def ask(self, folder: pathlib.Path, seconds: int) -> Finding:
        draw = random.Random(self.seed)
        of_it = calls.calls(self.domain, self.op)
        for _ in range(MOST_TRIES if of_it else 0):
            finding = self._asked(draw.choice(of_it), draw, folder, seconds)
            if finding.verdict != Finding().verdict:
                return finding
        return Finding()

    def _asked(self, call: Call, draw: random.Random, folder: pathlib.Path, seconds: int) -> Finding:
        made = host(call, draw)
        a, b = folder / "a" / "model.onnx", folder / "b" / "model.onnx"
        for path, model in ((a, made.without), (b, made.with_it)):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(model.SerializeToString())
        said = calls.in_a_child(lambda: _failing([a, b], made.feeds))
        if said is None or not said[0]:
            return Finding()
        unequal = said[1]
        if self.side != "B":
            unequal = None
            a.write_bytes(made.with_it.SerializeToString())
            if self.side == "A":
                b.write_bytes(made.without.SerializeToString())
        record = proving.prove(a, b, seconds, sizes_from=0)
        if record["verdict"] not in ANSWERS:
            return Finding(record["verdict"], unequal, crash=f"{call.name}: {record['why']}")
        if self.side != "B":
            not_proved = None if record["verdict"] == "proved" else f"{call.name}: an equal pair is not proved: {record['why'][:160]}"
            return Finding(record["verdict"], crash=not_proved)
        false = f"{call.name}: {unequal}" if unequal and record["verdict"] == "proved" else None
        if unequal and not false and certificates.is_accepted(folder / "model.cert", a, b, [{"compare": "values"}]):
            false = f"{call.name}: a certificate is accepted: {unequal}"
        return Finding(record["verdict"], unequal, false)


def cases(draw: random.Random) -> Iterator[DeadNode]:
    """Without an end."""
    start = draw.randrange(2**32)
    for k, domain, op in calls.by_turns(draw, FAILING):
        side = ("B", "A", "B", "both", "B")[k // 2 % 5]
        yield DeadNode(f"{op} in {side} {start} {k}", f"{start} {k}", domain, op, side)
