#!/usr/bin/env python3
# ci: --edits 40 | timeout=900 unsanitized
"""Switches off each check of the checker in turn: is there an edit that only this check rejects?

  tests/evidence/checker_switches.py [--edits 150] [--only K]
The two files that decide (kernel/certify/check.cpp, kernel/prove/step.cpp) are compiled once more with every check behind a switch that the
environment variable ISOMER_OFF throws, and isomer-checker-mutants is linked with them; the sources stay as they are. Each check
names the field to edit; an edit that passes with the check off and not with it on shows that the check does something. Prints a
table: passes, and how many of them the reference in float64 calls wrong. Exit code 1: a check whose absence no test detects.
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import _paths  # noqa: F401
import programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK, SAME, STEP = "src/kernel/certify/check.cpp", "src/model/graph/same.cpp", "src/kernel/prove/step.cpp"

# Operator sets and domains are compared twice, by model and by node: with one of the two off no edit passes, so they are not here.
# (file, the check, what it becomes: `off` holds where it is switched off; the field to edit)
SWITCHES = [
    (CHECK, "if (certificate_.in_digest != model_digest(in))", "if (!off && certificate_.in_digest != model_digest(in))", "head and digests"),
    (CHECK, "if (certificate_.out_digest != model_digest(out))", "if (!off && certificate_.out_digest != model_digest(out))", "head and digests"),
    (SAME, "if (names_of(a, a.inputs()) != names_of(b, b.inputs()))", "if (!off && names_of(a, a.inputs()) != names_of(b, b.inputs()))",
     "OUT: inputs"),
    (SAME, "if (names_of(a, a.outputs()) != names_of(b, b.outputs()))",
     "if (!off && names_of(a, a.outputs()) != names_of(b, b.outputs()))", "OUT: outputs"),
    (SAME, "if (auto declared = first_other_declaration(a, b)) return declared;",
     "if (auto declared = first_other_declaration(a, b); declared && !off) return declared;", "OUT: declared types"),
    (SAME, "if (at == nodes.end()) return", "if (at == nodes.end() && off) continue;\n    if (at == nodes.end()) return", "OUT: node added"),
    (SAME, "if (seen.size() != nodes.size()) {", "if (!off && seen.size() != nodes.size()) {", "OUT: node missing"),
    (SAME, "x.op == y.op", "(off || x.op == y.op)", "OUT: operator"),
    (SAME, "x.overload == y.overload", "(off || x.overload == y.overload)", "OUT: operator"),
    (SAME, "x.extras == y.extras", "(off || x.extras == y.extras)", "OUT: node's other fields"),
    (SAME, "x.declared == y.declared", "(off || x.declared == y.declared)", "OUT: inputs"),
    (SAME, "names_of(a, x.inputs) == names_of(b, y.inputs)", "(off || names_of(a, x.inputs) == names_of(b, y.inputs))", "OUT: wiring"),
    (SAME, "same_elements(x.attributes, y.attributes)", "(off || same_elements(x.attributes, y.attributes))", "OUT: new attribute"),
    (SAME, "same_inside(a, x, b, y) &&", "(off || same_inside(a, x, b, y)) &&", "OUT: function body"),
    (SAME, "x.tensor.same_bits(y.tensor)", "(off || x.tensor.same_bits(y.tensor))", "OUT: weight element"),
    (SAME, "a.is_overridable(at->second) != b.is_overridable(id)", "(!off && a.is_overridable(at->second) != b.is_overridable(id))",
     "overridable constant"),
    (STEP, "if (proof == nullptr) return text(verdict);",
     "const Proved trusting; if (proof == nullptr && off) proof = &trusting;\n  if (proof == nullptr) return text(verdict);", "program: operator"),
    (STEP, "if (node.kind == NodeKind::Input || graph.is_overridable(id))",
     "if (!off && (node.kind == NodeKind::Input || graph.is_overridable(id)))", "overridable, then folded"),
    (STEP, "if (names.contains(name) || graph.declared().contains(name))",
     "if (!off && (names.contains(name) || graph.declared().contains(name)))", "program: own constant"),
]


def switched(source, folder):
    """The file with all of its checks behind their switches."""
    text = (ROOT / source).read_text()
    for number, (file, check, becomes, _) in enumerate(SWITCHES, 1):
        if file != source:
            continue
        if text.count(check) != 1:
            sys.exit(f"{source} has {text.count(check)} times: {check}")
        becomes = becomes.replace("!off", f"off_ != {number}").replace("(off ", f"(off_ == {number} ").replace("&& off)", f"&& off_ == {number})")
        text = text.replace(check, becomes)
    at = text.index("namespace isomer {")
    switch = "#include <cstdlib>\nstatic const int off_ = std::getenv(\"ISOMER_OFF\") ? std::atoi(std::getenv(\"ISOMER_OFF\")) : 0;\n"
    path = folder / pathlib.Path(source).name
    path.write_text(text[:at] + switch + text[at:])
    return path


def build(folder):
    """isomer-checker-mutants with switches."""
    tree = pathlib.Path(programs.program("isomer")).parent
    commands = json.loads((tree / "compile_commands.json").read_text())
    objects = []
    for source in (CHECK, SAME, STEP):
        entry = next(c for c in commands if c["file"] == str(ROOT / source))
        path = switched(source, folder)
        words = [str(path) if w == entry["file"] else w for w in shlex.split(entry["command"])]
        objects.append(str(path.with_suffix(".o")))
        words[words.index("-o") + 1] = objects[-1]
        subprocess.run(words, cwd=entry["directory"], check=True)
    asked = subprocess.run(["ninja", "-C", str(tree), "-t", "commands", "isomer-checker-mutants"], check=True, capture_output=True, text=True)
    link = asked.stdout.strip().splitlines()[-1].removeprefix(": && ").removesuffix(" && :")
    words = shlex.split(link)
    program = str(folder / "mutants")
    at = words.index("-o")
    words[at:at + 2] = [*objects, "-o", program]
    subprocess.run(words, cwd=tree, check=True)
    return program


def passing(program, off, field, edits):
    """Numbers of the edits that pass, each with what the reference says."""
    ran = subprocess.run([program, "--no-runtime", "--edits", str(edits), "--list", field], capture_output=True, text=True, check=False,
                         env=dict(os.environ, ISOMER_OFF=str(off)))
    if ran.returncode != 0:
        sys.exit(f"switch {off}: {ran.stderr}")
    return dict(line.split(" ", 1) for line in ran.stdout.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=150)
    parser.add_argument("--only", type=int)
    arguments = parser.parse_args()
    rows, idle, known = [], 0, {}
    with tempfile.TemporaryDirectory(prefix="isomer_switches_") as folder:
        program = build(pathlib.Path(folder))
        for number, (file, check, _, field) in enumerate(SWITCHES, 1):
            if arguments.only not in (None, number):
                continue
            if field not in known:
                known[field] = passing(program, 0, field, arguments.edits)
            new = {k: v for k, v in passing(program, number, field, arguments.edits).items() if k not in known[field]}
            wrong = sum(v != "equal" for v in new.values())
            idle += not new
            rows.append((number, pathlib.Path(file).stem, check.removeprefix("if (")[:60], field, len(known[field]), len(new), wrong))
    programs.print_table(("", "in", "check switched off", "edits of", "pass with it", "more without", "of them wrong"), rows)
    print(f"{len(rows)} checks, {arguments.edits} edits each: {idle} whose absence no edit shows")
    return 1 if idle else 0


if __name__ == "__main__":
    sys.exit(main())
