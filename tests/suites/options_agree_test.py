"""Options of Python's functions are those of the commands, by name: `--fix-shape` is `fix_shape`. Exceptions have a reason here.

Also the other way round: an option of a command is an argument, or it is one of a terminal's.
"""
import ast
import re

import _paths  # noqa: F401
import programs

# Commands that Python has as a function of the same name.
COMMANDS = ("optimize", "simplify", "prove", "check", "compare", "bench", "explore", "gate", "inspect", "compile", "run", "report")
# In Python a runtime is one object, and an answer is one, too.
RUNTIME = {"runtime", "runtime_library", "threads", "optimization_level", "disable_optimizer", "runtime_config", "runtime_config_file", "config",
           "custom_op_library", "memory_limit", "timeout"}
TERMINAL = {"help", "json", "quiet", "log", "verbose", "trace"}
# Only Python has these, for a reason.
IN_PYTHON = {
    "progress": "a function that is called",
    "base_runtime": "gate has --runtime-library twice",
    "as_operator": "--as custom-op; `as` is a keyword",
    "engine": "run and compare: --engine and --arithmetic are one argument",
    "measure": "report: --widths",
}
# Only the commands have these, for a reason.
IN_COMMANDS = {
    "output": "an argument without a name: out, folder",
    "operators": "not there yet",
    "report": "a function of its own",
    "save_input": "prove: the result has it",
    "markdown": "gate: the result has it",
    "node_data": "bench: not there yet", "by_position": "prove: not there yet", "exact_constants": "prove: not there yet",
    "require_gain": "optimize: the result says whether it gained", "cache_size": "optimize: it limits the cache of the command",
    "keep_denormals": "optimize: the proposer `denormals` in `without`",
    "arithmetic": "run: see engine", "widths": "report: see measure",
    "show": "compile: the result has them", "tune_search": "compile: not there yet", "tuning": "compile: not there yet",
    "min_gain": "compile: not there yet", "precision": "compile: not there yet", "as": "compile: as_operator",
    "fix_shape": "check and report: shape says it", "feeds": "report: not there yet", "sizes_from": "gate: not there yet",
}  # fmt: skip


def arguments():
    """By function: the names of its arguments."""
    tree = ast.parse((programs.ROOT / "python" / "isomer" / "_functions.py").read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]  # of one name the last counts: overloads come first
    return {f.name: {a.arg for a in (*f.args.args, *f.args.kwonlyargs)} for f in functions}


def options(command):
    text = programs.run([programs.program("isomer"), command, "--help"], timeout=60).stdout
    return {name.replace("-", "_") for name in re.findall(r"^ +(?:-\w,? ?)?--([a-z][a-z-]*)", text, re.M)}


faults = []
found = arguments()
all_ours = set().union(*(found[c] for c in COMMANDS))
all_theirs = set()
for command in COMMANDS:
    ours, theirs = found[command], options(command)
    assert len(theirs) > 2, f"{command} --help lists no options"
    all_theirs |= theirs
    positional = {"model", "models", "out", "a", "b", "certificate", "base", "candidate", "folder", "feeds", "output", "found"}
    faults += [f"{command}({name}=) is no option of the command" for name in sorted(ours - theirs - positional - {"runtime"} - set(IN_PYTHON))]
    faults += [f"isomer {command} --{name.replace('_', '-')} is no argument in Python"
               for name in sorted(theirs - ours - RUNTIME - TERMINAL - set(IN_COMMANDS))]
faults += [f"{name} is no longer an exception" for name in (set(IN_PYTHON) - all_ours) | (set(IN_COMMANDS) - all_theirs)]
assert not faults, "\n".join(faults)
print(f"{len(COMMANDS)} commands: {sum(len(found[c]) for c in COMMANDS)} arguments")
