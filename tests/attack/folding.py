"""Constants that are computed before anything runs: what `optimize` folds is what the runtime would have computed."""
import random
from collections.abc import Iterator

import numpy as np

from attack import operators
from attack.cases import Optimization
from attack.feeds import Feed, drawn
from attack.hand import LENGTH, LONG, WEIGHTS
from attack.models import Model, f32
from attack.variants import Group

CHAINS = 500
CODES = {"float": 1, "int32": 6, "int64": 7}  # of the types whose tables are folded
FLOAT_TYPES, INT_TYPES = ("float", "float16", "double"), ("int32", "uint8", "int8", "int64", "uint32")
EXACT_STEPS = ("{0} = Add({1},c2)", "{0} = Sub({1},c2)", "{0} = Mul({1},c2)", "{0} = Div({1},c2)", "{0} = Mul({1},{1})", "{0} = Neg({1})", "{0} = Abs({1})",
               "{0} = Max({1},c2)", "{0} = Min({1},c2)")
JUMP_STEPS = ("{0} = Floor({1})", "{0} = Ceil({1})", "{0} = Round({1})", "{0} = Sign({1})", "{0}_i = Cast<to=7>({1}) {0} = CastLike({0}_i,c2)",
              "{0}_b = Less({1},c1) {0} = CastLike({0}_b,c2)", "{0}_b = Equal({1},c1) {0} = CastLike({0}_b,c2)", "{0} = Mod<fmod=1>({1},c2)",
              "{0}_h = Cast<to=10>({1}) {0} = CastLike({0}_h,c2)", "{0}_h = Cast<to=1>({1}) {0} = CastLike({0}_h,c2)")
SMOOTH_STEPS = ("{0} = Sqrt({1})", "{0} = Exp({1})", "{0} = Tanh({1})", "{0} = Sigmoid({1})", "{0} = Relu({1})", "{0} = Softplus({1})")
INT_STEPS = ("{0} = Add({1},c2)", "{0} = Sub({1},c2)", "{0} = Mul({1},c2)", "{0} = Mul({1},{1})", "{0} = Add({1},{1})", "{0} = Div({1},two)",
             "{0} = Mod({1},two)", "{0} = Max({1},c2)", "{0} = Min({1},c2)", "{0}_w = Cast<to=7>({1}) {0}_x = Add({0}_w,{0}_w) {0} = CastLike({0}_x,c2)",
             "{0}_f = Cast<to=1>({1}) {0} = CastLike({0}_f,c2)")

# Bodies that compute e of long vectors; y is x with e added or multiplied.
LONG_BODIES = {
    "floor_div": "d = Div(c,d0) e = Floor(d)", "ceil_mul": "d = Mul(c,d0) e = Ceil(d)", "floor_mul": "d = Mul(c,d0) e = Floor(d)",
    "cast_div": "d = Div(c,d0) i = Cast<to=7>(d) e = Cast<to=1>(i)", "equal": "d = Div(c,d0) m = Mul(d,d0) q = Equal(m,c) e = Cast<to=1>(q)",
    "less": "d = Div(c,d0) m = Mul(d,d0) q = Less(m,c) e = Cast<to=1>(q)", "sign": "d = Div(c,d0) m = Mul(d,d0) s = Sub(m,c) e = Sign(s)",
    "round": "d = Mul(c,d0) m = Mul(d,five) e = Round(m)", "mod": "e = Mod<fmod=1>(c,d0)",
    "gather": "d = Div(c,d0) f = Floor(d) i = Cast<to=7>(f) k = Mod(i,thousand) e = Gather(c,k)",
    "argmax": "d = Mul(c,d0) n = Neg(d) m = Mod<fmod=1>(n,d0) i = ArgMax<axis=0>(m) e = Cast<to=1>(i)",
    "bfloat16": "h = Cast<to=16>(w) e = Cast<to=1>(h)", "float16": "h = Cast<to=10>(w) e = Cast<to=1>(h)",
    "float16_error": "h = Cast<to=10>(w) b = Cast<to=1>(h) e = Sub(b,w)", "bfloat16_error": "h = Cast<to=16>(w) b = Cast<to=1>(h) e = Sub(b,w)",
    "double_error": "h = Cast<to=11>(w) d = Cast<to=11>(d0) m = Mul(h,d) e = Cast<to=1>(m)", "cancelled": "a = Add(w,large) e = Sub(a,large)",
    "quantized": "q = QuantizeLinear(w,scale,point) e = DequantizeLinear(q,scale,point)",
    "clipped": "a = Mul(w,large) h = Cast<to=10>(a) b = Cast<to=1>(h) e = Min(b,large)", "unique": "f = Floor(w) u = Unique(f) s = Shape(u) e = Cast<to=1>(s)",
    "nonzero": "f = Floor(w) n = NonZero(f) s = Shape(n) t = Cast<to=1>(s) e = ReduceSum<keepdims=1>(t)",
}
CONSTANTS = {"c": LONG["c"], "d0": LONG["d"], "w": WEIGHTS["c"], "five": f32(5), "thousand": np.array([1000]), "large": f32(1e8), "scale": np.float32(0.1),
             "point": np.int8(0)}


