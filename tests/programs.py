"""The built programs and the shared material, as the scripts of tests/ and bench/ find and run them."""
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(os.environ.get("ISOMER_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent))
SHARED = ROOT.parent / "shared"
STAMP = "pkg.isomer."  # how the entries of metadata begin that `optimize` adds
SKIPPED = 77  # what ctest takes for "not tested here"
os.environ.setdefault("ISOMER_CACHE", "none")  # what is measured here is measured, not remembered


def program(name):
    """A program of the build under test: beside $ISOMER, else of the release build."""
    isomer = pathlib.Path(os.environ.get("ISOMER", ROOT / "build" / "release" / "isomer"))
    for folder in (isomer.parent, isomer.parent / "tests", isomer.parent / "tests" / "contract", isomer.parent / "tests" / "search", isomer.parent / "bench"):
        if (folder / name).is_file():
            return str(folder / name)
    sys.exit(f"no {name} below {isomer.parent}: build it first")


def shared(name):
    """A file or folder of the shared material; without it the script ends as skipped."""
    path = SHARED / name
    if not path.exists():
        print(f"no {path}: skipped")
        sys.exit(SKIPPED)
    return path


def own_metadata(model):
    """What the author of a ModelProto says of it, without what `optimize` adds."""
    return {p.key: p.value for p in model.metadata_props if not p.key.startswith(STAMP)}


class Outcome:
    """How a program ended: exit code (negative: a signal), output, seconds, peak of resident memory."""

    def __init__(self, code, stdout, stderr, seconds, peak_bytes):
        self.code, self.stdout, self.stderr, self.seconds, self.peak_bytes = code, stdout, stderr, seconds, peak_bytes


def run(command, timeout=600):
    """Runs a program and measures it alone, not together with earlier children."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        stdout, stderr, usage = _wait(child, start + timeout)
    finally:
        child.stdout.close()
        child.stderr.close()
    return Outcome(child.returncode, stdout, stderr, time.monotonic() - start, usage.ru_maxrss * 1024)


def _wait(child, deadline):
    """Reads both pipes to their ends, then collects the child together with its resource usage."""
    import selectors
    parts = {child.stdout: [], child.stderr: []}
    with selectors.DefaultSelector() as selector:
        for stream in parts:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(max(0.0, deadline - time.monotonic())):
                data = os.read(key.fd, 1 << 16)
                parts[key.fileobj].append(data)
                if not data:
                    selector.unregister(key.fileobj)
            if time.monotonic() > deadline:
                os.kill(child.pid, signal.SIGKILL)  # Popen.kill would collect it, and its usage with it
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return *(b"".join(parts[s]).decode(errors="replace") for s in (child.stdout, child.stderr)), usage


def print_table(head, rows):
    """Columns aligned; numbers to the right."""
    cells = [[str(c) for c in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for number, row in enumerate(cells):
        right = [number > 0 and isinstance(rows[number - 1][i], (int, float)) for i in range(len(head))]
        print("  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right)).rstrip())
