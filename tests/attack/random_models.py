"""Random models, drawn towards what rewrites touch: products and windows in a row, layouts, shape arithmetic, branches, functions, narrow types.

Every value has its element type and its dimensions, which are numbers or texts: a symbol, or what was made of some.
"""
import dataclasses
import pathlib
import random
import re
from collections.abc import Iterator

import numpy as np

from attack.cases import Finding, Optimization
from attack.models import Model, function, i64

FLOATS = {"float": np.float32, "float16": np.float16}
CODES = {"float": 1, "int32": 6, "int64": 7, "float16": 10}
UNARY = ("Relu", "Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Identity", "Softplus", "Erf", "Round", "Floor", "Sign")
BINARY = ("Add", "Add", "Sub", "Mul", "Max", "Min")
FUNCTIONS = ("b = Softmax(a)", "t = Mul(a,a) b = Tanh(t)", "t = Relu(a) b = Sub(t,a)", "t = Neg(a) u = Neg(t) b = Identity(u)", "t = Sigmoid(a) b = Mul(t,a)",
             "s = Shape(a) b = Expand(a,s)", "s = Shape(a) f = Flatten<axis=0>(a) b = Reshape(f,s)")


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    type: str
    dims: tuple

    def sized(self, axis: int) -> bool:
        return isinstance(self.dims[axis], int)


