"""Attention with lengths that differ wherever two axes may: queries, keys, what is remembered, heads, shared heads, and sizes of heads.

Our interpreter computes what ONNX Runtime computes, or refuses. `lengths` does the same with calls of every operator of ONNX Runtime's own domain.
"""
import dataclasses
import pathlib
import random
from collections.abc import Iterator

import numpy as np
import onnx
from onnx import helper

import programs
from attack import calls, oracle
from attack.cases import Finding, by_turns
from attack.feeds import Feed

NEAR = 2e-4  # of the largest value of an output: sums of some dozens of products
NEAR_OF = {np.dtype(np.float16): 4e-3, np.dtype(np.float64): 1e-9}
MASK_VALUE = -10000.0  # what scores below it come to is a matter of rounding


class Drawn:
    """A call in the making."""

    def __init__(self, seed: str):
        self.draw = random.Random(seed)
        self.numbers = np.random.default_rng(self.draw.randrange(2**32))
        self.feed: Feed = {}
        self.inputs: list[str] = []
        self.attributes: dict = {}

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def unlike(self, count: int, least: int = 1, most: int = 6) -> list[int]:
        """This number of different numbers."""
        return self.draw.sample(range(least, most + 1), count)

    def floats(self, *extents: int) -> None:
        self.array(self.numbers.standard_normal(extents).astype(np.float32))

    def integers(self, values, dtype=np.int32) -> None:
        self.array(np.asarray(values, dtype))

    def array(self, value: np.ndarray) -> None:
        name = f"in{len(self.inputs)}"
        self.inputs.append(name)
        self.feed[name] = np.asarray(value)

    def absent(self, count: int = 1) -> None:
        self.inputs += [""] * count

    def model(self, op: str, domain: str, outputs: list[str], opset: int = 21) -> onnx.ModelProto:
        while self.inputs and not self.inputs[-1]:
            self.inputs.pop()
        node = helper.make_node(op, self.inputs, outputs, domain=domain, **self.attributes)
        declared = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in self.feed.items()]
        graph = helper.make_graph([node], "g", declared, [onnx.ValueInfoProto(name=o) for o in outputs if o])
        imports = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])]
        return helper.make_model(graph, opset_imports=imports, ir_version=10)


def multi_head(d: Drawn) -> onnx.ModelProto:
    queries, keys, past = d.unlike(3)
    batch, heads = d.unlike(2, 1, 4)
    size, width = d.draw.sample((1, 2, 3, 4, 6), 2)
    across, has_past = d.chance(0.2), d.chance(0.3)  # across: keys and values by heads
    has_past = has_past and not across
    if across or has_past:
        width = size
    d.floats(batch, queries, heads * size)
    for extent in (size, width):
        d.floats(*((batch, heads, keys, extent) if across else (batch, keys, heads * extent)))
    total = keys + past if has_past else keys
    if d.chance(0.3) and not across:
        d.floats(2 * heads * size + heads * width)
    else:
        d.absent()
    mask = d.draw.choice(("", "", "", "lengths", "keys", "all", "queries"))
    if mask == "lengths":
        d.integers(d.numbers.integers(1, total + 1, batch))
    elif mask == "keys":
        d.integers(np.maximum(d.numbers.integers(0, 2, (batch, total)), np.eye(1, total, dtype=np.int64)))
    elif mask == "all":
        d.integers(np.maximum(d.numbers.integers(0, 2, (batch, queries, total)), np.eye(1, total, dtype=np.int64)))
    elif mask == "queries":
        d.integers(np.maximum(d.numbers.integers(0, 2, (batch, queries)), 1))
    else:
        d.absent()
    if d.chance(0.4):
        d.floats(d.draw.choice((1, batch)), d.draw.choice((1, heads)), queries, total)
    else:
        d.absent()
    outputs = ["y"]
    if has_past:
        d.floats(batch, heads, past, size)
        d.floats(batch, heads, past, width)
        outputs = ["y", "k", "v"]
    elif d.chance(0.3):
        outputs = ["y", "k", "v"]
    d.attributes["num_heads"] = heads
    if d.chance(0.5):
        d.attributes["unidirectional"] = 1
    if d.chance(0.3):
        d.attributes["scale"] = 0.3
    return d.model("MultiHeadAttention", "com.microsoft", outputs)


