#include "ops/operator.h"

#include <fmt/format.h>

#include <algorithm>

namespace isomer {
namespace {

// Before opset 7 broadcasting had attributes of its own; 28 is the last opset of onnx 1.23, whose texts the
// definitions follow.
constexpr int kOldestOpset = 7, kNewestOpset = 28;
// numpy's limit; real models have up to 8 axes.
constexpr std::size_t kMostAxes = 64;
// A formula of a variadic operator is as deep as it has inputs; walks over it recurse.
constexpr int kMostInputs = 1024;

template <class T>
const T* attribute_as(const Attributes& attributes, std::string_view name, std::string_view kind) {
  const Attribute::Value* value = attributes.find(name);
  if (!value) return nullptr;
  if (const T* typed = std::get_if<T>(value)) return typed;
  throw IllegalCall(fmt::format("attribute {} is not {}", name, kind), std::string(name));
}

std::optional<Definition> refuse_before(const Operator& op, const Call& call) {
  if (op.domain.empty() && (call.opset < kOldestOpset || call.opset > kNewestOpset))
    return Opaque{fmt::format("opset {} is outside of {} to {}", call.opset, kOldestOpset, kNewestOpset)};
  if (call.opset < op.since) return Invalid{fmt::format("{} exists since opset {}", op.name, op.since)};
  if (call.opset > op.last) return Invalid{fmt::format("{} exists until opset {}", op.name, op.last)};
  for (int k = 0; k < op.least_inputs; ++k)
    if (!call.has(k)) return Invalid{fmt::format("input {} of {} is missing", k, op.name)};
  if (call.input_count() > op.most_inputs)
    return Invalid{fmt::format("{} has at most {} inputs", op.name, op.most_inputs)};
  if (call.input_count() > kMostInputs) return Opaque{fmt::format("more than {} inputs", kMostInputs)};
  for (const auto& input : call.inputs) {
    if (!input) continue;
    if (!is_computable(input->type.type))
      return Opaque{fmt::format("element type {}", name(input->type.type))};
    if (input->type.shape.size() > kMostAxes) return Opaque{fmt::format("more than {} axes", kMostAxes)};
  }
  return std::nullopt;
}

std::optional<Definition> refuse_after(const Operator& op, const Call& call, const Formula& formula) {
  if (static_cast<int>(formula.outputs.size()) < call.output_count)
    return Invalid{fmt::format("{} has {} outputs", op.name, formula.outputs.size())};
  for (const Stage& stage : formula.stages) {
    if (stage.axes.size() > kMostAxes) return Opaque{fmt::format("more than {} axes", kMostAxes)};
    for (const Axis& axis : stage.axes)
      if (axis.extent.at_least(0) == false)
        return Invalid{fmt::format("an extent would be {}", axis.extent.text())};
  }
  return std::nullopt;
}

}  // namespace

const Call::Input& Call::in(int k) const {
  if (!has(k)) throw IllegalCall(fmt::format("input {} is missing", k));
  return *inputs[static_cast<std::size_t>(k)];
}

std::int64_t Call::integer(std::string_view name, std::int64_t otherwise) const {
  const auto* value = attribute_as<std::int64_t>(attributes, name, "an integer");
  return value ? *value : otherwise;
}

float Call::real(std::string_view name, float otherwise) const {
  const auto* value = attribute_as<float>(attributes, name, "a float");
  return value ? *value : otherwise;
}

std::string Call::text(std::string_view name, std::string_view otherwise) const {
  const auto* value = attribute_as<std::string>(attributes, name, "a string");
  return value ? *value : std::string(otherwise);
}

std::optional<std::vector<std::int64_t>> Call::integers(std::string_view name) const {
  const auto* value = attribute_as<std::vector<std::int64_t>>(attributes, name, "a list of integers");
  return value ? std::optional(*value) : std::nullopt;
}

FormulaBuilder Call::formula() const {
  std::vector<std::optional<TensorType>> types;
  for (const auto& input : inputs) types.push_back(input ? std::optional(input->type) : std::nullopt);
  return FormulaBuilder(std::move(types));
}

// Whether every extent and every known integer is a number.
static bool is_concrete(const Call& call) {
  return std::ranges::all_of(call.inputs, [](const std::optional<Call::Input>& input) {
    return !input || (is_concrete(input->type.shape) && (!input->integers || is_concrete(*input->integers)));
  });
}

Definition define(const Operator& op, const Call& call) {
  if (auto refused = refuse_before(op, call)) return *refused;
  try {
    Definition definition = op.define(call);
    if (const auto* formula = std::get_if<Formula>(&definition))
      if (auto refused = refuse_after(op, call, *formula)) return *refused;
    return definition;
  } catch (const DimOverflow& overflow) {
    if (is_concrete(call)) return Invalid{overflow.what()};  // no tensor is that large
    return Opaque{overflow.what()};
  } catch (const OpaqueCall& unmodelled) {
    return Opaque{unmodelled.what()};
  } catch (const IllegalCall& illegal) {
    return Invalid{illegal.what(), illegal.attribute};
  }
}

}  // namespace isomer
