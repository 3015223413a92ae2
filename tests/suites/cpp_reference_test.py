"""The page of the C++ interface is that of the headers, and has every function of them."""
import re
import subprocess
import sys

import _paths  # noqa: F401
import programs

page = (programs.ROOT / "docs" / "reference" / "cpp-api.md").read_text(encoding="utf-8")
subprocess.run([sys.executable, programs.ROOT / "tools" / "cpp_reference", "--check"], check=True)
declared = set()
for header in sorted((programs.ROOT / "include" / "isomer").glob("*.h")):
    if header.name != "isomer_c.h":
        declared |= set(re.findall(r"^ISOMER_API (?:[\w:<>, ]+[ &*])(\w+)\(", header.read_text(encoding="utf-8"), re.M))
assert len(declared) > 40, declared
missing = [name for name in declared if f"#### {name}\n" not in page]
assert not missing, missing
