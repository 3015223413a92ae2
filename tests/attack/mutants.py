"""Random models, each against itself with one thing changed: a constant, an operator, a wire, an attribute."""
import dataclasses
import pathlib
import random
from collections.abc import Iterator

import numpy as np
import onnx
from onnx import numpy_helper

from attack.cases import Finding, Proof, by_turns
from attack.random_models import Builder

OTHERS = {"Add": "Sub", "Sub": "Add", "Mul": "Add", "Max": "Min", "Min": "Max", "Relu": "Abs", "Tanh": "Sigmoid", "Sigmoid": "Tanh", "Abs": "Neg",
          "Neg": "Identity", "Floor": "Round", "Round": "Floor", "Sign": "Identity", "Less": "LessOrEqual", "LessOrEqual": "Less", "Greater": "GreaterOrEqual",
          "GreaterOrEqual": "Greater", "ReduceSum": "ReduceMean", "ReduceMean": "ReduceSum", "ReduceMax": "ReduceMin", "ReduceMin": "ReduceMax", "And": "Xor",
          "Div": "Mul", "Mod": "Div", "MaxPool": "AveragePool", "AveragePool": "MaxPool"}
MOST_TRIES = 8  # until there is something to change, and the runtime takes what became of it


def change_constant(model: onnx.ModelProto, draw: random.Random) -> bool:
    tensors = [t for t in model.graph.initializer if np.prod(t.dims) > 0]
    if not tensors:
        return False
    tensor = draw.choice(tensors)
    values = numpy_helper.to_array(tensor).copy()
    at = draw.randrange(values.size)
    if values.dtype.kind == "f":
        values.flat[at] = values.flat[at] * values.dtype.type(draw.choice((1.01, -1, 2))) + values.dtype.type(draw.choice((0, 0.01)))
    elif values.dtype == bool:
        values.flat[at] = not values.flat[at]
    else:
        values.flat[at] ^= 1
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return True


def change_operator(model: onnx.ModelProto, draw: random.Random) -> bool:
    nodes = [n for n in model.graph.node if n.op_type in OTHERS]
    if nodes:
        node = draw.choice(nodes)
        node.op_type = OTHERS[node.op_type]
    return bool(nodes)


def exchange_inputs(model: onnx.ModelProto, draw: random.Random) -> bool:
    nodes = [n for n in model.graph.node if len(n.input) > 1]
    if nodes:
        node = draw.choice(nodes)
        node.input[0], node.input[1] = node.input[1], node.input[0]
    return bool(nodes)


def change_wire(model: onnx.ModelProto, draw: random.Random) -> bool:
    at = draw.randrange(1, len(model.graph.node))
    known = [o for n in model.graph.node[:at] for o in n.output] + [i.name for i in model.graph.input]
    node = model.graph.node[at]
    slots = [k for k, name in enumerate(node.input) if name in known]
    if not slots:
        return False
    node.input[draw.choice(slots)] = draw.choice(known)
    return True


def change_attribute(model: onnx.ModelProto, draw: random.Random) -> bool:
    found = [a for n in model.graph.node for a in n.attribute if a.type in (onnx.AttributeProto.INT, onnx.AttributeProto.FLOAT, onnx.AttributeProto.INTS)]
    if not found:
        return False
    attribute = draw.choice(found)
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i += draw.choice((-1, 1))
    elif attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f *= 1.5
    elif len(attribute.ints) > 1:
        a, b = draw.sample(range(len(attribute.ints)), 2)
        attribute.ints[a], attribute.ints[b] = attribute.ints[b], attribute.ints[a]
    return True


def change_function(model: onnx.ModelProto, draw: random.Random) -> bool:
    nodes = [n for f in model.functions for n in f.node if n.op_type in OTHERS]
    if nodes:
        node = draw.choice(nodes)
        node.op_type = OTHERS[node.op_type]
    return bool(nodes)


CHANGES = (change_constant, change_operator, exchange_inputs, change_wire, change_attribute, change_function)


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One of them, made when it is its turn."""
    name: str
    seed: str

    def ask(self, folder: pathlib.Path, seconds: int) -> Finding:
        draw = random.Random(self.seed)
        model = Builder(self.seed).model().proto()
        for _ in range(MOST_TRIES):
            changed = onnx.ModelProto()
            changed.CopyFrom(model)
            if draw.choice(CHANGES)(changed, draw):
                finding = Proof(self.name, model, changed).ask(folder, seconds)
                if finding.verdict != Finding().verdict:
                    return finding
        return Finding()


def cases(draw: random.Random) -> Iterator[Mutant]:
    """Without an end."""
    for kind, seed in by_turns(draw, ("mutant",)):
        yield Mutant(f"{kind} {seed}", seed)
