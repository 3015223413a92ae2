"""The pack of rules: one rule a line, once in the command and in the library, and in no other program."""
import json
import os
import pathlib
import subprocess
import sys

isomer = pathlib.Path(os.environ["ISOMER"])
pack = pathlib.Path(os.environ["ISOMER_SOURCE_DIR"]) / "rules" / "generated.rules"
if not os.access(isomer, os.X_OK):
    print("skipped: the command is not built")
    sys.exit(77)

lines = [line for line in pack.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
listed = json.loads(subprocess.run([str(isomer), "rules", "list", str(pack), "--json"], capture_output=True, check=True).stdout)["rules"]
assert [f"rule {rule['name']};" for rule in listed] == [line[: line.index(";") + 1] for line in lines], "a rule is not one line"
assert all(rule["says"] and rule["text"].startswith(f"# {rule['says']}\nrule {rule['name']}\n") for rule in listed), "a rule does not say what it is"

# The program finds its rules wherever it is installed, since they are inside. Twice would be a copy that is never read.
first = lines[0].encode()
for name, copies in (("isomer", 1), ("isomer-check", 0), ("isomer-worker", 0)):
    found = (isomer.parent / name).read_bytes().count(first)
    assert found == copies, f"{name} has the pack {found} times, not {copies}"
for library in {path.resolve() for path in isomer.parent.glob("libisomer.so*")}:
    assert library.read_bytes().count(first) == 1, f"{library.name} has the pack {library.read_bytes().count(first)} times"
