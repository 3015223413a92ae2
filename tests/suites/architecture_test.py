"""ARCHITECTURE.md against the tree: its storeys are those of tools/check_includes, in order; what it and the READMEs of storeys name exists; all evidence is
run by something."""
import json
import os
import pathlib
import re
import runpy
import sys

ROOT = pathlib.Path(os.environ.get("ISOMER_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
HOUSE = runpy.run_path(str(ROOT / "tools" / "check_includes"))
ORDER = [storey for storey, _ in HOUSE["STOREYS"]]
text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

faults = []
table = text.split("<!-- order: tests/suites/architecture_test.py -->", 1)[1].split("\n\n", 1)[0]
told = re.findall(r"^\| `(\w+)/` \|", table, re.M)
if told != ORDER:
    faults.append(f"the code map has {told}, tools/check_includes has {ORDER}")
there = sorted(p.name for p in (ROOT / "src").iterdir() if p.is_dir())
if sorted(ORDER) != there:
    faults.append(f"src/ has {there}, tools/check_includes has {sorted(ORDER)}")
for storey, rooms in HOUSE["STOREYS"]:
    there = sorted(p.name for p in (ROOT / "src" / storey).iterdir() if p.is_dir())
    if rooms and sorted(rooms) != there:
        faults.append(f"src/{storey} has {there}, tools/check_includes has {sorted(rooms)}")

# A file is named with its folder, or alone if no other folder of src/ has one of this name that matters.
files = {str(p.relative_to(ROOT / "src")) for p in (ROOT / "src").rglob("*.*")}
names = {pathlib.PurePath(f).name for f in files}
readmes = {storey: ROOT / "src" / storey / "README.md" for storey in ORDER}
faults += [f"there is no src/{storey}/README.md" for storey, readme in readmes.items() if not readme.exists()]
for said in [text, *(readme.read_text(encoding="utf-8") for readme in readmes.values() if readme.exists())]:
    for name in re.findall(r"`((?:[a-z_]+/)*[a-z0-9_]+\.(?:h|cpp))`", said):
        if name not in names and name not in files and not (ROOT / name).exists():
            faults.append(f"there is no {name}")

# A table is a head, a line of dashes and rows, with nothing between: anything else is shown as text.
lines = text.splitlines()
for number, line in enumerate(lines):
    if line.startswith("|") and (number == 0 or not lines[number - 1].startswith("|")) and not re.match(r"\|[-:|]+\|$", lines[number + 1]):
        faults.append(f"line {number + 1} begins a table without a head")

# Evidence that nothing runs is none.
nightly = (ROOT / "tools" / "nightly").read_text(encoding="utf-8")
for script in (ROOT / "tests" / "evidence").glob("[a-z]*.py"):
    if not re.search(r"^# (ci|nightly)( \w+)?:", script.read_text(encoding="utf-8"), re.M) and script.name not in nightly:
        faults.append(f"tests/evidence/{script.name}: neither its first lines nor tools/nightly say when it runs")

# The presets in CONTRIBUTING exist, and .ci/run builds those that CONTRIBUTING names.
presets = {p["name"] for p in json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))["configurePresets"]}
contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
rows = re.findall(r"^\| (`.+?`) \|", contributing.split("## Build presets", 1)[1].split("\n## ", 1)[0], re.M)
faults += [f"there is no preset {name}" for row in rows for name in re.findall(r"`([\w-]+)`", row) if name not in presets]
said = {name for name in re.findall(r"`([\w-]+)`", contributing.partition("`.ci/run` builds the presets ")[2].split(":", 1)[0])}
built = set(re.findall(r"(?:--preset|\bbuild) ([a-z][\w-]*)", (ROOT / ".ci/run").read_text(encoding="utf-8"))) & presets
if not said or said != built:
    faults.append(f"CONTRIBUTING says that .ci/run builds {sorted(said)}, and it builds {sorted(built)}")

print("\n".join(faults))
sys.exit(1 if faults else 0)
