#!/usr/bin/env python3
"""Deployed models through `isomer optimize`: quantised, in half precision, with weights of four bits (bench/make_deployed.py).

  bench/deployed.py [--kinds fp16,...] [--models NAME.KIND,...] [--limit N] [--budget 60s] [--results FILE.jsonl] [--kept DIR] [--filled DIR]
As bench/zoo_optimize.py does it: each is optimized with its own inputs, checked, and measured again if it was changed. --kept keeps the models.
"""
import argparse
import pathlib

import make_deployed
import zoo_optimize


def kind_of(name):
    return name.rsplit(".", 1)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    zoo_optimize.add_options(parser)
    parser.add_argument("--kinds", default="")
    parser.add_argument("--kept", type=pathlib.Path)
    options = parser.parse_args()
    kinds = options.kinds.split(",") if options.kinds else []
    names = options.models.split(",") if options.models else [n for n in make_deployed.DEPLOYED if not kinds or kind_of(n) in kinds][:options.limit]
    if options.kept:
        options.kept.mkdir(parents=True, exist_ok=True)
    zoo_optimize.run_all(names, lambda name: make_deployed.deployed_model(name, options.kept, options.filled), options)


if __name__ == "__main__":
    main()
