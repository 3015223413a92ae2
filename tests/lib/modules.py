"""Compiled models: made by the command under test, run by the loader of the Python package, which needs nothing else of the package."""
import json
import os
import pathlib
import subprocess
import sys
import types

import numpy as np
import onnxruntime

import programs


def _loader():
    """python/isomer/_module.py, without the extension that `import isomer` loads."""
    if "isomer" not in sys.modules:
        package = types.ModuleType("isomer")
        package.__path__ = [str(programs.ROOT / "python" / "isomer")]
        sys.modules["isomer"] = package
    import isomer._module
    return isomer._module


load, BadInput = _loader().load_module, _loader().BadInput


def has_compiler():
    """Whether `isomer compile` would find one."""
    folders = [pathlib.Path(p) for p in os.environ.get("PATH", "").split(":")]
    return bool(os.environ.get("CXX")) or any(next(folder.glob(pattern), None) for folder in folders for pattern in ("clang++*", "g++*"))


def compile_model(model, folder, *options):
    """How the command ended, with its JSON in `answer`. Speed is not measured unless --seconds is among the options."""
    seconds = () if "--seconds" in options else ("--seconds", "0")
    command = [programs.program("isomer"), "compile", str(model), "-o", str(folder), "--json", *options, *seconds]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    ran.answer = json.loads(ran.stdout) if ran.stdout.startswith("{") else {}
    return ran


def is_made_for(folder, feed):
    """Whether a compiled model takes inputs of these sizes, by its interface.json."""
    about = json.loads((pathlib.Path(folder) / "interface.json").read_text())
    for size in about["sizes"]:
        port = next(port for port in about["inputs"] if size["name"] in port["shape"])
        extent = feed[port["name"]].shape[port["shape"].index(size["name"])]
        if extent < size["least"] or (size["most"] is not None and extent > size["most"]) or extent % size["step"]:
            return False
    return True


def session(model, library=None):
    """A session of ONNX Runtime, on one thread, with all of its optimizations; maybe with a library of operators."""
    options = onnxruntime.SessionOptions()
    if library:
        options.register_custom_ops_library(str(library))
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def distance(expected, got):
    """The largest difference, of the largest value; of integers and booleans the count of elements that differ. What is infinite or no
    number must be so in both."""
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return np.inf
    if expected.dtype.kind in "iub":
        return float((expected != got).sum())
    a, b = expected.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(b[finite]).all():
        return np.inf
    a, b = a[finite], b[finite]
    return float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-30)) if a.size else 0.0
