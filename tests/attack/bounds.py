"""Indices that are out of range, or negative: a look-up fails or counts from the end where arithmetic goes on."""
import random
from collections.abc import Iterator

import numpy as np

from attack.cases import Proof
from attack.feeds import Feed
from attack.models import f32, i64
from attack.variants import Group

MOST_PAIRS = 250  # of a group
SIZE = "sh = Shape(x) n = Squeeze(sh) "
# A matrix times a column: times a vector, the runtime leaves memory as it is if there is nothing to sum, and fails if there are no rows.
PRODUCT = "xc = Unsqueeze(x,last) p = MatMul({0},xc) y = Squeeze(p,last)"
ROWS = "sh = Shape<end=1>(x) n = Squeeze(sh) "
MASK = SIZE + "r = Range(zero,n,one) u = Unsqueeze({0},last) e = Equal(r,u) f = Cast<to=1>(e) " + PRODUCT.format("f")
POSITIVE = "neg = Less(i,zero) up = Add(i,n) j = Where(neg,up,i)"

# x is a vector, i are indices into it
VECTOR = [
    "y = Gather(x,i)", "y = Gather<axis=-1>(x,i)", "y = GatherElements(x,i)", "k = Unsqueeze(i,last) y = GatherND(x,k)", MASK.format("i"),
    SIZE + POSITIVE + " y = Gather(x,j)",
    SIZE + POSITIVE + " r = Range(zero,n,one) u = Unsqueeze(j,last) e = Equal(r,u) f = Cast<to=1>(e) " + PRODUCT.format("f"),
    SIZE + "j = Mod(i,n) y = Gather(x,j)", SIZE + "l = Sub(n,one) j = Clip(i,zero,l) y = Gather(x,j)", "j = Abs(i) y = Gather(x,j)",
    "j = Max(i,zero) y = Gather(x,j)", SIZE + "o = OneHot(i,n,values) " + PRODUCT.format("o"),
    SIZE + "o = OneHot(i,n,values) p = Mul(o,x) y = ReduceSum<keepdims=0>(p,last)",
    "k = Cast<to=6>(i) y = Gather(x,k)", "d = Add(x,x) g = Gather(d,i) y = Mul(g,half)", "g = Gather(x,i) d = Sub(g,g) h = Gather(x,i) y = Add(h,d)",
    SIZE + "k = Sub(i,n) y = Gather(x,k)", "y = Cast<to=1>(i)",
]
# w is a table of four rows, i are indices into it
TABLE = [
    "y = Gather(w,i)", "o = OneHot(i,depth,values) y = MatMul(o,w)", "o = OneHot(i,depth5,values) o4 = Slice(o,first,fourth,last) y = MatMul(o4,w)",
    "u = Unsqueeze(i,last) e = Equal(rows,u) f = Cast<to=1>(e) y = MatMul(f,w)", "k = Unsqueeze(i,last) y = GatherND(w,k)",
    "j = Mod(i,depth) y = Gather(w,j)", "t = Transpose(w) g = Gather<axis=1>(t,i) y = Transpose(g)", "g = Gather(w,i) y = Identity(g)",
    "v = Concat<axis=0>(w,w) y = Gather(v,i)", "v = Slice(w,first,fourth,first) y = Gather(v,i)", "j = Clip(i,zero,three) y = Gather(w,j)",
]
# i are indices of x's rows; functions before and after, some undefined at rows that are not taken, some not zero at zero
FUNCTIONS = [
    "{1} = Exp({0})", "{1} = Relu({0})", "{1} = Add({0},half)", "{1} = Log({0})", "{1} = Reciprocal({0})", "{1} = Softmax({0})",
    "m{1} = Mul({0},{0}) {1} = Sqrt(m{1})",
]
LOOK_UPS = ["{1} = Gather({0},i)", "k = Unsqueeze(i,last) {1} = GatherND({0},k)", ROWS + "o = OneHot(i,n,values) {1} = MatMul(o,{0})"]
COMPUTED = [
    order
    for look_up in LOOK_UPS
    for function in FUNCTIONS
    for order in (function.format("x", "f") + " " + look_up.format("f", "y"), look_up.format("x", "g") + " " + function.format("g", "y"))
] + [
    "r = Relu(x) e = Exp(r) y = Gather(e,i)", "r = Relu(x) g = Gather(r,i) y = Exp(g)", "g = Gather(x,i) r = Relu(g) y = Exp(r)",
    "g = Gather(x,i) l = Log(g) y = Relu(l)", "l = Log(x) g = Gather(l,i) y = Relu(g)", "l = Log(x) r = Relu(l) y = Gather(r,i)",
    "l = Log(x) r = Relu(l) g = Gather(r,i) d = Sub(l,l) s = ReduceSum<keepdims=0>(d,first) y = Add(g,s)",
    "g = Gather(x,i) y = Mul(g,g)", "q = Mul(x,x) y = Gather(q,i)", "g = Gather(x,i) j = Abs(i) h = Gather(x,j) y = Mul(g,h)",
    "g = Gather(x,i) q = Pad(g,pads) y = Exp(q)", "e = Exp(x) g = Gather(e,i) y = Pad(g,pads)",
]
# u is written into x at i
WRITTEN = [
    "y = ScatterElements(x,i,u)", 'y = ScatterElements<reduction="add">(x,i,u)', "k = Unsqueeze(i,last) y = ScatterND(x,k,u)",
    'k = Unsqueeze(i,last) y = ScatterND<reduction="add">(x,k,u)', "y = Identity(x)",
    'z = Sub(u,u) k = Unsqueeze(i,last) y = ScatterND<reduction="add">(x,k,z)',
    SIZE + "r = Range(zero,n,one) r1 = Unsqueeze(r,last) e = Equal(r1,i) f = Cast<to=1>(e) "
    "uc = Unsqueeze(u,last) p = MatMul(f,uc) a = Squeeze(p,last) y = Add(x,a)",
    SIZE + "o = OneHot<axis=0>(i,n,values) uc = Unsqueeze(u,last) p = MatMul(o,uc) a = Squeeze(p,last) y = Add(x,a)",
]
CONSTANTS = {
    "zero": np.array(0), "one": np.array(1), "three": np.array(3), "last": i64(1), "first": i64(0), "fourth": i64(4), "values": f32(0, 1), "half": f32(0.5),
    "depth": np.array(4), "depth5": np.array(5), "rows": np.arange(4), "pads": i64(1, 0, 0, 0), "w": np.arange(12, dtype=np.float32).reshape(4, 3) + 1,
}
CHOSEN = ((0, 2), (3, 3), (0, -2), (-1, -4), (4, 1), (9, 0), (-5, 0), ())


