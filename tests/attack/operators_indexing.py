"""Groups of calls that differ in little: what moves elements around."""
import itertools

import numpy as np

from attack.models import f32, i64
from attack.variants import Group

NUMBERS = {"m1": np.array(-1), "k0": np.array(0), "k1": np.array(1), "k9": np.array(9)}
XY = "(float[2,3,4] x) => (float[] y)"
SLICES = ((0, 4, 1), (1, 4, 1), (0, -1, 1), (-1, -100, -1), (3, 0, -1), (3, -5, -1), (0, 100, 2), (-3, 100, 1), (4, -6, -2), (-100, 100, 3),
          (100, -100, -1), (2, 2, 1), (3, 1, 1))
INDICES = (i64(0, 2), i64(2, 0), i64(-1, 0), i64(1, 1), np.array(1), np.array([[0, 1]]))


def slices() -> list:
    bodies = [("y = Slice(x,st,en,ax,sp)", {"st": i64(st), "en": i64(en), "ax": i64(1), "sp": i64(sp)}) for st, en, sp in SLICES]
    return [*bodies, ("y = Slice(x,st,en,ax,sp)", {"st": i64(0), "en": i64(4), "ax": i64(0), "sp": i64(1)}),
            ("y = Slice(x,st,en)", {"st": i64(0, 1), "en": i64(2, 4)})]


