"""Odd models: attributes twice or of two types, tensors whose bytes say more than their type, names that hide others, functions with defaults.

Our interpreter must compute what the runtime computes, or refuse; none of these may be read otherwise.
"""
import random
from collections.abc import Callable, Iterator

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from attack.cases import Reading
from attack.models import Model, f32, function

ROWS = {"x": np.array([[1, 2, 3], [4, 5, 7]], np.float32)}
THREE = {"x": f32(1, 2, 3)}


def softmax(change: Callable[[onnx.AttributeProto, onnx.NodeProto], None]) -> onnx.ModelProto:
    model = Model("(float[2,3] x) => (float[2,3] y) { y = Softmax<axis=0>(x) }").proto()
    change(model.graph.node[0].attribute[0], model.graph.node[0])
    return model


def attribute_twice(attribute: onnx.AttributeProto, node: onnx.NodeProto) -> None:
    again = node.attribute.add()
    again.CopyFrom(attribute)
    again.i = 1


def attribute_untyped(attribute: onnx.AttributeProto, _: onnx.NodeProto) -> None:
    attribute.ClearField("type")


def attribute_with_two_values(attribute: onnx.AttributeProto, _: onnx.NodeProto) -> None:
    attribute.f = 1.0


def attribute_of_another_type(attribute: onnx.AttributeProto, _: onnx.NodeProto) -> None:
    attribute.type, attribute.f = onnx.AttributeProto.FLOAT, 1.0


def attribute_unknown(_: onnx.AttributeProto, node: onnx.NodeProto) -> None:
    node.attribute.append(onnx.helper.make_attribute("axes", 1))


def added(change: Callable[[TensorProto, onnx.GraphProto], None]) -> onnx.ModelProto:
    model = Model("(float[2,3] x) => (float[2,3] y) { y = Add(x,w) }", {"w": f32(1, 2, 3)}).proto()
    change(model.graph.initializer[0], model.graph)
    return model


def bytes_and_numbers(tensor: TensorProto, _: onnx.GraphProto) -> None:
    tensor.float_data.extend([10, 20, 30])


def constant_twice(_: TensorProto, graph: onnx.GraphProto) -> None:
    graph.initializer.append(numpy_helper.from_array(f32(7, 8, 9), "w"))


def too_many_numbers(tensor: TensorProto, _: onnx.GraphProto) -> None:
    tensor.ClearField("raw_data")
    tensor.float_data.extend([1, 2, 3, 4])


def too_few_numbers(tensor: TensorProto, _: onnx.GraphProto) -> None:
    tensor.ClearField("raw_data")
    tensor.float_data.extend([1, 2])


def tensor(element: int, field: str, values: list) -> TensorProto:
    made = TensorProto(name="w", data_type=element, dims=[3])
    getattr(made, field).extend(values)
    return made


def with_tensor(text: str, *tensors: TensorProto) -> onnx.ModelProto:
    model = Model(text).proto()
    model.graph.initializer.extend(tensors)
    return model


# numbers that don't fit into the type of their tensor
TENSORS = [("uint8", TensorProto.UINT8, "int32_data", [300, 1, 2]), ("int8", TensorProto.INT8, "int32_data", [200, 1, 2]),
           ("bool", TensorProto.BOOL, "int32_data", [2, 0, 1]), ("float16", TensorProto.FLOAT16, "int32_data", [0x3C00, 0x4000, 0x4200]),
           ("uint32", TensorProto.UINT32, "uint64_data", [2**32 + 5, 1, 2]), ("int16", TensorProto.INT16, "int32_data", [70000, 1, 2])]
TRUE_IS_2 = TensorProto(name="w", data_type=TensorProto.BOOL, dims=[3], raw_data=bytes([2, 0, 1]))
BOOLEANS = {"cast": "(float[3] x) => (float[3] y) { q = Cast<to=1>(w) y = Add(q,x) }", "not": "(float[3] x) => (bool[3] y) { y = Not(w) }",
            "where": "(float[3] x) => (float[3] y) { z = Neg(x) y = Where(w,x,z) }",
            "equal": "(float[3] x) => (bool[3] y) <bool[3] u = {1,0,1}> { y = Equal(w,u) }"}
BRANCH = ("(float[3] x) => (float[3] y) <bool c = {1}, float[3] w = {1,2,3}> { y = If (c) <then_branch = t () => (float[3] r) %s, "
          "else_branch = e () => (float[3] q) { q = Neg(x) }> }")
BRANCHES = {"plain": "{ r = Add(w,x) }", "hidden_by_a_node": "{ w = Neg(x) r = Add(w,x) }",
            "hidden_by_a_constant": "<float[3] w = {10,20,30}> { r = Add(w,x) }"}

DEFAULT = '<domain: "my", opset_import: ["" : 18]> f <ax: int = 0>(a) => (b) { b = Softmax<axis: int = @ax>(a) }'
CALLED = {
    "default_attribute": ("y = my.f(x)", DEFAULT), "given_attribute": ("y = my.f<ax=1>(x)", DEFAULT),
    "missing_attribute": ("y = my.f(x)", '<domain: "my", opset_import: ["" : 18]> f <ax>(a) => (b) { b = Softmax<axis: int = @ax>(a) }'),
    "nested": ("t = my.f(x) y = my.f(t)", function("t = my.h(a) b = Add(t,a)") + function("t = Neg(a) b = Exp(t)", "h")),
    "missing_input": ("y = my.f(x)", function("b = Clip(a,lo,hi)", inputs="a,lo,hi")),
    "nested_attribute": ("y = my.f<k=1>(x)", '<domain: "my", opset_import: ["" : 18, "my" : 1]> f <k: int = 0>(a) => (b) { b = my.h<ax: int = @k>(a) }\n'
                         + DEFAULT.replace(" f ", " h ")),
    "names_of_the_graph": ("t = Neg(x) y = my.f(t)", function("t = Add(a,a) y = Mul(t,t) b = Sub(y,t)")),
    "unused_input": ("y = my.f(x,x)", function("b = Neg(a)", inputs="a,u")),
}


def cases(draw: random.Random) -> Iterator[Reading]:
    del draw  # all of them
    for change in (attribute_twice, attribute_untyped, attribute_with_two_values, attribute_of_another_type, attribute_unknown):
        yield Reading(change.__name__, softmax(change), ROWS)
    for change in (bytes_and_numbers, constant_twice, too_many_numbers, too_few_numbers):
        yield Reading(change.__name__, added(change), ROWS)
    for type_, element, field, values in TENSORS:
        yield Reading(f"tensor {type_}", with_tensor(f"(float[3] x) => ({type_}[3] y) {{ y = Identity(w) }}", tensor(element, field, values)), THREE)
    for name, text in BOOLEANS.items():
        yield Reading(f"true is 2 {name}", with_tensor(text, TRUE_IS_2), THREE)
    for name, body in BRANCHES.items():
        yield Reading(f"branch {name}", Model(BRANCH % body).proto(), THREE)
    for name, (call, functions) in CALLED.items():
        yield Reading(f"function {name}", Model(f"(float[2,3] x) => (float[] y) {{ {call} }}", functions=functions).proto(), ROWS)
