"""What reads files of strangers is built hard: properties of the programs and libraries, read off their files.

  tests/suites/hardened_test.py [--record FILE.jsonl]
Position independent; relocations read-only before main (RELRO, BIND_NOW); no stack and no other memory that is both written and run; no text relocations;
the compiler's stack protector and the C library's checked calls are in use; the loader looks for libraries beside the file and where the system has
them, nowhere else; no path of the machine that built it. A sanitizer's build is something else: skipped.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

import _paths  # noqa: F401
import programs
import reliability

FILES = ("isomer", "isomer-check", "isomer-worker", "libisomer.so", "libisomer_provider.so")


def readelf(option, file):
    return subprocess.run(["readelf", "-W", option, str(file)], check=True, capture_output=True, text=True).stdout


def entries(dynamic, tag):
    """The values of one kind of entry of the dynamic section."""
    return re.findall(rf"\({tag}\)\s+(.*)", dynamic)


def run_paths(dynamic):
    for value in entries(dynamic, "RPATH") + entries(dynamic, "RUNPATH"):
        yield from re.search(r"\[(.*)\]", value).group(1).split(":")  # an empty one is the current folder


def machine_paths(isomer):
    """What would show where it was built: the sources, the build, what was installed for it, whose home it was."""
    home = os.path.expanduser("~").rstrip("/")
    return {str(programs.ROOT), str(isomer.parent), "/.deps/", *([f"{home}/"] if home.count("/") > 0 else [])}


def properties(file, paths):
    """(what must hold, whether it does)"""
    header, segments, dynamic = readelf("-h", file), readelf("-l", file), readelf("-d", file)
    symbols = readelf("--dyn-syms", file)
    flags = " ".join(entries(dynamic, "FLAGS_1") + entries(dynamic, "FLAGS"))
    loaded = re.findall(r"^\s+(LOAD|GNU_STACK)\s.*?((?:R| )(?:W| )(?:E| ))\s+0x", segments, re.M)
    data = file.read_bytes()
    yield "position independent", "DYN" in header and (file.name.endswith(".so") or "PIE" in flags)
    yield "relocations read-only", "GNU_RELRO" in segments
    yield "bound before it runs", "NOW" in flags or bool(entries(dynamic, "BIND_NOW"))
    yield "a stack that is not run", any(kind == "GNU_STACK" and "E" not in rights for kind, rights in loaded)
    yield "nothing both written and run", len(loaded) > 2 and not any("W" in rights and "E" in rights for _, rights in loaded)
    yield "no text relocations", not entries(dynamic, "TEXTREL") and "TEXTREL" not in flags
    yield "stack protector", "__stack_chk_fail" in symbols
    if file.name != "libisomer_provider.so":  # has no call that could be checked
        yield "checked library calls", bool(re.search(r"__\w+_chk\b", symbols.replace("__stack_chk_fail", "")))
    yield "libraries only from beside it or the system", all(p == "$ORIGIN" or p.startswith("$ORIGIN/") for p in run_paths(dynamic))
    for path in sorted(paths):
        yield f"no {path.replace(str(programs.ROOT), '<sources>')} inside", path.encode() not in data


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reliability.add_option(parser)
    given = parser.parse_args()
    isomer = pathlib.Path(programs.program("isomer"))
    if not shutil.which("readelf"):
        print("skipped: no readelf here")
        return programs.SKIPPED
    if re.search(r"__(asan|tsan|ubsan)_", readelf("--dyn-syms", isomer)) or "__asan_init" in readelf("-s", isomer):
        print("skipped: a sanitizer's build")
        return programs.SKIPPED
    files = [isomer.parent / name for name in FILES if (isomer.parent / name).exists()]
    paths = machine_paths(isomer)
    held = [(file.name, *found) for file in files for found in properties(file, paths)]
    wrong = [f"{name}: not {what}" if not what.startswith("no ") else f"{name}: not so: {what}" for name, what, holds in held if not holds]
    print("\n".join(wrong) or f"{len(held)} properties of {', '.join(f.name for f in files)} hold")
    reliability.record(given.record, "hardened", len(held), wrong, files=", ".join(f.name for f in files))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
