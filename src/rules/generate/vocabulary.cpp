#include "rules/generate/vocabulary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "model/graph/constant.h"
#include "rules/text/word_text.h"

namespace isomer::rules {
namespace {

template <std::size_t kCount>
bool is_one_of(std::string_view op, const std::array<std::string_view, kCount>& list) {
  return std::ranges::find(list, op) != list.end();
}

constexpr std::array<std::string_view, 11> kElementwise = {"Relu", "Tanh", "Sigmoid", "Exp", "Neg", "Add",
                                                           "Sub",  "Mul",  "Max",     "Abs", "Min"};
constexpr std::array<std::string_view, 12> kMoving = {"Concat",    "Split",   "Slice",   "Pad",
                                                      "Transpose", "Reshape", "Resize",  "Relu",
                                                      "Max",       "Min",     "MaxPool", "Neg"};
constexpr std::array<std::string_view, 5> kSumming = {"MatMul", "Conv", "Add", "Sub", "ReduceSum"};
constexpr std::array<std::string_view, 3> kFunctions = {"Tanh", "Sigmoid", "Exp"};

std::vector<Choice> make_vocabulary() {
  std::vector<Choice> out;
  const auto add = [&](Word word, bool on_weights = false) {
    out.push_back({.word = std::move(word), .on = {true, on_weights}});
  };
  const auto ints = [](const std::vector<std::int64_t>& list) {
    return fmt::format("value_ints = [{}]", fmt::join(list, ", "));
  };
  for (const char* op : {"Relu", "Tanh", "Sigmoid", "Exp", "Neg"}) add({.op = op});
  add({.op = "Mul", .constants = {"value_float = 2.0"}}, true);
  add({.op = "Add", .operands = 2}, true);
  add({.op = "Mul", .operands = 2}, true);
  for (const char* op : {"Sub", "Max", "MatMul"}) add({.op = op, .operands = 2});
  for (int axis = 0; axis < 4; ++axis)
    add({.op = "Concat", .attributes = fmt::format("axis = {}", axis), .operands = 2}, axis < 2);
  for (int axis = 0; axis < 2; ++axis)
    for (int half = 0; half < 2; ++half)
      add({.op = "Split",
           .attributes = fmt::format("axis = {}, num_outputs = 2", axis),
           .output = half,
           .outputs = 2},
          true);
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  add({.op = "Slice", .constants = {ints({1}), ints({kEnd}), ints({0})}});
  add({.op = "Slice", .constants = {ints({0, 0}), ints({kEnd, kEnd}), ints({2, 3}), ints({2, 2})}});
  add({.op = "Pad", .constants = {ints({0, 0, 1, 1, 0, 0, 1, 1})}}, true);
  for (const char* perm : {"1, 0", "0, 2, 1", "0, 1, 3, 2"})
    add({.op = "Transpose", .attributes = fmt::format("perm = [{}]", perm)});
  add({.op = "Reshape", .constants = {ints({0, -1})}});
  for (int axis = 0; axis < 2; ++axis) add({.op = "ReduceSum", .constants = {ints({axis})}});
  add({.op = "ReduceMean", .constants = {ints({1})}});
  add({.op = "ReduceMax", .constants = {ints({1})}});
  add({.op = "GlobalAveragePool"});
  add({.op = "Resize",
       .attributes = "coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\"",
       .constants = {"", "value_floats = [1.0, 1.0, 2.0, 2.0]"}});
  for (const char* op : {"AveragePool", "MaxPool"}) {
    const char* counted = op[0] == 'A' ? "count_include_pad = 1, " : "";
    add({.op = op, .attributes = fmt::format("{}kernel_shape = [3, 3], pads = [1, 1, 1, 1]", counted)});
    add({.op = op, .attributes = "kernel_shape = [2, 2], strides = [2, 2]"});
  }
  const auto add_conv = [&](int kernel, const char* attributes) {
    out.push_back({.word = {.op = "Conv", .attributes = attributes, .operands = 2},
                   .takes_weight = true,
                   .kernel = kernel});
  };
  add_conv(3, "pads = [1, 1, 1, 1]");
  add_conv(0, "");
  add_conv(3, "pads = [1, 1, 1, 1], strides = [2, 2]");
  add_conv(3, "group = 2, pads = [1, 1, 1, 1]");
  add_conv(1, "strides = [2, 2]");
  out.push_back({.word = {.op = "EyeLike"}, .of_inputs_only = true});
  return out;
}

}  // namespace

std::string Word::text() const {
  std::string out = op;
  if (!attributes.empty()) out += "<" + attributes + ">";
  for (const std::string& c : constants) out += "[" + c + "]";
  if (outputs > 1) out += fmt::format("#{}", output);
  return out;
}

bool Word::is_commutative() const {
  return operands == 2 && is_one_of(op, std::to_array<std::string_view>({"Add", "Mul", "Max", "Min"}));
}

bool Word::is_elementwise() const { return is_one_of(op, kElementwise); }

Rounding Word::rounding() const {
  const bool doubles = op == "Mul" && constants == std::vector<std::string>{"value_float = 2.0"};
  if (is_one_of(op, kMoving) || op == "ReduceMax" || op == "EyeLike" || doubles) return Rounding::None;
  if (is_one_of(op, kFunctions)) return Rounding::Function;
  return is_one_of(op, kSumming) ? Rounding::Sum : Rounding::Otherwise;
}

std::optional<WordUse> word_of(const Graph& graph, Value value) {
  const Node& node = graph.node(value.node);
  if (node.kind != NodeKind::Operator || !node.domain.empty()) return std::nullopt;
  WordUse out{.word = {.op = node.op,
                       .operands = 0,
                       .output = static_cast<int>(value.output),
                       .outputs = static_cast<int>(node.outputs.size())},
              .operands = {}};
  std::vector<std::string> attributes;
  for (const Attribute& a : node.attributes.all()) {
    if (is_default(a)) continue;
    auto spelled = spelled_attribute(a);
    if (!spelled) return std::nullopt;
    attributes.push_back(std::move(*spelled));
  }
  out.word.attributes = fmt::format("{}", fmt::join(attributes, ", "));
  for (const Value& v : node.inputs) {
    if (!v.exists()) {
      out.word.constants.emplace_back();
    } else if (const auto tensor = known_constant(graph, v)) {
      auto spelled = spelled_constant(*tensor);
      if (!spelled) return std::nullopt;
      out.word.constants.push_back(std::move(*spelled));
    } else {
      if (!out.word.constants.empty()) return std::nullopt;
      out.operands.push_back(v);
    }
  }
  out.word.operands = static_cast<int>(out.operands.size());
  return out;
}

std::span<const Choice> vocabulary() {
  static const std::vector<Choice> all = make_vocabulary();
  return all;
}

// Small, since every value is computed at them; even, so that they can be halved; matrices are square and
// convolutions have as many channels on either side, so that any two fit: generalize.h finds which extents
// have to be equal. The two instances differ in all that may differ.
std::span<const Family> families() {
  static const std::vector<Family> all = {
      {.letter = "a", .role = Role::Data, .count = 4, .extents = {{{4, 4}, {6, 6}}}},
      {.letter = "b", .role = Role::Data, .count = 4, .extents = {{{2, 4, 4}, {4, 6, 6}}}},
      {.letter = "x", .role = Role::Data, .count = 4, .extents = {{{2, 4, 2, 4}, {4, 2, 4, 2}}}},
      {.letter = "w", .role = Role::Weight, .count = 4, .extents = {{{4, 4, 3, 3}, {2, 2, 3, 3}}}},
      {.letter = "p", .role = Role::Weight, .count = 3, .extents = {{{4, 4, 1, 1}, {2, 2, 1, 1}}}},
      {.letter = "g", .role = Role::Weight, .count = 2, .extents = {{{4, 2, 3, 3}, {2, 1, 3, 3}}}},
  };
  return all;
}

}  // namespace isomer::rules
