"""What ONNX Runtime says of two models: an input on which the second is not what docs/concepts/equality.md promises of equal models.

Equal means: wherever A runs and every value that it computes is finite, B runs and gives the same types, shapes and values, floats up to rounding.
What rounding may do is measured: both models are run again with every operation that rounds a little off, some times, and a difference counts if it
exceeds what that changes. Values that come of constants alone stay as they are if a jump or a narrowing cast of constants reads them: those are folded in
their own arithmetic.
"""
import functools
import pathlib
from collections.abc import Iterable

import numpy as np
import onnx
import onnx.inliner
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from attack.feeds import Feed

onnxruntime.set_default_logger_severity(4)

# Relative: some hundred roundings, as a long sum has; and how far off a noisy operation is, a few.
ROUNDING = {np.dtype(np.float16): 2e-2, np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-9}
COARSE = {helper.np_dtype_to_tensor_dtype(t): r for t, r in ROUNDING.items()}
NOISE = {TensorProto.FLOAT16: 2e-3, TensorProto.FLOAT: 5e-7, TensorProto.DOUBLE: 1e-15}
ELEMENTS = {"tensor(float16)": TensorProto.FLOAT16, "tensor(float)": TensorProto.FLOAT, "tensor(double)": TensorProto.DOUBLE}
NOISY_RUNS = 24  # a half that a quantiser rounds may fall to the other side in few of them
LAST_DIGITS = 32  # of the largest element: what a sum of elements that cancel may be off by
FEW_BITS = 8  # a value of so few binary digits was not rounded, one may assume

# Operators whose results are values of their inputs, or decide something: they don't round.
EXACT = frozenset({
    "Abs", "And", "ArgMax", "ArgMin", "Ceil", "Clip", "Compress", "Concat", "ConstantOfShape", "DepthToSpace", "Equal", "Expand", "EyeLike",
    "Flatten", "Floor", "Gather", "GatherElements", "GatherND", "Greater", "GreaterOrEqual", "Identity", "If", "IsInf", "IsNaN", "Less",
    "LessOrEqual", "Loop", "Max", "MaxPool", "Min", "Neg", "NonZero", "Not", "Or", "Pad", "PRelu", "ReduceMax", "ReduceMin", "Relu", "Reshape",
    "Round", "ScatterElements", "ScatterND", "Shape", "Sign", "Size", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "TopK", "Transpose",
    "Trilu", "Unique", "Unsqueeze", "Where", "Xor"})


JUMPS = frozenset({"ArgMax", "ArgMin", "Cast", "CastLike", "Ceil", "Equal", "Floor", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Mod",
                   "QuantizeLinear", "DynamicQuantizeLinear", "Round", "Sign", "NonZero", "TopK", "Unique"})


# Operators that multiply inside what their outputs don't show: an infinite product is a 1 behind a tanh, a 0 behind a quotient.
HIDING = frozenset({"RNN", "LSTM", "GRU", "LayerNormalization", "SimplifiedLayerNormalization", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization",
                    "EmbedLayerNormalization", "RMSNormalization", "InstanceNormalization", "GroupNormalization", "LpNormalization",
                    "MeanVarianceNormalization", "LRN", "ReduceL2", "LpPool", "GlobalLpPool", "Attention", "MultiHeadAttention", "GroupQueryAttention", "Gelu",
                    "FastGelu", "BiasGelu", "QuickGelu", "Mish", "HardSwish", "Swish"})


class Failure(str):
    """Why the runtime doesn't run a model on an input."""


