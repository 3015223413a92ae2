"""Integers at their limits: what is equal over the integers, and not in arithmetic that wraps around, or the other way round."""
import itertools
import random
from collections.abc import Iterator

import numpy as np

from attack import oracle
from attack.cases import Proof
from attack.feeds import Feed
from attack.models import Model
from attack.variants import Group

TYPES = {"int32": np.int32, "uint8": np.uint8, "int8": np.int8, "int64": np.int64, "uint32": np.uint32, "int16": np.int16, "uint64": np.uint64}
MOST_LIKELY, MOST_OTHERS = 120, 40  # pairs that agree on small numbers, and those that don't

BODIES = [
    "y = Identity(x)", "a = Add(x,one) y = Max(a,x)", "a = Add(x,one) y = Min(a,x)", "y = Add(x,one)", "a = Mul(x,two) y = Clip(a,zero,ten)",
    "a = Clip(x,zero,five) y = Mul(a,two)", "a = Mul(x,two) y = Div(a,two)", "a = Add(x,x) y = Div(a,two)", "y = Mul(x,two)", "y = Add(x,x)",
    "a = Sub(x,one) y = Add(a,one)", "a = Max(x,five) y = Sub(a,five)", "a = Sub(x,five) y = Max(a,zero)",
    "a = Sub(x,five) b = Max(a,zero) y = Add(b,five)", "y = Max(x,five)", "a = Min(x,five) b = Max(x,five) y = Add(a,b)", "y = Add(x,five)",
    "a = Max(x,five) b = Min(x,five) c = Sub(a,b) y = Add(c,b)", "q = Div(x,two) y = Mul(q,two)",
    "q = Div(x,two) m = Mul(q,two) r = Sub(x,m) y = Add(m,r)", "m = Mod(x,two) y = Sub(x,m)", "a = Mul(x,three) y = Div(a,three)",
    "a = Mul(x,half_most) y = Div(a,half_most)", "a = Add(x,z) y = Sub(a,z)", "a = Add(x,z) b = Max(a,z) y = Sub(b,z)", "y = Max(x,zero)",
    "a = Sub(x,z) b = Max(a,zero) y = Add(b,z)", "y = Max(x,z)", "b = Less(x,z) y = Where(b,z,x)", "d = Sub(x,z) b = Less(d,zero) y = Where(b,z,x)",
    "b = Greater(z,x) y = Where(b,z,x)", "a = Add(x,one) b = Less(x,a) y = Where(b,x,z)", "a = Add(x,one) b = Equal(x,a) y = Where(b,z,x)",
    "a = Mul(x,two) c = Mul(z,two) b = Less(a,c) y = Where(b,z,x)", "a = Mul(x,two) c = Mul(z,two) b = Max(a,c) y = Div(b,two)",
    "a = Max(x,z) y = Mul(a,two)", "a = Mul(x,two) c = Mul(z,two) y = Max(a,c)", "a = Mul(x,x) b = Less(a,zero) y = Where(b,z,x)",
    "a = Mul(x,x) y = Max(a,zero)", "y = Mul(x,x)", "a = Sub(x,z) y = Add(a,z)", "a = Sub(zero,x) y = Sub(zero,a)",
]
SIGNED = [
    "a = Abs(x) b = Less(a,zero) y = Where(b,z,x)", "y = Abs(x)", "a = Neg(x) y = Max(a,x)", "a = Neg(x) y = Abs(a)", "a = Mul(x,two) y = Abs(a)",
    "a = Abs(x) y = Mul(a,two)", "a = Neg(x) b = Min(a,zero) y = Neg(b)", "a = Abs(x) y = Max(a,zero)", "s = Sign(x) y = Mul(s,x)",
    "c = Cast<to=7>(x) d = Cast<to=7>(z) s = Add(c,d) y = CastLike(s,x)", "y = Add(x,z)", "c = Cast<to=7>(x) d = Abs(c) y = CastLike(d,x)",
]


def limits(dtype: type) -> list[Feed]:
    """Every number near a limit with every other."""
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    some = [least, most, most - 1, least + 1, 0, 1, 2, 5, 7, most // 2, most // 2 + 1, most // 3, *((-1, -2, -7) if least < 0 else (200,))]
    x, z = np.meshgrid(np.array(some, dtype), np.array(some, dtype))
    return [{"x": x.ravel(), "z": z.ravel()}]


def agrees(a: list, b: list, feed: Feed) -> bool:
    small = (feed["x"].astype(object) < 20) & (feed["x"].astype(object) > -20) & (feed["z"].astype(object) < 20) & (feed["z"].astype(object) > -20)
    return bool(np.array_equal(a[0][small.astype(bool)], b[0][small.astype(bool)]))


def computed(model: Model, feed: Feed) -> list | None:
    """What it is on the runtime, to choose pairs by; None: it has no kernel for it."""
    outputs = oracle.evaluate(model.proto(), feed)
    return None if isinstance(outputs, oracle.Failure) else outputs


def cases(draw: random.Random) -> Iterator[Proof]:
    for name, dtype in TYPES.items():
        most = np.iinfo(dtype).max
        constants = {word: np.array(value, dtype) for word, value in (
            ("zero", 0), ("one", 1), ("two", 2), ("three", 3), ("five", 5), ("ten", 10), ("half_most", most // 2))}
        group = Group(name, f"({name}[N] x, {name}[N] z) => ({name}[N] y)", BODIES + (SIGNED if np.iinfo(dtype).min < 0 else []), constants)
        feed, = limits(dtype)
        run = {k: (model, outputs) for k, model in enumerate(group.models()) if (outputs := computed(model, feed)) is not None}
        pairs = list(itertools.permutations(run, 2))
        draw.shuffle(pairs)
        likely = [p for p in pairs if agrees(run[p[0]][1], run[p[1]][1], feed)]
        others = [p for p in pairs if not agrees(run[p[0]][1], run[p[1]][1], feed)]
        for i, j in likely[:MOST_LIKELY] + others[:MOST_OTHERS]:
            yield Proof(f"{name} {i} {j}", run[i][0], run[j][0], lambda dtype=dtype: limits(dtype))
