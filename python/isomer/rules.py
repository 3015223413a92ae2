"""Rewrite rules as text (docs/rules.md): decided for all sizes, found by enumeration, listed, derived from others.

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
>>> folder.cleanup()
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
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


def generate(file: PathLike, *, operators: int = 3, threads: int = 2, progress: Callable[[str], object] | None = None) -> dict[str, Any]:
    """Finds rules of up to so many operators by enumeration, proves them for all sizes, and writes those that do not follow from others.
    Ctrl-C ends it; the file then has what was found so far, and "complete" of the result is false."""
    return json.loads(_core.generate_rules(path_of(file, "a file of rules"), operators, threads, progress))


def listed(file: PathLike) -> list[dict[str, str]]:
    """The rules of a file: "name", what it "says", and its "text"."""
    return json.loads(_core.list_rules(path_of(file, "a file of rules")))["rules"]


def derive(file: PathLike, pack: PathLike, *, steps: int = 3) -> list[dict[str, Any]]:
    """Whether each rule of a file follows from those of a pack in so many steps."""
    return json.loads(_core.derive_rules(path_of(file, "a file of rules"), path_of(pack, "a file of rules"), steps))["rules"]
