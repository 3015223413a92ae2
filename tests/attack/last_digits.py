"""Constants restated: B is A with one float constant off by one unit in the last place, some by up to 8.

The models are the contract suite's calls of every operator. The constant is an input of the call, a factor or a term before one, or what cancels in front of
one. `prove` accepts such constants (`constants_restated`), but not where they decide something: if it says equal, both models have the same inferred shapes,
the same shapes on ONNX Runtime, B is finite wherever A is, and no value jumps. Where the runtime distinguishes them a forged certificate that pairs the
constants must be rejected, too.
"""
import copy
import dataclasses
import json
import pathlib
import random
from collections.abc import Iterator

import numpy as np
import onnx
from onnx import helper, numpy_helper

import programs
import proving
from attack import calls, certificates, oracle
from attack.calls import Call
from attack.cases import ANSWERS, Finding
from attack.feeds import Feed
from attack.models import Model, f32

MOST_UNITS = 8
MOST_TRIES = 8  # until a call has a float to restate and the runtime takes it
NUMBERS = (1.0, 1.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1.5)
EDGES = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0)
# Operators that look at a constant, jump, or are not defined everywhere: every second case is of these.
SHARP = [("", op) for op in (
    "Acos", "Acosh", "ArgMax", "Asin", "AffineGrid", "Atanh", "Cast", "Ceil", "Clip", "Div", "Equal", "Floor", "GridSample", "Less", "Log", "Mod",
    "NonMaxSuppression", "OneHot", "Pow", "QuantizeLinear", "Range", "Reciprocal", "Resize", "RoiAlign", "Round", "Sqrt", "TopK", "Unique", "Upsample")]

LONG = 5000  # more than inference folds
# c and one cancel; what is left has few digits, and is divided by, or decides where something is defined. Lengths: {n}.
CANCELLED = {
    "quotient": "t = Sub(c,one) y = Div(x,t)", "reciprocal": "t = Sub(c,one) r = Reciprocal(t) y = Mul(x,r)",
    "root": "q = Mul(x,x) t = Sub(c,one) s = Add(q,t) y = Sqrt(s)", "logarithm": "q = Mul(x,x) t = Sub(c,one) s = Add(q,t) y = Log(s)",
    "power": "q = Abs(x) t = Sub(c,one) y = Pow(q,t)", "power of it": "t = Sub(c,one) s = Add(t,x) y = Pow(s,half)",
    "remainder": "t = Sub(c,one) y = Mod<fmod=1>(x,t)", "quotient of sums": "t = Sub(c,one) s = ReduceSum<keepdims=1>(t) y = Div(x,s)",
    "index": "t = Sub(c,one) i = ArgMax<keepdims=1>(t) y = Gather(x,i)", "comparison": "t = Sub(c,one) b = Greater(t,nought) n = Neg(x) y = Where(b,x,n)",
    "factor": "y = Mul(x,c)", "term": "y = Add(x,c)",
}


def restated(values: np.ndarray, draw: random.Random) -> tuple[np.ndarray, str] | None:
    """Some elements off by a few units; None: all are zero or infinite."""
    at = [k for k in range(values.size) if np.isfinite(values.flat[k]) and values.flat[k] != 0]
    if not at:
        return None
    out, units, up = values.copy(), draw.choice((1, 1, 1, 1, draw.randint(2, MOST_UNITS))), draw.random() < 0.5
    chosen = at if draw.random() < 0.3 else draw.sample(at, min(len(at), draw.choice((1, 1, 2))))
    end = values.dtype.type(np.inf if up else -np.inf)
    for k in chosen:
        moved = out.flat[k]
        for _ in range(units):
            moved = np.nextafter(moved, end)
        if not np.isfinite(moved) or moved == 0 or np.sign(moved) != np.sign(values.flat[k]):
            return None
        out.flat[k] = moved
    return out, f"{len(chosen)} of {values.size} by {units if up else -units}"


@dataclasses.dataclass
class Pair:
    a: onnx.ModelProto
    b: onnx.ModelProto
    constant: str
    feeds: list[Feed]
    what: str


def with_constant(model: onnx.ModelProto, name: str, values: np.ndarray) -> onnx.ModelProto:
    out = copy.deepcopy(model)
    tensor = next(t for t in out.graph.initializer if t.name == name)
    tensor.CopyFrom(numpy_helper.from_array(values, name))
    return out


