"""Maxima, minima, positions and comparisons of functions that rise, that fall, and that do neither."""
import itertools
import random
from collections.abc import Iterator

from attack.cases import Proof
from attack.models import f32, i64
from attack.variants import Group

MOST_PAIRS = 30  # of a group
XY = "(float[2,5] x, float[2,5] z) => (float[] y)"
# {0} becomes {1}. Each of them runs for every number, or the first model's not running excuses it.
FUNCTIONS = [
    "{1} = Identity({0})", "{1} = Relu({0})", "{1} = Exp({0})", "{1} = Sigmoid({0})", "{1} = Tanh({0})", "{1} = Neg({0})", "{1} = Abs({0})", "{1} = Erf({0})",
    "{1} = Mul({0},{0})", "{1} = Mul({0},two)", "{1} = Mul({0},less)", "{1} = Add({0},two)", "{1} = Sub(two,{0})", "{1} = LeakyRelu<alpha=0.1>({0})",
    "{1} = LeakyRelu<alpha=-0.5>({0})", "{1} = Clip({0},less,two)", "{1}a = Relu({0}) {1} = Sub({0},{1}a)", "{1}a = Relu({0}) {1} = Add({0},{1}a)",
    "{1}a = Exp({0}) {1} = Add({0},{1}a)", "{1}a = Exp({0}) {1} = Sub({0},{1}a)", "{1}a = Sigmoid({0}) {1} = Mul({0},{1}a)", "{1} = Floor({0})",
    "{1} = Log({0})", "{1} = Sqrt({0})", "{1} = Reciprocal({0})", "{1}a = Exp({0}) {1} = Div(two,{1}a)", "{1}a = Exp({0}) {1} = Add({1}a,two)",
    "{1} = Elu({0})", "{1} = HardSigmoid({0})", "{1} = HardSwish({0})", "{1} = Softplus({0})", "{1} = Mul({0},none)",
]
# {1} by one number for each row
REDUCTIONS = ["{1} = ReduceMax<keepdims=1>({0},last)", "{1} = ReduceMin<keepdims=1>({0},last)"]
CHOICES = ["y = ArgMax<axis=1>({0})", "y = ArgMin<axis=1>({0})", "y = ArgMax<axis=1,select_last_index=1>({0})"]
COMPARISONS = ["c = Less({0},{1}) y = Where(c,x,z)", "c = Greater({0},{1}) y = Where(c,x,z)", "c = LessOrEqual({0},{1}) y = Where(c,x,z)",
               "c = Equal({0},{1}) y = Where(c,x,z)"]
POOLS = ["y = MaxPool<kernel_shape=[2],pads=[1,0]>({0})", "y = MaxPool<kernel_shape=[2],strides=[2]>({0})"]
CONSTANTS = {"two": f32(2), "less": f32(-1), "none": f32(0), "half": f32(0.5), "last": i64(1)}


def moved(function: str, reduction: str) -> list[str]:
    """The function of all, then the reduction, and the other way round."""
    return [function.format("x", "f") + " " + reduction.format("f", "y"), reduction.format("x", "m") + " " + function.format("m", "y")]


def groups(draw: random.Random) -> Iterator[Group]:
    folded = [b for f, r in itertools.product(FUNCTIONS, REDUCTIONS) for b in moved(f, r)]
    # Each pair of a function with itself, and some with others.
    for f in FUNCTIONS:
        yield Group(f"fold {f}", XY, [b for r in REDUCTIONS for b in moved(f, r)], CONSTANTS)
        yield Group(f"choice {f}", "(float[2,5] x) => (int64[] y)",
                    [c.format("x") for c in CHOICES[:2]] + [f.format("x", "f") + " " + c.format("f") for c in CHOICES[:2]], CONSTANTS)
        both = f.format("x", "f") + " " + f.format("z", "g") + " "
        yield Group(f"compare {f}", XY, [c.format(*o) for c in COMPARISONS for o in ("xz", "zx")] +
                    [both + c.format(*o) for c in COMPARISONS for o in ("fg", "gf")], CONSTANTS)
        yield Group(f"number {f}", XY, [f.format("x", "f") + " " + COMPARISONS[k].format("f", n) for k in range(2) for n in ("none", "half", "two", "less")] +
                    [COMPARISONS[k].format("x", n) for k in range(2) for n in ("none", "half", "two", "less")], CONSTANTS)
        yield Group(f"pool {f}", "(float[1,2,6] x) => (float[] y)",
                    [b for p in POOLS for b in (f.format("x", "f") + " " + p.format("f"), p.format("x").replace("y =", "m =") + " " + f.format("m", "y"))],
                    CONSTANTS)
    yield Group("fold all", XY, folded, CONSTANTS)
    g = [draw.sample(FUNCTIONS, 2) for _ in range(60)]
    for f1, f2 in g:
        two = f1.format("x", "f") + " " + f2.format("f", "g") + " "
        yield Group(f"two {f1} {f2}", XY, [two + r.format("g", "y") for r in REDUCTIONS] + [
            r.format("x", "m") + " " + f1.format("m", "f") + " " + f2.format("f", "y") for r in REDUCTIONS] + [
            f1.format("x", "f") + " " + r.format("f", "m") + " " + f2.format("m", "y") for r in REDUCTIONS], CONSTANTS)
        # A sum of two, and a row's own number added or multiplied.
        added = f1.format("x", "f") + " " + f2.format("x", "g") + " s = Add(f,g) "
        yield Group(f"sum {f1} {f2}", XY, [added + r.format("s", "y") for r in REDUCTIONS] + [
            r.format("x", "m") + " " + f1.format("m", "f") + " " + f2.format("m", "g") + " y = Add(f,g)" for r in REDUCTIONS], CONSTANTS)
        row = "r = ReduceSum<keepdims=1>(z,last) " + f1.format("r", "h") + " " + f2.format("x", "f") + " "
        yield Group(f"row {f1} {f2}", XY, [f"{row}s = {o}(f,h) {r.format('s', 'y')}" for o in ("Add", "Mul") for r in REDUCTIONS] + [
            f"{row}{r.format('f', 'm')} y = {o}(m,h)" for o in ("Add", "Mul") for r in REDUCTIONS], CONSTANTS)


def cases(draw: random.Random) -> Iterator[Proof]:
    for group in groups(draw):
        yield from group.proofs(draw, MOST_PAIRS)
