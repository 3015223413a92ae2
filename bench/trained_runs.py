"""Commands of Isomer on trained models: one run as a record, whether a refusal is clear, and whether a result keeps the task's answer.

Shared by bench/trained_right.py, bench/trained_prove.py and bench/trained_speed.py. Folders are left out of the records, so that records are the same
on every machine.
"""
import json
import math
import os
import pathlib
import re

import numpy as np
import onnx

import _paths  # noqa: F401
import children
import modules
import programs
import trained_answers
from records import Records

FEEDS = programs.ROOT / "build" / "trained_feeds"
MOST_CHARACTERS = 600  # of a message that is still read
ANSWER_SECONDS = 900
SENSITIVE = 2  # as far as the rule of errors lets rounding grow
_written = set()
REFUSED = (2, 3)  # bad usage or input; undecided or not modelled


def open_records(given, fields, wanted):
    """What was done before; --anew: nothing, if that is all that is wanted."""
    records = Records(given.results, *fields)
    if given.anew and given.results and given.results.exists() and all(key in records for key in wanted):
        given.results.unlink()
        return Records(given.results, *fields)
    return records


def add_options(parser):
    """What every script has that runs for hours, in pieces."""
    parser.add_argument("--minutes", type=float, default=math.inf, help="start nothing after this time")
    parser.add_argument("--results", type=pathlib.Path, help="keeps what is done; a second run continues")
    parser.add_argument("--again", default="", help="run again what ended so: failed,...")
    parser.add_argument("--anew", action="store_true", help="begin anew if --results has all of it")
    parser.add_argument("--check", action="store_true", help="a short form")


def usual(model):
    """Which of the model's sizes is the usual one."""
    return len(model.sizes) // 2


def feeds_of(model, size=None):
    """The file with real inputs of a size, written once by each run: a task may draw other ones by now."""
    size = usual(model) if size is None else size
    FEEDS.mkdir(parents=True, exist_ok=True)
    path = FEEDS / f"{model.name.replace('/', '.')}.{trained_answers.size_name(model, size)}.npz"
    if path not in _written:
        part = path.with_suffix(f".{os.getpid()}.npz")
        np.savez(part, **model.task.draw(model, model.sizes[size])[0])
        part.rename(path)
        _written.add(path)
    return path


def without_folders(text, folder=None):
    """A printed line, with files named from the tree's root, and results below OUT."""
    for place, word in ((folder, "OUT"), (programs.ROOT, "")):
        text = re.sub(re.escape(f"{place}") + r"(?=/|$)/?", f"{word}/" if word else "", text) if place else text
    return text


def run(command, limit, folder=None):
    """How a command of Isomer ended: a record, and its answer in JSON ({} if there is none)."""
    name, *words = map(str, command)
    done = programs.run([programs.program(name), *words, "--json"], timeout=limit)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {}
    message = (answer.get("error") or {}).get("message", "") or done.stderr.strip()
    # Killed by the signal that the time limit sends: it is no crash of the program.
    is_late = done.code == -9 and done.seconds > 0.95 * limit
    record = {"command": without_folders(" ".join([name, *words]), folder), "exit": None if is_late else done.code, "seconds": round(done.seconds, 2),
              "peak_mb": done.peak_bytes >> 20}
    if is_late:
        record["message"] = f"stopped after {limit:g} s"
    elif done.code != 0:
        record["message"] = without_folders(message[-2000:], folder) or f"it ended with {done.code} without a word"
    return record, answer


def names_in(model):
    """Names by which a message may say where: of nodes, values that nodes make, inputs and dimensions."""
    graph = onnx.load(model.path, load_external_data=False).graph
    found = {node.name for node in graph.node} | {output for node in graph.node for output in node.output}
    for value in graph.input:
        found |= {value.name} | {dim.dim_param for dim in value.type.tensor_type.shape.dim}
    return {name for name in found if len(name) > 1 or name == "x"}


def unclear(model, message):
    """What a refusal lacks; empty if a user can go on with it."""
    lacks = []
    if not any(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w])", message) for name in names_in(model)):
        lacks.append("names no node or input")
    if not re.search(r"(^|[\s'\"`(])--[a-z]|isomer [a-z]+|isomer\.[a-z]+\(", message):
        lacks.append("does not say what to type")
    if len(message) > MOST_CHARACTERS:
        lacks.append(f"has {len(message)} characters")
    return ", ".join(lacks)


def judge_ending(model, record):
    """("refused" or "failed", why) of a command that did not end with 0; None if it did."""
    if record["exit"] == 0:
        return None
    if record["exit"] is None:
        return "failed", record["message"]
    if record["exit"] not in REFUSED:
        return "failed", f"exit {record['exit']}: {record['message']}"
    lack = unclear(model, record["message"])
    return ("failed", f"unclear refusal ({lack}): {record['message']}") if lack else ("refused", record["message"])


# ---- answers --------------------------------------------------------------------------------------------------------

