"""Groups of calls that differ in little: products, recurrences, attention, signals, losses, ONNX Runtime's own operators."""
import numpy as np

from attack.models import f32, i64
from attack.variants import Group, one_changed

numbers = np.random.default_rng(5)
HIDDEN = 2
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
XXX = "(float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v) => (float[] y)"


def weights(*shape: int) -> np.ndarray:
    return numbers.standard_normal(shape).astype(np.float32)


def recurrent(op: str) -> list[Group]:
    gates = GATES[op] * HIDDEN

    def constants(directions: int) -> dict[str, np.ndarray]:
        return {"W": weights(directions, gates, 3), "R": weights(directions, gates, HIDDEN), "B": weights(directions, 2 * gates),
                "h0": weights(directions, 2, HIDDEN), "c0": weights(directions, 2, HIDDEN), "P": weights(directions, 3 * HIDDEN),
                "sl": np.array([3, 2], np.int32)}

    def call(attributes: str, inputs: str) -> str:
        return f"y = {op}<hidden_size=2{attributes}>(x,W,R{inputs})"

    bodies = [call(a, i) for a, i in (("", ""), ("", ",B"), (',direction="reverse"', ",B"), ("", ",B,sl"), ("", ",B,,h0"), (",clip=0.3", ",B"))]
    own = {"RNN": [(f",activations=[{a}]", ",B") for a in ('"Relu"', '"Sigmoid"')]
           + [(f',activations=["LeakyRelu"],activation_alpha=[{a}]', ",B") for a in (0.2, 0.5)],
           "GRU": [(",linear_before_reset=1", ",B"), (',activations=["Sigmoid","Relu"]', ",B")],
           "LSTM": [(",input_forget=1", ",B"), ("", ",B,,h0,c0"), ("", ",B,,h0,c0,P"), ("", ",B,,,c0"),
                    (',activations=["Sigmoid","Tanh","Relu"]', ",B"), (',activations=["Sigmoid","Relu","Tanh"]', ",B")]}
    both = [call(',direction="bidirectional"', i) for i in (",B", "", ",B,sl")]
    signature = "(float[3,2,3] x) => (float[] y)"
    return [Group(op, signature, bodies + [call(a, i) for a, i in own[op]], constants(1)), Group(f"{op}_both_ways", signature, both, constants(2))]


