"""Sums of products in an order or a spelling that costs more than another one."""
import numpy as np
from onnx import TensorProto

from structures.building import END, ONE, Draw, Graph, both, ints, number, structure


@structure("DLinear (cure-lab/LTSF-Linear): moving average with repeated ends, trend and rest through a Linear each", "everything is one linear map")
def dlinear_decomposition():
    draw, length, ahead, channels, kernel = Draw(), 336, 192, 64, 25
    seasonal, s, trend, t = draw.matrix(length, ahead), draw.vector(ahead), draw.matrix(length, ahead), draw.vector(ahead)
    half = (kernel - 1) // 2

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", length, channels])
        if by_hand:
            extended = np.clip(np.arange(length)[:, None] + np.arange(-half, half + 1), 0, length - 1)
            average = np.zeros((length, length))
            np.add.at(average, (extended, np.arange(length)[:, None]), 1 / kernel)  # column t: what the mean at t reads
            whole = seasonal + average @ (trend.astype(np.float64) - seasonal)
            return g.model(g.Add(g.MatMul(whole.T, x), (s + t)[:, None]))
        front, end = (g.Tile(g.slice(x, 1, k, e), ints(1, half, 1)) for k, e in ((0, 1), (-1, END)))
        padded = g.transpose(g.concat(front, x, end, axis=1), 0, 2, 1)
        moving = g.transpose(g.AveragePool(padded, kernel_shape=[kernel], strides=[1], pads=[0, 0]), 0, 2, 1)
        rest, moving = g.transpose(g.Sub(x, moving), 0, 2, 1), g.transpose(moving, 0, 2, 1)
        return g.model(g.transpose(g.Add(g.linear(rest, seasonal, s), g.linear(moving, trend, t)), 0, 2, 1))
    return both(make, {"x": draw.data(1, length, channels)})


@structure("PNN inner product layer (DeepCTR-Torch): rows and columns of all pairs gathered, multiplied, summed",
           "a Gram matrix, then the pairs that are wanted")
def pnn_inner_products():
    draw, fields, width = Draw(), 26, 16
    rows, columns = (a.astype(np.int64) for a in np.triu_indices(fields, 1))
    weight, bias = draw.matrix(len(rows), 32), draw.vector(32)

    def make(by_hand):
        g = Graph(13)
        x = g.input("embeddings", ["batch", fields, width])
        if by_hand:
            gram = g.reshape(g.MatMul(x, g.transpose(x, 0, 2, 1)), -1, fields * fields)
            dense = np.zeros((fields * fields, 32), np.float32)
            dense[rows * fields + columns] = weight
            return g.model(g.Relu(g.Gemm(gram, dense, bias)))
        p, q = (g.Gather(x, index, axis=1) for index in (rows, columns))
        return g.model(g.Relu(g.Gemm(g.reduce("Sum", g.Mul(p, q), [2], 0), weight, bias)))
    return both(make, {"embeddings": draw.data(64, fields, width)})


@structure("STGCN (hazdzz): Chebyshev graph convolution by einsum('kij,btjc->...'), then the weights of all orders",
           "order of products: the narrow side first")
def stgcn_chebyshev():
    draw, nodes, steps, wide, narrow, orders = Draw(), 128, 10, 64, 16, 3
    kernels = draw.data(orders, nodes, nodes, scale=nodes ** -0.5)
    weight, bias = draw.data(orders, wide, narrow, scale=wide ** -0.5), draw.vector(narrow)

    def make(by_hand):
        g = Graph(13)
        x = g.transpose(g.input("x", [1, wide, steps, nodes]), 0, 2, 3, 1)
        if by_hand:
            merged = g.MatMul(x, weight.transpose(1, 0, 2).reshape(wide, orders * narrow))
            parts = g.concat(*[g.slice(merged, 3, k * narrow, (k + 1) * narrow) for k in range(orders)], axis=2)
            return g.model(g.Relu(g.Add(g.MatMul(kernels.transpose(1, 0, 2).reshape(nodes, orders * nodes), parts), bias)))
        y = g.Einsum(kernels, x, equation="kij,btjc->btkic")
        y = g.Einsum(y, weight, equation="btkic,kcd->btid")
        return g.model(g.Relu(g.Add(y, bias)))
    return both(make, {"x": draw.data(1, wide, steps, nodes)})


@structure("CapsNet votes (torch): W[None] @ x[:, None, :, :, None], squash of the first routing round",
           "many small products as one large; equal coefficients")
