"""Blocks of equal text that read other large constants, whose values decide an index, a shape or a choice.

A model has two or three such blocks. A certificate replaces each by what it computes, once truly; and once one of them by what another one computes, so that
the claim has the text of a true one and is false. Such a certificate has to be rejected, `prove` must not call the models equal, neither with the certificate
beside the second model nor without, and `optimize` must keep what the blocks compute.
"""
import dataclasses
import pathlib
import random
from collections.abc import Callable, Iterator

import numpy as np

import proving
from attack import certificates, oracle
from attack.cases import ANSWERS, Finding, Optimization, by_turns
from attack.certificates import Forgery
from attack.feeds import Feed
from attack.hand import EQUAL, UNEQUAL
from attack.models import Model, f32, i64

# Numbers of elements: below, at and above those from which constants become symbols (64) and are no longer folded by inference (1024).
MOST_FOLDED = 1024
LENGTHS = (5, 63, 64, 65, 100, 300, 1000, 1023, 1024, 1025, 1500)
DTYPES = {"float": np.float32, "double": np.float64, "float16": np.float16, "int64": np.int64, "int32": np.int32}
FLOATS = ("float", "double", "float16")
SMALL = (1, 2, 4, 8)


@dataclasses.dataclass(frozen=True)
class Block:
    """`text` makes y of x and a constant c, as `instead` does with constants that follow from one number. {c}, {x} and {y} are names, {n} the block's
    number."""
    text: str
    input: str  # type and extents of x; L is the length of c
    constant: Callable[[np.random.Generator, int, int], np.ndarray]  # c for a number, of a length
    instead: Callable[[int], tuple[str, dict]]
    numbers: Callable[[int], tuple[int, ...] | range] = lambda length: SMALL
    types: tuple[str, ...] = FLOATS
    shared: dict = dataclasses.field(default_factory=dict)
    is_accepted: bool = True  # a true claim is; else it is only counted


def peak(numbers: np.random.Generator, length: int, at: int) -> np.ndarray:
    c = numbers.uniform(0, 1, length)
    c[at] = 2
    return c


def trough(numbers: np.random.Generator, length: int, at: int) -> np.ndarray:
    return -peak(numbers, length, at)


def largest(numbers: np.random.Generator, length: int, value: int) -> np.ndarray:
    c = numbers.uniform(0, 0.9, length)
    c[numbers.integers(length)] = value
    return c


def only(numbers: np.random.Generator, length: int, value: int) -> np.ndarray:
    c = np.zeros(length)
    c[numbers.integers(length)] = value
    return c


def count(numbers: np.random.Generator, length: int, value: int) -> np.ndarray:
    c = numbers.uniform(0, 0.4, length)
    c[numbers.permutation(length)[:value]] = 0.75
    return c


def first(numbers: np.random.Generator, length: int, value: int) -> np.ndarray:
    c = numbers.uniform(0, 4, length)
    c[1] = value
    return c


def whole(numbers: np.random.Generator, length: int, value: int) -> np.ndarray:
    c = numbers.integers(0, 4, length).astype(np.float64)
    c[1] = value
    return c


def slice_at(v: int) -> tuple[str, dict]:
    return "{y} = Slice({x},b{n},e{n})", {"b{n}": i64(v), "e{n}": i64(v + 1)}


def with_integers(text: str, *values: int) -> tuple[str, dict]:
    return text, {"k{n}": np.array(values)}


