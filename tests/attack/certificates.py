"""Certificates made by hand: the models, and what the forger says was done.

Digests are those of the build under test, so that the steps are what is rejected.
"""
import base64
import dataclasses
import json
import pathlib
from collections.abc import Iterable

import numpy as np
import onnx.parser

import programs
from attack import hand
from attack.feeds import Feed
from attack.hand import EQUAL, SPECIAL, UNEQUAL
from attack.models import Model, f32, function, i64

HEAD = '<ir_version: 9, opset_import: ["" : 18]>\ng '


@dataclasses.dataclass(frozen=True)
class Forgery:
    name: str
    before: Model
    after: Model
    steps: list[dict]
    feed: Feed  # shows it on ONNX Runtime
    kind: str = UNEQUAL  # a special one must be rejected too


def encoded(model: onnx.ModelProto) -> str:
    """A program as certificates have it."""
    return base64.b64encode(model.SerializeToString()).decode()


def as_model(text: str) -> str:
    """The same of ONNX's text syntax."""
    return encoded(onnx.parser.parse_model(text))


def program(text: str) -> str:
    return as_model(HEAD + text)


def replace(output: str, inputs: str, by: str) -> dict:
    return {"replace": [output], "from": list(inputs.split()), "by": program(by)}


# y = Shape(r1) becomes Shape(r2): right only if both have one size.
OTHER_SIZE = [replace("y", "r1 r2", "(int64[1,k] r1, int64[1,k] r2) => (int64[2] q) { q = Shape(r2) }")]
CALLS = "(float[n] x, float[n] z) => (int64[2] y, int64[2] w) { r1 = my.f(x) r2 = my.f(z) y = Shape(%s) w = Shape(r2) }"


def folded(type_: str, a: int, b: int, op: str, value: int) -> tuple[Model, Model]:
    return (Model(f"({type_}[2] x) => ({type_}[2] y) <{type_}[1] a = {{{a}}}, {type_}[1] b = {{{b}}}, {type_}[1] c = {{2}}> "
                  f"{{ s = {op}(a,b) d = Div(s,c) y = Add(x,d) }}"),
            Model(f"({type_}[2] x) => ({type_}[2] y) <{type_}[1] d_folded = {{{value}}}> {{ y = Add(x,d_folded) }}"))


def forged(name: str, models: Iterable[Model | str], steps: list[dict], feed: Feed, kind: str = UNEQUAL) -> Forgery:
    return Forgery(name, *(m if isinstance(m, Model) else Model(m) for m in models), steps, feed, kind)


NEGATIVE_LOG = "(float[3] x, float[3] w) => (float[3] q) { n = Neg(x) d = Sub(w,w) q = Add(n,d) }"
CHOSEN = "k = Cast<to=1>(c) d = Sub(w,x) e = Mul(k,d)"
FOLD_D, FOLD_E = [{"fold": ["d"]}], [{"fold": ["e"]}]
E_FOLDED = hand.ADD_LONG.replace("e)", "e_folded)") % ""
KEPT = "(float[2,3] x) => (float[] y) <int64[1] {0} = {{1}}> {{ y = ReduceMax<keepdims={1}>(x,{0}) }}"
DECLARED = "(float[q] x) => (int64[1] y, float[q] u) { u = Unique(x) y = Shape(%s) }"
MAXIMUM = "m = ReduceMax<keepdims=1>(x) d = Sub(m,m) q = Neg(z)"
THREE = {"x": f32(1, -2, 3)}
# A weight is another number, which a program that adds and takes away something large calls rounding.
SCALED = "(float[2] x) => (float[2] y) { y = Mul(x,w) }"
LARGE_AND_BACK = [{"compare": "values"},
                  {"constant": "w", "of": "out", "by": program("(float[2] w) => (float[2] q) <float k = {1e8}> { s = Add(w,k) q = Sub(s,k) }")},
                  {"equal": ["y", "y"], "open": [], "work": 1 << 20, "attempt": 1, "at_end": False}]
NEGATED_W = "(float[2] x) => (float[2] y) { v = Neg(w) y = Mul(x,v) }"
NEGATED_INDEX = "(float[20] x) => (float[1] y) { v = Neg(w) i = Cast<to=7>(v) y = Gather(x,i) }"


def large_and_back(n: int, large: str) -> dict:
    """v = -w, as real numbers."""
    return replace("v", "w", f"(float[{n}] w) => (float[{n}] q) <float k = {{{large}}}> {{ m = Neg(w) s = Add(m,k) q = Sub(s,k) }}")


# What rounding to 16 bits takes away of x: not 0.
ROUNDED = "(float[3] x) => (float[3] y) { h = Cast<to=10>(x) w = Cast<to=1>(h) y = Sub(w,x) }"
NOT_ROUNDED = "(float[3] x) => (float[3] y) { y = Sub(x,x) }"

