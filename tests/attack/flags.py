"""Flags that are neither 0 nor 1: the specification doesn't say what they mean, and runtimes differ."""
import itertools
import random
from collections.abc import Iterator

import numpy as np

from attack.cases import Proof
from attack.models import Model, f32, i64

ONE = {"a": i64(1)}
ZERO_D = {"a": np.array(0)}
MATRIX, VECTOR, SQUARE = "(float[2,3] x) => (float[] y)", "(float[4] x) => (float[] y)", "(float[3,3] x) => (float[] y)"
IMAGE = "(float[1,1,6,6] x) => (float[] y)"
SEQUENCE = "(float[2,1,2] x) => (float[] y)"
numbers = np.random.default_rng(0)

# signature, body with a place for the flag, constants, operator set
TEXTS = [
    *((MATRIX, f"y = {op}<keepdims=%d>(x,a)", ONE, 18) for op in ("ReduceMax", "ReduceSum", "ReduceMean", "ReduceL1", "ReduceLogSumExp")),
    (MATRIX, "y = ReduceMean<axes=[1],keepdims=%d>(x)", {}, 13), (MATRIX, "y = ReduceSum<noop_with_empty_axes=%d>(x)", {}, 18),
    ("(float[2,3] x) => (int64[] y)", "y = ArgMax<axis=1,keepdims=%d>(x)", {}, 18),
    ("(float[2,3] x) => (int64[] y)", "q = Sub(x,x) y = ArgMax<axis=1,select_last_index=%d>(q)", {}, 18),
    (IMAGE, "y = AveragePool<kernel_shape=[3,3],strides=[2,2],ceil_mode=%d>(x)", {}, 18),
    (IMAGE, "y = AveragePool<kernel_shape=[3,3],pads=[1,1,1,1],count_include_pad=%d>(x)", {}, 18),
    (IMAGE, "y = MaxPool<kernel_shape=[3,3],strides=[2,2],ceil_mode=%d>(x)", {}, 18), (SQUARE, "y = Gemm<transA=%d>(x,x)", {}, 18),
    (SQUARE, "y = Gemm<transB=%d>(x,x)", {}, 18), (VECTOR, "y = CumSum<exclusive=%d>(x,a)", ZERO_D, 18), (VECTOR, "y = CumSum<reverse=%d>(x,a)", ZERO_D, 18),
    (MATRIX, "y = Reshape<allowzero=%d>(x,a)", {"a": i64(0, 3)}, 18), (VECTOR, "y,i = TopK<largest=%d>(x,a)", {"a": i64(2)}, 18),
    (VECTOR, "y,i = TopK<sorted=%d>(x,a)", {"a": i64(2)}, 18), (MATRIX, "y = Concat<axis=%d>(x,x)", {}, 18), (MATRIX, "y = Flatten<axis=%d>(x)", {}, 18),
    ("(float[1,1,4,4] x, float[1,2,2,2] g) => (float[] y)", "y = GridSample<align_corners=%d>(x,g)", {}, 18), (SQUARE, "y = Trilu<upper=%d>(x)", {}, 18),
    ("(float[3] x) => (bool[] y)", "y = IsInf<detect_negative=%d>(x)", {}, 18), ("(float[3] x) => (bool[] y)", "y = IsInf<detect_positive=%d>(x)", {}, 18),
    ("(int32[3] x) => (int32[] y)", "y = Mod<fmod=%d>(x,a)", {"a": np.int32(-2)}, 18),
    (SEQUENCE, "y = GRU<hidden_size=1,linear_before_reset=%d>(x,w,r,b)",
     {"w": np.ones((1, 3, 2), np.float32), "r": np.ones((1, 3, 1), np.float32), "b": np.arange(6, dtype=np.float32).reshape(1, 6)}, 18),
    (SEQUENCE, "y = LSTM<hidden_size=1,input_forget=%d>(x,w,r)",
     {"w": np.ones((1, 4, 2), np.float32), "r": np.arange(4, dtype=np.float32).reshape(1, 4, 1)}, 18),
    (SEQUENCE, "y = RNN<hidden_size=1,layout=%d>(x,w,r)", {"w": np.ones((1, 1, 2), np.float32), "r": np.ones((1, 1, 1), np.float32)}, 18),
    ("(float[1,1,5,4] x) => (float[] y)", 'y = Resize<mode="cubic",exclude_outside=%d>(x,,s)', {"s": f32(1, 1, 1.6, 2.5)}, 18),
    ("(float[1,1,5,4] x) => (float[] y)", 'y = Resize<mode="linear",antialias=%d>(x,,s)', {"s": f32(1, 1, 0.6, 0.5)}, 18),
    ("(float[1,6,1] x) => (float[] y)", "y = DFT<inverse=%d>(x)", {}, 17), ("(float[1,6,1] x) => (float[] y)", "y = DFT<onesided=%d>(x)", {}, 17),
    ("(float[1] x) => (float[] y)", "w = HannWindow<periodic=%d>(n) y = Mul(w,x)", {"n": np.array(5)}, 17),
    ("(float[1,2,3,4] x) => (float[] y)", "y = Attention<is_causal=%d>(x,x,x)", {}, 23),
    ("(float[1,2,3,4] x) => (float[] y)", "y = RotaryEmbedding<interleaved=%d>(x,c,s)",
     {"c": np.arange(6, dtype=np.float32).reshape(1, 3, 2), "s": np.ones((1, 3, 2), np.float32)}, 23),
    (SQUARE, "y = com.microsoft.FusedMatMul<transA=%d>(x,x)", {}, 18),
    ("(float[1,3,4] x) => (float[] y)", "y = com.microsoft.Attention<num_heads=2,unidirectional=%d>(x,w,b)",
     {"w": numbers.standard_normal((4, 12)).astype(np.float32), "b": np.zeros(12, np.float32)}, 18),
    ("(float[2,2,3,3] x) => (float[] y)", "y = BatchNormalization<training_mode=%d>(x,s,s,s,s)", {"s": f32(0.5, 2)}, 15),
    ("(float[1,2,3] x) => (float[] y)", "y = AffineGrid<align_corners=%d>(x,a)", {"a": i64(1, 1, 3, 4)}, 20),
    ("(float[2,4] x) => (float[] y)", "y = LayerNormalization<stash_type=%d>(x,s)", {"s": np.ones(4, np.float32)}, 17),
    ("(float[2,3,4] x) => (int64[] y)", "y = Shape<start=%d>(x)", {}, 18),
    ("(float[3] x) => (float[] y)", "q = QuantizeLinear<saturate=%d>(x,s,z) y = DequantizeLinear(q,s,z)", {"s": np.float32(0.5), "z": np.uint8(3)}, 19),
]


def cases(draw: random.Random) -> Iterator[Proof]:
    del draw  # all of them
    for signature, body, constants, opset in TEXTS:
        for one, other in itertools.permutations((0, 1, 2, -1), 2):
            a, b = (Model(f"{signature} {{ {body % flag} }}", constants, opset) for flag in (one, other))
            yield Proof(f"{body} {one} {other}", a, b)
