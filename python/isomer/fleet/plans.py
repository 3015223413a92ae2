"""Stores of plans copied between places: what `isomer plans push` and `pull` do beyond directories.

A file of a store is named by its digest (docs/plans.md), so a copy is checked by its name, and nothing is ever changed.
"""
import time

from .places import LISTING, Directory, Site, place
from .protocol import PATIENCE, Lost, digest

FOLDERS = ("v1/objects/", "v1/index/", "v1/settled/")  # plans before the entries that name them
MOST_PLAN_BYTES = 8 << 20


def patiently(call, *arguments):
    """A call that is tried again where no answer came."""
    for attempt in range(PATIENCE):
        try:
            return call(*arguments)
        except Lost:
            if attempt == PATIENCE - 1:
                raise
            time.sleep(0.1 * 2**attempt)
    raise AssertionError("unreachable")


def is_file_of_store(name):
    """Whether a name is one that a store may have: v1/KIND/FOLDER/DIGEST."""
    parts = name.split("/")
    return (len(parts) == 4 and any(name.startswith(f) for f in FOLDERS) and len(parts[3]) == 64
            and all(set(p) <= set("0123456789abcdef") for p in parts[2:]))


def copy(source, target):
    """Copies what is missing, each file checked by its name; (copied, skipped as damaged)."""
    there = set(patiently(target.list, "v1/"))
    copied = damaged = 0
    for folder in FOLDERS:
        for name in patiently(source.list, folder):
            if name in there or not is_file_of_store(name):
                continue
            data = patiently(source.read, name, MOST_PLAN_BYTES)
            if data is None or digest(data) != name.rsplit("/", 1)[1]:
                damaged += 1
                continue
            patiently(target.write, name, data)
            there.add(name)
            copied += 1
    if copied or LISTING not in there:
        listing = sorted(n for n in there if is_file_of_store(n))
        patiently(target.write, LISTING, "".join(n + "\n" for n in listing).encode())
    return copied, damaged


def push(store, address):
    """A directory's plans to another place."""
    target = place(address)
    if isinstance(target, Site):
        raise ValueError(f"{address} is for reading: push to the directory or the bucket that it shows")
    return copy(Directory(store), target)


def pull(store, address):
    """Another place's plans into a directory."""
    return copy(place(address), Directory(store))
