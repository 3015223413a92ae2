"""The pass on a small model; without Olive, what the pass calls."""
import sys

try:
    import onnx
    from isomer_pass import make_pass, optimized

    import isomer  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

MODEL = '<ir_version: 8, opset_import: ["" : 17]> g (float[N, 4] x) => (float[N, 4] y) { a = Identity(x) b = Relu(a) y = Relu(b) }'
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
try:
    kind = make_pass()
except ImportError as missing:
    out = optimized("model.onnx", "out", 20.0, "cost")
    assert len(onnx.load(out).graph.node) == 1
    print(f"skipped: Olive's own part, {missing}")
    sys.exit(77)

from olive.hardware import DEFAULT_CPU_ACCELERATOR  # noqa: E402
from olive.model import ONNXModelHandler  # noqa: E402
from olive.passes.olive_pass import create_pass_from_dict  # noqa: E402

step = create_pass_from_dict(kind, {"seconds": 20.0, "judge": "cost"}, disable_search=True, accelerator_spec=DEFAULT_CPU_ACCELERATOR)
made = step.run(ONNXModelHandler(model_path="model.onnx"), "out")
assert len(onnx.load(made.model_path).graph.node) == 1