def edges(feed: Feed, numbers: np.random.Generator) -> list[Feed]:
    """The feed, and others whose floats are where functions begin and end."""
    floats = {n: v for n, v in feed.items() if v.dtype.kind == "f"}
    others = [{n: np.full_like(v, e) for n, v in floats.items()} for e in EDGES[:3]]
    others += [{n: numbers.choice(np.array(EDGES), v.shape).astype(v.dtype) for n, v in floats.items()} for _ in range(2)]
    others += [{n: np.abs(v) for n, v in floats.items()}, {n: np.round(v) for n, v in floats.items()}]
    return [feed, *(feed | o for o in others if floats)]


def of_call(call: Call, draw: random.Random) -> Pair | None:
    """One constant of the call restated, or one that is put before it."""
    numbers = np.random.default_rng(draw.randrange(2**32))
    floats = [n for n, v in call.arrays.items() if v.dtype.kind == "f" and v.size]
    if not floats:
        return None
    name = draw.choice(floats)
    ways = ["itself"] if name in call.constants else ["itself", "factor", "term", "factor"]
    way = draw.choice(ways)
    feed, constants = dict(call.feed), call.constants
    if way == "itself":
        feed.pop(name, None)
        was = call.arrays[name]
        constants[name] = was if draw.random() < 0.7 else numbers.choice(np.abs(np.array(NUMBERS)), was.shape).astype(was.dtype)
        model, constant = call.rebuilt(feed, constants), name
    else:
        value = np.array(draw.choice(NUMBERS), call.arrays[name].dtype)
        if way == "factor" and draw.random() < 0.3:
            value = np.nextafter(value, value.dtype.type(0))
        model, constant = call.rebuilt(feed, constants | {"c": value}), "c"
        node = model.graph.node[0]
        for k, given in enumerate(node.input):
            if given == name:
                node.input[k] = "before"
        model.graph.node.insert(0, helper.make_node("Mul" if way == "factor" else "Add", [name, "c"], ["before"]))
    if not model.graph.input:  # the second model would be a constant: let something be fed
        output = model.graph.output[0].name
        model.graph.node.append(helper.make_node("Identity", ["fed"], ["kept"]))
        model.graph.input.append(helper.make_tensor_value_info("fed", onnx.TensorProto.FLOAT, [1]))
        model.graph.output.append(helper.make_tensor_value_info("kept", onnx.TensorProto.FLOAT, [1]))
        feed = {"fed": f32(1)}
        assert output != "kept"
    before = next(numpy_helper.to_array(t) for t in model.graph.initializer if t.name == constant)
    changed = restated(before, draw)
    if changed is None:
        return None
    values, what = changed
    fed = edges(feed, numbers)
    if way == "term":  # where the sum is 0 in the one and not in the other
        fed += [feed | {name: np.full_like(feed[name], -v)} for v in (values, before)]
    return Pair(model, with_constant(model, constant, values), constant, fed, f"{way} {what}")


def cancelled(draw: random.Random) -> Pair | None:
    numbers = np.random.default_rng(draw.randrange(2**32))
    n, way = draw.choice((3, 100, LONG, LONG)), draw.choice(list(CANCELLED))
    c = (1 + numbers.integers(-6, 7, n) * 2.0**-22).astype(np.float32)
    made = Model(f"(float[{n}] x) => (float[] y) {{ {CANCELLED[way]} }}", {"c": c, "one": f32(1), "half": f32(0.5), "nought": f32(0)}).proto()
    values, what = restated(c, draw)
    return Pair(made, with_constant(made, "c", values), "c", edges({"x": numbers.standard_normal(n).astype(np.float32)}, numbers), f"{way} {n} {what}")


# ---- what the runtime says ---------------------------------------------------------------------------------------------

def _largest(values) -> float:
    floats = [np.abs(v.astype(np.float64)) for v in values if isinstance(v, np.ndarray) and v.dtype.kind in "fiu" and v.size]
    return max((float(v[np.isfinite(v)].max(initial=0)) for v in floats), default=0.0)


def _slack(x: list, y: list, given: list) -> list:
    """What a steep function may make of a few units: a root at its edge is off by the root of them, of the largest number that there is. A jump is off by
    more."""
    everything = [v for v in (*given, *x, *y) if isinstance(v, np.ndarray)]
    unit = max((float(np.finfo(v.dtype).eps) for v in everything if v.dtype.kind == "f"), default=0.0)
    slack = 2 * (MOST_UNITS * unit) ** 0.5 * _largest(everything)
    return [slack if isinstance(v, np.ndarray) and v.dtype.kind == "f" else 0.0 for v in x]


