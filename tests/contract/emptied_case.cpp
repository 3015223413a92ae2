#include "contract/emptied_case.h"

#include <algorithm>
#include <set>

#include "model/eval/program.h"

namespace isomer::contract {
namespace {

std::set<std::int64_t> extents_of(const DrawnCase& drawn) {
  std::set<std::int64_t> out;
  for (std::size_t i = 0; i < drawn.inputs.size(); ++i)
    if (drawn.inputs[i] && !drawn.is_constant[i])
      for (const std::int64_t e : drawn.inputs[i]->extents())
        if (e > 0) out.insert(e);
  return out;
}

std::optional<std::int64_t> at_zero(const Dim& dim) {
  return dim.evaluate([](std::string_view) { return std::optional<std::int64_t>(0); });
}

// Whether every index points into its axis; nullopt: the axis is of no known length.
bool points_inside(const Tensor& indices, const IndexRange& range) {
  const auto extent = at_zero(range.extent);
  const auto values = indices.integers();
  if (!extent || !values) return false;
  const auto last = indices.rank() > 0 ? static_cast<std::size_t>(indices.extents().back()) : 1;
  for (std::size_t i = 0; i < values->size(); ++i)
    if (!range.place || i % last == static_cast<std::size_t>(*range.place))
      if ((*values)[i] < -*extent || (*values)[i] >= *extent) return false;
  return true;
}

EmptiedCase::Promise promise_of(const Formula& formula, const Inputs& inputs) {
  bool runs = true, fails = false;
  for (const SizeCondition& c : formula.conditions) {
    const auto value = at_zero(c.extent);
    if (value && *value >= 0) continue;
    runs = false;
    fails = fails || (value && c.kind == SizeCondition::Kind::Needed);
  }
  // Ranges are a fact only where the formula is exact.
  const bool is_exact = std::ranges::none_of(formula.conditions, [](const SizeCondition& c) {
    return c.kind == SizeCondition::Kind::Exact && at_zero(c.extent).value_or(-1) < 0;
  });
  for (const IndexRange& r : formula.ranges)
    if (!points_inside(*inputs[static_cast<std::size_t>(r.input)], r))
      runs = false, fails = fails || is_exact;
  return runs ? EmptiedCase::Promise::Runs : fails ? EmptiedCase::Promise::Fails : EmptiedCase::Promise::None;
}

}  // namespace

std::optional<EmptiedCase> emptied_case(const DrawnCase& drawn, std::uint64_t choice) {
  const std::set<std::int64_t> extents = extents_of(drawn);
  if (extents.empty()) return std::nullopt;
  const bool constants_too = choice % 2 != 0, integers_too = choice / 2 % 2 != 0;
  const std::int64_t chosen =
      *std::next(extents.begin(), static_cast<std::ptrdiff_t>(choice / 4 % extents.size()));
  const auto named = [&](std::int64_t e) { return e == chosen ? Dim::symbol("n") : Dim(e); };
  const auto resized = [&](std::int64_t e) { return e == chosen ? 0 : e; };
  EmptiedCase out{.drawn = drawn, .promise = {}, .shapes = {}};
  Call symbolic = drawn.call;
  for (std::size_t i = 0; i < drawn.inputs.size(); ++i) {
    if (!drawn.inputs[i]) continue;
    const Tensor& value = *drawn.inputs[i];
    const auto integers = drawn.is_constant[i] ? value.integers() : std::nullopt;
    if (drawn.is_constant[i] && !(integers ? integers_too : constants_too)) continue;
    if (integers) {
      if (std::ranges::find(*integers, chosen) == integers->end()) continue;
      std::vector<std::int64_t> values;
      std::ranges::transform(*integers, std::back_inserter(values), resized);
      out.drawn.inputs[i] = convert(Tensor::of(ElementType::Int64, value.extents(), values), value.type());
      symbolic.inputs[i]->constant.reset();
      symbolic.inputs[i]->integers.emplace();
      std::ranges::transform(*integers, std::back_inserter(*symbolic.inputs[i]->integers), named);
    } else {
      Extents shape;
      std::ranges::transform(value.extents(), std::back_inserter(shape), resized);
      if (shape == value.extents()) continue;
      out.drawn.inputs[i] = Tensor(value.type(), shape, Bytes::copy_of(value.bytes().data, 0));
      symbolic.inputs[i]->constant.reset();
      symbolic.inputs[i]->type.shape.clear();
      std::ranges::transform(value.extents(), std::back_inserter(symbolic.inputs[i]->type.shape), named);
    }
    out.drawn.call.inputs[i] = describe(*out.drawn.inputs[i], drawn.is_constant[i]);
  }
  const Definition definition = define(*drawn.op, symbolic);
  const auto* formula = std::get_if<Formula>(&definition);
  if (formula == nullptr) return out;
  out.promise = promise_of(*formula, out.drawn.inputs);
  for (std::size_t k = 0; k < formula->outputs.size(); ++k) {
    Extents shape;
    for (const Dim& d : formula->output_type(static_cast<int>(k)).shape)
      shape.push_back(at_zero(d).value_or(-1));
    out.shapes.push_back(std::move(shape));
  }
  return out;
}

}  // namespace isomer::contract
