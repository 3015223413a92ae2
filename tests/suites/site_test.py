"""The documents as a site: every link leads somewhere, every document can be reached, and no network is used."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

source = pathlib.Path(os.environ.get("ISOMER_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))


def made(folder):
    return subprocess.run([sys.executable, source / "tools/site", folder], capture_output=True, text=True)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    ran = made(folder)
    assert ran.returncode == 0, ran.stderr
    print(ran.stdout, end="")
    pages = list(folder.rglob("*.html"))
    documents = list((source / "docs").rglob("*.md"))
    assert len(documents) <= len(pages)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r'<(?:script|link|img)[^>]*(?:src|href)="(?:https?:)?//', text), f"{page.name} asks a network"
        menu = re.search(r"<nav>(.*?)</nav>", text, re.S).group(1)
        for link in re.findall(r'href="([^"#]+)', menu):
            assert (page.parent / link).exists(), f"{page.name}: the menu leads to {link}"
        assert menu.count("<a ") > 15 and menu.count("<h2>") > 5, f"{page.name} has no menu"

# It can fail: a link to nowhere, a heading that is not there, a document without a link to it.
with tempfile.TemporaryDirectory() as name:
    copy = pathlib.Path(name)
    (copy / "tools").mkdir()
    (copy / "docs").mkdir()
    for file in ("tools/site", "tools/site.css"):
        (copy / file).write_bytes((source / file).read_bytes())
    (copy / "README.md").write_text("# A\n[b](docs/b.md) [c](docs/README.md#nowhere)\n")
    (copy / "docs/README.md").write_text("# D\n")
    (copy / "docs/lost.md").write_text("# L\n")
    ran = subprocess.run([sys.executable, copy / "tools/site", copy / "out"], capture_output=True, text=True)
    assert ran.returncode == 1 and not (copy / "out").exists()
    for complaint in ("no file docs/b.md", "no heading #nowhere", "docs/lost.md: nobody links to it"):
        assert complaint in ran.stderr, ran.stderr
