"""The same computation several times, on inputs that one call could take together."""
import numpy as np

from structures.building import Draw, Graph, both, number, structure


@structure("NeRF (yenchenlin/nerf-pytorch): positional encoding, one sin and one cos per frequency, cat, Linear",
           "equal functions of scaled inputs: one call, rows permuted")
def nerf_encoding():
    draw, frequencies, out = Draw(), 10, 64
    weight, bias = draw.matrix(3 + 6 * frequencies, out), draw.vector(out)

    def make(by_hand):
        g = Graph(13)
        x = g.input("points", ["rays", 3])
        if by_hand:
            angles = g.MatMul(x, np.concatenate([np.eye(3, dtype=np.float32) * 2 ** k for k in range(frequencies)], axis=1))
            order = [3 + 6 * k + 3 * f + c for f in (0, 1) for k in range(frequencies) for c in range(3)]
            encoded = g.concat(x, g.Sin(angles), g.Cos(angles))
            return g.model(g.Relu(g.linear(encoded, weight[[0, 1, 2, *order]], bias)))
        parts = [x]
        for k in range(frequencies):
            parts += [f(g.Mul(x, number(2 ** k))) for f in (g.Sin, g.Cos)]
        return g.model(g.Relu(g.linear(g.concat(*parts), weight, bias)))
    return both(make, {"points": draw.data(2048, 3)})


@structure("DSSM with one click and four others (InsaneLife/dssm): one tower, each document through it alone, cosine", "one MLP on separate inputs: a batch")
def dssm_documents():
    draw, width, hidden, documents = Draw(), 1024, 320, 5
    layers = [(draw.matrix(i, o), draw.vector(o)) for i, o in ((width, hidden), (hidden, hidden), (hidden, 64))]

    def make(by_hand):
        g = Graph(13)
        query, *others = (g.input(name, [1, width]) for name in ("query", *(f"document{k}" for k in range(documents))))
        constants = [(g.constant(w), g.constant(b)) for w, b in layers]

        def tower(x):
            for w, b in constants:
                x = g.Tanh(g.Gemm(x, w, b))
            return x

        def cosines(a, b):
            top = g.reduce("Sum", g.Mul(a, b), [1])
            return g.Div(top, g.Mul(g.ReduceL2(a, axes=[1], keepdims=1), g.ReduceL2(b, axes=[1], keepdims=1)))
        if by_hand:
            y = tower(g.concat(query, *others, axis=0))
            scores = g.transpose(cosines(g.slice(y, 0, 0, 1), g.slice(y, 0, 1)), 1, 0)
        else:
            asked = tower(query)
            scores = g.concat(*[cosines(asked, tower(d)) for d in others])
        return g.model(g.Softmax(g.Mul(scores, number(10)), axis=1))
    return both(make, {name: draw.data(1, width) for name in ("query", *(f"document{k}" for k in range(documents)))})


@structure("A tutorial's GPT (Karpathy, 'Let's build GPT'): every head a module of its own with three Linears, cat", "equal heads: one product, one batch")
def gpt_heads_in_a_loop():
    draw, n, width, heads = Draw(), 32, 256, 16
    size = width // heads
    weights = [[draw.matrix(width, size) for _ in range(3)] for _ in range(heads)]
    mask = np.triu(np.full((n, n), -1e9, np.float32), 1)
    out, bias = draw.matrix(width, width), draw.vector(width)

    def make(by_hand):
        g = Graph(14)
        x = g.input("x", [1, n, width])
        scale = number(size ** -0.5)
        if by_hand:
            merged = np.concatenate([w[i] for i in range(3) for w in weights], axis=1)
            k, q, v = g.split(g.transpose(g.reshape(g.MatMul(x, merged), n, 3 * heads, size), 1, 0, 2), 0, heads, heads, heads)
            mixed = g.MatMul(g.Softmax(g.Add(g.Mul(g.MatMul(q, g.transpose(k, 0, 2, 1)), scale), mask), axis=-1), v)
            return g.model(g.linear(g.reshape(g.transpose(mixed, 1, 0, 2), 1, n, width), out, bias))
        mixed = []
        for wk, wq, wv in weights:
            k, q = g.MatMul(x, wk), g.MatMul(x, wq)
            scores = g.Add(g.Mul(g.MatMul(q, g.transpose(k, 0, 2, 1)), scale), mask)
            mixed.append(g.MatMul(g.Softmax(scores, axis=-1), g.MatMul(x, wv)))
        return g.model(g.linear(g.concat(*mixed, axis=2), out, bias))
    return both(make, {"x": draw.data(1, n, width)})


@structure("Keras ResNeXt (titu1994): grouped convolution as 32 slices, a Conv2D each, Concatenate, BatchNorm (tf2onnx)",
           "equal layers of slices: one grouped convolution")