def falsehood(a: oracle.Program, b: oracle.Program, pair: Pair) -> str | None:
    """Where B is not what a restated constant may make of A."""
    constants = [numpy_helper.to_array(t) for t in pair.a.graph.initializer]
    # A norm makes large numbers, or the root of one below 0, from the rounding errors of equal ones.
    amplifies = any(n.op_type in oracle.HIDING for n in pair.a.graph.node)
    for feed in pair.feeds:
        x = a.run(feed)
        if isinstance(x, oracle.Failure) or not oracle.is_finite([*feed.values(), *a.computed(feed)]) or a.may_hide_overflow(feed):
            continue
        y = b.run(feed)
        if isinstance(y, oracle.Failure):
            return f"the second fails: {y}; fed {oracle.spelled(feed)}"
        if not oracle.is_finite(y) and not amplifies:
            return f"the second is not finite; fed {oracle.spelled(feed)}"
        what = oracle.difference(x, y)
        if what and all(np.shape(u) == np.shape(v) for u, v in zip(x, y)):
            what = None if amplifies else oracle.difference(x, y, slack=_slack(x, y, [*feed.values(), *constants]))
        if what:
            return f"{what}; fed {oracle.spelled(feed)}"
    return None


def inferred_shapes(path: pathlib.Path) -> dict:
    done = programs.run([programs.program("isomer-value-shapes"), path])
    return json.loads(done.stdout) if done.code == 0 else {}


def pairing(pair: Pair) -> list[dict]:
    """The steps of a certificate that restates the constant and pairs all values by name."""
    values = next(numpy_helper.to_array(t) for t in pair.a.graph.initializer if t.name == pair.constant)
    opset = next(o.version for o in pair.a.opset_import if not o.domain)
    by = Model("() => (r) { r = Reshape(p,q) }", {"p": values, "q": np.array(values.shape, np.int64)}, opset).proto()
    made = [o for n in pair.a.graph.node for o in n.output if o]
    ends = {o.name for o in pair.a.graph.output}
    return [{"compare": "values"}, {"constant": pair.constant, "of": "out", "by": certificates.encoded(by)},
            *({"equal": [v, v], "open": [], "work": 1 << 22, "attempt": 1, "at_end": v in ends} for v in made)]


def ask(pair: Pair, folder: pathlib.Path, seconds: int) -> Finding:
    a, b = folder / "a" / "model.onnx", folder / "b" / "model.onnx"
    for path, model in ((a, pair.a), (b, pair.b)):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(model.SerializeToString())
    try:
        first = oracle.Program(a)
    except Exception:  # noqa: BLE001 - the runtime does not take the call
        return Finding()
    if all(isinstance(first.run(f), oracle.Failure) for f in pair.feeds):
        return Finding()
    try:
        unequal = falsehood(first, oracle.Program(b), pair)
    except Exception as error:  # noqa: BLE001 - A loads and B does not
        unequal = f"the runtime does not load the second: {str(error)[:120]}"
    record = proving.prove(a, b, seconds, sizes_from=0)
    if record["verdict"] not in ANSWERS:
        return Finding(record["verdict"], unequal, crash=record["why"])
    false = f"{pair.what}: {unequal}" if unequal and record["verdict"] == "proved" else None
    if record["verdict"] == "proved" and not false and (shapes := inferred_shapes(a)) != (others := inferred_shapes(b)):
        false = f"{pair.what}: inferred shapes differ: {_first_other(shapes, others)}"
    if unequal and not false:
        if certificates.is_accepted(folder / "model.cert", a, b, pairing(pair)):
            false = f"{pair.what}: a forged certificate is accepted: {unequal}"
    return Finding(record["verdict"], unequal, false)


def _first_other(a: dict, b: dict) -> str:
    return next((f"{k}: {a[k]} and {b.get(k)}" for k in a if a[k] != b.get(k)), "other values") if isinstance(a, dict) else f"{a} and {b}"[:200]


@dataclasses.dataclass(frozen=True)
class LastDigits:
    """One of them, made when it is its turn; no operator: one of CANCELLED."""
    name: str
    seed: str
    domain: str
    op: str

    def ask(self, folder: pathlib.Path, seconds: int) -> Finding:
        draw = random.Random(self.seed)
        if not self.op:
            return ask(cancelled(draw), folder, seconds)
        of_it = calls.calls(self.domain, self.op)
        for _ in range(MOST_TRIES if of_it else 0):
            pair = of_call(draw.choice(of_it), draw)
            if pair and (finding := ask(pair, folder, seconds)).verdict != Finding().verdict:
                return finding
        return Finding()


def cases(draw: random.Random) -> Iterator[LastDigits]:
    """Without an end."""
    start = draw.randrange(2**32)
    for k, domain, op in calls.by_turns(draw, SHARP):
        yield LastDigits(f"{op} {start} {k}", f"{start} {k}", domain, op)
        if k % 10 == 0:
            yield LastDigits(f"cancelled {start} {k}", f"{start} c {k}", "", "")
