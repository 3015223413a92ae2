"""Programs over sizes that are symbols: shape arithmetic, slices up to a size, reductions of possibly empty tensors, broadcasting. Sizes of 0 and 1 count.
The same without --sizes-from 0, where sizes of inputs are at least 1 and those that depend on data are not."""
import dataclasses
import random
from collections.abc import Iterator

import numpy as np

from attack.cases import Proof
from attack.feeds import Feed
from attack.models import f32, i64
from attack.variants import Group

MOST_PAIRS = 400  # of a group
SIZES = ((2, 3), (3, 2), (1, 1), (1, 4), (5, 5), (7, 2), (0, 3), (3, 0), (0, 0), (300, 1), (6, 6), (11, 3))

CONSTANTS = {
    "zero": i64(0), "one": i64(1), "two": i64(2), "three": i64(3), "five": i64(5), "ten": i64(10), "minus_one": i64(-1), "minus_two": i64(-2),
    "most": i64(2**62), "least": i64(-2**63), "by_rows": i64(0), "by_columns": i64(1), "f_two": f32(2), "f_half": f32(0.5), "f_one": f32(1), "f_zero": f32(0),
    "zero_d": np.array(0), "one_d": np.array(1), "minus_one_d": np.array(-1), "ones": i64(1, 1),
}
SIZES_KNOWN = "sh = Shape(x) n = Gather(sh,by_rows) m = Gather(sh,by_columns) "