def one_weight(d: Drawn) -> onnx.ModelProto:
    """com.microsoft.Attention: the weights of queries, keys and values in one."""
    length, past, given = d.unlike(3)
    batch, heads = d.unlike(2, 1, 4)
    size, width = d.draw.sample((1, 2, 3, 4, 6), 2)
    has_past = d.chance(0.4)
    if has_past or d.chance(0.3):
        width = size
    else:
        d.attributes["qkv_hidden_sizes"] = [heads * size, heads * size, heads * width]
    total = length + past if has_past else length
    d.floats(batch, length, given)
    d.floats(given, heads * (2 * size + width))
    d.floats(heads * (2 * size + width))
    mask = d.draw.choice(("", "", "lengths", "two lengths", "keys", "all"))
    if mask == "lengths":
        d.integers(d.numbers.integers(1, total + 1, batch))
    elif mask == "two lengths":
        d.integers([*d.numbers.integers(max(1, total - 1), total + 1, batch), *d.numbers.integers(0, 1, batch)])
    elif mask == "keys":
        d.integers(np.maximum(d.numbers.integers(0, 2, (batch, total)), np.eye(1, total, dtype=np.int64)))
    elif mask == "all":
        d.integers(np.maximum(d.numbers.integers(0, 2, (batch, length, total)), np.eye(1, total, dtype=np.int64)))
    else:
        d.absent()
    if has_past:
        d.floats(2, batch, heads, past, size)
    elif d.chance(0.4):
        d.absent()
        d.floats(d.draw.choice((1, batch)), d.draw.choice((1, heads)), length, total)
    d.attributes["num_heads"] = heads
    if d.chance(0.5):
        d.attributes["unidirectional"] = 1
    if d.chance(0.3):
        d.attributes["scale"] = 0.3
    return d.model("Attention", "com.microsoft", ["y", "present"] if has_past or d.chance(0.3) else ["y"])


