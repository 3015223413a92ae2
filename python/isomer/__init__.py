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

A model is a path, or an `onnx.ModelProto`; what comes back is of the same kind. docs/python.md is the reference.
"""

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
from ._module import Module, load
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
    from ._session import InferenceSession, KernelWarning

__all__ = [
    "BadInput", "Bench", "Checked", "Comparison", "Compiled", "Error", "Explanation", "Exploration", "Gate", "InferenceSession", "Inspection",
    "InternalError", "Interval", "KernelWarning", "ModelSpeed", "Module", "NotModelled", "Optimized", "OutOfMemory", "PairSpeed", "Port", "Proof",
    "Report", "Runtime", "RuntimeFailed", "__version__", "bench", "check", "compare", "compile", "default_cache", "explain", "explore", "gate",
    "inspect", "load", "optimize", "proposers", "prove", "report", "rules", "run", "runtimes",
    "simplify",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """What needs onnxruntime, which is imported when it is used first."""
    if name in ("InferenceSession", "KernelWarning"):
        from . import _session

        return getattr(_session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
