"""Stores of plans copied between places: what `isomer plans push` and `pull` do beyond directories.

A file of a store is named by its digest (docs/guides/plans.md), so a copy is checked by its name, and nothing is ever changed.
"""
import json
import time

from . import signatures
from .places import LISTING, Directory, Layout, Registry, Site, place
from .protocol import PATIENCE, Lost, digest

FOLDERS = ("v1/objects/", "v1/index/", "v1/signatures/")  # plans before the entries that name them
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


def copy(source, target, is_wanted=lambda name: True):
    """Copies what is missing and wanted, each file checked by its name; (copied, skipped as damaged)."""
    there = set(patiently(target.list, "v1/"))
    copied = damaged = 0
    for folder in FOLDERS:
        for name in patiently(source.list, folder):
            if name in there or not is_file_of_store(name) or not is_wanted(name):
                continue
            data = patiently(source.read, name, MOST_PLAN_BYTES)
            if data is None or digest(data) != name.rsplit("/", 1)[1]:
                damaged += 1
                continue
            patiently(target.write, name, data)
            there.add(name)
            copied += 1
    if isinstance(target, Layout):
        target.finish()
    elif copied or LISTING not in there:
        listing = sorted(n for n in there if is_file_of_store(n))
        patiently(target.write, LISTING, "".join(n + "\n" for n in listing).encode())
    return copied, damaged


def push(store, address):
    """A directory's plans to another place."""
    target = place(address)
    if isinstance(target, Site | Registry):
        raise ValueError(f"{address} is for reading: push to the directory or the bucket that it shows")
    return copy(Directory(store), target)


def pull(store, address, signers=None):
    """Another place's plans into a directory. `signers`: a file of public keys; then only entries that one of them signed, and their plans."""
    source = place(address)
    if signers is None:
        return copy(source, Directory(store))
    good, wanted = signatures.signed_entries(source, signers), set()
    for name in patiently(source.list, "v1/index/"):
        if name.rsplit("/", 1)[1] in good:
            wanted |= {name, plan_named_in(patiently(source.read, name, MOST_PLAN_BYTES))}
    wanted |= {n for n in patiently(source.list, "v1/signatures/") if n.split("/")[2] in good}
    return copy(source, Directory(store), wanted.__contains__)


def plan_named_in(entry):
    """The file of the plan that an entry names."""
    try:
        name = str(json.loads(entry)["object"])
    except (ValueError, KeyError, TypeError):
        return ""
    return f"v1/objects/{name[:2]}/{name}"
