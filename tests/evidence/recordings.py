#!/usr/bin/env python3
# nightly: --check | serial unsanitized
"""What a person sees: commands in a pseudo-terminal of 80 and of 200 columns, and in a pipe, written down to be read.

  tests/evidence/recordings.py FOLDER                records everything into FOLDER/*.txt (3 minutes)
  tests/evidence/recordings.py FOLDER --only prove   those whose name has this word
  tests/evidence/recordings.py --check               the help of every command and quick commands; fails if a line is too long

A pseudo-terminal's line that is rewritten is shown as its last state, with the number of states that it had.
"""
import argparse
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

import numpy as np
import onnx
from onnx import numpy_helper

import _paths  # noqa: F401
import programs
import small_models as small

isomer = programs.program("isomer")
ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def in_terminal(command, columns, folder, interrupt_after=None, environment=None):
    """What stands on the screen in the end, and the raw bytes."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    child = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, cwd=folder, env={**os.environ, "TERM": "xterm", **(environment or {})},
                             start_new_session=True)
    os.close(other)
    seen, start, sent = b"", time.monotonic(), False
    while True:
        if interrupt_after is not None and not sent and time.monotonic() - start > interrupt_after:
            child.send_signal(signal.SIGINT)
            sent = True
        ready, _, _ = select.select([main], [], [], 0.1)
        if not ready:
            if child.poll() is not None:
                break
            continue
        try:
            data = os.read(main, 1 << 16)
        except OSError:
            break
        if not data:
            break
        seen += data
    os.close(main)
    return child.wait(), seen.decode(errors="replace")


def screen(raw):
    """The lines as they stay, each rewritten one once, with how often it was rewritten."""
    lines = []
    for line in raw.replace("\r\n", "\n").split("\n"):
        states = [s for s in line.split("\r") if s]
        plain = [ESCAPE.sub("", s) for s in states]
        if len(states) > 1:
            shown = [p for p in plain if p]
            lines += [f"   ~ {len(shown)} states, such as:"] + [f"   ~ {p}" for p in shown[:: max(1, len(shown) // 4)][:5]]
            lines.append(plain[-1])
        else:
            lines.append(plain[0] if plain else "")
    return "\n".join(lines)


def in_pipe(command, folder, interrupt_after=None):
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    if interrupt_after is not None:
        time.sleep(interrupt_after)
        child.send_signal(signal.SIGINT)
    stdout, stderr = child.communicate(timeout=600)
    return child.returncode, stdout, stderr


def changed(model, change):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    change(copy)
    return copy


def shift_one_weight(model):
    weights = numpy_helper.to_array(model.graph.initializer[0]).copy()
    weights.flat[17] += 0.25
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, model.graph.initializer[0].name))


def prepare(folder):
    blocks = small.branches(1, blocks=6, channels=64, size=56)
    onnx.save(blocks, folder / "blocks.onnx")
    onnx.save(changed(blocks, shift_one_weight), folder / "shifted.onnx")
    onnx.save(small.plain(1), folder / "plain.onnx")
    onnx.save(small.clutter(), folder / "clutter.onnx")
    node = onnx.helper.make_node
    for name, op in (("sin", "Sin"), ("cos", "Cos")):
        onnx.save(small.model([node(op, ["x"], ["y"])], [], [("x", [1, 8])], [("y", [1, 8])]), folder / f"{name}.onnx")
    # Equal, and nothing that is known here proves it: sin(2x) and 2 sin(x) cos(x).
    two = small.integers("two", [2])
    two = numpy_helper.from_array(np.array([2], np.float32), "two")
    onnx.save(small.model([node("Mul", ["x", "two"], ["d"]), node("Sin", ["d"], ["y"])], [two], [("x", [1, 8])], [("y", [1, 8])]), folder / "double.onnx")
    onnx.save(small.model([node("Sin", ["x"], ["s"]), node("Cos", ["x"], ["c"]), node("Mul", ["s", "c"], ["p"]), node("Mul", ["p", "two"], ["y"])], [two],
                          [("x", [1, 8])], [("y", [1, 8])]), folder / "product.onnx")
    subprocess.run([isomer, "optimize", "blocks.onnx", "-o", "fast.onnx", "--judge", "cost", "--quiet"], cwd=folder, check=True, capture_output=True)
    (folder / "other.onnx").write_bytes((folder / "fast.onnx").read_bytes())  # without the certificate beside it


SCENES = {
    "optimize_improved": (["optimize", "blocks.onnx", "-o", "out.onnx", "--budget", "20s"], None),
    "optimize_improved_verbose": (["optimize", "blocks.onnx", "-o", "out.onnx", "--budget", "20s", "-v"], None),
    "optimize_unchanged": (["optimize", "plain.onnx", "-o", "out.onnx", "--budget", "20s"], None),
    "optimize_out_of_time": (["optimize", "blocks.onnx", "-o", "out.onnx", "--budget", "1s"], None),
    "optimize_interrupted": (["optimize", "blocks.onnx", "-o", "out.onnx", "--budget", "5m"], 12),
    "optimize_simplify": (["optimize", "clutter.onnx", "-o", "out.onnx", "--budget", "20s", "--simplify"], None),
    "optimize_cost": (["optimize", "blocks.onnx", "-o", "out.onnx", "--judge", "cost"], None),
    "prove_equal": (["prove", "blocks.onnx", "other.onnx"], None),
    "prove_equal_verbose": (["prove", "blocks.onnx", "other.onnx", "-v"], None),
    "prove_by_certificate": (["prove", "blocks.onnx", "fast.onnx"], None),
    "prove_refuted": (["prove", "sin.onnx", "cos.onnx", "--save-input", "shows.npz"], None),
    "prove_refuted_constant": (["prove", "blocks.onnx", "shifted.onnx"], None),
    "prove_undecided": (["prove", "double.onnx", "product.onnx", "--budget", "20s"], None),
    "compare": (["compare", "blocks.onnx", "shifted.onnx"], None),
    "compare_equal": (["compare", "blocks.onnx", "fast.onnx"], None),
    "check": (["check", "blocks.onnx", "fast.onnx", "fast.onnx.cert"], None),
    "check_rejected": (["check", "plain.onnx", "fast.onnx", "fast.onnx.cert"], None),
    "bench": (["bench", "blocks.onnx", "fast.onnx", "--seconds", "5"], None),
    "inspect": (["inspect", "blocks.onnx"], None),
    "explain": (["explain", "fast.onnx.cert"], None),
    "explain_verbose": (["explain", "fast.onnx.cert", "-v"], None),
    "error_command": (["optimise", "blocks.onnx"], None),
    "error_file": (["inspect", "missing.onnx"], None),
}
COMMANDS = ["", "bench", "check", "compare", "completion", "explain", "inspect", "man", "optimize", "propose", "prove", "rules", "rules derive",
            "rules generate", "rules list", "rules merge", "rules prove", "rules show", "run", "cache"]
QUICK = ("check", "check_rejected", "explain", "explain_verbose", "inspect", "optimize_cost", "prove_equal", "prove_equal_verbose", "prove_refuted",
         "prove_refuted_constant", "error_command", "error_file")


def too_long(text, columns):
    """Lines that do not fit, but for errors, which are one line by contract, and words that cannot be broken."""
    return [line for line in text.splitlines() if len(line) > columns and not line.startswith(("isomer: ", "   ~ ")) and " " in line.strip()
            and max(len(word) for word in line.split()) < columns - 10]


def helps():
    for command in COMMANDS:
        ran = subprocess.run([isomer, *command.split(), "--help"], capture_output=True, text=True)
        yield f"help_{command.replace(' ', '_') or 'isomer'}", ran.returncode, ran.stdout + ran.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if not arguments.check and not arguments.folder:
        parser.error("a folder to write to, or --check")
    failures = []
    if arguments.folder:
        arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, code, text in helps():
        if arguments.folder and arguments.only in name:
            (arguments.folder / f"{name}.txt").write_text(text)
        failures += [f"{name}: {line}" for line in too_long(text, 80)] + ([f"{name}: exit {code}"] if code else [])
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        prepare(folder)
        for name, (words, interrupt_after) in SCENES.items():
            if arguments.only not in name or (arguments.check and name not in QUICK):
                continue
            for columns in (80, 200):
                code, raw = in_terminal([isomer, *words], columns, folder, interrupt_after)
                text = screen(raw)
                failures += [f"{name} at {columns}: {line}" for line in too_long(text, columns)]
                if arguments.folder:
                    (arguments.folder / f"{name}.{columns}.txt").write_text(f"$ isomer {' '.join(words)}   # exit {code}\n{text}")
            code, stdout, stderr = in_pipe([isomer, *words], folder, interrupt_after)
            failures += [f"{name} in a pipe: {line}" for line in too_long(stdout, 80)]
            failures += [f"{name} in a pipe: colours" for text in (stdout, stderr) if "\x1b" in text]
            if arguments.folder:
                (arguments.folder / f"{name}.pipe.txt").write_text(f"$ isomer {' '.join(words)}   # exit {code}\n--- stdout\n{stdout}--- stderr\n{stderr}")
        code, raw = in_terminal([isomer, "check", "blocks.onnx", "fast.onnx", "fast.onnx.cert"], 80, folder, environment={"NO_COLOR": "1"})
        failures += ["NO_COLOR: colours"] if "\x1b[1;" in raw else []
    print("\n".join(failures + [f"{len(failures)} lines or codes that should not be"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
