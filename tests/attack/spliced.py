"""Random models out of calls of every operator that Isomer knows, spliced into each other, with what rewrites look for between them.

The calls are those that the contract suite draws (isomer-contract-cases), types and attributes included, as far as ONNX Runtime runs them alone. An input of a
call is a constant, an input of the model, or another value of the model brought to its shape by movement of elements. Beside them: convolutions and products in
a row, layouts that cancel, repeated parts, quantised and 4-bit weights, branches, loops, functions.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
from collections.abc import Iterable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import programs
from contract_ort import build

OPSET, IR = 21, 10
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
LARGEST = 4096  # elements of a value that others are made of
# Where a function is defined: what is brought there goes through these first.
BETWEEN_0_AND_1 = ("Log", "Sqrt", "Acos", "Asin", "Atanh", "Reciprocal", "Pow", "Div", "Mod", "Gelu", "Log1p")
FROM_1_ON = ("Acosh",)
UNARY = ("Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Identity", "Erf", "Floor", "Sign", "Softplus", "HardSwish", "Exp", "Cos")


# ---- the bank ----------------------------------------------------------------------------------------------------------

class Bank:
    """Calls of operators that ONNX Runtime runs, by operator; made once and kept in a folder."""

    def __init__(self, folder: pathlib.Path, cases: int, most: int | None = None, always: Iterable[str] = ()):
        """`most`: for this number of operators only, and for those that are `always` there, for short runs."""
        folder.mkdir(parents=True, exist_ok=True)
        self.calls: dict[str, list[tuple[onnx.ModelProto, dict]]] = {}
        program = programs.program("isomer-contract-cases")
        operators = json.loads(subprocess.run([program, "--list"], check=True, capture_output=True, text=True).stdout)
        chosen = operators if most is None else random.Random(1).sample(operators, most)
        for entry in [*chosen, *(e for e in operators if e["op"] in always and e not in chosen)]:
            base = folder / f"{entry['domain']}.{entry['op']}.{cases}"
            if not pathlib.Path(f"{base}.runs").exists():
                subprocess.run([program, entry["op"], str(cases), str(base), *([entry["domain"]] if entry["domain"] else [])], check=True,
                               stdout=subprocess.DEVNULL)
                # In a child: a call may end its process. What it said until then counts.
                ran = subprocess.run([sys.executable, __file__, str(base)], capture_output=True, text=True, check=False,
                                     env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
                pathlib.Path(f"{base}.runs").write_text(ran.stdout)
            found = list(_calls(base, {int(n) for n in pathlib.Path(f"{base}.runs").read_text().split()}))
            if found:
                self.calls[entry["op"]] = found

    def operators(self) -> list[str]:
        return sorted(self.calls)


def _calls(base: pathlib.Path, numbers: set[int] | None):
    """(a model of one node, its feeds) of the cases with these numbers that can be in a model of our opset."""
    document = json.loads(pathlib.Path(f"{base}.json").read_text())
    op, domain = document["op"], document["domain"]
    with np.load(f"{base}.npz") as file:
        tensors = dict(file)
    for case in document["cases"]:
        if not case["outputs"] or numbers is not None and case["number"] not in numbers:
            continue
        try:
            if not domain and onnx.defs.get_schema(op, min(case["opset"], 27), "").since_version != onnx.defs.get_schema(op, OPSET, "").since_version:
                continue
            model, feeds = build(case, tensors, op, domain)
        except Exception:  # noqa: BLE001 - an operator or a type that the onnx package doesn't have
            continue
        model.doc_string = str(case["number"])
        yield model, feeds


def _say_which_run(base: str):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    for model, feeds in _calls(pathlib.Path(base), None):
        try:
            onnxruntime.InferenceSession(in_our_opset(model).SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
            print(model.doc_string, flush=True)
        except Exception:  # noqa: BLE001, S112 - it doesn't run
            continue


def in_our_opset(model: onnx.ModelProto) -> onnx.ModelProto:
    out = onnx.ModelProto()
    out.CopyFrom(model)
    out.ir_version = IR
    for entry in out.opset_import:
        if not entry.domain:
            entry.version = OPSET
    return out


# ---- a model -------------------------------------------------------------------------------------------------------------

class Splicer:
    """A model in the making. `fixed`: inputs that must be fed what they were drawn with, indices for example."""

    def __init__(self, seed: str, bank: Bank):
        self.draw, self.bank = random.Random(seed), bank
        self.numbers = np.random.default_rng(self.draw.randrange(2**32))
        self.nodes, self.initializers, self.inputs, self.functions = [], [], [], []
        self.fixed: dict[str, np.ndarray] = {}
        self.values: list[tuple[str, int, tuple]] = []  # name, type, shape
        self.used: set[str] = set()
        self.made = 0
        for _ in range(self.draw.choice((1, 2, 3))):
            self.input(TensorProto.FLOAT, self.draw.choice(((2, 3, 4), (1, 4, 6, 6), (3, 8), (2, 4, 8), (12,))))

    # ---- parts
    def name(self, stem="v"):
        self.made += 1
        return f"{stem}{self.made}"

    def input(self, element, shape, value=None):
        name = self.name("x")
        self.inputs.append(helper.make_tensor_value_info(name, element, shape))
        if value is not None:
            self.fixed[name] = value
        self.values.append((name, element, tuple(shape)))
        return name

    def constant(self, array, element=None):
        name = self.name("k")
        tensor = numpy_helper.from_array(np.asarray(array), name)
        if element is not None and element != tensor.data_type:
            tensor = helper.make_tensor(name, element, np.shape(array), np.asarray(array).ravel().tolist())
        self.initializers.append(tensor)
        return name

    def node(self, op, inputs, element, shape, domain="", is_seen=True, **attributes):
        name = self.name()
        self.nodes.append(helper.make_node(op, inputs, [name], domain=domain, **attributes))
        self.used.update(inputs)
        if is_seen and np.prod(shape, dtype=np.int64) <= LARGEST:
            self.values.append((name, element, tuple(shape)))
        return name

    def weights(self, element, *shape):
        values = self.numbers.standard_normal(shape) * self.draw.choice((0.2, 0.5, 1.0))
        if self.draw.random() < 0.2:
            values = np.round(values * 2) / 2
        return self.constant(values.astype(helper.tensor_dtype_to_np_dtype(element)))

    def value(self, elements=FLOATS, rank=0):
        """A recent one more often than an old one."""
        found = [v for v in self.values if v[1] in elements and len(v[2]) >= rank]
        return self.draw.choice(found[-4:] * 3 + found) if found else None

    # ---- an operator's call
    def spliced(self):
        op = self.draw.choice(self.bank.operators())
        model, feeds = self.draw.choice(self.bank.calls[op])
        names = {"": ""}
        for tensor in model.graph.initializer:
            names[tensor.name] = self.constant(0)
            self.initializers[-1].CopyFrom(tensor)
            self.initializers[-1].name = names[tensor.name]
        for given in model.graph.input:
            names[given.name] = self.operand(op, given.type.tensor_type.elem_type, feeds[given.name])
        for put in model.graph.output:
            names[put.name] = self.name()
        node = onnx.NodeProto()
        node.CopyFrom(model.graph.node[0])
        node.name = ""
        node.input[:] = [names[n] for n in node.input]
        node.output[:] = [names[n] if n in names else self.name("h") for n in node.output]
        self.used.update(node.input)
        self.nodes.append(node)
        for put in model.graph.output:
            shape = tuple(d.dim_value for d in put.type.tensor_type.shape.dim)
            self.values.append((names[put.name], put.type.tensor_type.elem_type, shape))

    def operand(self, op, element, drawn):
        """A value for an input of a call."""
        if element not in FLOATS:
            same = [v[0] for v in self.values if v[1] == element == TensorProto.BOOL and v[2] == drawn.shape]
            if same:
                return self.draw.choice(same)
            return self.constant(drawn) if self.draw.random() < 0.5 else self.input(element, drawn.shape, drawn)
        kind = self.draw.random()
        if kind < 0.12:
            return self.input(element, drawn.shape)
        v = self.value()
        if kind < 0.25 or v is None or 0 in drawn.shape or 0 in v[2]:
            return self.constant(drawn)
        name = self.shaped(v, drawn.shape, element)
        if op in BETWEEN_0_AND_1:
            name = self.node("Sigmoid", [name], element, drawn.shape, is_seen=False)
        elif op in FROM_1_ON:
            name = self.node("Abs", [name], element, drawn.shape, is_seen=False)
            name = self.node("Add", [name, self.constant(np.ones((), drawn.dtype))], element, drawn.shape, is_seen=False)
        return name

    def shaped(self, v, shape, element):
        """The value brought to a shape by moving its elements, and to a type."""
        name, own, dims = v
        size, wanted = int(np.prod(dims)), int(np.prod(shape))
        if own != element:
            name = self.node("Cast", [name], element, dims, is_seen=False, to=element)
        if dims == tuple(shape):
            return name
        if len(dims) > 1 and self.draw.random() < 0.3:
            order = list(range(len(dims)))
            self.draw.shuffle(order)
            name = self.node("Transpose", [name], element, [dims[k] for k in order], is_seen=False, perm=order)
        if size != wanted:
            name = self.node("Reshape", [name, self.constant(np.array([-1], np.int64))], element, (size,), is_seen=False)
            if size > wanted:
                start = self.draw.randrange(size - wanted + 1)
                ends = [self.constant(np.array([n], np.int64)) for n in (start, start + wanted, 0)]
                name = self.node("Slice", [name, *ends], element, (wanted,), is_seen=False)
            else:
                name = self.node("Gather", [name, self.constant(np.arange(wanted, dtype=np.int64) % size)], element, (wanted,), is_seen=False)
        return self.node("Reshape", [name, self.constant(np.array(shape, np.int64))], element, shape)

    # ---- what rewrites look for
    def unary(self):
        name, element, dims = self.value((TensorProto.FLOAT, TensorProto.DOUBLE))
        self.node(self.draw.choice(UNARY), [name], element, dims)

    def by_constant(self):
        name, element, dims = self.value((TensorProto.FLOAT, TensorProto.FLOAT16))
        shape = self.draw.choice((dims, dims[-1:], ()))
        neutral = self.draw.random()
        op = self.draw.choice(("Add", "Sub", "Mul", "Max"))
        c = self.weights(element, *shape)
        if neutral < 0.2 and op != "Max":
            fill = np.full(shape, 1 if op == "Mul" else 0, helper.tensor_dtype_to_np_dtype(element))
            c = self.constant(fill)
        self.node(op, [name, c], element, dims)

    def two_alike(self):
        name, element, dims = self.value((TensorProto.FLOAT,))
        other = self.draw.choice([v[0] for v in self.values if v[1:] == (element, dims)])
        self.node(self.draw.choice(("Add", "Sub", "Mul", "Min")), [name, other], element, dims)

    def product(self):
        v = self.value((TensorProto.FLOAT,), 2)
        if v is None or 0 in v[2]:
            return
        name, element, dims = v
        out = self.draw.choice((3, 4, 8))
        for _ in range(self.draw.choice((1, 2))):
            a = self.node("MatMul", [name, self.weights(element, dims[-1], out)], element, (*dims[:-1], out))
            if self.draw.random() < 0.5:
                a = self.node("Add", [a, self.weights(element, out)], element, (*dims[:-1], out))
            name, dims = a, (*dims[:-1], out)

    def convolution(self):
        """One, or two of the same value that are added, with a batch norm."""
        v = self.value((TensorProto.FLOAT,))
        if v is None or 0 in v[2]:
            return
        x = self.shaped(v, (1, 4, 6, 6), TensorProto.FLOAT)
        out, parts = self.draw.choice((4, 6)), []
        for k in self.draw.choice(((1,), (3,), (1, 3), (3, 3))):
            y = self.node("Conv", [x, self.weights(TensorProto.FLOAT, out, 4, k, k)], TensorProto.FLOAT, (1, out, 6, 6), pads=[k // 2] * 4)
            if self.draw.random() < 0.5:
                rest = [self.weights(TensorProto.FLOAT, out) for _ in range(3)]
                rest.append(self.constant((self.numbers.random(out) + 0.5).astype(np.float32)))
                y = self.node("BatchNormalization", [y, *rest], TensorProto.FLOAT, (1, out, 6, 6))
            parts.append(y)
        if len(parts) == 2:
            self.node("Add", parts, TensorProto.FLOAT, (1, out, 6, 6))

    def there_and_back(self):
        v = self.value(rank=2)
        if v is None or 0 in v[2]:
            return
        name, element, dims = v
        order = list(range(len(dims)))
        self.draw.shuffle(order)
        back = [order.index(k) for k in range(len(dims))]
        moved = [dims[k] for k in order]
        a = self.node("Transpose", [name], element, moved, is_seen=False, perm=order)
        if element == TensorProto.FLOAT and self.draw.random() < 0.7:
            a = self.node(self.draw.choice(UNARY), [a], element, moved, is_seen=False)
        self.node("Transpose", [a], element, dims, perm=back)

    def split_and_joined(self):
        v = self.value(rank=1)
        if v is None or v[2][-1] < 2:
            return
        name, element, dims = v
        first = self.draw.randrange(1, dims[-1])
        parts = [self.name("h"), self.name("h")]
        sizes = self.constant(np.array([first, dims[-1] - first], np.int64))
        self.nodes.append(helper.make_node("Split", [name, sizes], parts, axis=-1))
        self.used.update((name, sizes))
        self.node("Concat", parts if self.draw.random() < 0.7 else parts[::-1], element, dims, axis=-1)

    def again(self):
        """A node that was written already, on the same inputs."""
        known = {v[0]: v for v in self.values}
        found = [n for n in self.nodes if len(n.output) == 1 and n.output[0] in known]
        if found:
            copy = onnx.NodeProto()
            copy.CopyFrom(self.draw.choice(found))
            _, element, dims = known[copy.output[0]]
            copy.output[0] = self.name()
            self.nodes.append(copy)
            self.values.append((copy.output[0], element, dims))

    def quantized(self):
        """Quantised and back, before a product whose weights are stored in 8 or in 4 bits."""
        v = self.value((TensorProto.FLOAT,), 2)
        if v is None or 0 in v[2]:
            return
        name, element, dims = v
        kind = self.draw.choice((np.uint8, np.int8))
        pair = [self.constant(np.float32(self.draw.choice((0.05, 0.0625)))), self.constant(kind(self.draw.choice((0, 3, 100))))]
        q = self.node("QuantizeLinear", [name, *pair], TensorProto.UINT8 if kind is np.uint8 else TensorProto.INT8, dims, is_seen=False)
        x = self.node("DequantizeLinear", [q, *pair], element, dims)
        out, four = self.draw.choice((4, 8)), self.draw.random() < 0.4
        low, high, stored = (-8, 8, TensorProto.INT4) if four else (-127, 128, TensorProto.INT8)
        w = self.constant(self.numbers.integers(low, high, (dims[-1], out)).astype(np.int8), stored)
        scales = self.constant((self.numbers.random(out) * 0.1 + 0.01).astype(np.float32))
        w = self.node("DequantizeLinear", [w, scales], element, (dims[-1], out), is_seen=False, axis=1)
        self.node("MatMul", [x, w], element, (*dims[:-1], out))

    # ---- bodies
    def body(self, name, element, dims):
        """Nodes that take `name` to a value of the same kind."""
        nodes, last = [], name
        for _ in range(self.draw.choice((1, 2, 3))):
            fresh = self.name("b")
            nodes.append(self.draw.choice((helper.make_node(self.draw.choice(UNARY), [last], [fresh]), helper.make_node("Add", [last, name], [fresh]),
                                           helper.make_node("Mul", [last, self.weights(element, *dims[-1:])], [fresh]))))
            last = fresh
        return nodes, last

    def branched(self):
        v = self.value((TensorProto.FLOAT,))
        name, element, dims = v
        flags = [u[0] for u in self.values if u[1] == TensorProto.BOOL and u[2] == ()]
        kind = self.draw.random()
        condition = self.constant(np.array(kind < 0.1)) if kind < 0.2 else self.draw.choice(flags) if flags else self.input(TensorProto.BOOL, ())
        graphs = {}
        for which in ("then_branch", "else_branch"):
            nodes, last = self.body(name, element, dims)
            graphs[which] = helper.make_graph(nodes, which, [], [helper.make_tensor_value_info(last, element, dims)])
        self.node("If", [condition], element, dims, **graphs)
        self.used.add(name)

    def looped(self):
        v = self.value((TensorProto.FLOAT,))
        name, element, dims = v
        at, go, state, out = self.name("b"), self.name("b"), self.name("b"), self.name("b")
        nodes, last = self.body(state, element, dims)
        graph = helper.make_graph([*nodes, helper.make_node("Identity", [go], [out])], "body",
                                  [helper.make_tensor_value_info(at, TensorProto.INT64, ()), helper.make_tensor_value_info(go, TensorProto.BOOL, ()),
                                   helper.make_tensor_value_info(state, element, dims)],
                                  [helper.make_tensor_value_info(out, TensorProto.BOOL, ()), helper.make_tensor_value_info(last, element, dims)])
        trips = self.constant(np.array(self.draw.choice((0, 1, 2, 3)), np.int64))
        self.node("Loop", [trips, "", name], element, dims, body=graph)

    def called(self):
        name, element, dims = self.value((TensorProto.FLOAT,))
        function = f"f{len(self.functions)}"
        nodes, last = [], "a"
        for _ in range(self.draw.choice((1, 2, 4))):
            fresh = self.name("b")
            op, inputs = (self.draw.choice(UNARY), [last]) if self.draw.random() < 0.6 else ("Mul", [last, "a"])
            nodes.append(helper.make_node(op, inputs, [fresh]))
            last = fresh
        self.functions.append(helper.make_function("my", function, ["a"], [last], nodes, [helper.make_opsetid("", OPSET)]))
        for _ in range(self.draw.choice((1, 2))):
            self.node(function, [name], element, dims, domain="my")

    def model(self) -> onnx.ModelProto:
        steps = (self.spliced,) * 18 + (self.unary, self.by_constant, self.two_alike, self.product, self.product, self.convolution, self.convolution,
                                        self.there_and_back, self.split_and_joined, self.again, self.quantized, self.branched, self.looped, self.called)
        wanted = self.draw.choice((5, 10, 10, 20, 20, 40, 80, 200))
        for _ in range(3 * wanted):
            if len(self.nodes) >= wanted:
                break
            self.draw.choice(steps)()
        fed = {i.name for i in self.inputs}
        unread = [v for v in self.values if v[0] not in fed and v[0] not in self.used]
        outputs = [helper.make_tensor_value_info(*v) for v in unread or [v for v in self.values if v[0] not in fed][-1:]]
        read = self.used | {n for node in self.nodes for n in _names_inside(node)}
        inputs = [i for i in self.inputs if i.name in read]
        graph = helper.make_graph(self.nodes, "spliced", inputs, outputs, [t for t in self.initializers if t.name in read])
        domains = {n.domain for n in self.nodes} - {"", "my"}
        imports = [helper.make_opsetid("", OPSET), *(helper.make_opsetid(d, 1) for d in sorted(domains))]
        imports += [helper.make_opsetid("my", 1)] if self.functions else []
        return helper.make_model(graph, opset_imports=imports, functions=self.functions, ir_version=IR)


def _names_inside(node):
    """What the bodies of a node read."""
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from inner.input
            yield from _names_inside(inner)


if __name__ == "__main__":
    _say_which_run(sys.argv[1])
