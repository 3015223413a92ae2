"""The programs `isomer` and `isomer-check`, as the installed package starts them."""

import os
import pathlib
import sys

from ._inputs import runtime_libraries


def _start(name: str) -> None:
    """Becomes the program of the package. A runtime that this Python has installed is the one that it finds."""
    program = str(pathlib.Path(__file__).parent / "bin" / name)
    os.execve(program, [program, *sys.argv[1:]], os.environ | runtime_libraries())


def isomer() -> None:
    """The command `isomer`. Work on many machines is Python's own; everything else is the program's."""
    if sys.argv[1:2] in (["fleet"], ["plans"]):
        from .fleet.command import is_ours, main
        if is_ours(sys.argv[1:]):
            sys.exit(main(sys.argv[1:]))
    _start("isomer")


def isomer_check() -> None:
    """The program isomer-check, which links no optimizer."""
    _start("isomer-check")
