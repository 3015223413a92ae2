#!/usr/bin/env python3
# nightly: --check | timeout=900 serial unsanitized
"""How long `isomer optimize --kernels` takes with its default budget, the first time and the second.

  bench/kernel_time.py [NAME ...] [--results FILE.jsonl] [--filled DIR] [--check]
Each model is made twice, with a cache that is empty before the first time. Rows have both times, the gain that was measured, and whether the checker
accepts what was written. --results keeps what is done. Exit 1: a result that the checker rejects. --check: one small model with a small budget.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import _paths  # noqa: F401
import programs
import tell_kernels
import zoo
from records import Records
from trained import models

# With the wanted seconds of the first time, on an idle machine.
TRAINED = {"rapidocr-onnxruntime/det4": (("--shape", "x=1x3x640x640"), 40), "rapidocr-onnxruntime/rec4": (("--shape", "x=1x3x48x320"), 40),
           "rapidocr/cls": (("--shape", "x=1x3x48x192"), 40), "rapidocr/det6": (("--shape", "x=1x3x640x640"), 90)}
ZOO = {"mobilenet_v2": ((), 40)}
CHECKED = "rapidocr/cls"


def ms_of(cost):
    return (cost or {}).get("latency_ns", {}).get("median", 0) / 1e6 or None


def make(model, out, *options):
    isomer = programs.program("isomer")
    done = programs.run([isomer, "optimize", str(model), "-o", str(out), "--kernels", "--json", "--quiet", *options], timeout=1800)
    if done.code != 0:
        return {"seconds": done.seconds, "result": "failed", "reason": done.stderr[-300:]}
    answer = json.loads(done.stdout)
    kernels = answer.get("kernels") or {}
    check = programs.run([isomer, "check", str(model), str(out), f"{out}.cert", "--json"], timeout=900)
    return {"seconds": done.seconds, "check_seconds": check.seconds, "accepted": check.code == 0, "compiler_ms": kernels.get("compiler_ms"),
            "before_ms": ms_of(answer["before"]), "after_ms": ms_of(answer["after"]), "kernels": kernels.get("is_taken", False),
            "why_no_kernels": kernels.get("reason", "")} | {
                key: answer.get(key) for key in ("result", "reason", "ratio", "low", "high", "bytes_out")}


def say(row):
    for which in ("first", "second"):
        made = row[which]
        found = f"{made['ratio']:.2f} [{made['low']:.2f}, {made['high']:.2f}]" if made.get("ratio") else made["reason"]
        kernels = "" if made.get("kernels") else f"; no kernels: {made.get('why_no_kernels', '')}"
        print(f"  {which}: {made['seconds']:.1f} s, {found}{kernels}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.check:
        given.names = [CHECKED]
    there = {model.name: model for model in models.fetched()}
    known = {name: of for name, of in TRAINED.items() if name in there} | (ZOO if (programs.SHARED / "zoo").exists() else {})
    chosen = [name for name in known if not given.names or any(n in name for n in given.names)]
    if not chosen:
        print("none of these models is here: tools/fetch_trained")
        return programs.SKIPPED
    records, wrong = Records(given.results, "model"), 0
    for name in chosen:
        options, wanted = known[name]
        if (name,) not in records:
            with tempfile.TemporaryDirectory(prefix="isomer_kernels_") as temporary:
                folder = pathlib.Path(temporary)
                model = there[name].path if name in there else zoo.fill_once(name, folder / "zoo", given.filled)
                if name in there:
                    options = (*options, *there[name].value_options())
                options = (*options, "--cache", folder / "cache" / "timings.sqlite", *(("--budget", "60s") if given.check else ()))
                (folder / "cache").mkdir()
                row = {"model": name, "wanted": wanted}
                for which in ("first", "second"):
                    (folder / which).mkdir()
                    row[which] = make(model, folder / which / "fast.onnx", *map(str, options))
                records.add(row)
        row = records.all[name,]
        print(f"{name}: {wanted} s wanted, the second time {tell_kernels.WANTED_AGAIN}", flush=True)
        say(row)
        wrong += sum(not row[which].get("accepted", False) for which in ("first", "second"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
