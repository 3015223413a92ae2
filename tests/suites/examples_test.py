"""Each example runs, in a folder of its own; those that lack a package say so. All of them are listed in examples/README.md."""
import os
import pathlib
import subprocess
import sys
import tempfile

import _paths  # noqa: F401
import programs

EXAMPLES = programs.ROOT / "examples"
if not os.access(os.environ["ISOMER"], os.X_OK):
    print("skipped: the command is not built")
    sys.exit(programs.SKIPPED)

told = (EXAMPLES / "README.md").read_text(encoding="utf-8")
folders = sorted(p for p in EXAMPLES.iterdir() if p.is_dir())
faults = [f"{p.name} is not told in examples/README.md" for p in folders if f"[{p.name}]({p.name})" not in told]
for script in sorted(EXAMPLES.glob("*/run.py")):
    with tempfile.TemporaryDirectory(prefix="isomer_example_") as folder:
        ran = subprocess.run([sys.executable, str(script)], cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    name, last = script.parent.name, (ran.stdout.strip().splitlines() or [""])[-1]
    print(f"{name}: exit {ran.returncode}: {last}")
    if ran.returncode not in (0, programs.SKIPPED) or not (pathlib.Path(script).parent / "README.md").exists():
        faults.append(f"{name}: exit {ran.returncode}\n{ran.stdout}{ran.stderr}")
print("\n".join(faults))
sys.exit(1 if faults else 0)
