"""The process with the runtime, tried from inside: a library that it loads tries what must not be possible, and what must.

  tests/suites/sandbox_test.py [--record FILE.jsonl]
Each attempt is made twice: in a process that is not restricted, where it must go well, or it shows nothing; and in isomer-worker, as a library of custom
operators (tests/lib/faults/sandbox_attempts.cpp), where the kernel must refuse it. Files that are written need Landlock: without it they are left out.
"""
import argparse
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx

import _paths  # noqa: F401
import programs
import reliability

MODEL = """<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }"""
NEED_LANDLOCK = ("write a new file", "write over a file", "append to a file", "truncate a file", "remove a file", "rename a file", "link a file", "make a link",
                 "make a folder", "make a pipe", "write by /proc/self/root", "write shared memory")
FREE = """import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
print(library.isomer_attempt(sys.argv[2].encode()))
"""


def has_landlock():
    return ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1) >= 1


def box(folder):
    """Files to be hurt, as they are before each attempt."""
    for file in folder.iterdir():
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
    for name in ("read", "kept"):
        (folder / name).write_text("as it was")
    return sorted((p.name, p.read_text()) for p in folder.iterdir())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reliability.add_option(parser)
    given = parser.parse_args()
    isomer = pathlib.Path(programs.program("isomer"))
    library = isomer.parent / "tests" / "isomer_sandbox_attempts.so"
    if not library.exists():
        print(f"skipped: no {library.name} here")
        return programs.SKIPPED
    loaded = ctypes.CDLL(str(library))
    loaded.isomer_attempt_names.restype = ctypes.c_char_p
    names = loaded.isomer_attempt_names().decode().split("\n")[:-1]
    wrong, shown, unshown = [], 0, []
    with tempfile.TemporaryDirectory(prefix="isomer_sandbox_") as name:
        root, folder = pathlib.Path(name), pathlib.Path(name, "outside")
        folder.mkdir()
        onnx.save(onnx.parser.parse_model(MODEL), root / "model.onnx")
        np.savez(root / "feeds.npz", x=np.zeros(2, np.float32))
        command = [str(isomer), "run", "model.onnx", "-o", "out.npz", "--engine", "ort", "--custom-op-library", str(library), "--feeds", "feeds.npz"]
        secret = ctypes.create_string_buffer(b"s")
        with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as target:
            environment = os.environ | {"ISOMER_ATTEMPT_FOLDER": str(folder), "ISOMER_ATTEMPT_PROCESS": str(target.pid),
                                        "ISOMER_ATTEMPT_ADDRESS": str(ctypes.addressof(secret))}
            for attempt in names:
                if attempt in NEED_LANDLOCK and not has_landlock():
                    unshown.append(attempt)
                    continue
                # Another process's memory needs an address: that of this process, which is another one to both.
                mine = environment | {"ISOMER_ATTEMPT": attempt} | ({"ISOMER_ATTEMPT_PROCESS": str(os.getpid())} if attempt == "memory of another" else {})
                before = box(folder)
                free = subprocess.run([sys.executable, "-c", FREE, str(library), attempt], env=mine | {"TMPDIR": str(folder)}, capture_output=True, text=True,
                                      check=False)
                box(folder)
                pathlib.Path("/dev/shm/isomer_attempt").unlink(missing_ok=True)
                ran = subprocess.run(command, cwd=root, env=mine, capture_output=True, text=True, check=False)
                answer = re.search(r"attempt answered (-?\d+)\.", ran.stdout + ran.stderr)
                after = sorted((p.name, p.read_text() if p.is_file() and not p.is_symlink() else "") for p in folder.iterdir())
                if answer is None:
                    wrong.append(f"{attempt}: no answer: {(ran.stdout + ran.stderr)[-200:]}")
                elif attempt.startswith("may "):
                    shown += 1
                    wrong += [f"{attempt}: refused with {answer.group(1)}"] * (answer.group(1) != "0")
                elif free.stdout.strip() != "0":
                    unshown.append(attempt)  # this machine allows no process to
                else:
                    shown += 1
                    wrong += [f"{attempt}: possible"] * (answer.group(1) == "0")
                    wrong += [f"{attempt}: files are not as they were"] * (after != before)
            target.stdin.close()
    pathlib.Path("/dev/shm/isomer_attempt").unlink(missing_ok=True)
    print(f"{shown} attempts from inside of the runtime's process, {len(wrong)} that go wrong; not shown here: {', '.join(unshown) or 'none'}")
    print("\n".join(wrong))
    limits = f"nobody may do these on this machine, so that they show nothing: {', '.join(unshown)}" if unshown else ""
    reliability.record(given.record, "sandbox", shown, wrong, limits, landlock="yes" if has_landlock() else "no")
    return 1 if wrong or shown < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
