"""Structures of real networks, by the fact that improves them. Importing this lists all of them in STRUCTURES."""
from structures import broadcasts, constants, functions, positions, products, repeated, spellings  # noqa: F401
from structures.building import STRUCTURES  # noqa: F401
