"""Inputs for a model, drawn from what it declares: sizes with 0 and 1 among them, and values of several kinds."""
import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import onnx
from onnx import helper

Feed = dict[str, np.ndarray]

# One, none, the same and different numbers for two symbols, and more than the constants of the models speak of.
SIZES = ((2, 3), (3, 3), (7, 6), (0, 0), (3, 0), (0, 2), (1, 1), (1, 4), (5, 1))
KINDS = ("normal", "integers", "zeros", "positive", "large", "negative")


def _floats(kind: str, shape: list[int], draw: np.random.Generator) -> np.ndarray:
    if kind == "integers":
        return draw.integers(-3, 4, shape).astype(np.float64)
    if kind == "zeros":
        return np.zeros(shape)
    values = draw.standard_normal(shape)
    if kind in ("positive", "negative"):
        return (np.abs(values) + 0.1) * (1 if kind == "positive" else -1)
    return values * (30 if kind == "large" else 1.5)


def _values(element: int, kind: str, shape: list[int], draw: np.random.Generator) -> np.ndarray:
    dtype = helper.tensor_dtype_to_np_dtype(element)
    if element == onnx.TensorProto.BOOL:
        return np.full(shape, kind == "positive") if kind in ("zeros", "positive") else np.asarray(draw.random(shape) < 0.5)
    if element in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE, onnx.TensorProto.BFLOAT16):
        return np.asarray(_floats(kind, shape, draw)).astype(dtype)
    limits = np.iinfo(dtype)
    if kind == "zeros":
        return np.zeros(shape, dtype)
    if kind == "large":
        return np.asarray(draw.choice(np.array([limits.min, limits.max, limits.max - 1, limits.min + 1, 1, limits.max // 2], dtype), shape))
    low = 1 if kind == "positive" or limits.min == 0 else -4
    return np.asarray(draw.integers(low, 0 if kind == "negative" and low < 0 else 5, shape)).astype(dtype)


EXTREMES = ("normal", "zeros of both signs", "not a number", "infinite", "denormal", "huge", "limits", "empty")


def _extreme(element: int, kind: str, shape: list[int], draw: np.random.Generator) -> np.ndarray:
    """Values of such a kind; of integers and truth values most of them are ordinary ones."""
    values = _values(element, "large" if kind == "limits" else "normal", shape, draw)
    if values.dtype.kind != "f" and element != onnx.TensorProto.BFLOAT16:
        return values
    limits = np.finfo(values.dtype) if values.dtype.kind == "f" else np.finfo(np.float32)
    some = draw.random(shape) < 0.3
    signs = draw.choice((-1.0, 1.0), shape)
    special = {"zeros of both signs": signs * 0.0, "not a number": np.full(shape, np.nan), "infinite": signs * np.inf,
               "denormal": signs * float(limits.smallest_subnormal) * draw.integers(1, 9, shape), "huge": signs * float(limits.max) ** 0.5}.get(kind)
    if special is None:
        return values
    if kind == "huge":
        some |= draw.random() < 0.5  # all of them, or beside small ones
        special = special * (1 + draw.random(shape))
    return np.where(some | (kind == "zeros of both signs"), special, values.astype(np.float64)).astype(values.dtype)


def extreme(model: onnx.ModelProto, seed: int, fixed: Feed) -> Iterator[Feed]:
    """A feed of each kind of EXTREMES. What is `fixed` is fed as it is; NaN and infinities go to one input, so that something is left to be compared."""
    defaults = {t.name for t in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in defaults]
    symbols = list(dict.fromkeys(d.dim_param for i in inputs for d in i.type.tensor_type.shape.dim if d.dim_param))
    draw = np.random.default_rng(seed)
    for number, kind in enumerate(EXTREMES):
        if kind == "empty" and not symbols:
            continue
        sizes = {s: 0 if kind == "empty" and (k + seed) % 2 == 0 else 2 + (k + number) % 3 for k, s in enumerate(symbols)}
        chosen = inputs[int(draw.integers(len(inputs)))].name if inputs else ""
        feed = {}
        for i in inputs:
            spoilt = kind in ("not a number", "infinite") and i.name != chosen
            shape = [sizes.get(d.dim_param, d.dim_value) for d in i.type.tensor_type.shape.dim]
            feed[i.name] = fixed[i.name] if i.name in fixed else _extreme(i.type.tensor_type.elem_type, "normal" if spoilt else kind, shape, draw)
        yield feed


def drawn(model: onnx.ModelProto, seed: int) -> Iterator[Feed]:
    """Feeds for the inputs that have no default. A dimension without a name has the size of its place, as if it had one."""
    defaults = {t.name for t in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in defaults]
    symbols = list(dict.fromkeys(d.dim_param for i in inputs for d in i.type.tensor_type.shape.dim if d.dim_param))
    draw = np.random.default_rng(seed)
    kinds = itertools.cycle(KINDS)
    for sizes in SIZES if symbols else SIZES[:1] * len(KINDS):
        of = {s: sizes[k % 2] for k, s in enumerate(symbols)}
        for kind in itertools.islice(kinds, 2 if symbols and 0 not in sizes else 1):
            yield {i.name: _values(i.type.tensor_type.elem_type, kind,
                                   [of.get(d.dim_param, d.dim_value) for d in i.type.tensor_type.shape.dim], draw) for i in inputs}


def of_sizes_from(least: int, model: onnx.ModelProto, fed: Iterable[Feed]) -> Iterator[Feed]:
    """Those in which every size that an input leaves open is at least this."""
    open_axes = [(i.name, axis) for i in model.graph.input for axis, d in enumerate(i.type.tensor_type.shape.dim) if not d.HasField("dim_value")]
    return (feed for feed in fed if all(feed[name].shape[axis] >= least for name, axis in open_axes if name in feed))