class Program:
    """A model file on the real runtime, as it is written: nothing optimized, one thread. It runs nodes that no output needs, and fails where one of them does;
    questions about values on the way to an output use the file without them."""

    def __init__(self, path: pathlib.Path):
        self.session = session(str(path))  # raises what the runtime says of a model that it doesn't take
        model = onnx.load(path, load_external_data=False)
        dead = _dead_nodes(model.graph)
        for k in reversed(dead):
            del model.graph.node[k]
        self.path = path.with_suffix(".live.onnx") if dead else path  # beside its external data
        if dead:
            self.path.write_bytes(model.SerializeToString())

    def run(self, feed: Feed) -> list | Failure:
        return _run(self.session, feed)

    def computed(self, feed: Feed) -> list:
        """All values that it computes on the way, as far as the runtime gives them away; those inside of branches are not among them."""
        values = _run(self._exposed, feed) if self._exposed else Failure()
        return self.run(feed) if isinstance(values, Failure) else values

    def finite_outputs(self, feed: Feed) -> list[int]:
        """Outputs with only finite values on the way to them; values inside bodies are not visible."""
        values = _run(self._exposed, feed) if self._exposed else Failure()
        if isinstance(values, Failure):
            return []
        names = [o.name for o in self._exposed.get_outputs()]
        graph = onnx.load(self.path, load_external_data=False).graph
        external = TensorProto.EXTERNAL
        known = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer if t.data_location != external} | dict(zip(names, values)) | feed
        beside = {t.name for t in graph.initializer if t.data_location == external}
        fine = {n for n, v in known.items() if is_finite([v])} | beside | {""}
        for node in graph.node:
            is_seen = not any(a.HasField("g") for a in node.attribute) and node.domain in ("", "com.microsoft")
            if not is_seen or not all(n in fine for n in node.input) or _may_hide_overflow(node, known):
                fine -= set(node.output)
        return [k for k, o in enumerate(graph.output) if o.name in fine]

    def may_hide_overflow(self, feed: Feed) -> bool:
        """Whether a product inside of an operator may have been infinite."""
        graph = onnx.load(self.path, load_external_data=False).graph
        if not any(n.op_type in HIDING for n in graph.node) or self._exposed is None:
            return False
        values = _run(self._exposed, feed)
        known = {} if isinstance(values, Failure) else dict(zip((o.name for o in self._exposed.get_outputs()), values)) | feed
        return any(_may_hide_overflow(n, known) for n in graph.node)

    @property
    def can_be_noisy(self) -> bool:
        return self._noisy is not None

    def noisy(self, feed: Feed) -> list:
        """Outputs of runs that round a little otherwise."""
        runs = (_run(self._noisy, feed) for _ in range(NOISY_RUNS)) if self._noisy else ()
        return [r for r in runs if not isinstance(r, Failure)]

    @functools.cached_property
    def roundings(self) -> list[float]:
        """For each output, what the narrowest float that it is made of loses by rounding."""
        model, types = self._typed()
        makers = {o: n for n in model.graph.node for o in n.output if o}
        types |= {t.name: t.data_type for t in model.graph.initializer}
        out = []
        for o in model.graph.output:
            seen, todo = set(), [o.name]
            while todo:
                name = todo.pop()
                if name not in seen:
                    seen.add(name)
                    todo += _reads(makers[name]) if name in makers else ()
            out.append(max((COARSE.get(types.get(n), 0.0) for n in seen), default=0.0))
        return out

    @functools.cached_property
    def _exposed(self):
        model, types = _typed(self.path)
        shown = {o.name for o in model.graph.output}
        taken = (TensorProto.BFLOAT16, TensorProto.STRING)  # what numpy or finiteness doesn't know
        names = [o for n in model.graph.node for o in n.output if o and o not in shown and types.get(o) not in taken]
        model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names)
        return self._changed(model)

    def _typed(self) -> tuple[onnx.ModelProto, dict[str, int]]:
        """The model with its functions written out, and the element types of its values: the runtime knows operators that the onnx package doesn't."""
        model, types = _typed(self.path)
        shown = self._exposed.get_outputs() if self._exposed else ()
        return model, {o.name: ELEMENTS.get(o.type, 0) for o in shown} | types

    @functools.cached_property
    def _noisy(self):
        model, types = self._typed()
        constant = _constants_before_jumps(model.graph, types)
        nodes = []
        for k, node in enumerate(model.graph.node):
            nodes.append(node)
            if k in constant:
                continue
            for o, name in enumerate(node.output):
                if types.get(name) in NOISE and node.op_type not in EXACT:
                    node.output[o] = f"{name}_exact"
                    nodes += _off(name, NOISE[types[name]])
        del model.graph.node[:]
        model.graph.node.extend(nodes)
        return self._changed(model)

    def _changed(self, model: onnx.ModelProto):
        path = self.path.with_suffix(".changed.onnx")  # beside its external data
        path.write_bytes(model.SerializeToString())
        try:
            return session(str(path))
        except Exception:  # the runtime lacks a kernel for one of the new values
            return None


