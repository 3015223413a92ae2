"""The documents' figures are those that bench/tell.py writes from bench/results; links between documents lead somewhere."""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get("ISOMER_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)(?:#[^)]*)?\)")


def dead_links():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").rglob("*.md")]:
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if not (page.parent / target).exists():
                yield f"{page.relative_to(ROOT)}: no {target}"


dead = list(dead_links())
print("\n".join(dead))
told = subprocess.run([sys.executable, str(ROOT / "bench" / "tell.py"), "--check"], check=False)
sys.exit(1 if dead or told.returncode else 0)