FORGERIES = [
    forged("a_rounding_is_widened_away", [ROUNDED, NOT_ROUNDED], [{"widen": ["h", "w"]}], {"x": f32(1.0001, -2.0003, 3)}),
    forged("a_rounding_is_widened_away_behind", [ROUNDED, "(float[3] x) => (float[3] y) { w_wide = Identity(x) y = Sub(w_wide,x) }"],
           [{"widen": ["w"]}], {"x": f32(1.0001, -2.0003, 3)}),
    forged("float32_is_widened", ["(float[3] x) => (float[3] y) { y = Neg(x) }", "(float[3] x) => (float[3] y) { y = Identity(x) }"],
           [{"widen": ["y"]}], THREE),
    forged("two_negations", ["(float[3] x) => (float[3] y) { n = Neg(x) y = Neg(n) }", "(float[3] x) => (float[3] y) { y = Identity(x) }"],
           [replace("y", "x", "(float[3] x) => (float[3] w) { w = Identity(x) }")], THREE, EQUAL),
    forged("nan_in_an_input", ["(float[3] x) => (float[3] y, float[3] w) { w = Log(x) y = Neg(x) }",
                               "(float[3] x) => (float[3] y, float[3] w) { w = Log(x) n = Neg(x) d = Sub(w,w) y = Add(n,d) }"],
           [replace("y", "x w", NEGATIVE_LOG)], THREE, SPECIAL),
    forged("nan_in_a_dead_value", ["(float[3] x) => (float[3] y) { w = Log(x) y = Neg(x) }", hand.LOG_OF_X],
           [replace("y", "x w", NEGATIVE_LOG)], THREE),
    forged("nan_not_chosen", ["(float[3] x, bool[3] c) => (float[3] y) { w = Log(x) y = Where(c,w,x) }",
                              f"(float[3] x, bool[3] c) => (float[3] y) {{ w = Log(x) {CHOSEN} y = Add(x,e) }}"],
           [replace("y", "x w c", f"(float[3] x, float[3] w, bool[3] c) => (float[3] q) {{ {CHOSEN} q = Add(x,e) }}")],
           THREE | {"c": np.array([True, False, True])}, SPECIAL),
    forged("function_budget", (Model(hand.CALLS, functions=hand.LONG_FUNCTION + f) for f in hand.NEG_OR_ABS), [], hand.NEGATIVE),
    forged("function_in_if", (Model(hand.IN_BRANCH % "{ r = my.f(x) }", functions=f) for f in hand.NEG_OR_ABS), [], hand.TAKEN),
    forged("external_data_in_branch", (Model(hand.EXTERNAL, data={"w.bin": w}) for w in (f32(1, 2), f32(30, 40))), [], hand.TAKEN),
    forged("overridable_default", (hand.OVERRIDABLE % (w, "w") for w in ("1,2", "3,4")), [], hand.X2),
    *(forged(f"function_symbols_{opset}", (Model(CALLS % r, functions=function("b = NonZero(a)", opset=opset)) for r in ("r1", "r2")), OTHER_SIZE,
             hand.FOUR_AND_ONE) for opset in (18, 17)),
    *(forged(f"if_symbols_{name}", (hand.two_branches(shape, other, r) for r in ("r1", "r2")), OTHER_SIZE, hand.FOUR_AND_ONE | hand.TAKE_THEN)
      for name, (shape, other) in hand.BRANCHES.items()),
    forged("declared_size", (DECLARED % v for v in "ux"), [replace("y", "x u", "(float[q] x, float[q] u) => (int64[1] s) { s = Shape(x) }")],
           hand.REPEATED),
    forged("fold_int32", folded("int32", 2**31 - 1, 1, "Add", 2**30), FOLD_D, {"x": np.array([0, 1], np.int32)}),
    forged("fold_uint8", folded("uint8", 200, 100, "Add", 150), FOLD_D, {"x": np.array([0, 1], np.uint8)}),
    forged("fold_uint32", folded("uint32", 0, 1, "Sub", 0), FOLD_D, {"x": np.array([0, 1], np.uint32)}),
    forged("fold_ceil", [Model(hand.ADD_LONG % "p = Mul(c,d) e = Ceil(p)", hand.LONG),
                         Model(E_FOLDED, {"e_folded": np.ceil(hand.WIDE["c"] * hand.WIDE["d"]).astype(np.float32)})], FOLD_E, hand.NOUGHT),
    forged("fold_bfloat16", [Model(hand.ADD_LONG % "h = Cast<to=16>(c) e = Cast<to=1>(h)", hand.WEIGHTS),
                             Model(E_FOLDED, {"e_folded": hand.WEIGHTS["c"]})], FOLD_E, hand.NOUGHT),
    forged("rounded_by_cancellation", (Model(SCALED, {"w": f32(1000, w)}) for w in (0.1, 0.3)), LARGE_AND_BACK, {"x": f32(0, 1000)}),
    *(forged(f"folded_by_cancellation_{large}",
             [Model(NEGATED_W, {"w": f32(1000, 0.1)}), Model("(float[2] x) => (float[2] y) { y = Mul(x,v_folded) }", {"v_folded": f32(*left)})],
             [large_and_back(2, large), {"fold": ["v"]}], {"x": f32(0, 1000)}) for large, left in (("1e15", (-1000, -0.125)), ("1e30", (0, 0)))),
    forged("index_by_cancellation",
           [Model(NEGATED_INDEX, {"w": f32(-5.5)}), Model("(float[20] x) => (float[1] y) { y = Gather(x,i_folded) }", {"i_folded": i64(8)})],
           [large_and_back(1, "1e8"), {"fold": ["i"]}], {"x": np.arange(20, dtype=np.float32)}),
    # A shape as a float, 5, is (5 + 1e8) - 1e8 over the reals, and 8 where inference computes in float32. From `z`: so that the region is whole.
    *(forged(f"shape_by_cancellation_from_{start}",
             ["(float[20] x, float[5] z) => (float[20] y) { s = Shape(z) f = Cast<to=1>(s) y = Mul(x,f) }",
              Model("(float[20] x, float[5] z) => (float[20] y) { y = Mul(x,f_folded) }", {"f_folded": f32(8)})],
             [replace("f", start, program_text), {"fold": ["f"]}], {"x": np.arange(20, dtype=np.float32), "z": np.zeros(5, np.float32)})
      for start, program_text in (("s", "(int64[1] s) => (float[1] q) <float k = {1e8}> { m = Cast<to=1>(s) t = Add(m,k) q = Sub(t,k) }"),
                                  ("z", "(float[5] z) => (float[1] q) <float k = {1e8}> { s = Shape(z) m = Cast<to=1>(s) t = Add(m,k) q = Sub(t,k) }"))),
    forged("keepdims_2", [KEPT.format("one", 2), KEPT.format("o", 1)],
           [replace("y", "x", "(float[2,3] x) => (float[2,1] m) <int64[1] o = {1}> { m = ReduceMax<keepdims=1>(x,o) }")],
           {"x": np.ones((2, 3), np.float32)}),
    forged("one_hot_as_gather", [hand.ONE_HOT, hand.LOOKED_UP],
           [replace("y", "i w", "(int64[N] i, float[4,3] w) => (float[N,3] g) { g = Gather(w,i) }")], {"i": np.array([7, 1])}),
    forged("empty_maximum", [hand.NEGATED, f"(float[n] x, float[3] z) => (float[3] y) {{ {MAXIMUM} y = Add(q,d) }}"],
           [replace("y", "x z", f"(float[n] x, float[3] z) => (float[3] r) {{ {MAXIMUM} r = Add(q,d) }}")], hand.NOTHING),
]


