"""Importing this lets scripts of tests/ and bench/ import each other's modules, above all those of tests/lib. The folders of scripts have links to it."""
import pathlib
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(_ROOT / folder) for folder in ("tests/lib", "tests", "tests/evidence", "bench")]
