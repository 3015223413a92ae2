"""Values that are constant along an axis, computed or stored as if they were not."""
import numpy as np
from onnx import TensorProto

from structures.building import END, ONE, Draw, Graph, both, ints, number, structure


@structure("SOLOv2 mask features (CoordConv): linspace, meshgrid, expand to the batch, cat, Conv2d 3x3", "constant along batch: two channels are known maps")
def solov2_coordinates():
    draw, size, channels = Draw(), 56, 64
    weight, bias = draw.conv(channels, channels + 2, 3, 3), draw.vector(channels)
    axis = np.linspace(-1, 1, size).astype(np.float32)
    maps = np.stack(np.meshgrid(axis, axis))

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", channels, size, size])
        if not by_hand:
            shape = g.extents(x, (0,), 1, size, size)
            maps_of_batch = g.concat(*[g.Expand(m[None, None], shape) for m in maps])
            return g.model(g.Relu(g.conv(g.concat(x, maps_of_batch), weight, bias, 1, 1)))
        padded = np.pad(maps.astype(np.float64), ((0, 0), (1, 1), (1, 1)))
        known = sum(np.tensordot(weight[:, channels:, i, j].astype(np.float64), padded[:, i:i + size, j:j + size], 1) for i in range(3) for j in range(3))
        return g.model(g.Relu(g.Add(g.conv(x, weight[:, :channels], bias, 1, 1), known[None])))
    return both(make, {"x": draw.data(1, channels, size, size)})


@structure("StarGAN generator: c.view(b, c, 1, 1).repeat(1, 1, h, w), cat with the image, Conv2d 7x7 (torch)",
           "constant along space: through a convolution with borders")
def stargan_label_maps():
    draw, size, labels, out = Draw(), 64, 13, 32
    weight = draw.conv(out, 3 + labels, 7, 7)

    def make(by_hand):
        g = Graph(13)
        x, c = g.input("x", ["batch", 3, size, size]), g.input("c", ["batch", labels])
        c = g.unsqueeze(c, 2, 3)
        if not by_hand:
            return g.model(g.Relu(g.conv(g.concat(x, g.Tile(c, ints(1, 1, size, size))), weight, None, 1, 3)))
        small = g.conv(g.Tile(c, ints(1, 1, 7, 7)), weight[:, 3:], None, 1, 3)  # a border of 3, one inner pixel, a border of 3
        spread = ints(0, 1, 2, *[3] * (size - 6), 4, 5, 6)
        known = g.Gather(g.Gather(small, spread, axis=2), spread, axis=3)
        return g.model(g.Relu(g.Add(g.conv(x, weight[:, :3], None, 1, 3), known)))
    return both(make, {"x": draw.data(1, 3, size, size), "c": draw.data(1, labels)})


@structure("FiLM-ed residual block (ethanjperez/film): gammas.unsqueeze(2).unsqueeze(3).expand_as(x)", "constant along space")
def film_expand_as():
    draw, channels, size = Draw(), 128, 56
    weight, bias = draw.matrix(128, 2 * channels), draw.vector(2 * channels)

    def make(by_hand):
        g = Graph(13)
        x, question = g.input("x", ["batch", channels, size, size]), g.input("question", ["batch", 128])
        film = g.Gemm(question, weight, bias)
        gammas, betas = (g.unsqueeze(g.slice(film, 1, k, k + channels), 2, 3) for k in (0, channels))
        if not by_hand:
            gammas, betas = (g.Expand(v, g.Shape(x)) for v in (gammas, betas))
        return g.model(g.Relu(g.Add(g.Mul(gammas, x), betas)))
    return both(make, {"x": draw.data(1, channels, size, size), "question": draw.data(1, 128)})


@structure("MONet / IODINE spatial broadcast decoder: z tiled to a grid, coordinates added, Conv2d without padding",
           "constant along space: a sum of the kernel")
