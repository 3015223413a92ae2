#include "rules/generate/generalize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "kernel/prove/shrink.h"
#include "model/graph/infer.h"
#include "rules/generate/rule_text.h"

namespace isomer::rules {
namespace {

// Equations that a rule may need; each solves one symbol, of which there are 20 at most.
constexpr int kMostEquations = 60;

using SizesAt = std::array<std::map<std::string, std::int64_t, std::less<>>, 2>;

class Generalizer {
 public:
  Generalizer(RuleInstance instance, SizesAt sizes)
      : left_(std::move(instance.left)), right_(std::move(instance.right)), sizes_(std::move(sizes)) {}

  // The shapes of the inputs.
  Result<std::vector<Dims>> run() {
    for (int i = 0; i < kMostEquations; ++i) {
      const auto left = infer(left_), right = infer(right_);
      if (!left.ok() || !right.ok()) return Error{"the sides are not well formed at general sizes"};
      ISOMER_TRY(const Dims zeros, equations(*left, *right));
      if (zeros.empty()) return shapes_of_inputs(*left);
      if (!solve(simplest(zeros))) return Error{"what the sizes must satisfy is not solved"};
    }
    return Error{"the sizes must satisfy too much"};
  }

 private:
  std::vector<Dims> shapes_of_inputs(const Inference& info) const {
    std::vector<Dims> out;
    for (const Value& v : left_.inputs()) out.push_back(*info.of(v).shape);
    return out;
  }

  std::optional<std::int64_t> at(const Dim& d, std::size_t instance) const {
    return d.evaluate([&](std::string_view s) -> std::optional<std::int64_t> {
      const auto known = sizes_[instance].find(s);
      return known == sizes_[instance].end() ? std::nullopt : std::optional(known->second);
    });
  }
  bool vanishes(const Dim& d) const { return at(d, 0) == 0 && at(d, 1) == 0; }

  // Forms that have to be 0 and are not, for all sizes.
  Result<Dims> equations(const Inference& left, const Inference& right) {
    Dims out;
    for (const auto& [graph, info] : {std::pair(&left_, &left), std::pair(&right_, &right)})
      for (const NodeId id : graph->order())
        if (graph->node(id).kind == NodeKind::Operator) ISOMER_TRY_DO(of_node(*graph, *info, id, out));
    const auto &a = left.of(left_.outputs()[0]).shape, &b = right.of(right_.outputs()[0]).shape;
    if (!a || !b || a->size() != b->size()) return Error{"the outputs have different ranks"};
    for (std::size_t i = 0; i < a->size(); ++i)
      if (!((*a)[i] == (*b)[i])) out.push_back((*a)[i] - (*b)[i]);
    return out;
  }

  Status of_node(const Graph& graph, const Inference& info, NodeId id, Dims& out) {
    const Node& node = graph.node(id);
    if (node.op == "Constant") return Done{};
    if (info.opaque.contains(id)) return Error{fmt::format("{} has no formula at general sizes", node.op)};
    const auto shape = [&](std::size_t k) { return *info.of(node.inputs[k]).shape; };
    if (node.op == "Split") {
      const auto axis = static_cast<std::size_t>(*node.attributes.find_as<std::int64_t>("axis"));
      const Dim extent = shape(0)[axis];
      if (!Dim::exact_quotient(extent, 2)) out.push_back(Dim::mod(extent, 2));
    }
    // Elementwise operands are of one shape; what inference would need is less.
    if (node.inputs.size() == 2 && Word{.op = node.op}.is_elementwise()) {
      const Dims a = shape(0), b = shape(1);
      for (std::size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
        const Dim difference = a[a.size() - i] - b[b.size() - i];
        if (!difference.is(0) && vanishes(difference)) out.push_back(difference);
      }
    }
    for (const ValueInfo& output : info.values.at(id))
      for (const Dim& extent : *output.shape)
        if (const auto found = of_difference(extent)) out.push_back(*found);
    if (const auto needed = info.conditions.find(id); needed != info.conditions.end())
      for (const SizeCondition& c : needed->second) {
        if (c.kind != SizeCondition::Kind::Needed || c.extent.equals(0) == true) continue;
        const SizeCondition opposite{.kind = c.kind, .extent = Dim(0) - c.extent};
        const bool is_equation = opposite.extent.at_least(0) == true ||
                                 std::ranges::find(needed->second, opposite) != needed->second.end();
        if (is_equation && vanishes(c.extent)) out.push_back(c.extent);
      }
    return Done{};
  }

