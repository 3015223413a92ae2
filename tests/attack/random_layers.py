"""Random models of layers as networks have them, of sizes at which kernels work: tiles, Winograd's algorithm, padded images, groups, heads."""
import random

import numpy as np

from attack.models import Model, i64

ACTIVATIONS = ("Relu({0})", "Sigmoid({0})", "Tanh({0})", "HardSwish({0})", "LeakyRelu<alpha=0.1>({0})",
               "Elu({0})", "Erf({0})", "Softplus({0})", "Clip({0},low,high)")
CHANNELS = (3, 8, 16, 24, 32, 32, 48, 64)


class Layers:
    """An image through some layers, then maybe rows through some more."""

    def __init__(self, seed: str):
        self.draw = random.Random(seed)
        self.numbers = np.random.default_rng(self.draw.randrange(2**32))
        self.constants = {"low": np.float32(0), "high": np.float32(6)}
        self.body: list[str] = []
        self.made = 0

    def constant(self, value) -> str:
        self.made += 1
        self.constants[f"k{self.made}"] = np.asarray(value)
        return f"k{self.made}"

    def weights(self, *shape: int) -> str:
        return self.constant((self.numbers.standard_normal(shape) / np.sqrt(max(1, np.prod(shape[1:])))).astype(np.float32))

    def node(self, expression: str) -> str:
        self.made += 1
        self.body.append(f"v{self.made} = {expression}")
        return f"v{self.made}"

    # ---- Images: (name, batch, channels, height, width).
    def convolution(self, x, shape):
        n, c, h, w = shape
        k, stride, dilation = self.draw.choice((1, 1, 3, 3, 3, 5)), self.draw.choice((1, 1, 1, 2)), self.draw.choice((1, 1, 1, 2))
        kind = self.draw.choice(("dense", "dense", "dense", "depthwise", "grouped"))
        group = c if kind == "depthwise" else 2 if kind == "grouped" and c % 2 == 0 else 1
        out = c if kind == "depthwise" else self.draw.choice(CHANNELS) // group * group
        pads = [self.draw.choice((k // 2 * dilation, k // 2 * dilation, 0, 1)) for _ in range(4)]
        span = dilation * (k - 1) + 1
        high, wide = ((size + pads[a] + pads[a + 2] - span) // stride + 1 for a, size in enumerate((h, w)))
        if high < 1 or wide < 1 or out < 1:
            return x, shape
        bias = f",{self.weights(out)}" if self.draw.random() < 0.5 else ""
        steps = f"strides=[{stride},{stride}],dilations=[{dilation},{dilation}],pads={pads}"
        y = self.node(f"Conv<group={group},{steps}>({x},{self.weights(out, c // group, k, k)}{bias})")
        return y, (n, out, high, wide)

    def normalized(self, x, shape):
        c = shape[1]
        variance = self.constant((self.numbers.random(c) + 0.5).astype(np.float32))
        return self.node(f"BatchNormalization({x},{self.weights(c)},{self.weights(c)},{self.weights(c)},{variance})"), shape

    def activated(self, x, shape):
        return self.node(self.draw.choice(ACTIVATIONS).format(x)), shape

    def pooled(self, x, shape):
        n, c, h, w = shape
        if min(h, w) < 4:
            return x, shape
        op = self.draw.choice(("MaxPool<", "AveragePool<", "AveragePool<count_include_pad=1,"))
        return self.node(f"{op}kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1]>({x})"), (n, c, (h - 1) // 2 + 1, (w - 1) // 2 + 1)

    def larger(self, x, shape):
        n, c, h, w = shape
        if h * w > 400:
            return x, shape
        if self.draw.random() < 0.5:
            scales = self.constant(np.array([1, 1, 2, 2], np.float32))
            return self.node(f"Resize<mode=\"nearest\">({x},,{scales})"), (n, c, 2 * h, 2 * w)
        out = self.draw.choice((8, 16))
        return self.node(f"ConvTranspose<strides=[2,2]>({x},{self.weights(c, out, 2, 2)})"), (n, out, 2 * h, 2 * w)

    def squeezed(self, x, shape):
        c = shape[1]
        mean = self.node(f"GlobalAveragePool({x})")
        gate = self.node(f"Sigmoid({self.node(f'Conv({mean},{self.weights(c, c, 1, 1)})')})")
        return self.node(f"Mul({x},{gate})"), shape

    def beside(self, x, shape):
        """With what it was, added or joined."""
        y, other = self.convolution(x, shape)
        if other == shape and self.draw.random() < 0.7:
            return self.node(f"Add({x},{y})"), shape
        if (other[0], *other[2:]) == (shape[0], *shape[2:]):
            return self.node(f"Concat<axis=1>({x},{y})"), (shape[0], shape[1] + other[1], *shape[2:])
        return y, other

    # ---- Rows: (batch, rows, columns).
    def dense(self, x, shape):
        out = self.draw.choice((8, 16, 33, 64))
        y = self.node(f"MatMul({x},{self.weights(shape[2], out)})")
        return (self.node(f"Add({y},{self.weights(out)})") if self.draw.random() < 0.6 else y), (*shape[:2], out)

    def layer_normalized(self, x, shape):
        return self.node(f"LayerNormalization({x},{self.weights(shape[2])},{self.weights(shape[2])})"), shape

    def attended(self, x, shape):
        n, rows, c = shape
        if c % 4:
            return x, shape
        parts = []
        for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
            y = self.node(f"MatMul({x},{self.weights(c, c)})")
            parts.append(self.node(f"Transpose<perm={order}>({self.node(f'Reshape({y},{self.constant(i64(n, rows, 4, c // 4))})')})"))
        scores = self.node(f"Mul({self.node(f'MatMul({parts[0]},{parts[1]})')},{self.constant(np.float32(0.5))})")
        y = self.node(f"MatMul({self.node(f'Softmax({scores})')},{parts[2]})")
        y = self.node(f"Reshape({self.node(f'Transpose<perm=[0,2,1,3]>({y})')},{self.constant(i64(n, rows, c))})")
        return self.node(f"Add({x},{y})"), shape

    def model(self) -> Model:
        draw = self.draw
        shape = (draw.choice((1, 1, 2)), draw.choice(CHANNELS), draw.choice((7, 12, 14, 17, 20)), draw.choice((7, 12, 14, 17, 20)))
        signature, x = f"float[{','.join(map(str, shape))}] x", "x"
        layers = (self.convolution, self.convolution, self.convolution, self.normalized, self.activated, self.activated, self.pooled, self.larger,
                  self.squeezed, self.beside, self.beside)
        for _ in range(draw.choice((1, 2, 4, 6))):
            x, shape = draw.choice(layers)(x, shape)
        if draw.random() < 0.5:
            n, c, h, w = shape
            x = self.node(f"Transpose<perm=[0,2,1]>({self.node(f'Reshape({x},{self.constant(i64(n, c, h * w))})')})")
            shape = (n, h * w, c)
            for _ in range(draw.choice((1, 2, 3))):
                x, shape = draw.choice((self.dense, self.dense, self.layer_normalized, self.attended, self.activated))(x, shape)
        self.body.append(f"y = Identity({x})")
        return Model(f"({signature}) => (float[] y) {{ {' '.join(self.body)} }}", self.constants)
