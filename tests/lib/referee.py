"""What ONNX's own evaluator computes for a node test if every float of the model is a float64: the referee where an expected output
carries the rounding of 16 or 32 bits."""
import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

NARROW = {TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.FLOAT}
NARROW_ARRAYS = {np.dtype(np.float16), np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)}
TYPE_ATTRIBUTES = {"to", "dtype", "stash_type", "softmax_precision"}


def widened_array(array):
    return array.astype(np.float64) if array.dtype in NARROW_ARRAYS else array


def widen_tensor(tensor):
    if tensor.data_type in NARROW:
        tensor.CopyFrom(numpy_helper.from_array(widened_array(numpy_helper.to_array(tensor)), tensor.name))


def widen_attribute(attribute):
    if attribute.name in TYPE_ATTRIBUTES and attribute.i in NARROW:
        attribute.i = TensorProto.DOUBLE
    if attribute.HasField("t"):
        widen_tensor(attribute.t)
    if attribute.HasField("g"):
        widen_graph(attribute.g)


def widen_constant(node):
    """A Constant that is written as a float attribute is a float32."""
    for attribute in node.attribute:
        if attribute.name in ("value_float", "value_floats"):
            value = np.array(attribute.f if attribute.name == "value_float" else attribute.floats, np.float64)
            attribute.CopyFrom(onnx.helper.make_attribute("value", numpy_helper.from_array(value)))


def widen_graph(graph):
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if value.type.tensor_type.elem_type in NARROW:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for tensor in graph.initializer:
        widen_tensor(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            widen_attribute(attribute)
        if node.op_type == "Constant":
            widen_constant(node)


def outputs_in_double(model, feeds):
    """By name; None if the evaluator can't."""
    from onnx.reference import ReferenceEvaluator
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    widen_graph(wide.graph)
    try:
        values = ReferenceEvaluator(wide).run(None, {name: widened_array(value) for name, value in feeds.items()})
    except Exception:  # whatever it is: then there is no referee
        return None
    return dict(zip((o.name for o in wide.graph.output), values))


UNITS = 4  # in the last place of the largest value: what an expected output's own rounding may amount to


def is_nearer(actual, expected, exact, is_off, last_bit):
    """Whether, where the two are apart, ours is no farther from the float64 values than the expected output itself is, which is
    off by rounding only."""
    if exact is None or exact.shape != actual.shape or exact.dtype != np.float64 or not np.isfinite(exact).all():
        return False
    ours, theirs = np.abs(actual - exact)[is_off].max(), np.abs(expected - exact)[is_off].max()
    return bool(ours <= theirs <= UNITS * last_bit * np.abs(exact).max())
