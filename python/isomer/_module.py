"""Compiled models: loads and runs the output folder of `isomer compile`. Needs numpy, and not Isomer's library."""

from __future__ import annotations

import _ctypes
import ctypes
import json
import os
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import BadInput
from ._results import Port

if TYPE_CHECKING:
    import numpy as np

_MOST_THREADS = 1024
_ALIGNMENT = 64  # of the workspace, as required by the header of a module
_NUMPY_NAMES = {"float": "float32", "double": "float64"}  # the other types have the same name there


def _dtype(name: str) -> np.dtype:
    import numpy as np

    if name == "bfloat16":
        from onnx import TensorProto, helper

        return helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16)
    return np.dtype(_NUMPY_NAMES.get(name, name))


def _pointers(arrays: list[Any]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(1, len(arrays)))(*(a.ctypes.data for a in arrays))


def _free(library: ctypes.CDLL, destroy: Any, handle: int) -> None:
    destroy(handle)
    _ctypes.dlclose(library._handle)  # so that what is compiled into the same folder later can be loaded


class Module:
    """A compiled model. `inputs` and `outputs` are Ports, whose shapes are numbers, but for open sizes ("length", "2*length"), which
    a run finds in its inputs; `threads`: that a run has.

    An array that was set is not copied if it is contiguous: what is in it when `run` is called counts. Outputs are new arrays after each
    `run`, the same bits with any number of threads. One caller at a time may use a module; load the folder once for each thread, or call the C functions.
    """

    inputs: list[Port]
    outputs: list[Port]
    threads: int

    def __init__(self, folder: str | os.PathLike[str], threads: int | None = None) -> None:
        import numpy as np

        place = Path(folder).resolve()
        try:
            about = json.loads((place / "interface.json").read_text(encoding="utf-8"))
        except OSError as error:
            raise BadInput(f"{folder} is no compiled model: it has no interface.json; `isomer compile MODEL -o {folder}` makes one") from error
        self.inputs, self.outputs = ([Port(p["name"], p["type"], p["shape"]) for p in about[key]] for key in ("inputs", "outputs"))
        self._name, self._given, self._made = about["name"], {}, []
        try:
            library = ctypes.CDLL(str(place / about["library"]))
        except OSError as error:
            raise BadInput(f"{place / about['library']} can't be loaded: {error}") from error
        create, destroy, self._run, workspace = (
            getattr(library, f"{self._name}_{what}") for what in ("create_with_threads", "destroy", "run", "workspace_size")
        )
        create.restype, create.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int]
        self._sizes = about.get("sizes", [])
        open_sizes = [ctypes.POINTER(ctypes.c_int64)] if self._sizes else []
        workspace.restype, workspace.argtypes = ctypes.c_size_t, [ctypes.c_void_p, *open_sizes]
        destroy.restype, destroy.argtypes = None, [ctypes.c_void_p]
        self._batch = about.get("batch")
        batch = [] if self._batch is None else [ctypes.c_size_t]
        self._run.restype, self._run.argtypes = ctypes.c_int, [ctypes.c_void_p, *batch, *open_sizes, *[ctypes.c_void_p] * 3]
        self._workspace_size, self._shapes = workspace, []
        for what in ("input_shape", "output_shape") if self._sizes else ():
            shape = getattr(library, f"{self._name}_{what}")
            shape.restype, shape.argtypes = ctypes.c_int, [ctypes.c_void_p, *open_sizes, ctypes.c_int, *open_sizes]
            self._shapes.append(shape)
        self.threads = about["threads"] if threads is None else threads
        if not isinstance(self.threads, int) or not 1 <= self.threads <= _MOST_THREADS:
            raise BadInput(f"a module runs with 1 to {_MOST_THREADS} threads, not {threads!r}")
        self._handle = create(str(place / about["weights"]).encode(), self.threads)
        if not self._handle:
            raise BadInput(f"{place / about['weights']} is missing, or is not this model's")
        self._workspace = np.empty((0 if self._sizes else workspace(self._handle)) + _ALIGNMENT, np.uint8)
        self._end = weakref.finalize(self, _free, library, destroy, self._handle)

    def __repr__(self) -> str:
        def told(ports: list[Port]) -> str:
            return ", ".join(f"{p.name} {p.type}{p.shape}" for p in ports)

        return f"<Module {self._name}: {told(self.inputs)} -> {told(self.outputs)}>"

    def set_input(self, name: str, array: Any) -> None:
        """Gives an input its value for the runs that follow. The array must have the input's shape and type: nothing is converted."""
        import numpy as np

        port = next((p for p in self.inputs if p.name == name), None)
        if port is None:
            raise BadInput(f"there is no input {name!r}; the inputs are {', '.join(p.name for p in self.inputs) or 'none'}")
        array = np.asarray(array)
        if array.dtype != _dtype(port.type):
            raise BadInput(f"input {name!r} has elements of type {_dtype(port.type)}, not {array.dtype}")
        if len(array.shape) != len(port.shape) or any(isinstance(e, int) and e != size for e, size in zip(port.shape, array.shape, strict=True)):
            raise BadInput(f"input {name!r} has shape {port.shape}, not {list(array.shape)}")
        # ascontiguousarray makes a scalar an array of one element, which has the same bytes.
        self._given[name] = np.ascontiguousarray(array)

    def _shape(self, which: int, sizes: Any, number: int, port: Port) -> list[int]:
        """The shape of an input (0) or output (1) at these sizes."""
        shape = (ctypes.c_int64 * max(1, len(port.shape)))()
        self._shapes[which](self._handle, sizes, number, shape)
        return list(shape[: len(port.shape)])

    def _open_sizes(self) -> Any:
        """Those of the inputs that are set, as a C array; checked: the module trusts them."""
        found = []
        for size in self._sizes:
            name, least, most, step = size["name"], size["least"], size["most"], size["step"]
            port = next(p for p in self.inputs if name in p.shape)
            found.append(self._given[port.name].shape[port.shape.index(name)])
            if found[-1] < least or (most is not None and found[-1] > most) or found[-1] % step:
                runs = f"{least} {'and more' if most is None else f'to {most}'}{f', by steps of {step}' if step > 1 else ''}"
                raise BadInput(f"{name} is {found[-1]} in input {port.name!r}, and the module is made for {runs}")
        sizes = (ctypes.c_int64 * len(found))(*found)
        for number, port in enumerate(self.inputs):
            shape = self._shape(0, sizes, number, port)
            if port.shape and list(self._given[port.name].shape) != shape:  # a scalar is kept as an array of one element
                where = ", ".join(f"{size['name']} is {n}" for size, n in zip(self._sizes, found, strict=True))
                raise BadInput(f"input {port.name!r} has shape {shape} where {where}, not {list(self._given[port.name].shape)}")
        return sizes

    def run(self) -> None:
        """Computes the outputs. The GIL is released meanwhile."""
        import numpy as np

        missing = [p.name for p in self.inputs if p.name not in self._given]
        if missing:
            raise BadInput(f"no value is set for input {', '.join(map(repr, missing))}")
        sizes = {p.name: len(self._given[p.name]) for p in self.inputs if self._batch in p.shape} if self._batch is not None else {}
        if len(set(sizes.values())) > 1:
            raise BadInput(f"{self._batch} is another number in each of them: {', '.join(f'{name!r} has {size}' for name, size in sizes.items())}")
        batch = list(sizes.values())[:1]
        if self._sizes:
            batch = [self._open_sizes()]
            needed = self._workspace_size(self._handle, *batch) + _ALIGNMENT
            if needed > len(self._workspace):
                self._workspace = np.empty(needed, np.uint8)
            shapes = [self._shape(1, batch[0], k, p) for k, p in enumerate(self.outputs)]
        else:
            shapes = [[batch[0] if isinstance(e, str) else e for e in p.shape] for p in self.outputs]
        made = [np.empty(shape, _dtype(p.type)) for shape, p in zip(shapes, self.outputs, strict=True)]
        start = self._workspace.ctypes.data
        start += -start % _ALIGNMENT
        if self._run(self._handle, *batch, _pointers([self._given[p.name] for p in self.inputs]), _pointers(made), start) != 0:
            raise BadInput("an index that the model computes is outside of its tensor")
        self._made = made

    def get_output(self, which: str | int) -> np.ndarray:
        """An output of the last run, by its name or its number."""
        names = [p.name for p in self.outputs]
        number = names.index(which) if which in names else which
        if not isinstance(number, int) or not 0 <= number < len(names):
            raise BadInput(f"there is no output {which!r}; the outputs are {', '.join(names)}")
        if not self._made:
            raise BadInput("no run has made outputs yet")
        return self._made[number]

    def __call__(self, **inputs: Any) -> dict[str, np.ndarray]:
        """Sets inputs, runs, and gives all outputs by name. Names that Python doesn't allow: `module(**{"x.1": x})`."""
        for name, array in inputs.items():
            self.set_input(name, array)
        self.run()
        return {p.name: array for p, array in zip(self.outputs, self._made, strict=True)}


def load_module(folder: str | os.PathLike[str], *, threads: int | None = None) -> Module:
    """A compiled model of the folder that `compile`, or `isomer compile`, has written.

    `threads`: of a run, the caller's included; None: the number given to `compile`.

    >>> import isomer, numpy, onnx, tempfile
    >>> model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[3] x) => (float[3] y) { y = Relu(x) }')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     compiled = isomer.compile(model, folder)
    ...     module = isomer.load_module(folder)
    >>> module
    <Module model: x float[3] -> y float[3]>
    >>> module.set_input("x", numpy.array([-1, 0, 2], numpy.float32))
    >>> module.run()
    >>> module.get_output(0).tolist()
    [0.0, 0.0, 2.0]
    >>> module(x=numpy.array([1, -1, 1], numpy.float32))["y"].tolist()
    [1.0, 0.0, 1.0]
    >>> module.set_input("x", numpy.zeros(3))
    Traceback (most recent call last):
    isomer._errors.BadInput: input 'x' has elements of type float32, not float64
    """
    return Module(folder, threads)