def _reads(node: onnx.NodeProto) -> set[str]:
    """Names that it reads; of those inside of its bodies, some may be their own."""
    inside = (n for a in node.attribute for n in a.g.node)
    return set(node.input).union(*map(_reads, inside), *({o.name for o in a.g.output} for a in node.attribute))


def _may_hide_overflow(node: onnx.NodeProto, known: dict) -> bool:
    floats = [v for n in node.input if isinstance(v := known.get(n), np.ndarray) and v.dtype.kind == "f" and v.size]
    if node.op_type not in HIDING or not floats or not is_finite(floats):
        return False
    largest = max(float(np.abs(v.astype(np.float64)).max()) for v in floats)
    return largest > (max(float(np.finfo(v.dtype).max) for v in floats) / max(v.size for v in floats)) ** 0.5


def _dead_nodes(graph: onnx.GraphProto) -> list[int]:
    needed, dead = {o.name for o in graph.output}, []
    for k in range(len(graph.node) - 1, -1, -1):
        if needed.intersection(graph.node[k].output):
            needed |= _reads(graph.node[k])
        else:
            dead.append(k)
    return dead[::-1]


def session(path: str | bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _run(loaded: onnxruntime.InferenceSession, feed: Feed) -> list | Failure:
    try:
        return loaded.run(None, feed)
    except Exception as error:  # whatever it says
        return Failure(" ".join(str(error).split())[:200])


def _typed(path: pathlib.Path) -> tuple[onnx.ModelProto, dict[str, int]]:
    """The model with its functions written out, and the element types of its values."""
    model = onnx.load(path, load_external_data=False)
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    known = onnx.shape_inference.infer_shapes(model).graph
    types = {v.name: v.type.tensor_type.elem_type for v in [*known.value_info, *known.output, *known.input]}
    return model, {name: element for name, element in types.items() if element}


def _constants_before_jumps(graph: onnx.GraphProto, types: dict[str, int]) -> set[int]:
    """Nodes that nothing which is fed reaches, if they must be computed exactly: a jump of constants follows from them, or they are it."""
    fed, constant = {i.name for i in graph.input}, []
    for k, node in enumerate(graph.node):
        if fed.intersection(node.input) or any(a.HasField("g") for a in node.attribute):
            fed.update(node.output)
        else:
            constant.append(k)
    exact, before = set(), set()
    for k in reversed(constant):
        node = graph.node[k]
        if _is_jump(node, types) or before.intersection(node.output):
            exact.add(k)
            before.update(node.input)
    return exact


def _is_jump(node: onnx.NodeProto, types: dict[str, int]) -> bool:
    """A cast is one, unless it keeps every value."""
    if node.op_type not in ("Cast", "CastLike"):
        return node.op_type in JUMPS
    given, made = types.get(node.input[0]), types.get(node.output[0])
    return given not in NOISE or made not in NOISE or NOISE[made] > NOISE[given]


def _off(name: str, by: float) -> list[onnx.NodeProto]:
    """Nodes that make `name` of `name`_exact, every element a little off."""
    exact, noise, cast = f"{name}_exact", f"{name}_noise", f"{name}_noise_cast"
    # Made in double and added as a share, since 1 + noise would be rounded to 1 or its neighbours.
    return [helper.make_node("RandomUniformLike", [exact], [noise], dtype=TensorProto.FLOAT, low=-by, high=by),
            helper.make_node("CastLike", [noise, exact], [cast]), helper.make_node("Mul", [exact, cast], [f"{name}_share"]),
            helper.make_node("Add", [exact, f"{name}_share"], [name])]


def is_finite(values: Iterable) -> bool:
    return all(np.isfinite(v).all() for v in values if isinstance(v, np.ndarray) and v.dtype.kind == "f")


def _was_exact(values: Iterable) -> bool:
    """No float has more than a few binary digits: nothing was rounded."""
    floats = (np.frexp(v.astype(np.float64))[0] * 2**FEW_BITS for v in values if isinstance(v, np.ndarray) and v.dtype.kind == "f")
    return all((m == np.floor(m)).all() for m in floats)


def _numbers(value: np.ndarray) -> np.ndarray:
    return value if value.dtype == object or value.dtype.itemsize == 8 else value.astype(np.float64)


def _spread(exact: list, noisy: list[list]) -> list[np.ndarray]:
    """By how much noise changes every element; infinite where it changes a shape."""
    out = []
    for k, x in enumerate(exact):
        spread = np.zeros(getattr(x, "shape", ()))
        for run in noisy:
            if getattr(run[k], "shape", ()) != spread.shape:
                spread = np.full(spread.shape, np.inf)
            elif isinstance(x, np.ndarray) and x.dtype.kind in "fiu":
                spread = np.maximum(spread, np.nan_to_num(np.abs(_numbers(run[k]) - _numbers(x)).astype(np.float64), nan=np.inf))
            elif isinstance(x, np.ndarray):
                spread = np.where(run[k] != x, np.inf, spread)
        out.append(spread)
    return out


def difference(a: list, b: list, rounding: float | None = None, slack: list | None = None) -> str | None:
    """The first output that differs by more than rounding, or than `slack` allows element by element."""
    for k, (x, y) in enumerate(zip(a, b)):
        if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
            if str(x) != str(y):
                return f"output {k}: {str(x)[:40]} and {str(y)[:40]}"
            continue
        if x.dtype != y.dtype or x.shape != y.shape:
            return f"output {k}: {x.dtype}{list(x.shape)} and {y.dtype}{list(y.shape)}"
        if x.dtype.kind == "f":
            u, v = x.astype(np.float64), y.astype(np.float64)
            with np.errstate(invalid="ignore"):
                near = np.abs(u - v) <= (rounding or ROUNDING[x.dtype]) * np.abs(u) + np.finfo(x.dtype).tiny + (slack[k] if slack else 0)
            wrong = ~(near | (u == v) | (np.isnan(u) & np.isnan(v)))
        else:
            wrong = x != y
            if slack and x.dtype.kind in "iu":
                wrong &= np.abs(_numbers(x) - _numbers(y)) > slack[k]
            elif slack:
                wrong &= slack[k] == 0
        if wrong.any():
            at = int(np.flatnonzero(wrong.ravel())[0])
            return f"output {k} at {at}: {x.flat[at]} and {y.flat[at]}"
    return None


def _explained_by_lost_roundings(a: Program, feed: Feed, y: list, rounding: float | None, kept: list[int]) -> bool:
    """Whether the second agrees with the first as ONNX's reference runs it. Between nodes of 16 bits the runtime keeps 32 of a value for one
    reader and 16 for another: there `x >= x` may be false."""
    if not any(v.dtype == np.float16 for v in feed.values()):
        return False
    try:
        return difference(_some(ReferenceEvaluator(str(a.path)).run(None, dict(feed)), kept), y, rounding) is None
    except Exception:  # an operator that it doesn't have
        return False


def _some(values: list, kept: list[int]) -> list:
    return [values[k] for k in kept]


def _beyond_rounding(a: Program, b: Program, feed: Feed, x: list, y: list, rounding: float | None, kept: list[int]) -> str | None:
    """The first difference that rounding doesn't explain."""
    if _was_exact([*a.computed(feed), *b.computed(feed)]):
        return difference(x, y, rounding)
    with np.errstate(over="ignore", invalid="ignore"):
        noisy = [[_some(run, kept) for run in program.noisy(feed)] for program in (a, b)]
        noise = [4 * (s + t) for s, t in zip(_spread(x, noisy[0]), _spread(y, noisy[1]))]
    can_be_noisy = a.can_be_noisy and b.can_be_noisy
    for k, (u, v) in enumerate(zip(x, y)):
        if difference([u], [v], rounding) is None:
            continue
        # For a wide output with narrow values among its inputs, where no noise can be added, only the rounding of these is known.
        narrowest = max(a.roundings[kept[k]], b.roundings[kept[k]])
        is_wide = isinstance(u, np.ndarray) and ROUNDING.get(u.dtype, 0.0) < narrowest
        if (is_wide or not can_be_noisy) and difference([u], [v], max(narrowest, rounding or 0.0)) is None:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            what = difference([u], [v], rounding, [noise[k] + _last_digits(u)])
        if what is not None:
            return what.replace("output 0", f"output {kept[k]}", 1)
    return None


def _last_digits(value) -> float:
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or not value.size:
        return 0.0
    return LAST_DIGITS * float(np.finfo(value.dtype).eps) * float(np.abs(value.astype(np.float64)).max())


def falsehood(a: Program, b: Program, feeds: Iterable[Feed], rounding: float | None = None) -> str | None:
    """Where B breaks the promise; None: on none of these inputs."""
    for feed in feeds:
        x = a.run(feed)
        if isinstance(x, Failure):
            continue
        y = b.run(feed)
        what = f"the second fails: {y}" if isinstance(y, Failure) else difference(x, y, rounding)
        if what is None:
            continue
        kept = list(range(len(x)))
        if not is_finite([*feed.values(), *a.computed(feed)]) or a.may_hide_overflow(feed):
            kept = [] if isinstance(y, Failure) else a.finite_outputs(feed)
            x, y = _some(x, kept), y if isinstance(y, Failure) else _some(y, kept)
            what = difference(x, y, rounding) if kept else None
        if what is None:
            continue
        if not isinstance(y, Failure) and all(getattr(u, "shape", 0) == getattr(v, "shape", 0) for u, v in zip(x, y)):
            what = _beyond_rounding(a, b, feed, x, y, rounding, kept)
            if what is None or _explained_by_lost_roundings(a, feed, y, rounding, kept):
                continue
        return f"{what}; fed {spelled(feed)}"
    return None


def falsehood_of_outputs(a: Program, b: Program, feed: Feed, y: list) -> str | None:
    """Whether another program's outputs for B break the promise, on an input for which all values of A are finite."""
    x = a.run(feed)
    if isinstance(x, Failure) or difference(x, y) is None or not is_finite([*feed.values(), *a.computed(feed)]) or a.may_hide_overflow(feed):
        return None
    if any(getattr(u, "shape", 0) != getattr(v, "shape", 0) for u, v in zip(x, y)):
        return f"{difference(x, y)}; fed {spelled(feed)}"
    what = _beyond_rounding(a, b, feed, x, y, None, list(range(len(x))))
    return None if what is None or _explained_by_lost_roundings(a, feed, y, None, list(range(len(x)))) else f"{what}; fed {spelled(feed)}"


def never_runs(path: pathlib.Path, feeds: Iterable[Feed]) -> bool:
    """Whether the file as it is, with nodes that no output needs, fails on all inputs."""
    whole = session(str(path))
    return all(isinstance(_run(whole, feed), Failure) for feed in feeds)


def spelled(feed: Feed) -> str:
    values = {name: f" {value.ravel().tolist()}" if value.size <= 6 else "" for name, value in feed.items()}
    return ", ".join(f"{name} {value.dtype}{list(value.shape)}{values[name]}" for name, value in feed.items())


def evaluate(model: onnx.ModelProto, feed: Feed) -> list | Failure:
    """One run of a model that is in no file."""
    try:
        loaded = session(model.SerializeToString())
    except Exception as error:  # as above
        return Failure(str(error))
    return _run(loaded, feed)