def capsnet_votes():
    draw, inputs, capsules, low, high = Draw(), 288, 10, 8, 16
    weight = draw.data(1, capsules, inputs, high, low, scale=0.1)

    def squash(g, s):
        squared = g.reduce("Sum", g.Mul(s, s), [2])
        return g.Mul(g.Div(squared, g.Add(squared, number(1))), g.Div(s, g.Sqrt(g.Add(squared, number(1e-8)))))

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", [1, inputs, low])
        if by_hand:
            flat = weight[0].transpose(1, 3, 0, 2).reshape(inputs * low, capsules * high) / capsules
            return g.model(squash(g, g.reshape(g.MatMul(g.reshape(x, 1, inputs * low), flat), 1, capsules, high)))
        votes = g.squeeze(g.MatMul(weight, g.unsqueeze(x, 1, 4)), 4)
        zeros = g.ConstantOfShape(ints(1, capsules, inputs, 1))
        agreed = g.reduce("Sum", g.Mul(g.Softmax(zeros, axis=1), votes), [2], 0)
        return g.model(squash(g, agreed))
    return both(make, {"x": draw.data(1, inputs, low)})


@structure("Integral pose regression (JimmySuen): softmax of a volume, three marginal sums, each times arange and summed",
           "sums of sums: one product with the coordinates")
def integral_pose():
    draw, joints, depth, height, width = Draw(), 17, 16, 32, 32
    grid = np.stack([a.ravel() for a in np.meshgrid(np.arange(depth), np.arange(height), np.arange(width), indexing="ij")], axis=1)[:, ::-1]

    def make(by_hand):
        g = Graph(13)
        x = g.input("heatmaps", ["batch", joints * depth, height, width])
        heat = g.Softmax(g.reshape(x, -1, joints, depth * height * width), axis=2)
        if by_hand:
            return g.model(g.Add(g.Mul(g.MatMul(heat, grid.astype(np.float64)), 1 / np.array([width, height, depth])), number(-0.5)))
        heat = g.reshape(heat, -1, joints, depth, height, width)
        parts = []
        for size, axes in ((width, (2, 3)), (height, (2, 4)), (depth, (3, 4))):
            marginal = g.reduce("Sum", heat, axes, 0)
            mean = g.reduce("Sum", g.Mul(marginal, np.arange(size, dtype=np.float32)), [2])
            parts.append(g.Sub(g.Div(mean, number(size)), number(0.5)))
        return g.model(g.concat(*parts, axis=2))
    return both(make, {"heatmaps": draw.data(1, joints * depth, height, width)})


@structure("ST-GCN skeletons (yysijie): Conv2d to k partitions, einsum('nkctv,kvw->nctw') with the skeleton",
           "two linear maps on different axes: the engine's forms")
def stgcn_skeleton():
    draw, channels, steps, joints, parts = Draw(), 64, 48, 25, 3
    weight, bias = draw.conv(parts * channels, channels, 1, 1), draw.vector(parts * channels)
    skeleton = np.where(draw.numbers.random((parts, joints, joints)) < 0.1, 0.5, 0).astype(np.float32)

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", channels, steps, joints])
        if not by_hand:
            y = g.reshape(g.conv(x, weight, bias), -1, parts, channels, steps, joints)
            return g.model(g.Relu(g.Einsum(y, skeleton, equation="nkctv,kvw->nctw")))
        mixed = g.concat(*[g.MatMul(x, a) for a in skeleton])
        merged = weight[:, :, 0, 0].reshape(parts, channels, channels).transpose(1, 0, 2).reshape(channels, -1)
        shift = np.einsum("kc,kvw->cw", bias.reshape(parts, channels).astype(np.float64), skeleton)
        return g.model(g.Relu(g.Add(g.conv(mixed, merged[:, :, None, None]), shift[None, :, None])))
    return both(make, {"x": draw.data(1, channels, steps, joints)})


@structure("Llama RMS norm (x * rsqrt(mean of squares + eps) * weight), then the grouped key and value projections",
           "factors of rows and columns through a product")
def rms_norm_projection():
    draw, width, out = Draw(), 512, 64
    scale, k, v = draw.around_one(width), draw.matrix(width, out), draw.matrix(width, out)

    def make(by_hand):
        g = Graph(17)
        x = g.input("x", ["batch", "n", width])
        mean = g.reduce("Mean", g.Mul(x, x) if by_hand else g.Pow(x, number(2)), [2])
        root = g.Reciprocal(g.Sqrt(g.Add(mean, number(1e-6))))
        if by_hand:
            scaled = g.Mul(g.MatMul(x, np.concatenate([k, v], axis=1) * scale[:, None]), root)
            return g.model(*g.split(scaled, 2, out, out))
        normed = g.Mul(scale, g.Mul(x, root))
        return g.model(g.MatMul(normed, k), g.MatMul(normed, v))
    return both(make, {"x": draw.data(1, 256, width)})


@structure("VQ-VAE (zalandoresearch): |x|^2 + |e|^2 - 2 x e, ArgMin, one-hot by scatter, product with the codebook",
           "what is equal for all candidates decides nothing; a one-hot row times a matrix is a row")
