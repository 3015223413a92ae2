"""Affine regions spelled out, and spellings of functions that the engine has a form for."""
import numpy as np

from structures.building import END, Draw, Graph, both, ints, number, structure


@structure("MWCNN (lpj0): Haar transform by strided slices, halves, sums and differences, cat, Conv2d 3x3", "an affine region: one strided convolution")
def mwcnn_slices():
    draw, channels, size, out = Draw(), 8, 96, 32
    weight, bias = draw.conv(out, 4 * channels, 3, 3), draw.vector(out)
    haar = np.array([[[1, 1], [1, 1]], [[-1, 1], [-1, 1]], [[-1, -1], [1, 1]], [[1, -1], [-1, 1]]], np.float64) / 2

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", channels, size, size])
        if by_hand:
            bands = weight.astype(np.float64).reshape(out, 4, channels, 3, 3)
            merged = np.einsum("obcij,brs->ocirjs", bands, haar).reshape(out, channels, 6, 6)
            return g.model(g.Relu(g.conv(x, merged, bias, 2, 2)))
        even, odd = (g.Div(g.slice(x, 2, k, END, 2), number(2)) for k in (0, 1))
        x1, x3 = (g.slice(even, 3, k, END, 2) for k in (0, 1))
        x2, x4 = (g.slice(odd, 3, k, END, 2) for k in (0, 1))
        low = g.Add(g.Add(g.Add(x1, x2), x3), x4)
        horizontal = g.Add(g.Add(g.Sub(g.Neg(x1), x2), x3), x4)
        vertical = g.Add(g.Sub(g.Add(g.Neg(x1), x2), x3), x4)
        diagonal = g.Add(g.Sub(g.Sub(x1, x2), x3), x4)
        return g.model(g.Relu(g.conv(g.concat(low, horizontal, vertical, diagonal), weight, bias, 1, 1)))
    return both(make, {"x": draw.data(1, channels, size, size)})


@structure("PCEN (daemon/pytorch-pcen): exponential average of the frames in a Python loop, stacked",
           "a scan with constant coefficients: a triangular matrix")
def pcen_unrolled_average():
    draw, frames, bands, s = Draw(), 96, 64, 0.025

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", frames, bands])
        if by_hand:
            t = np.arange(frames)
            powers = np.where(t[:, None] >= t, (1 - s) ** (t[:, None] - t).clip(0) * np.where(t == 0, 1, s), 0)
            m = g.MatMul(powers, x)
        else:
            rows = [g.slice(x, 1, 0, 1)]
            for k in range(1, frames):
                rows.append(g.Add(g.Mul(rows[-1], number(1 - s)), g.Mul(g.slice(x, 1, k, k + 1), number(s))))
            m = g.concat(*rows)
        smooth = g.Pow(g.Add(m, number(1e-6)), number(-0.98))
        return g.model(g.Sub(g.Sqrt(g.Add(g.Mul(x, smooth), number(2))), number(np.sqrt(2))))
    return both(make, {"x": np.abs(draw.data(2, frames, bands))})


@structure("vit-pytorch (lucidrains): einops 'b c (h p1) (w p2) -> b (h w) (p1 p2 c)', Linear",
           "a product over a six-dimensional transpose: a strided convolution")
def einops_patches():
    draw, channels, size, patch, width = Draw(), 3, 192, 8, 64
    side = size // patch
    weight, bias = draw.matrix(patch * patch * channels, width), draw.vector(width)

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", channels, size, size])
        if by_hand:
            kernel = weight.reshape(patch, patch, channels, width).transpose(3, 2, 0, 1)
            return g.model(g.transpose(g.reshape(g.conv(x, kernel, bias, patch), 0, width, side * side), 0, 2, 1))
        y = g.transpose(g.reshape(x, -1, channels, side, patch, side, patch), 0, 2, 4, 3, 5, 1)
        return g.model(g.linear(g.reshape(y, -1, side * side, patch * patch * channels), weight, bias))
    return both(make, {"x": draw.data(1, channels, size, size)})


@structure("ConvNeXt channels-first LayerNorm spelled out (x.mean(1), pow(2), sqrt), then the 2x2 downsampling Conv2d",
           "affine parts folded; the norm after the product")