  // The equation that leaves the least to guess: that two symbols are equal, else what one of them is.
  const Dim& simplest(const Dims& zeros) const {
    const auto guessed = [&](const Dim& zero) {
      const auto summands = zero.summands();
      const bool is_linear = std::ranges::all_of(summands, [](const auto& s) {
        return s.factors.size() <= 1 && (s.factors.empty() || s.factors[0].kind == Dim::Factor::Kind::Symbol);
      });
      if (!is_linear) return 2;
      if (summands.size() == 2 && summands[0].coefficient + summands[1].coefficient == 0) return 0;
      return isolate(zero) ? 1 : 3;
    };
    return *std::ranges::min_element(zeros, {}, guessed);
  }

  // A symbol that is a sum of others where the form is 0.
  std::optional<std::pair<std::string, Dim>> isolate(const Dim& zero) const {
    for (const std::string& s : zero.symbols()) {
      const auto with = [&](std::int64_t v) {
        return zero.substitute([&](std::string_view t) { return t == s ? Dim(v) : Dim::symbol(t); });
      };
      const Dim slope = with(1) - with(0);
      if (!slope.is(1) && !slope.is(-1)) continue;
      const Dim rest = slope.is(1) ? Dim(0) - with(0) : with(0);
      const auto parts = rest.summands();
      if (!parts.empty() && std::ranges::all_of(parts, [](const auto& p) { return p.coefficient > 0; }))
        return std::pair(s, rest);
    }
    return std::nullopt;
  }

  // The rest of an extent, if there is one: max(0, M - 1) means that M is 1 + ...
  std::optional<Dim> of_difference(const Dim& extent) {
    for (const auto& summand : extent.summands())
      for (const auto& factor : summand.factors) {
        if (factor.kind != Dim::Factor::Kind::Max || !(factor.a.is(0) || factor.b.is(0))) continue;
        const Dim rest = factor.a.is(0) ? factor.b : factor.a;
        const auto symbols = rest.symbols();
        if (symbols.size() != 1 || !(rest - Dim::symbol(symbols[0])).is_concrete() ||
            at(rest, 0).value_or(0) < 1 || at(rest, 1).value_or(0) < 1)
          continue;
        const std::string more = symbols[0] + "m";
        for (std::size_t k = 0; k < 2; ++k) sizes_[k][more] = *at(rest, k);
        return Dim::symbol(symbols[0]) - Dim::symbol(more) +
               rest.substitute([](std::string_view) { return Dim(0); });
      }
    return std::nullopt;
  }

  void put(const std::string& symbol, const Dim& value) {
    const auto substitution = [&](std::string_view s) { return s == symbol ? value : Dim::symbol(s); };
    left_ = with_symbols_replaced(left_, substitution);
    right_ = with_symbols_replaced(right_, substitution);
  }

  // A symbol that is a multiple of another one.
  bool put_multiple(const std::string& symbol, std::int64_t factor) {
    const std::string part = symbol + "p";
    for (auto& sizes : sizes_) {
      const std::int64_t size = sizes.find(symbol)->second;
      if (size % factor != 0) return false;
      sizes[part] = size / factor;
    }
    put(symbol, Dim(factor) * Dim::symbol(part));
    return true;
  }

  bool solve(const Dim& zero) {
    if (!vanishes(zero)) return false;
    const auto summands = zero.summands();
    for (const auto& summand : summands)
      for (const auto& factor : summand.factors)
        if (factor.kind == Dim::Factor::Kind::Floor && factor.b.is_concrete())
          return solve_divisible(factor.a, factor.b.concrete());
    if (const auto found = isolate(zero)) {
      put(found->first, found->second);
      return true;
    }
    // Two that are equal where the terms were found.
    const auto symbols = zero.symbols();
    for (std::size_t i = 0; i < symbols.size(); ++i)
      for (std::size_t k = i + 1; k < symbols.size(); ++k)
        if (vanishes(Dim::symbol(symbols[i]) - Dim::symbol(symbols[k]))) {
          put(symbols[k], Dim::symbol(symbols[i]));
          return true;
        }
    // One that is a number, or a multiple of another one.
    if (symbols.size() == 1) {
      const auto size = at(Dim::symbol(symbols[0]), 0);
      if (size != at(Dim::symbol(symbols[0]), 1)) return false;
      put(symbols[0], *size);
      return true;
    }
    for (const auto& summand : summands)
      if (summand.factors.size() == 1 && std::abs(summand.coefficient) == 1 && symbols.size() == 2)
        for (const auto& other : summands)
          if (std::abs(other.coefficient) > 1)
            return put_multiple(summand.factors[0].symbol, std::abs(other.coefficient));
    return false;
  }

