"""Models as text: a graph in ONNX's own syntax, without the head that all models of the suite share."""
import dataclasses
import pathlib
import re
from collections.abc import Mapping

import numpy as np
import onnx
from onnx import numpy_helper


@dataclasses.dataclass(frozen=True)
class Model:
    """`graph` is `(float[n] x) => (float[n] y) { y = Relu(x) }`; a type without dimensions is a scalar, `float[]` is of any shape.

    `constants` become initializers if the text reads them. `functions` follow the graph, in the domain `my`. `data` are files beside the model.
    """
    graph: str
    constants: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    opset: int = 18
    functions: str = ""
    data: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)

    def proto(self) -> onnx.ModelProto:
        own = "".join(f', "{domain}" : 1' for domain in ("my", "com.microsoft") if f"{domain}." in self.graph)
        ir = 10 if self.opset > 21 else 9 if self.opset > 19 else 8
        model = onnx.parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : {self.opset}{own}]>\ng {self.graph}\n{self.functions}')
        words = set(re.findall(r"\w+", self.graph))
        model.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in self.constants.items() if name in words)
        return model

    def write(self, path: pathlib.Path) -> pathlib.Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        for name, values in self.data.items():
            (path.parent / name).write_bytes(values.tobytes())
        path.write_bytes(self.proto().SerializeToString())
        return path


def function(body: str, name: str = "f", inputs: str = "a", output: str = "b", opset: int = 18) -> str:
    """A function of the domain `my`."""
    return f'<domain: "my", opset_import: ["" : {opset}, "my" : 1]> {name} ({inputs}) => ({output}) {{ {body} }}\n'


def f32(*values) -> np.ndarray:
    return np.array(values, np.float32)


def i64(*values) -> np.ndarray:
    return np.array(values, np.int64)
