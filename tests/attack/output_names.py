"""Outputs in another order and with other names.

Models with the same set of output names are matched by name, in any order; others by position, and the answer says so (`matched_by`). What is equal in that
sense has to be proved, what is not must not be; certificates are checked in the same sense. Inputs are matched by name, and come in any order.
"""
import dataclasses
import pathlib
import random
from collections.abc import Iterator

import programs
from attack import certificates, oracle
from attack.cases import ANSWERS, ByCommand, Finding, by_turns
from attack.feeds import Feed
from attack.models import Model, f32

# Functions of x and z, each in two ways. {0} is the output, {1} a name of its own.
FUNCTIONS = {
    "negative": ("{0} = Neg(x)", "{0} = Mul(x,less)"), "absolute": ("{0} = Abs(x)", "{1} = Abs(x) {0} = Abs({1})"),
    "sum": ("{0} = Add(x,z)", "{0} = Add(z,x)"), "difference": ("{0} = Sub(x,z)", "{1} = Neg(z) {0} = Add(x,{1})"),
    "product": ("{0} = Mul(x,z)", "{0} = Mul(z,x)"), "double": ("{0} = Add(x,x)", "{0} = Mul(two,x)"),
    "positive": ("{0} = Relu(x)", "{0} = Max(x,nought)"), "itself": ("{0} = Identity(x)", "{1} = Neg(x) {0} = Neg({1})"),
    "larger": ("{0} = Max(x,z)", "{0} = Max(z,x)"), "square": ("{0} = Mul(x,x)", "{1} = Neg(x) {0} = Mul({1},{1})"),
    "difference back": ("{0} = Sub(z,x)", "{1} = Sub(x,z) {0} = Neg({1})"),
}
CONSTANTS = {"less": f32(-1), "two": f32(2), "nought": f32(0)}
FEED = {"x": f32(-1.5, 2, 0.75), "z": f32(0.5, -3, 1.25)}  # at which no two functions are equal
NAMES = ("y", "w", "logits", "a/b", "0", "out.1", "Y", "last_hidden_state")
KINDS = ("same order", "order", "exchanged names", "exchanged names and order", "one exchanged", "other names", "other names and order",
         "some other names", "other function")


@dataclasses.dataclass
class Outputs:
    """(name, function) in order."""
    pairs: list[tuple[str, str]]

    def model(self, draw: random.Random, way: int) -> Model:
        inputs = draw.sample(["float[3] x", "float[3] z"], 2)
        bodies = [FUNCTIONS[f][way if way < 2 else draw.randrange(2)].format(f"v{k}", f"u{k}") for k, (_, f) in enumerate(self.pairs)]
        outputs = ", ".join(f"float[3] v{k}" for k in range(len(self.pairs)))
        return Model(f"({', '.join(inputs)}) => ({outputs}) {{ {' '.join(draw.sample(bodies, len(bodies)))} }}", CONSTANTS)

    def proto(self, draw: random.Random, way: int):
        """With its names, which ONNX's text syntax would not take."""
        made = self.model(draw, way).proto()
        names = {f"v{k}": name for k, (name, _) in enumerate(self.pairs)}
        for node in made.graph.node:
            node.output[:] = [names.get(o, o) for o in node.output]
        for output in made.graph.output:
            output.name = names[output.name]
        return made

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.pairs]


def drawn(draw: random.Random, kind: str) -> tuple[Outputs, Outputs, bool, bool]:
    """The outputs of A and of B, whether they are equal, and whether they are matched by name."""
    n = draw.choice((2, 2, 3, 4, 5))
    names, functions = draw.sample(NAMES, n), draw.sample(list(FUNCTIONS), n)
    a = list(zip(names, functions))
    order = draw.sample(range(n), n)
    while order == list(range(n)):
        order = draw.sample(range(n), n)
    turned = [names[k] for k in order]
    others = draw.sample([x for x in NAMES if x not in names] + ["p", "q", "r", "s", "t"], n)
    b, is_equal = {
        "same order": (a, True),
        "order": ([a[k] for k in order], True),
        "exchanged names": (list(zip(turned, functions)), False),  # equal by position
        "exchanged names and order": (list(zip(names, [functions[k] for k in order])), False),  # neither
        "one exchanged": (list(zip([names[1], names[0], *names[2:]], functions)), False),
        "other names": (list(zip(others, functions)), True),
        "other names and order": (list(zip(others, [functions[k] for k in order])), False),
        "some other names": (list(zip([others[0], *names[:-1]], functions)), True),  # a name moves on by one
        "other function": ([*a[:-1], (names[-1], draw.choice([f for f in FUNCTIONS if f not in functions]))], False),
    }[kind]
    return Outputs(a), Outputs(b), is_equal, sorted(names) == sorted(name for name, _ in b)


