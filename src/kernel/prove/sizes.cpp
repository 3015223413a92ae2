#include "kernel/prove/sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/normal/sets.h"
#include "kernel/prove/shrink.h"
#include "model/graph/rebuild.h"

namespace isomer {
namespace {

constexpr std::uint64_t kSetOperations = 1 << 16;
constexpr int kMostTrials = 6;  // each infers a whole model
constexpr int kMostRounds = 4;  // of learning from facts
constexpr std::size_t kMostForSets = 24;
constexpr int kMostExtrema = 4;  // that are taken apart, into two questions each

bool is_symbol(const Dim::Factor& f) { return f.kind == Dim::Factor::Kind::Symbol; }

Dim dim_of(const Dim::Factor& f) {
  switch (f.kind) {
    case Dim::Factor::Kind::Symbol: return Dim::symbol(f.symbol);
    case Dim::Factor::Kind::Floor: return Dim::floor(f.a, f.b);
    case Dim::Factor::Kind::Max: return Dim::max(f.a, f.b);
    case Dim::Factor::Kind::Min: return Dim::min(f.a, f.b);
  }
  return 0;
}

// k · s · t ... >= c > 0: no symbol in it is 0, and a single one is at least c / k.
std::map<std::string, std::int64_t> lower_bounds(const Dim& fact) {
  std::map<std::string, std::int64_t> out;
  std::int64_t constant = 0;
  std::optional<Dim::Summand> product;
  for (Dim::Summand& s : fact.summands()) {
    if (s.factors.empty()) constant = s.coefficient;
    else if (product || s.coefficient < 0) return {};
    else product = std::move(s);
  }
  if (!product || constant >= 0) return {};
  for (const Dim::Factor& f : product->factors) {
    if (!is_symbol(f)) {
      // floor, max and min say nothing here; their sign must be known for the others to follow.
      if (dim_of(f).at_least(0) != true) return {};
      continue;
    }
    out[f.symbol] = 1;
  }
  if (product->factors.size() == 1 && is_symbol(product->factors[0]))
    out[product->factors[0].symbol] = -floor_div(constant, product->coefficient);
  return out;
}

// s = what, if the fact is s - what, or what - s.
std::optional<std::pair<std::string, Dim>> solved_for_symbol(const Dim& fact) {
  for (const Dim::Summand& s : fact.summands()) {
    if (s.factors.size() != 1 || !is_symbol(s.factors[0]) || std::abs(s.coefficient) != 1) continue;
    const std::string& name = s.factors[0].symbol;
    const Dim rest = fact - Dim(s.coefficient) * Dim::symbol(name);
    const auto symbols = rest.symbols();
    if (std::ranges::find(symbols, name) != symbols.end()) continue;
    return std::pair(name, Dim(-s.coefficient) * rest);
  }
  return std::nullopt;
}

// Products and quotients of extents are parameters of their own to sets: what they are at least.
Dims signs_of(const Dims& dims) {
  Dims out;
  for (const Dim& d : dims)
    for (const Dim::Summand& s : d.summands()) {
      Dim product = 1;
      for (const Dim::Factor& f : s.factors) product = product * dim_of(f);
      const bool is_plain = s.factors.empty() || (s.factors.size() == 1 && is_symbol(s.factors[0]));
      if (!is_plain && product.at_least(0) == true && std::ranges::find(out, product) == out.end())
        out.push_back(product);
    }
  return out;
}

bool is_extremum(const Dim::Factor& f) {
  return f.kind == Dim::Factor::Kind::Min || f.kind == Dim::Factor::Kind::Max;
}

int extrema_in(const Dim& dim) {
  int out = 0;
  for (const Dim::Summand& s : dim.summands())
    for (const Dim::Factor& f : s.factors)
      if (!is_symbol(f)) out += extrema_in(f.a) + extrema_in(f.b) + (is_extremum(f) ? 1 : 0);
  return out;
}

// An extremum is one of its sides, and no side is beyond it: so both of them must do, or one is enough.
bool imply_of_sides(const SizeFacts& facts, const Dim& extent) {
  if (extrema_in(extent) > kMostExtrema) return false;
  for (const Dim::Summand& s : extent.summands()) {
    if (s.factors.size() != 1 || !is_extremum(s.factors[0])) continue;
    const Dim::Factor& f = s.factors[0];
    const Dim k = s.coefficient, rest = extent - k * dim_of(f);
    const bool needs_both = (s.coefficient > 0) == (f.kind == Dim::Factor::Kind::Min);
    const bool first = facts.imply(rest + k * f.a);
    return first == needs_both ? facts.imply(rest + k * f.b) : first;
  }
  return false;
}

}  // namespace

SizeFacts::SizeFacts(Dims facts) : facts_(std::move(facts)) {
  for (int round = 0; round < kMostRounds; ++round) {
    std::map<std::string, Dim, std::less<>> learned;
    for (const Dim& f : facts_) {
      for (const auto& [symbol, least] : lower_bounds(f))
        learned.try_emplace(symbol, Dim::symbol(symbol) + Dim(least));
      if (std::ranges::find(facts_, Dim(0) - f) == facts_.end()) continue;
      if (auto solved = solved_for_symbol(f); solved && !learned.contains(solved->first))
        learned.insert_or_assign(solved->first, solved->second);
    }
    // One at a time if they are equations: what is put in may speak of the others.
    const auto equation = std::ranges::find_if(learned, [](const auto& l) {
      const auto symbols = l.second.symbols();
      return std::ranges::find(symbols, l.first) == symbols.end();
    });
    if (equation != learned.end()) {
      const Dim value = equation->second;
      learned = {{equation->first, value}};
      facts_.push_back(value);
    }
    if (learned.empty()) break;
    const auto put_in = [&](std::string_view s) {
      const auto at = learned.find(s);
      return at == learned.end() ? Dim::symbol(s) : at->second;
    };
    for (auto& [symbol, value] : replaced_) value = value.substitute(put_in);
    for (const auto& [symbol, value] : learned) replaced_.try_emplace(symbol, value);
    for (Dim& f : facts_) f = f.substitute(put_in);
    std::erase_if(facts_, [](const Dim& f) { return f.at_least(0) == true; });
  }
  contradictory_ = std::ranges::any_of(facts_, [](const Dim& f) { return f.at_least(0) == false; });
}

Dim SizeFacts::known_form(const Dim& extent) const {
  return extent.substitute([&](std::string_view s) {
    const auto at = replaced_.find(s);
    return at == replaced_.end() ? Dim::symbol(s) : at->second;
  });
}

bool SizeFacts::imply_as_sets(const Dim& goal) const {
  Dims speaking;
  std::set<std::string> symbols;
  for (const std::string& s : goal.symbols()) symbols.insert(s);
  for (const Dim& f : facts_) {
    const auto names = f.symbols();
    if (speaking.size() == kMostForSets ||
        std::ranges::none_of(names, [&](const std::string& s) { return symbols.contains(s); }))
      continue;
    speaking.push_back(f);
  }
  for (const Dim& f : speaking)
    for (const std::string& s : f.symbols()) symbols.insert(s);
  Dims all = speaking;
  all.push_back(goal);
  for (const Dim& sign : signs_of(all)) speaking.push_back(sign);
  try {
    const SetSpace space({symbols.begin(), symbols.end()}, speaking, kSetOperations);
    RelationBuilder otherwise(space, 0, 0, 0);
    otherwise.hold({Index(Dim(-1) - goal)});
    otherwise.hold_all_preconditions();
    return otherwise.finish().is_empty();
  } catch (const Undecided&) {
    return false;
  }
}

bool SizeFacts::imply(const Dim& extent) const {
  try {
    if (contradictory_ || extent.at_least(0) == true) return true;
    const Dim goal = known_form(extent);
    if (goal.at_least(0) == true) return true;
    if (std::ranges::any_of(facts_, [&](const Dim& f) { return (goal - f).at_least(0) == true; }))
      return true;
    return imply_of_sides(*this, extent) || (!goal.is_concrete() && imply_as_sets(goal));
  } catch (const DimOverflow&) {
    return false;
  }
}

Dims needed_sizes(const Graph& graph, const Inference& inference) {
  Dims out;
  if (inference.conditions.empty()) return out;
  std::set<std::string> seen;
  for (const NodeId id : needed_nodes(graph)) {
    const auto at = inference.conditions.find(id);
    if (at == inference.conditions.end()) continue;
    for (const SizeCondition& c : at->second)
      if (c.kind == SizeCondition::Kind::Needed && seen.insert(c.extent.text()).second)
        out.push_back(c.extent);
  }
  return out;
}

std::optional<std::string> why_not_running(const Graph& a, const Inference& a_info, const Graph& b,
                                           const Inference& b_info, const ValueNumbers& numbers,
                                           const Dims& known) {
  if (a_info.conditions.empty() && b_info.conditions.empty()) return std::nullopt;
  Dims all = known;
  for (const Dim& d : needed_sizes(a, a_info)) all.push_back(d);
  // Symbols that inference made up mean something in one program only.
  std::set<std::string> common = symbols_of(a);
  common.merge(symbols_of(b));
  const SizeFacts of_a(all), of_both(about(all, common));
  const auto first_open = [&](const Graph& graph, const Inference& inference,
                              bool is_second) -> std::optional<std::string> {
    const SizeFacts& facts = is_second ? of_both : of_a;
    if (inference.conditions.empty()) return std::nullopt;
    const std::set<NodeId> needed = needed_nodes(graph);
    for (const NodeId id : graph.order()) {
      const auto at = inference.conditions.find(id);
      if (at == inference.conditions.end() || !needed.contains(id)) continue;
      // Nodes of both programs run where the first program does.
      if (is_second && numbers.is_common(numbers.of(graph, id))) continue;
      for (const SizeCondition& c : at->second) {
        if (c.kind != SizeCondition::Kind::Exact && !is_second) continue;
        if (facts.imply(c.extent)) continue;
        if (c.kind == SizeCondition::Kind::Exact)
          return fmt::format("what {} computes is not known unless {} >= 0", label(graph.node(id)),
                             c.extent.text());
        return fmt::format("{} may fail where the first program runs, unless {} >= 0", label(graph.node(id)),
                           c.extent.text());
      }
    }
    return std::nullopt;
  };
  if (auto why = first_open(a, a_info, false)) return why;
  return first_open(b, b_info, true);
}

std::set<NodeId> doubtful_nodes(const Graph& graph, const Inference& inference, const SizeFacts& facts,
                                Doubt doubt) {
  std::set<NodeId> out;
  if (inference.conditions.empty()) return out;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const auto at = inference.conditions.find(id);
    bool doubtful =
        at != inference.conditions.end() && std::ranges::any_of(at->second, [&](const SizeCondition& c) {
          const bool counts = doubt == Doubt::OfRunning || c.kind == SizeCondition::Kind::Exact;
          return counts && !facts.imply(c.extent);
        });
    for (const auto* values : {&node.inputs, &node.captures})
      for (const Value& v : *values) doubtful = doubtful || (v.exists() && out.contains(v.node));
    if (doubtful) out.insert(id);
  }
  return out;
}