def monet_spatial_broadcast():
    draw, size, latent, out = Draw(), 40, 16, 32
    weight, bias, second = draw.conv(out, latent + 2, 3, 3), draw.vector(out), draw.conv(4, out, 1, 1)
    axis = np.linspace(-1, 1, size).astype(np.float32)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"))[None]

    def make(by_hand):
        g = Graph(14)
        z = g.input("z", ["slots", latent])
        if not by_hand:
            tiled = g.Tile(g.unsqueeze(z, 2, 3), ints(1, 1, size, size))
            coordinates = g.Expand(grid, g.extents(z, (0,), 2, size, size))
            first = g.conv(g.concat(tiled, coordinates), weight, bias)
        else:
            inner = size - 2
            known = sum(np.tensordot(weight[:, latent:, i, j].astype(np.float64), grid[0, :, i:i + inner, j:j + inner], 1) for i in range(3) for j in range(3))
            first = g.Add(g.unsqueeze(g.MatMul(z, weight[:, :latent].sum((2, 3)).T), 2, 3), (known + bias[:, None, None])[None])
        return g.model(g.conv(g.Relu(first), second))
    return both(make, {"z": draw.data(3, latent)})


@structure("PointNet segmentation (yanx27): global feature repeated for all points, cat, Conv1d 1x1, BatchNorm", "constant along points: split the weight")
def pointnet_global_feature():
    draw, points, wide, local, out = Draw(), 256, 512, 64, 256
    weight, bias = draw.conv(out, wide + local, 1), draw.vector(out)

    def make(by_hand):
        g = Graph(13)
        x, best = g.input("pointfeat", ["batch", local, points]), g.input("global", ["batch", wide, 1])
        if not by_hand:
            return g.model(g.Relu(g.conv(g.concat(g.Tile(best, ints(1, 1, points)), x), weight, bias)))
        return g.model(g.Relu(g.Add(g.conv(x, weight[:, wide:]), g.conv(best, weight[:, :wide], bias))))
    return both(make, {"pointfeat": draw.data(1, local, points), "global": draw.data(1, wide, 1)})


@structure("DETR sine position embedding, image of any size: ones, CumSum, sin and cos of the whole map (torch)",
           "constant along rows or columns, symbolic extents")