def runtime_difference(a: pathlib.Path, b: pathlib.Path, names: tuple[list[str], list[str]], by_name: bool, feed: Feed) -> str | None:
    x, y = (oracle.Program(p).run(feed) for p in (a, b))
    return oracle.difference(x, [y[names[1].index(n)] for n in names[0]] if by_name else y)


def pairing(a: Outputs, b: Outputs) -> list[dict]:
    """The steps of a certificate that pairs outputs by the functions that they are."""
    where = {f: name for name, f in b.pairs}
    how = {"open": [], "work": 1 << 22, "attempt": 1, "at_end": True}
    return [{"compare": "values"}, *({"equal": [name, where[f]]} | how for name, f in a.pairs if f in where)]


@dataclasses.dataclass(frozen=True)
class Names:
    """One pair, drawn when it is its turn."""
    name: str
    seed: str
    kind: str

    def ask(self, folder: pathlib.Path, seconds: int) -> Finding:
        draw = random.Random(self.seed)
        first, second, is_equal, by_name = drawn(draw, self.kind)
        a, b = folder / "a" / "model.onnx", folder / "b" / "model.onnx"
        for path, outputs, way in ((a, first, 0), (b, second, draw.choice((0, 1, 2)))):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(outputs.proto(draw, way).SerializeToString())
        apart = runtime_difference(a, b, (first.names, second.names), by_name, FEED)
        if (apart is None) != is_equal:
            return Finding("failed", apart, crash=f"the case is empty: the runtime sees {apart or 'no difference'}")
        answer = ByCommand().prove(a, b, seconds)
        if answer.value is None or answer.value["verdict"] not in ANSWERS:
            return Finding("failed", apart, crash=answer.why or str(answer.value["verdict"]))
        verdict = answer.value["verdict"]
        unequal = f"{self.kind}: {first.pairs} and {second.pairs}: {apart}" if apart else None
        if unequal:
            is_accepted = certificates.is_accepted(folder / "model.cert", a, b, pairing(first, second))
            return Finding(verdict, unequal, unequal if verdict == "proved" else f"a certificate is accepted: {unequal}" if is_accepted else None)
        if verdict != "proved":
            return Finding(verdict, crash=f"{self.kind}: an equal pair is not proved: {first.pairs} and {second.pairs}: {answer.value['why'][:120]}")
        return Finding(verdict, crash=_untold(answer.value, first, second, by_name) or self._rejected(a, b, folder, seconds))

    def _rejected(self, a, b, folder, seconds) -> str | None:
        """The certificate that `prove` itself writes has to be accepted."""
        path = folder / "own.cert"
        programs.run([programs.program("isomer"), "prove", a, b, "--certificate", path, "--budget", f"{seconds}s", "--quiet"], timeout=seconds + 60)
        fault = certificates.fault(certificates.answers(a, b, path), True) if path.exists() else "prove wrote no certificate"
        return f"{self.kind}: {fault}" if fault else None


def _untold(answer: dict, first: Outputs, second: Outputs, by_name: bool) -> str | None:
    """What the answer does not say of how outputs were matched."""
    wanted = "name" if by_name else "position"
    if answer.get("matched_by") != wanted:
        return f"matched by {wanted}, and the answer says {answer.get('matched_by')!r}"
    pairs = {(o["a"], o["b"]) for o in answer["outputs"]}
    if pairs != (set(zip(first.names, first.names)) if by_name else set(zip(first.names, second.names))):
        return f"the answer pairs {sorted(pairs)}"
    return None


def cases(draw: random.Random) -> Iterator[Names]:
    """Without an end."""
    for kind, seed in by_turns(draw, KINDS):
        yield Names(f"{kind} {seed}", seed, kind)
