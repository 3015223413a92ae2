"""Importing this makes the modules of tests/ importable that bench/ shares with it: programs, zoo, proving, records, small_models, decoder."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
