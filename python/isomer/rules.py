"""Rewrite rules as text (docs/reference/rules.md): decided for all sizes, found by enumeration, listed, derived from others.

>>> import isomer, pathlib, tempfile
>>> folder = tempfile.TemporaryDirectory()
>>> file = pathlib.Path(folder.name, "two.rules")
>>> _ = file.write_text('''
... rule twice_negated
... given float[N] x
... left { a = Neg(x) y = Neg(a) } => y
... right { y = Identity(x) } => y
...
... rule negated
... given float[N] x
... left { y = Neg(x) } => y
... right { y = Identity(x) } => y
... ''')
>>> for rule in isomer.rules.prove(file):
...     print(rule.name, rule.verdict)
twice_negated proved
negated refuted
>>> [rule["name"] for rule in isomer.rules.listed(file)]
['twice_negated', 'negated']

Rules of one operator by two processes, and as one pack:

>>> parts = [pathlib.Path(folder.name, f"part{k}.rules") for k in (1, 2)]
>>> for k, part in enumerate(parts, 1):
...     _ = isomer.rules.generate(part, operators=1, shard=(k, 2))
>>> pack = pathlib.Path(folder.name, "pack.rules")
>>> isomer.rules.merge(parts, pack)["rules"] == len(isomer.rules.listed(pack)) > 0
True
>>> folder.cleanup()
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable
from typing import Any, Literal

from . import _core
from ._inputs import PathLike, path_of


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule that was decided. "conditional" is true where `requires` holds. `as_expected`: None, if its text expects nothing."""

    name: str
    verdict: Literal["proved", "conditional", "refuted", "undecided"]
    requires: Any
    why: str
    as_expected: bool | None


def prove(file: PathLike) -> list[Rule]:
    """Decides each rule of a file, for all sizes."""
    report = json.loads(_core.prove_rules(path_of(file, "a file of rules")))
    return [Rule(r["name"], r["verdict"], r["requires"], r["why"], r["as_expected"]) for r in report["rules"]]


def generate(
    file: PathLike,
    *,
    operators: int = 3,
    threads: int = 2,
    shard: tuple[int, int] | None = None,
    progress: Callable[[str], object] | None = None,
) -> dict[str, Any]:
    """Finds rules of up to `operators` operators by enumeration, proves them for all sizes, and writes those that do not follow from others.
    Ctrl-C ends it; the file then has what was found so far, and "complete" of the result is false. `shard`: (2, 3) is the second of three parts of
    the largest number of operators, for `merge`."""
    index, of = shard if shard is not None else (0, 0)
    if shard is not None and not 1 <= index <= of:
        raise ValueError(f"shard {index} of {of}: from 1 to how many there are")
    return json.loads(_core.generate_rules(path_of(file, "a file of rules"), operators, threads, index, of, progress))


def merge(shards: Iterable[PathLike], file: PathLike, *, threads: int = 2, progress: Callable[[str], object] | None = None) -> dict[str, Any]:
    """Writes the pack that one run would have made, out of all of its parts (`generate` with `shard`)."""
    paths = [path_of(shard, "a shard") for shard in shards]
    return json.loads(_core.merge_rules(paths, path_of(file, "a file of rules"), threads, progress))


def listed(file: PathLike) -> list[dict[str, str]]:
    """The rules of a file: "name", what it "says", and its "text"."""
    return json.loads(_core.list_rules(path_of(file, "a file of rules")))["rules"]


def derive(file: PathLike, pack: PathLike, *, steps: int = 3) -> list[dict[str, Any]]:
    """Whether each rule of a file follows from those of a pack in at most `steps` steps."""
    return json.loads(_core.derive_rules(path_of(file, "a file of rules"), path_of(pack, "a file of rules"), steps))["rules"]
