"""Attacks on what `isomer` says: pairs that must not be called equal, forged certificates, models that must keep their values.

`hand` and `certificates` are tables made by hand; the other families draw cases. `../attack_pairs.py` and `../attack_generators.py` run them.
"""
