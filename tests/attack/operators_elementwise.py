"""Groups of calls that differ in little: functions of elements, reductions, integers, casts, quantization."""
import numpy as np

from attack.models import f32, i64
from attack.variants import Group, one_changed

XY = "(float[2,3,4] x) => (float[] y)"
SCALAR = {"zero": np.float32(0), "one": np.float32(1), "half": np.float32(0.5), "two": np.float32(2), "three": np.float32(3), "minus": np.float32(-1)}
TIES = {"x": f32(-2, -0.5, 0, 0.5, 3)}

GROUPS = [
    *(Group(op, XY, [f"y = {op}(x)", *(f"y = {op}<alpha={v}>(x)" for v in values), "y = Relu(x)"]) for op, values in (
        ("LeakyRelu", (0.01, 0.2, 1.0, -0.5)), ("Elu", (1.0, 0.5)), ("Celu", (1.0, 0.5, 2.0)), ("ThresholdedRelu", (1.0, 0.5, 0.0)))),
    Group("Selu", XY, ["y = Selu(x)", "y = Selu<alpha=1.0>(x)", "y = Selu<gamma=1.0>(x)", "y = Elu(x)"]),
    Group("HardSigmoid", XY, ["y = HardSigmoid(x)", "y = HardSigmoid<alpha=0.16667>(x)", "y = HardSigmoid<beta=0.4>(x)", "y = Sigmoid(x)"]),
    Group("Shrink", XY, ["y = Shrink(x)", "y = Shrink<lambd=0.3>(x)", "y = Shrink<bias=0.1>(x)", "y = Shrink<bias=0.5>(x)", "y = Shrink<lambd=-0.5>(x)"]),
    Group("Gelu", XY, ["y = Gelu(x)", 'y = Gelu<approximate="tanh">(x)'], opset=20),
    Group("unary", XY, [f"y = {op}(x)" for op in (
        "Abs", "Neg", "Relu", "Sign", "Floor", "Ceil", "Round", "Sigmoid", "Tanh", "Erf", "Exp", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh",
        "Softplus", "Softsign", "HardSwish", "Mish", "Reciprocal", "Identity")]),
    Group("Clip", XY, ["y = Clip(x,a,b)", "y = Clip(x,a)", "y = Clip(x,,b)", "y = Clip(x,b,a)", "y = Clip(x,z,b)", "y = Clip(x)", "y = Relu(x)"],
          {"a": np.float32(-0.5), "b": np.float32(0.7), "z": np.float32(0)}),
    Group("Clip_int32", "(int32[6] x) => (int32[] y)", ["y = Clip(x,a,b)", "y = Clip(x,a)", "y = Clip(x,,b)", "y = Clip(x,b,a)"],
          {"a": np.int32(-2), "b": np.int32(3)}),
    *(Group(f"{op}_{opset}", XY, [f"y = {op}(x)", *(f"y = {op}<axis={k}>(x)" for k in (-1, 0, 1, 2, -2))], opset=opset)
      for op in ("Softmax", "LogSoftmax", "Hardmax") for opset in (11, 13)),
    *(Group(op, XY, [*one_changed("y = " + op + "<keepdims={keep},noop_with_empty_axes={noop}>(x{axes})", {"keep": 1, "noop": 0, "axes": ",a1"},
                                  keep=[0], noop=[1], axes=["", ",a0", ",a2", ",a12", ",am1", ",none"]),
                     *(f"y = {op}<{flags}>({inputs})" for flags, inputs in (("noop_with_empty_axes=1", "x"), ("noop_with_empty_axes=1", "x,none"),
                                                                            ("keepdims=0,noop_with_empty_axes=1", "x")))],
            {"a0": i64(0), "a1": i64(1), "a2": i64(2), "a12": i64(1, 2), "am1": i64(-1), "none": i64()})
      for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare")),
    Group("ReduceMax_11", XY, ["y = ReduceMax<axes=[1]>(x)", "y = ReduceMax<axes=[0]>(x)", "y = ReduceMax<axes=[1],keepdims=0>(x)",
                               "y = ReduceMin<axes=[1]>(x)", "y = ReduceMax(x)"], opset=11),
    Group("Reduce_int32", "(int32[2,3] x) => (int32[] y)",
          [f"y = {op}<keepdims=0>(x,a1)" for op in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceProd", "ReduceL1")], {"a1": i64(1)}),
    *(Group(op, "(float[2,3,4] x) => (int64[] y)",
            [*one_changed("y = " + op + "<axis={axis},keepdims={keep},select_last_index={last}>(x)", {"axis": 1, "keep": 1, "last": 0},
                          axis=[0, 2, -1], keep=[0], last=[1]), "y = ArgMin<axis=1>(x)", "y = ArgMax<axis=1>(x)"],
            feeds=lambda r: {"x": r.integers(-2, 3, (2, 3, 4)).astype(np.float32)}) for op in ("ArgMax", "ArgMin")),
    Group("binary", "(float[3,3] x, float[3,3] w) => (float[] y)", [
        *(f"y = {op}({ab})" for op in ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "MatMul", "Mean", "Sum", "PRelu") for ab in ("x,w", "w,x")),
        *(f"b = {op}(x,w) y = Where(b,x,w)" for op in ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal")), "b = Less(x,w) y = Where(b,w,x)"]),
    Group("logic", "(float[6] x, float[6] w) => (bool[] y)", [
        *(f"y = {op}(x,w)" for op in ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal")),
        "b = Less(x,w) y = Not(b)", "b = Equal(x,w) y = Not(b)", "a = Less(x,w) b = Greater(x,w) y = Or(a,b)", "a = Less(x,w) b = Greater(x,w) y = Xor(a,b)",
        "a = LessOrEqual(x,w) b = GreaterOrEqual(x,w) y = And(a,b)", "d = Sub(x,w) y = Less(d,zero)", "d = Sub(x,w) y = Greater(d,zero)",
        "d = Sub(x,w) y = Cast<to=9>(d)"], SCALAR, lambda r: {"x": r.integers(-2, 3, 6).astype(np.float32), "w": r.integers(-2, 3, 6).astype(np.float32)}),
    Group("powers", "(float[5] x) => (float[] y)", [
        *(f"y = Pow(x,{k})" for k in ("two", "three", "half", "minus", "zero", "one", "int_two")), "y = Pow(two,x)", "y = Mul(x,x)", "y = Sqrt(x)",
        "a = Abs(x) y = Sqrt(a)", "y = Reciprocal(x)", "y = Abs(x)", "p = Mul(x,x) y = Sqrt(p)", "s = Sqrt(x) y = Mul(s,s)", "l = Log(x) y = Exp(l)",
        "e = Exp(x) y = Log(e)", "y = Identity(x)", "y = Sub(x,x)", "y = Div(x,x)", "d = Sub(x,x) y = Add(d,one)", "d = Sub(x,x) y = Exp(d)"],
          SCALAR | {"int_two": np.array(2)}, lambda r: TIES),
    Group("powers_int32", "(int32[5] x) => (int32[] y)",
          [*(f"y = Pow(x,{k})" for k in ("two", "half", "minus", "more")), "y = Mul(x,x)", "y = Identity(x)"],
          {"two": np.int32(2), "half": np.float32(0.5), "minus": np.int32(-1), "more": np.float32(1.5)},
          lambda r: {"x": np.array([-2, -1, 1, 2, 3], np.int32)}),
    Group("signs", "(float[5] x) => (float[] y)", [
        "y = Abs(x)", "y = Relu(x)", "s = Sign(x) y = Mul(s,x)", "a = Abs(x) s = Sign(x) y = Mul(a,s)", "s = Sign(x) y = Mul(s,s)", "y = Max(x,zero)",
        "n = Neg(x) m = Min(n,zero) y = Neg(m)", "r = Relu(x) n = Neg(x) q = Relu(n) y = Sub(r,q)", "r = Relu(x) n = Neg(x) q = Relu(n) y = Add(r,q)",
        "b = Less(x,zero) n = Neg(x) y = Where(b,n,x)", "b = Less(x,zero) y = Where(b,zero,x)", "b = LessOrEqual(x,zero) y = Where(b,x,zero)",
        *(f"y = LeakyRelu<alpha={a}>(x)" for a in (0.0, 1.0, -1.0)), "y = Clip(x,zero)", "y = Identity(x)", "y = Neg(x)",
        "y = ThresholdedRelu<alpha=0.0>(x)", "y = PRelu(x,zero)", "y = PRelu(x,one)"], SCALAR, lambda r: TIES),
    Group("rounds", "(float[9] x) => (float[] y)", [
        "y = Round(x)", "y = Floor(x)", "y = Ceil(x)", "a = Add(x,half) y = Floor(a)", "a = Sub(x,half) y = Ceil(a)", "n = Neg(x) f = Floor(n) y = Neg(f)",
        "c = Cast<to=7>(x) y = Cast<to=1>(c)", "n = Neg(x) r = Round(n) y = Neg(r)", "y = Identity(x)"],
          SCALAR, lambda r: {"x": f32(-2.5, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 0.25, -0.75)}),
    Group("Mod_int32", "(int32[7] x, int32[7] z) => (int32[] y)", [
        "y = Mod(x,z)", "y = Mod<fmod=1>(x,z)", "q = Div(x,z) p = Mul(q,z) y = Sub(x,p)", "y = Div(x,z)", "q = Sub(x,z) y = Div(q,z)", "y = Mod(z,x)"],
          feeds=lambda r: {"x": r.choice([-7, -5, -3, 3, 5, 7, 9], 7).astype(np.int32), "z": r.choice([-4, -3, -2, 2, 3, 4], 7).astype(np.int32)}),
    Group("Mod_float", "(float[7] x, float[7] z) => (float[] y)",
          ["y = Mod<fmod=1>(x,z)", "q = Div(x,z) f = Floor(q) p = Mul(f,z) y = Sub(x,p)", "y = Mod<fmod=1>(z,x)"]),
    *(Group(f"BitShift_{t}", f"({t}[4] x, {t}[4] z) => ({t}[] y)",
            ['y = BitShift<direction="LEFT">(x,z)', 'y = BitShift<direction="RIGHT">(x,z)', 'y = BitShift<direction="LEFT">(z,x)'],
            feeds=lambda r, t=t: {"x": r.integers(0, 200, 4).astype(t), "z": r.integers(0, 5, 4).astype(t)}) for t in ("uint8", "uint32", "uint64")),
    Group("bitwise", "(int32[6] x, int32[6] z) => (int32[] y)", [
        *(f"y = {op}(x,z)" for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "Add", "Mul", "Max", "Min", "Sub")),
        "n = BitwiseNot(x) y = BitwiseAnd(n,z)", "y = Sub(z,x)"],
          feeds=lambda r: {"x": r.integers(-100, 100, 6).astype(np.int32), "z": r.integers(-100, 100, 6).astype(np.int32)}),
    Group("Cast_float", "(float[16] x) => (float[] y)", [
        "y = Identity(x)", *(f"c = Cast<to={t}>(x) y = Cast<to=1>(c)" for t in (2, 3, 5, 6, 7, 9, 10, 11, 16)), "y = Floor(x)", "y = Round(x)",
        "a = Cast<to=7>(x) c = Cast<to=2>(a) y = Cast<to=1>(c)", "a = Cast<to=6>(x) c = Cast<to=3>(a) y = Cast<to=1>(c)",
        "a = Floor(x) c = Cast<to=6>(a) y = Cast<to=1>(c)"],
          feeds=lambda r: {"x": f32(0, -0.5, 0.5, 1.5, 2.5, -1.5, -2.75, 127.75, 200.25, 255.5, 300, -129, -300, 65504, 70000, 1e-8)}),
    Group("Cast_int64", "(int64[10] x) => (int64[] y)",
          ["y = Identity(x)", *(f"c = Cast<to={t}>(x) y = Cast<to=7>(c)" for t in (1, 2, 3, 5, 6, 9, 10, 11, 12, 13))],
          feeds=lambda r: {"x": i64(0, 1, -1, 127, 128, 255, 256, 2**31, 2**33 + 1, -2**40 - 1)}),
    Group("Cast_int32", "(int32[10] x) => (int32[] y)", [
        "y = Identity(x)", *(f"c = Cast<to={t}>(x) y = Cast<to=6>(c)" for t in (1, 2, 3, 5, 7, 9, 11, 12)),
        "c = Cast<to=7>(x) d = Add(c,k) e = Cast<to=6>(d) y = Sub(e,k6)", "c = Cast<to=7>(x) d = Mul(c,c) e = Div(d,k) y = Cast<to=6>(e)",
        "d = Mul(x,x) y = Div(d,k6)"], {"k": i64(5), "k6": np.array([5], np.int32)},
          lambda r: {"x": np.array([0, 1, -1, 127, 128, 255, 256, 2**31 - 1, -2**31, 65536 * 7], np.int32)}),
    Group("quantize", "(float[4,4] x) => (float[] y)", [
        "y = Identity(x)",
        *(f"q = QuantizeLinear(x,{s},{z}) y = DequantizeLinear(q,{s},{z})" for s in ("s", "s2") for z in ("z", "z5", "zi", "zi5")),
        "q = QuantizeLinear(x,s) y = DequantizeLinear(q,s)",
        *(f"q = QuantizeLinear<axis={a}>(x,sv,zv) y = DequantizeLinear<axis={b}>(q,sv,zv)" for a, b in ((0, 0), (1, 1), (0, 1))),
        "q = QuantizeLinear(x,s,z5) y = DequantizeLinear(q,s,z)", "q = QuantizeLinear(x,s,z5) y = DequantizeLinear(q,s2,z5)",
        *(f"q = QuantizeLinear(x,s,z5) d = DequantizeLinear(q,s,z5) q2 = QuantizeLinear(d,{s},z5) y = DequantizeLinear(q2,{s},z5)" for s in ("s", "s2")),
        "d = Div(x,s) e = Round(d) y = Mul(e,s)"],
          {"s": np.float32(0.125), "s2": np.float32(0.25), "z": np.uint8(0), "z5": np.uint8(5), "zi": np.int8(0), "zi5": np.int8(5),
           "sv": f32(0.125, 0.25, 0.375, 0.5), "zv": np.array([0, 1, 2, 3], np.uint8)},
          lambda r: {"x": np.concatenate([r.standard_normal(8) * 20, [0.0625, 0.1875, 0.3125, -0.0625, -12.8125, 100, -100, 12.8125]])
                     .astype(np.float32).reshape(4, 4)}),
    Group("quantize_dynamically", "(float[4,4] x) => (float[] y)", [
        "q,s,z = DynamicQuantizeLinear(x) y = DequantizeLinear(q,s,z)", "y = Identity(x)", "q,s,z = DynamicQuantizeLinear(x) y = DequantizeLinear(q,s)"]),
    Group("MatMulInteger", "(uint8[2,3] x, uint8[3,2] w) => (int32[] y)",
          [f"y = MatMulInteger({i})" for i in ("x,w", "x,w,a", "x,w,,b", "x,w,a,b", "x,w,b,a")], {"a": np.uint8(3), "b": np.uint8(200)},
          lambda r: {"x": r.integers(0, 256, (2, 3)).astype(np.uint8), "w": r.integers(0, 256, (3, 2)).astype(np.uint8)}),
    Group("QLinearMatMul", "(uint8[2,3] x, int8[3,2] w) => (uint8[] y)", [
        *(f"y = QLinearMatMul(x,{a},w,{b},{c})" for a, b, c in (
            ("s,z", "s,n", "s,z"), ("s,z5", "s,n", "s,z"), ("s2,z", "s,n", "s,z"), ("s,z", "s,n5", "s,z"), ("s,z", "s,n", "s2,z"),
            ("s,z", "s,n", "s,z4"), ("s,z", "sv,nv", "s,z"), ("s,z", "s2,n", "s2,z"))),
        *(f"d = DequantizeLinear(x,s,z) e = DequantizeLinear<axis={a}>(w,{b}) c = MatMul(d,e) y = QuantizeLinear(c,s,{o})"
          for a, b, o in ((0, "s,n", "z"), (1, "sv,nv", "z"), (0, "s,n5", "z"), (0, "s,n", "z4")))],
          {"s": np.float32(0.125), "s2": np.float32(0.25), "z": np.uint8(0), "z5": np.uint8(5), "z4": np.uint8(4), "n": np.int8(0), "n5": np.int8(5),
           "sv": f32(0.125, 0.25), "nv": np.array([0, 3], np.int8)},
          lambda r: {"x": r.integers(0, 40, (2, 3)).astype(np.uint8), "w": r.integers(-30, 60, (3, 2)).astype(np.int8)}),
    Group("QLinearConv", "(uint8[1,3,4,4] x, int8[2,3,3,3] w) => (uint8[] y)", [
        *(f"y = QLinearConv<pads=[{p}]>(x,s,{z},w,s,n,s2,z4)" for p in ("1,1,1,1", "0,1,2,1") for z in ("z", "z5")),
        *(f"p = Pad(x,one,{a}) v = Pad(w,one,{b}) y = QLinearConv<pads=[1,1,1,1]>(p,s,z5,v,s,n,s2,z4)" for a in ("z5", "z4") for b in ("n", "n5")),
        "d = DequantizeLinear(x,s,z5) e = DequantizeLinear(w,s,n) c = Conv<pads=[1,1,1,1]>(d,e) y = QuantizeLinear(c,s2,z4)",
        "d = DequantizeLinear(x,s,z5) e = DequantizeLinear(w,s,n) c = Conv<pads=[1,1,1,1]>(d,e) r = Relu(c) y = QuantizeLinear(r,s2,z4)"],
          {"s": np.float32(0.125), "s2": np.float32(0.5), "z": np.uint8(0), "z5": np.uint8(5), "z4": np.uint8(4), "n": np.int8(0), "n5": np.int8(5),
           "one": i64(0, 0, 0, 0, 0, 1, 0, 0)},
          lambda r: {"x": r.integers(0, 60, (1, 3, 4, 4)).astype(np.uint8), "w": r.integers(-20, 30, (2, 3, 3, 3)).astype(np.int8)}),
    Group("IsInf", "(float[6] x) => (bool[] y)", ["y = IsInf(x)", "y = IsInf<detect_negative=0>(x)", "y = IsInf<detect_positive=0>(x)", "y = IsNaN(x)"],
          feeds=lambda r: {"x": f32(1, np.inf, -np.inf, np.nan, 0, -1)}, opset=20),
]