def head(model: pathlib.Path) -> dict:
    """The first line of a certificate, whose `out` is not read, made by the build under test: its version, and its name for the model."""
    out = model.with_suffix(".digest.onnx")
    command = [programs.program("isomer"), "optimize", str(model), "-o", str(out), "--judge", "cost", "--steps", "1", "--budget", "5s", "--quiet",
               "--sizes-from", "0"]
    done = programs.run(command, timeout=120)
    if done.code != 0:
        raise RuntimeError(f"no digest of {model.name}: {done.stderr.strip()[-200:]}")
    return json.loads(pathlib.Path(f"{out}.cert").read_text().splitlines()[0])


def write(path: pathlib.Path, before: pathlib.Path, after: pathlib.Path, steps: list[dict]) -> pathlib.Path:
    first = head(before) | {"out": head(after)["in"]}
    path.write_text("".join(json.dumps(line) + "\n" for line in (first, *steps)))
    return path


def answers(before: pathlib.Path, after: pathlib.Path, certificate: pathlib.Path) -> dict[str, dict]:
    """What both checkers say."""
    out = {}
    for name, command in (("isomer check", [programs.program("isomer"), "check"]), ("isomer-check", [programs.program("isomer-check")])):
        done = programs.run([*command, str(before), str(after), str(certificate), "--json"], timeout=120)
        out[name] = json.loads(done.stdout) if done.code in (0, 1) else {"verdict": f"exit {done.code}", "reason": done.stderr.strip()[-200:]}
    return out


def is_accepted(path: pathlib.Path, before: pathlib.Path, after: pathlib.Path, steps: list[dict]) -> bool:
    """Whether a checker accepts these steps. A model that the reader rejects has no digest, and no certificate."""
    try:
        write(path, before, after, steps)
    except RuntimeError:
        return False
    return any(answer["verdict"] == "accepted" for answer in answers(before, after, path).values())


def fault(said: dict[str, dict], honest: bool) -> str | None:
    """What is wrong with these answers. A rejection for a digest or a format does not test the steps: then this suite is wrong."""
    for name, answer in said.items():
        if answer["verdict"] != ("accepted" if honest else "rejected"):
            return f"{name}: {answer['verdict']} {answer['reason']}".strip()
        if answer["reason"].startswith("the certificate is about another") or ".cert: line " in answer["reason"]:
            return f"{name}: {answer['reason']}"
    return None
