#!/usr/bin/env python3
"""Do two builds answer alike? Twelve models of the zoo through `isomer optimize --judge cost`, and the short form of the expert pairs.

  bench/same_results.py [--write FILE.jsonl] [--against FILE.jsonl] [--only TEXT] [--without-pairs]
Nothing that is compared depends on the time: budgets are far more than what is needed, a run that was stopped by one is an error, and what is
measured is left out. Per model: the result, its steps, the SHA-256 of the output model, of the certificate without its notes (which describe
what was done, and prove nothing), and of the notes' words. Per pair: the verdict and how many constants were rounded. --write keeps them,
--against compares with what another build wrote: exit 1 if anything differs. $ISOMER is the command.
"""
import argparse
import hashlib
import json
import pathlib
import sys
import tempfile

import _paths  # noqa: F401
import programs
import prove_pairs
import proving
import zoo
from records import Records

# Small ones, a minute together. All proposers of the analytic judge find something in one of them; bilinear needs a measured error.
MODELS = ("gcn", "lstm_unrolled", "dlrm.dyn", "wide_deep", "moe_dense", "squeezenet1_1", "unet_bn.bn", "shufflenet_v2_x1_0", "densenet121",
          "regnet_y_400mf", "ghostnet_100.bn", "mobileone_s1")
BUDGET = "30m"
PAIR_SECONDS = 600


def digest(data):
    return hashlib.sha256(data).hexdigest()


def certificate_digests(path):
    """Digests of the proved steps, and of their text. A note's ratio was measured and is in neither."""
    proved, words = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if note := record.pop("note", None):
            words.append([note.get("kind"), note.get("what")])
        if record:
            proved.append(record)
    return digest(json.dumps(proved, sort_keys=True).encode()), digest(json.dumps(words).encode())


def optimized(name, folder):
    model, out = zoo.fill(name, folder), folder / "out.onnx"
    run = programs.run([programs.program("isomer"), "optimize", str(model), "-o", str(out), "--judge", "cost", "--budget", BUDGET, "--json", "--quiet"],
                       timeout=3600)
    if run.code != 0:
        sys.exit(f"{name}: {run.stderr}")
    told = json.loads(run.stdout)
    if told["stopped_by"] != "done":
        sys.exit(f"{name}: stopped by {told['stopped_by']}: what it found depends on the time")
    proved, words = certificate_digests(pathlib.Path(f"{out}.cert"))
    return {"what": name, "result": told["result"], "steps": {s["kind"]: s["count"] for s in told["steps"]}, "model": digest(out.read_bytes()),
            "certificate": proved, "notes": words}


def pairs(only):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        prove_pairs.make_blocks(folder, prove_pairs.SHORT)
        for name, orig, variant in prove_pairs.pairs_of(folder, prove_pairs.SHORT):
            if only in name:
                record = proving.prove(orig, variant, PAIR_SECONDS)
                yield {"what": name, "verdict": record["verdict"], "rounded": record["rounded"]}


def models(only):
    for name in MODELS:
        if only in name:
            with tempfile.TemporaryDirectory() as folder:
                yield optimized(name, pathlib.Path(folder))


def print_record(record):
    if "verdict" in record:
        print(f"{record['what']:34} {record['verdict']}, {record['rounded']} constants rounded", flush=True)
        return
    steps = ", ".join(f"{count} {kind}" for kind, count in record["steps"].items())
    print(f"{record['what']:34} {record['result']:10} model {record['model'][:16]}  certificate {record['certificate'][:16]}  notes {record['notes'][:16]}  "
          f"{steps}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--against", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--without-pairs", action="store_true")
    options = parser.parse_args()
    before = Records(options.against, "what").all if options.against else None
    if options.against and not before:
        sys.exit(f"nothing in {options.against}")
    if options.write:
        options.write.unlink(missing_ok=True)
    records = Records(options.write, "what")
    for source in (models, pairs)[:1 if options.without_pairs else 2]:
        for record in source(options.only):
            records.add(record)
            print_record(record)
    if before is None:
        return 0
    differ = 0
    is_whole = not options.only and not options.without_pairs
    for key in [k for k in before if k not in records.all] if is_whole else []:
        differ += 1
        print(f"DIFFERS {key[0]}: it was there before")
    for key, record in records.all.items():
        was = before.get(key)
        names = ["(it is not there)"] if was is None else [k for k in record if record[k] != was.get(k)]
        if names:
            differ += 1
            print(f"DIFFERS {key[0]}: {', '.join(names)}")
    print(f"{differ} of {len(records.all)} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
