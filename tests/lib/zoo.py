"""The models of ../shared/zoo and the trained ones of .deps/trained, as evidence scripts open them.

A zoo model is stored without its weights. `hollow` gives it a sparse file of zeros, which costs nothing: enough wherever only
shapes and types matter. `fill` draws the real ones.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import onnx

import programs
from trained import packages

WEIGHTS = "weights.bin"
ALIGNMENT = 4096  # of a tensor's place in the file of weights: a page, as ONNX's writers do


def index():
    return json.loads((programs.shared("zoo") / "index.json").read_text())


def names(limit=None, text=""):
    """Zoo models, small ones first."""
    all_models = index()
    return [n for n in sorted(all_models, key=lambda n: (all_models[n]["megabytes"], n)) if text in n][:limit]


def trained(text=""):
    """Paths of the trained models; none if tools/fetch_trained has not been run."""
    return [p for p in sorted(packages.folder().glob("*/*.onnx")) if text in f"{p.parent.name}/{p.name}"]


def load_stripped(name):
    import zstandard
    packed = (programs.shared("zoo") / "models" / f"{name}.onnx.zst").read_bytes()
    model = onnx.ModelProto()
    model.ParseFromString(zstandard.ZstdDecompressor().decompress(packed, max_output_size=1 << 31))
    return model


def tensors_of(graph):
    """Every tensor of a graph and of the bodies in it, and whether it is an initializer."""
    for tensor in graph.initializer:
        yield tensor, True
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t, False
            for body in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                yield from tensors_of(body)


def hollow(name, folder):
    """Writes the model with weights of zeros; its path."""
    model = load_stripped(name)
    end = 0
    for tensor, is_initializer in tensors_of(model.graph):
        places = {e.key: e for e in tensor.external_data}
        if "location" not in places or places["location"].value != "isomer:gen":
            continue
        count = 1
        for extent in tensor.dims:
            count *= extent
        length = count * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        del tensor.external_data[:]
        if not is_initializer:  # the runtime takes external data of initializers only
            tensor.ClearField("data_location")
            tensor.raw_data = bytes(length)
            continue
        for key, value in (("location", WEIGHTS), ("offset", end), ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
        end += -(-length // ALIGNMENT) * ALIGNMENT
    with open(folder / WEIGHTS, "wb") as weights:
        weights.truncate(end)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def fill(name, folder):
    """Writes the model with its weights; its path."""
    path, shared = folder / "model.onnx", programs.shared("zoo")
    subprocess.run([sys.executable, "-B", str(shared / "fill.py"), str(shared / "models" / f"{name}.onnx.zst"), str(path)],
                   check=True, capture_output=True)
    return path


def fill_once(name, folder, kept=None):
    """The same, in the folder `kept`/NAME, where it stays for the next time; without `kept`, in `folder`."""
    place = kept / name if kept else folder
    place.mkdir(parents=True, exist_ok=True)
    return place / "model.onnx" if (place / "model.onnx").exists() else fill(name, place)


def filled_one_by_one(names, records, kept=None):
    """(name, model, a folder that lives as long) of those that are not among the records yet."""
    for name in names:
        if (name,) in records:
            continue
        with tempfile.TemporaryDirectory(prefix="isomer_zoo_") as folder:
            yield name, fill_once(name, pathlib.Path(folder), kept), pathlib.Path(folder)


def shape_options(name):
    """The sizes that the index says, as options of a command."""
    return [word for n, extents in index()[name]["run_shapes"].items() for word in ("--shape", f"{n}={'x'.join(map(str, extents))}")]


# Other people's optimizers, each as a program of an environment that has it.
TOOLS = {
    "onnxsim": "import onnx, onnxsim, sys\nm, ok = onnxsim.simplify(onnx.load(sys.argv[1]))\nonnx.save(m, sys.argv[2])\nassert ok",
    "onnxslim": "import onnx, onnxslim, sys\nonnx.save(onnxslim.slim(onnx.load(sys.argv[1])), sys.argv[2])",
    "onnxoptimizer": "import onnx, onnxoptimizer, sys\nonnx.save(onnxoptimizer.optimize(onnx.load(sys.argv[1])), sys.argv[2])",
}


def rewritten(python, tool, original, path, even_if_unsure=False):
    """Whether the tool, run by this Python, wrote something, and stands by it."""
    try:
        subprocess.run([python, "-c", TOOLS[tool], str(original), str(path)], check=True, capture_output=True, timeout=600)
    except subprocess.CalledProcessError:
        return even_if_unsure and path.exists()
    except subprocess.TimeoutExpired:
        return False
    return path.exists()
