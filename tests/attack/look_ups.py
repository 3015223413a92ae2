"""Rows chosen by indices that are clipped, chosen or positions of extrema, at and beyond the ends of the table; spelled by one-hot rows, by
truth values, by scattering, by Gather. Two of them are equal only where no index points outside, or both mean the same by it."""
import itertools
import random
from collections.abc import Iterator

import numpy as np

from attack.cases import Proof
from attack.models import f32, i64
from attack.variants import Group

MOST_PAIRS = 36  # of a group
ROWS = 4
GIVEN = "(int64[3] i, float[3,4] x, float[3,5] z, float[4,2] e) => (float[] y)"
NUMBERS = {f"n{k}".replace("-", "m"): np.array(k) for k in range(-6, 7)}
CONSTANTS = NUMBERS | {"last": i64(1), "first": i64(0), "depth": i64(ROWS), "hot": f32(0, 1), "cold": f32(1, 0), "two": f32(0, 2),
                       "whole": i64(0, 1), "places": i64(0, 1, 2, 3), "zeros": np.zeros((3, 4), np.float32), "ones": np.ones((3, 1), np.float32),
                       "halves": np.full((3, 1), 0.5, np.float32)}


def number(k: int) -> str:
    return f"n{k}".replace("-", "m")


def indices() -> list[str]:
    """Programs for k[3]."""
    bounds = [(0, 3), (-4, 3), (0, 4), (-5, 3), (-1, 3), (1, 2), (0, 0), (-4, -1), (3, 0)]
    clips = [f"a1 = Max(i,{number(low)}) k = Min(a1,{number(high)})" for low, high in bounds]
    clips += [f"a1 = Min(i,{number(high)}) k = Max(a1,{number(low)})" for low, high in bounds]
    clips += [f"k = Clip(i,{number(low)},{number(high)})" for low, high in bounds]
    clips += [f"k = Max(i,{number(0)})", f"k = Min(i,{number(3)})", "k = Identity(i)", "k = Mod(i,n4)", "k = Abs(i)"]
    clips += [f"c0 = Less(i,n0) k = Where(c0,{number(a)},{number(b)})" for a, b in ((0, 3), (-4, 2), (4, 0), (1, -5))]
    clips += [f"c0 = Less(i,n0) a1 = Max(i,n0) a2 = Min(a1,{number(b)}) k = Where(c0,n1,a2)" for b in (2, 3, 4)]
    clips += [f"k = {op}<axis=1,keepdims=0,select_last_index={s}>({t})" for op in ("ArgMax", "ArgMin") for s in (0, 1) for t in "xz"]
    clips += [f"a1 = ArgMax<axis=1,keepdims=0>(x) k = Add(a1,{number(d)})" for d in (-4, -1, 1)]
    clips += ["a1 = Max(i,n0) a2 = Min(a1,n3) k = Sub(a2,n4)", "a1 = Cast<to=6>(i) a2 = Cast<to=7>(a1) a3 = Max(a2,n0) k = Min(a3,n3)"]
    return clips


LOOK_UPS = ["y = Gather(e,k)", "o = OneHot(k,depth,hot) y = MatMul(o,e)", "o = OneHot(k,depth,cold) y = MatMul(o,e)", "o = OneHot(k,depth,two) y = MatMul(o,e)",
            "h = OneHot(k,depth,whole) o = Cast<to=1>(h) y = MatMul(o,e)", "u = Unsqueeze(k,last) q = Equal(u,places) o = Cast<to=1>(q) y = MatMul(o,e)",
            "u = Unsqueeze(k,last) o = ScatterElements<axis=1>(zeros,u,ones) y = MatMul(o,e)",
            "u = Unsqueeze(k,last) o = ScatterElements<axis=1>(zeros,u,halves) y = MatMul(o,e)",
            "u = Unsqueeze(k,last) o = ScatterElements<axis=1,reduction=\"add\">(zeros,u,ones) y = MatMul(o,e)",
            "r = Exp(e) g = Gather(r,k) y = Log(g)", "u = Unsqueeze(k,last) t = Transpose(e) w = GatherND(e,u) y = Identity(w)"]
# Elements of rows of x, chosen one by one.
CHOSEN = ["t = LogSoftmax<axis=1>(x) y = GatherElements<axis=1>(t,u)", "s = Softmax<axis=1>(x) l = Log(s) y = GatherElements<axis=1>(l,u)",
          "s = Softmax<axis=1>(x) g = GatherElements<axis=1>(s,u) y = Log(g)", "l = ReduceLogSumExp(x,last) g = GatherElements<axis=1>(x,u) y = Sub(g,l)",
          "l = ReduceLogSumExp(x,first) g = GatherElements<axis=1>(x,u) y = Sub(g,l)", "t = LogSoftmax<axis=0>(x) y = GatherElements<axis=1>(t,u)",
          "r = Exp(x) y = GatherElements<axis=1>(r,u)", "g = GatherElements<axis=1>(x,u) y = Exp(g)", "r = Sqrt(x) y = GatherElements<axis=1>(r,u)",
          "g = GatherElements<axis=1>(x,u) y = Sqrt(g)"]


def pair_group(draw: random.Random, number_of_pairs: int) -> Group:
    """Inner products of chosen pairs, directly and out of all of them; one index of one spelling is another one."""
    def index():
        return [draw.randrange(-4, 4) for _ in range(number_of_pairs)]
    r, c = index(), index()
    other = list(c)
    other[draw.randrange(number_of_pairs)] += draw.choice([-1, 1])
    constants = CONSTANTS | {"r": i64(*r), "c": i64(*c), "d": i64(*(min(max(v, -4), 3) for v in other)), "end": i64(2)}
    taken = "p = Gather<axis=1>(v,r) q = Gather<axis=1>(v,{0}) m = Mul(p,q) y = ReduceSum<keepdims=0>(m,end)"
    looked = ("t = Transpose<perm=[0,2,1]>(v) g = MatMul(v,t) h = Transpose<perm=[1,2,0]>(g) ru = Unsqueeze(r,last) cu = Unsqueeze({0},last) "
              "rc = Concat<axis=1>({1}) w = GatherND(h,rc) y = Transpose(w)")
    return Group(f"pairs {r} {c}", "(float[2,4,3] v) => (float[] y)",
                 [taken.format("c"), taken.format("d"), looked.format("c", "ru,cu"), looked.format("d", "ru,cu"), looked.format("c", "cu,ru")], constants)


def groups(draw: random.Random) -> Iterator[Group]:
    for k in indices():
        yield Group(f"rows {k}", GIVEN, [f"{k} {look}" for look in LOOK_UPS], CONSTANTS)
        yield Group(f"elements {k}", GIVEN, [f"{k} u = Unsqueeze(k,last) {c}" for c in CHOSEN], CONSTANTS)
    for one, other in draw.sample(list(itertools.combinations(indices(), 2)), 60):
        yield Group(f"two {one} / {other}", GIVEN, [f"{k} {look}" for k in (one, other) for look in LOOK_UPS[:2]], CONSTANTS)
    for n in (3, 17, 20):
        for _ in range(6):
            yield pair_group(draw, n)


def cases(draw: random.Random) -> Iterator[Proof]:
    for group in groups(draw):
        yield from group.proofs(draw, MOST_PAIRS)
