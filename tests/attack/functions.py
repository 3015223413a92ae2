"""Functions of a model's own whose calls give attributes: references, defaults, what a call leaves out, constants inside, calls in calls.

Each body is written for an attribute `k`: once in a function that refers to it, and once in the graph with the number itself. All of a body's models are
compared with each other, so that a wrong number, a default in place of a given value, or a constant of another call would be proved."""
import itertools
import random
from collections.abc import Iterator

import numpy as np

from attack.cases import Optimization, Proof
from attack.models import Model, f32

SIGNATURE = "(float[n,3,4] x) => (float[] y)"

# Nodes that make {0} of {1}; {2} is an attribute's value, as a reference or a number. Then: the attribute's type, and its values.
AXES, FLAGS, FACTORS = ("int", ("0", "1", "2")), ("int", ("0", "1")), ("float", ("0.5", "2.0", "-1.5"))
BODIES = {
    "softmax": ("{0} = Softmax<axis: int = {2}>({1})", *AXES),
    "concat": ("{0} = Concat<axis: int = {2}>({1},{1})", *AXES),
    "argmax": ("{0}_i = ArgMax<axis: int = {2}>({1}) {0} = Cast<to = 1>({0}_i)", *AXES),
    "flatten": ("{0} = Flatten<axis: int = {2}>({1})", *AXES),
    "norm": ("{0} = LpNormalization<axis: int = {2}>({1})", *AXES),
    "gather": ("{0}_c = Constant<value = int64[2] {{1,0}}>() {0} = Gather<axis: int = {2}>({1},{0}_c)", *AXES),
    "keepdims": ("{0}_c = Constant<value = int64[1] {{1}}>() {0} = ReduceSum<keepdims: int = {2}>({1},{0}_c)", *FLAGS),
    "slope": ("{0} = LeakyRelu<alpha: float = {2}>({1})", *FACTORS),
    "elu": ("{0} = Elu<alpha: float = {2}>({1})", *FACTORS),
    "constant": ("{0}_c = Constant<value_float: float = {2}>() {0} = Mul({1},{0}_c)", *FACTORS),
    "beside": ("{0}_c = Constant<value = float[4] {{1,2,3,4}}>() {0}_l = LeakyRelu<alpha: float = {2}>({1}) {0} = Mul({0}_l,{0}_c)", *FACTORS),
    "beside_other": ("{0}_c = Constant<value = float[4] {{1,2,3,5}}>() {0}_l = LeakyRelu<alpha: float = {2}>({1}) {0} = Mul({0}_l,{0}_c)", *FACTORS),
    "whole": ("{0}_c = Constant<value_int: int = {2}>() {0}_f = Cast<to = 1>({0}_c) {0} = Add({1},{0}_f)", *AXES),
    "cast": ("{0}_i = Cast<to: int = {2}>({1}) {0} = Cast<to = 1>({0}_i)", "int", ("6", "7", "9")),
    "transpose": ("{0} = Transpose<perm: ints = {2}>({1})", "ints", ("[0,2,1]", "[2,1,0]", "[1,2,0]")),
    "list": ("{0}_c = Constant<value_floats: floats = {2}>() {0} = Add({1},{0}_c)", "floats", ("[1.0,2.0,3.0,4.0]", "[1.0,2.0,4.0,3.0]")),
    "mean": ("{0}_c = Constant<value_ints: ints = {2}>() {0} = ReduceMean({1},{0}_c)", "ints", ("[1]", "[2]", "[1,2]")),
    "branch": ("{0}_t = Constant<value = bool {{1}}>() {0} = If({0}_t)<then_branch = t () => (float[] p) {{ p = LeakyRelu<alpha: float = {2}>({1}) }}, "
               "else_branch = e () => (float[] q) {{ q = Identity({1}) }}>", *FACTORS),
}


def function(name: str, body: str, attributes: str) -> str:
    return f'<domain: "my", opset_import: ["" : 18, "my" : 1]> {name} {attributes} (a) => (b) {{ {body} }}\n'


def model(graph: str, functions: str = "") -> Model:
    return Model(f"{SIGNATURE} {{ {graph} }}", functions=functions)


def call(value: str, name: str = "f", made: str = "y", of: str = "x", kind: str = "int") -> str:
    return f"{made} = my.{name}<k: {kind} = {value}>({of})"


def models_of(text: str, kind: str, values: tuple[str, ...]) -> Iterator[Model]:
    """The body with each value: in the graph, and given in each way that ONNX has."""
    by_reference = text.format("b", "a", "@k")
    plain = function("f", by_reference, "<k>")
    in_call = function("g", f"b = my.f<k: {kind} = @k>(a)", "<k>")
    for value in values:
        yield model(text.format("y", "x", value))
        yield model(call(value, kind=kind), plain)
        yield model(call(value, "g", kind=kind), plain + in_call)
        yield model("y = my.f(x)", function("f", by_reference, f"<k: {kind} = {value}>"))  # the default
    others = function("f", by_reference, f"<k: {kind} = {values[0]}>")
    yield model(call(values[1], kind=kind), others)  # what a call gives comes before the default
    # Two calls of one function: what the first one gives is not what the second one has.
    for one, other in itertools.permutations(values[:2]):
        yield model(f"{call(one, made='p', kind=kind)} {call(other, made='q', kind=kind)} y = Identity(q)", plain)
        yield model(f"{call(one, made='p', kind=kind)} {call(other, made='q', kind=kind)} y = Identity(p)", plain)


def fed() -> list[dict[str, np.ndarray]]:
    numbers = np.random.default_rng(3)
    return [{"x": numbers.standard_normal((n, 3, 4)).astype(np.float32)} for n in (3, 2, 1)] + [{"x": f32(*range(-12, 12)).reshape(2, 3, 4)}]


def cases(draw: random.Random) -> Iterator[Proof | Optimization]:
    del draw  # all of them
    all_models = {name: list(models_of(*body)) for name, body in BODIES.items()}
    for name, models in all_models.items():
        for (i, a), (j, b) in itertools.permutations(enumerate(models), 2):
            yield Proof(f"{name} {i} {j}", a, b, fed)
        for i, one in enumerate(models):
            yield Optimization(f"{name} {i}", one, fed)
    for one, other in itertools.permutations(("beside", "beside_other"), 2):
        for (i, a), (j, b) in itertools.product(enumerate(all_models[one]), enumerate(all_models[other])):
            yield Proof(f"{one} {i} {other} {j}", a, b, fed)
