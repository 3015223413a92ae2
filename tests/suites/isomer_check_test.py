"""isomer-check: it links the trusted libraries and no other, and answers as `isomer check` does."""
import json
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx

isomer = pathlib.Path(os.environ["ISOMER"])
checker = isomer.parent / "isomer-check"
if not (os.access(isomer, os.X_OK) and os.access(checker, os.X_OK)):
    print("skipped: the commands are not built")
    sys.exit(77)

# What `isomer check` rests on (README, the trusted base), with the generated classes that the reader reads with.
TRUSTED = {"base", "model/expr", "model/eval", "model/analysis", "model/ops", "model/graph",
           "io/onnx", "kernel/normal", "kernel/prove", "kernel/certify"}
FOREIGN = ("onnxruntime", "openvino", "sqlite3", "libzip", "cli11")


def link_line():
    ninja = shutil.which("ninja") or shutil.which("ninja", path=str(pathlib.Path(sys.executable).parent))
    if not ninja:
        return None
    commands = subprocess.run([ninja, "-C", str(isomer.parent), "-t", "commands", "isomer-check"], check=True,
                              capture_output=True, text=True).stdout
    return commands.strip().splitlines()[-1]


def answer(command):
    ran = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    reply = json.loads(ran.stdout) if ran.stdout.startswith("{") else ran.stdout
    if isinstance(reply, dict):
        reply.pop("ms", None)
    return ran.returncode, reply, ran.stderr


line = link_line()
if line is None:
    print("skipped: no ninja to ask for the link line")
    sys.exit(77)
libraries = set(re.findall(r"libisomer_(\w+)\.a", line))
may_link = {folder.replace("/", "_") for folder in TRUSTED} | {"onnx_proto"}
assert libraries == may_link, f"isomer-check links {sorted(libraries)}, and may link {sorted(may_link)}"
assert not [name for name in FOREIGN if name in line.lower()], line
needed = subprocess.run(["readelf", "-d", str(checker)], capture_output=True, text=True, check=False).stdout.lower()
assert not [name for name in FOREIGN if name in needed], needed

# The files whose lines are counted as trusted: of these folders, and no test's.
tools = pathlib.Path(__file__).resolve().parents[2] / "tools"
room_of = runpy.run_path(str(tools / "check_includes"))["room_of"]
count = tools / "trusted_lines"
listed = subprocess.run([sys.executable, str(count), "--build", str(isomer.parent), "--files"], capture_output=True, text=True, check=False)
assert listed.returncode == 0, listed.stderr
files = [line.split()[1] for line in listed.stdout.splitlines()]
assert {room_of(f.removeprefix("src/")) for f in files} == TRUSTED, files
assert "src/kernel/certify/check.cpp" in files and not [f for f in files if f.endswith(("_test.cpp", "testing.h"))], files
# What left the kernel (docs/concepts/checker.md).
GONE = {"src/kernel/prove/refute.cpp", "src/model/graph/text/parse.cpp", "src/model/graph/interpret.cpp",
        "src/model/graph/program_cache.cpp"}
assert not GONE & set(files), GONE & set(files)

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    weights = np.random.default_rng(0).standard_normal((2, 4, 4)).astype(np.float32)
    model = onnx.parser.parse_model("""
      <ir_version: 8, opset_import: ["" : 17]>
      block (float[batch, 4] x) => (float[batch, 4] y) { a = MatMul (x, w) b = MatMul (x, v) c = Add (a, b) y = Relu (c) }
    """)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(w, n) for w, n in zip(weights, "wv"))
    source, out = folder / "in.onnx", folder / "out.onnx"
    certificate = folder / "out.onnx.cert"
    onnx.save(model, source)
    subprocess.run([isomer, "optimize", source, "-o", out, "--judge", "any", "--quiet"], check=True)
    missing, broken = folder / "missing.onnx", folder / "broken.cert"
    broken.write_text(certificate.read_text().replace('"fold"', '"bold"'))
    for files, code in (((source, out, certificate), 0), ((source, source, certificate), 1), ((out, source, certificate), 1),
                        ((source, out, broken), 1), ((source, out, missing), 2), ((missing, out, certificate), 2)):
        for flags in ((), ("--json",)):
            ours, theirs = answer([checker, *files, *flags]), answer([isomer, "check", *files, *flags])
            assert ours[0] == theirs[0] == code, (files, ours, theirs)
            assert ours[1] == theirs[1] or code == 2, (ours, theirs)
            assert ours[2].strip() == theirs[2].strip() or code == 2, (ours, theirs)
    assert answer([checker, source])[0] == 2
print(f"isomer-check links {len(files)} files of {', '.join(sorted(libraries))}; 12 answers are those of isomer check")