def keras_resnext_slices():
    draw, groups, each, size = Draw(), 32, 4, 28
    weights = [draw.conv(each, each, 3, 3) for _ in range(groups)]
    channels = groups * each
    norm = [draw.around_one(channels), draw.vector(channels), draw.vector(channels), draw.around_one(channels)]

    def make(by_hand):
        g = Graph(13, torch=False)
        x = g.input("x", ["batch", channels, size, size])
        if by_hand:
            merged = np.zeros((channels, 4 * each, 3, 3), np.float32)  # four groups as one of 16 channels, which the engine lays out in blocks
            for k, w in enumerate(weights):
                at = k % 4 * each
                merged[k * each:(k + 1) * each, at:at + each] = w
            y = g.conv(x, merged, None, 1, 1, groups // 4)
        else:
            y = g.concat(*[g.conv(g.slice(x, 1, k * each, (k + 1) * each), w, None, 1, 1) for k, w in enumerate(weights)])
        return g.model(g.Relu(g.BatchNormalization(y, *norm, epsilon=1e-5)))
    return both(make, {"x": draw.data(1, channels, size, size)})


@structure("ConvLSTM (ndrplz) unrolled over two frames: zero state in the graph, cat(x, h), one Conv2d, gates",
           "zeros through a linear map; what the state multiplies vanishes at the first step")
def convlstm_zero_state():
    draw, channels, hidden, size, steps = Draw(), 4, 16, 32, 2
    weight, bias = draw.conv(4 * hidden, channels + hidden, 3, 3), draw.vector(4 * hidden)

    def make(by_hand):
        g = Graph(13)
        x = g.input("frames", ["batch", steps, channels, size, size])
        w, b = (None, None) if by_hand else (g.constant(weight), g.constant(bias))
        state = g.extents(x, (0,), hidden, size, size)
        h = c = None if by_hand else g.ConstantOfShape(state)
        for t in range(steps):
            frame = g.Gather(x, np.array(t, np.int64), axis=1)
            if by_hand and t == 0:
                kept = np.r_[0:hidden, 2 * hidden:4 * hidden]
                i, o, n = g.split(g.conv(frame, weight[kept][:, :channels], bias[kept], 1, 1), 1, *[hidden] * 3)
                c = g.Mul(g.Sigmoid(i), g.Tanh(n))
            else:
                joined = g.concat(frame, h)
                gates = g.conv(joined, weight, bias, 1, 1) if by_hand else g.Conv(joined, w, b, kernel_shape=[3, 3], pads=[1] * 4)
                i, f, o, n = g.split(gates, 1, *[hidden] * 4)
                c = g.Add(g.Mul(g.Sigmoid(f), c), g.Mul(g.Sigmoid(i), g.Tanh(n)))
            h = g.Mul(g.Sigmoid(o), g.Tanh(c))
        return g.model(h)
    return both(make, {"frames": draw.data(1, steps, channels, size, size)})


@structure("GRU cell in a Python loop (torch.nn.GRUCell, reset after the product), all inputs known at the start", "a recurrence: the engine's GRU")
def gru_cell_loop():
    draw, steps, width, hidden = Draw(), 40, 64, 64
    w, r, wb, rb = draw.matrix(width, 3 * hidden), draw.matrix(hidden, 3 * hidden), draw.vector(3 * hidden), draw.vector(3 * hidden)

    def make(by_hand):
        g = Graph(14)
        x, h = g.input("x", ["batch", steps, width]), g.input("h0", ["batch", hidden])
        if by_hand:
            order = np.r_[hidden:2 * hidden, 0:hidden, 2 * hidden:3 * hidden]  # torch: reset, update, new; ONNX: update, reset, new
            y = g.GRU(g.transpose(x, 1, 0, 2), w.T[order][None], r.T[order][None], np.concatenate([wb[order], rb[order]])[None], "",
                      g.unsqueeze(h, 0), hidden_size=hidden, linear_before_reset=1, outputs=2)[0]
            return g.model(g.transpose(g.squeeze(y, 1), 1, 0, 2))
        constants = [g.constant(a) for a in (w, wb, r, rb)]
        rows = []
        for t in range(steps):
            step = g.Gather(x, np.array(t, np.int64), axis=1)
            ir, iz, inew = g.split(g.Gemm(step, *constants[:2]), 1, *[hidden] * 3)
            hr, hz, hn = g.split(g.Gemm(h, *constants[2:]), 1, *[hidden] * 3)
            reset, update = g.Sigmoid(g.Add(ir, hr)), g.Sigmoid(g.Add(iz, hz))
            new = g.Tanh(g.Add(inew, g.Mul(reset, hn)))
            h = g.Add(g.Mul(g.Sub(number(1), update), new), g.Mul(update, h))
            rows.append(g.unsqueeze(h, 1))
        return g.model(g.concat(*rows, axis=1))
    return both(make, {"x": draw.data(1, steps, width), "h0": draw.data(1, hidden)})


@structure("Anchor heads on tokens in Keras: one Dense per anchor on the same features, Concatenate (tf2onnx)", "equal layers of one input: one product")
def dense_per_anchor():
    draw, n, width, anchors, out = Draw(), 400, 256, 9, 6
    weights = [(draw.matrix(width, out), draw.vector(out)) for _ in range(anchors)]

    def make(by_hand):
        g = Graph(13, torch=False)
        x = g.input("x", ["batch", n, width])
        if by_hand:
            y = g.linear(x, np.concatenate([w for w, _ in weights], axis=1), np.concatenate([b for _, b in weights]))
            return g.model(g.Sigmoid(g.reshape(y, 0, n, anchors, out)))
        return g.model(g.Sigmoid(g.concat(*[g.unsqueeze(g.linear(x, w, b), 2) for w, b in weights], axis=2)))
    return both(make, {"x": draw.data(1, n, width)})
