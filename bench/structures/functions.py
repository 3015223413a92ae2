"""Functions whose order, range or laws make work unnecessary."""
import numpy as np
from onnx import TensorProto

from structures.building import Draw, Graph, both, number, structure


@structure("YOLOv5 scores in the graph: sigmoid of everything, objectness times classes, max and argmax over classes", "monotone through a positive factor")
def yolov5_best_class():
    draw, boxes, classes = Draw(), 2100, 80

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", boxes, 5 + classes])
        if by_hand:
            box, objectness, logits = g.split(x, 2, 4, 1, classes)
            score = g.Mul(g.Sigmoid(objectness), g.Sigmoid(g.reduce("Max", logits, [2])))
            return g.model(g.Sigmoid(box), g.squeeze(score, 2), g.ArgMax(logits, axis=2, keepdims=0), kinds=[1, 1, TensorProto.INT64])
        y = g.Sigmoid(x)
        scores = g.Mul(g.slice(y, 2, 5), g.slice(y, 2, 4, 5))
        return g.model(g.slice(y, 2, 0, 4), g.reduce("Max", scores, [2], 0), g.ArgMax(scores, axis=2, keepdims=0), kinds=[1, 1, TensorProto.INT64])
    return both(make, {"x": draw.data(1, boxes, 5 + classes)})


@structure("Segmentation classes (segmentation_models.pytorch, activation='softmax2d'): softmax over channels, argmax", "order: argmax of softmax")
def segmentation_argmax_of_softmax():
    draw, classes, size, channels = Draw(), 19, 96, 16
    weight, bias = draw.conv(classes, channels, 1, 1), draw.vector(classes)

    def make(by_hand):
        g = Graph(13)
        x = g.conv(g.input("x", ["batch", channels, size, size]), weight, bias)
        return g.model(g.ArgMax(x if by_hand else g.Softmax(x, axis=1), axis=1, keepdims=0), kinds=[TensorProto.INT64])
    return both(make, {"x": draw.data(1, channels, size, size)})


@structure("Portrait segmentation head (PortraitNet / SINet): two channels, softmax, the second one read", "softmax of two is a sigmoid of the difference")
def portrait_two_classes():
    draw, size, channels = Draw(), 112, 16
    weight, bias = draw.conv(2, channels, 3, 3), draw.vector(2)

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", channels, size, size])
        if by_hand:
            return g.model(g.Sigmoid(g.conv(x, weight[1:] - weight[:1], bias[1:] - bias[:1], 1, 1)))
        return g.model(g.slice(g.Softmax(g.conv(x, weight, bias, 1, 1), axis=1), 1, 1, 2))
    return both(make, {"x": draw.data(1, channels, size, size)})


@structure("GAN or super resolution output to pixels: tanh, (x + 1) / 2, clamp(0, 1), * 255 (CycleGAN, SRGAN demos)",
           "range: the clip does nothing; the affine maps around it are one")
def gan_pixels():
    draw, size = Draw(), 320

    def make(by_hand):
        g = Graph(13)
        x = g.Tanh(g.input("x", ["batch", 3, size, size]))
        if by_hand:
            return g.model(g.Add(g.Mul(x, number(127.5)), number(127.5)))
        y = g.Div(g.Add(x, number(1)), number(2))
        return g.model(g.Mul(g.Clip(y, number(0), number(1)), number(255)))
    return both(make, {"x": draw.data(1, 3, size, size)})


@structure("Flax / JAX gelu (jax2onnx): 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x*x*x))), the cube by products", "a spelled-out function: the engine's Gelu")
def jax_tanh_gelu():
    draw, n, width, wide = Draw(), 128, 32, 1024
    up, b, down = draw.matrix(width, wide), draw.vector(wide), draw.matrix(wide, width)
    c = np.sqrt(2 / np.pi)

    def make(by_hand):
        g = Graph(20, torch=False)
        x = g.linear(g.input("x", ["batch", n, width]), up, b)
        if by_hand:
            return g.model(g.MatMul(g.Gelu(x, approximate="tanh"), down))
        cube = g.Mul(x, g.Mul(x, x))
        inner = g.Mul(number(c), g.Add(x, g.Mul(number(0.044715), cube)))
        return g.model(g.MatMul(g.Mul(x, g.Mul(number(0.5), g.Add(number(1), g.Tanh(inner)))), down))
    return both(make, {"x": draw.data(1, n, width)})


@structure("Sentence scoring (log of softmax, GatherElements at the words, mean): perplexity in the graph",
           "positions chosen by data: the log of what is read")
def sentence_log_probability():
    draw, n, words = Draw(), 48, 4000

    def make(by_hand):
        g = Graph(13)
        logits, ids = g.input("logits", ["batch", n, words]), g.input("ids", ["batch", n], TensorProto.INT64)
        index = g.unsqueeze(ids, 2)
        if by_hand:
            chosen = g.Log(g.GatherElements(g.Softmax(logits, axis=2), index, axis=2))
        else:
            chosen = g.GatherElements(g.Log(g.Softmax(logits, axis=2)), index, axis=2)
        return g.model(g.reduce("Mean", g.squeeze(chosen, 2), [1], 0))
    return both(make, {"logits": draw.data(1, n, words), "ids": draw.below(words, 1, n)})


@structure("MobileNetV3 before opset 14 (torch): x * relu6(x + 3) / 6 as Add, Clip, Mul, Div around a depthwise convolution",
           "a spelled-out function: HardSigmoid, which the engine fuses")
def hard_swish_spelled_out():
    draw, channels, size = Draw(), 32, 80
    weight, bias = draw.conv(channels, 1, 3, 3), draw.vector(channels)

    def make(by_hand):
        g = Graph(13)
        x = g.input("x", ["batch", channels, size, size])
        y = g.conv(x, weight, bias, 1, 1, channels)
        if by_hand:
            return g.model(g.Mul(y, g.HardSigmoid(y, alpha=1 / 6, beta=0.5)))
        return g.model(g.Div(g.Mul(y, g.Clip(g.Add(y, number(3)), number(0), number(6))), number(6)))
    return both(make, {"x": draw.data(1, channels, size, size)})


@structure("Text CNN with several widths (Kim, Keras): Conv1D, tanh, GlobalMaxPooling1D each, Concatenate", "monotone: the function after the maximum")
def text_cnn_tanh_max():
    draw, n, width, filters = Draw(), 400, 16, 256
    layers = [(draw.conv(filters, width, k), draw.vector(filters)) for k in (2, 3, 4)]

    def make(by_hand):
        g = Graph(13, torch=False)
        x = g.transpose(g.input("x", ["batch", n, width]), 0, 2, 1)
        parts = []
        for w, b in layers:
            y = g.conv(x, w, b)
            parts.append(g.Tanh(g.reduce("Max", y, [2], 0)) if by_hand else g.reduce("Max", g.Tanh(y), [2], 0))
        return g.model(g.concat(*parts))
    return both(make, {"x": draw.data(1, n, width)})
