"""Changes that make another model of a model, drawn by chance, for tests/evidence/prove_mutants.py.

A family is what is done to both models first, so that there is something of its kind to change, and what is then done to one of them.
Each says what it did, or None if there is no place for it.
"""
import copy
import dataclasses
import random
from collections.abc import Callable

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

SMALL = 4096  # elements of a constant that is moved into a body
WINDOW = 4  # nodes that become a body


@dataclasses.dataclass
class Subject:
    """A model, and the files beside it."""
    model: ModelProto
    files: dict[str, bytes] = dataclasses.field(default_factory=dict)
    body: FunctionProto | GraphProto | None = None  # what was made of some nodes
    added: list[NodeProto] = dataclasses.field(default_factory=list)  # nodes that were put between others
    chosen: str = ""  # the constant that it is about


@dataclasses.dataclass(frozen=True)
class Family:
    name: str
    change: Callable[[Subject, random.Random], str | None]
    prepare: Callable[[Subject, random.Random], bool] = lambda subject, draw: True


# ------------------------------------------------------------------------------------------------------------ one place


def floats_of(model: ModelProto, largest: float = float("inf")) -> list[TensorProto]:
    return [t for t in model.graph.initializer if t.data_type == TensorProto.FLOAT and 1 < np.prod(t.dims) <= largest]


def put(tensor: TensorProto, array: np.ndarray):
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def change_element(tensor: TensorProto, draw: random.Random) -> str | None:
    """One element by 1 %."""
    array = numpy_helper.to_array(tensor).copy()
    nonzero = np.flatnonzero(array)
    if not len(nonzero):
        return None
    at = int(draw.choice(nonzero))
    array.flat[at] *= np.float32(1.01)
    put(tensor, array)
    return f"element {at} of {tensor.name} by 1 %"


def change_weight(subject: Subject, draw: random.Random) -> str | None:
    floats = floats_of(subject.model)
    return change_element(draw.choice(floats), draw) if floats else None


def numbers_of(nodes) -> list[tuple[NodeProto, AttributeProto]]:
    return [(n, a) for n in nodes for a in n.attribute
            if a.type in (AttributeProto.INT, AttributeProto.FLOAT) or (a.type == AttributeProto.INTS and a.ints)]


def change_number(nodes, draw: random.Random) -> str | None:
    """One number of one attribute."""
    found = numbers_of(nodes)
    if not found:
        return None
    node, attribute = draw.choice(found)
    if attribute.type == AttributeProto.INT:
        attribute.i += draw.choice((-1, 1))
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = attribute.f * 1.5 + 0.25
    else:
        attribute.ints[draw.randrange(len(attribute.ints))] += draw.choice((-1, 1))
    return f"attribute {attribute.name} of {node.name or node.op_type}"


def change_attribute(subject: Subject, draw: random.Random) -> str | None:
    return change_number(subject.model.graph.node, draw)


def change_wire(subject: Subject, draw: random.Random) -> str | None:
    """One input of one node is another value, of those that are computed before it."""
    nodes = subject.model.graph.node
    at = draw.randrange(1, len(nodes))
    known = [o for n in nodes[:at] for o in n.output if o]
    slots = [k for k, i in enumerate(nodes[at].input) if i in known]
    if not slots or len(known) < 2:
        return None
    slot = draw.choice(slots)
    other = draw.choice(known[-12:])
    if other == nodes[at].input[slot]:
        return None
    nodes[at].input[slot] = other
    return f"input {slot} of {nodes[at].name or nodes[at].op_type}"


# --------------------------------------------------------------------------------------------------------------- bodies


def window(model: ModelProto, draw: random.Random) -> tuple[int, list[NodeProto], list[str], list[str]] | None:
    """Some nodes one after the other: where, which, what they read of others, what others read of them."""
    nodes = model.graph.node
    begin = draw.randrange(len(nodes))
    taken = list(nodes[begin:begin + draw.randint(1, WINDOW)])
    if any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for n in taken for a in n.attribute):
        return None
    made = {o for n in taken for o in n.output if o}
    read = list(dict.fromkeys(i for n in taken for i in n.input if i and i not in made))
    later = {i for n in nodes[begin + len(taken):] for i in n.input}.union(o.name for o in model.graph.output)
    later |= {i for n in nodes for a in n.attribute for i in names_inside(a.g)}
    given = [o for n in taken for o in n.output if o and o in later]
    return (begin, taken, read, given) if given else None


def names_inside(graph: GraphProto) -> set[str]:
    inner = {name for n in graph.node for a in n.attribute for name in names_inside(a.g)}
    return inner.union((i for n in graph.node for i in n.input), (o.name for o in graph.output))