def grouped(d: Drawn) -> onnx.ModelProto:
    shared, groups = d.draw.sample((1, 2, 3), 2)
    heads, size = shared * groups, d.draw.choice((8, 16, 24))
    is_first, rotates, packed = d.chance(0.4), d.chance(0.4), d.chance(0.3)
    rotates = rotates and size == 16
    length = d.draw.randint(1, 5) if is_first else d.draw.choice((1, 1, 2, 3))
    batch = 1 if length > 1 and not is_first else d.draw.randint(1, 3)
    before = 0 if is_first else d.draw.randint(1, 6)
    total = before + length
    past = d.draw.choice((before, total, total + 3))
    d.floats(batch, length, (heads + 2 * shared if packed else heads) * size)
    for _ in range(2):
        if packed:
            d.absent()
        else:
            d.floats(batch, length, shared * size)
    for _ in range(2):
        if is_first and past == 0:
            d.absent()
        else:
            d.floats(batch, shared, past, size)
    last = np.full(batch, total - 1)
    if batch > 1:
        last[1] = d.draw.randint(0 if is_first else length - 1, total - 1)
    d.integers(last)
    d.integers([total])
    if rotates:
        d.floats(total + d.draw.randint(1, 5), size // 2)
        d.array(d.numbers.standard_normal(d.feed[d.inputs[-1]].shape).astype(np.float32))
        d.attributes["do_rotary"] = 1
        if d.chance(0.4):
            d.attributes["rotary_interleaved"] = 1
    d.attributes |= {"num_heads": heads, "kv_num_heads": shared}
    if d.chance(0.3):
        d.attributes["scale"] = 0.3
    if d.chance(0.3):
        d.attributes["softcap"] = 2.0
    if d.chance(0.3):
        d.attributes["local_window_size"] = d.draw.randint(1, 4)
    return d.model("GroupQueryAttention", "com.microsoft", ["y", "k", "v"])


def of_onnx(d: Drawn, opset: int) -> onnx.ModelProto:
    queries, keys, past = d.unlike(3)
    shared, groups = d.draw.sample((1, 2, 3), 2)
    batch, heads = d.draw.randint(1, 3), shared * groups
    size, width = d.draw.sample((1, 2, 3, 4, 6), 2)
    has_past, is_flat = d.chance(0.3), d.chance(0.4)
    total = keys + past if has_past else keys
    for n, length, extent in ((heads, queries, size), (shared, keys, size), (shared, keys, width)):
        d.floats(*((batch, length, n * extent) if is_flat else (batch, n, length, extent)))
    if is_flat:
        d.attributes |= {"q_num_heads": heads, "kv_num_heads": shared}
    if d.chance(0.4):
        mask = [d.draw.choice((1, batch)), d.draw.choice((1, heads)), queries, total][d.draw.choice((0, 1, 2)):]
        if d.chance(0.5):
            d.floats(*mask)
        else:
            allowed = d.numbers.random(mask) < 0.7
            allowed[..., 0] = True
            d.array(allowed)
    else:
        d.absent()
    lengths = opset >= 24 and not has_past and d.chance(0.3)
    if has_past:
        d.floats(batch, shared, past, size)
        d.floats(batch, shared, past, width)
    else:
        d.absent(2)
    if lengths:
        d.integers(d.numbers.integers(1, keys + 1, batch), np.int64)
    outputs = ["y"]
    if has_past or d.chance(0.2):
        outputs = ["y", "k", "v"]
    if d.chance(0.4):
        outputs = [*outputs, *["", ""][:3 - len(outputs)], "s"]
        d.attributes["qk_matmul_output_mode"] = d.draw.randint(0, 3)
    if d.chance(0.4):
        d.attributes["is_causal"] = 1
    if d.chance(0.3):
        d.attributes["scale"] = 0.3
    if d.chance(0.4):
        d.attributes["softcap"] = 1.5
    return d.model("Attention", "", outputs, opset)


def quantised(d: Drawn) -> onnx.ModelProto:
    """com.microsoft.QAttention."""
    length, past, given = d.unlike(3)
    batch, heads = d.unlike(2, 1, 4)
    size = d.draw.choice((1, 2, 3, 4))
    d.array(d.numbers.integers(0, 256, (batch, length, given)).astype(np.uint8))
    d.array(d.numbers.integers(-128, 128, (given, 3 * heads * size)).astype(np.int8))
    d.floats(3 * heads * size)
    d.array(np.float32(0.02))
    d.array(np.float32(0.03))
    has_past = d.chance(0.4)
    total = length + past if has_past else length
    mask = d.draw.choice(("", "", "lengths", "keys"))
    if mask == "lengths":
        d.integers(d.numbers.integers(1, total + 1, batch))
    elif mask == "keys":
        d.integers(np.maximum(d.numbers.integers(0, 2, (batch, total)), np.eye(1, total, dtype=np.int64)))
    else:
        d.absent()
    d.array(np.uint8(d.draw.randrange(256)))
    d.array(np.int8(d.draw.randint(-100, 100)))
    if has_past:
        d.floats(2, batch, heads, past, size)
    d.attributes["num_heads"] = heads
    if d.chance(0.5):
        d.attributes["unidirectional"] = 1
    return d.model("QAttention", "com.microsoft", ["y", "present"] if has_past else ["y"])


def rotary(d: Drawn, domain: str) -> onnx.ModelProto:
    batch, heads = d.unlike(2, 1, 4)
    length, positions = d.draw.randint(1, 6), d.draw.randint(8, 12)
    size = d.draw.choice((2, 4, 6, 8))
    rotated = d.draw.choice([r for r in (2, 4, 6, 8) if r <= size])
    is_flat = d.chance(0.5)
    d.floats(*((batch, length, heads * size) if is_flat else (batch, heads, length, size)))
    ids = d.numbers.integers(0, positions, (batch, length))
    if domain:
        d.integers(ids if d.chance(0.5) else [d.draw.randint(0, positions - length)], np.int64)
        d.floats(positions, rotated // 2)
        d.floats(positions, rotated // 2)
    else:
        with_ids = d.chance(0.5)
        for _ in range(2):
            d.floats(*((positions, rotated // 2) if with_ids else (batch, length, rotated // 2)))
        if with_ids:
            d.integers(ids, np.int64)
    if rotated != size:
        d.attributes["rotary_embedding_dim"] = rotated
    if is_flat or rotated != size:
        d.attributes["num_heads"] = heads
    if d.chance(0.5):
        d.attributes["interleaved"] = 1
    return d.model("RotaryEmbedding", domain, ["y"], 21 if domain else 23)


OPERATORS = {
    "MultiHeadAttention": multi_head, "com.microsoft.Attention": one_weight, "GroupQueryAttention": grouped, "Attention 23": lambda d: of_onnx(d, 23),
    "Attention 24": lambda d: of_onnx(d, 24), "QAttention": quantised, "com.microsoft.RotaryEmbedding": lambda d: rotary(d, "com.microsoft"),
    "RotaryEmbedding": lambda d: rotary(d, ""),
}


# ---- the question -------------------------------------------------------------------------------------------------------

def _computed(model: onnx.ModelProto, feed: Feed) -> list | None:
    """What the runtime computes; None: it does not, or not twice the same, as a kernel that reads beyond an input does."""
    first, again = (oracle.evaluate(model, feed) for _ in range(2))
    if isinstance(first, oracle.Failure) or isinstance(again, oracle.Failure):
        return None
    return first if all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in zip(first, again)) else None


def difference(x: list, y: list) -> str | None:
    """The first output whose finite elements differ by more than sums may."""
    for k, (u, v) in enumerate(zip(x, y)):
        if u.dtype != v.dtype or u.shape != v.shape:
            return f"output {k}: {u.dtype}{list(u.shape)} and {v.dtype}{list(v.shape)}"
        if u.dtype.kind != "f":
            if (u != v).any():
                return f"output {k}: other {u.dtype}s"
            continue
        seen = np.isfinite(u) & (u > MASK_VALUE / 2)
        largest = np.abs(u[seen]).max(initial=0)
        with np.errstate(invalid="ignore"):
            off = seen & ~(np.abs(u.astype(np.float64) - v) <= NEAR_OF.get(u.dtype, NEAR) * max(1e-3, float(largest)))
        if off.any():
            at = int(np.flatnonzero(off.ravel())[0])
            return f"output {k} at {at}: {u.flat[at]} and {v.flat[at]}, of {list(u.shape)}"
    return None


def ask(model: onnx.ModelProto, feed: Feed, folder: pathlib.Path, what: str) -> Finding:
    """The interpreter beside the runtime."""
    x = calls.in_a_child(lambda: _computed(model, feed))
    if x is None:
        return Finding()
    path, given, out = folder / "model.onnx", folder / "feed.npz", folder / "out.npz"
    path.write_bytes(model.SerializeToString())
    np.savez(given, **feed)
    done = programs.run([programs.program("isomer"), "run", path, "--feeds", given, "-o", out, "--engine", "reference"], timeout=120)
    if done.code in (2, 3):
        return Finding("undecided")
    if done.code != 0:
        return Finding("crashed", crash=f"{what}: exit {done.code}: {done.stderr.strip()[-200:]}")
    with np.load(out) as values:
        wrong = difference(x, [values[o.name] for o in model.graph.output])
    if wrong:
        wrong = f"{what}: {wrong}; {oracle.spelled({n: v for n, v in feed.items()})}"
    return Finding("proved", wrong, wrong)


@dataclasses.dataclass(frozen=True)
class Attention:
    """One call, drawn when it is its turn."""
    name: str
    seed: str
    op: str

    def ask(self, folder: pathlib.Path, seconds: int) -> Finding:
        del seconds  # the interpreter has no budget
        for again in range(6):  # until the runtime takes it
            d = Drawn(f"{self.seed} {again}")
            model = OPERATORS[self.op](d)
            finding = ask(model, d.feed, folder, f"{d.attributes}")
            if finding.verdict != Finding().verdict:
                return finding
        return Finding()


def cases(draw: random.Random) -> Iterator[Attention]:
    """Without an end."""
    for op, seed in by_turns(draw, OPERATORS):
        yield Attention(f"{op} {seed}", seed, op)


# ---- lengths of every operator of the runtime's own domain ---------------------------------------------------------------

MOST_TRIES = 40  # most changes are none that the runtime takes


def other_lengths(call: calls.Call, draw: random.Random) -> tuple[onnx.ModelProto, Feed, str] | None:
    """The call with some of the axes that have one extent made longer or shorter."""
    numbers = np.random.default_rng(draw.randrange(2**32))
    axes = [(n, k, e) for n, v in call.arrays.items() for k, e in enumerate(v.shape)]
    if not axes:
        return None
    extent = draw.choice(axes)[2]
    same = [(n, k) for n, k, e in axes if e == extent]
    chosen = draw.sample(same, draw.randint(1, max(1, len(same) - 1)))
    to = draw.choice([e for e in (extent + 1, extent + 2, 2 * extent, extent - 1) if e > 0 and e != extent])

    def changed(name: str, value: np.ndarray) -> np.ndarray:
        extents = [to if (name, k) in chosen else e for k, e in enumerate(value.shape)]
        if extents == list(value.shape):
            return value
        return numbers.standard_normal(extents).astype(value.dtype) if value.dtype.kind == "f" and (value < 0).any() else np.resize(value, extents)

    feed = {n: changed(n, v) for n, v in call.feed.items()}
    constants = {n: changed(n, v) for n, v in call.constants.items()}
    return call.rebuilt(feed, constants), feed, f"{call.name}: {extent} becomes {to} in {chosen}"


@dataclasses.dataclass(frozen=True)
class Lengths:
    """One call, drawn when it is its turn."""
    name: str
    seed: str
    domain: str
    op: str

    def ask(self, folder: pathlib.Path, seconds: int) -> Finding:
        del seconds
        draw = random.Random(self.seed)
        of_it = calls.calls(self.domain, self.op)
        for _ in range(MOST_TRIES if of_it else 0):
            made = other_lengths(draw.choice(of_it), draw)
            if made and (finding := ask(made[0], made[1], folder, made[2])).verdict != Finding().verdict:
                return finding
        return Finding()


def lengths(draw: random.Random) -> Iterator[Lengths]:
    """Without an end: every second case is of the runtime's own domain."""
    start = draw.randrange(2**32)
    own = [o for o in calls.operators() if o[0]]
    for k, domain, op in calls.by_turns(draw, own):
        yield Lengths(f"{domain or 'onnx'}.{op} {start} {k}", f"{start} {k}", domain, op)
