// What analysis says of a formula, confirmed by running it. Identities are checked in the field, where they
// hold exactly or not at all: a false one survives a random point with probability about degree / 2^61.
#include <fmt/format.h>

#include <algorithm>

#include "contract/laws.h"
#include "contract/tensors.h"
#include "model/analysis/analysis.h"
#include "model/eval/program.h"

namespace isomer::contract {
namespace {

constexpr int kBoxes = 3;  // random parts of each output per case

Inputs with(const Inputs& inputs, std::size_t number, const Tensor& replacement) {
  Inputs changed = inputs;
  changed[number] = replacement;
  return changed;
}

// Checks one claim about one input. Runs that fail (integer division by a random zero, say) decide nothing.
class LinearityCheck {
 public:
  LinearityCheck(const Program& program, const Inputs& inputs, std::size_t input, Random& random)
      : program_(program), inputs_(inputs), input_(input), random_(random) {}

  Violation check(Linearity claim, int output) {
    const Tensor& x = *inputs_[input_];
    const Tensor y = random_like(x, random_);
    const auto at_x = run(x, output), at_y = run(y, output);
    if (claim == Linearity::Nonlinear || !at_x || !at_y) return std::nullopt;
    if (claim == Linearity::Independent) return difference(*at_y, *at_x, 0);
    if (x.type() != at_x->type())
      return fmt::format("{} from {} can't be linear", name(at_x->type()), name(x.type()));
    const Tensor a = random_scalar(x.type(), random_);
    const Tensor b = claim == Linearity::Linear ? random_scalar(x.type(), random_) : one_minus(a);
    const auto at_sum = run(combine(a, x, b, y), output);
    return at_sum ? difference(*at_sum, combine(a, *at_x, b, *at_y), 0) : std::nullopt;
  }

 private:
  std::optional<Tensor> run(const Tensor& value, int output) const {
    auto outputs = program_.run(with(inputs_, input_, value));
    return outputs ? std::optional((*outputs)[static_cast<std::size_t>(output)]) : std::nullopt;
  }
  static Tensor one_minus(const Tensor& a) {
    const auto integer = [&](std::int64_t value) {
      return convert(Tensor::of<std::int64_t>(ElementType::Int64, {}, {value}), a.type());
    };
    return combine(integer(1), integer(1), integer(-1), a);
  }

