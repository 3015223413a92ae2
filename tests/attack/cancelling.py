"""Forged certificates in which a folded constant is another number, and the program that is said to compute it is right: it brings in something large and
takes it away again, so that what is left looks like rounding. Among them honest folds that cancel, which have to be accepted.
"""
import random
from collections.abc import Iterator

import numpy as np

from attack.cases import Certificate
from attack.certificates import Forgery, program
from attack.hand import EQUAL, UNEQUAL
from attack.models import Model

LARGE = (1e4, 1e6, 1e8, 1e12, 1e15, 1e30)
FACTORS = (3.0, 1.2, 1.01, 1.0001, 0.0, -1.0)
ATTEMPTS, SIGNS_OF_SYMBOLS = 9, 4  # of a proof (src/kernel/prove/prove.cpp)

# q of w, which is w; {k} is large, and t are constants of the first model: [a, 3a], or a matrix and its inverse.
WAYS = {
    "add": ("s = Add(w,k) q = Sub(s,k)", "float k = {{{k}}}"),
    "add twice": ("s = Add(w,k) u = Sub(s,k) v = Add(u,k) q = Sub(v,k)", "float k = {{{k}}}"),
    "subtract": ("s = Sub(k,w) q = Sub(k,s)", "float k = {{{k}}}"),
    "relu": ("s = Add(w,k) r = Relu(s) d = Sub(r,k) q = Identity(d)", "float k = {{{k}}}"),
    "quotient": ("s = Add(w,k) d = Sub(s,k) i = Div(o,d) q = Div(o,i)", "float k = {{{k}}}, float o = {{1}}"),
    "logarithm": ("s = Add(w,k) d = Sub(s,k) e = Exp(d) q = Log(e)", "float k = {{{k}}}"),
    "square": ("p = Mul(w,w) s = Add(p,k) d = Sub(s,k) r = Sqrt(d) q = Identity(r)", "float k = {{{k}}}"),
    "scale": ("p = Mul(w,k) q = Div(p,k)", "float k = {{{k}}}"),
    "scale and add": ("p = Mul(w,i) s = Add(p,o) d = Sub(s,o) q = Mul(d,k)", "float k = {{{k}}}, float i = {{{i}}}, float o = {{1}}"),
    "reduce": ("u = Unsqueeze(w,z) m = Expand(k,h) c = Concat<axis=0>(u,m) q = ReduceSum<keepdims=0>(c,z)",
               "float[2,1] k = {{{k}, -{k}}}, int64[1] z = {{0}}, int64[2] h = {{2, {n}}}"),
    "slice": ("c = Concat<axis=0>(w,k) e = Slice(c,a,b) s = Add(w,e) q = Sub(s,e)", "float[1] k = {{{k}}}, int64[1] a = {{{n}}}, int64[1] b = {{{m}}}"),
    "model": ("e = Slice(t,a,b) s = Add(w,e) q = Sub(s,e)", "int64[1] a = {{0}}, int64[1] b = {{1}}"),
    "model scaled": ("e = Slice(t,a,b) p = Mul(e,k) s = Add(w,p) q = Sub(s,p)", "float k = {{{k}}}, int64[1] a = {{0}}, int64[1] b = {{1}}"),
    # Only for these numbers of t.
    "coincidence": ("p = Mul(t,l) s = ReduceSum<keepdims=1>(p) m = Mul(s,k) q = Add(w,m)", "float[2] l = {{3, -1}}, float k = {{{k}}}"),
    "equal numbers": ("e = Slice(t,a,b) m = Mul(e,l) d = Sub(e,m) f = Mul(d,k) q = Add(w,f)",
                      "float l = {{1}}, float k = {{{k}}}, int64[1] a = {{0}}, int64[1] b = {{1}}"),
    "literal of the model": ("d = Sub(t,l) s = ReduceSum<keepdims=1>(d) m = Mul(s,k) q = Add(w,m)", "float[2] l = {{{t0}, {t1}}}, float k = {{{k}}}"),
    "inverse": ("r = Reshape(w,h) p = MatMul(r,g) u = MatMul(p,j) q = Reshape(u,f)",
                "float[2,2] g = {{{k}, 1, 0, 1}}, float[2,2] j = {{{i}, -{i}, 0, 1}}, int64[2] h = {{-1, 2}}, int64[1] f = {{-1}}"),
}
# What the first model makes of w before it is read; the second has the result.
MADE = {"": "Identity", "floor": "Floor", "bfloat16": "bfloat16"}


def steps(constants: dict[str, str], attempt: int) -> list[dict]:
    return [{"compare": "values"}, *({"constant": name, "of": "out", "by": program(by)} for name, by in constants.items()),
            {"equal": ["y", "y"], "open": [], "work": 1 << 20, "attempt": attempt, "at_end": False}]


def made(kind: str, of: str, to: str) -> str:
    if kind == "bfloat16":
        return f"{to}_h = Cast<to=16>({of}) {to} = Cast<to=1>({to}_h)"
    return f"{to} = {MADE[kind]}({of})"


def weights(numbers: np.random.Generator, n: int) -> np.ndarray:
    """Numbers of mixed magnitudes."""
    return (numbers.uniform(0.1, 1, n) * 10.0 ** numbers.integers(-2, 4, n)).astype(np.float32)


