"""The built programs and the shared material, as the scripts of tests/ and bench/ find and run them."""
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(os.environ.get("ISOMER_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
SHARED = ROOT.parent / "shared"
STAMP = "pkg.isomer."  # how the entries of metadata begin that `optimize` adds
SKIPPED = 77  # what ctest takes for "not tested here"
if sys.prefix != sys.base_prefix:
    os.environ.setdefault("VIRTUAL_ENV", sys.prefix)  # whose libraries are loaded
os.environ.setdefault("ISOMER_CACHE", "none")  # what is measured here is measured, not remembered


def program(name):
    """A program of the build under test: beside $ISOMER, else of the release build."""
    isomer = pathlib.Path(os.environ.get("ISOMER", ROOT / "build" / "release" / "isomer"))
    for folder in (isomer.parent, isomer.parent / "tests", isomer.parent / "bench"):
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


# A process begins with the peak of the one that starts it, which here may hold a whole model. So a small process starts it, and reports its number, then its
# exit code, seconds and peak.
_LAUNCHER = """import os, sys, time
tell = int(sys.argv[1])
os.set_inheritable(tell, False)
start = time.monotonic()
child = os.fork()
if child == 0:
    try:
        os.execvp(sys.argv[2], sys.argv[2:])
    except OSError as error:
        os.write(2, f"{sys.argv[2]}: {error.strerror}".encode())
    os._exit(127)
os.write(tell, f"{child}\\n".encode())
_, status, usage = os.wait4(child, 0)
os.write(tell, f"{os.waitstatus_to_exitcode(status)} {time.monotonic() - start} {usage.ru_maxrss}".encode())
"""


def run(command, timeout=600):
    """Runs a program and measures it alone: neither earlier children nor this process count."""
    told, tell = os.pipe()
    launcher = subprocess.Popen([sys.executable, "-I", "-S", "-c", _LAUNCHER, str(tell), *map(str, command)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, pass_fds=[tell])
    os.close(tell)
    with launcher, open(told, encoding="ascii") as answer:
        stdout, stderr = _read(launcher, int(answer.readline()), time.monotonic() + timeout)
        code, seconds, kibibytes = answer.readline().split()
    return Outcome(int(code), stdout, stderr, float(seconds), int(kibibytes) * 1024)


def _read(launcher, child, deadline):
    """Reads both pipes to their ends; after the deadline the child is killed."""
    import selectors
    parts, is_killed = {launcher.stdout: [], launcher.stderr: []}, False
    with selectors.DefaultSelector() as selector:
        for stream in parts:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(None if is_killed else max(0.0, deadline - time.monotonic())):
                data = os.read(key.fd, 1 << 16)
                parts[key.fileobj].append(data)
                if not data:
                    selector.unregister(key.fileobj)
            if not is_killed and time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                is_killed = True
    return [b"".join(parts[s]).decode(errors="replace") for s in (launcher.stdout, launcher.stderr)]


def print_table(head, rows):
    """Columns aligned; numbers to the right."""
    cells = [[str(c) for c in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for number, row in enumerate(cells):
        right = [number > 0 and isinstance(rows[number - 1][i], (int, float)) for i in range(len(head))]
        print("  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right)).rstrip())