  // Halves of a sum of two are its parts, if these are equal where the terms were found.
  bool solve_divisible(const Dim& whole, std::int64_t by) {
    std::vector<std::string> odd;
    for (const auto& s : whole.summands())
      if (s.factors.size() == 1 && s.coefficient % by != 0) odd.push_back(s.factors[0].symbol);
    if (odd.empty()) return false;
    if (odd.size() == 2 && by == 2 && vanishes(Dim::symbol(odd[0]) - Dim::symbol(odd[1]))) {
      put(odd[1], Dim::symbol(odd[0]));
      return true;
    }
    return std::ranges::all_of(odd, [&](const std::string& s) { return put_multiple(s, by); });
  }

  Graph left_, right_;
  SizesAt sizes_;
};

std::string symbol_of(std::size_t input, std::size_t axis) { return fmt::format("s{}_{}", input, axis); }

// Names as people use them, where an extent is first seen.
std::vector<std::string> spelled_shapes(const std::vector<Dims>& shapes,
                                        const std::vector<GeneralInput>& inputs) {
  static constexpr std::array<std::string_view, 5> kAxes = {"", "M", "MK", "BMK", "NCHW"};
  std::map<std::string, std::string, std::less<>> names;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (std::size_t axis = 0; axis < shapes[i].size(); ++axis)
      for (const std::string& s : shapes[i][axis].symbols()) {
        if (names.contains(s)) continue;
        std::string letter(1, shapes[i].size() < kAxes.size() ? kAxes[shapes[i].size()][axis] : 'D');
        if (inputs[i].is_weight && axis == 0) letter = "O";
        std::string name = letter;
        for (int k = 2; !taken.insert(name).second; ++k) name = fmt::format("{}{}", letter, k);
        names.emplace(s, name);
      }
  std::vector<std::string> out;
  for (const Dims& shape : shapes) {
    std::vector<std::string> extents;
    for (const Dim& d : shape)
      extents.push_back(
          d.substitute([&](std::string_view s) { return Dim::symbol(names.find(s)->second); }).text());
    out.push_back(fmt::format("{}", fmt::join(extents, ", ")));
  }
  return out;
}

std::string rule_text(const std::vector<std::string>& shapes, const std::vector<std::string>& names,
                      const std::string& left, const std::string& right) {
  std::vector<std::string> given;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    given.push_back(fmt::format("float[{}] {}", shapes[i], names[i]));
  return fmt::format("given {}\nleft  {}\nright {}\n", fmt::join(given, ", "), left, right);
}

bool is_elementwise(const Words& words, const std::vector<Term>& terms) {
  return std::ranges::all_of(
      terms, [&](const Term& t) { return t.word == kVariable || words.of(t.word).is_elementwise(); });
}

}  // namespace

Result<std::string> general_rule(const Words& words, const std::vector<Term>& left,
                                 const std::vector<Term>& right, const std::vector<GeneralInput>& inputs) {
  std::vector<std::string> names, shapes;
  SizesAt sizes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    names.push_back(inputs[i].name);
    std::vector<std::string> extents;
    for (std::size_t axis = 0; axis < inputs[i].extents[0].size(); ++axis) {
      if (inputs[i].is_weight && axis >= 2) {
        extents.push_back(std::to_string(inputs[i].extents[0][axis]));
        continue;
      }
      extents.push_back(symbol_of(i, axis));
      for (std::size_t k = 0; k < 2; ++k) sizes[k][extents.back()] = inputs[i].extents[k][axis];
    }
    shapes.push_back(fmt::format("{}", fmt::join(extents, ", ")));
  }
  const std::string left_body = body_text(words, left, names), right_body = body_text(words, right, names);
  ISOMER_TRY(const std::vector<Rule> open,
             parse_rules("rule open\n" + rule_text(shapes, names, left_body, right_body)));
  ISOMER_TRY(const std::vector<Dims> solved, Generalizer(open[0].instances[0], std::move(sizes)).run());
  std::vector<std::string> spelled = spelled_shapes(solved, inputs);
  const bool is_of_any_rank = is_elementwise(words, left) && is_elementwise(words, right) &&
                              std::ranges::count(spelled, spelled[0]) == std::ssize(spelled);
  if (!is_of_any_rank) return rule_text(spelled, names, left_body, right_body);
  std::ranges::fill(spelled, "$s");
  return "for s = M, \"M, K\", \"B, M, K\", \"N, C, H, W\"\n" +
         rule_text(spelled, names, left_body, right_body);
}

}  // namespace isomer::rules
