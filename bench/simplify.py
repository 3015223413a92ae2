#!/usr/bin/env python3
# nightly: --models squeezenet1_1,lstm_unrolled,moe_dense | timeout=600 unsanitized
"""`isomer simplify` beside onnxsim and OnnxSlim, over the models of the zoo: nodes left, and seconds.

  bench/simplify.py [--python PYTHON] [--models NAME,...] [--results FILE.jsonl] [--filled DIR] [--seconds N]
PYTHON is that of an environment with the other tools (python3 -m venv DIR; DIR/bin/pip install onnxsim onnxslim); without it they are left out. Each tool reads
a file and writes one; every result of Isomer's is checked by isomer-check. Fails if one is rejected.
"""
import argparse
import math
import pathlib
import statistics
import subprocess
import sys
import time

import onnx

import _paths  # noqa: F401
import optimizing
import programs
import zoo
from records import Records

RIVALS = ("onnxsim", "onnxslim")
CLOSE = 1.05  # of the fewest nodes


def nodes_in(path):
    return len(onnx.load(path, load_external_data=False).graph.node)


def simplify(model, folder):
    out, start = folder / "out.onnx", time.monotonic()
    ran = subprocess.run([programs.program("isomer"), "simplify", str(model), "-o", str(out), "--quiet"], capture_output=True, text=True, check=False)
    row = {"seconds": time.monotonic() - start}
    if ran.returncode != 0:
        return row | {"failure": ran.stderr.strip()[-300:]}
    start = time.monotonic()
    checked = subprocess.run([programs.program("isomer-check"), str(model), str(out), f"{out}.cert"], capture_output=True, text=True, check=False)
    return row | {"nodes": nodes_in(out), "check_seconds": time.monotonic() - start, "accepted": checked.returncode == 0}


def by_rival(python, tool, model, folder):
    out, start = folder / f"{tool}.onnx", time.monotonic()
    is_written = zoo.rewritten(python, tool, model, out)
    row = {"seconds": time.monotonic() - start}
    return row | ({"nodes": nodes_in(out)} if is_written else {"failure": "it wrote nothing that it stands by"})


def judge(name, options):
    with optimizing.filled_model(name, options.filled) as (model, folder):
        row = {"model": name, "nodes": nodes_in(model), "isomer": simplify(model, folder)}
        if options.python:
            row |= {tool: by_rival(options.python, tool, model, folder) for tool in RIVALS}
    return row


def fewest(row):
    return min(row[tool]["nodes"] for tool in ("isomer", *RIVALS) if "nodes" in row.get(tool, {}))


def is_close(row):
    return row["isomer"]["nodes"] <= CLOSE * fewest(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python")
    parser.add_argument("--models", default="")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=math.inf, help="start no model after so long")
    options = parser.parse_args()
    # One export of each network: those with open sizes and other exporters' are the same networks.
    wanted = options.models.split(",") if options.models else [name for name in zoo.names() if "." not in name]
    records, start = Records(options.results, "model"), time.monotonic()
    for name in wanted:
        if (name,) not in records and time.monotonic() - start < options.seconds:
            records.add(judge(name, options))
    rows = [records.all[name,] for name in wanted if (name,) in records]
    whole = [row for row in rows if "nodes" in row["isomer"]]
    cell = {tool: lambda row, tool=tool: row.get(tool, {}).get("nodes", "-") for tool in RIVALS}
    programs.print_table(["model", "nodes", "isomer", *RIVALS, "s", *(f"s {tool}" for tool in RIVALS)], [
        [row["model"], row["nodes"], row["isomer"]["nodes"], *(cell[tool](row) for tool in RIVALS), f"{row['isomer']['seconds']:.1f}",
         *(f"{row[tool]['seconds']:.1f}" if tool in row else "-" for tool in RIVALS)] for row in whole])
    print(f"{len(whole)} models; within {CLOSE - 1:.0%} of the fewest nodes: {sum(map(is_close, whole))}; "
          f"median {statistics.median(row['isomer']['seconds'] for row in whole):.1f} s")
    wrong = [row["model"] for row in rows if "failure" in row["isomer"] or not row["isomer"]["accepted"]]
    print(f"rejected or failed: {', '.join(wrong) or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
