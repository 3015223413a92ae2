#!/usr/bin/env python3
# ci: --kills 8 | unsanitized
"""Atomic: isomer optimize is killed (-9) at random moments; OUT is absent, as it was, or whole, IN untouched, nothing is left behind.

  tests/evidence/optimize_atomic.py [--kills 30] [--seed 1] [--record FILE.jsonl]      (1000 for the long form)
Half of the kills are aimed at the write: they come as soon as a temporary file of ours appears. Before each third one an older OUT is there. After
each kill OUT, if there, is that or the one of an undisturbed run; after the next undisturbed run no temporary file is there. Then: IN = OUT, and
a certificate in IN's or OUT's place, are exit 2; a full disk (a small tmpfs, where one can be mounted) is one line and no OUT.
"""
import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import _paths  # noqa: F401
import programs
import reliability
from written_files import digest, leftovers, without_stamp


def model_bytes(channels=48):
    draw = np.random.default_rng(1)
    constants = [numpy_helper.from_array(draw.normal(size=shape).astype(np.float32), name)
                 for name, shape in (("w", (channels, channels, 3, 3)), ("v", (channels, channels, 1, 1)), ("ballast", (1 << 19,)))]
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Conv", ["x", "v"], ["b"]),
             helper.make_node("Add", ["a", "b"], ["c"]), helper.make_node("Relu", ["c"], ["y"]),
             helper.make_node("Exp", ["ballast"], ["z"])]
    shape = [1, channels, 16, 16]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape),
                               helper.make_tensor_value_info("z", TensorProto.FLOAT, [1 << 19])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8).SerializeToString()


def command(source, out, *more):
    return [programs.program("isomer"), "optimize", str(source), "-o", str(out), "--judge", "cost", "--quiet", *more]


def kill_once(source, folder, seconds, aimed, draw):
    """How it was left: absent or whole; or what is wrong."""
    out = folder / "out.onnx"
    child = subprocess.Popen(command(source, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if aimed:
        while child.poll() is None and not leftovers(folder):
            time.sleep(0.0005)
        time.sleep(draw.random() * 0.02)
    else:
        time.sleep(draw.random() * seconds)
    if child.poll() is None:
        os.kill(child.pid, signal.SIGKILL)
    child.wait()
    return "ended" if child.returncode == 0 else "killed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    reliability.add_option(parser)
    arguments = parser.parse_args()
    draw, faults, count = random.Random(arguments.seed), [], {}
    with tempfile.TemporaryDirectory(prefix="isomer_atomic_") as name:
        root = pathlib.Path(name)
        source = root / "in.onnx"
        source.write_bytes(model_bytes())
        original, start = digest(source), time.monotonic()
        (root / "whole").mkdir()
        whole = root / "whole" / "out.onnx"
        ran = programs.run(command(source, whole))
        seconds, right = time.monotonic() - start, digest(whole) if ran.code == 0 else ""
        if ran.code != 0 or right == original:
            sys.exit(f"the undisturbed run changes nothing: {ran.stdout}{ran.stderr}")
        older = whole.with_name("older.onnx")
        older.write_bytes(model_bytes(8))
        whole_states = {right: "whole", without_stamp(whole): "whole, no stamp", digest(older): "as it was"}
        box = root / "box"
        box.mkdir()
        for k in range(arguments.kills):
            out = box / "out.onnx"
            if k % 3 == 2:
                out.write_bytes(older.read_bytes())
            how = kill_once(source, box, seconds, k % 2 == 1, draw)
            left = bool(leftovers(box))
            state = "absent" if not out.exists() else whole_states.get(digest(out), "BROKEN")
            row = ("at the write" if k % 2 else "any moment", how, state, "temporaries" if left else "clean")
            count[row] = count.get(row, 0) + 1
            if state == "absent" and k % 3 == 2:
                faults.append(f"kill {k}: an older OUT is gone")
            if state == "BROKEN":
                faults.append(f"kill {k}: OUT is neither absent nor whole")
            if digest(source) != original:
                faults.append(f"kill {k}: IN changed")
            out.unlink(missing_ok=True)
            if k % 10 == 9 or k + 1 == arguments.kills:
                if programs.run(command(source, out)).code != 0 or digest(out) != right:
                    faults.append(f"after kill {k}: the next run fails")
                if leftovers(box):
                    faults.append(f"after kill {k}: the next run leaves {leftovers(box)}")
                out.unlink(missing_ok=True)
        programs.print_table(("aimed", "process", "OUT", "directory", "times"), [(*row, n) for row, n in sorted(count.items())])

        link = root / "link.onnx"
        link.symlink_to(source)
        for title, line in (("IN = OUT", command(source, source)), ("IN = OUT by a link", command(source, link)),
                            ("certificate = IN", command(source, root / "o.onnx", "--certificate", str(source))),
                            ("certificate = OUT", command(source, root / "o.onnx", "--certificate", str(root / "o.onnx")))):
            ran = programs.run(line)
            good = ran.code == 2 and ran.stderr.startswith("isomer: ") and digest(source) == original and not (root / "o.onnx").exists()
            print(f"{title}: exit {ran.code}, {ran.stderr.strip()}")
            if not good:
                faults.append(title)

        small = root / "small"
        small.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], capture_output=True).returncode == 0
        if mounted:
            try:
                ran = programs.run(command(source, small / "out.onnx"))
                print(f"full disk: exit {ran.code}, {ran.stderr.strip().replace(name, '...')}")
                if ran.code != 2 or list(small.iterdir()) or ran.stderr.count("\n") != 1:
                    faults.append(f"full disk: exit {ran.code}, leaves {[p.name for p in small.iterdir()]}")
            finally:
                subprocess.run(["umount", str(small)], check=False)
        else:
            # Without the right to mount: a limit on the size of files is as good a reason for a write to fail.
            ran = programs.run(["sh", "-c", 'trap "" XFSZ; ulimit -f 1024; exec "$@"', "sh", *command(source, small / "out.onnx")])
            print(f"no tmpfs can be mounted; files limited: exit {ran.code}, {ran.stderr.strip().replace(name, '...')}")
            if ran.code != 2 or list(small.iterdir()):
                faults.append(f"limited files: exit {ran.code}, leaves {[p.name for p in small.iterdir()]}")
    print(f"{arguments.kills} kills, seed {arguments.seed}: {len(faults)} faults")
    print("\n".join(faults))
    states = {}
    for (_, how, state, _), n in count.items():
        name = f"{how}_and_{state}".replace(",", "").replace(" ", "_")
        states[name] = states.get(name, 0) + n
    reliability.record(arguments.record, "kills", arguments.kills, faults, **states)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
