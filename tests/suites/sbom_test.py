"""The bill of materials names every pin of the tree, and everything that is downloaded has a hash that is compared."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("ISOMER_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))


def sbom(root, *options):
    return subprocess.run([sys.executable, str(root / "tools" / "sbom"), *options], capture_output=True, text=True, check=False)


class Sbom(unittest.TestCase):
    def test_names_every_pin(self):
        document = json.loads(sbom(ROOT).stdout)
        self.assertEqual(("CycloneDX", "1.6"), (document["bomFormat"], document["specVersion"]))
        hashes = {h["content"] for part in document["components"] for h in part.get("hashes", [])}
        names = {part["name"] for part in document["components"]}
        pinned, packages = set(), set()
        for file in (ROOT / "tools").iterdir():
            text = file.read_text(encoding="utf-8") if file.is_file() else ""
            pinned |= set(re.findall(r"\b[0-9a-f]{64}\b", text))
            packages |= set(re.findall(r"^([\w.-]+)==", text, re.M)) if file.name.startswith("requirements") else set()
        self.assertGreater(len(pinned), 30)
        self.assertEqual(set(), pinned - hashes)
        self.assertEqual(set(), packages - names)
        self.assertEqual(len(document["components"]), len({part["bom-ref"] for part in document["components"]}))

    def test_every_download_has_a_hash(self):
        ran = sbom(ROOT, "--check")
        self.assertEqual(0, ran.returncode, ran.stdout + ran.stderr)

    def test_sees_a_pin_without_a_hash(self):
        with tempfile.TemporaryDirectory() as name:
            copy = pathlib.Path(name)
            (copy / "tools").mkdir()
            for file in ("CMakeLists.txt", "tools/sbom", "tools/setup", "tools/portable", "tools/requirements.txt", "tools/requirements-portable.txt"):
                (copy / file).write_text((ROOT / file).read_text(encoding="utf-8"), encoding="utf-8")
            pins = copy / "tools" / "requirements.txt"
            pins.write_text(re.sub(r"^(numpy==\S+) .*", r"\1", pins.read_text(encoding="utf-8"), flags=re.M), encoding="utf-8")
            portable = copy / "tools" / "portable"
            portable.write_text(portable.read_text(encoding="utf-8").replace("--require-hashes", ""), encoding="utf-8")
            ran = sbom(copy, "--check")
            self.assertEqual(1, ran.returncode)
            self.assertIn("numpy has no hash", ran.stdout)
            self.assertIn("pip without hashes", ran.stdout)


unittest.main()
