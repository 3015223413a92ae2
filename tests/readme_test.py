"""Runs the code blocks of README.md's "First steps", in order, with the built command: the README can't go stale."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

readme = pathlib.Path(os.environ["ISOMER_SOURCE_DIR"], "README.md").read_text(encoding="utf-8")
isomer = os.environ["ISOMER"]
if not os.access(isomer, os.X_OK):
    print("skipped: the command is not built")
    sys.exit(77)

section = readme.split("## First steps", 1)[1].split("\n## ", 1)[0]
blocks = re.findall(r"^```(python|sh)\n(.*?)^```$", section, re.S | re.M)
assert {language for language, _ in blocks} == {"python", "sh"}, "README.md lost its example"
with tempfile.TemporaryDirectory() as folder:
    for language, text in blocks:
        print(f"--- {language}\n{text}", flush=True)
        if language == "python":
            command = [sys.executable, "-c", text]
        else:
            command = ["bash", "-euo", "pipefail", "-c", text.replace("build/release/isomer", '"$ISOMER"')]
        subprocess.run(command, cwd=folder, check=True, env=dict(os.environ, VIRTUAL_ENV=sys.prefix))
