"""Positions that are not read, computed nevertheless."""
import numpy as np
from onnx import TensorProto

from structures.building import Draw, Graph, both, ints, number, structure


class Layer:
    """Weights of a transformer's layer: pre-norm, as ViT, CLIP and GPT have it."""

    def __init__(self, draw, width, wide):
        self.norms = [(draw.around_one(width), draw.vector(width)) for _ in range(2)]
        self.q, self.k, self.v, self.o = ((draw.matrix(width, width), draw.vector(width)) for _ in range(4))
        self.up, self.down = (draw.matrix(width, wide), draw.vector(wide)), (draw.matrix(wide, width), draw.vector(width))


def attention(g, layer, rows, everything, heads, width, mask=None):
    """`rows` attend to `everything`; [b, n, width]"""
    q, k, v = (g.heads_of(g.linear(x, *w), heads, width) for x, w in ((rows, layer.q), (everything, layer.k), (everything, layer.v)))
    scores = g.Mul(g.MatMul(q, g.transpose(k, 0, 1, 3, 2)), number((width // heads) ** -0.5))
    mixed = g.MatMul(g.Softmax(scores if mask is None else g.Add(scores, mask), axis=-1), v)
    return g.linear(g.reshape(g.transpose(mixed, 0, 2, 1, 3), 0, -1, width), *layer.o)


@structure("CLIP text tower (transformers): last layer, final norm, row of the end token by ArgMax of the ids, projection",
           "one position, chosen by data: queries, not keys")
def clip_text_end_token():
    draw, n, width, heads = Draw(), 77, 128, 4
    layer, final, projection = Layer(draw, width, 4 * width), (draw.around_one(width), draw.vector(width)), draw.matrix(width, 64)
    mask = np.triu(np.full((n, n), -1e9, np.float32), 1)[None, None]

    def quick_gelu(g, x):
        return g.Mul(x, g.Sigmoid(g.Mul(x, number(1.702))))

    def make(by_hand):
        g = Graph(17)
        x, ids = g.input("x", [1, n, width]), g.input("ids", [1, n], TensorProto.INT64)
        normed = g.layer_norm(x, *layer.norms[0])
        end = g.ArgMax(ids, axis=1, keepdims=0)
        rows, asked, allowed = (g.Gather(x, end, axis=1), g.Gather(normed, end, axis=1), g.Gather(mask, end, axis=2)) if by_hand else (x, normed, mask)
        x = g.Add(rows, attention(g, layer, asked, normed, heads, width, allowed))
        x = g.Add(x, g.linear(quick_gelu(g, g.linear(g.layer_norm(x, *layer.norms[1]), *layer.up)), *layer.down))
        x = g.layer_norm(x, *final)
        pooled = g.squeeze(x, 1) if by_hand else g.GatherND(x, g.concat(g.unsqueeze(g.constant(ints(0)), 1), g.unsqueeze(end, 1)))
        return g.model(g.MatMul(pooled, projection))
    ids = draw.below(1000, 1, n)
    ids[0, 40] = 2000
    return both(make, {"x": draw.data(1, n, width), "ids": ids})


@structure("Bidirectional LSTM classifier (Keras and torch tutorials): output[:, -1]", "the last step: of the backward direction only its first step")
def bilstm_last_output():
    draw, length, width, hidden = Draw(), 64, 64, 128
    w, r, b = draw.conv(2, 4 * hidden, width), draw.conv(2, 4 * hidden, hidden), draw.data(2, 8 * hidden, scale=0.1)
    head, bias = draw.matrix(2 * hidden, 10), draw.vector(10)

    def make(by_hand):
        g = Graph(14)
        x = g.transpose(g.input("x", [1, length, width]), 1, 0, 2)
        if not by_hand:
            y = g.LSTM(x, w, r, b, hidden_size=hidden, direction="bidirectional", outputs=3)[0]
            y = g.transpose(g.reshape(g.transpose(y, 0, 2, 1, 3), 0, 0, -1), 1, 0, 2)
            return g.model(g.Gemm(g.Gather(y, np.array(-1, np.int64), axis=1), head, bias))
        forward = g.squeeze(g.LSTM(x, w[:1], r[:1], b[:1], hidden_size=hidden, outputs=3)[1], 0)
        backward = g.squeeze(g.LSTM(g.slice(x, 0, -1), w[1:], r[1:], b[1:], hidden_size=hidden, outputs=3)[1], 0)
        return g.model(g.Gemm(g.concat(forward, backward), head, bias))
    return both(make, {"x": draw.data(1, length, width)})


@structure("SiamRPN++ adjust layer of the template (STVIR/pysot): Conv2d 1x1, BatchNorm, centre crop 4:11 of 15", "a crop after a convolution")
def siamrpn_template_crop():
    draw, channels, out, size = Draw(), 512, 128, 15
    weight = draw.conv(out, channels, 1, 1)
    norm = [draw.around_one(out), draw.vector(out), draw.vector(out), draw.around_one(out)]
    kernel = draw.conv(out, out, 3, 3)

    def crop(g, x):
        return g.slice(g.slice(x, 2, 4, 11), 3, 4, 11)

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", channels, size, size])
        y = g.BatchNormalization(g.conv(crop(g, x) if by_hand else x, weight), *norm, epsilon=1e-5)
        return g.model(g.Relu(g.conv(y if by_hand else crop(g, y), kernel)))
    return both(make, {"x": draw.data(1, channels, size, size)})


@structure("DETR heads (facebookresearch/detr): class and box MLP on all six decoder layers, of which the last is read", "one entry of an axis")
def detr_auxiliary_heads():
    draw, layers, queries, width = Draw(), 6, 100, 128
    classes, c = draw.matrix(width, 92), draw.vector(92)
    mlp = [(draw.matrix(width, o), draw.vector(o)) for o in (width, width, 4)]

    def make(by_hand):
        g = Graph(13)
        x = g.input("hs", [layers, "batch", queries, width])
        last = np.array(-1, np.int64)
        if by_hand:
            x = g.Gather(x, last, axis=0)
        boxes = x
        for k, (w, b) in enumerate(mlp):
            boxes = g.linear(boxes, w, b)
            boxes = g.Relu(boxes) if k < 2 else g.Sigmoid(boxes)
        outputs = [g.linear(x, classes, c), boxes]
        return g.model(*(outputs if by_hand else [g.Gather(y, last, axis=0) for y in outputs]))
    return both(make, {"hs": draw.data(layers, 1, queries, width)})


@structure("Mamba block (state-spaces/mamba, slow path): depthwise Conv1d with padding 3 on both sides, [..., :length], SiLU",
           "a trimmed border, symbolic extent: asymmetric padding")
def mamba_causal_conv():
    draw, channels, length = Draw(), 512, 512
    weight, bias = draw.conv(channels, 1, 4), draw.vector(channels)

    def make(by_hand):
        g = Graph(17)
        x = g.input("x", [1, channels, "length"])
        if by_hand:
            y = g.conv(x, weight, bias, 1, [3, 0], channels)
        else:
            y = g.conv(x, weight, bias, 1, 3, channels)
            end = g.unsqueeze(g.Gather(g.Shape(x), np.array(2, np.int64)), 0)
            y = g.Slice(y, ints(0), end, ints(2), ints(1))
        return g.model(g.Mul(y, g.Sigmoid(y)))
    return both(make, {"x": draw.data(1, channels, length)})


@structure("BERT masked language model, words at asked positions (fill-mask pipeline in the graph)", "positions chosen by data: rows before the head")
def masked_words_at_positions():
    draw, n, width, words = Draw(), 96, 128, 2000
    dense, b, norm = draw.matrix(width, width), draw.vector(width), (draw.around_one(width), draw.vector(width))
    decoder, d = draw.matrix(width, words), draw.vector(words)

    def gelu(g, x):
        return g.Mul(g.Mul(x, g.Add(g.Erf(g.Div(x, number(np.sqrt(2)))), number(1))), number(0.5))

    def make(by_hand):
        g = Graph(17)
        x, positions = g.input("hidden", [1, "n", width]), g.input("positions", ["masked"], TensorProto.INT64)
        if by_hand:
            x = g.Gather(x, positions, axis=1)
        logits = g.linear(g.layer_norm(gelu(g, g.linear(x, dense, b)), *norm), decoder, d)
        return g.model(g.Softmax(logits if by_hand else g.Gather(logits, positions, axis=1), axis=-1))
    return both(make, {"hidden": draw.data(1, n, width), "positions": ints(3, 17, 40)})


@structure("RT-DETR query selection (lyuwenyu): class scores and box MLP of all tokens, TopK, gather with a repeated index (torch)",
           "rows chosen by data: GatherElements of equal columns")
def rtdetr_query_selection():
    draw, tokens, width, wanted = Draw(), 1050, 96, 50
    scores, s = draw.matrix(width, 20), draw.vector(20)
    mlp = [(draw.matrix(width, o), draw.vector(o)) for o in (width, width, 4)]
    anchors = draw.data(1, tokens, 4)

    def rows(g, x, index, columns):
        return g.GatherElements(x, g.Tile(g.unsqueeze(index, 2), ints(1, 1, columns)), axis=1)

    def boxes(g, x, places):
        for k, (w, b) in enumerate(mlp):
            x = g.linear(x, w, b)
            x = g.Relu(x) if k < 2 else x
        return g.Add(x, places)

    def make(by_hand):
        g = Graph(16)
        x = g.input("memory", [1, tokens, width])
        logits = g.linear(x, scores, s)
        index = g.TopK(g.ReduceMax(logits, axes=[2], keepdims=0), ints(wanted), axis=1, outputs=2)[1]
        if not by_hand:
            return g.model(g.Sigmoid(rows(g, boxes(g, x, anchors), index, 4)), rows(g, logits, index, 20), rows(g, x, index, width))
        chosen = g.reshape(index, wanted)
        picked = g.Gather(x, chosen, axis=1)
        return g.model(g.Sigmoid(boxes(g, picked, g.Gather(anchors, chosen, axis=1))), g.Gather(logits, chosen, axis=1), picked)
    return both(make, {"memory": draw.data(1, tokens, width)})


@structure("SASRec (pmixer): last causal block, point-wise Conv1d feed-forward with transposes, last step against the items",
           "the last step: queries, not keys, through two layouts")
def sasrec_last_step():
    draw, n, width, heads, items = Draw(), 200, 64, 1, 500
    layer, final, table = Layer(draw, width, width), (draw.around_one(width), draw.vector(width)), draw.matrix(width, items)
    mask = np.triu(np.full((n, n), -np.inf, np.float32), 1)[None, None]
    first, b1, second, b2 = draw.conv(width, width, 1), draw.vector(width), draw.conv(width, width, 1), draw.vector(width)

    def make(by_hand):
        g = Graph(17)
        x = g.input("x", ["batch", n, width])
        normed = g.layer_norm(x, *layer.norms[0])
        rows = g.slice(normed, 1, -1) if by_hand else normed
        y = g.Add(rows, attention(g, layer, rows, x, heads, width, None if by_hand else mask))
        y = g.layer_norm(y, *layer.norms[1])
        if by_hand:
            y = g.Add(g.linear(g.Relu(g.linear(y, first[:, :, 0].T, b1)), second[:, :, 0].T, b2), y)
        else:
            z = g.conv(g.Relu(g.conv(g.transpose(y, 0, 2, 1), first, b1)), second, b2)
            y = g.Add(g.transpose(z, 0, 2, 1), y)
        y = g.layer_norm(y, *final)
        last = g.squeeze(y, 1) if by_hand else g.Gather(y, np.array(-1, np.int64), axis=1)
        return g.model(g.MatMul(last, table))
    return both(make, {"x": draw.data(1, n, width)})