ModelSizes sizes_of(const Graph& graph, const Inference& inference) {
  ModelSizes out{.facts = needed_sizes(graph, inference), .untrusted = {}};
  for (const Value& v : graph.inputs()) {
    const auto& shape = inference.of(v).shape;
    if (graph.sizes_from == 0 || !shape || graph.node(v.node).kind != NodeKind::Input) continue;
    for (const Dim& d : *shape) {
      const Dim fact = d - Dim(graph.sizes_from);
      if (!d.is_concrete() && std::ranges::find(out.facts, fact) == out.facts.end())
        out.facts.push_back(fact);
    }
  }
  if (inference.conditions.empty()) return out;
  const std::set<std::string> symbols = symbols_of(graph);
  std::optional<SizeFacts> facts(out.facts);
  std::set<std::set<std::string>> tried;
  for (const NodeId id : graph.order()) {
    const auto at = inference.conditions.find(id);
    if (at == inference.conditions.end()) continue;
    for (const SizeCondition& c : at->second) {
      if (c.kind != SizeCondition::Kind::Exact || facts->imply(c.extent)) continue;
      // Sizes of 0 are left. A model that is no longer one there runs for none of them.
      Sizes none;
      for (const std::string& s : c.extent.symbols())
        if (symbols.contains(s)) none.emplace(s, 0);
      std::set<std::string> names;
      Dim total = -1;
      for (const auto& [s, zero] : none) {
        names.insert(s);
        total = total + Dim::symbol(s);
      }
      if (names.empty() || tried.size() == kMostTrials || !tried.insert(names).second) continue;
      if (infer(at_sizes(without_dead_nodes(graph), none)).ok()) continue;
      out.facts.push_back(total);
      facts.emplace(out.facts);
    }
  }
  out.untrusted = doubtful_nodes(graph, inference, *facts, Doubt::OfExactness);
  return out;
}

Dims about(const Dims& facts, const std::set<std::string>& symbols) {
  Dims out;
  for (const Dim& f : facts)
    if (std::ranges::all_of(f.symbols(), [&](const std::string& s) { return symbols.contains(s); }))
      out.push_back(f);
  return out;
}

}  // namespace isomer