def put_node(model: ModelProto, begin: int, count: int, node: NodeProto):
    """In the place of some nodes."""
    nodes = list(model.graph.node)
    nodes[begin:begin + count] = [node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def moved_inside(model: ModelProto, read: list[str]) -> list[TensorProto]:
    return [copy.deepcopy(t) for t in floats_of(model, SMALL) if t.name in read]


def into_function(subject: Subject, draw: random.Random) -> bool:
    """Some nodes become a function, with small constants of theirs inside of it."""
    model = subject.model
    if (found := window(model, draw)) is None:
        return False
    begin, taken, read, given = found
    constants = moved_inside(model, read)
    inside = {t.name for t in constants}
    body = [helper.make_node("Constant", [], [t.name], value=t) for t in constants] + [copy.deepcopy(n) for n in taken]
    read = [name for name in read if name not in inside]
    if not read:
        return False
    subject.body = model.functions.add()
    subject.body.CopyFrom(helper.make_function("own", "F", read, given, body, list(model.opset_import)))
    put_node(model, begin, len(taken), helper.make_node("F", read, given, name="call", domain="own"))
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.ir_version = max(model.ir_version, 8)
    return True


SWAPPED = {"Relu": "Sigmoid", "Sigmoid": "Tanh", "Tanh": "Relu", "Add": "Sub", "Sub": "Add", "Mul": "Add", "Div": "Mul", "Exp": "Relu", "Sqrt": "Relu",
           "ReduceMean": "ReduceSum", "MaxPool": "AveragePool", "Clip": "Identity", "Concat": "Sum", "HardSigmoid": "Sigmoid", "MatMul": "Add"}


def change_function(subject: Subject, draw: random.Random) -> str | None:
    """What the function is: a constant, an attribute, an operator, the order of its inputs or outputs, the operators' version."""
    body = subject.body
    constants = [n for n in body.node if n.op_type == "Constant"]
    others = [n for n in body.node if n.op_type != "Constant"]
    kind = draw.choice(("constant", "attribute", "operator", "inputs", "outputs", "opset", "default"))
    if kind == "constant":
        return (what := change_element(draw.choice(constants).attribute[0].t, draw) if constants else None) and f"in the function, {what}"
    if kind == "attribute":
        return (what := change_number(others, draw)) and f"in the function, {what}"
    if kind == "operator":
        swaps = [n for n in others if n.op_type in SWAPPED]
        if not swaps:
            return None
        node = draw.choice(swaps)
        was, node.op_type = node.op_type, SWAPPED[node.op_type]
        return f"in the function, {was} is {node.op_type}"
    if kind in ("inputs", "outputs"):
        names = body.input if kind == "inputs" else body.output
        if len(names) < 2:
            return None
        names[0], names[1] = names[1], names[0]
        return f"the function's {kind} in another order"
    if kind == "opset":
        for imported in body.opset_import:
            if not imported.domain:
                imported.version += draw.choice((-4, -2, -1, 1, 2))
                return f"the function is of operators {imported.version}"
        return None
    body.attribute_proto.append(helper.make_attribute("alpha", 1.0))
    return "the function has an attribute that nobody reads"


def float_values(model: ModelProto) -> dict[str, int]:
    """Ranks of the values that are known to be floats."""
    known = onnx.shape_inference.infer_shapes(model).graph
    return {v.name: len(v.type.tensor_type.shape.dim) for v in [*known.value_info, *known.output]
            if v.type.tensor_type.elem_type == TensorProto.FLOAT and v.type.tensor_type.HasField("shape")}


def into_branches(subject: Subject, draw: random.Random) -> bool:
    """Some nodes are run by an If whose condition is fed, with small constants of theirs in a file beside the model."""
    model = subject.model
    if (found := window(model, draw)) is None:
        return False
    begin, taken, read, given = found
    constants = moved_inside(model, read)
    if not constants or not all(name in float_values(model) for name in given):
        return False
    branches = {}
    for branch in ("then_branch", "else_branch"):
        new = {name: f"{name}_{branch}" for name in [o for n in taken for o in n.output if o] + [t.name for t in constants]}
        graph = GraphProto(name=branch)
        for node in map(copy.deepcopy, taken):
            node.input[:] = [new.get(i, i) for i in node.input]
            node.output[:] = [new.get(o, o) for o in node.output]
            graph.node.append(node)
        for tensor in map(copy.deepcopy, constants):
            tensor.name = new[tensor.name]
            outside(subject, graph.initializer.add(), tensor)
        graph.output.extend(onnx.ValueInfoProto(name=new[name], type=onnx.TypeProto(tensor_type=onnx.TypeProto.Tensor(elem_type=TensorProto.FLOAT)))
                            for name in given)
        branches[branch] = graph
    put_node(model, begin, len(taken), helper.make_node("If", ["isomer_take"], given, name="choice", **branches))
    model.graph.input.append(helper.make_tensor_value_info("isomer_take", TensorProto.BOOL, []))
    return True


def outside(subject: Subject, there: TensorProto, tensor: TensorProto):
    """A tensor whose elements are in a file."""
    file = "bodies.bin"
    data = numpy_helper.to_array(tensor).tobytes()
    there.CopyFrom(TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, data_location=TensorProto.EXTERNAL))
    before = subject.files.get(file, b"")
    for key, value in (("location", file), ("offset", len(before)), ("length", len(data))):
        there.external_data.add(key=key, value=str(value))
    subject.files[file] = before + data


