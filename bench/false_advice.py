#!/usr/bin/env python3
"""Advice beside two busy processes, on models that have nothing to be advised of: all of it would be false.

  bench/false_advice.py                     20 runs on each of mobilenet_v2 and squeezenet1_1 (15 minutes)
  bench/false_advice.py --runs 2            a short form
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import _paths  # noqa: F401
import programs
import zoo

MODELS = ("mobilenet_v2", "squeezenet1_1")
BUSY = "while True: pass"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--budget", default="15s")
    arguments = parser.parse_args()
    told = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(2)]
        try:
            for model in MODELS:
                place = folder / model
                place.mkdir()
                path = zoo.fill(model, place)
                for run in range(arguments.runs):
                    ran = subprocess.run([programs.program("isomer"), "optimize", str(path), "-o", str(folder / "out.onnx"), "--budget",
                                          arguments.budget, "--json", "--quiet", "--seed", str(run + 1)], capture_output=True, text=True, check=True)
                    advice = json.loads(ran.stdout)["advice"]
                    told += len(advice)
                    for a in advice:
                        print(f"{model}, run {run}: {a['option']}={a['value']} {a['ratio']:.2f} [{a['low']:.2f}, {a['high']:.2f}]: {a['why']}", flush=True)
        finally:
            for process in busy:
                process.kill()
                process.wait()
    print(f"{told} pieces of advice in {arguments.runs * len(MODELS)} runs, where there is none to give")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
