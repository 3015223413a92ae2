#include "contract/promises/promises.h"

#include <algorithm>
#include <optional>

#include "model/analysis/analysis.h"

namespace isomer::laws {
namespace {

// The axis of an input that runs along an output axis: -1 if the input does not depend on that axis, nullopt
// if the roles do not cover it.
std::optional<int> axis_along(const InputRoles& roles, int output_axis) {
  if (std::ranges::find(roles.broadcast, output_axis) != roles.broadcast.end()) return -1;
  std::optional<int> found;
  for (std::size_t d = 0; d < roles.axes.size(); ++d) {
    if (roles.output_axis[d] != output_axis) continue;
    if (found || roles.axes[d] != AxisRole::Parallel) return std::nullopt;
    found = static_cast<int>(d);
  }
  return found;
}

std::optional<Along> along(const Formula& formula, const std::vector<InputRoles>& roles, int output_axis) {
  Along out{.output_axis = output_axis, .places = {}};
  for (std::size_t j = 0; j < roles.size(); ++j) {
    if (!formula.inputs[j]) continue;
    const auto axis = axis_along(roles[j], output_axis);
    if (!axis) return std::nullopt;
    if (*axis >= 0) out.places.push_back({static_cast<int>(j), *axis});
  }
  return out.places.empty() ? std::nullopt : std::optional(out);
}

bool same_inputs(const Along& a, const Along& b) {
  return std::ranges::equal(a.places, b.places,
                            [](const Place& x, const Place& y) { return x.input == y.input; });
}

void add_movements(const Formula& formula, int output, std::vector<Promise>& out) {
  const auto roles = axis_roles(formula, output);
  const Dims shape = formula.output(output).shape();
  std::vector<Along> parallel;
  for (std::size_t o = 0; o < shape.size(); ++o)
    if (shape[o].at_least(2).value_or(true))
      if (auto a = along(formula, roles, static_cast<int>(o))) parallel.push_back(std::move(*a));
  for (const Along& a : parallel)
    for (const Kind kind : {Kind::Slice, Kind::Stride, Kind::Concat, Kind::Rotation, Kind::Swap})
      out.push_back({.kind = kind, .output = output, .axes = {a}});
  // Neighbours suffice: they generate all permutations of axes.
  for (std::size_t i = 1; i < parallel.size(); ++i)
    if (same_inputs(parallel[i - 1], parallel[i]))
      out.push_back({.kind = Kind::Transpose, .output = output, .axes = {parallel[i - 1], parallel[i]}});
}

}  // namespace

std::string_view name(Kind kind) {
  constexpr std::string_view kNames[kKinds] = {"slice",     "stride", "concat", "rotation",    "swap",
                                               "transpose", "linear", "affine", "independent", "zero"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Promise> promises_of(const Formula& formula) {
  std::vector<Promise> out;
  for (int k = 0; k < static_cast<int>(formula.outputs.size()); ++k) {
    add_movements(formula, k, out);
    for (std::size_t i = 0; i < formula.inputs.size(); ++i) {
      if (!formula.inputs[i]) continue;
      const auto input = static_cast<int>(i);
      switch (linearity(formula, k, input)) {
        case Linearity::Linear: out.push_back({.kind = Kind::Linear, .output = k, .input = input}); break;
        case Linearity::Affine: out.push_back({.kind = Kind::Affine, .output = k, .input = input}); break;
        case Linearity::Independent:
          out.push_back({.kind = Kind::Independent, .output = k, .input = input});
          break;
        case Linearity::Nonlinear: break;
      }
    }
    if (preserves_zero(formula, k)) out.push_back({.kind = Kind::Zero, .output = k});
  }
  return out;
}

}  // namespace isomer::laws
