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
    "depth": np.array(4), "depth5": np.array(5), "rows": np.arange(4), "w": np.arange(12, dtype=np.float32).reshape(4, 3) + 1,
}
CHOSEN = ((0, 2), (3, 3), (0, -2), (-1, -4), (4, 1), (9, 0), (-5, 0), ())


def vectors() -> Iterator[Feed]:
    for indices in CHOSEN:
        yield {"x": f32(1, 2, 3, 4), "i": i64(*indices)}
    yield {"x": f32(), "i": i64()}
    yield {"x": f32(), "i": i64(0)}


def tables() -> Iterator[Feed]:
    for indices in CHOSEN:
        yield {"i": i64(*indices)}


def writings() -> Iterator[Feed]:
    for feed in vectors():
        yield feed | {"u": np.arange(len(feed["i"]), dtype=np.float32) + 7}


GROUPS = [
    (Group("vector", "(float[n] x, int64[k] i) => (float[] y)", VECTOR, CONSTANTS), vectors),
    (Group("table", "(int64[k] i) => (float[] y)", TABLE, CONSTANTS), tables),
    (Group("written", "(float[n] x, int64[k] i, float[k] u) => (float[] y)", WRITTEN, CONSTANTS), writings),
]


def cases(draw: random.Random) -> Iterator[Proof]:
    for group, fed in GROUPS:
        for proof in group.proofs(draw, MOST_PAIRS):
            yield Proof(proof.name, proof.a, proof.b, fed)
