#!/usr/bin/env python3
# nightly: --check | unsanitized
"""Random rewrites of regions of real models through the prover: none that is false may be accepted.

  tests/evidence/random_proposals.py [--proposals 10000] [--seed 1] [--models NAME,...] [--filled DIR] [--check]
The work is isomer-random-proposals' (tests/attack/search/random_proposals.cpp); here models are found: a generated decoder, and models of the zoo
(../shared/zoo, or filled ones in DIR). --check: the short form, half a minute.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import _paths  # noqa: F401
import programs
import zoo
from decoder import Decoder

MODELS = ("gcn", "wide_deep", "lstm_unrolled", "moe_dense", "llama_tiny", "mobilebert_tiny", "dlrm", "squeezenet1_1")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--proposals", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    names = options.models.split(",")
    if options.check:
        options.proposals, names = 300, ["gcn", "wide_deep"] if (programs.SHARED / "zoo").exists() else []
    with tempfile.TemporaryDirectory(prefix="isomer_random_") as folder:
        decoder = pathlib.Path(folder, "decoder", "decoder.onnx")
        Decoder(2).save(decoder)
        models = [str(decoder)]
        for name in names:
            kept = options.filled / f"{name}.onnx" if options.filled else None
            place = pathlib.Path(folder, name)
            place.mkdir()
            models.append(str(kept if kept and kept.exists() else zoo.fill(name, place)))
        sys.exit(subprocess.run([programs.program("isomer-random-proposals"), "--proposals", str(options.proposals), "--seed",
                                 str(options.seed), *models]).returncode)


if __name__ == "__main__":
    main()
