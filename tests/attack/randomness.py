"""Random numbers: two draws are two values, wherever they are drawn."""
import random
from collections.abc import Iterator

import numpy as np

from attack.cases import Proof
from attack.hand import EQUAL, UNEQUAL
from attack.models import Model, f32, function

CONSTANTS = {"half": np.float32(0.5), "ratio": np.float32(0.5), "training": np.array(True)}
ONE_OUTPUT, TWO_OUTPUTS = "(float[4] x) => (float[4] y)", "(float[4] x) => (float[4] y, float[4] w)"
CONDITION = "(float[4] x, bool c) => (float[4] y)"
SOURCES = {
    "normal": "RandomNormal<shape=[4]>()", "normal_seeded": "RandomNormal<shape=[4],seed=1.0>()", "uniform": "RandomUniform<shape=[4]>()",
    "uniform_seeded": "RandomUniform<shape=[4],seed=1.0>()", "normal_like": "RandomNormalLike(x)", "uniform_like": "RandomUniformLike(x)",
    "bernoulli": "Bernoulli(p)", "dropout": "Dropout(x,ratio,training)",
}
BRANCH = "If (c) <then_branch = t () => (float[4] u) { u = RandomNormalLike(x) }, else_branch = e () => (float[4] v) { v = Identity(x) }>"


def twice_or_once(name: str, signature: str, source: str, before: str = "", functions: str = "") -> Iterator[Proof]:
    twice = Model(f"{signature} {{ {before} r = {source} q = {source} y = Sub(r,q) }}", CONSTANTS, functions=functions)
    once = Model(f"{signature} {{ {before} r = {source} y = Sub(r,r) }}", CONSTANTS, functions=functions)
    known = None if "seed" in source else UNEQUAL  # of one seed come the same numbers, on some runtimes
    yield Proof(f"{name} twice once", twice, once, known=known)
    yield Proof(f"{name} once twice", once, twice, known=known)


def cases(draw: random.Random) -> Iterator[Proof]:
    del draw  # all of them
    for name, source in SOURCES.items():
        before = "p = Mul(x,half)" if name == "bernoulli" else ""
        yield from twice_or_once(name, ONE_OUTPUT, source, before)
        shared = Model(f"{TWO_OUTPUTS} {{ {before} r = {source} y = Identity(r) w = Identity(r) }}", CONSTANTS)
        apart = Model(f"{TWO_OUTPUTS} {{ {before} r = {source} q = {source} y = Identity(r) w = Identity(q) }}", CONSTANTS)
        known = None if "seed" in source else UNEQUAL
        yield Proof(f"{name} shared apart", shared, apart, known=known)
        yield Proof(f"{name} apart shared", apart, shared, known=known)
    yield from twice_or_once("multinomial", "(float[1,4] x) => (int32[1,8] y)", "Multinomial<sample_size=8>(x)")
    yield from twice_or_once("dropout_if_fed", "(float[4] x, bool t) => (float[4] y)", "Dropout(x,ratio,t)")
    yield from twice_or_once("branch", CONDITION, BRANCH)
    for opset in (18, 17):
        yield from twice_or_once(f"function_{opset}", ONE_OUTPUT, "my.f(x)", functions=function("b = RandomNormalLike(a)", opset=opset))
    loop = "Loop (n, go, x) <body = b (int64 i, bool c, float[4] v) => (bool d, float[4] u) { d = Identity(c) u = RandomNormalLike(v) }>"
    yield from twice_or_once("loop", f"{ONE_OUTPUT} <int64 n = {{1}}, bool go = {{1}}>", loop)
    trained = Model(f"{ONE_OUTPUT} {{ y = Dropout(x,ratio,training) }}", CONSTANTS)
    yield Proof("dropout_in_training", trained, Model(f"{ONE_OUTPUT} {{ y = Identity(x) }}"), known=UNEQUAL)
    yield Proof("other_scale", *(Model(f"{ONE_OUTPUT} {{ y = RandomNormal<shape=[4],scale={s}>() }}") for s in (1.0, 5.0)), known=UNEQUAL)
    yield Proof("dropout_without", Model(f"{ONE_OUTPUT} {{ y = Dropout(x) }}"), Model(f"{ONE_OUTPUT} {{ y = Identity(x) }}"), known=EQUAL)
    yield Proof("mean_of_none", Model(f"{ONE_OUTPUT} {{ r = RandomNormalLike(x) z = Mul(r,n) y = Add(x,z) }}", {"n": f32(0)}),
                Model(f"{ONE_OUTPUT} {{ y = Identity(x) }}"), known=EQUAL)
