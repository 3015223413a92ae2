"""Sessions of ONNX Runtime that use the kernels that `isomer optimize --kernels` wrote beside a model."""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import onnxruntime

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX = "pkg.isomer."
_METADATA, _KEY, _VALUE = 14, 1, 2  # fields of ModelProto and of its entries, in onnx.proto
_END = 1 << 16  # bytes of either end of the weights that are compared


class KernelWarning(UserWarning):
    """The kernels of a model are not used: the model runs as it does without them."""


def _varint(file: BinaryIO) -> int:
    value = shift = 0
    while True:
        byte = file.read(1)
        if not byte:
            raise EOFError
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
        shift += 7


def _fields(file: BinaryIO, wanted: tuple[int, ...]) -> Iterator[tuple[int, bytes]]:
    """The length-delimited fields of these numbers; all others are skipped, so that a large model is not read."""
    while True:
        try:
            tag = _varint(file)
        except EOFError:
            return
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            _varint(file)
        elif kind in (1, 5):
            file.seek(8 if kind == 1 else 4, os.SEEK_CUR)
        elif kind == 2:
            size = _varint(file)
            if number in wanted:
                yield number, file.read(size)
            else:
                file.seek(size, os.SEEK_CUR)
        else:
            return  # no model: the runtime says so


def _metadata(file: BinaryIO) -> dict[str, str]:
    """What Isomer has written into a model's metadata."""
    found = {}
    try:
        for _, entry in _fields(file, (_METADATA,)):
            parts = dict(_fields(io.BytesIO(entry), (_KEY, _VALUE)))
            key = parts.get(_KEY, b"").decode()
            if key.startswith(_PREFIX):
                found[key.removeprefix(_PREFIX)] = parts.get(_VALUE, b"").decode()
    except (EOFError, UnicodeDecodeError):
        return {}
    return found


def _digest(path: Path, most: int | None) -> str:
    """As `optimize` wrote it: of the size and the two ends of a file; None: of all of it, twice."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        part = size if most is None else min(size, most)
        digest = hashlib.blake2b(f"{size} ".encode(), digest_size=32)
        for begin in (0, size - part):
            file.seek(begin)
            digest.update(file.read(part))
    return digest.hexdigest()


def _processor() -> set[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    return next((set(line.split(":", 1)[1].split()) for line in text.splitlines() if line.startswith("flags")), set())


def _why_not(folder: Path, about: dict[str, str]) -> str:
    """What keeps a library from being loaded; "": nothing. A foreign or damaged one could end the process."""
    missing = set(about.get("kernels_processor", "").split()) - _processor()
    if missing:
        return f"they were made for a processor that has {', '.join(sorted(missing))}"
    for what, most in (("kernels", None), ("kernels_weights", _END)):
        if what not in about:
            continue
        path = folder / Path(about[what]).name
        try:
            if _digest(path, most) != about.get(what + "_digest"):
                return f"{path} is not what was written with the model"
        except OSError as error:
            return f"{path} can't be read ({error.strerror})"
    return ""


def _options_with_kernels(model: Any, options: onnxruntime.SessionOptions | None) -> onnxruntime.SessionOptions | None:
    is_file = isinstance(model, (str, os.PathLike))
    try:
        with Path(model).open("rb") if is_file else io.BytesIO(bytes(model)) as file:
            about = _metadata(file)
    except (OSError, TypeError):
        return options  # the runtime says what is wrong
    if "kernels" not in about:
        return options
    folder = Path(model).parent if is_file else Path()
    why = _why_not(folder, about) if is_file else "the model was given as bytes, and its library lies beside its file"
    if not why:
        options = onnxruntime.SessionOptions() if options is None else options
        entry = "isomer.kernels." + about["kernels_digest"]  # options may be used again
        try:
            options.get_session_config_entry(entry)
            return options
        except RuntimeError:
            pass
        try:
            options.register_custom_ops_library(str((folder / Path(about["kernels"]).name).resolve()))
            options.add_session_config_entry(entry, "1")
        except RuntimeError as error:
            why = str(error)
    if why:
        warnings.warn(f"{model if is_file else 'a model'} runs without its kernels: {why}", KernelWarning, stacklevel=4)
    return options


class InferenceSession(onnxruntime.InferenceSession):
    """ONNX Runtime's session of a model, with the kernels that `isomer optimize --kernels` wrote beside it, if it has any.

    Everything else is onnxruntime.InferenceSession's: arguments, methods, exceptions. Kernels that are missing, damaged, another model's
    or for another processor are not loaded: the model runs without them, and a KernelWarning says why.
    """

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: onnxruntime.SessionOptions | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(path_or_bytes, _options_with_kernels(path_or_bytes, sess_options), *args, **kwargs)