class Compiled:
    """A module of `isomer compile`, with the interface of an ONNX Runtime session."""

    def __init__(self, folder):
        self.module = modules.load(folder)

    def get_inputs(self):
        return self.module.inputs

    def get_outputs(self):
        return self.module.outputs

    def run(self, _, feeds):
        outputs = self.module(**feeds)
        return [outputs[port.name] for port in self.module.outputs]


def opened(place):
    """A session of a model with the kernels beside it, of a folder with a model and its operators, or of a folder with a module."""
    if not place.is_dir():
        kernels = place.with_suffix(".kernels.so")
        return trained_answers.session_of(place, kernels if kernels.exists() else None)
    model = place / "model.onnx"
    return trained_answers.session_of(model, place / "libmodel.so") if model.exists() else Compiled(place)


def fits(session, shapes):
    """Whether the declared inputs take these shapes: what is made for one size says so."""
    declared = {port.name: list(port.shape) for port in session.get_inputs()}
    return all(len(declared[name]) == len(shape) and all(not isinstance(d, int) or d == extent for d, extent in zip(declared[name], shape))
               for name, shape in shapes.items() if name in declared)


def distance(one, other, feeds):
    """How far the outputs of two sessions are apart, as a share of the largest value."""
    outputs = [session.run(None, {port.name: feeds[port.name] for port in session.get_inputs()}) for session in (one, other)]
    return max((modules.distance(a, b) for a, b in zip(*outputs)), default=0.0)


def _ask(say, model_name, place):
    """In a child, which generated code may end: one answer for each size that the result takes. Where it is another one, also how far outputs are apart,
    and how far the runtime's own passes move the original's."""
    from trained import models
    model = models.by_name(model_name)
    original = trained_answers.session_of(model.path)
    try:
        result = opened(place)
    except Exception as error:  # what was written must load
        say({"size": "any", "failure": f"it does not load: {str(error)[:300]}"})
        return
    for size, shapes in enumerate(model.sizes):
        said = {"size": trained_answers.size_name(model, size)}
        if fits(result, shapes):
            try:
                same, words, described = trained_answers.ask_both(model, original, result, size)
                said |= {"same": same, "words": words, "answer": described}
                if not same:
                    feeds, plain = model.task.draw(model, shapes)[0], trained_answers.session_of(model.path, has_passes=False)
                    said |= {"apart": distance(original, result, feeds), "own_apart": distance(original, plain, feeds)}
            except Exception as error:  # the other sizes run, too
                said |= {"same": False, "words": f"{type(error).__name__}: {str(error)[:300]}"}
        say(said)


def is_sensitive(answer):
    """Whether the model is so near to another answer that the runtime's own passes move its outputs as far."""
    return answer.get("apart", math.inf) <= SENSITIVE * answer.get("own_apart", 0)


def own_distance(model):
    """How far the runtime's own passes move the original's outputs at the usual size; 0 if they can't be run without."""
    said, _ = children.said_by(_measure_own, model.name, seconds=ANSWER_SECONDS)
    return said[0] if said else 0.0


def _measure_own(say, model_name):
    from trained import models
    model = models.by_name(model_name)
    feeds = model.task.draw(model, model.sizes[usual(model)])[0]
    say(distance(*(trained_answers.session_of(model.path, has_passes=has) for has in (True, False)), feeds))


def float64_errors(model, place, folder):
    """How far the original and a result are from the model in float64, of the largest value, at the usual size; None if that takes too long."""
    exact = folder / "exact.npz"
    ran, _ = run(["isomer", "run", model.path, "--feeds", feeds_of(model), "--arithmetic", "double", "-o", exact], ANSWER_SECONDS, folder)
    if ran["exit"] != 0:
        return None
    said, _ = children.said_by(_measure_exact, model.name, place, exact, seconds=ANSWER_SECONDS)
    return said[0] if said else None


def _measure_exact(say, model_name, place, exact):
    from trained import models
    model = models.by_name(model_name)
    with np.load(feeds_of(model)) as feeds, np.load(exact) as right:
        errors = []
        for session in (opened(model.path), opened(place)):
            outputs = session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})
            errors.append(max(modules.distance(right[o.name].astype(y.dtype), y) for o, y in zip(session.get_outputs(), outputs, strict=True)))
    say(errors)


def ask_answers(model, place, folder=None):
    """What the task sees of a result beside the original, for each size, and what is wrong with that, or None."""
    said, ending = children.said_by(_ask, model.name, place, seconds=ANSWER_SECONDS)
    for one in said:
        one["words"] = without_folders(one.get("words", ""), folder)
        if one.get("same") is False:
            one["sensitive"] = is_sensitive(one)
    changed = [one for one in said if one.get("same") is False and not one["sensitive"]]
    failures = [without_folders(one["failure"], folder) for one in said if "failure" in one]
    if failures:
        return said, failures[0]
    if ending != 0:
        return said, f"its run ended with {ending}" if ending is not None else f"its run took more than {ANSWER_SECONDS} s"
    if changed:
        return said, f"at size {changed[0]['size']}: {changed[0]['words']}"
    return said, None if any("same" in one for one in said) else "it takes none of the model's sizes"
