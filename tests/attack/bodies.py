"""What runs inside of a node: branches, loops and functions that differ only there, and values that flow out of them."""
import itertools
import random
from collections.abc import Iterator

import numpy as np

from attack.cases import Optimization, Proof
from attack.hand import BRANCHES, FOUR_AND_ONE, TAKE_THEN
from attack.models import Model, f32, function

# What is done to v, a vector; the last three have the size that its values have.
INNER = {"neg": "{0} = Neg({1})", "abs": "{0} = Abs({1})", "double": "{0} = Add({1},{1})", "same": "{0} = Identity({1})",
         "relu": "{0} = Relu({1})", "two_steps": "{0}_t = Neg({1}) {0} = Abs({0}_t)", "unique": "{0} = Unique({1})"}
LOOP = "y = Loop (two, go, x) <body = b (int64 i, bool k, float[] v) => (bool d, float[] r) { d = Identity(k) %s }>"
PLAIN = [name for name in INNER if name != "unique"]


def inside(kind: str, does: str) -> Model:
    """A vector through a container of this kind."""
    text = INNER[does]
    node = text.format("r", "x")
    signature = "(float[n] x, bool c) => (float[] y)"
    otherwise = "else_branch = e () => (float[] q) { q = Identity(x) }"
    function_of = function(text.format("b", "a"))
    graphs = {
        "function": ("y = my.f(x)", function_of),
        "function_of_17": ("y = my.f(x)", function(text.format("b", "a"), opset=17)),
        "function_in_function": ("y = my.g(x)", function_of + function("b = my.f(a)", "g")),
        "branch": (f"y = If (c) <then_branch = t () => (float[] r) {{ {node} }}, {otherwise}>", ""),
        "else": (f"y = If (c) <then_branch = t () => (float[] q) {{ q = Identity(x) }}, else_branch = e () => (float[] r) {{ {node} }}>", ""),
        "function_in_branch": (f"y = If (c) <then_branch = t () => (float[] r) {{ r = my.f(x) }}, {otherwise}>", function_of),
        "branch_in_branch": (f"y = If (c) <then_branch = t () => (float[] p) {{ p = If (c) <then_branch = u () => (float[] r) {{ {node} }}, "
                             f"else_branch = v () => (float[] s) {{ s = Identity(x) }}> }}, {otherwise}>", ""),
        "branch_in_function": ("y = my.f(x,c)", function("b = If (k) <then_branch = t () => (float[] r) { " + text.format("r", "a") + " }, "
                                                         "else_branch = e () => (float[] q) { q = Identity(a) }>", inputs="a,k")),
        "loop": (LOOP % text.format("r", "v"), ""),
        "function_in_loop": (LOOP % "r = my.f(v)", function_of),
    }
    graph, functions = graphs[kind]
    constants = {"two": np.array(2), "go": np.array(True)}
    return Model(f"{signature} {{ {graph} }}", constants, functions=functions)


KINDS = ("function", "function_of_17", "function_in_function", "branch", "else", "function_in_branch", "branch_in_branch", "branch_in_function", "loop",
         "function_in_loop")


def fed() -> list[dict]:
    return [{"x": x, "c": np.array(c)} for c in (True, False) for x in (f32(-1, 2, 2), f32(0, 0), f32(3), f32(), f32(1, 2, 3))]


def different_inside() -> Iterator[Proof]:
    for kind in KINDS:
        for one, other in itertools.permutations(PLAIN, 2):
            yield Proof(f"{kind} {one} {other}", inside(kind, one), inside(kind, other), fed)


def different_outside() -> Iterator[Proof]:
    """The same inside of two containers, which may or may not be the same then."""
    for one, other in itertools.permutations(KINDS, 2):
        for does in ("neg", "unique"):
            yield Proof(f"{one} {other} {does}", inside(one, does), inside(other, does), fed)


