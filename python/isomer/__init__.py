"""Isomer makes ONNX models faster and proves that they compute the same.

>>> import isomer, onnx
>>> model = onnx.parser.parse_model('''
...   <ir_version: 8, opset_import: ["" : 17]>
...   twice (float[batch, 3] x) => (float[batch, 3] y) { a = Identity(x) b = Identity(a) y = Relu(b) }''')
>>> found = isomer.optimize(model, judge="cost", simplify=True)
>>> found.result, len(found.model.graph.node)
('improved', 1)
>>> bool(isomer.check(model, found.model, found.certificate))
True

A model is a path, or an `onnx.ModelProto`; what comes back is of the same kind. docs/reference/python.md is the reference.
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import rules
from ._core import version as __version__
from ._errors import BadInput, Error, InternalError, NotModelled, OutOfMemory, RuntimeFailed
from ._functions import (
    bench,
    check,
    compare,
    compile,
    default_cache,
    explain,
    explore,
    gate,
    inspect,
    optimize,
    proposers,
    prove,
    report,
    run,
    runtimes,
    simplify,
)
from ._inputs import Runtime
from ._module import Module, load_module
from ._results import (
    Bench,
    Checked,
    Comparison,
    Compiled,
    Explanation,
    Exploration,
    Gate,
    Inspection,
    Interval,
    ModelSpeed,
    Optimized,
    PairSpeed,
    Port,
    Proof,
    Report,
)

if TYPE_CHECKING:
    from ._provider import Prepared, get_ep_name, get_library_path, prepare, register
    from ._session import InferenceSession, KernelWarning

__all__ = [
    "BadInput", "Bench", "Checked", "Comparison", "Compiled", "Error", "Explanation", "Exploration", "Gate", "InferenceSession", "Inspection",
    "InternalError", "Interval", "KernelWarning", "ModelSpeed", "Module", "NotModelled", "Optimized", "OutOfMemory", "PairSpeed", "Port", "Prepared",
    "Proof", "Report", "Runtime", "RuntimeFailed", "__version__", "bench", "check", "compare", "compile", "default_cache", "explain", "explore",
    "gate", "get_ep_name", "get_library_path", "inspect", "load_module", "optimize", "prepare", "proposers", "prove", "register", "report", "rules", "run",
    "runtimes", "simplify",
]  # fmt: skip


_LATE = {name: module for module, names in {
    "_provider": ("Prepared", "get_ep_name", "get_library_path", "prepare", "register"),
    "_session": ("InferenceSession", "KernelWarning"),
}.items() for name in names}  # fmt: skip


def __getattr__(name: str) -> Any:
    """What needs onnxruntime, which is imported when it is used first."""
    if name in _LATE:
        return getattr(importlib.import_module(f".{_LATE[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
