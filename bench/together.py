#!/usr/bin/env python3
# nightly: --check | timeout=1200 unsanitized
"""Graphs and kernels, apart and together: how fast each way makes the models of the zoo, on one thread.

  bench/together.py [--models NAME,...] [--limit N] [--budget 60s] [--seconds 3] [--turns 12] [--most 1800] [--results FILE.jsonl]
                    [--filled DIR | --blocks DIR] [--check]
ONNX Runtime with all of its optimizations on the model as it is = 1.00. Beside it:
  openvino   the model on OpenVINO in float32, where it is installed
  graph      what `isomer optimize` writes
  kernels    `isomer compile --as custom-op` of the model
  after      `isomer compile --as custom-op` of the output of `optimize`
  together   `isomer optimize --kernels`
Each is made, then all of them run by turns in one process, and ratios of CPU time are taken per turn: the figure is their median, and no candidate's
own measurement. Outputs must be those of the model. Each row has the estimate of the possible gain
(`../shared/headroom`), where there is one. --results keeps what is done, so that a run may be interrupted; --filled keeps weights;
--blocks: models DIR/NAME/orig.onnx in place of the zoo (`../shared/expert/make_blocks.py` makes them). --budget is of each `optimize`, --seconds of each
comparison that `compile` makes and of each with OpenVINO, --turns seconds of the last measurement. A way that is not made within --most seconds of its model,
or fails, is said in the model's row, and the others go on. Exit 1: outputs that differ, or a result that is slower than the model by more than 5 %.
--check: one small model, for CI.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

import _paths  # noqa: F401
import modules
import programs
import reference
import zoo
from records import Records

WAYS = ("graph", "kernels", "after", "together")
FEWEST, MOST = 8, 300  # turns of the last measurement: at least; at most
SLOWER = 0.95
OPENVINO_ROUNDS = 3


# ---- in the child, which generated code may end


def run_all(seconds, feeds_file, *pairs):
    """For WAY=FOLDER pairs, the first of which is the model itself: the median ratio of each to the first, and how far outputs are apart."""
    with np.load(feeds_file) as file:
        feeds = {name: file[name] for name in file.files}
    sessions = {}
    for pair in pairs:
        way, _, place = pair.partition("=")
        place = pathlib.Path(place)
        is_folder = place.is_dir()
        sessions[way] = modules.session(place / "model.onnx" if is_folder else place, next(place.glob("*.so"), None) if is_folder else None)
    outputs = {way: session.run(None, feeds) for way, session in sessions.items()}
    names, times, start = list(sessions), {way: [] for way in sessions}, time.monotonic()
    while len(times["raw"]) < FEWEST or time.monotonic() - start < float(seconds) and len(times["raw"]) < MOST:
        # Each in each place of a turn: none always follows the same.
        turn = len(times["raw"]) % len(names)
        for way in names[turn:] + names[:turn]:
            began = time.process_time()
            sessions[way].run(None, feeds)
            times[way].append(time.process_time() - began)
    answer = {}
    for way in names[1:]:
        ratios = [a / b for a, b in zip(times["raw"], times[way], strict=True)]
        apart = max((reference.error_of(mine, theirs) for mine, theirs in zip(outputs[way], outputs["raw"], strict=True)), default=0.0)
        answer[way] = {"ratio": statistics.median(ratios), "apart": apart}
    answer["raw_ms"] = 1000 * statistics.median(times["raw"])
    print(json.dumps(answer))


# ---- in the parent


class Clock:
    """Seconds that a model has left, and where they went."""

    def __init__(self, most):
        self.end, self.spent = time.monotonic() + most, {}

    def left(self):
        return max(1.0, self.end - time.monotonic())

    def run(self, way, command):
        """What a command says, in JSON; or, in place of it, how it failed."""
        began = time.monotonic()
        done = programs.run(command, timeout=self.left())
        self.spent[way] = round(self.spent.get(way, 0) + time.monotonic() - began, 1)
        if done.code != 0:
            return {"failure": (done.stderr or done.stdout).strip()[-200:] or f"it ended with {done.code}"}
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {"failure": "its answer is no JSON"}


def on_openvino(model, sizes, options, clock):
    command = [programs.program("isomer"), "bench", str(model), "--runtime", "ort,openvino", "--seconds", str(options.seconds), "--json", *sizes]
    ratios = []
    for _ in range(OPENVINO_ROUNDS):
        answer = clock.run("openvino", command)
        if "failure" in answer:
            return None
        both = answer["models"][0], answer["others"][0]["models"][0]
        if any("failure" in of for of in both):
            return None
        ratios.append(both[0]["cpu_ns"]["median"] / both[1]["cpu_ns"]["median"])
    return statistics.median(ratios)


def optimized(way, model, out, options, clock):
    """The result's word, whether there is one that the checker accepts, and what was done."""
    isomer = programs.program("isomer")
    answer = clock.run(way, [isomer, "optimize", str(model), "-o", str(out), "--json", "--quiet", "--budget", options.budget])
    if answer.get("result") != "improved":
        return answer.get("result", "failed"), False, []
    steps = answer.get("changes", [])
    return "improved", "failure" not in clock.run(way, [isomer, "check", str(model), str(out), f"{out}.cert", "--json"]), steps


def compiled(way, model, folder, sizes, options, clock):
    answer = clock.run(way, [programs.program("isomer"), "compile", str(model), "-o", str(folder), "--json", "--quiet", "--as", "custom-op",
                             "--seconds", str(options.seconds), *sizes])
    return answer if "failure" in answer else {key: answer[key] for key in ("operators", "graph", "tried", "regions", "ms", "errors", "sums")}