GROUPS = [
    Group("Pad", "(float[3,4] x) => (float[] y)", [
        *(f'y = Pad<mode="{m}">(x,{p})' for m in ("constant", "reflect", "edge") for p in ("p1", "p2", "p3")), "y = Pad(x,p1,v)", "y = Pad(x,p1,v0)",
        "y = Pad(x,pa,,ax1)", "y = Pad(x,pa,,ax0)", "y = Pad(x,pn)", "y = Pad(x,pn2)"],
          {"p1": i64(1, 0, 0, 2), "p2": i64(0, 1, 2, 0), "p3": i64(1, 2, 0, 0), "v": np.float32(1.5), "v0": np.float32(0), "pa": i64(1, 2), "ax1": i64(1),
           "ax0": i64(0), "pn": i64(1, -1, 0, 2), "pn2": i64(-1, 1, 2, 0)}),
    Group("Pad_19", "(float[3,4] x) => (float[] y)",
          [f'y = Pad<mode="{m}">(x,{p})' for m, p in (("wrap", "p1"), ("reflect", "p1"), ("edge", "p1"), ("wrap", "p2"))],
          {"p1": i64(1, 0, 0, 2), "p2": i64(0, 1, 2, 0)}, opset=19),
    Group("Slice", "(float[3,5] x) => (float[] y)", slices()),
    Group("Gather", "(float[3,4] x) => (float[] y)", [(f"y = Gather<axis={a}>(x,i)", {"i": i}) for a in (0, 1, -1) for i in INDICES]),
    Group("GatherElements", "(float[3,3] x) => (float[] y)", [
        (f"y = GatherElements<axis={a}>(x,i)", {"i": np.array(i)}) for a in (0, 1)
        for i in ([[0, 1, 2]], [[2, 1, 0]], [[-1, 0, -2]], [[0, 1], [2, 0], [1, 1]])]),
    Group("GatherND", "(float[2,2,3] x) => (float[] y)", [
        (f"y = GatherND<batch_dims={b}>(x,i)", {"i": np.array(i)}) for b in (0, 1) for i in ([[0], [1]], [[1], [0]], [[-1], [0]], [[0, 1], [1, 0]])]),
    Group("Gather_fed", "(float[4] x, int64[3] i) => (float[] y)",
          ["y = Gather(x,i)", "j = Abs(i) y = Gather(x,j)", "j = Neg(i) y = Gather(x,j)", "y = GatherElements(x,i)"],
          feeds=lambda r: {"x": r.standard_normal(4).astype(np.float32), "i": r.integers(-4, 4, 3)}),
    Group("ScatterElements", "(float[3,3] x, float[2,3] u) => (float[] y)", [
        f'y = ScatterElements<axis={a},reduction="{r}">(x,i,u)' for r in ("none", "add", "mul", "max", "min") for a in (0, 1)],
          {"i": np.array([[0, 1, 2], [0, 2, 1]])}),
    Group("ScatterND", "(float[3,3] x, float[2,3] u) => (float[] y)", [
        f'y = ScatterND<reduction="{r}">(x,{i},u)' for r in ("none", "add", "mul", "max", "min") for i in ("i1", "i2", "i3")],
          {"i1": np.array([[0], [2]]), "i2": np.array([[2], [0]]), "i3": np.array([[-1], [0]])}),
    Group("ScatterND_twice", "(float[3] x, float[2] u) => (float[] y)", [
        f'y = ScatterND<reduction="{r}">(x,i,u)' for r in ("none", "add", "mul", "max", "min")], {"i": np.array([[0], [0]])}),
    Group("OneHot", "(int64[3] x) => (float[] y)",
          ["y = OneHot(x,d,v)", "y = OneHot<axis=0>(x,d,v)", "y = OneHot(x,d,v2)", "y = OneHot(x,d5,v)", "j = Abs(x) y = OneHot(j,d,v)"],
          {"d": np.array(4), "d5": np.array(5), "v": f32(0, 1), "v2": f32(1, 0)}, lambda r: {"x": r.integers(-6, 6, 3)}),
    Group("layout", XY, [
        "y = Transpose(x)", *(f"y = Transpose<perm={list(p)}>(x)" for p in itertools.permutations(range(3))),
        *(f"y = Flatten{a}(x)" for a in ("", "<axis=0>", "<axis=2>", "<axis=-1>")), *(f"y = Reshape(x,{r})" for r in ("r1", "r2", "r3", "r4")),
        "y = Unsqueeze(x,u0)", "y = Unsqueeze(x,u3)", "y = Tile(x,t1)", "y = Tile(x,t2)", "y = Expand(x,e1)",
        *(f"y = Concat<axis={a}>(x,x)" for a in (0, 1, -1))],
          {"r1": i64(4, 3, 2), "r2": i64(3, -1, 2), "r3": i64(0, -1), "r4": i64(-1, 0, 4), "u0": i64(0), "u3": i64(3), "t1": i64(1, 2, 1), "t2": i64(1, 1, 2),
           "e1": i64(2, 1, 3, 4)}),
    Group("Split", "(float[6,2] x) => (float[] y)", [
        "y,z = Split<num_outputs=2>(x)", "z,y = Split<num_outputs=2>(x)", "y,z = Split<axis=1,num_outputs=2>(x)", "y,z = Split(x,s24)", "y,z = Split(x,s42)",
        "z,y = Split(x,s24)", "y,z,w = Split<num_outputs=3>(x)", "z,y,w = Split<num_outputs=3>(x)"], {"s24": i64(2, 4), "s42": i64(4, 2)}),
    Group("Split_uneven", "(float[7,2] x) => (float[] y)",
          ["y,z = Split<num_outputs=2>(x)", "z,y = Split<num_outputs=2>(x)", "y,z = Split(x,s34)", "y,z = Split(x,s43)", "z,y = Split(x,s43)"],
          {"s34": i64(3, 4), "s43": i64(4, 3)}),
    Group("DepthToSpace", "(float[1,8,2,3] x) => (float[] y)", [f"y = DepthToSpace<{a}>(x)" for a in ("blocksize=2", 'blocksize=2,mode="CRD"', "blocksize=1")]),
    Group("SpaceToDepth", "(float[1,2,4,6] x) => (float[] y)", ["y = SpaceToDepth<blocksize=2>(x)", "y = SpaceToDepth<blocksize=1>(x)"]),
    Group("Trilu", "(float[4,5] x) => (float[] y)",
          ["y = Trilu(x)", "y = Trilu<upper=0>(x)", *(f"y = Trilu<upper={u}>(x,{k})" for u in (0, 1) for k in NUMBERS)], NUMBERS),
    Group("EyeLike", "(float[4,5] x) => (float[] y)", ["y = EyeLike(x)", "y = EyeLike<k=1>(x)", "y = EyeLike<k=-1>(x)", "y = Sub(x,x)"]),
    Group("CumSum", XY, [f"y = CumSum<exclusive={e},reverse={r}>(x,{a})" for e in (0, 1) for r in (0, 1) for a in ("k0", "k1", "m1")], NUMBERS),
    Group("CenterCropPad", "(float[5,6] x) => (float[] y)",
          [f"y = CenterCropPad{a}(x,{s})" for a, s in (("", "s"), ("", "s2"), ("<axes=[0]>", "s1"), ("<axes=[1]>", "s1"), ("<axes=[1,0]>", "s"))],
          {"s": i64(4, 9), "s2": i64(8, 3), "s1": i64(3)}),
    Group("ReverseSequence", "(float[4,3] x, int64[3] l) => (float[] y)",
          ["y = ReverseSequence<time_axis=0,batch_axis=1>(x,l)", "y = ReverseSequence<time_axis=1,batch_axis=0>(x,l4)", "y = Identity(x)"],
          {"l4": i64(1, 2, 3, 3)}, lambda r: {"x": r.standard_normal((4, 3)).astype(np.float32), "l": r.integers(1, 5, 3)}),
    *(Group(f"TopK_{output}", f"(float[3,5] x) => ({t}[] {output})",
            [f"y,i = TopK<axis={a},largest={largest},sorted=1>(x,{k})" for a in (0, 1) for largest in (0, 1) for k in ("k2", "k3")],
            {"k2": i64(2), "k3": i64(3)})
      for output, t in (("y", "float"), ("i", "int64"))),
    Group("Compress", "(float[3,4] x) => (float[] y)", [
        (f"y = Compress{a}(x,c)", {"c": np.array(c)}) for a in ("<axis=0>", "<axis=1>", "")
        for c in ([True, False, True], [False, True, True], [True, True])]),
]
