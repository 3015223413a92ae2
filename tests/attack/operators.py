"""One attribute, constant or wire changed in one call of an operator: about 3,600 pairs, most of them unequal."""
import random
from collections.abc import Iterator

from attack import operators_blocks, operators_elementwise, operators_indexing, operators_windows
from attack.cases import Proof

MOST_PAIRS = 60  # of a group
GROUPS = [*operators_elementwise.GROUPS, *operators_windows.GROUPS, *operators_indexing.GROUPS, *operators_blocks.GROUPS]


def cases(draw: random.Random) -> Iterator[Proof]:
    for group in GROUPS:
        yield from group.proofs(draw, MOST_PAIRS)