def change_file(subject: Subject, draw: random.Random) -> str | None:
    """One element in the file; the model's own bytes stay as they are."""
    array = np.frombuffer(subject.files["bodies.bin"], np.float32).copy()
    nonzero = np.flatnonzero(array)
    if not len(nonzero):
        return None
    at = int(draw.choice(nonzero))
    array[at] *= np.float32(draw.choice((1.01, -1, 2)))
    subject.files["bodies.bin"] = array.tobytes()
    return f"float {at} of the file of the branches"


# ------------------------------------------------------------------------------------------------------------- defaults


def into_default(subject: Subject, draw: random.Random) -> bool:
    """A constant is one that the caller may replace."""
    floats = floats_of(subject.model)
    if not floats:
        return False
    tensor = draw.choice(floats)
    subject.model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    return True


def change_default(subject: Subject, draw: random.Random) -> str | None:
    """The value that an input has by default, or whether it is an input; an attribute that is not written, or written as it is by default."""
    model = subject.model
    kind = draw.choice(("element", "no input", "left out", "written", "other"))
    defaults = {i.name for i in model.graph.input}
    if kind == "element":
        return (what := change_element(next(t for t in model.graph.initializer if t.name in defaults), draw)) and f"default: {what}"
    if kind == "no input":
        return f"{model.graph.input.pop().name} is no input"
    if kind == "left out":
        found = [n for n in model.graph.node if n.attribute and n.op_type != "Constant"]
        if not found:
            return None
        node = draw.choice(found)
        return f"attribute {node.attribute.pop(draw.randrange(len(node.attribute))).name} of {node.name or node.op_type} left out"
    found = [(n, a) for n in model.graph.node if not n.domain and onnx.defs.has(n.op_type)
             for a in onnx.defs.get_schema(n.op_type, model.opset_import[0].version).attributes.values()
             if a.default_value.name and a.name not in {b.name for b in n.attribute}]
    if not found:
        return None
    node, attribute = draw.choice(found)
    new = node.attribute.add()
    new.CopyFrom(attribute.default_value)
    if kind == "other":
        new.i += new.type == AttributeProto.INT
        new.f += 0.25 * (new.type == AttributeProto.FLOAT)
    return f"attribute {new.name} of {node.name or node.op_type} is {kind}"


# ---------------------------------------------------------------------------------------------------------------- sizes


def with_symbol(subject: Subject, draw: random.Random) -> bool:
    """Now and then the first size of an input has a name."""
    for value in subject.model.graph.input:
        dims = value.type.tensor_type.shape.dim
        if dims and draw.random() < 0.5:
            dims[0].dim_param = "Q"
    return True


def change_size(subject: Subject, draw: random.Random) -> str | None:
    """What a declaration says of one size: another name, a number, another number."""
    graph = subject.model.graph
    found = [(v, d) for v in [*graph.input, *graph.output, *graph.value_info] for d in v.type.tensor_type.shape.dim]
    if not found:
        return None
    # Inputs as often as the rest: intermediate values are many.
    inputs = [(v, d) for v, d in found if v in graph.input]
    value, dim = draw.choice(inputs if draw.random() < 0.6 else found)
    was = dim.dim_param or dim.dim_value
    names = sorted({d.dim_param for _, d in found if d.dim_param})
    kind = draw.choice(("name", "another's name", "number", "nothing"))
    if kind == "name":
        dim.dim_param = "isomer_size"
    elif kind == "another's name" and names:
        dim.dim_param = draw.choice(names)
    elif kind == "number":
        dim.dim_value = draw.choice((0, 1, 2, dim.dim_value + 1))
    else:
        dim.Clear()
    return f"size {was} of {value.name} is {dim.dim_param or (dim.dim_value if dim.HasField('dim_value') else 'not said')}"


