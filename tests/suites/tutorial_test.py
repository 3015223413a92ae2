"""Runs the code blocks of docs/tutorial.md, in order, with the built command: it can't go stale."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

tutorial = pathlib.Path(os.environ["ISOMER_SOURCE_DIR"], "docs", "tutorial.md").read_text(encoding="utf-8")
isomer = os.environ["ISOMER"]
if not os.access(isomer, os.X_OK):
    print("skipped: the command is not built")
    sys.exit(77)

blocks = re.findall(r"^```(python|sh)\n(.*?)^```$", tutorial, re.S | re.M)
assert {language for language, _ in blocks} == {"python", "sh"}, "the tutorial lost its example"
with tempfile.TemporaryDirectory() as folder:
    for language, text in blocks:
        print(f"--- {language}\n{text}", flush=True)
        if language == "python":
            command = [sys.executable, "-c", text]
        else:
            command = ["bash", "-euo", "pipefail", "-c", text.replace("build/release/isomer", '"$ISOMER"')]
        subprocess.run(command, cwd=folder, check=True, env=dict(os.environ, VIRTUAL_ENV=sys.prefix))