def detr_sine_positions():
    draw, half = Draw(), 64
    scale, divisors = number(2 * np.pi), (10000 ** (2 * (np.arange(half) // 2) / half)).astype(np.float32)

    def make(by_hand):
        g = Graph(16)
        x = g.input("x", [1, 2 * half, "h", "w"])
        if not by_hand:
            ones = g.ConstantOfShape(g.extents(x, (0,), (2,), (3,)), value=ONE)
            parts = []
            for axis in (1, 2):
                count = g.CumSum(ones, np.array(axis, np.int64))
                last = g.slice(count, axis, -1)
                angles = g.Div(g.unsqueeze(g.Mul(g.Div(count, g.Add(last, number(1e-6))), scale), 3), divisors)
                even, odd = (g.Slice(angles, ints(k), ints(END), ints(3), ints(2)) for k in (0, 1))
                both_ = g.concat(g.unsqueeze(g.Sin(even), 4), g.unsqueeze(g.Cos(odd), 4), axis=4)
                parts.append(g.Reshape(both_, g.extents(x, (0,), (2,), (3,), half)))
            return g.model(g.Add(x, g.transpose(g.concat(*parts, axis=3), 0, 3, 1, 2)))
        shape, parts = g.Shape(x), []
        for axis in (2, 3):
            extent = g.Gather(shape, np.array(axis, np.int64))
            count = g.Cast(g.Range(np.array(1, np.int64), g.Add(extent, np.array(1, np.int64)), np.array(1, np.int64)), to=TensorProto.FLOAT)
            total = g.Add(g.Cast(extent, to=TensorProto.FLOAT), number(1e-6))
            angles = g.Div(g.unsqueeze(g.Mul(g.Div(count, total), scale), 0), divisors[::2].reshape(-1, 1))
            values = g.reshape(g.concat(g.unsqueeze(g.Sin(angles), 1), g.unsqueeze(g.Cos(angles), 1), axis=1), half, -1)
            parts.append(g.unsqueeze(values, 0, 3 if axis == 2 else 2))
        one, other = g.split(x, 1, half, half)
        return g.model(g.concat(g.Add(one, parts[0]), g.Add(other, parts[1])))
    return both(make, {"x": draw.data(1, 2 * half, 24, 32)})


def _extents(g, *extents):
    """A shape of numbers and of scalars that the graph computes."""
    return g.concat(*[g.unsqueeze(e, 0) if isinstance(e, str) else g.constant(ints(e)) for e in extents], axis=0)


@structure("Llama rotary embedding (transformers): cat(freqs, freqs).cos() and .sin() of any length, rotate_half of query and key",
           "two equal halves; movement through products")
def llama_rotary_halves():
    draw, heads, length, width = Draw(), 2, 512, 128
    frequencies = (1 / 10000 ** (np.arange(0, width, 2) / width)).astype(np.float32)

    def make(by_hand):
        g = Graph(17)
        q, k = (g.input(name, [1, h, "n", width]) for name, h in (("q", heads), ("k", 1)))
        positions = g.input("position_ids", [1, "n"], TensorProto.INT64)
        angles = g.Mul(g.unsqueeze(g.Cast(positions, to=TensorProto.FLOAT), 2), frequencies.reshape(1, 1, -1))
        if not by_hand:
            angles = g.concat(angles, angles, axis=-1)
        cos, sin = (g.unsqueeze(f(angles), 1) for f in (g.Cos, g.Sin))
        turned = []
        for x in (q, k):
            low, high = g.slice(x, 3, 0, width // 2), g.slice(x, 3, width // 2)
            if by_hand:
                turned.append(g.concat(g.Sub(g.Mul(low, cos), g.Mul(high, sin)), g.Add(g.Mul(high, cos), g.Mul(low, sin)), axis=3))
            else:
                turned.append(g.Add(g.Mul(x, cos), g.Mul(g.concat(g.Neg(high), low, axis=3), sin)))
        return g.model(*turned)
    return both(make, {"q": draw.data(1, heads, length, width), "k": draw.data(1, 1, length, width), "position_ids": np.arange(length)[None]})


@structure("AdaIN style transfer (naoto0804): means and deviations expanded to the size of the content", "constant along space; one affine map per channel")
def adain_expand():
    draw, channels, size = Draw(), 64, 48
    count = size * size

    def statistics(g, x):
        flat = g.reshape(x, 1, channels, -1)
        mean = g.reduce("Mean", flat, [2])
        centred = g.Sub(flat, mean)
        variance = g.Mul(g.reduce("Mean", g.Mul(centred, centred), [2]), number(count / (count - 1)))
        deviation = g.Sqrt(g.Add(variance, number(1e-5)))
        return [g.reshape(v, 1, channels, 1, 1) for v in (mean, deviation)]

    def make(by_hand):
        g = Graph(13)
        content, style = (g.input(name, [1, channels, size, size]) for name in ("content", "style"))
        (style_mean, style_deviation), (mean, deviation) = statistics(g, style), statistics(g, content)
        if by_hand:
            factor = g.Div(style_deviation, deviation)
            return g.model(g.Add(g.Mul(content, factor), g.Sub(style_mean, g.Mul(mean, factor))))
        shape = ints(1, channels, size, size)
        mean, deviation, style_mean, style_deviation = (g.Expand(v, shape) for v in (mean, deviation, style_mean, style_deviation))
        return g.model(g.Add(g.Mul(g.Div(g.Sub(content, mean), deviation), style_deviation), style_mean))
    return both(make, {"content": draw.data(1, channels, size, size), "style": draw.data(1, channels, size, size)})


@structure("GAT (Diego999/pyGAT): all pairs by repeat_interleave and repeat, cat, product with a, LeakyRelu, masked softmax",
           "constant along one of two node axes: a sum of two vectors")
def gat_all_pairs():
    draw, nodes, width = Draw(), 96, 32
    weight, a = draw.matrix(64, width), draw.matrix(2 * width, 1)

    def make(by_hand):
        g = Graph(13)
        x, adjacency = g.input("x", [nodes, 64]), g.input("adjacency", [nodes, nodes])
        h = g.MatMul(x, weight)
        if not by_hand:
            interleaved = g.reshape(g.Expand(g.unsqueeze(h, 1), ints(nodes, nodes, width)), nodes * nodes, width)
            repeated = g.Tile(h, ints(nodes, 1))
            pairs = g.reshape(g.concat(interleaved, repeated, axis=1), nodes, nodes, 2 * width)
            e = g.squeeze(g.MatMul(pairs, a), 2)
        else:
            e = g.Add(g.MatMul(h, a[:width]), g.transpose(g.MatMul(h, a[width:]), 1, 0))
        e = g.LeakyRelu(e, alpha=0.2)
        masked = g.Where(g.Greater(adjacency, number(0)), e, number(-9e15).reshape(1, 1))
        return g.model(g.Elu(g.MatMul(g.Softmax(masked, axis=1), h), alpha=1.0))
    return both(make, {"x": draw.data(nodes, 64), "adjacency": (draw.data(nodes, nodes) > 1).astype(np.float32) + np.eye(nodes, dtype=np.float32)})


@structure("DIN local activation unit (DeepCTR-Torch): query expanded over the history, cat(q, k, q-k, q*k), Linear, sigmoid",
           "constant along the history; a weight's blocks added")
def din_activation_unit():
    draw, length, width, out = Draw(), 50, 64, 80
    weight, bias, last = draw.matrix(4 * width, out), draw.vector(out), draw.matrix(out, 1)

    def make(by_hand):
        g = Graph(13)
        query, keys = g.input("query", ["batch", 1, width]), g.input("keys", ["batch", length, width])
        if not by_hand:
            q = g.Expand(query, g.extents(keys, (0,), length, width))
            hidden = g.linear(g.concat(q, keys, g.Sub(q, keys), g.Mul(q, keys), axis=2), weight, bias)
        else:
            w = np.split(weight, 4)
            fixed = g.linear(query, w[0] + w[2], bias)
            hidden = g.Add(g.MatMul(g.concat(keys, g.Mul(query, keys), axis=2), np.concatenate([w[1] - w[2], w[3]])), fixed)
        score = g.linear(g.Sigmoid(hidden), last)
        return g.model(g.MatMul(g.transpose(score, 0, 2, 1), keys))
    return both(make, {"query": draw.data(32, 1, width), "keys": draw.data(32, length, width)})


@structure("Cosine classifier of patches (F.normalize: ReduceL2, Clip, Expand, Div; then prototypes)", "constant along features: a factor after the product")
def cosine_prototypes():
    draw, width, classes = Draw(), 384, 16
    prototypes = draw.matrix(width, classes)
    prototypes /= np.linalg.norm(prototypes, axis=0)

    def make(by_hand):
        g = Graph(17)
        x = g.input("x", ["batch", "patches", width])
        norm = g.Clip(g.ReduceL2(x, axes=[2], keepdims=1), number(1e-12))
        if by_hand:
            return g.model(g.Div(g.MatMul(x, 10 * prototypes), norm))
        return g.model(g.Mul(g.MatMul(g.Div(x, g.Expand(norm, g.Shape(x))), prototypes), number(10)))
    return both(make, {"x": draw.data(1, 784, width)})


@structure("BAM (Jongchan/attention-module): channel and spatial gate, both expand_as, 1 + sigmoid of their product",
           "constant along space, constant along channels")
def bam_two_gates():
    draw, channels, size = Draw(), 128, 48
    first, b1, second, b2 = draw.matrix(channels, 8), draw.vector(8), draw.matrix(8, channels), draw.vector(channels)
    spatial, b3 = draw.conv(1, channels, 1, 1), draw.vector(1)

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", channels, size, size])
        channel = g.unsqueeze(g.Gemm(g.Relu(g.Gemm(g.Flatten(g.GlobalAveragePool(x)), first, b1)), second, b2), 2, 3)
        place = g.conv(x, spatial, b3)
        if not by_hand:
            channel, place = g.Expand(channel, g.Shape(x)), g.Expand(place, g.Shape(x))
        gate = g.Sigmoid(g.Mul(channel, place))
        return g.model(g.Add(x, g.Mul(gate, x)) if by_hand else g.Mul(g.Add(gate, number(1)), x))
    return both(make, {"x": draw.data(1, channels, size, size)})


@structure("Attention U-Net in Keras (nabsabraham): the gate's one channel by repeat_elements, Multiply (tf2onnx: Concat of copies)",
           "equal entries by Concat")
def attention_unet_gate():
    draw, channels, size = Draw(), 64, 80
    psi, bias = draw.conv(1, 8, 1, 1), draw.vector(1)

    def make(by_hand):
        g = Graph(13, torch=False)
        x, gating = (g.input(name, ["batch", c, size, size]) for name, c in (("x", channels), ("gating", 8)))
        gate = g.Sigmoid(g.conv(g.Relu(gating), psi, bias))
        return g.model(g.Mul(gate if by_hand else g.concat(*[gate] * channels), x))
    return both(make, {"x": draw.data(1, channels, size, size), "gating": draw.data(1, 8, size, size)})


@structure("DETR decoder's first layer (transformers): queries repeated to the batch, self-attention of zeros plus positions, norm, cross-attention",
           "constant along batch: known without the input; rows of a softmax sum to one")
def detr_first_decoder_layer():
    draw, queries, width, heads, memory = Draw(), 100, 128, 4, 48
    positions = draw.data(queries, width)
    own, cross = ([(draw.matrix(width, width), draw.vector(width)) for _ in range(4)] for _ in range(2))
    scale, shift = draw.around_one(width), draw.vector(width)

    def attend(g, q, k, v, out):
        q = g.Mul(q, number((width // heads) ** -0.5))
        scores = g.MatMul(g.heads_of(q, heads, width), g.transpose(g.heads_of(k, heads, width), 0, 1, 3, 2))
        mixed = g.MatMul(g.Softmax(scores, axis=-1), g.heads_of(v, heads, width))
        return g.linear(g.reshape(g.transpose(mixed, 0, 2, 1, 3), 0, -1, width), *out)

    def make(by_hand):
        g = Graph(17)
        x = g.input("memory", ["batch", memory, width])
        if by_hand:
            attended = own[2][1].astype(np.float64) @ own[3][0] + own[3][1]  # zeros as values: the bias, whatever the weights of the softmax
            normed = (attended - attended.mean()) / np.sqrt(attended.var() + 1e-5) * scale + shift
            target = g.constant(normed[None, None])
            q = g.constant(((normed + positions) @ cross[0][0] + cross[0][1])[None])
        else:
            repeated = g.Expand(g.unsqueeze(g.constant(positions), 0), g.extents(x, (0,), queries, width))
            zeros = g.ConstantOfShape(g.Shape(repeated))
            asked = g.Add(zeros, repeated)
            attended = attend(g, g.linear(asked, *own[0]), g.linear(asked, *own[1]), g.linear(zeros, *own[2]), own[3])
            target = g.layer_norm(g.Add(zeros, attended), scale, shift)
            q = g.linear(g.Add(target, repeated), *cross[0])
        return g.model(g.Add(target, attend(g, q, g.linear(x, *cross[1]), g.linear(x, *cross[2]), cross[3])))
    return both(make, {"memory": draw.data(1, memory, width)})


@structure("T5 relative position bias of any length (transformers): buckets by Abs, Log, Where of all pairs, an Embedding of each",
           "a function of the difference only: computed once per difference, symbolic extents")
def t5_relative_bias():
    draw, buckets, heads = Draw(), 32, 4
    table = draw.data(buckets, heads)
    kind = TensorProto.INT64

    def bias_of(g, relative):
        near, exact = buckets // 2, buckets // 4
        number_ = lambda v: np.array(v, np.int64)
        base = g.Mul(g.Cast(g.Greater(relative, number_(0)), to=kind), number_(near))
        distance = g.Abs(relative)
        ratio = g.Log(g.Div(g.Cast(distance, to=TensorProto.FLOAT), number(exact)))
        large = g.Cast(g.Mul(g.Div(ratio, number(np.log(128 / exact))), number(near - exact)), to=kind)
        large = g.Min(g.Add(large, number_(exact)), number_(near - 1))
        return g.Gather(table, g.Add(base, g.Where(g.Less(distance, number_(exact)), distance, large)))

    def make(by_hand):
        g = Graph(13)
        scores = g.input("scores", [1, heads, "n", "n"])
        zero, one = np.array(0, np.int64), np.array(1, np.int64)
        n = g.Gather(g.Shape(scores), np.array(2, np.int64))
        places = g.Range(zero, n, one)
        relative = g.Sub(g.unsqueeze(places, 0), g.unsqueeze(places, 1))
        if by_hand:
            last = g.Sub(n, one)
            # Equal rows of 2n, read as rows of 2n - 1: each begins one entry earlier than the one before it.
            values = g.unsqueeze(g.transpose(bias_of(g, g.Range(g.Neg(last), g.Add(n, one), one)), 1, 0), 1)
            double = g.Add(n, n)
            rows = g.Expand(values, _extents(g, heads, n, double))
            flat = g.Reshape(rows, ints(heads, -1))
            shifted = g.Reshape(g.Slice(flat, ints(0), g.unsqueeze(g.Mul(n, g.Sub(double, one)), 0), ints(1)), _extents(g, heads, n, g.Sub(double, one)))
            bias = g.unsqueeze(g.Slice(shifted, g.unsqueeze(last, 0), g.unsqueeze(g.Sub(double, one), 0), ints(2)), 0)
        else:
            bias = g.unsqueeze(g.transpose(bias_of(g, relative), 2, 0, 1), 0)
        return g.model(g.Softmax(g.Add(scores, bias), axis=-1), shape=[1, heads, "n", "n"])
    return both(make, {"scores": draw.data(1, heads, 160, 160)})
