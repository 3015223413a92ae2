// Three evaluators of one formula (loops in the types' own arithmetic, loops in double, a tree walk per
// element) must agree.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "contract/laws.h"
#include "contract/tensors.h"
#include "model/analysis/analysis.h"
#include "model/eval/element.h"
#include "model/eval/program.h"

namespace isomer::contract {
namespace {

constexpr std::int64_t kAllElements =
    64;  // outputs up to here are compared in full, larger ones at as many positions

// How far a native result may be from the one computed in double, relative to the largest magnitude. For
// float, 1e-4 is some 800 units in the last place: the largest samples sum a few hundred products, which may
// cancel. Floats of 16 bits are computed in float and rounded once, so that one unit in their last place
// (2^-10, 2^-7) comes on top.
double native_tolerance(ElementType type) {
  switch (type) {
    case ElementType::Float16: return 1e-4 + 0x1p-10;
    case ElementType::BFloat16: return 1e-4 + 0x1p-7;
    case ElementType::Double: return 0;  // the same arithmetic twice
    default: return 1e-4;
  }
}

// How far two orders of summation in the same arithmetic may be apart.
double order_tolerance(ElementType type) {
  switch (type) {
    case ElementType::Float16: return 0x1p-10;
    case ElementType::BFloat16: return 0x1p-7;
    case ElementType::Double: return 1e-13;
    default: return 1e-5;
  }
}

// The element as a tensor of one, to be compared with the whole's tolerance: the scale is the whole tensor's.
std::optional<std::string> element_difference(const Tensor& whole, const Tensor& element,
                                              std::int64_t linear) {
  const std::size_t size = static_cast<std::size_t>(bits(whole.type())) / 8;
  if (element.type() != whole.type() || element.rank() != 0) return "an element of another type or rank";
  Buffer data(whole.bytes().size);
  std::memcpy(data.data(), whole.bytes().data, data.size());
  std::memcpy(data.data() + static_cast<std::size_t>(linear) * size, element.bytes().data, size);
  return difference(Tensor(whole.type(), whole.extents(), std::move(data).freeze()), whole,
                    order_tolerance(whole.type()));
}

Violation check_elements(const Formula& formula, const Inputs& inputs, Random& random) {
  const auto whole = Program::compile(formula).run(inputs);
  if (!whole) return "the program fails: " + whole.error().message;
  for (std::size_t k = 0; k < whole->size(); ++k) {
    const Tensor& output = (*whole)[k];
    const std::int64_t count = std::min(output.count(), kAllElements);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t linear = output.count() <= kAllElements ? i : random.between(0, output.count() - 1);
      Extents position(output.extents().size());
      for (std::size_t axis = position.size(), rest = static_cast<std::size_t>(linear); axis-- > 0;) {
        position[axis] = static_cast<std::int64_t>(rest) % output.extents()[axis];
        rest /= static_cast<std::size_t>(output.extents()[axis]);
      }
      const auto element = evaluate_element(formula, static_cast<int>(k), position, inputs);
      if (!element)
        return fmt::format("output {} at [{}] fails: {}", k, fmt::join(position, ", "),
                           element.error().message);
      if (const auto what = element_difference(output, *element, linear))
        return fmt::format("output {}: {}", k, *what);
    }
  }
  return std::nullopt;
}

}  // namespace

Violation shapes_are_those_computed(const DrawnCase& drawn, const Formula& formula) {
  if (text(formula).empty()) return "the formula has no text";
  if (formula.outputs.empty()) return "the formula has no output";
  if (cost(formula).operations.at_least(0) != true) return "the cost is negative";
  const auto outputs = Program::compile(formula).run(drawn.inputs);
  if (!outputs) return "the program fails: " + outputs.error().message;
  if (outputs->size() != formula.outputs.size()) return "another number of outputs";
  for (std::size_t k = 0; k < outputs->size(); ++k) {
    const TensorType computed{(*outputs)[k].type(), to_dims((*outputs)[k].extents())};
    const TensorType inferred = formula.output_type(static_cast<int>(k));
    if (!(computed == inferred))
      return fmt::format("output {} is {}, inferred {}", k, text(computed), text(inferred));
  }
  return std::nullopt;
}

Violation double_agrees_with_native(const DrawnCase& drawn, const Formula& formula) {
  const auto native = Program::compile(formula).run(drawn.inputs);
  if (!native) return "the program fails: " + native.error().message;
  const auto lifted =
      Program::compile(lift(formula, ElementType::Double)).run(lifted_to_double(drawn.inputs));
  if (!lifted) return "the program in double fails: " + lifted.error().message;
  for (std::size_t k = 0; k < native->size(); ++k) {
    const Tensor& actual = (*native)[k];
    // Rounded to the native type, so that what overflows there is the same infinity.
    const Tensor expected = is_float(actual.type()) ? convert((*lifted)[k], actual.type()) : (*lifted)[k];
    if (const auto what = difference(actual, expected, native_tolerance(actual.type())))
      return fmt::format("output {}: {}", k, *what);
  }
  return std::nullopt;
}

Violation elements_agree_with_the_whole(const DrawnCase& drawn, const Formula& formula) {
  Random random(static_cast<std::uint64_t>(drawn.number));
  if (auto what = check_elements(formula, drawn.inputs, random)) return what;
  auto what =
      check_elements(lift(formula, ElementType::Field), lifted_to_field(drawn.inputs, random), random);
  return what ? Violation("in the field: " + *what) : std::nullopt;
}

}  // namespace isomer::contract
