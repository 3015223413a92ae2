"""Programs over the same inputs, each compared with the others."""
import dataclasses
import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from attack.cases import Proof
from attack.feeds import Feed
from attack.models import Model

DRAWS = 3  # of a group's own feeds


@dataclasses.dataclass(frozen=True)
class Group:
    """`signature` is `(float[n] x) => (float[] y)`; a body is the text of nodes, or that with constants of its own."""
    name: str
    signature: str
    bodies: Sequence[str | tuple[str, Mapping[str, np.ndarray]]]
    constants: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    feeds: Callable[[np.random.Generator], Feed] | None = None
    opset: int = 18

    def models(self) -> list[Model]:
        texts = [(b, {}) if isinstance(b, str) else b for b in self.bodies]
        return [Model(f"{self.signature} {{ {body} }}", {**self.constants, **own}, self.opset) for body, own in texts]

    def fed(self) -> list[Feed]:
        numbers = np.random.default_rng(11)
        return [self.feeds(numbers) for _ in range(DRAWS)]

    def proofs(self, draw: random.Random, most: int) -> Iterator[Proof]:
        """Ordered pairs, since what A may do is not what B may do."""
        models = self.models()
        pairs = list(itertools.permutations(range(len(models)), 2))
        for i, j in draw.sample(pairs, min(most, len(pairs))):
            yield Proof(f"{self.name} {i} {j}", models[i], models[j], self.fed if self.feeds else None)


def one_changed(text: str, base: dict, **others: Sequence) -> list[str]:
    """The text with its base, and with one word of it changed."""
    changed = (base | {key: value} for key, values in others.items() for value in values)
    return list(dict.fromkeys(text.format(**words) for words in (base, *changed)))


def all_combined(text: str, **words: Sequence) -> list[str]:
    return [text.format(**dict(zip(words, chosen))) for chosen in itertools.product(*words.values())]
