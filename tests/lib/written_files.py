"""What a program that was disturbed left behind: whether a file is whole, and what it should have removed."""
import hashlib

import onnx

import programs


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "absent"


def without_stamp(path):
    """The digest of a model's bytes before the last of them, which name its maker: a second file, put in the place of the first."""
    try:
        metadata = onnx.load(path, load_external_data=False).metadata_props
    except Exception:  # noqa: BLE001 - whatever protobuf raises: it is no whole model
        return digest(path)
    stamp = onnx.ModelProto(metadata_props=[p for p in metadata if p.key.startswith(programs.STAMP)])
    data = path.read_bytes()
    return hashlib.sha256(data[: len(data) - stamp.ByteSize()]).hexdigest()


def leftovers(folder):
    return [p.name for p in folder.rglob("*") if p.name.startswith(".isomer-") or p.name.endswith(".tmp")]
