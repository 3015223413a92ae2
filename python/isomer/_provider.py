"""The execution provider of ONNX Runtime that runs what was prepared, and how a model is prepared for it."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import onnxruntime

from ._inputs import PathLike, as_files, budget_seconds

if TYPE_CHECKING:
    import onnx

_NAME = "IsomerExecutionProvider"


def get_ep_name() -> str:
    """The name of the execution provider, for `providers=[...]`.

    >>> import isomer
    >>> isomer.get_ep_name()
    'IsomerExecutionProvider'
    """
    return _NAME


def get_library_path() -> str:
    """The provider's library, for `onnxruntime.register_execution_provider_library` and its equivalents in other languages.

    >>> import isomer, os
    >>> os.path.basename(isomer.get_library_path())
    'libisomer_provider.so'
    """
    return str(Path(__file__).parent / "lib" / "libisomer_provider.so")


def register() -> None:
    """Makes the provider known to ONNX Runtime (1.25 or later; 1.24 finds it by its devices only), once in a process; sessions then find it by its name.

    >>> import isomer, onnxruntime
    >>> isomer.register()
    >>> isomer.get_ep_name() in onnxruntime.get_available_providers()
    True
    """
    if _NAME in (device.ep_name for device in onnxruntime.get_ep_devices()):
        return
    if not Path(get_library_path()).exists():
        raise RuntimeError("this build of Isomer has no execution provider")
    onnxruntime.register_execution_provider_library(_NAME, get_library_path())


@dataclasses.dataclass(frozen=True)
class Prepared:
    """What `prepare` came to; true, if sessions with the provider now run something faster."""

    is_used: bool
    reason: str  # why not; "": they do

    def __bool__(self) -> bool:
        return self.is_used


def prepare(model: PathLike | onnx.ModelProto, *, budget: float | str = 300, arguments: str = "", anew: bool = False) -> Prepared:
    """Prepares a model for the provider: what `isomer optimize --kernels` makes of it is kept in the cache.

    Sessions with the provider then run it, whether they load the model from a file or from bytes. `budget`: for all of it, in seconds or as
    the command takes it, "5m". `arguments`: more options of `isomer optimize`, such as "--shape x=1x3x48x320". `anew`: also if it was prepared before.

    >>> import isomer, onnx
    >>> model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { y = Relu(x) }')
    >>> bool(isomer.prepare(model, budget=10))                                      # nothing is faster than that
    False
    """
    register()
    with as_files(model) as (file,), tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        options = {"prepare": "anew" if anew else "on_first_load", "budget": f"{budget_seconds(budget)}s", "arguments": arguments, "report": str(report)}
        quiet = onnxruntime.SessionOptions()
        quiet.log_severity_level = 3
        onnxruntime.InferenceSession(str(file), quiet, providers=[(_NAME, options), "CPUExecutionProvider"])
        said = report.read_text() if report.exists() else "it has no nodes"
    return Prepared(said == "used", "" if said == "used" else said)
