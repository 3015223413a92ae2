#include "app/inputs/compared_numbers.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "model/graph/constant.h"
#include "runtime/judge/carried_values.h"

namespace isomer {
namespace {

constexpr int kDeepest = 8;               // body in body
constexpr std::int64_t kMostNumbers = 8;  // in one constant

// Operators whose output holds the input's values, and no others.
constexpr std::array<std::string_view, 6> kCarriers = {"Cast",    "Identity", "Reshape",
                                                       "Squeeze", "Flatten",  "Unsqueeze"};

class Comparisons {
 public:
  void follow(const Graph& graph, Value from, int depth) {
    visit_readers(graph, from, kCarriers, [&](const Node& node, Value value) {
      note(graph, node, value);
      if (depth < kDeepest) enter(node, value, depth);
    });
  }

  // Numbers that make an equality true, then others.
  std::vector<double> numbers() const {
    std::vector<double> out = equal_;
    out.insert(out.end(), beside_.begin(), beside_.end());
    std::vector<double> once;
    for (const double n : out)
      if (std::ranges::find(once, n) == once.end()) once.push_back(n);
    return once;
  }

 private:
  void note(const Graph& graph, const Node& node, Value value) {
    if (!node.domain.empty() || node.inputs.size() != 2) return;
    const bool is_first = node.inputs[0] == value;
    const auto constant = known_constant(graph, node.inputs[is_first ? 1 : 0]);
    if (!constant || constant->count() > kMostNumbers || constant->type() == ElementType::String) return;
    const bool is_equality = node.op == "Equal";
    const bool is_order = node.op.starts_with("Greater") || node.op.starts_with("Less");
    if (!is_equality && !is_order) return;
    for (const double number : constant->doubles().value_or(std::vector<double>{})) {
      if (is_equality) equal_.push_back(number);
      else beside_.insert(beside_.end(), {number + 1, number, number - 1});
    }
  }

  void enter(const Node& node, Value value, int depth) {
    for (const Body& body : node.bodies) {
      const std::vector<Value>& inputs = body.graph->inputs();
      const std::size_t passed = inputs.size() - std::min(inputs.size(), body.captured.size());
      for (std::size_t k = 0; k < passed && k < node.inputs.size() && body.attribute.empty(); ++k)
        if (node.inputs[k] == value) follow(*body.graph, inputs[k], depth + 1);
      for (std::size_t k = passed; k < inputs.size(); ++k)
        if (const std::uint32_t place = body.captured[k - passed];
            place < node.captures.size() && node.captures[place] == value)
          follow(*body.graph, inputs[k], depth + 1);
    }
  }

  std::vector<double> equal_, beside_;
};

}  // namespace

std::vector<double> compared_numbers(const Graph& graph, Value input) {
  Comparisons comparisons;
  comparisons.follow(graph, input, 0);
  return comparisons.numbers();
}

}  // namespace isomer