def vectors() -> Iterator[Feed]:
    for indices in CHOSEN:
        yield {"x": f32(1, 2, 3, 4), "i": i64(*indices)}
    yield {"x": f32(), "i": i64()}
    yield {"x": f32(), "i": i64(0)}


def rows() -> Iterator[Feed]:
    for indices in CHOSEN:
        for second in (2.0, -2.0, 0.0):
            yield {"x": f32(1, 0.5, second, 3, 4, 2, 0.25, 1).reshape(4, 2), "i": i64(*indices)}
    yield {"x": f32().reshape(0, 2), "i": i64()}
    yield {"x": f32().reshape(0, 2), "i": i64(0)}


def tables() -> Iterator[Feed]:
    for indices in CHOSEN:
        yield {"i": i64(*indices)}


def writings() -> Iterator[Feed]:
    for feed in vectors():
        yield feed | {"u": np.arange(len(feed["i"]), dtype=np.float32) + 7}


GROUPS = [
    (Group("vector", "(float[n] x, int64[k] i) => (float[] y)", VECTOR, CONSTANTS), vectors),
    (Group("computed", "(float[n,2] x, int64[k] i) => (float[] y)", COMPUTED, CONSTANTS), rows),
    (Group("table", "(int64[k] i) => (float[] y)", TABLE, CONSTANTS), tables),
    (Group("written", "(float[n] x, int64[k] i, float[k] u) => (float[] y)", WRITTEN, CONSTANTS), writings),
]


def cases(draw: random.Random) -> Iterator[Proof]:
    for group, fed in GROUPS:
        for proof in group.proofs(draw, MOST_PAIRS):
            yield Proof(proof.name, proof.a, proof.b, fed)
