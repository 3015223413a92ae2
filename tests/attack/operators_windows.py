"""Groups of calls that differ in little: convolutions, pools, normalizations, resampling."""
import numpy as np

from attack.models import f32, i64
from attack.variants import Group, all_combined, one_changed

numbers = np.random.default_rng(3)


def weights(*shape: int) -> np.ndarray:
    return numbers.standard_normal(shape).astype(np.float32)


KERNEL = weights(4, 2, 3, 3)
BY_CHANNEL = {name: weights(3) for name in "sbm"} | {"v": (numbers.random(3) + 0.5).astype(np.float32)}
BY_FOUR = {"s": weights(4), "b": weights(4), "s34": weights(3, 4), "b34": weights(3, 4), "s2": weights(2), "b2": weights(2)}
POOLED = "(float[1,2,7,8] x) => (float[] y)"
IMAGE = "(float[1,1,5,4] x) => (float[] y)"
XY = "(float[2,3,4] x) => (float[] y)"
BATCH = "(float[2,3,4,4] x) => (float[] y)"
PADS = ["0,0,0,0", "1,1,1,1", "0,1,0,1", "1,0,0,1"]
SCALES = {"sc": f32(1, 1, 1.6, 2.5), "roi": f32()}


def averages(opset: int) -> list[str]:
    base = "y = AveragePool<kernel_shape=[3,2],strides=[{s}],pads=[{p}],count_include_pad={c},ceil_mode={m}>(x)"
    bodies = one_changed(base, {"s": "2,2", "p": "1,0,1,0", "c": 0, "m": 0}, s=["1,1", "2,3"], p=PADS, c=[1], m=[1])
    bodies += [base.format(s="2,2", p="1,0,1,0", c=1, m=1), *(base.format(s="2,3", p="0,1,0,1", c=c, m=1) for c in (0, 1))]
    bodies += [f'y = AveragePool<kernel_shape=[3,2],strides=[2,2],auto_pad="{a}">(x)' for a in ("SAME_UPPER", "SAME_LOWER", "VALID")]
    bodies += ['y = AveragePool<kernel_shape=[3,2],strides=[2,2],auto_pad="SAME_UPPER",count_include_pad=1>(x)']
    dilated = [f"y = AveragePool<kernel_shape=[3,2],strides=[2,2],pads=[1,0,1,0],dilations=[{d}]>(x)" for d in ("2,1", "1,2")]
    return bodies + (dilated if opset >= 19 else [])


def maxima() -> list[str]:
    base = "y = MaxPool<kernel_shape=[3,2],strides=[{s}],pads=[{p}],dilations=[{d}],ceil_mode={m}>(x)"
    return [*one_changed(base, {"s": "2,2", "p": "1,0,1,0", "d": "1,1", "m": 0}, s=["1,1", "2,3"], p=PADS, d=["2,1", "1,2"], m=[1]),
            *(f'y = MaxPool<kernel_shape=[3,2],strides=[2,2],auto_pad="{a}">(x)' for a in ("SAME_UPPER", "SAME_LOWER"))]


def normalized(opset: int) -> list[str]:
    plain = [f"y = BatchNormalization{a}(x,{i})" for a, i in (("", "s,b,m,v"), ("<epsilon=0.1>", "s,b,m,v"), ("<momentum=0.1>", "s,b,m,v"),
                                                             ("", "b,s,m,v"), ("", "s,m,b,v"))]
    training = [f"y,rm,rv = BatchNormalization<training_mode=1{a}>(x,s,b,m,v)" for a in ("", ",momentum=0.1", ",epsilon=0.1")]
    return plain + (training if opset >= 14 else [])


def resized() -> list[str]:
    places = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric")
    nearest = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    bodies = all_combined('y = Resize<mode="nearest",coordinate_transformation_mode="{p}",nearest_mode="{n}">(x,,sc)', p=places, n=nearest)
    bodies += all_combined('y = Resize<mode="{m}",coordinate_transformation_mode="{p}">(x,,sc)', m=("linear", "cubic"), p=places)
    bodies += [f'y = Resize<mode="cubic",{a}>(x,,sc)' for a in ("cubic_coeff_a=-0.5", "exclude_outside=1")]
    bodies += [f'y = Resize<mode="{m}">(x,,,sz)' for m in ("linear", "nearest")]
    bodies += [f'y = Resize<mode="linear"{a}>(x,,sd)' for a in ("", ",antialias=1")]
    bodies += [f'y = Resize<mode="linear",axes=[{a}]>(x,,s2)' for a in ("2,3", "3,2")]
    bodies += [f'y = Resize<mode="linear",coordinate_transformation_mode="tf_crop_and_resize"{a}>(x,roi,sc)' for a in ("", ",extrapolation_value=3.0")]
    kept = ("", ',keep_aspect_ratio_policy="not_larger"', ',keep_aspect_ratio_policy="not_smaller"')
    return bodies + [f'y = Resize<mode="linear",axes=[2,3]{a}>(x,,,z2)' for a in kept]