def long_vectors() -> Iterator[Optimization]:
    def feeds() -> list[Feed]:
        return [{"x": np.zeros(LENGTH, np.float32)}, {"x": np.ones(LENGTH, np.float32)}]

    for name, body in LONG_BODIES.items():
        for op in ("Add", "Mul"):
            yield Optimization(f"long {name} {op}", Model(f"(float[{LENGTH}] x) => (float[{LENGTH}] y) {{ {body} y = {op}(x,e) }}", CONSTANTS), feeds)


def chains(draw: random.Random) -> Iterator[Optimization]:
    """A few steps from constants to e: exact ones and jumps, or smooth ones, or integers."""
    for k in range(CHAINS):
        type_ = draw.choice(FLOAT_TYPES + INT_TYPES * 2)
        is_int = type_ in INT_TYPES
        steps = INT_STEPS if is_int else draw.choice((EXACT_STEPS + JUMP_STEPS, EXACT_STEPS + JUMP_STEPS, EXACT_STEPS + SMOOTH_STEPS))
        numbers, length = np.random.default_rng(draw.randrange(2**32)), draw.choice((1, 4, 1500))
        dtype = np.dtype({"float": "float32", "double": "float64"}.get(type_, type_))
        if is_int:
            limits = np.iinfo(dtype)
            some = np.array([limits.max, limits.min, limits.max - 1, limits.max // 2 + 1, 3, 7, 100, 5], dtype)
            c1, c2 = numbers.choice(some, length), numbers.choice(some, length)
        else:
            c1, c2 = (numbers.integers(1, 200, length) * draw.choice((1, 0.1))).astype(dtype), (numbers.integers(1, 30, length) * 0.1).astype(dtype)
        names = ["c1", *(f"v{i}" for i in range(draw.randint(1, 4)))]
        body = " ".join(draw.choice(steps).format(after, before) for before, after in zip(names, names[1:]))
        text = f"({type_}[{length}] x) => ({type_}[{length}] y) {{ {body} y = {draw.choice(('Add', 'Max') if is_int else ('Add', 'Mul'))}(x,{names[-1]}) }}"
        yield Optimization(f"chain {k}", Model(text, {"c1": c1, "c2": c2, "two": np.array([2], dtype)}))


def operators_of_constants() -> Iterator[Optimization]:
    """Every call of the tables, with its inputs as constants."""
    for group in operators.GROUPS:
        if group.signature.endswith("y)") and group.signature.rsplit("(", 1)[1].split("[")[0] in CODES:
            yield from of_constants(group)


def of_constants(group: Group) -> Iterator[Optimization]:
    type_ = group.signature.rsplit("(", 1)[1].split("[")[0]
    for k, model in enumerate(group.models()):
        fed = group.fed()[0] if group.feeds else next(drawn(model.proto(), seed=3))
        body = model.graph.split("{", 1)[1].rsplit("}", 1)[0]
        text = f"(float[1] nought) => ({type_}[] sum) {{ {body} typed = Cast<to={CODES[type_]}>(nought) sum = Add(y,typed) }}"
        yield Optimization(f"{group.name} {k}", Model(text, {**model.constants, **fed}, model.opset), lambda: [{"nought": f32(0)}])


def cases(draw: random.Random) -> Iterator[Optimization]:
    yield from long_vectors()
    yield from chains(draw)
    yield from operators_of_constants()