def vqvae_codebook():
    draw, codes, width, n = Draw(), 512, 32, 512
    book = draw.data(codes, width)

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", [n, width])
        if by_hand:
            score = g.Add(g.MatMul(x, -2 * book.T), (book.astype(np.float64) ** 2).sum(1))
            nearest = g.ArgMin(score, axis=1, keepdims=1)
            return g.model(g.Gather(book, g.squeeze(nearest, 1)), nearest, kinds=[1, TensorProto.INT64])
        shared = g.constant(book)
        squares = lambda v: g.reduce("Sum", g.Pow(v, number(2)), [1])
        total = g.Add(squares(x), g.squeeze(squares(shared), 1))
        distance = g.Sub(total, g.Mul(g.MatMul(x, g.transpose(shared, 1, 0)), number(2)))
        nearest = g.ArgMin(distance, axis=1, keepdims=1)
        zeros = g.ConstantOfShape(ints(n, codes))
        encodings = g.ScatterElements(zeros, nearest, np.ones((n, 1), np.float32), axis=1)
        return g.model(g.MatMul(encodings, shared), nearest, kinds=[1, TensorProto.INT64])
    return both(make, {"x": draw.data(n, width)})


@structure("Biaffine parser labels (yzhangcs/parser): ones appended to both sides, einsum('bxi,oij,byj->boxy')",
           "a row and a column of ones are a bias; order and form of products")
def biaffine_labels():
    draw, n, width, labels = Draw(), 64, 64, 32
    weight = draw.data(labels, width + 1, width + 1, scale=1 / width)

    def make(by_hand):
        g = Graph(13)
        x, y = (g.input(name, ["batch", n, width]) for name in ("x", "y"))
        if by_hand:
            flat = weight[:, :-1, :-1].transpose(1, 0, 2).reshape(width, labels * width)
            left = g.Add(g.MatMul(x, flat), weight[:, -1, :-1].reshape(-1))  # the row of ones of x
            left = g.transpose(g.reshape(left, -1, n, labels, width), 0, 2, 1, 3)
            scores = g.MatMul(left, g.unsqueeze(g.transpose(y, 0, 2, 1), 1))
            column = g.unsqueeze(g.transpose(g.linear(x, weight[:, :-1, -1].T, weight[:, -1, -1]), 0, 2, 1), 3)
            return g.model(g.Add(scores, column))
        appended = [g.concat(v, g.ConstantOfShape(g.extents(v, (0,), n, 1), value=ONE), axis=2) for v in (x, y)]
        return g.model(g.Einsum(appended[0], weight, appended[1], equation="bxi,oij,byj->boxy"))
    return both(make, {"x": draw.data(1, n, width), "y": draw.data(1, n, width)})


@structure("Spektral GCN in batch mode (Keras): a . (x . W) + b, GlobalAvgPool, Dense (tf2onnx)",
           "a mean through products: one row of the adjacency; the narrow side first")
def gcn_mean_readout():
    draw, nodes, width = Draw(), 256, 160
    first, b1, second, b2, last, b3 = (f(*s) for f, s in ((draw.matrix, (32, width)), (draw.vector, (width,)), (draw.matrix, (width, width)),
                                                          (draw.vector, (width,)), (draw.matrix, (width, 8)), (draw.vector, (8,))))

    def make(by_hand):
        g = Graph(13, torch=False)
        x, a = g.input("x", ["batch", nodes, 32]), g.input("a", ["batch", nodes, nodes])
        h = g.Relu(g.Add(g.MatMul(g.MatMul(a, x), first) if by_hand else g.MatMul(a, g.MatMul(x, first)), b1))
        if by_hand:
            y = g.Add(g.MatMul(g.MatMul(g.reduce("Mean", a, [1]), h), second), b2)
            return g.model(g.Add(g.MatMul(g.squeeze(y, 1), last), b3))
        y = g.Add(g.MatMul(a, g.MatMul(h, second)), b2)
        return g.model(g.Add(g.MatMul(g.reduce("Mean", y, [1], 0), last), b3))
    return both(make, {"x": draw.data(1, nodes, 32), "a": draw.numbers.random((1, nodes, nodes)).astype(np.float32) / nodes})


@structure("TSN (yjxiong): classifier on every segment, view(-1, segments, classes), consensus by a mean", "a mean through a product, seen through a Reshape")
def tsn_consensus():
    draw, segments, width, classes = Draw(), 8, 1024, 174
    weight, bias = draw.matrix(width, classes), draw.vector(classes)

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["frames", width])
        if by_hand:
            return g.model(g.Gemm(g.reduce("Mean", g.reshape(x, -1, segments, width), [1], 0), weight, bias))
        return g.model(g.reduce("Mean", g.reshape(g.Gemm(x, weight, bias), -1, segments, classes), [1], 0))
    return both(make, {"x": draw.data(16 * segments, width)})