LARGEST = "m{n} = ReduceMax<keepdims=1>({c}) i{n} = Cast<to=7>(m{n}) "
BLOCKS = {
    "index by ArgMax": Block("i{n} = ArgMax<keepdims=1>({c}) {y} = Gather({x},i{n})", "float[L]", peak, slice_at, range),
    "index by ArgMin": Block("i{n} = ArgMin<keepdims=1>({c}) {y} = Gather({x},i{n})", "float[L]", trough, slice_at, range),
    "index by TopK": Block("t{n}, i{n} = TopK({c},one) {y} = Gather({x},i{n})", "float[L]", peak, slice_at, range, ("float", "double"), {"one": i64(1)},
                           is_accepted=False),
    "index by a sum": Block("m{n} = ReduceSum<keepdims=1>({c}) i{n} = Cast<to=7>(m{n}) {y} = Gather({x},i{n})", "float[9]", only, slice_at),
    "index by an element": Block("m{n} = Gather({c},one) i{n} = Cast<to=7>(m{n}) {y} = Gather({x},i{n})", "float[9]", first, slice_at,
                                 shared={"one": i64(1)}),
    "index by an integer": Block("i{n} = Gather({c},one) {y} = Gather({x},i{n})", "float[9]", whole, slice_at, types=("int64", "int32"),
                                 shared={"one": i64(1)}),
    "index by a slice": Block("m{n} = Slice({c},one,two) d{n} = Add(m{n},m{n}) i{n} = Cast<to=7>(d{n}) {y} = Gather({x},i{n})", "float[20]", first,
                              lambda v: slice_at(2 * v), shared={"one": i64(1), "two": i64(2)}),
    "begin of a Slice": Block(LARGEST + "{y} = Slice({x},i{n},nine)", "float[9]", largest,
                              lambda v: ("{y} = Slice({x},b{n},e{n})", {"b{n}": i64(v), "e{n}": i64(9)}), shared={"nine": i64(9)}),
    "count by comparison": Block("g{n} = Greater({c},half) h{n} = Cast<to=7>(g{n}) i{n} = ReduceSum<keepdims=1>(h{n}) {y} = Slice({x},nought,i{n})", "float[9]",
                                 count, lambda v: ("{y} = Slice({x},b{n},e{n})", {"b{n}": i64(0), "e{n}": i64(v)}), lambda length: (1, 2, 3, 4),
                                 ("float", "double"), {"half": 0.5, "nought": i64(0)}),
    "count of non-zeros": Block("z{n} = NonZero({c}) s{n} = Shape(z{n}) i{n} = Gather(s{n},one) {y} = Expand({x},i{n})", "float[1]",
                                lambda numbers, length, v: np.where(count(numbers, length, v) == 0.75, 1, 0),
                                lambda v: with_integers("{y} = Expand({x},k{n})", v), lambda length: (1, 2, 3, 4), ("float",),
                                {"one": i64(1)}, is_accepted=False),
    "rows of a Reshape": Block(LARGEST + "r{n} = Concat<axis=0>(i{n},rest) {y} = Reshape({x},r{n})", "float[8]", largest,
                               lambda v: with_integers("{y} = Reshape({x},k{n})", v, -1), shared={"rest": i64(-1)}),
    "extent of an Expand": Block(LARGEST + "{y} = Expand({x},i{n})", "float[1]", largest, lambda v: with_integers("{y} = Expand({x},k{n})", v)),
    "repeats of a Tile": Block(LARGEST + "{y} = Tile({x},i{n})", "float[2]", largest, lambda v: with_integers("{y} = Tile({x},k{n})", v)),
    "amount of a Pad": Block(LARGEST + "r{n} = Concat<axis=0>(i{n},none) {y} = Pad({x},r{n})", "float[3]", largest,
                             lambda v: with_integers("{y} = Pad({x},k{n})", v, 0), shared={"none": i64(0)}),
    "axis of a Transpose by shape": Block(LARGEST + "r{n} = Concat<axis=0>(i{n},rest) t{n} = Reshape({x},r{n}) {y} = Transpose(t{n})", "float[8]", largest,
                                          lambda v: with_integers("{y} = Reshape({x},k{n})", -1, v), lambda length: (1, 8), shared={"rest": i64(-1)}),
    "numbers of a Range": Block("m{n} = ReduceMax<keepdims=0>({c}) i{n} = Cast<to=7>(m{n}) r{n} = Range(nil,i{n},unit) f{n} = Cast<to=1>(r{n}) "
                                "{y} = Mul({x},f{n})", "float[1]", largest, lambda v: ("{y} = Mul({x},k{n})", {"k{n}": np.arange(v, dtype=np.float32)}),
                                shared={"nil": np.array(0), "unit": np.array(1)}, is_accepted=False),
    "scale of a Resize": Block("m{n} = ReduceMax<keepdims=1>({c}) s{n} = Concat<axis=0>(ones,m{n}) {y} = Resize<mode=\"nearest\">({x},,s{n})",
                               "float[1,1,3]", largest,
                               lambda v: ("{y} = Resize<mode=\"nearest\">({x},,k{n})", {"k{n}": f32(1, 1, v)}), types=("float",), shared={"ones": f32(1, 1)}),
    "sign by comparison": Block("m{n} = ReduceMax<keepdims=0>({c}) g{n} = Greater(m{n},half) u{n} = Neg({x}) {y} = Where(g{n},{x},u{n})", "float[3]",
                                lambda numbers, length, v: count(numbers, length, v - 1), lambda v: (f"{{y}} = {'Identity' if v == 2 else 'Neg'}({{x}})", {}),
                                lambda length: (1, 2), ("float", "double"), {"half": 0.5}, is_accepted=False),
}


@dataclasses.dataclass(frozen=True)
class EqualText:
    """One model with its claims, drawn when it is its turn."""
    name: str
    seed: str
    block: str

    def ask(self, folder: pathlib.Path, seconds: int) -> Finding:
        draw = random.Random(self.seed)
        block = BLOCKS[self.block]
        kind = draw.choice(("forged", "forged", "forged", "honest", "optimized"))
        made = _Made(draw, block, is_honest=kind == "honest")
        if kind == "optimized":
            return Optimization(self.name, made.before, lambda: [made.feed]).ask(folder, seconds)
        a, b = made.before.write(folder / "a" / "model.onnx"), made.after.write(folder / "b" / "model.onnx")
        unequal = oracle.falsehood(oracle.Program(a), oracle.Program(b), [made.feed])
        if (unequal is None) != (kind == "honest"):
            return Finding("failed", unequal, crash=f"the case is empty: the runtime sees {unequal or 'no difference'}")
        forgery = Forgery(self.name, made.before, made.after, made.steps, made.feed, EQUAL if kind == "honest" else UNEQUAL)
        return _answered(forgery, a, b, folder, seconds, unequal, block.is_accepted and made.length <= MOST_FOLDED)