def one(draw: random.Random, k: int) -> Forgery:
    numbers = np.random.default_rng(draw.randrange(2**32))
    n, large, attempt = draw.choice((2, 6, 80)), draw.choice(LARGE), draw.randrange(ATTEMPTS)
    way, kind = draw.choice(list(WAYS)), draw.choice(("", "", "", "floor", "bfloat16"))
    t = np.array([large, 3 * large], np.float32)
    w = weights(numbers, n)
    body, literals = WAYS[way]
    said = literals.format(k=f"{large:.9g}", i=f"{1 / large:.9g}", n=n, m=n + 1, t0=f"{t[0]:.9g}", t1=f"{t[1]:.9g}")
    inputs = f"float[{n}] w" + (", float[2] t" if " t" in f" {body.replace('(t', ' t')}" else "")
    said_of_w = f"({inputs}) => (q) <{said}> {{ {body.replace('q = ', 'f0 = ') if kind else body} {made(kind, 'f0', 'q') if kind else ''} }}"
    right = np.floor(w) if kind == "floor" else (w.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32) if kind == "bfloat16" else w
    wrong, at = right.copy(), int(np.argmin(w))
    wrong[at] = right[at] * np.float32(draw.choice(FACTORS)) if right[at] else np.float32(draw.choice((1, 8)))
    if np.isclose(wrong[at], right[at], rtol=3e-5, atol=0):
        wrong[at] = right[at] + np.float32(1)
    before = f"(float[{n}] x, float[2] z) => (float[{n}] y, float[2] u) {{ {made(kind, 'w', 'v')} y = Mul(x,v) u = Mul(z,t) }}"
    after = f"(float[{n}] x, float[2] z) => (float[{n}] y, float[2] u) {{ y = Mul(x,v) u = Mul(z,t) }}"
    return Forgery(f"{k} {way} {large:g} {kind}".strip(), Model(before, {"w": w, "t": t}), Model(after, {"v": wrong, "t": t}), steps({"v": said_of_w}, attempt),
                   {}, UNEQUAL)


def redundant(draw: random.Random, k: int) -> Forgery:
    """Two constants, of which only the sum is determined."""
    large, attempt, n = draw.choice(LARGE), draw.randrange(5), draw.choice((2, 6, 80))
    w = weights(np.random.default_rng(draw.randrange(2**32)), n)
    t = np.array([large, 3 * large], np.float32)
    half = (f"(float[{n}] w, float[2] t) => (q) <float[2] l = {{3, -1}}, float o = {{0.5}}> "
            "{ h = Mul(w,o) p = Mul(t,l) s = ReduceSum<keepdims=1>(p) q = %s(h,s) }")
    left = w / 2
    at = int(np.argmin(w))
    left[at] += np.float32(1e-4) * max(w)
    sum_of = draw.choice(("p = Mul(x,v) q = Mul(x,o) y = Add(p,q)", "s = Add(v,o) y = Mul(x,s)",
                          "c = Concat<axis=0>(x,x) d = Concat<axis=0>(v,o) e = Mul(c,d) r = Reshape(e,h) y = ReduceSum<keepdims=0>(r,z0)"))
    after = f"(float[{n}] x, float[2] z) => (float[{n}] y, float[2] u) <int64[2] h = {{2, {n}}}, int64[1] z0 = {{0}}> {{ {sum_of} u = Mul(z,t) }}"
    before = f"(float[{n}] x, float[2] z) => (float[{n}] y, float[2] u) {{ y = Mul(x,w) u = Mul(z,t) }}"
    return Forgery(f"{k} redundant {large:g}", Model(before, {"w": w, "t": t}), Model(after, {"v": left, "o": w / 2, "t": t}),
                   steps({"v": half % "Add", "o": half % "Sub"}, attempt), {}, UNEQUAL)


NORM = "e = Add(v,i) r = Sqrt(e) s = Div(g,r) m = Mul(a,s)"


def honest(draw: random.Random, k: int) -> Forgery:
    """A batch norm that was folded in float32, and cancels in some channels."""
    numbers, n = np.random.default_rng(draw.randrange(2**32)), draw.choice((2, 3, 16, 64, 65, 300))
    g, v, a = (numbers.uniform(low, high, n).astype(np.float32) for low, high in ((0.1, 2), (0.01, 9), (-4, 4)))
    i = np.float32(1e-5)
    s = draw.choice((lambda: g / np.sqrt(v + i), lambda: g * (1 / np.sqrt(v + i)), lambda: g * (v + i) ** np.float32(-0.5)))()
    cancels = numbers.random(n) < 0.5
    cancels[0] = False  # an element is measured by the largest, too
    b = np.where(cancels, a * s * (1 + 1e-5 * numbers.standard_normal(n)), numbers.standard_normal(n)).astype(np.float32)
    constants = {"v": v, "g": g, "a": a, "b": b}
    of = ", ".join(f"float[{n}] {name}" for name in constants)
    before = f"(float[N,{n}] x) => (float[N,{n}] y) {{ y = BatchNormalization<epsilon=0.00001>(x,g,b,a,v) }}"
    after = f"(float[N,{n}] x) => (float[N,{n}] y) {{ p = Mul(x,s) y = Add(p,c) }}"
    said = {"s": f"({of.replace(f', float[{n}] a, float[{n}] b', '')}) => (q) <float i = {{1e-5}}> {{ e = Add(v,i) r = Sqrt(e) q = Div(g,r) }}",
            "c": f"({of}) => (q) <float i = {{1e-5}}> {{ {NORM} q = Sub(b,m) }}"}
    c = draw.choice((b - a * s, -(a * s - b), (b / s - a) * s))
    return Forgery(f"{k} honest {n}", Model(before, constants), Model(after, {"s": s, "c": c}), steps(said, SIGNS_OF_SYMBOLS), {}, EQUAL)


def cases(draw: random.Random) -> Iterator[Certificate]:
    k = 0
    while True:
        yield Certificate(draw.choice((one, one, one, one, redundant, honest))(draw, k))
        k += 1