def with_kernels(way, model, folder, sizes, options, clock):
    folder.mkdir()
    answer = clock.run(way, [programs.program("isomer"), "optimize", str(model), "-o", str(folder / "model.onnx"), "--json", "--quiet", "--kernels",
                             "--budget", options.budget, *sizes])
    if "failure" in answer:
        return answer
    empty = {"operators": 0, "graph": "", "tried": [], "regions": [], "ms": 0, "errors": None, "sums": ""}
    return {key: answer["kernels"].get(key, none) for key, none in empty.items()} | {"seconds": answer["seconds"]}


def estimates():
    """What contractions at the speed of oneDNN, Winograd as measured, and one pass over the rest would give: a ratio per model."""
    file = programs.SHARED / "headroom" / "results" / "limits.txt"
    lines = file.read_text().splitlines() if file.exists() else []
    rows = [line.partition("(")[0].split() for line in lines if line.count("|") == 3 and not line.startswith("model")]
    return {row[0]: float(row[-1]) for row in rows}


def judge(name, model, folder, options):
    sizes, clock = [] if options.blocks else zoo.shape_options(name), Clock(options.most)
    row = {"estimate": estimates().get(name), "openvino": None if options.no_openvino else on_openvino(model, sizes, options, clock), "spent": clock.spent}
    graph = folder / "graph.onnx"
    row["graph_result"], is_good, row["graph_steps"] = optimized("graph", model, graph, options, clock)
    places, wanted = {"raw": model}, {"kernels": model}
    if is_good:
        places["graph"] = wanted["after"] = graph
    for way, given in wanted.items():
        row[f"{way}_made"] = compiled(way, given, folder / way, sizes, options, clock)
    row["together_made"] = with_kernels("together", model, folder / "together", sizes, options, clock)
    for way in (*wanted, "together"):
        if "failure" not in row[f"{way}_made"]:
            places[way] = folder / way
    feeds = folder / "feeds.npz"
    shapes = {} if options.blocks else zoo.index()[name]["run_shapes"]
    np.savez(feeds, **reference.feeds_of(onnx.load(model, load_external_data=False), shapes))
    child = subprocess.run([sys.executable, __file__, "--run", str(options.turns), str(feeds), *(f"{way}={place}" for way, place in places.items())],
                           capture_output=True, text=True, check=False, timeout=options.turns + 600)
    if child.returncode != 0:
        return row | {"failure": f"the run ended with {child.returncode}: {child.stderr.strip()[-300:]}"}
    return row | {"ways": json.loads(child.stdout.splitlines()[-1])}


def judged(name, options):
    """The row of a model, whatever happens to it."""
    try:
        with tempfile.TemporaryDirectory(prefix="isomer_together_") as temporary:
            folder = pathlib.Path(temporary)
            model = options.blocks / name / "orig.onnx" if options.blocks else zoo.fill_once(name, folder, options.filled)
            return judge(name, model, folder, options)
    except (Exception, SystemExit) as failure:  # the others go on
        return {"failure": f"{type(failure).__name__}: {failure}"[-300:]}


def ratio(row, way):
    """What a way gives; where it found nothing, what it starts from."""
    ways = row.get("ways", {})
    if way in ways:
        return ways[way]["ratio"]
    return {"graph": lambda: 1.0, "kernels": lambda: 1.0, "after": lambda: ratio(row, "kernels"), "together": lambda: ratio(row, "kernels")}[way]()


def faults(rows):
    for name, row in rows.items():
        if "failure" in row:
            yield name, row["failure"]
            continue
        for way in WAYS:
            if "failure" in row.get(f"{way}_made", {}):
                yield name, f"{way}: {row[f'{way}_made']['failure'].strip().splitlines()[-1]}"
            found = row["ways"].get(way)
            if found and found["apart"] > reference.MOST["float"]:
                yield name, f"{way}: outputs are {found['apart']:.1e} apart"
            if found and found["ratio"] < SLOWER:
                yield name, f"{way}: slower, {found['ratio']:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--turns", type=float, default=12, help="seconds of the last measurement")
    parser.add_argument("--most", type=float, default=1800, help="seconds of one model, of all but its last measurement")
    parser.add_argument("--until", type=float, default=math.inf, help="start no model after so many seconds")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--no-openvino", action="store_true")
    parser.add_argument("--blocks", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        options.models, options.budget, options.seconds, options.turns = "gcn", "5s", 0.5, 2
    known = sorted(p.parent.name for p in options.blocks.glob("*/orig.onnx")) if options.blocks else [n for n in zoo.names() if "." not in n]
    names = options.models.split(",") if options.models else known[:options.limit]
    records, start = Records(options.results, "model"), time.monotonic()
    for name in names:
        if (name,) in records or time.monotonic() - start > options.until:
            continue
        row = judged(name, options)
        print(name, {way: round(ratio(row, way), 3) for way in WAYS}, row.get("spent", ""), row.get("failure", ""), file=sys.stderr, flush=True)
        records.add({"model": name} | row)
    rows = {name: records.all[name,] for name in names if (name,) in records}
    good = [row for row in rows.values() if "ways" in row]
    print("| model | " + " | ".join(WAYS) + " |\n|---|" + "---:|" * len(WAYS))
    for name, row in rows.items():
        print(f"| {name} | " + " | ".join(f"{ratio(row, way):.2f}" for way in WAYS) + " |")
    for way in WAYS if good else ():
        all_of_it = [ratio(row, way) for row in good]
        print(f"{way}: geometric mean {math.exp(statistics.fmean(map(math.log, all_of_it))):.3f}, median {statistics.median(all_of_it):.3f}")
    wrong = list(faults(rows))
    for name, why in wrong:
        print(f"WRONG {name}: {why}")
    sys.exit(1 if wrong and not options.check else 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run_all(*sys.argv[2:])
    else:
        main()
