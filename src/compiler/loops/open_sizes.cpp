#include "compiler/loops/open_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/loops/compose.h"
#include "model/graph/call.h"
#include "model/graph/constant.h"
#include "model/graph/flatten.h"
#include "model/graph/live_nodes.h"

namespace isomer::lower {
namespace {

// Of a first axis, and of others, where the model says nothing else: one text of medium length.
constexpr std::int64_t kUsualBatch = 1, kUsualLength = 128;

// Sizes as what is beyond the least ones, and back.
Dim::Substitution moved(const Sizes& sizes, std::int64_t sign) {
  return [&sizes, sign](std::string_view name) {
    const auto at = std::ranges::find(sizes.open, name, &OpenSize::name);
    return at == sizes.open.end() ? Dim::symbol(name) : Dim::symbol(name) + Dim(sign * at->least);
  };
}
// A bounded size n as most - n, which is its own reverse.
Dim::Substitution turned_round(const Sizes& sizes) {
  return [&sizes](std::string_view name) {
    const auto at = std::ranges::find(sizes.open, name, &OpenSize::name);
    const bool is_bounded = at != sizes.open.end() && at->most;
    return is_bounded ? Dim(*at->most) - Dim::symbol(name) : Dim::symbol(name);
  };
}
bool has_bounds(const Sizes& sizes) {
  return std::ranges::any_of(sizes.open, [](const OpenSize& s) { return s.most.has_value(); });
}

// Sizes and numbers that are compared with each other: the size is at most the number, maybe.
void collect_bounds(const Dim& dim, std::vector<std::pair<std::string, std::int64_t>>& out) {
  if (dim.is_concrete()) return;
  for (const Dim::Summand& s : dim.summands())
    for (const Dim::Factor& f : s.factors) {
      if (f.kind == Dim::Factor::Kind::Symbol) continue;
      collect_bounds(f.a, out);
      collect_bounds(f.b, out);
      if (f.kind != Dim::Factor::Kind::Min) continue;
      for (const auto& [size, number] : {std::pair{f.a, f.b}, std::pair{f.b, f.a}}) {
        const auto names = size.symbols();
        if (number.is_concrete() && names.size() == 1 && size == Dim::symbol(names[0]))
          out.emplace_back(names[0], number.concrete());
      }
    }
}

// The smallest size from which on a condition holds, where that is one size's matter.
bool find_least(const Dim& condition, Sizes& sizes) {
  constexpr std::int64_t kMostLeast = 1024;
  const auto names = condition.symbols();
  if (names.size() != 1) return false;
  const auto at = std::ranges::find(sizes.open, names[0], &OpenSize::name);
  if (at == sizes.open.end()) return false;
  const std::int64_t before = at->least;
  for (at->least = before + 1; at->least <= std::min(kMostLeast, at->most.value_or(kMostLeast)); ++at->least)
    if (sizes.from_least(within(condition, sizes)).at_least(0) == true) {
      at->usual = std::max(at->usual, at->least);
      return true;
    }
  at->least = before;
  return false;
}

// The largest, where the condition compares it with a number.
bool find_most(const Dim& condition, Sizes& sizes) {
  std::vector<std::pair<std::string, std::int64_t>> bounds;
  collect_bounds(within(condition, sizes), bounds);
  bool is_found = false;
  for (const auto& [name, most] : bounds) {
    const auto at = std::ranges::find(sizes.open, name, &OpenSize::name);
    if (at == sizes.open.end() || most < at->least || (at->most && *at->most <= most)) continue;
    at->most = most;
    at->usual = std::min(at->usual, most);
    is_found = true;
  }
  return is_found;
}

// Bounds without which a formula's conditions do not hold.
void find_bounds(const Formula& formula, Sizes& sizes) {
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds; ++round) {
    const auto open = open_condition(formula, sizes);
    if (!open || (!find_most(*open, sizes) && !find_least(*open, sizes))) return;
  }
}

// Each size is an extent of an input by itself, so that whoever has the inputs has the sizes.
Status add_sizes(const Graph& graph, const Inference& inference, Sizes& sizes) {
  std::set<std::string> unseen;
  for (const Value input : graph.inputs()) {
    const ValueInfo& info = inference.of(input);
    const std::string& name = graph.name_of(input);
    if (!info.shape) return Error{fmt::format("the rank of input '{}' is not known", name), name};
    for (std::size_t d = 0; d < info.shape->size(); ++d) {
      const auto symbols = (*info.shape)[d].symbols();
      unseen.insert(symbols.begin(), symbols.end());
      if (symbols.size() != 1 || !((*info.shape)[d] == Dim::symbol(symbols[0])) ||
          std::ranges::find(sizes.open, symbols[0], &OpenSize::name) != sizes.open.end())
        continue;
      sizes.open.push_back({.name = symbols[0], .usual = d == 0 ? kUsualBatch : kUsualLength});
    }
  }
  for (const OpenSize& s : sizes.open) unseen.erase(s.name);
  if (unseen.empty()) return Done{};
  return Error{fmt::format("no input has an extent that is {}", *unseen.begin())};
}

// Calls f on every number in an expression.
class Numbers {
 public:
  explicit Numbers(const std::function<void(const Dim&)>& f) : f_(f) {}
  void visit(const ExprNode& e) {
    if (!seen_.insert(&e).second) return;
    for (const Dim& d : e.extents) f_(d);
    for (const Axis& a : e.axes) f_(a.extent);
    for (const auto* list : {&e.at, &e.domain})
      for (const Index& i : *list) visit(i);
    visit(e.index);
    for (const ExprNode::Case& c : e.cases) {
      for (const Index& i : c.when) visit(i);
      visit(*c.value);
    }
    for (const ExprRef& a : e.args) visit(*a);
  }