def _answered(forgery: Forgery, a: pathlib.Path, b: pathlib.Path, folder: pathlib.Path, seconds: int, unequal: str | None, is_accepted: bool) -> Finding:
    """By both checkers, by `prove`, and by `prove` with the certificate beside the second model."""
    path = certificates.write(folder / "model.cert", a, b, forgery.steps)
    said = certificates.answers(a, b, path)
    fault = certificates.fault(said, forgery.kind == EQUAL)
    verdicts = {who: answer["verdict"] for who, answer in said.items()}
    verdicts["prove"] = proving.prove(a, b, seconds, sizes_from=0)["verdict"]
    b.with_name("model.onnx.cert").write_bytes(path.read_bytes())
    verdicts["prove with the certificate beside it"] = proving.prove(a, b, seconds, sizes_from=0)["verdict"]
    yes = [who for who, verdict in verdicts.items() if verdict in ("accepted", "proved")]
    odd = {who: verdict for who, verdict in verdicts.items() if verdict not in (*ANSWERS, "accepted", "rejected")}
    verdict = "proved" if yes else "undecided"
    if odd:
        return Finding(verdict, unequal, crash=f"{odd}")
    if unequal:
        return Finding(verdict, unequal, f"{', '.join(yes)}: {unequal}" if yes else None, None if yes else fault)
    return Finding(verdict, crash=fault if is_accepted else None)


class _Made:
    """The models and claims of two or three blocks."""

    def __init__(self, draw: random.Random, block: Block, is_honest: bool):
        numbers = np.random.default_rng(draw.randrange(2**32))
        length, type_ = draw.choice(LENGTHS), draw.choice(block.types)
        self.length, blocks = length, draw.choice((2, 2, 3))
        values = _unlike(draw, list(block.numbers(length)), blocks)
        said = list(values)
        order = draw.sample(range(blocks), blocks)  # of the claims
        if not is_honest:
            # A later claim says what an earlier one says, so that its text is that of a true one.
            source, target = sorted(draw.sample(range(blocks), 2))
            said[order[target]] = values[order[source]]
            if said == values:
                said[order[target]] = next(v for v in values if v != values[order[target]])
        dtype = DTYPES[type_]
        shared = {k: np.array([v], dtype) if isinstance(v, float) else v for k, v in block.shared.items()}
        constants = {f"c{n}": block.constant(numbers, length, v).astype(dtype) for n, v in enumerate(values)}
        inputs = ", ".join(f"{block.input.replace('L', str(length))} x{n}" for n in range(blocks))
        outputs = ", ".join(f"float[] y{n}" for n in range(blocks))
        texts = [block.text.format(n=n, c=f"c{n}", x=f"x{n}", y=f"y{n}") for n in range(blocks)]
        self.before = Model(f"({inputs}) => ({outputs}) {{ {' '.join(texts)} }}", constants | shared)
        self.steps, afters, own = [], [], {}
        for n, v in enumerate(said):
            text, more = block.instead(v)
            more = {k.format(n=n): value for k, value in more.items()}
            own |= more
            afters.append(text.format(n=n, x=f"x{n}", y=f"y{n}"))
            by = Model(f"({block.input.replace('L', str(length))} x{n}) => (q{n}) {{ {text.format(n=n, x=f'x{n}', y=f'q{n}')} }}", more)
            self.steps.append({"replace": [f"y{n}"], "from": [f"x{n}"], "by": certificates.encoded(by.proto())})
        self.steps = [self.steps[n] for n in order]
        self.after = Model(f"({inputs}) => ({outputs}) {{ {' '.join(afters)} }}", own)
        extents = [int(e) for e in block.input.replace("L", str(length)).removeprefix("float[").removesuffix("]").split(",")]
        self.feed: Feed = {f"x{n}": (np.arange(np.prod(extents)) + 1).astype(np.float32).reshape(extents) for n in range(blocks)}


def _unlike(draw: random.Random, values: list[int], wanted: int) -> list[int]:
    """As many of them; at least two differ."""
    chosen = [draw.choice(values) for _ in range(wanted)]
    if len(set(chosen)) == 1:
        chosen[-1] = draw.choice([v for v in values if v != chosen[0]])
    return chosen


def cases(draw: random.Random) -> Iterator[EqualText]:
    """Without an end."""
    for kind, seed in by_turns(draw, BLOCKS):
        yield EqualText(f"{kind} {seed}", seed, kind)
