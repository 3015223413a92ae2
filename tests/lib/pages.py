"""Runs the code blocks of a document, in order, as a reader would: so it can't go stale.

Blocks are ```sh and ```python; others are for reading. A line of a shell block that ends in "# exit N" must end with that code. A page names the
models that its blocks use in comments: <!-- model: PACKAGE/FILE.onnx as NAME.onnx --> for a trained one, <!-- made: chain('N') as NAME.onnx --> for one
of tests/lib/page_models.py.
"""
import ast
import pathlib
import re
import shutil
import subprocess

import onnx

import page_models
import programs

TRAINED = programs.ROOT / ".deps" / "trained"


def blocks(page):
    return re.findall(r"^```(python|sh)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.S | re.M)


def needs_package(page):
    return any(re.search(r"^import isomer|^from isomer", text, re.M) for language, text in blocks(page) if language == "python")


def models(page):
    """Paths of trained models by the names that they have on the page."""
    return {name: TRAINED / path for path, name in re.findall(r"<!-- model: (\S+) as (\S+) -->", page.read_text(encoding="utf-8"))}


def make_models(page, folder):
    for make, argument, name in re.findall(r"<!-- made: (\w+)\((.*?)\) as (\S+) -->", page.read_text(encoding="utf-8")):
        (folder / name).parent.mkdir(exist_ok=True)
        onnx.save(page_models.MODELS[make](*([ast.literal_eval(argument)] if argument else [])), folder / name)


def shell(text):
    return re.sub(r"^(.*\S) *# exit (\d+)$", r"code=0; \1 || code=$?; test $code = \2", text, flags=re.M)


def run(page, folder, python, environment):
    """False: a trained model that it needs is not there."""
    for name, path in models(page).items():
        if not path.exists():
            return False
        shutil.copy(path, folder / name)
    make_models(page, folder)
    for language, text in blocks(page):
        print(f"--- {language}\n{text}", flush=True)
        command = [python, "-c", text] if language == "python" else ["bash", "-euo", "pipefail", "-c", shell(text)]
        subprocess.run(command, cwd=folder, check=True, env=environment)
    return True


def pages():
    """Those that say that their blocks are run."""
    docs = sorted((programs.ROOT / "docs").rglob("*.md"))
    return [page for page in docs if "<!-- tests/suites/pages_test.py runs the blocks of this page" in page.read_text(encoding="utf-8")]


def says_whether_blocks_run(page):
    return page in pages() or "<!-- The blocks of this page need" in page.read_text(encoding="utf-8")


def with_command(folder, environment):
    """An environment in which `isomer` is the built command."""
    (folder / "bin").mkdir()
    (folder / "bin" / "isomer").symlink_to(pathlib.Path(programs.program("isomer")).resolve())
    return dict(environment, PATH=f"{folder / 'bin'}:{environment['PATH']}")