  const Program& program_;
  const Inputs& inputs_;
  std::size_t input_;
  Random& random_;
};

Box random_box(const Extents& extents, Random& random) {
  Box box;
  for (const std::int64_t extent : extents) {
    box.low.push_back(random.between(0, extent - 1));
    box.high.push_back(random.between(box.low.back() + 1, extent));
  }
  return box;
}

// Whether the box of the output stays as it is when every element that isn't said to be needed changes.
Violation check_box(const Program& program, const Formula& formula, const Inputs& inputs, int output,
                    const Tensor& before, Random& random) {
  const Box box = random_box(before.extents(), random);
  const auto needed = needed_regions(formula, output, box);
  if (needed.size() != inputs.size()) return "another number of regions than of inputs";
  Inputs changed = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (changed[i]) changed[i] = poison(*inputs[i], needed[i], random_like(*inputs[i], random));
  const auto after = program.run(changed);
  if (!after) return std::nullopt;
  return difference_inside((*after)[static_cast<std::size_t>(output)], before, box);
}

Violation check_regions(const Formula& formula, const Inputs& inputs, Random& random) {
  const Program program = Program::compile(formula);
  const auto before = program.run(inputs);
  if (!before) return "the program fails: " + before.error().message;
  for (std::size_t k = 0; k < before->size(); ++k) {
    if ((*before)[k].count() == 0) continue;
    for (int n = 0; n < kBoxes; ++n)
      if (auto what = check_box(program, formula, inputs, static_cast<int>(k), (*before)[k], random))
        return fmt::format("output {}: {}", k, *what);
  }
  return std::nullopt;
}

// Whether a slice of the output needs at most one slice of the input along a Parallel axis, and the same part
// of the input wherever the slice is along an axis that the input doesn't see.
Violation check_roles(const Formula& formula, int output, std::size_t input, const InputRoles& roles,
                      Random& random) {
  const Extents extents = concrete(formula.output(output).shape()).value();
  Box slice{Extents(extents.size(), 0), extents};
  const auto narrowed = [&](std::size_t axis) {
    Box box = slice;
    box.low[axis] = random.between(0, extents[axis] - 1);
    box.high[axis] = box.low[axis] + 1;
    return needed_regions(formula, output, box)[input];
  };
  for (std::size_t a = 0; a < roles.axes.size(); ++a) {
    if (roles.axes[a] != AxisRole::Parallel) continue;
    if (roles.output_axis[a] < 0) return fmt::format("input {} axis {} is parallel to no axis", input, a);
    const auto region = narrowed(static_cast<std::size_t>(roles.output_axis[a]));
    if (region && region->high[a] - region->low[a] > 1)
      return fmt::format("input {} axis {} is not parallel", input, a);
  }
  for (const int axis : roles.broadcast)
    if (narrowed(static_cast<std::size_t>(axis)) != narrowed(static_cast<std::size_t>(axis)))
      return fmt::format("input {} sees output axis {}", input, axis);
  return std::nullopt;
}

}  // namespace

Violation linearity_is_true(const DrawnCase& drawn, const Formula& formula) {
  Random random(static_cast<std::uint64_t>(drawn.number));
  const Inputs inputs = lifted_to_field(drawn.inputs, random);
  const Program program = Program::compile(lift(formula, ElementType::Field));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || inputs[i]->count() == 0) continue;
    for (int k = 0; k < static_cast<int>(formula.outputs.size()); ++k) {
      const Linearity claim = linearity(formula, k, static_cast<int>(i));
      if (const auto what = LinearityCheck(program, inputs, i, random).check(claim, k))
        return fmt::format("output {} is not {} in input {}: {}", k,
                           claim == Linearity::Independent ? "independent"
                           : claim == Linearity::Linear    ? "linear"
                                                           : "affine",
                           i, *what);
    }
  }
  return std::nullopt;
}

Violation zero_is_preserved_where_said(const DrawnCase& drawn, const Formula& formula) {
  Inputs zeros = drawn.inputs;
  for (auto& input : zeros)
    if (input) input = zeros_like(*input);
  const auto outputs = Program::compile(formula).run(zeros);
  if (!outputs) return std::nullopt;
  for (std::size_t k = 0; k < outputs->size(); ++k)
    if (preserves_zero(formula, static_cast<int>(k)))
      if (const auto what = difference((*outputs)[k], zeros_like((*outputs)[k]), 0))
        return fmt::format("output {}: {}", k, *what);
  return std::nullopt;
}

Violation needed_regions_suffice(const DrawnCase& drawn, const Formula& formula) {
  Random random(static_cast<std::uint64_t>(drawn.number));
  if (auto what = check_regions(formula, drawn.inputs, random)) return what;
  auto what = check_regions(lift(formula, ElementType::Field), lifted_to_field(drawn.inputs, random), random);
  return what ? Violation("in the field: " + *what) : std::nullopt;
}

Violation axis_roles_are_true(const DrawnCase& drawn, const Formula& formula) {
  Random random(static_cast<std::uint64_t>(drawn.number));
  for (int k = 0; k < static_cast<int>(formula.outputs.size()); ++k) {
    const auto roles = axis_roles(formula, k);
    if (roles.size() != drawn.inputs.size()) return "another number of roles than of inputs";
    if (product(formula.output(k).shape()).is(0)) continue;
    for (std::size_t i = 0; i < roles.size(); ++i)
      if (drawn.inputs[i])
        if (auto what = check_roles(formula, k, i, roles[i], random))
          return fmt::format("output {}: {}", k, *what);
  }
  return std::nullopt;
}

}  // namespace isomer::contract