GROUPS = [
    Group("Conv", "(float[1,4,7,6] x) => (float[] y)", [
        *one_changed("y = Conv<kernel_shape=[3,3],pads=[{p}],strides=[{s}],dilations=[{d}],group={g}>(x,w{b})",
                     {"p": "1,1,1,1", "s": "1,1", "d": "1,1", "g": 2, "b": ""}, s=["2,1", "1,2", "2,2"], d=["2,1", "1,2"], b=[",b"],
                     p=["0,0,0,0", "1,0,1,0", "0,1,0,1", "2,0,0,2", "0,0,2,2", "1,1,1,0"]),
        *(f'y = Conv<auto_pad="{a}",group=2{more}>(x,w)' for a, more in (
            ("SAME_UPPER", ""), ("SAME_LOWER", ""), ("VALID", ""), ("SAME_UPPER", ",strides=[2,2]"), ("SAME_LOWER", ",strides=[2,2]"),
            ("SAME_UPPER", ",dilations=[2,2]"))),
        "y = Conv<group=4,pads=[1,1,1,1]>(x,w1)", "y = Conv<group=2,pads=[1,1,1,1]>(x,w2)"],
          {"w": KERNEL, "b": weights(4), "w1": weights(4, 1, 3, 3), "w2": KERNEL[:, ::-1].copy()}),
    Group("ConvTranspose", "(float[1,4,5,4] x) => (float[] y)", [
        *one_changed("y = ConvTranspose<pads=[{p}],strides=[{s}],dilations=[{d}],group={g},output_padding=[{o}]>(x,w)",
                     {"p": "1,1,1,1", "s": "2,2", "d": "1,1", "g": 2, "o": "0,0"}, p=["0,0,0,0", "1,0,1,0", "0,1,0,1", "0,0,1,1"], s=["1,2", "3,2"],
                     d=["2,1"], g=[1], o=["1,0", "0,1", "1,1"]),
        *(f"y = ConvTranspose<{a},strides=[2,2],group=2>(x,w)" for a in (
            'auto_pad="SAME_UPPER"', 'auto_pad="SAME_LOWER"', "output_shape=[10,8]", "output_shape=[11,9]",
            'output_shape=[10,8],auto_pad="SAME_LOWER"', 'output_shape=[10,8],auto_pad="SAME_UPPER"'))], {"w": weights(4, 2, 3, 3)}),
    *(Group(f"AveragePool_{opset}", POOLED, averages(opset), opset=opset) for opset in (11, 19, 22)),
    *(Group(f"MaxPool_{opset}", POOLED, maxima(), opset=opset) for opset in (11, 19, 22)),
    Group("LpPool", POOLED, [
        *(f"y = LpPool<kernel_shape=[3,2]{a}>(x)" for a in ("", ",p=1", ",p=3", ",pads=[1,0,1,0]", ",strides=[2,2]", ",strides=[2,2],ceil_mode=1",
                                                            ",dilations=[2,1]")),
        "y = GlobalLpPool(x)", "y = GlobalLpPool<p=1>(x)", "y = GlobalLpPool<p=3>(x)", "y = GlobalAveragePool(x)", "y = GlobalMaxPool(x)"]),
    Group("LRN", "(float[1,6,3,3] x) => (float[] y)", [
        f"y = LRN<{a}>(x)" for a in ("size=3", "size=5", "size=3,alpha=0.5", "size=3,beta=0.5,alpha=0.5", "size=3,bias=2.0", "size=4,alpha=0.5",
                                     "size=2,alpha=0.5")]),
    *(Group(f"BatchNormalization_{opset}", BATCH, normalized(opset), BY_CHANNEL, opset=opset) for opset in (9, 14, 15)),
    Group("InstanceNormalization", BATCH, [f"y = InstanceNormalization{a}(x,{i})" for a, i in (("", "s,b"), ("<epsilon=0.1>", "s,b"), ("", "b,s"))],
          BY_CHANNEL),
    Group("LayerNormalization", XY, [f"y = LayerNormalization{a}(x,{i})" for a, i in (
        ("", "s"), ("", "s,b"), ("<epsilon=0.1>", "s,b"), ("<axis=1>", "s34,b34"), ("<axis=-2>", "s34"), ("<axis=1>", "s,b"))], BY_FOUR),
    Group("GroupNormalization_18", "(float[2,4,3,3] x) => (float[] y)",
          [f"y = GroupNormalization<num_groups=2{a}>(x,s2,b2)" for a in ("", ",epsilon=0.1")], BY_FOUR),
    Group("GroupNormalization_21", "(float[2,4,3,3] x) => (float[] y)",
          [f"y = GroupNormalization<num_groups={a}>(x,s,b)" for a in ("2", "4", "1", "2,epsilon=0.1")], BY_FOUR, opset=21),
    Group("RMSNormalization", XY, [f"y = RMSNormalization{a}(x,{i})" for a, i in (("", "s"), ("<axis=1>", "s34"), ("<epsilon=0.1>", "s"), ("", "b"))],
          BY_FOUR, opset=23),
    Group("LpNormalization", XY, [f"y = LpNormalization{a}(x)" for a in ("", "<p=1>", "<axis=1>", "<axis=0>")]),
    Group("MeanVarianceNormalization", BATCH, [f"y = MeanVarianceNormalization{a}(x)" for a in ("", "<axes=[0,1,2,3]>", "<axes=[2,3]>")]),
    Group("Resize", IMAGE, resized(), {"sc": SCALES["sc"], "sz": i64(1, 1, 8, 10), "sd": f32(1, 1, 0.6, 0.5), "s2": f32(1.6, 2.5), "z2": i64(8, 11),
                                       "roi": f32(0, 0, 0.2, 0.1, 1, 1, 0.9, 1.2)}),
    Group("Resize_11", IMAGE, [f'y = Resize<mode="{m}"{a}>(x,roi,sc)' for m, a in (
        ("linear", ""), ("linear", ',coordinate_transformation_mode="align_corners"'), ("nearest", ""),
        ("nearest", ',nearest_mode="floor",coordinate_transformation_mode="asymmetric"'),
        ("linear", ',coordinate_transformation_mode="tf_half_pixel_for_nn"'), ("nearest", ',coordinate_transformation_mode="tf_half_pixel_for_nn"'))],
          SCALES, opset=11),
    Group("Resize_10", IMAGE, [f'y = Resize<mode="{m}">(x,sc)' for m in ("linear", "nearest")], SCALES, opset=10),
    *(Group(f"GridSample_{opset}", "(float[1,1,5,4] x, float[1,3,3,2] g) => (float[] y)",
            all_combined('y = GridSample<mode="{m}",padding_mode="{p}",align_corners={a}>(x,g)', m=modes, p=["zeros", "border", "reflection"], a=[0, 1]),
            opset=opset) for opset, modes in ((16, ["bilinear", "nearest", "bicubic"]), (20, ["linear", "nearest", "cubic"]))),
    Group("RoiAlign", "(float[1,1,6,6] x) => (float[] y)", [
        f"y = RoiAlign<output_height=2,output_width=2,{a}>(x,r,i)" for a in (
            "sampling_ratio=2", "sampling_ratio=0", "sampling_ratio=3", "sampling_ratio=2,spatial_scale=0.5", 'sampling_ratio=2,mode="max"',
            'sampling_ratio=2,coordinate_transformation_mode="output_half_pixel"')], {"r": np.array([[0.5, 0.7, 4.2, 5.1]], np.float32), "i": i64(0)},
          opset=16),
    Group("AffineGrid", "(float[1,2,3] x) => (float[] y)", ["y = AffineGrid(x,s)", "y = AffineGrid<align_corners=1>(x,s)"], {"s": i64(1, 1, 3, 4)}, opset=20),
    Group("Col2Im", "(float[1,4,12] x) => (float[] y)", ["y = Col2Im(x,i,b)", "y = Col2Im<pads=[0,0,1,0]>(x,i4,b)", "y = Col2Im<pads=[1,0,0,0]>(x,i4,b)",
                                                         "y = Col2Im<strides=[1,2]>(x,i2,b)"],
          {"i": i64(4, 5), "b": i64(2, 2), "i4": i64(3, 5), "i2": i64(4, 8)}),
]
