"""The same text under two operator sets: where the meaning changed, and where it didn't."""
import itertools
import random
from collections.abc import Iterator

import numpy as np

from attack.cases import Proof
from attack.models import Model, f32, i64

SCALES = {"roi": f32(), "sc": f32(1, 1, 1.6, 2.5)}
TWO = {"s": f32(0.5, 2)}
FOUR = {"s": f32(1, 2, 3, 4), "b": f32(1, 2, 3, 4)}
XYZ, IMAGE, MATRIX, VECTOR = "(float[2,3,4] x) => ({}[] y)", "(float[1,1,5,4] x) => ({}[] y)", "(float[2,3] x) => ({}[] y)", "(float[4] x) => ({}[] y)"
CHANNELS, SQUARE = "(float[1,2,3,3] x) => ({}[] y)", "(float[1,1,7,7] x) => ({}[] y)"

# signature, output type, body, constants, operator sets
TEXTS = [
    (XYZ, "float", "y = Softmax(x)", {}, (7, 11, 12, 13, 18)), (XYZ, "float", "y = Softmax<axis=1>(x)", {}, (7, 11, 13, 18)),
    (XYZ, "float", "y = LogSoftmax(x)", {}, (11, 13)), (XYZ, "float", "y = Hardmax(x)", {}, (11, 13)), (XYZ, "float", "y = Hardmax<axis=1>(x)", {}, (11, 13)),
    (SQUARE, "float", "y = AveragePool<kernel_shape=[3,3],strides=[2,2],pads=[1,1,0,0],ceil_mode=1,count_include_pad=1>(x)", {}, (10, 11, 18, 19, 22)),
    (SQUARE, "float", "y = LpPool<kernel_shape=[3,3],strides=[2,2]>(x)", {}, (11, 18, 22)),
    ("(float[1,1,6,6] x) => ({}[] y)", "float", "y = RoiAlign<output_height=2,output_width=2,sampling_ratio=2>(x,r,i)",
     {"r": np.array([[0.5, 0.7, 4.2, 5.1]], np.float32), "i": i64(0)}, (10, 16, 22)),
    ("(float[1,6,5,1] x) => ({}[] y)", "float", "y = DFT(x)", {}, (17, 20)), (IMAGE, "float", 'y = Resize<mode="linear">(x,roi,sc)', SCALES, (11, 13, 18, 19)),
    (IMAGE, "float", 'y = Resize<mode="nearest">(x,roi,sc)', SCALES, (11, 13, 18, 19)),
    (CHANNELS, "float", "y = BatchNormalization(x,s,s,s,s)", TWO, (7, 9, 14, 15)), (VECTOR, "float", "y = Dropout(x)", {}, (7, 10, 12, 13)),
    (VECTOR, "float", "y = Dropout<ratio=0.9>(x)", {}, (7, 10)), (MATRIX, "float", "y = ReduceMax<axes=[1]>(x)", {}, (7, 11, 13)),
    (MATRIX, "int64", "y = ArgMax(x)", {}, (7, 11, 12, 13)), (VECTOR, "float", "y = Pow(x,t)", {"t": np.float32(2)}, (7, 12, 13, 15)),
    (VECTOR, "int64", "y = Cast<to=7>(x)", {}, (9, 13, 19)), ("(float[5] x) => ({}[] y)", "float", "y,i = TopK(x,k)", {"k": i64(2)}, (10, 11)),
    ("(float[1,4,3,3] x) => ({}[] y)", "float", "y = GroupNormalization<num_groups=4>(x,s,b)", FOUR, (18, 21)),
    ("(float[1,1,5,4] x, float[1,2,2,2] g) => ({}[] y)", "float", "y = GridSample<align_corners=0>(x,g)", {}, (16, 20, 22)),
    ("(float[2,4] x) => ({}[] y)", "uint8", "y = QuantizeLinear(x,s,z)", {"s": np.float32(0.125), "z": np.uint8(3)}, (10, 13, 19, 21)),
    (VECTOR, "float", "y = Round(x)", {}, (11, 22)), (CHANNELS, "float", "y = InstanceNormalization(x,s,s)", TWO, (7, 22)),
    ("(float[3] x, float[2] u) => ({}[] y)", "float", "y = ScatterElements(x,i,u)", {"i": i64(0, 2)}, (11, 13, 16, 18)),
    (MATRIX, "float", "y = Reshape(x,s)", {"s": i64(3, -1)}, (7, 13, 14, 19, 21)), ("(float[3] x) => ({}[] y)", "bool", "y = Equal(x,x)", {}, (11, 13, 19)),
    ("(float[6] x) => ({}[] y)", "float", "y,z = Split(x)", {}, (7, 11)),
    ("(float[1,4,2,2] x) => ({}[] y)", "float", "y = LRN<size=3,alpha=0.5>(x)", {}, (7, 13)),
    ("(float[1,1,6,6] x) => ({}[] y)", "float", "y = MaxPool<kernel_shape=[3,3],strides=[2,2],ceil_mode=1,pads=[0,0,1,1]>(x)", {}, (10, 11, 12, 22)),
    ("(float[3] x) => ({}[] y)", "bool", "y = IsInf(x)", {}, (10, 20)), ("(int32[3] x) => ({}[] y)", "int32", "y = Mod(x,t)", {"t": np.int32(2)}, (10, 13)),
    ("(float[1,2,3,4] x) => ({}[] y)", "float", "y = Attention<is_causal=1>(x,x,x)", {}, (23, 24)), (MATRIX, "int64", "y = Shape(x)", {}, (7, 13, 15, 21)),
    (MATRIX, "float", "y = ReduceSum<keepdims=0>(x)", {}, (7, 11, 13, 18)), (MATRIX, "float", "y = ReduceMean(x)", {}, (7, 13, 18)),
    (MATRIX, "float", "y = Flatten(x)", {}, (7, 9, 13, 21)), (MATRIX, "float", "y = Transpose(x)", {}, (7, 13, 21)),
    (VECTOR, "float", "y = Clip(x,t)", {"t": np.float32(0)}, (11, 12, 13)), (VECTOR, "float", "y = Celu(x)", {}, (12, 18)),
    (VECTOR, "float", "y = CumSum(x,t)", {"t": np.array(0)}, (11, 14)), (VECTOR, "float", "y = HardSwish(x)", {}, (14, 22)),
]


def cases(draw: random.Random) -> Iterator[Proof]:
    del draw  # all of them
    for signature, type_, body, constants, opsets in TEXTS:
        for one, other in itertools.permutations(opsets, 2):
            a, b = (Model(f"{signature.format(type_)} {{ {body} }}", constants, opset) for opset in (one, other))
            yield Proof(f"{body.split('=', 1)[1].strip()} {one} {other}", a, b)
