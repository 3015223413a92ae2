"""Signatures of measurements: detached signatures of a store's entries, made and checked by OpenSSH (`ssh-keygen -Y`). Proofs need none: they are repeated.

  v1/signatures/ENTRY/DIGEST    a signature of the entry of this name, in OpenSSH's armor; named by its digest, like all files of a store
A key is an SSH key. The allowed signers are a file of lines `NAME KEYTYPE KEY`, as ssh-keygen(1) has it under "allowed signers".
"""
import pathlib
import subprocess
import tempfile

from .places import Directory
from .protocol import digest

NAMESPACE = "isomer-plans"  # a signature of anything else, by the same key, is none of ours
MOST_BYTES = 16384


class NoKey(ValueError):
    """A key that can't sign, or no OpenSSH."""


def _run(command, data):
    try:
        return subprocess.run(command, input=data, capture_output=True, timeout=60, check=False)
    except FileNotFoundError as fault:
        raise NoKey("there is no ssh-keygen here: install OpenSSH") from fault


def signed(data, key):
    """A signature of bytes."""
    with tempfile.TemporaryDirectory(prefix="isomer-sign-") as folder:
        file = pathlib.Path(folder) / "entry"
        file.write_bytes(data)
        ran = _run(["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(file)], b"")
        if ran.returncode != 0:
            raise NoKey(f"{key} does not sign: {ran.stderr.decode(errors='replace').strip()[-300:]}")
        return file.with_name("entry.sig").read_bytes()


def signer_of(data, signature, signers):
    """The name of the signer, by the file of signers; None: no signer that it names, or a signature of other bytes."""
    with tempfile.TemporaryDirectory(prefix="isomer-sign-") as folder:
        file = pathlib.Path(folder) / "signature"
        file.write_bytes(signature)
        found = _run(["ssh-keygen", "-Y", "find-principals", "-f", str(signers), "-s", str(file)], b"")
        for name in found.stdout.decode(errors="replace").split("\n") if found.returncode == 0 else []:
            command = ["ssh-keygen", "-q", "-Y", "verify", "-f", str(signers), "-I", name.strip(), "-n", NAMESPACE, "-s", str(file)]
            if name.strip() and _run(command, data).returncode == 0:
                return name.strip()
    return None


def sign(store, key):
    """Signs each entry of a directory that this key has not signed; how many."""
    source, made = Directory(store), 0
    for name in source.list("v1/index/"):
        data, entry = source.read(name, MOST_BYTES), name.rsplit("/", 1)[1]
        if data is None or digest(data) != entry:
            continue
        signature = signed(data, key)
        target = f"v1/signatures/{entry}/{digest(signature)}"
        if source.read(target, MOST_BYTES) is None:
            source.write(target, signature)
            made += 1
    return made


def signed_entries(source, signers):
    """The entries of a place, by their signers."""
    if not pathlib.Path(signers).is_file():
        raise NoKey(f"there is no file {signers}")
    entries, out = {n.rsplit("/", 1)[1]: n for n in source.list("v1/index/")}, {}
    for name in source.list("v1/signatures/"):
        parts = name.split("/")
        if len(parts) != 4 or parts[2] not in entries:
            continue
        signature, data = source.read(name, MOST_BYTES), source.read(entries[parts[2]], MOST_BYTES)
        if signature is None or data is None or digest(signature) != parts[3] or digest(data) != parts[2]:
            continue
        who = signer_of(data, signature, signers)
        if who is not None:
            out.setdefault(parts[2], set()).add(who)
    return out