def sizes() -> Iterator[Proof]:
    """The size of one of two values whose sizes depend on values; y returns it."""
    feeds = [FOUR_AND_ONE | {"c": np.array(c)} for c in (True, False)] + [{"x": f32(), "z": f32()} | TAKE_THEN]
    makers = ("NonZero", "Unique")
    for kind, maker in itertools.product(("node", "function_18", "function_17", "branch", "loop"), makers):
        call = {"node": "{0} = " + maker + "({1})", "branch": "{0} = If (c) <then_branch = t () => (TYPE[] p) {{ p = " + maker + "({1}) }}, "
                "else_branch = e () => (TYPE[] q) {{ q = " + maker + "({1}) }}>",
                "loop": "{0} = Loop (two, go, {1}) <body = b (int64 i, bool k, float[] v) => (bool d, float[] u) {{ d = Identity(k) u = Unique(v) }}>"}
        text = call.get(kind, "{0} = my.f({1})").replace("TYPE", "int64" if maker == "NonZero" else "float")
        functions = function(f"b = {maker}(a)", opset=int(kind[-2:])) if kind.startswith("function") else ""
        models = [Model(f"(float[n] x, float[n] z, bool c) => (int64[] y) {{ {text.format('r1', 'x')} {text.format('r2', 'z')} {told} }}",
                        {"two": np.array(2), "go": np.array(True)}, functions=functions)
                  for told in ("y = Shape(r1)", "y = Shape(r2)", "a = Shape(r1) b = Shape(r2) y = Sub(a,b)", "y = Shape(x)",
                               "a = Shape(r1) b = Shape(r2) y = Concat<axis=0>(a,b)", "a = Shape(r2) b = Shape(r2) y = Concat<axis=0>(a,b)")]
        for (i, a), (j, b) in itertools.permutations(enumerate(models), 2):
            yield Proof(f"size {kind} {maker} {i} {j}", a, b, lambda feeds=feeds: feeds)
        for i, model in enumerate(models):
            yield Optimization(f"size {kind} {maker} {i}", model, lambda feeds=feeds: feeds)


def captured() -> Iterator[Proof]:
    """Constants inside, of the same name as one outside, and other ones."""
    text = "(float[2] x, bool c) => (float[2] y) {0} {{ y = If (c) <then_branch = t () => (float[2] r) {1} {{ r = Add(x,{2}) }}, " \
           "else_branch = e () => (float[2] q) {{ q = Identity(x) }}> }}"
    outer = ("", "<float[1] v = {1}>", "<float[1] v = {2}>")
    inner = ("<float[1] w = {1}>", "<float[1] w = {2}>", "")
    models = [Model(text.format(o, i, name)) for o in outer for i in inner for name in "wv" if (name == "w" and i) or (name == "v" and o)]
    for (i, a), (j, b) in itertools.permutations(enumerate(models), 2):
        yield Proof(f"captured {i} {j}", a, b)


def declared() -> Iterator[Proof]:
    """Declarations of branches about their outputs are untrusted."""
    for name, (shape, _) in BRANCHES.items():
        node = "r = If (c) <then_branch = t () => (int64{0} p) {{ p = NonZero(x) }}, else_branch = e () => (int64{0} q) {{ q = NonZero(x) }}>"
        models = [Model(f"(float[n] x, bool c) => (int64[2] y) {{ {node.format(s)} y = Shape(r) }}") for s in (shape.format("r"), "[]", "[1,n]")]
        told = Model("(float[n] x, bool c) => (int64[2] y) <int64[1] one = {1}> { s = Shape(x) y = Concat<axis=0>(one,s) }")
        for i, model in enumerate(models):
            yield Proof(f"declared {name} {i}", told, model, fed)


def known_conditions() -> Iterator[Optimization]:
    """A condition that is known before anything runs, and a branch that is not what it was."""
    node = "y = If (c) <{0} = t () => (float[] p) {{ p = Relu(v) }}, {1} = e () => (float[] q) {{ q = Floor(v) }}>"
    conditions = {"folded": "c = Greater(k,k) v = Neg(x)", "of_a_size": "s = Size(x) c = Greater(s,k) v = Neg(x)", "fed": "v = Identity(x) c = Not(f)",
                  "copied": "v = Identity(x) c = Identity(f)"}
    for name, before in conditions.items():
        for order in (("then_branch", "else_branch"), ("else_branch", "then_branch")):
            model = Model(f"(float[2] x, bool f) => (float[2] y) <int64 k = {{5}}> {{ {before} {node.format(*order)} }}")
            yield Optimization(f"condition {name} {order[0]}", model)


def cases(draw: random.Random) -> Iterator[Proof | Optimization]:
    del draw  # all of them
    for makes in (different_inside, different_outside, sizes, captured, declared, known_conditions):
        yield from makes()
    for kind, does in itertools.product(KINDS, INNER):
        yield Optimization(f"{kind} {does}", inside(kind, does), fed)
