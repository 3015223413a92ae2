"""Weights with a structure that the graph does not show: zeros, ones in the right places, equal or separable rows."""
import numpy as np
from onnx import TensorProto

from structures.building import Draw, Graph, both, ints, number, structure

HAAR = np.array([[[1, 1], [1, 1]], [[-1, -1], [1, 1]], [[-1, 1], [-1, 1]], [[1, -1], [-1, 1]]], np.float32) / 2


@structure("Haar scattering in Keras (no groups there): filters as a dense Conv2D kernel of zeros, modulus (tf2onnx)", "block-diagonal: groups")
def haar_dense_kernel():
    draw, channels, size, out = Draw(), 32, 96, 32
    dense = np.zeros((4 * channels, channels, 2, 2), np.float32)
    for c in range(channels):
        dense[4 * c:4 * c + 4, c] = HAAR
    weight, bias = draw.conv(out, 4 * channels, 1, 1), draw.vector(out)

    def make(by_hand):
        g = Graph(13, torch=False)
        x = g.input("x", [1, channels, size, size])
        y = g.conv(x, dense.sum(1, keepdims=True), None, 2, 0, channels) if by_hand else g.conv(x, dense, None, 2)
        return g.model(g.Relu(g.conv(g.Abs(y), weight, bias)))
    return both(make, {"x": draw.data(1, channels, size, size)})


@structure("SSIM as a quality metric (Po-Hsun-Su/pytorch-ssim): five Gaussian windows 11x11, depthwise", "separable kernel; one convolution of five images")
def ssim_windows():
    draw, size = Draw(), 64
    line = np.exp(-((np.arange(11) - 5) ** 2) / (2 * 1.5 ** 2))
    line /= line.sum()
    window = np.broadcast_to(np.outer(line, line).astype(np.float32), (3, 1, 11, 11))

    def make(by_hand):
        g = Graph(13)
        x, y = (g.input(name, ["batch", 3, size, size]) for name in ("x", "y"))
        images = [x, y, g.Mul(x, x), g.Mul(y, y), g.Mul(x, y)]
        if by_hand:
            repeated = lambda shape: np.broadcast_to(line.reshape(1, 1, *shape), (15, 1, *shape))
            blurred = g.conv(g.concat(*images), repeated((11, 1)), None, 1, [5, 0], 15)
            means = g.split(g.conv(blurred, repeated((1, 11)), None, 1, [0, 5], 15), 1, 3, 3, 3, 3, 3)
        else:
            shared = g.constant(window)
            means = [g.op("Conv", i, shared, kernel_shape=[11, 11], pads=[5] * 4, group=3) for i in images]
        mx, my, xx, yy, xy = means
        mx2, my2, mxy = g.Mul(mx, mx), g.Mul(my, my), g.Mul(mx, my)
        two, c1, c2 = number(2), number(1e-4), number(9e-4)
        top = g.Mul(g.Add(g.Mul(mxy, two), c1), g.Add(g.Mul(g.Sub(xy, mxy), two), c2))
        bottom = g.Mul(g.Add(g.Add(mx2, my2), c1), g.Add(g.Add(g.Sub(xx, mx2), g.Sub(yy, my2)), c2))
        return g.model(g.reduce("Mean", g.Div(top, bottom), [1, 2, 3], 0))
    return both(make, {"x": draw.numbers.random((1, 3, size, size)).astype(np.float32), "y": draw.numbers.random((1, 3, size, size)).astype(np.float32)})


@structure("FCN-8s (wkentaro/pytorch-fcn): bilinear upscore as a dense ConvTranspose 16x16 of stride 8, then a crop",
           "diagonal and separable weight: two matrix products; only the cropped part")
def fcn_upscore():
    draw, classes, small, kernel, stride, crop, size = Draw(), 12, 14, 16, 8, 31, 64
    factor, centre = 8, 7.5
    line = 1 - np.abs(np.arange(kernel) - centre) / factor
    weight = np.zeros((classes, classes, kernel, kernel), np.float32)
    weight[range(classes), range(classes)] = np.outer(line, line)
    spread = np.zeros(((small - 1) * stride + kernel, small))
    for i in range(small):
        spread[i * stride:i * stride + kernel, i] = line
    spread = spread[crop:crop + size]

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", classes, small, small])
        if by_hand:
            return g.model(g.MatMul(g.MatMul(spread, x), spread.T))
        y = g.ConvTranspose(x, weight, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[0] * 4, dilations=[1, 1], group=1)
        return g.model(g.slice(g.slice(y, 2, crop, crop + size), 3, crop, crop + size))
    return both(make, {"x": draw.data(1, classes, small, small)})


@structure("RealNVP (chrischute/real-nvp): squeeze_2x2 with alt_order, a Conv2d with a permutation for a weight", "a permutation: movement only")
def realnvp_permutation_conv():
    draw, channels, size = Draw(), 24, 64
    squares = np.array([[[[1., 0.], [0., 0.]]], [[[0., 0.], [0., 1.]]], [[[0., 1.], [0., 0.]]], [[[0., 0.], [1., 0.]]]])
    weight = np.zeros((4 * channels, channels, 2, 2), np.float32)
    for c in range(channels):
        weight[4 * c:4 * c + 4, c:c + 1] = squares
    weight = weight[[4 * c + j for j in range(4) for c in range(channels)]]

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", channels, size, size])
        if not by_hand:
            return g.model(g.Tanh(g.conv(x, weight, None, 2)))
        blocks = g.SpaceToDepth(g.Tanh(x), blocksize=2)  # channel (row, column, c)
        a, b, c, d = g.split(blocks, 1, *[channels] * 4)
        return g.model(g.concat(a, d, b, c))
    return both(make, {"x": draw.data(1, channels, size, size)})