def convnext_downsample():
    draw, channels, size, out = Draw(), 32, 64, 64
    scale, shift, weight, bias = draw.around_one(channels), draw.vector(channels), draw.conv(out, channels, 2, 2), draw.vector(out)

    def make(by_hand):
        g = Graph(17)
        x = g.input("x", ["batch", channels, size, size])
        if by_hand:
            y = g.LayerNormalization(g.transpose(x, 0, 2, 3, 1), scale, shift, axis=-1, epsilon=1e-6)
            return g.model(g.conv(g.transpose(y, 0, 3, 1, 2), weight, bias, 2))
        centred = g.Sub(x, g.reduce("Mean", x, [1]))
        variance = g.reduce("Mean", g.Pow(centred, number(2)), [1])
        y = g.Div(g.Sub(x, g.reduce("Mean", x, [1])), g.Sqrt(g.Add(variance, number(1e-6))))
        y = g.Add(g.Mul(scale.reshape(-1, 1, 1), y), shift.reshape(-1, 1, 1))
        return g.model(g.conv(y, weight, bias, 2))
    return both(make, {"x": draw.data(1, channels, size, size)})


@structure("TensorFlow instance norm in NHWC (fast style transfer, lengstrom): moments, rsqrt, between two Conv2D (tf2onnx)",
           "a spelled-out norm: the engine's InstanceNormalization")
def tf_instance_norm():
    draw, channels, size = Draw(), 32, 56
    scale, shift, weight = draw.around_one(channels), draw.vector(channels), draw.conv(channels, channels, 1, 1)

    def make(by_hand):
        g = Graph(13, torch=False)
        x = g.transpose(g.input("x", [1, size, size, channels]), 0, 3, 1, 2)
        y = g.conv(x, weight)
        if by_hand:
            return g.model(g.transpose(g.Relu(g.InstanceNormalization(y, scale, shift, epsilon=1e-3)), 0, 2, 3, 1))
        y = g.transpose(y, 0, 2, 3, 1)
        mean = g.reduce("Mean", y, [1, 2])
        difference = g.Sub(y, mean)
        variance = g.reduce("Mean", g.Mul(difference, difference), [1, 2])
        normed = g.Div(difference, g.Sqrt(g.Add(variance, number(1e-3))))
        return g.model(g.Relu(g.Add(g.Mul(scale, normed), shift)))
    return both(make, {"x": draw.data(1, size, size, channels)})


@structure("Savitzky-Golay smoothing in the graph: pad, nine shifted slices, weights, sum", "a sum of shifted slices: a convolution")
def shifted_slices_filter():
    draw, steps, width, taps = Draw(), 128, 1024, (-21, 14, 39, 54, 59, 54, 39, 14, -21)

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", steps, width])
        if by_hand:
            band = sum(np.eye(steps, k=k - 4) * v / 231 for k, v in enumerate(taps))
            return g.model(g.Relu(g.MatMul(band, x)))
        padded = g.Pad(x, ints(0, 4, 0, 0, 4, 0), mode="constant")
        parts = [g.Mul(g.slice(padded, 1, k, k + steps), number(v / 231)) for k, v in enumerate(taps)]
        total = parts[0]
        for p in parts[1:]:
            total = g.Add(total, p)
        return g.model(g.Relu(total))
    return both(make, {"x": draw.data(1, steps, width)})


@structure("Sentinel-2 classifier with its normalisation in the graph (torchvision Normalize of 13 bands), padded Conv2d of stride 2",
           "an affine map before a padded convolution: a constant map")
def satellite_bands():
    draw, bands, size, out = Draw(), 13, 128, 16
    weight, bias = draw.conv(out, bands, 3, 3), draw.vector(out)
    mean, deviation = 1000 + 500 * draw.around_one(bands).reshape(1, bands, 1, 1), 300 * draw.around_one(bands).reshape(1, bands, 1, 1)

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", bands, size, size])
        if not by_hand:
            return g.model(g.Relu(g.conv(g.Div(g.Sub(x, mean), deviation), weight, bias, 2, 1)))
        shift = -(mean.astype(np.float64) / deviation)[0]
        padded = np.pad(np.broadcast_to(shift, (bands, size, size)), ((0, 0), (1, 1), (1, 1)))
        known = sum(np.tensordot(weight[:, :, i, j].astype(np.float64), padded[:, i:i + size:2, j:j + size:2], 1) for i in range(3) for j in range(3))
        return g.model(g.Relu(g.Add(g.conv(x, weight / deviation, None, 2, 1), (known + bias[:, None, None])[None])))
    return both(make, {"x": 1300 + 300 * draw.data(1, bands, size, size)})
