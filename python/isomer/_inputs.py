"""What callers give, as the library takes it: models, sizes, tensors, runtimes."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _core

if TYPE_CHECKING:
    import numpy as np
    import onnx

PathLike: TypeAlias = "str | os.PathLike[str]"
Sizes: TypeAlias = "Mapping[str, int | Sequence[int]]"
Values: TypeAlias = "Mapping[str, float]"
Tensors: TypeAlias = "Mapping[str, np.ndarray]"
Feeds: TypeAlias = "Tensors | PathLike"

# Where the Python packages of runtimes have their libraries: the variable that says otherwise, the package, the files in it.
_PACKAGES = {
    "ort": ("ISOMER_ORT_LIBRARY", "onnxruntime", "capi/libonnxruntime.so*"),
    "openvino": ("ISOMER_OPENVINO_LIBRARY", "openvino", "libs/libopenvino_c.so*"),
}


def runtime_libraries() -> dict[str, str]:
    """The variables that name runtimes' libraries, for those that are not set and that this Python has installed."""
    found = {}
    for variable, package, files in _PACKAGES.values():
        if os.environ.get(variable):
            continue
        spec = importlib.util.find_spec(package)  # not imported: the worker loads the library, this process never does
        folders = spec.submodule_search_locations if spec and spec.submodule_search_locations else []
        libraries = [library for folder in folders for library in glob.glob(os.path.join(glob.escape(folder), files))]
        if libraries:
            found[variable] = max(libraries)
    return found


@dataclasses.dataclass(frozen=True)
class Runtime:
    """The runtime that models are measured and run on, always in a process of its own.

    `library`: where its shared library is; None for that of the installed Python package (`pip install onnxruntime`), or of
    $ISOMER_ORT_LIBRARY or $ISOMER_OPENVINO_LIBRARY. `threads`: 0 for as many as it likes. `optimization_level`: of ONNX Runtime's
    own passes (none, basic, extended, all). `config`: settings as the runtime spells them. `memory_gib`: 0 for three quarters of
    the machine's. `call_seconds`: until one call counts as a hang.

    >>> import isomer
    >>> isomer.Runtime(threads=2)
    Runtime(threads=2)
    """

    name: str = "ort"
    library: PathLike | None = None
    threads: int = 1
    optimization_level: str = "all"
    disabled_optimizers: Sequence[str] = ()
    custom_op_libraries: Sequence[PathLike] = ()
    config: Mapping[str, str] = dataclasses.field(default_factory=dict)
    memory_gib: float = 0
    call_seconds: float = 600

    def __repr__(self) -> str:
        default = Runtime()
        changed = [f.name for f in dataclasses.fields(self) if getattr(self, f.name) != getattr(default, f.name)]
        return f"Runtime({', '.join(f'{name}={getattr(self, name)!r}' for name in changed)})"


def runtime_options(runtime: Runtime | None) -> _core.RuntimeOptions:
    """As `_core` takes it, with the library of this Python's own package."""
    runtime = runtime or Runtime()
    options = _core.RuntimeOptions()
    for field in dataclasses.fields(runtime):
        value = getattr(runtime, field.name)
        if field.name == "custom_op_libraries":
            value = [os.fspath(library) for library in value]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            value = list(value)
        if value is not None:
            setattr(options, field.name, value)
    if runtime.library is None and runtime.name in _PACKAGES:
        options.library = runtime_libraries().get(_PACKAGES[runtime.name][0], "")
    return options


_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def budget_seconds(budget: float | str, name: str = "budget") -> float:
    """A time as the command takes it: 90, "90s", "5m", "1h"."""
    if not isinstance(budget, str):
        return float(budget)
    parts = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)([smh]?)\s*", budget)
    if parts is None:
        raise ValueError(f'{name} is a number of seconds, or a time such as "30s", "5m" or "1h", not {budget!r}')
    return float(parts[1]) * _UNITS[parts[2]]


def size_texts(sizes: Sizes | None) -> list[str]:
    """{"batch": 8, "x": (1, 3)} as ["batch=8", "x=1x3"]."""
    return [f"{name}={size}" if isinstance(size, int) else f"{name}={'x'.join(str(int(s)) for s in size)}" for name, size in (sizes or {}).items()]


def value_texts(values: Values | None) -> list[str]:
    """{"sr": 16000} as ["sr=16000"]."""
    return [f"{name}={float(value):.17g}" for name, value in (values or {}).items()]


def is_proto(model: object) -> bool:
    """Whether it is an onnx.ModelProto. A caller with one has imported onnx."""
    onnx = sys.modules.get("onnx")
    return onnx is not None and isinstance(model, onnx.ModelProto)


def path_of(path: object, what: str = "a model") -> Path:
    """The argument as a path, or a TypeError that says what it should be."""
    if isinstance(path, (str, os.PathLike)):
        return Path(os.fspath(path))
    raise TypeError(f"{what} is a path{' or an onnx.ModelProto' if what == 'a model' else ''}, not {type(path).__name__}")


@contextlib.contextmanager
def as_files(*models: PathLike | onnx.ModelProto) -> Iterator[list[Path]]:
    """The models as files: their own, or ones in a folder of temporary files, which is removed afterwards. Each is written
    once, read by one process, and mapped, not copied."""
    with contextlib.ExitStack() as stack:
        paths = []
        for model in models:
            if is_proto(model):
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="isomer-"))
                paths.append(write_proto(model, Path(folder, "model.onnx")))
            else:
                paths.append(path_of(model))
        yield paths


def write_proto(model: Any, path: Path) -> Path:
    """Writes a ModelProto as it is, the weights of large ones too. Those that are in other files are rejected: their place is unknown."""
    import onnx

    if any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in model.graph.initializer):
        raise ValueError("the weights of this ModelProto are in other files: give the path of the model, or load them (onnx.load_external_data_for_model)")
    onnx.save(model, path)
    return path


def given_tensors(tensors: Tensors) -> dict[str, tuple[int, list[int], Any]]:
    """Arrays as `_core` takes them, copied only where they are not contiguous."""
    import numpy as np
    from onnx import helper

    given = {}
    for name, array in tensors.items():
        array = np.asarray(array)
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        given[name] = (int(helper.np_dtype_to_tensor_dtype(array.dtype)), list(array.shape), flat)
    return given


def made_tensors(tensors: dict[str, tuple[int, list[int], Any]]) -> dict[str, np.ndarray]:
    """What `_core` gives, as arrays over the same memory."""
    if not tensors:
        return {}
    from onnx import helper

    return {name: flat.view(helper.tensor_dtype_to_np_dtype(number)).reshape(shape) for name, (number, shape, flat) in tensors.items()}


def set_feeds(options: Any, feeds: Feeds | None) -> dict[str, tuple[int, list[int], Any]] | None:
    """Feeds are arrays, which are returned as `_core` takes them, or the path of an npz file, which becomes an option."""
    if feeds is None:
        return None
    if isinstance(feeds, Mapping):
        return given_tensors(feeds)
    options.feeds_file = path_of(feeds, "feeds that are no mapping: an npz file, which")
    return None


def certificate_bytes(certificate: bytes | PathLike | None) -> bytes:
    """Bytes are a certificate; a path is the file that it is in."""
    if certificate is None:
        return b""
    if isinstance(certificate, bytes):
        return certificate
    return path_of(certificate, "a certificate, if it is not given as bytes,").read_bytes()