@structure("Structured pruning by masks (torch.nn.utils.prune.ln_structured, made permanent): filters of zeros, then the next layer", "zero rows")
def pruned_filters():
    draw, channels, size = Draw(), 64, 28
    first, b1, second, b2 = draw.conv(channels, channels, 3, 3), draw.vector(channels), draw.conv(channels, channels, 3, 3), draw.vector(channels)
    kept = np.sort(draw.numbers.permutation(channels)[:channels // 2])
    gone = np.setdiff1d(np.arange(channels), kept)
    first[gone], b1[gone] = 0, 0

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", channels, size, size])
        y = g.conv(x, first[kept], b1[kept], 1, 1) if by_hand else g.conv(x, first, b1, 1, 1)
        return g.model(g.Add(x, g.conv(g.Relu(y), second[:, kept] if by_hand else second, b2, 1, 1)))
    return both(make, {"x": draw.data(1, channels, size, size)})


@structure("FNet (transformers, use_tpu_fourier_optimizations): the real part of two Fourier transforms as matrix products",
           "equal columns up to sign: half of them")
def fnet_fourier_matrices():
    draw, n, width = Draw(), 128, 256
    angle = lambda k: 2 * np.pi * np.outer(np.arange(k), np.arange(k)) / k
    cn, sn, cd, sd = np.cos(angle(n)), np.sin(angle(n)), np.cos(angle(width)), np.sin(angle(width))

    def make(by_hand):
        g = Graph(14)
        x = g.input("x", ["batch", n, width])
        if not by_hand:
            return g.model(g.Add(x, g.Sub(g.MatMul(cn, g.MatMul(x, cd)), g.MatMul(sn, g.MatMul(x, sd)))))
        half = width // 2 + 1  # cos(2 pi j (d - k) / d) = cos(2 pi j k / d), sin the same with the other sign
        both_ = g.MatMul(x, np.concatenate([cd[:, :half], sd[:, :half]], axis=1))
        real, imaginary = g.MatMul(cn, g.slice(both_, 2, 0, half)), g.MatMul(sn, g.slice(both_, 2, half))
        left = g.Sub(real, imaginary)
        right = g.Add(g.slice(real, 2, width // 2 - 1, 0, -1), g.slice(imaginary, 2, width // 2 - 1, 0, -1))
        return g.model(g.Add(x, g.concat(left, right, axis=2)))
    return both(make, {"x": draw.data(1, n, width)})


@structure("AlphaFold relative positions (Algorithm 4): clipped differences, OneHot of 65, Linear",
           "OneHot times a matrix is a row; the clip keeps it in range")
def alphafold_relative_positions():
    draw, bins, width = Draw(), 65, 64
    weight, bias = draw.matrix(bins, width), draw.vector(width)

    def make(by_hand):
        g = Graph(13, torch=False)
        residues, pair = g.input("residue_index", ["n"], TensorProto.INT64), g.input("pair", ["n", "n", width])
        offset = g.Sub(g.unsqueeze(residues, 1), g.unsqueeze(residues, 0))
        index = g.Min(g.Max(g.Add(offset, ints(32)), ints(0)), ints(64))
        row = g.Gather(weight + bias, index) if by_hand else g.linear(g.OneHot(index, ints(bins), np.array([0, 1], np.float32), axis=-1), weight, bias)
        return g.model(g.Add(pair, row))
    return both(make, {"residue_index": np.arange(64, dtype=np.int64) * 2, "pair": draw.data(64, 64, width)})


@structure("iSQRT-COV / MPN-COV covariance pooling (jiangtaoxie): x.bmm(I_hat).bmm(x^T), I_hat = eye / n - ones / n^2", "a diagonal plus rank one")
def mpncov_centering_matrix():
    draw, channels, size = Draw(), 64, 28
    n = size * size
    centering = (np.eye(n) / n - np.ones((n, n)) / n / n).astype(np.float32)[None]

    def make(by_hand):
        g = Graph(13)
        x = g.reshape(g.input("x", [1, channels, size, size]), 1, channels, n)
        if not by_hand:
            return g.model(g.MatMul(g.MatMul(x, centering), g.transpose(x, 0, 2, 1)))
        mean = g.reduce("Mean", x, [2])
        centred = g.Sub(x, mean)
        return g.model(g.Mul(g.MatMul(centred, g.transpose(x, 0, 2, 1)), number(1 / n)))
    return both(make, {"x": draw.data(1, channels, size, size)})


@structure("tf.image.extract_patches, then Dense (tf2onnx): patches by a Conv with an identity for a weight, in NHWC",
           "one-hot weight: im2col and the product are one Conv")
def tf_extract_patches():
    draw, channels, size, k, stride, out = Draw(), 8, 64, 4, 2, 32
    weight, bias = draw.matrix(k * k * channels, out), draw.vector(out)
    identity = np.eye(k * k * channels, dtype=np.float32).reshape(k, k, channels, -1).transpose(3, 2, 0, 1)

    def make(by_hand):
        g = Graph(13, torch=False)
        x = g.transpose(g.input("x", ["batch", size, size, channels]), 0, 3, 1, 2)
        if by_hand:
            return g.model(g.Relu(g.transpose(g.conv(x, weight.reshape(k, k, channels, out).transpose(3, 2, 0, 1), bias, stride), 0, 2, 3, 1)))
        patches = g.transpose(g.conv(x, identity, None, stride), 0, 2, 3, 1)
        return g.model(g.Relu(g.linear(patches, weight, bias)))
    return both(make, {"x": draw.data(1, size, size, channels)})
