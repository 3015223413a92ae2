// For tests of operators: calls written down, and what became of them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "model/ops/operator.h"

namespace isomer {

using Int64s = std::vector<std::int64_t>;

// A call with float inputs of these shapes.
inline Call float_call(int opset, std::vector<Dims> shapes, std::vector<Attribute> attributes = {}) {
  Call call;
  call.opset = opset;
  for (Dims& shape : shapes)
    call.inputs.push_back(Call::Input{.type = {ElementType::Float, std::move(shape)}});
  call.attributes = Attributes(std::move(attributes));
  return call;
}

// The same with one more input, of known integers.
inline Call with_integers(Call call, Dims values) {
  const TensorType type{ElementType::Int64, {static_cast<std::int64_t>(values.size())}};
  call.inputs.push_back(Call::Input{.type = type, .integers = std::move(values)});
  return call;
}

inline Definition defined(std::string_view op, const Call& call) {
  return define(*find_operator("", op), call);
}

// The shape of the first output; empty if there is no formula.
inline Dims shape_of(std::string_view op, const Call& call) {
  const Definition definition = defined(op, call);
  const auto* formula = std::get_if<Formula>(&definition);
  return formula ? formula->output_type(0).shape : Dims{};
}

// Which attribute a refusal names.
inline std::string refused_attribute(std::string_view op, const Call& call) {
  const Definition definition = defined(op, call);
  const auto* invalid = std::get_if<Invalid>(&definition);
  return invalid ? invalid->attribute : "not refused";
}

inline std::string opaque_reason(std::string_view op, const Call& call) {
  const Definition definition = defined(op, call);
  const auto* opaque = std::get_if<Opaque>(&definition);
  return opaque ? opaque->reason : "not opaque";
}

}  // namespace isomer
