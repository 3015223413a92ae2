"""Families of drawn cases that can fail: against a command that calls everything equal, each of them finds something false."""
import os
import pathlib
import subprocess
import sys
import tempfile

import _paths  # noqa: F401
import programs

# How many cases show it.
COUNTS = {"equal_text": 18, "last_digits": 30, "dead_nodes": 30, "output_names": 9, "beside": 18, "attention": 8, "lengths": 8}
BELIEVER = """#!{python} -IS
import json, os, shutil, sys
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
if name == "isomer-value-shapes":
    print("{{}}")
elif name == "isomer-check" or words[0] == "check":
    print(json.dumps({{"verdict": "accepted", "reason": "", "step": 0, "assumed": []}}) if "--json" in words else "accepted")
elif words[0] == "optimize":
    out = words[words.index("-o") + 1]
    shutil.copy(words[1], out)
    with open(words[words.index("--certificate") + 1] if "--certificate" in words else out + ".cert", "w") as file:
        file.write(json.dumps({{"isomer_certificate": 4, "in": "0" * 64, "out": "0" * 64}}) + "\\n")
    print(json.dumps({{"result": "unchanged"}}))
elif words[0] == "prove":
    said = {{"verdict": "proved", "why": "", "constants_rounded": 0, "worst_ulp": 0, "by_certificate": True, "outputs": []}}
    print(json.dumps(said) if "--json" in words else "equal")
elif words[0] == "run":
    os.execv({python!r}, [{python!r}, {zeros!r}, words[1], words[words.index("-o") + 1]])
"""
ZEROS = """import sys
import numpy, onnx
numpy.savez(sys.argv[2], **{o.name: numpy.zeros(0, numpy.float32) for o in onnx.load(sys.argv[1]).graph.output})
"""


def write_believer(folder):
    """Programs that say yes; the calls are those of the real one."""
    zeros = folder / "zeros.py"
    zeros.write_text(ZEROS)
    for name in ("isomer", "isomer-check", "isomer-value-shapes"):
        (folder / name).write_text(BELIEVER.format(python=sys.executable, zeros=str(zeros)))
        (folder / name).chmod(0o755)
    (folder / "isomer-contract-cases").symlink_to(programs.program("isomer-contract-cases"))
    return folder / "isomer"


def main():
    blind = []
    with tempfile.TemporaryDirectory(prefix="isomer_believer_") as scratch:
        believer = write_believer(pathlib.Path(scratch))
        script = programs.ROOT / "tests" / "evidence" / "attack_generators.py"
        for family, count in COUNTS.items():
            ran = subprocess.run([sys.executable, str(script), family, "--count", str(count)], capture_output=True, text=True, check=False,
                                 env=os.environ | {"ISOMER": str(believer)})
            found = ran.stdout.count("FALSE: ")
            print(f"{family}: {found} false of {count}")
            if ran.returncode != 1 or not found:
                blind.append(family)
                print(ran.stdout[-2000:], ran.stderr[-2000:])
    print(f"{len(COUNTS)} families: {len(blind)} see nothing" + "".join(f", {b}" for b in blind))
    return 1 if blind else 0


if __name__ == "__main__":
    sys.exit(main())