GROUPS = [
    Group("Gemm", "(float[3,3] x, float[3,3] w, float[3] c) => (float[] y)", [
        *one_changed("y = Gemm<alpha={a},beta={b},transA={s},transB={t}>(x,w,c)", {"a": 1.0, "b": 1.0, "s": 0, "t": 0}, a=[0.5, -1.0, 0.0], b=[0.5, 0.0],
                     s=[1], t=[1]),
        "y = Gemm(w,x,c)", "y = Gemm(x,w)", "y = MatMul(x,w)", "y = Gemm<transA=1,transB=1>(x,w,c)", "m = MatMul(x,w) y = Add(m,c)"]),
    Group("Einsum", "(float[3,3] x, float[3,3] w) => (float[] y)", [f'y = Einsum<equation="{e}">(x,w)' for e in (
        "ij,jk->ik", "ij,jk->ki", "ij,kj->ik", "ji,jk->ik", "ij,ij->ij", "ij,ji->ij", "ij,ij->i", "ij,ij->j", "ij,ij->", "ii,ij->j", "ij,jj->i", "ij,jk",
        "ab,bc->ac", "...i,...i->...", "i...,i...->...", "ij,jk->i", "ij,kl->ijkl")]),
    Group("Einsum_of_one", "(float[3,3] x) => (float[] y)", [f'y = Einsum<equation="{e}">(x)' for e in (
        "ij->ji", "ij->ij", "ii->i", "ii->", "ij->i", "ij->j", "ij->", "ji", "ij")]),
    *recurrent("RNN"), *recurrent("GRU"), *recurrent("LSTM"),
    Group("Attention", XXX, [f"y = Attention{a}({i})" for a, i in (
        ("", "q,k,v"), ("<is_causal=1>", "q,k,v"), ("<scale=0.3>", "q,k,v"), ("<softcap=1.0>", "q,k,v"), ("", "k,q,v"), ("", "q,k,v,m"), ("", "q,k,v,b"),
        ("<softmax_precision=1>", "q,k,v"))], {"m": weights(3, 3), "b": np.tril(np.ones((3, 3), bool))}, opset=23),
    Group("Attention_flat", "(float[1,3,8] q, float[1,3,8] k, float[1,3,8] v) => (float[] y)",
          [f"y = Attention<q_num_heads={h},kv_num_heads={h}{a}>(q,k,v)" for h, a in ((2, ""), (4, ""), (2, ",is_causal=1"), (1, ""))], opset=23),
    Group("RotaryEmbedding", "(float[1,2,3,4] x) => (float[] y)", [f"y = RotaryEmbedding{a}(x,{i})" for a, i in (
        ("", "c,s"), ("<interleaved=1>", "c,s"), ("", "s,c"), ("<rotary_embedding_dim=2>", "c1,s1"), ("<rotary_embedding_dim=2,interleaved=1>", "c1,s1"))],
          {"c": weights(1, 3, 2), "s": weights(1, 3, 2), "c1": weights(1, 3, 1), "s1": weights(1, 3, 1)}, opset=23),
    Group("DFT_17", "(float[1,6,5,1] x) => (float[] y)", [f"y = DFT{a}({i})" for a, i in (
        ("", "x"), ("<axis=2>", "x"), ("<onesided=1>", "x"), ("<inverse=1>", "x"), ("", "x,n4"), ("", "x,n8"), ("<axis=2,onesided=1>", "x"))],
          {"n4": np.array(4), "n8": np.array(8)}, opset=17),
    Group("DFT_20", "(float[1,6,5,1] x) => (float[] y)", [f"y = DFT{a}({i})" for a, i in (
        ("", "x"), ("", "x,,a1"), ("", "x,,a2"), ("<onesided=1>", "x"), ("<inverse=1>", "x"))], {"a1": np.array(1), "a2": np.array(2)}, opset=20),
    Group("STFT", "(float[1,12,1] x) => (float[] y)", [
        "y = STFT(x,st,w)", "y = STFT<onesided=0>(x,st,w)", "y = STFT(x,st2,w)", "y = STFT(x,st,w2)", "y = STFT(x,st,,fl)"],
          {"st": np.array(2), "st2": np.array(3), "w": np.hanning(4).astype(np.float32), "w2": np.hamming(4).astype(np.float32), "fl": np.array(4)}, opset=17),
    Group("windows", "(float[1] x) => (float[] y)", [
        *(f"w = {op}<periodic={p}>(n) y = Mul(w,x)" for op in ("HannWindow", "HammingWindow", "BlackmanWindow") for p in (0, 1)),
        "w = HannWindow(n6) y = Mul(w,x)"], {"n": np.array(5), "n6": np.array(6)}, opset=17),
    Group("losses", "(float[3,4] x, int64[3] t) => (float[] y)", [
        f'y = {op}<reduction="{r}"{a}>(x,t{w})' for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss") for r in ("none", "sum", "mean")
        for a, w in (("", ""), (",ignore_index=1", ""), ("", ",w"))], {"w": f32(1, 2, 0.5, 3)},
          lambda r: {"x": r.standard_normal((3, 4)).astype(np.float32), "t": r.integers(0, 4, 3)}),
    Group("FusedMatMul", "(float[3,3] x, float[3,3] w) => (float[] y)", [
        *(f"y = com.microsoft.FusedMatMul{a}(x,w)" for a in ("", "<alpha=0.5>", "<transA=1>", "<transB=1>", "<transA=1,transB=1>")), "y = MatMul(x,w)"]),
    Group("Gelus", "(float[3,4] x) => (float[] y)", [f"y = com.microsoft.{c}" for c in (
        "Gelu(x)", "FastGelu(x)", "FastGelu(x,b)", "BiasGelu(x,b)", "QuickGelu(x)", "QuickGelu<alpha=1.0>(x)")], {"b": f32(0.1, 0.2, 0.3, 0.4)}),
    Group("SkipLayerNormalization", "(float[1,3,4] x, float[1,3,4] k) => (float[] y)", [f"y = com.microsoft.Skip{c}" for c in (
        "LayerNormalization(x,k,s,b)", "LayerNormalization<epsilon=0.1>(x,k,s,b)", "LayerNormalization(x,k,s)", "LayerNormalization(x,k,s,b,c)",
        "SimplifiedLayerNormalization(x,k,s)", "SimplifiedLayerNormalization<epsilon=0.1>(x,k,s)", "SimplifiedLayerNormalization(x,k,s,b)")],
          {"s": f32(1, 2, 0.5, 3), "b": f32(0.1, 0.2, 0.3, 0.4), "c": f32(1, -1, 2, 0)}),
    Group("FusedConv", "(float[1,2,5,5] x) => (float[] y)", [
        *(f'y = com.microsoft.FusedConv<activation="{a}",pads=[{p}]>(x,w)' for a in ("Relu", "Sigmoid", "Tanh") for p in ("0,0,0,0", "1,1,1,1")),
        *(f'y = com.microsoft.FusedConv<activation="{a}",activation_params=[{p}]>(x,w)' for a, p in (
            ("LeakyRelu", "0.1"), ("LeakyRelu", "0.3"), ("Clip", "0.0,6.0"), ("Clip", "-1.0,1.0"), ("HardSigmoid", "0.2,0.5")))], {"w": weights(3, 2, 3, 3)}),
    Group("Attention_fused", "(float[1,3,4] x, int32[1,3] m) => (float[] y)", [f"y = com.microsoft.Attention<{a}>(x,w,b{i})" for a, i in (
        ("num_heads=2", ""), ("num_heads=1", ""), ("num_heads=2,unidirectional=1", ""), ("num_heads=2,scale=0.3", ""), ("num_heads=2", ",m"),
        ("num_heads=2,mask_filter_value=-1.0", ",m"))], {"w": weights(4, 12), "b": weights(12)},
          lambda r: {"x": r.standard_normal((1, 3, 4)).astype(np.float32), "m": np.array([[1, 1, 0]], np.int32)}),
    Group("reshaped_products", "(float[2,3] x, float[3,4] w) => (float[] y)", [
        "y = MatMul(x,w)", "a = Transpose(x) b = Transpose(w) c = MatMul(b,a) y = Transpose(c)", "a = Transpose(x) y = Gemm<transA=1>(a,w)",
        "b = Transpose(w) y = Gemm<transB=1>(x,b)", 'y = Einsum<equation="ij,jk->ik">(x,w)', "a = Neg(x) b = Neg(w) y = MatMul(a,b)",
        "a = Neg(x) c = MatMul(a,w) y = Neg(c)", "a = Unsqueeze(x,two) b = Unsqueeze(w,zero) p = Mul(a,b) y = ReduceSum<keepdims=0>(p,one)",
        "a = Unsqueeze(x,two) b = Unsqueeze(w,zero) p = Mul(a,b) y = ReduceSum<keepdims=0>(p,zero)"], {"zero": i64(0), "one": i64(1), "two": i64(2)}),
]