 private:
  void visit(const Index& index) {
    f_(index.offset());
    for (const Index::Term& t : index.terms()) {
      f_(t.scale);
      if (t.atom.kind == Index::AtomKind::Axis) {
        f_(t.atom.axis.extent);
        continue;
      }
      f_(t.atom.divisor);
      visit(*t.atom.inner);
    }
  }
  const std::function<void(const Dim&)>& f_;
  std::set<const ExprNode*> seen_;
};

}  // namespace

Dim within(const Dim& dim, const Sizes& sizes) {
  if (dim.is_concrete()) return dim;
  const Dim out = dim.substitute(moved(sizes, 1)).substitute(moved(sizes, -1));
  if (!has_bounds(sizes)) return out;
  return out.substitute(turned_round(sizes)).substitute(turned_round(sizes));
}

Expr within(const Expr& expr, const Sizes& sizes) {
  if (sizes.is_empty()) return expr;
  const Expr out = with_symbols(with_symbols(expr, moved(sizes, 1)), moved(sizes, -1));
  if (!has_bounds(sizes)) return out;
  return with_symbols(with_symbols(out, turned_round(sizes)), turned_round(sizes));
}

std::optional<std::string> unknown_size(const Dim& dim, const Sizes& sizes) {
  for (const std::string& name : dim.symbols())
    if (std::ranges::find(sizes.open, name, &OpenSize::name) == sizes.open.end()) return name;
  return std::nullopt;
}

std::optional<std::string> unknown_size(const Expr& expr, const Sizes& sizes) {
  std::optional<std::string> out;
  const std::function<void(const Dim&)> look_at = [&](const Dim& dim) {
    if (!out) out = unknown_size(dim, sizes);
  };
  Numbers(look_at).visit(*expr);
  return out;
}

std::optional<Dim> open_condition(const Formula& formula, const Sizes& sizes) {
  for (const SizeCondition& c : formula.conditions) {
    if (c.kind == SizeCondition::Kind::Runs) continue;
    if (sizes.from_least(within(c.extent, sizes)).at_least(0) != true) return c.extent;
  }
  return std::nullopt;
}

Result<Sizes> open_sizes(const Graph& graph, const InferOptions& options) {
  ISOMER_TRY(const Graph flat, flattened(graph, options));
  ISOMER_TRY(const Inference inference, infer(flat, options));
  Sizes sizes;
  ISOMER_TRY_DO(add_sizes(flat, inference, sizes));
  const auto live = live_nodes(flat);
  for (const NodeId id : flat.order()) {
    if (!live.contains(id) || flat.node(id).kind != NodeKind::Operator || is_constant_node(flat.node(id)))
      continue;
    const Definition definition = define_node(flat, inference, id);
    if (const auto* formula = std::get_if<Formula>(&definition)) find_bounds(*formula, sizes);
  }
  return sizes;
}

}  // namespace isomer::lower
