#include "model/ops/operator.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/ops/schemas.h"
#include "model/ops/shared/composition.h"
#include "model/ops/shared/empty.h"

namespace isomer {
namespace {

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

// Its own, or the runtime's; nullptr: an operator that a user stated.
const Schema* schema_of(const Operator& op, const Call& call) {
  const Schema* schema = find_schema(op.domain, op.name, call.opset);
  return schema != nullptr ? schema : find_runtime_schema(op.domain, op.name, call.opset);
}

// A formula reads the attributes that it knows. One that it does not know may mean anything, or nothing at
// all: the runtime refuses to load it. A newer runtime may have operators of its own with more attributes, so
// that of these nothing is said.
std::optional<Definition> refuse_form(const Operator& op, const Call& call, const Schema& schema) {
  CallForm form{.domain = op.domain,
                .op = op.name,
                .version = call.opset,
                .inputs = {},
                .outputs = std::max(call.output_count, schema.min_outputs),
                .attributes = given_attributes(call.attributes)};
  for (const auto& input : call.inputs) form.inputs.push_back(input.has_value());
  auto fault = find_fault(form, schema);
  if (!fault) return std::nullopt;
  std::string why = fault->attribute.empty()
                        ? fault->message
                        : fmt::format("attribute {} {}", fault->attribute, fault->message);
  if (newest_version(op.domain) > 0) return Invalid{std::move(why), std::move(fault->attribute)};
  return Opaque{std::move(why)};
}

// Types that an operator does not take, or not together, though its formula could compute with them.
std::optional<Opaque> refuse_types(const Operator& op, const Call& call, const Schema& schema) {
  for (int k = 0; k < call.input_count(); ++k) {
    if (!call.has(k)) continue;
    if (!schema.takes(k, call.type(k)))
      return Opaque{fmt::format("input {} of {} is of type {}", k, op.name, name(call.type(k)))};
    const int first = schema.first_of_type(k);
    if (call.has(first) && call.type(k) != call.type(first))
      return Opaque{fmt::format("inputs {} and {} of {} are of types {} and {}", first, k, op.name,
                                name(call.type(first)), name(call.type(k)))};
  }
  return std::nullopt;
}

std::optional<Definition> refuse_after(const Operator& op, const Call& call, const Formula& formula) {
  if (static_cast<int>(formula.outputs.size()) < call.output_count)
    return Invalid{fmt::format("{} has {} outputs", op.name, formula.outputs.size())};
  for (const int output : formula.outputs)
    for (const Axis& axis : formula.stages[static_cast<std::size_t>(output)].axes) call.exact_if(axis.extent);
  if (!runs_on_nothing(op))
    for (int k = 0; k < static_cast<int>(call.inputs.size()); ++k) {
      // An empty region, scales or sizes stand for none.
      if (k > 0 && op.name == "Resize") break;
      for (const Dim& extent : call.has(k) ? call.shape(k) : Dims{}) call.runs_if(extent - Dim(1));
    }
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

bool Call::flag(std::string_view name, bool otherwise) const {
  const std::int64_t value = integer(name, otherwise ? 1 : 0);
  if (value != 0 && value != 1) throw OpaqueCall(fmt::format("{} is {}, neither 0 nor 1", name, value));
  return value == 1;
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

void Call::take_for_granted(SizeCondition::Kind kind, const Dim& extent) const {
  if (extent.at_least(0) == true) return;
  const SizeCondition condition{.kind = kind, .extent = extent};
  auto& known = granted_.conditions;
  if (std::ranges::find(known, condition) == known.end()) known.push_back(condition);
}

bool Call::may_equal(const Dim& a, const Dim& b) const {
  const auto same = a.equals(b);
  if (!same) {
    need(a - b);
    need(b - a);
  }
  return same.value_or(true);
}

void Call::need_index(int input, const Dim& extent, std::optional<int> place) const {
  granted_.ranges.push_back({.input = input, .extent = extent, .place = place});
}

// Extents that broadcast are equal, or one of them is 1: of two that may be either, the product of the
// differences is 0.
std::optional<Dims> Call::broadcast(const std::vector<Dims>& shapes) const {
  const auto out = broadcast_shape(shapes);
  if (!out) return out;
  for (std::size_t i = 0; i < out->size(); ++i) {
    std::vector<Dim> open;  // of different extents along this axis
    for (const Dims& s : shapes) {
      if (s.size() + i < out->size()) continue;
      const Dim& extent = s[s.size() + i - out->size()];
      if (!extent.is(1) && std::ranges::find(open, extent) == open.end()) open.push_back(extent);
    }
    for (std::size_t k = 0; k < open.size(); ++k)
      for (std::size_t m = 0; m < k; ++m) {
        // A slice of one position of the axis is as long as the axis where that has none.
        if (open[k] == Dim::min(Dim(1), open[m]) || open[m] == Dim::min(Dim(1), open[k])) continue;
        const Dim gap = (open[k] - open[m]) * (open[k] - Dim(1)) * (open[m] - Dim(1));
        need(gap);
        need(Dim(0) - gap);
        // 0 and 1 make 0, and the larger one is 1.
        exact_if(open[k] - Dim(1));
        exact_if(open[m] - Dim(1));
      }
  }
  return out;
}

// Whether every extent and every known integer is a number.
static bool is_concrete(const Call& call) {
  return std::ranges::all_of(call.inputs, [](const std::optional<Call::Input>& input) {
    return !input || (is_concrete(input->type.shape) && (!input->integers || is_concrete(*input->integers)));
  });
}

Definition define(const Operator& op, const Call& call) {
  if (auto refused = refuse_before(op, call)) return *refused;
  const Schema* schema = schema_of(op, call);
  if (schema == nullptr) return define_part(op, call);
  if (auto refused = refuse_form(op, call, *schema)) return *refused;
  Definition definition = define_part(op, call);
  if (std::holds_alternative<Formula>(definition))
    if (auto refused = refuse_types(op, call, *schema)) return *refused;
  return definition;
}

Definition define_part(const Operator& op, const Call& call) {
  if (auto refused = refuse_before(op, call)) return *refused;
  try {
    (void)call.taken_for_granted();  // of an earlier attempt
    Definition definition = op.define != nullptr ? op.define(call) : (*op.stated)(call);
    if (auto* formula = std::get_if<Formula>(&definition)) {
      if (auto refused = refuse_after(op, call, *formula)) return *refused;
      Call::TakenForGranted granted = call.taken_for_granted();
      formula->conditions = std::move(granted.conditions);
      formula->ranges = std::move(granted.ranges);
    }
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