def with_empty(subject: Subject, draw: random.Random) -> bool:
    """A sum of no elements is added to a value."""
    model = subject.model
    ranks = {name: rank for name, rank in float_values(model).items() if rank > 0}
    places = [k for k, n in enumerate(model.graph.node) if len(n.output) == 1 and n.output[0] in ranks]
    if not places:
        return False
    at = draw.choice(places)
    node = model.graph.node[at]
    name, axis = node.output[0], draw.randrange(ranks[node.output[0]])
    constants = {"isomer_zero": np.array([0]), "isomer_axis": np.array([axis])}
    model.graph.initializer.extend(numpy_helper.from_array(v.astype(np.int64), k) for k, v in constants.items())
    node.output[0] = f"{name}_full"
    subject.added = [
        helper.make_node("Slice", [f"{name}_full", "isomer_zero", "isomer_zero", "isomer_axis"], [f"{name}_none"]),
        helper.make_node("ReduceSum", [f"{name}_none", "isomer_axis"], [f"{name}_sum"], keepdims=1),
        helper.make_node("Concat", [f"{name}_none", f"{name}_full"], [f"{name}_both"], axis=axis),
        helper.make_node("Add", [f"{name}_both", f"{name}_sum"], [name])]
    nodes = list(model.graph.node)
    nodes[at + 1:at + 1] = subject.added
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    subject.added = list(model.graph.node[at + 1:at + 5])
    return True


def change_empty(subject: Subject, draw: random.Random) -> str | None:
    slice_, reduce_, concat, add = subject.added
    graph = subject.model.graph
    kind = draw.choice(("reduction", "end", "axis", "order", "kept", "operator"))
    if kind == "reduction":
        reduce_.op_type = draw.choice(("ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceL1", "ReduceSumSquare", "ReduceLogSum"))
        if subject.model.opset_import[0].version < 18:  # its axes are an attribute there
            del reduce_.input[1:]
            reduce_.attribute.append(helper.make_attribute("axes", [concat.attribute[0].i]))
        return f"a sum of nothing is {reduce_.op_type}"
    if kind == "end":
        graph.initializer.append(numpy_helper.from_array(np.array([draw.choice((1, 2, -1))]), "isomer_end"))
        slice_.input[2] = "isomer_end"
        return "not of nothing"
    if kind == "axis":
        tensor = next(t for t in graph.initializer if t.name == "isomer_axis")
        put(tensor, numpy_helper.to_array(tensor) + draw.choice((-1, 1)))
        return "of nothing along another axis"
    if kind == "order":
        concat.input[:] = [concat.input[1], concat.input[0]]
        return "nothing comes last"
    if kind == "kept":
        reduce_.attribute[0].i = 0
        return "the sum of nothing has no axis"
    add.op_type = draw.choice(("Sub", "Mul", "Max", "PRelu"))
    return f"the sum of nothing, by {add.op_type}"


# ----------------------------------------------------------------------------------------------------------- magnitudes


def mix_magnitudes(subject: Subject, draw: random.Random) -> bool:
    """A constant's elements are of very different size."""
    floats = floats_of(subject.model, 1 << 20)
    if not floats:
        return False
    tensor = draw.choice(floats)
    rng = np.random.default_rng(draw.getrandbits(32))
    array = numpy_helper.to_array(tensor)
    put(tensor, (array * 10.0 ** rng.uniform(-7, 2, array.shape)).astype(np.float32))
    subject.chosen = tensor.name
    return True


def change_small(subject: Subject, draw: random.Random) -> str | None:
    """One of the small elements."""
    name = subject.chosen
    tensor = next(t for t in subject.model.graph.initializer if t.name == name)
    array = numpy_helper.to_array(tensor).copy()
    small = np.flatnonzero((array != 0) & (np.abs(array) < 1e-3 * np.abs(array).max()))
    if not len(small):
        return None
    at, by = int(draw.choice(small)), draw.choice((1.01, 2.0, -1.0, 0.0, 1.0001))
    array.flat[at] *= np.float32(by)
    put(tensor, array)
    return f"small element {at} of {name} times {by}"


FAMILIES = (Family("weight", change_weight), Family("attribute", change_attribute), Family("wire", change_wire),
            Family("function", change_function, into_function), Family("file of a branch", change_file, into_branches),
            Family("default", change_default, into_default), Family("size's name", change_size, with_symbol),
            Family("magnitude", change_small, mix_magnitudes), Family("size 0", change_empty, with_empty))
