#include "compiler/loops/open_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/loops/compose.h"
#include "compiler/loops/samples.h"
#include "model/graph/call.h"
#include "model/graph/constant.h"
#include "model/graph/flatten.h"
#include "model/graph/live_nodes.h"
#include "model/graph/rebuild.h"

namespace isomer::lower {
namespace {

// Usual sizes for a first axis and for others: one text of medium length, one image.
constexpr std::int64_t kUsualBatch = 1, kUsualLength = 128, kUsualImage = 320;

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

// The smallest number from which on one of the sizes makes a condition hold, whatever the others are.
bool raise_least(const Dim& condition, Sizes& sizes, OpenSize& size) {
  constexpr std::int64_t kMostLeast = 1024;
  const std::int64_t before = size.least;
  const auto holds_from = [&](std::int64_t least) {
    size.least = least;
    return sizes.from_least(within(condition, sizes)).at_least(0) == true;
  };
  std::int64_t low = before, high = std::min(kMostLeast, size.most.value_or(kMostLeast));
  if (low >= high || !holds_from(high)) {
    size.least = before;
    return false;
  }
  while (high - low > 1) {  // it holds from `high` on, not from `low`
    const std::int64_t middle = low + (high - low) / 2;
    (holds_from(middle) ? high : low) = middle;
  }
  size.least = high;
  size.usual = std::max(size.usual, size.least);
  return true;
}
bool find_least(const Dim& condition, Sizes& sizes) {
  const auto names = condition.symbols();
  return std::ranges::any_of(sizes.open, [&](OpenSize& size) {
    return std::ranges::find(names, size.name) != names.end() && raise_least(condition, sizes, size);
  });
}

// Steps of the sizes in a condition by which it holds.
bool find_steps(const Dim& condition, Sizes& sizes) {
  const auto names = condition.symbols();
  for (const std::int64_t step : {2, 4, 8, 16, 32, 64}) {
    const auto by_steps = [&](std::string_view name) { return Dim(step) * Dim::symbol(name); };
    if (sizes.from_least(within(condition.substitute(by_steps), sizes)).at_least(0) != true) continue;
    for (OpenSize& s : sizes.open) {
      if (std::ranges::find(names, s.name) == names.end()) continue;
      s.step *= step;
      s.usual = std::max<std::int64_t>(1, s.usual / step);
      s.least = (s.least + step - 1) / step;
      if (s.most) *s.most /= step;
    }
    return true;
  }
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

// Bounds without which a formula's conditions do not hold. True: it has found steps, which change the
// formula.
bool find_bounds(const Formula& formula, Sizes& sizes) {
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds; ++round) {
    const auto open = open_condition(formula, sizes);
    if (!open) return false;
    if (find_most(*open, sizes) || find_least(*open, sizes)) continue;
    return find_steps(*open, sizes);
  }
  return false;
}

// Each size is an extent of an input by itself, so the inputs determine the sizes.
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
      const bool is_image = info.shape->size() == 4;
      sizes.open.push_back({.name = symbols[0],
                            .usual = d == 0     ? kUsualBatch
                                     : is_image ? kUsualImage
                                                : kUsualLength});
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
  Dim out = dim.substitute(moved(sizes, 1)).substitute(moved(sizes, -1));
  if (!has_bounds(sizes)) return out;
  return out.substitute(turned_round(sizes)).substitute(turned_round(sizes));
}

Expr within(const Expr& expr, const Sizes& sizes) {
  if (sizes.is_empty()) return expr;
  Expr out = with_symbols(with_symbols(expr, moved(sizes, 1)), moved(sizes, -1));
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

Dim as_given(const Dim& dim, const Sizes& sizes) {
  for (const OpenSize& s : sizes.open)
    if (dim == Dim(s.step) * Dim::symbol(s.name)) return Dim::symbol(s.name);
  return dim.substitute([&](std::string_view name) {
    const auto at = std::ranges::find(sizes.open, name, &OpenSize::name);
    return at == sizes.open.end() ? Dim::symbol(name) : Dim::floor(Dim::symbol(name), at->step);
  });
}

Graph with_substituted_inputs(const Graph& graph, const Inference& inference, const Dim::Substitution& by) {
  std::map<std::string, Dims> shapes;
  for (const Value& input : graph.inputs())
    if (const auto& shape = inference.of(input).shape) shapes.emplace(graph.name_of(input), *shape);
  return with_changed_nodes(graph, [&](Node& node) {
    const auto shape = node.kind == NodeKind::Input ? shapes.find(node.outputs[0]) : shapes.end();
    if (shape == shapes.end()) return;
    node.declared.shape.emplace();
    for (const Dim& extent : shape->second) node.declared.shape->push_back(extent.substitute(by));
  });
}

Graph with_steps(const Graph& graph, const Inference& inference, const Sizes& sizes) {
  if (sizes.batch.empty() && std::ranges::all_of(sizes.open, [](const OpenSize& s) { return s.step == 1; }))
    return graph;
  const auto by_steps = [&](std::string_view name) {
    if (name == sizes.batch) return Dim(1);
    const auto at = std::ranges::find(sizes.open, name, &OpenSize::name);
    return Dim(at == sizes.open.end() ? 1 : at->step) * Dim::symbol(name);
  };
  return with_substituted_inputs(graph, inference, by_steps);
}

InferOptions within_sizes(InferOptions options) {
  options.extent_bits = kSizeBits;
  return options;
}

Result<Sizes> open_sizes(const Graph& graph, const InferOptions& given) {
  const InferOptions options = within_sizes(given);
  ISOMER_TRY(const Graph flat, flatten(graph, options));
  ISOMER_TRY(const Inference declared, infer(flat, options));
  Sizes sizes;
  ISOMER_TRY_DO(add_sizes(flat, declared, sizes));
  if (auto batch = image_batch(flat, declared)) {
    sizes.batch = std::move(batch->name);
    sizes.batched = std::move(batch->inputs);
  }
  // Steps that one node needs change the shapes of all.
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds; ++round) {
    const Graph stepped = with_steps(flat, declared, sizes);
    ISOMER_TRY(const Inference inference, infer(stepped, options));
    const auto live = live_nodes(stepped);
    bool has_stepped = false;
    for (const NodeId id : stepped.order()) {
      if (has_stepped || !live.contains(id) || stepped.node(id).kind != NodeKind::Operator ||
          is_constant_node(stepped.node(id)))
        continue;
      const Definition definition = define_node(stepped, inference, id);
      if (const auto* formula = std::get_if<Formula>(&definition)) has_stepped = find_bounds(*formula, sizes);
    }
    if (!has_stepped) break;
  }
  return sizes;
}

}  // namespace isomer::lower
