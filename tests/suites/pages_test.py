"""Runs the code blocks of the guides with the built command. Those that import the Python package are run by wheel_test.py."""
import os
import pathlib
import sys
import tempfile

import _paths  # noqa: F401
import pages
import programs

if not os.access(programs.program("isomer"), os.X_OK):
    print("skipped: the command is not built")
    sys.exit(77)
ran = 0
with tempfile.TemporaryDirectory() as name:
    environment = pages.with_command(pathlib.Path(name), dict(os.environ, VIRTUAL_ENV=sys.prefix))
    for page in pages.pages():
        if pages.needs_package(page):
            continue
        print(f"=== {page.name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            ran += pages.run(page, pathlib.Path(folder), sys.executable, environment)
assert ran >= 8, "the guides lost their examples"
guides = sorted((programs.ROOT / "docs" / "guides").glob("*.md"))
silent = [page.name for page in guides if "```" in page.read_text(encoding="utf-8") and not pages.says_whether_blocks_run(page)]
assert not silent, f"guides whose blocks nothing runs, without a reason: {silent}"
# A line that must fail, and one that must not.
assert pages.shell("false # exit 1\ntrue\n") == "code=0; false || code=$?; test $code = 1\ntrue\n"
