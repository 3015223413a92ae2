"""The families of cases, and how many of each: in full, and in the short form of ctest."""
import dataclasses
import random
from collections.abc import Callable, Iterator

from attack import (
    attention,
    beside,
    bodies,
    bounds,
    cancelling,
    certificates,
    dead_nodes,
    equal_text,
    flags,
    folding,
    functions,
    hand,
    integers,
    last_digits,
    look_ups,
    mutants,
    operators,
    opsets,
    order,
    output_names,
    random_models,
    randomness,
    reader,
    symbols,
)
from attack.cases import Certificate, Proof


@dataclasses.dataclass(frozen=True)
class Family:
    cases: Callable[[random.Random], Iterator]
    short: int | None  # None: all
    full: int | None = None
    is_endless: bool = False


def pairs_by_hand(draw: random.Random) -> Iterator[Proof]:
    del draw  # all of them
    for p in hand.PAIRS:
        known = None if p.kind == hand.SPECIAL else p.kind
        yield Proof(p.name, p.a, p.b, (lambda feed=p.feed: [feed]) if p.feed else None, known=known)


def forgeries(draw: random.Random) -> Iterator[Certificate]:
    del draw  # all of them
    yield from map(Certificate, certificates.FORGERIES)


FAMILIES = {
    "hand": Family(pairs_by_hand, 0),  # ../attack_pairs.py describes these two
    "certificates": Family(forgeries, 0),
    "operators": Family(operators.cases, 100),
    "symbols": Family(symbols.cases, 100),
    "symbols_from_1": Family(symbols.of_at_least_1, 100),
    "integers": Family(integers.cases, 40),
    "opsets": Family(opsets.cases, 20),
    "flags": Family(flags.cases, 40),
    "randomness": Family(randomness.cases, 10),
    "bounds": Family(bounds.cases, 40),
    "look_ups": Family(look_ups.cases, 40),
    "order": Family(order.cases, 40),
    "bodies": Family(bodies.cases, 60),
    "functions": Family(functions.cases, 60),
    "folding": Family(folding.cases, 60),
    "cancelling": Family(cancelling.cases, 40, 600, is_endless=True),
    "reader": Family(reader.cases, None),
    "models": Family(random_models.cases, 24, 10_000, is_endless=True),
    "mutants": Family(mutants.cases, 24, 2_000, is_endless=True),
    "equal_text": Family(equal_text.cases, 18, 3_000, is_endless=True),
    "last_digits": Family(last_digits.cases, 40, 12_000, is_endless=True),
    "dead_nodes": Family(dead_nodes.cases, 80, 6_000, is_endless=True),
    "output_names": Family(output_names.cases, 18, 2_000, is_endless=True),
    "beside": Family(beside.cases, 18, 2_000, is_endless=True),
    "attention": Family(attention.cases, 24, 4_000, is_endless=True),
    "lengths": Family(attention.lengths, 24, 4_000, is_endless=True),
}
