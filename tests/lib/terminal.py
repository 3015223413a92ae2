"""A command on a terminal of a given width: what it prints, and what it shows while it works."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Shown:
    """`text`: what stays. `progress`: the lines that were shown while the command worked, in order, each once."""

    def __init__(self, code, text, progress):
        self.code, self.text, self.progress = code, text, progress

    def lines(self):
        return self.text.splitlines()


def terminal(columns):
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    return here, there


def read_all(file, into):
    while True:
        try:
            data = os.read(file, 65536)
        except OSError:  # the other end is closed
            return
        if not data:
            return
        into.append(data)


def run(command, columns, folder=None, environment=None, timeout=600):
    (out, out_end), (error, error_end) = terminal(columns), terminal(columns)
    process = subprocess.Popen(list(map(str, command)), stdout=out_end, stderr=error_end, stdin=subprocess.DEVNULL, cwd=folder,
                               env=dict(environment or os.environ, TERM="xterm"))
    os.close(out_end)
    os.close(error_end)
    parts = {out: [], error: []}
    readers = [threading.Thread(target=read_all, args=item) for item in parts.items()]
    for reader in readers:
        reader.start()
    code = process.wait(timeout)
    for reader in readers:
        reader.join()
    for file in parts:
        os.close(file)
    text, shown = (COLOURS.sub("", b"".join(parts[file]).decode("utf-8", "replace")).replace("\r\n", "\n") for file in (out, error))
    lines = [line.strip() for line in re.split(r"[\r\n]|\x1b\[K", shown)]
    return Shown(code, text, list(dict.fromkeys(line for line in lines if line)))