class Builder:
    """A model in the making; each step appends nodes, or does nothing if no value is fit for it."""

    def __init__(self, seed: str):
        self.draw = random.Random(seed)
        self.numbers = np.random.default_rng(self.draw.randrange(2**32))
        self.constants: dict[str, np.ndarray] = {}
        self.body: list[str] = []
        self.functions: list[str] = []
        self.made = 0
        self.type = self.draw.choice(("float", "float", "float", "float16"))
        self.values = self._inputs()
        self.fed = list(self.values)

    def _inputs(self) -> list[Value]:
        t, draw = self.type, self.draw
        values = [Value("x", t, ("n", 4, 6)), Value("z", t, draw.choice((("n", 4, 6), ("n", "m"), (4, 6), ("n", 4, "m"))))]
        if draw.random() < 0.4:
            values.append(Value("i", draw.choice(("int64", "int32")), draw.choice((("n",), ("n", 4), ("m",)))))
        if draw.random() < 0.3:
            values.append(Value("c", "bool", ()))
        if draw.random() < 0.3:
            values.append(Value("b", "bool", ("n", 1, 6)))
        return values

    def name(self, stem: str = "v") -> str:
        self.made += 1
        return f"{stem}{self.made}"

    def constant(self, value) -> str:
        name = self.name("k")
        self.constants[name] = np.asarray(value)
        return name

    def weights(self, *shape: int) -> str:
        scale = self.draw.choice((0.3, 0.6, 1.0))
        values = self.numbers.standard_normal(shape) * scale
        if self.draw.random() < 0.2:
            values = np.round(values * 2) / 2  # ties, zeros and ones
        return self.constant(values.astype(FLOATS[self.type]))

    def number(self, value: float) -> str:
        return self.constant(np.asarray(value, FLOATS[self.type]))

    def add(self, expression: str, type_: str, dims) -> Value:
        value = Value(self.name(), type_, tuple(dims))
        self.body.append(f"{value.name} = {expression}")
        self.values.append(value)
        return value

    def hidden(self, expression: str) -> str:
        """A value that no other step takes up."""
        name = self.name("h")
        self.body.append(f"{name} = {expression}")
        return name

    def floating(self, least_rank: int = 0) -> Value | None:
        """A recent float more often than an old one."""
        found = [v for v in self.values if v.type == self.type and len(v.dims) >= least_rank]
        return self.draw.choice(found[-3:] * 4 + found) if found else None

    def like(self, value: Value) -> Value:
        return self.draw.choice([v for v in self.values if v.dims == value.dims and v.type == value.type])

    # ---- Element by element.
    def unary(self):
        v = self.floating()
        self.add(f"{self.draw.choice(UNARY)}({v.name})", v.type, v.dims)

    def binary(self):
        v = self.floating()
        self.add(f"{self.draw.choice(BINARY)}({v.name},{self.like(v).name})", v.type, v.dims)

    def by_constant(self):
        v = self.floating(1)
        if v.sized(-1):
            shape = self.draw.choice(((v.dims[-1],), (1,), ()))
            if self.draw.random() < 0.2 and len(v.dims) > 1 and v.sized(-2):
                shape = (v.dims[-2], 1)
            c = self.weights(*shape)
            self.add(f"{self.draw.choice(BINARY)}({v.name},{c})" if self.draw.random() < 0.8 else f"Sub({c},{v.name})", v.type, v.dims)

    def by_computed_constant(self):
        """With what constants alone make, and a jump at times."""
        v = self.floating(1)
        if v.sized(-1):
            c = self.hidden(f"{self.draw.choice(BINARY)}({self.weights(v.dims[-1])},{self.weights(v.dims[-1])})")
            if self.draw.random() < 0.5:
                c = self.hidden(f"{self.draw.choice(('Floor', 'Ceil', 'Neg', 'Relu', 'Sign', 'Tanh'))}({c})")
            self.add(f"{self.draw.choice(('Add', 'Mul'))}({v.name},{c})", v.type, v.dims)

    def clipped(self):
        v = self.floating()
        self.add(f"Clip({v.name},{self.number(-0.5)},{self.number(self.draw.choice((0.75, 6.0)))})", v.type, v.dims)

    def leaky(self):
        v = self.floating()
        self.add(f"LeakyRelu<alpha={self.draw.choice((0.1, 0.5))}>({v.name})", v.type, v.dims)

    def chosen(self):
        v = self.floating()
        b = self.hidden(f"{self.draw.choice(('Less', 'Greater', 'LessOrEqual'))}({v.name},{self.number(self.draw.choice((0, 0.5, -1)))})")
        self.add(f"Where({b},{v.name},{self.like(v).name})", v.type, v.dims)

    def compared(self):
        v = self.floating()
        self.add(f"{self.draw.choice(('Less', 'GreaterOrEqual'))}({v.name},{self.like(v).name})", "bool", v.dims)

    def logical(self):
        found = [v for v in self.values if v.type == "bool" and v.dims]
        if found:
            v = self.draw.choice(found)
            if self.draw.random() < 0.4:
                self.add(f"Cast<to={CODES[self.type]}>({v.name})", self.type, v.dims)
            else:
                self.add(self.draw.choice((f"Not({v.name})", f"And({v.name},{self.like(v).name})", f"Xor({v.name},{self.like(v).name})")), "bool", v.dims)

    def cast_there_and_back(self):
        v = self.floating()
        to = self.draw.choice((1, 10, 11, 6, 7))
        self.add(f"Cast<to={CODES[v.type]}>({self.hidden(f'Cast<to={to}>({v.name})')})", v.type, v.dims)

    def quantized(self):
        v = self.floating()
        if v.type == "float":
            scale, point = self.constant(np.float32(0.0625)), self.constant(np.uint8(128))
            self.add(f"DequantizeLinear({self.hidden(f'QuantizeLinear({v.name},{scale},{point})')},{scale},{point})", v.type, v.dims)

    def integers(self):
        found = [v for v in self.values if v.type in ("int32", "int64") and v.dims]
        if not found:
            return
        v = self.draw.choice(found)
        dtype = np.dtype(v.type)
        c = self.constant(np.asarray(self.draw.choice((1, 2, 3, np.iinfo(dtype).max, np.iinfo(dtype).min + 1)), dtype))
        kind = self.draw.randrange(5)
        if kind == 0:
            self.add(f"{self.draw.choice(BINARY)}({v.name},{c})", v.type, v.dims)
        elif kind == 1:
            self.add(f"{self.draw.choice(BINARY)}({v.name},{self.like(v).name})", v.type, v.dims)
        elif kind == 2:
            self.add(f"{self.draw.choice(('Div', 'Mod'))}({v.name},{self.constant(np.asarray(3, dtype))})", v.type, v.dims)
        elif kind == 3:
            other = "int32" if v.type == "int64" else "int64"
            self.add(f"Cast<to={CODES[other]}>({v.name})", other, v.dims)
        else:
            small = self.hidden(f"Mod({v.name},{self.constant(np.asarray(5, dtype))})")
            self.add(f"Cast<to={CODES[self.type]}>({small})", self.type, v.dims)

    # ---- Products and windows.
    def product(self):
        v = self.floating(2)
        if v.sized(-1):
            out = self.draw.choice((2, 4, 6))
            if len(v.dims) == 2 and self.draw.random() < 0.4:
                self.add(f"Gemm<transB=1>({v.name},{self.weights(out, v.dims[-1])},{self.weights(out)})", v.type, (*v.dims[:-1], out))
            else:
                self.add(f"MatMul({v.name},{self.weights(v.dims[-1], out)})", v.type, (*v.dims[:-1], out))

    def product_from_left(self):
        v = self.floating(2)
        if v.sized(-2):
            out = self.draw.choice((3, 4))
            self.add(f"MatMul({self.weights(out, v.dims[-2])},{v.name})", v.type, (*v.dims[:-2], out, v.dims[-1]))

    def product_with_itself(self):
        v = self.floating(2)
        if len(v.dims) == 3:
            t = self.hidden(f"Transpose<perm=[0,2,1]>({v.name})")
            scaled = self.hidden(f"Mul({v.name},{self.number(0.25)})")
            self.add(f"MatMul({scaled},{t})", v.type, (v.dims[0], v.dims[1], v.dims[1]))

    def convolution(self):
        v = self.floating(3)
        if v is not None and len(v.dims) == 3 and v.sized(1) and v.type == "float":
            out, width = self.draw.choice((3, 4)), self.draw.choice((1, 1, 3))
            bias = f",{self.weights(out)}" if self.draw.random() < 0.5 else ""
            self.add(f"Conv<pads=[{width // 2},{width // 2}]>({v.name},{self.weights(out, v.dims[1], width)}{bias})", v.type, (v.dims[0], out, v.dims[2]))

    def batch_normalized(self):
        v = self.floating(2)
        if v.sized(1) and v.type == "float":
            n = v.dims[1]
            variance = self.constant((self.numbers.random(n) + 0.5).astype(np.float32))
            self.add(f"BatchNormalization({v.name},{self.weights(n)},{self.weights(n)},{self.weights(n)},{variance})", v.type, v.dims)

    def layer_normalized(self):
        v = self.floating(1)
        if v.sized(-1) and v.type == "float":
            self.add(f"LayerNormalization({v.name},{self.weights(v.dims[-1])},{self.weights(v.dims[-1])})", v.type, v.dims)

    def pooled(self):
        v = self.floating(3)
        if v is not None and len(v.dims) == 3 and v.sized(2) and v.dims[2] >= 3 and v.type == "float":
            self.add(f"{self.draw.choice(('AveragePool', 'MaxPool'))}<kernel_shape=[2]>({v.name})", v.type, (*v.dims[:2], v.dims[2] - 1))

    def softmax(self):
        v = self.floating(1)
        self.add(f"Softmax<axis={self.draw.randrange(len(v.dims))}>({v.name})", v.type, v.dims)

    def reduced(self):
        v = self.floating(2)
        axis, keep = self.draw.randrange(len(v.dims)), self.draw.choice((0, 1))
        op = self.draw.choice(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare"))
        self.add(f"{op}<keepdims={keep}>({v.name},{self.constant(i64(axis))})", v.type, (*v.dims[:axis], *([1] if keep else []), *v.dims[axis + 1:]))

    def broadcast_back(self):
        """What was reduced, beside what it was reduced from."""
        v = self.floating(1)
        axis = self.draw.randrange(len(v.dims))
        r = self.hidden(f"{self.draw.choice(('ReduceMean', 'ReduceMax', 'ReduceSum'))}<keepdims=1>({v.name},{self.constant(i64(axis))})")
        self.add(f"{self.draw.choice(('Sub', 'Add', 'Max'))}({v.name},{r})", v.type, v.dims)

    def summed_up(self):
        v = self.floating(1)
        if v.type == "float":
            self.add(f"CumSum({v.name},{self.constant(np.array(self.draw.randrange(len(v.dims))))})", v.type, v.dims)

    # ---- Layout.
    def transposed(self):
        v = self.floating(2)
        order = list(range(len(v.dims)))
        self.draw.shuffle(order)
        self.add(f"Transpose<perm={order}>({v.name})", v.type, [v.dims[k] for k in order])

    def sliced(self):
        v = self.floating(1)
        axis = self.draw.randrange(len(v.dims))
        at = self.constant(i64(axis))
        if v.sized(axis) and v.dims[axis] > 1:
            size = v.dims[axis]
            start, step = self.draw.randrange(size - 1), self.draw.choice((1, 1, 2))
            end = self.draw.randrange(start + 1, size + 1)
            self.add(f"Slice({v.name},{self.constant(i64(start))},{self.constant(i64(end))},{at},{self.constant(i64(step))})", v.type,
                     (*v.dims[:axis], -(-(end - start) // step), *v.dims[axis + 1:]))
        elif not v.sized(axis):
            start, end = self.draw.choice(((0, 2**62), (1, 2**62), (0, -1), (-2, 2**62), (0, 2)))
            dim = v.dims[axis] if (start, end) == (0, 2**62) else f"s{self.made}"
            self.add(f"Slice({v.name},{self.constant(i64(start))},{self.constant(i64(end))},{at})", v.type, (*v.dims[:axis], dim, *v.dims[axis + 1:]))

    def joined(self):
        v = self.floating(1)
        axis, other = self.draw.randrange(len(v.dims)), self.like(v)
        dim = 2 * v.dims[axis] if v.sized(axis) else f"{v.dims[axis]}+{v.dims[axis]}"
        self.add(f"Concat<axis={axis}>({v.name},{other.name})", v.type, (*v.dims[:axis], dim, *v.dims[axis + 1:]))

    def split_and_joined(self):
        v = self.floating(1)
        axis = self.draw.randrange(len(v.dims))
        if v.sized(axis) and v.dims[axis] >= 2:
            sizes = self.constant(i64(1, v.dims[axis] - 1))
            a, b = self.name("h"), self.name("h")
            self.body.append(f"{a},{b} = Split<axis={axis}>({v.name},{sizes})")
            parts = [a, self.hidden(f"{self.draw.choice(UNARY)}({b})")] if self.draw.random() < 0.5 else [a, b]
            self.add(f"Concat<axis={axis}>({','.join(parts)})", v.type, v.dims)

    def gathered(self):
        v = self.floating(1)
        axis = self.draw.randrange(len(v.dims))
        if v.sized(axis):
            size = v.dims[axis]
            chosen = [self.draw.randrange(-size, size) for _ in range(self.draw.choice((1, 2, size)))]
            self.add(f"Gather<axis={axis}>({v.name},{self.constant(i64(*chosen))})", v.type, (*v.dims[:axis], len(chosen), *v.dims[axis + 1:]))

    def looked_up(self):
        """By what is fed, brought into range, or not."""
        found = [v for v in self.values if v.type in ("int32", "int64") and v.dims]
        if found:
            i = self.draw.choice(found)
            index = i.name if self.draw.random() < 0.3 else self.hidden(f"Mod({i.name},{self.constant(np.asarray(5, i.type))})")
            self.add(f"Gather({self.weights(5, 4)},{index})", self.type, (*i.dims, 4))

    def padded(self):
        v = self.floating(1)
        if v.sized(-1):
            before, after = 1, self.draw.choice((0, 2))
            rest = [0] * (len(v.dims) - 1)
            self.add(f"Pad({v.name},{self.constant(i64(*rest, before, *rest, after))})", v.type, (*v.dims[:-1], v.dims[-1] + before + after))

    def one_more_axis(self):
        v = self.floating()
        if len(v.dims) < 4:
            at = self.draw.randrange(len(v.dims) + 1)
            self.add(f"Unsqueeze({v.name},{self.constant(i64(at))})", v.type, (*v.dims[:at], 1, *v.dims[at:]))

    def one_axis_less(self):
        v = self.floating(2)
        if 1 in v.dims:
            at = v.dims.index(1)
            self.add(f"Squeeze({v.name},{self.constant(i64(at))})", v.type, (*v.dims[:at], *v.dims[at + 1:]))

    def tiled(self):
        v = self.floating(1)
        axis = self.draw.randrange(len(v.dims))
        if v.sized(axis) and v.dims[axis] <= 6:
            times = [2 if k == axis else 1 for k in range(len(v.dims))]
            self.add(f"Tile({v.name},{self.constant(i64(*times))})", v.type, (*v.dims[:axis], 2 * v.dims[axis], *v.dims[axis + 1:]))

    # ---- Shapes.
    def merged(self):
        """Two axes become one, by a constant or by arithmetic of sizes."""
        v = self.floating(2)
        at = self.draw.randrange(len(v.dims) - 1)
        a, b = v.dims[at], v.dims[at + 1]
        dim = a * b if isinstance(a, int) and isinstance(b, int) else f"{a}*{b}"
        dims = (*v.dims[:at], dim, *v.dims[at + 2:])
        if all(isinstance(d, int) for d in dims[1:]) and self.draw.random() < 0.5:
            shape = self.constant(i64(-1, *dims[1:]))
        else:
            sizes = self.hidden(f"Shape({v.name})")
            parts = [self.hidden(f"Gather({sizes},{self.constant(i64(k))})") for k in range(len(v.dims))]
            middle = self.hidden(f"Mul({parts[at]},{parts[at + 1]})") if self.draw.random() < 0.5 else self.constant(i64(-1))
            shape = self.hidden(f"Concat<axis=0>({','.join((*parts[:at], middle, *parts[at + 2:]))})")
        self.add(f"Reshape({v.name},{shape})", v.type, dims)

    def there_and_back(self):
        """Flat, and in its own shape again."""
        v = self.floating(1)
        sizes = self.hidden(f"Shape({v.name})")
        flat = self.hidden(self.draw.choice((f"Flatten({v.name})", f"Reshape({v.name},{self.constant(i64(-1))})", f"Flatten<axis=0>({v.name})")))
        if self.draw.random() < 0.5:
            flat = self.hidden(f"{self.draw.choice(UNARY)}({flat})")
        self.add(f"Reshape({flat},{sizes})", v.type, v.dims)

    def expanded(self):
        v = self.floating()
        sizes = self.hidden(f"Shape({v.name})")
        made = (f"Expand({self.weights(1)},{sizes})" if self.type == "float16" or self.draw.random() < 0.5
                else f"ConstantOfShape<value = float[1] {{{self.draw.choice((0, 1))}}}>({sizes})")
        self.add(made, v.type, v.dims)

    def by_size(self):
        """Divided by how many there are."""
        v = self.floating(1)
        size = self.hidden(f"Gather({self.hidden(f'Shape({v.name})')},{self.constant(i64(self.draw.randrange(len(v.dims))))})")
        most = self.hidden(f"Max({size},{self.constant(i64(1))})") if self.draw.random() < 0.5 else size
        self.add(f"{self.draw.choice(('Div', 'Mul'))}({v.name},{self.hidden(f'Cast<to={CODES[v.type]}>({most})')})", v.type, v.dims)

    def counted(self):
        v = self.floating(1)
        axis = self.draw.randrange(len(v.dims))
        size = self.hidden(f"Gather({self.hidden(f'Shape({v.name})')},{self.constant(np.array(axis))})")
        self.add(f"Range({self.constant(np.array(0))},{size},{self.constant(np.array(1))})", "int64", (v.dims[axis],))

    # ---- Bodies.
    def branched(self):
        v = self.floating()
        condition = next((u.name for u in self.values if u.type == "bool" and not u.dims), None)
        kind = self.draw.random()
        if kind < 0.3:
            condition = self.constant(np.array(self.draw.random() < 0.5))
        elif condition is None or kind < 0.6:
            condition = self.hidden(f"Greater({self.hidden(f'Size({v.name})')},{self.constant(np.array(self.draw.choice((0, 5, 1000))))})")
        inner, t, e, r, q = (self.name("h") for _ in range(5))
        body = f"{inner} = {self.draw.choice(UNARY)}({v.name}) {r} = {self.draw.choice(BINARY)}({inner},{v.name})"
        self.add(f"If ({condition}) <then_branch = {t} () => ({v.type}[] {r}) {{ {body} }}, "
                 f"else_branch = {e} () => ({v.type}[] {q}) {{ {q} = {self.draw.choice(UNARY)}({v.name}) }}>", v.type, v.dims)

    def called(self):
        v = self.floating(1)
        if len(self.functions) < 2:
            self.functions.append(function(self.draw.choice(FUNCTIONS), f"f{len(self.functions)}", opset=self.draw.choice((18, 18, 17))))
        self.add(f"my.f{self.draw.randrange(len(self.functions))}({v.name})", v.type, v.dims)

    def again(self):
        """Something that was computed already."""
        texts = [b for b in self.body if b.startswith("v") and " = If" not in b]
        if texts:
            name, expression = self.draw.choice(texts).split(" = ", 1)
            value = next(v for v in self.values if v.name == name)
            self.add(expression, value.type, value.dims)

    def model(self) -> Model:
        steps = (self.unary, self.binary, self.by_constant, self.by_constant, self.by_computed_constant, self.clipped, self.leaky, self.chosen, self.compared,
                 self.logical, self.cast_there_and_back, self.quantized, self.integers, self.product, self.product, self.product_from_left,
                 self.product_with_itself, self.convolution, self.convolution, self.batch_normalized, self.batch_normalized, self.layer_normalized, self.pooled,
                 self.softmax, self.reduced, self.broadcast_back, self.summed_up, self.transposed, self.transposed, self.sliced, self.sliced, self.joined,
                 self.split_and_joined, self.gathered, self.looked_up, self.padded, self.one_more_axis, self.one_axis_less, self.tiled, self.merged,
                 self.there_and_back, self.expanded, self.by_size, self.counted, self.branched, self.called, self.again)
        wanted = self.draw.choice((5, 8, 12, 12, 20, 40))
        for _ in range(4 * wanted):
            if len(self.body) >= wanted:
                break
            self.draw.choice(steps)()
        # What nothing reads is put out, but for some: dead code is code too.
        text = " ".join(self.body)
        unread = [v for v in self.values[len(self.fed):] if len(re.findall(rf"\b{v.name}\b", text)) == 1] or self.values[-1:]
        outputs = [(f"y{k}", value) for k, value in enumerate(unread) if k == 0 or self.draw.random() < 0.9]
        self.body += [f"{name} = Identity({value.name})" for name, value in outputs]
        signature = ", ".join(f"{v.type}{list(v.dims) if v.dims else ''} {v.name}".replace("'", "") for v in self.fed)
        results = ", ".join(f"{value.type}[] {name}" for name, value in outputs)
        return Model(f"({signature}) => ({results}) {{ {' '.join(self.body)} }}", self.constants, functions="".join(self.functions))


@dataclasses.dataclass(frozen=True)
class RandomModel:
    """One of them, made when it is its turn."""
    name: str
    seed: str

    def ask(self, folder: pathlib.Path, seconds: int) -> Finding:
        return Optimization(self.name, Builder(self.seed).model()).ask(folder, seconds)


def cases(draw: random.Random) -> Iterator[RandomModel]:
    """Without an end."""
    first = draw.randrange(2**32)
    k = 0
    while True:
        yield RandomModel(f"model {first} {k}", f"{first} {k}")
        k += 1
