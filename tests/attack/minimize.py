"""A model on which something went wrong, made smaller as long as it still does."""
import time
from collections.abc import Callable, Iterator

import onnx
from onnx import shape_inference


def with_outputs(model: onnx.ModelProto, names: list[str], inputs: list[onnx.ValueInfoProto] = ()) -> onnx.ModelProto | None:
    """The part of it that these outputs need, up to the inputs that are given beside its own; None: they are not values of it."""
    graph = model.graph
    cut = {i.name for i in inputs}
    needed, kept = set(names), []
    for node in reversed(graph.node):
        outputs = set(node.output) - cut
        if needed & outputs:
            kept.insert(0, node)
            needed |= set(_reads(node))
    known = {v.name: v for v in [*graph.value_info, *graph.output, *inputs, *graph.input]}
    if any(n not in known for n in names) or not kept:
        return None
    out = onnx.ModelProto()
    out.CopyFrom(model)
    for field in ("node", "input", "output", "initializer", "value_info"):
        out.graph.ClearField(field)
    out.graph.node.extend(kept)
    out.graph.output.extend(known[n] for n in names)
    out.graph.initializer.extend(t for t in graph.initializer if t.name in needed)
    out.graph.input.extend(i for i in [*graph.input, *inputs] if i.name in needed)
    made = {o for n in kept for o in n.output}
    out.graph.value_info.extend(v for v in graph.value_info if v.name in made)
    return out


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    yield from node.input
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from _reads(inner)
        yield from (o.name for o in attribute.g.output)


def _smaller(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Parts of a model, the smallest first."""
    graph = model.graph
    outputs = [o.name for o in graph.output]
    parts = []
    if len(outputs) > 1:
        parts += [with_outputs(model, [name]) for name in outputs]
    inner = {v.name: v for v in graph.value_info}
    parts += [with_outputs(model, [name]) for name in inner]
    sized = [v for v in inner.values() if v.type.tensor_type.HasField("shape") and all(d.HasField("dim_value") for d in v.type.tensor_type.shape.dim)]
    parts += [with_outputs(model, outputs, [v]) for v in sized]
    parts = [p for p in parts if p is not None and len(p.graph.node) < len(graph.node)]
    yield from sorted(parts, key=lambda p: len(p.graph.node))


def minimized(model: onnx.ModelProto, is_bad: Callable[[onnx.ModelProto], bool], seconds: float) -> onnx.ModelProto:
    end = time.monotonic() + seconds
    try:
        model = shape_inference.infer_shapes(model)
    except Exception:  # noqa: BLE001 - then only its outputs are tried
        pass
    is_smaller = True
    while is_smaller and time.monotonic() < end:
        is_smaller = False
        for part in _smaller(model):
            if time.monotonic() > end:
                break
            if is_bad(part):
                model, is_smaller = part, True
                break
    return model
