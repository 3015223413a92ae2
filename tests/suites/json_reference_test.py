"""docs/reference/json.md against what the commands print: each name at the top of an object is in its section, and no other."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx

import _paths  # noqa: F401
import programs
import small_models

ISOMER = os.environ["ISOMER"]
if not os.access(ISOMER, os.X_OK):
    print("skipped: the command is not built")
    sys.exit(programs.SKIPPED)
TEXT = (programs.ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
OPTIONAL = {"flops_expression"}  # only where sizes are open
RULE = "rule same\ngiven float[N] x\nleft { y = Relu(x) } => y\nright { y = Relu(x) } => y\n"


def told(title):
    """The names in a section: the first cells of its table, or the outer names of its first line that is an object."""
    section = TEXT.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.M)
    if rows:
        return {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    line = re.search(r"^`\{(.*)\}`", section, re.M)[1]
    while re.search(r"[\[{][^\[\]{}]*[\]}]", line):
        line = re.sub(r"[\[{][^\[\]{}]*[\]}]", "", line)
    return {name.strip() for name in line.split(",")}


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    onnx.save(small_models.branches(1), folder / "in.onnx")
    (folder / "same.rules").write_text(RULE)
    (folder / "one.test").write_text("test t\nproposer order\nbefore\nagraph (float[4] x) => (float[4] y) { y = Relu(x) }\nrefused no proposal\n")
    commands = {
        "optimize": ["optimize", "in.onnx", "-o", "out.onnx", "--judge", "cost", "--plans", "store"],
        "check": ["check", "in.onnx", "out.onnx", "out.onnx.cert"],
        "explain": ["explain", "out.onnx.cert"],
        "report": ["report", "in.onnx", "out.onnx", "out.onnx.cert", "-o", "r.html", "--widths", "cost"],
        "gate": ["gate", "in.onnx", "out.onnx", "--equal", "--seconds", "1"],
        "explore": ["explore", "in.onnx", "--objective", "size", "--seconds", "0.2"],
        "prove": ["prove", "in.onnx", "out.onnx"],
        "compare": ["compare", "in.onnx", "out.onnx", "--engine", "reference"],
        "inspect": ["inspect", "in.onnx"],
        "scan": ["scan", "in.onnx"],
        "compile": ["compile", "in.onnx", "-o", "compiled"],
        "rules prove": ["rules", "prove", "same.rules"],
        "rules generate": ["rules", "generate", "--operators", "1", "-o", "made.rules"],
        "rules merge": ["rules", "merge", "shard.rules", "-o", "merged.rules"],
        "rules list": ["rules", "list", "same.rules"],
        "rules derive": ["rules", "derive", "same.rules", "--from", "same.rules"],
        "propose": ["propose", "one.test"],
        "plans list": ["plans", "list", "store"],
        "plans verify": ["plans", "verify", "store"],
        "plans gc": ["plans", "gc", "store"],
        "plans push": ["plans", "push", "store", "copy"],
        "cache": ["cache", "--cache", str(folder / "cache.sqlite")],
    }
    subprocess.run([ISOMER, "rules", "generate", "--operators", "1", "--shard", "1/1", "-o", "shard.rules"], cwd=folder, capture_output=True, check=True)
    faults = 0
    for title, command in commands.items():
        ran = subprocess.run([ISOMER, *command, "--json"], cwd=folder, capture_output=True, text=True, check=False)
        try:
            printed = set(json.loads(ran.stdout))
        except json.JSONDecodeError:
            print(f"{title}: exit {ran.returncode}, no JSON: {ran.stdout[:200]} {ran.stderr[:200]}")
            faults += 1
            continue
        printed -= OPTIONAL
        if printed != told(title):
            faults += 1
            print(f"{title}: printed and not told {sorted(printed - told(title))}, told and not printed {sorted(told(title) - printed)}")
sys.exit(1 if faults else 0)