INTEGERS = [
    "y = Identity(n)", "y = Identity(m)", "y = Max(n,one)", "y = Max(n,zero)", "y = Max(n,two)", "y = Min(n,m)", "y = Min(n,five)",
    "d = Sub(n,ten) y = Div(d,two)", "d = Div(n,two) y = Sub(d,five)", "d = Sub(n,ten) y = Mod(d,three)", "d = Sub(n,ten) y = Mod<fmod=1>(d,three)",
    *(f"c = Cast<to={t}>(n) y = Cast<to=7>(c)" for t in (1, 2, 3, 6, 9, 10)),
    "a = Sub(n,ten) y = Abs(a)", "y = Sub(n,ten)", "y = Sub(ten,n)", "a = Mul(n,m) y = Div(a,m)", "a = Mul(n,two) y = Div(a,two)",
    "a = Div(n,two) y = Mul(a,two)", "a = Div(n,two) b = Mod(n,two) c = Mul(a,two) y = Add(c,b)", "e = Equal(n,zero) y = Where(e,five,n)",
    "e = Equal(n,one) y = Where(e,five,n)", "e = Greater(n,zero) y = Where(e,n,five)", "e = Less(n,one) y = Where(e,five,n)",
    "e = Equal(n,m) y = Where(e,n,five)", "a = Neg(n) b = Div(a,two) y = Neg(b)", "y = Div(n,two)", "a = Add(n,one) y = Div(a,two)",
    "c = Cast<to=1>(n) d = Div(c,f_two) e = Floor(d) y = Cast<to=7>(e)", "c = Cast<to=1>(n) d = Div(c,f_two) y = Cast<to=7>(d)",
    "c = Cast<to=1>(n) d = Mul(c,f_half) e = Ceil(d) y = Cast<to=7>(e)", "c = Cast<to=1>(n) d = Mul(c,f_half) e = Round(d) y = Cast<to=7>(e)",
    "y = Pow(n,two)", "y = Mul(n,n)", "y = Sign(n)", "y = Identity(one)", "e = Cast<to=9>(n) y = Where(e,one,zero)",
    "q = Div(m,n) r = Mul(q,n) y = Sub(m,r)", "y = Mod(m,n)", "y = BitwiseAnd(n,one)", "y = Mod(n,two)",
    "y = Slice(sh,zero,one)", "y = Slice(sh,minus_one,most)",
    "y = Slice(sh,minus_two,minus_one)", "y = ReduceProd<keepdims=1>(sh)", "y = Mul(n,m)", "z = Size(x) y = Reshape(z,minus_one)",
    "y = ReduceMax<keepdims=1>(sh)", "y = Max(n,m)", "y = ReduceSum<keepdims=1>(sh)", "y = Add(n,m)",
]
ROWS = [  # of x: all, some, in another order, taken apart and put together
    "y = Identity(x)",
    *(f"y = Slice(x,{st},{en},by_rows)" for st, en in (
        ("zero", "n"), ("zero", "most"), ("one", "n"), ("zero", "minus_one"), ("minus_one", "most"), ("minus_two", "most"), ("zero", "minus_two"),
        ("zero", "two"), ("two", "most"))),
    *(f"k = Sub(n,{k}) y = Slice(x,{st},{en},by_rows)" for k, st, en in (
        ("one", "k", "n"), ("two", "k", "n"), ("two", "k", "most"), ("two", "zero", "k"), ("five", "k", "n"))),
    "k = Min(n,two) y = Slice(x,zero,k,by_rows)", "y = Slice(x,zero,most,by_rows,two)", "y = Slice(x,minus_one,least,by_rows,minus_one)",
    "k = Sub(n,one) y = Slice(x,k,least,by_rows,minus_one)", "y = Slice(x,minus_one,zero,by_rows,minus_one)", "k = Div(n,two) y = Slice(x,k,most,by_rows)",
    "k = Div(n,two) y = Slice(x,zero,k,by_rows)",
    *(f"{k} a = Slice(x,zero,{at},by_rows) b = Slice(x,{at},most,by_rows) y = Concat<axis=0>({order})" for k, at, order in (
        ("k = Div(n,two)", "k", "a,b"), ("k = Div(n,two)", "k", "b,a"), ("", "five", "a,b"), ("", "minus_two", "a,b"), ("k = Sub(n,five)", "k", "a,b"))),
    "a = Slice(x,zero,minus_two,by_rows) k = Sub(n,two) b = Slice(x,k,most,by_rows) y = Concat<axis=0>(a,b)",
    *(f"k = Sub(n,{k}) y = Gather<axis=0>(x,k)" for k in ("one", "two", "five")), *(f"y = Gather<axis=0>(x,{k})" for k in ("minus_one", "minus_two", "zero")),
    "y = Reshape(x,sh)", *(f"k = Concat<axis=0>({k}) y = Reshape(x,k)" for k in ("minus_one,m", "n,minus_one", "m,n", "zero,minus_one", "minus_one,zero")),
    "y = Reshape<allowzero=1>(x,sh)", "y = Transpose(x)", "t = Transpose(x) y = Transpose(t)", "k = Concat<axis=0>(m,n) t = Reshape(x,k) y = Reshape(t,sh)",
    "t = Flatten<axis=0>(x) y = Reshape(t,sh)", "t = Flatten(x) y = Reshape(t,sh)", "t = Reshape(x,minus_one) y = Reshape(t,sh)",
    "t = Flatten<axis=0>(x) y = Reshape<allowzero=1>(t,sh)", "t = Unsqueeze(x,zero) y = Squeeze(t,zero)", "t = Unsqueeze(x,zero) y = Reshape(t,sh)",
    "y = Expand(x,sh)", "y = Expand(x,one)", "k = Concat<axis=0>(one,m) y = Expand(x,k)", "k = Max(sh,one) y = Expand(x,k)", "y = Tile(x,ones)",
    "a = Slice(x,zero,one,by_rows) y = Expand(a,sh)", "a = Slice(x,zero,one,by_rows) y = Add(a,x)", "y = Add(x,x)",
    "a = ReduceSum<keepdims=1>(x,by_rows) b = ReduceSum<keepdims=1>(x,by_columns) y = Add(a,b)",
]
REDUCED = [
    "y = ReduceMean<keepdims=0>(x,by_rows)", "s = ReduceSum<keepdims=0>(x,by_rows) y = Div(s,nf)", "s = Div(x,nf) y = ReduceSum<keepdims=0>(s,by_rows)",
    "s = ReduceSum<keepdims=0>(x,by_rows) k = Max(n,one) kf = Cast<to=1>(k) y = Div(s,kf)",
    *(f"y = {op}<keepdims=0>(x,by_rows)" for op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceLogSumExp", "ReduceL1", "ReduceL2")),
    "a = Neg(x) b = ReduceMax<keepdims=0>(a,by_rows) y = Neg(b)", "a = Slice(x,zero,one,by_rows) y = ReduceSum<keepdims=0>(a,by_rows)",
    "t = Transpose(x) y = ReduceSum<keepdims=0>(t,by_columns)",
    *(f"a = Slice(x,zero,two,by_rows) b = Slice(x,two,most,by_rows) c = {r}<keepdims=0>(a,by_rows) d = {r}<keepdims=0>(b,by_rows) y = {op}(c,d)"
      for r, op in (("ReduceSum", "Add"), ("ReduceMax", "Max"), ("ReduceProd", "Mul"))),
    "e = Exp(x) s = ReduceSum<keepdims=0>(e,by_rows) y = Log(s)", "z = Relu(x) y = ReduceMax<keepdims=0>(z,by_rows)",
    "z = ReduceMax<keepdims=0>(x,by_rows) y = Relu(z)", "a = Abs(x) y = ReduceSum<keepdims=0>(a,by_rows)", "y = ReduceSum<keepdims=0>(x,by_columns)",
    "e = Expand(f_one,n) y = MatMul(e,x)", "e = ConstantOfShape<value = float[1] {1}>(n) y = MatMul(e,x)",
    "m1 = ReduceMax<keepdims=0>(x,by_rows) z = Sub(m1,m1) s = ReduceSum<keepdims=0>(x,by_rows) y = Add(s,z)",
    "m1 = ReduceMean<keepdims=0>(x,by_rows) z = Sub(m1,m1) s = ReduceSum<keepdims=0>(x,by_rows) y = Add(s,z)",
    "m1 = ReduceMax<keepdims=1>(x,by_rows) d = Sub(x,m1) e = Exp(d) s = ReduceSum<keepdims=1>(e,by_rows) q = Div(e,s) y = ReduceSum<keepdims=0>(q,by_rows)",
    "q = Softmax<axis=0>(x) y = ReduceSum<keepdims=0>(q,by_rows)",
]
MADE = [
    "y = ConstantOfShape<value = float[1] {1}>(sh)", "y = ConstantOfShape<value = float[1] {0}>(sh)", "y = Sub(x,x)", "z = Sub(x,x) y = Exp(z)",
    "y = Expand(f_one,sh)",
    "y = Mul(x,f_zero)", "y = Div(x,x)", "q = Squeeze(n,zero) r = Range(zero_d,q,one_d) y = Cast<to=1>(r)",
    "q = Squeeze(n,zero) r = Range(one_d,q,one_d) y = Cast<to=1>(r)", "e = ConstantOfShape<value = float[1] {1}>(n) y = CumSum<exclusive=1>(e,zero_d)",
    "q = Squeeze(n,zero) l = Sub(q,one_d) r = Range(l,minus_one_d,minus_one_d) y = Cast<to=1>(r)", "y = EyeLike(x)", "y = Trilu(x)",
    "t = Trilu<upper=0>(x) u = Trilu(x,one_d) y = Add(t,u)", "y = Identity(x)", "t = Trilu<upper=0>(x) u = Trilu(x) y = Add(t,u)",
    "g = Gather<axis=0>(x,zero) d = Sub(g,g) y = Add(x,d)", "g = Slice(x,zero,one,by_rows) d = Sub(g,g) y = Add(x,d)",
    "g = ReduceMax<keepdims=1>(x) d = Sub(g,g) y = Add(x,d)", "g = ReduceSum<keepdims=1>(x) d = Sub(g,g) y = Add(x,d)",
    "g = ArgMax<axis=0,keepdims=1>(x) c = Cast<to=1>(g) d = Sub(c,c) y = Add(x,d)", "k,i = TopK<axis=0>(x,one) d = Sub(k,k) y = Add(x,d)",
]
BROADCAST = [
    "y = Add(x,z)", "a = ReduceSum<keepdims=0>(x) b = ReduceSum<keepdims=0>(z) y = Add(a,b)", "t = Add(x,z) y = ReduceSum<keepdims=0>(t)",
    "sh = Shape(x) e = Expand(z,sh) y = Add(x,e)", "y = Add(z,x)", "sh = Shape(z) e = Expand(x,sh) y = Add(z,e)", "y = Mul(x,z)",
    "a = Add(x,z) y = Sub(a,z)", "y = Identity(x)", "sh = Shape(x) y = Expand(z,sh)",
    "sx = Shape(x) sz = Shape(z) e = Expand(x,sz) d = Expand(z,sx) y = Add(e,d)",
    "y = MatMul(x,z)", "p = Mul(x,z) y = ReduceSum<keepdims=0>(p)", "y = Concat<axis=0>(x,z)", "y = Concat<axis=0>(z,x)", "y = Max(x,z)",
    "b = Less(x,z) y = Where(b,z,x)", "d = Sub(z,z) y = Add(x,d)", "d = Sub(x,z) y = Add(d,z)",
]
# One position more than there is data for: what a window sees at a border, and what a runtime refuses where there is nothing.
WINDOWS = [
    "y = Add(x,x)", "y = Conv(x,w)", "y = Conv<pads=[1,1]>(x,w3)", "p = Pad(x,pads) y = Conv(p,w3)", "y = AveragePool<kernel_shape=[1]>(x)",
    "y = MaxPool<kernel_shape=[1]>(x)", "y = Identity(x)", "y = MaxPool<kernel_shape=[2]>(x)", "y = AveragePool<kernel_shape=[2]>(x)",
    "y = AveragePool<kernel_shape=[3],pads=[1,1]>(x)", "y = AveragePool<kernel_shape=[3],pads=[1,1],count_include_pad=1>(x)", "t = Transpose<perm=[0,2,1]>(x) "
    "q = MatMul(t,v) y = Transpose<perm=[0,2,1]>(q)", "y = ConvTranspose(x,w)", "g = GlobalAveragePool(x) z = Sub(g,g) y = Add(x,z)",
    "g = GlobalMaxPool(x) z = Sub(g,g) y = Add(x,z)", "i = InstanceNormalization(x,s,b) z = Sub(i,i) y = Add(x,z)",
]


# How many elements there are depends on data: none, some or all of them.
FOUND = [
    "y = Gather<axis=0>(x,i)", "g = Gather<axis=0>(x,i) d = Sub(g,g) s = ReduceSum<keepdims=1>(d,by_rows) y = Add(g,s)",
    "g = Gather<axis=0>(x,i) a = ReduceMax<keepdims=1>(g,by_rows) d = Sub(a,a) y = Add(g,d)", "c = Compress<axis=0>(x,b) y = Identity(c)",
    "g = Gather<axis=0>(x,i) a = ReduceMean<keepdims=1>(g,by_rows) d = Sub(a,a) y = Add(g,d)", "y = ReduceMax<keepdims=0>(x,by_rows)",
    "g = Gather<axis=0>(x,i) s = Shape(g) y = Reshape(g,s)", "g = Gather<axis=0>(x,i) s = Shape(g) y = Reshape<allowzero=1>(g,s)",
    "g = Gather<axis=0>(x,i) s = Shape(g) a = Gather(s,by_rows) k = Max(a,one) r = Concat<axis=0>(k,minus_one) y = Reshape(g,r)",
    "g = Gather<axis=0>(x,i) y = Slice(g,zero,one,by_rows)", "g = Gather<axis=0>(x,i) h = Slice(g,zero,one,by_rows) d = Sub(h,h) y = Add(g,d)",
    "g = Gather<axis=0>(x,i) y = ReduceSum<keepdims=1>(g,by_rows)", "g = Gather<axis=0>(x,i) y = ReduceMax<keepdims=1>(g,by_rows)",
    "g = Gather<axis=0>(x,i) q = Softmax<axis=0>(g) y = ReduceSum<keepdims=1>(q,by_rows)", "g = Gather<axis=0>(x,i) y = ReduceMean<keepdims=1>(g,by_rows)",
    "g = Gather<axis=0>(x,i) h = Gather<axis=0>(g,zero) d = Sub(h,h) y = Add(g,d)",
    "g = Gather<axis=0>(x,i) s = Shape(g) a = Gather(s,by_rows) e = Greater(a,zero) k = Where(e,one,zero) f = Cast<to=1>(k) y = Mul(g,f)",
    "g = Gather<axis=0>(x,i) e = ReduceSum<keepdims=1>(g,by_rows) s = Shape(g) a = Gather(s,by_rows) f = Cast<to=1>(a) y = Div(e,f)",
]
FOUND_FIRST = "t = ReduceMax<keepdims=0>(x,by_columns) b = Greater(t,f_zero) z = NonZero(b) i = Squeeze(z,zero) "


def selections() -> Iterator[Feed]:
    numbers = np.random.default_rng(0)
    for size in ((2, 3), (1, 1), (5, 2), (7, 1), (4, 4), (6, 7)):
        x = np.abs(numbers.standard_normal(size).astype(np.float32)) + 0.1
        yield {"x": -x}
        yield {"x": x}
        yield {"x": x * np.where(np.arange(size[0]) % 2 == 0, 1, -1).astype(np.float32)[:, None]}


def matrices() -> Iterator[Feed]:
    numbers = np.random.default_rng(0)
    for size in SIZES:
        yield {"x": numbers.standard_normal(size).astype(np.float32)}
        yield {"x": numbers.integers(-2, 3, size).astype(np.float32)}


def vectors() -> Iterator[Feed]:
    numbers = np.random.default_rng(0)
    for n, m in ((3, 3), (1, 3), (3, 1), (1, 1), (0, 1), (1, 0), (0, 0), (2, 3)):
        yield {"x": numbers.standard_normal(n).astype(np.float32), "z": numbers.standard_normal(m).astype(np.float32)}


def images() -> Iterator[Feed]:
    numbers = np.random.default_rng(0)
    for size in ((2, 2, 5), (1, 2, 1), (1, 2, 2), (0, 2, 4), (2, 2, 0), (0, 2, 0), (1, 2, 3)):
        yield {"x": numbers.standard_normal(size).astype(np.float32)}


X = "(float[n,m] x) => ({0}[] y)"
GROUPS = [
    (Group("integers", X.format("int64"), [SIZES_KNOWN + b for b in INTEGERS], CONSTANTS), matrices),
    (Group("rows", X.format("float"), [SIZES_KNOWN + b for b in ROWS], CONSTANTS), matrices),
    (Group("reduced", X.format("float"), [SIZES_KNOWN + "nf = Cast<to=1>(n) " + b for b in REDUCED], CONSTANTS), matrices),
    (Group("made", X.format("float"), [SIZES_KNOWN + b for b in MADE], CONSTANTS), matrices),
    (Group("broadcast", "(float[n] x, float[m] z) => (float[] y)", BROADCAST, CONSTANTS), vectors),
    (Group("windows", "(float[n,2,m] x) => (float[] y)", WINDOWS, {
        "w": f32(2, 0, 0, 2).reshape(2, 2, 1), "w3": f32(0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0).reshape(2, 2, 3), "pads": i64(0, 0, 1, 0, 0, 1),
        "v": f32(2, 0, 0, 2).reshape(2, 2), "s": f32(1, 1), "b": f32(0, 0)}), images),
    (Group("found", X.format("float"), [FOUND_FIRST + b for b in FOUND], CONSTANTS), selections),
]


def cases(draw: random.Random) -> Iterator[Proof]:
    for group, fed in GROUPS:
        for proof in group.proofs(draw, MOST_PAIRS):
            yield Proof(proof.name, proof.a, proof.b, fed)


def of_at_least_1(draw: random.Random) -> Iterator[Proof]:
    """The same where no size of an input is 0."""
    for proof in cases(draw):
        yield dataclasses.replace(proof, sizes_from=1)
