#include "optimizer/search/saturate/extraction.h"

#include <algorithm>
#include <limits>

#include "base/integer_program.h"

namespace isomer {
namespace {

using Class = EGraph::Class;
using NodeNumber = EGraph::NodeNumber;
using Chosen = std::map<Class, NodeNumber>;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kEach = 1;      // of a node, whatever its price: of equal programs the smaller one
constexpr int kMostRounds = 64;  // of an exact extraction: in each, circles that it made are forbidden

// The cheapest tree of every class, and its first node.
class Trees {
 public:
  explicit Trees(const EGraph& graph) : graph_(graph) {
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (const auto& [c, nodes] : graph.classes())
        for (const NodeNumber n : nodes) {
          const double cost = cost_of(n);
          if (cost >= this->cost(c)) continue;
          costs_[c] = cost;
          chosen_[c] = n;
          has_changed = true;
        }
    }
  }
  double cost(Class c) const {
    const auto at = costs_.find(c);
    return at == costs_.end() ? kNever : at->second;
  }
  double cost_of(NodeNumber n) const {
    double out = graph_.node(n).price + kEach;
    for (const Class c : graph_.node(n).children) out += cost(c);
    return out;
  }
  const Chosen& chosen() const { return chosen_; }

 private:
  const EGraph& graph_;
  std::map<Class, double> costs_;
  Chosen chosen_;
};

// The classes that the roots need in a choice, each after those that it reads; the classes of a cycle
// instead, if there is one.
struct Needed {
  std::vector<Class> order, circle;
};
Needed needed(const EGraph& graph, const std::vector<Class>& roots, const Chosen& chosen) {
  Needed out;
  enum class Mark : std::uint8_t { Open, Done };
  std::map<Class, Mark> marks;
  std::vector<Class> open(roots.rbegin(), roots.rend()), path;
  while (!open.empty()) {
    const Class c = graph.canonical(open.back());
    const auto [at, is_new] = marks.emplace(c, Mark::Open);
    if (!is_new) {
      open.pop_back();
      if (at->second == Mark::Open && !path.empty() && path.back() == c) {
        at->second = Mark::Done;
        path.pop_back();
        out.order.push_back(c);
      }
      continue;
    }
    path.push_back(c);
    for (const Class child : graph.node(chosen.at(c)).children) {
      const auto known = marks.find(child);
      if (known == marks.end()) open.push_back(child);
      else if (known->second == Mark::Open) {
        out.circle.assign(std::ranges::find(path, child), path.end());
        return out;
      }
    }
  }
  return out;
}

Extraction extraction_of(const EGraph& graph, const Needed& all, const Chosen& chosen, bool is_exact) {
  Extraction out{.is_exact = is_exact};
  for (const Class c : all.order) {
    out.chosen.emplace(c, chosen.at(c));
    out.price += graph.node(chosen.at(c)).price;
  }
  return out;
}

// The choice changed on the cheapest way from a root to a node. False: no root leads there.
bool lead_to(const EGraph& graph, const std::vector<Class>& roots, const Trees& trees, NodeNumber with,
             Chosen& chosen) {
  struct Way {
    double cost;
    NodeNumber node;
    Class next;
  };
  const Class goal = graph.class_of(with);
  if (trees.cost_of(with) == kNever) return false;
  std::map<Class, Way> ways{{goal, {trees.cost_of(with), with, goal}}};
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const auto& [c, nodes] : graph.classes()) {
      if (c == goal) continue;
      for (const NodeNumber n : nodes)
        for (const Class child : graph.node(n).children) {
          const auto way = ways.find(child);
          if (way == ways.end() || trees.cost_of(n) == kNever) continue;
          const double cost = trees.cost_of(n) - trees.cost(child) + way->second.cost;
          const auto at = ways.find(c);
          if (at != ways.end() && cost >= at->second.cost) continue;
          ways.insert_or_assign(c, Way{cost, n, child});
          has_changed = true;
        }
    }
  }
  double least = kNever;
  Class at = 0;
  for (const Class root : roots) {
    const Class c = graph.canonical(root);
    if (!ways.contains(c) || ways.at(c).cost - trees.cost(c) >= least) continue;
    least = ways.at(c).cost - trees.cost(c);
    at = c;
  }
  if (least == kNever) return false;
  for (; at != goal; at = ways.at(at).next) chosen[at] = ways.at(at).node;
  chosen[goal] = with;
  return true;
}

// Variables are nodes that the roots may need.
class Exact {
 public:
  Exact(const EGraph& graph, const std::vector<Class>& roots) : graph_(graph), roots_(roots), trees_(graph) {
    std::vector<Class> open = roots;
    std::set<Class> seen;
    while (!open.empty()) {
      const Class c = graph.canonical(open.back());
      open.pop_back();
      if (!seen.insert(c).second) continue;
      for (const NodeNumber n : graph.classes().at(c)) {
        if (trees_.cost_of(n) == kNever) continue;
        variables_.emplace(n, static_cast<int>(numbers_.size()));
        numbers_.push_back(n);
        program_.costs.push_back(graph.node(n).price + kEach);
        open.insert(open.end(), graph.node(n).children.begin(), graph.node(n).children.end());
      }
    }
    for (const Class root : roots) program_.rows.push_back({any_of(graph.canonical(root)), 1, kNever});
    for (const NodeNumber n : numbers_) add_needs(n);
  }

  void forbid(const std::set<NodeNumber>& together) {
    IntegerProgram::Row row{{}, -kNever, static_cast<double>(together.size()) - 1};
    for (const NodeNumber n : together) {
      const auto at = variables_.find(n);
      if (at == variables_.end()) return;  // it is not chosen anyway
      row.terms.emplace_back(at->second, 1);
    }
    program_.rows.push_back(std::move(row));
  }

  std::optional<Extraction> run(double seconds) {
    for (int round = 0; round < kMostRounds; ++round) {
      const auto taken = solved(program_, seconds);
      if (!taken) return std::nullopt;
      Chosen chosen;
      for (std::size_t k = numbers_.size(); k-- > 0;)
        if ((*taken)[k]) chosen[graph_.class_of(numbers_[k])] = numbers_[k];
      const Needed all = needed(graph_, roots_, chosen);
      if (all.circle.empty()) return extraction_of(graph_, all, chosen, true);
      std::set<NodeNumber> circle;
      for (const Class c : all.circle) circle.insert(chosen.at(c));
      forbid(circle);
    }
    return std::nullopt;
  }

 private:
  std::vector<std::pair<int, double>> any_of(Class c) const {
    std::vector<std::pair<int, double>> out;
    for (const NodeNumber n : graph_.classes().at(c))
      if (const auto at = variables_.find(n); at != variables_.end()) out.emplace_back(at->second, 1);
    return out;
  }
  // A chosen node needs a chosen node for every input.
  void add_needs(NodeNumber n) {
    std::set<Class> children(graph_.node(n).children.begin(), graph_.node(n).children.end());
    if (children.contains(graph_.class_of(n))) return forbid({n});
    for (const Class c : children) {
      IntegerProgram::Row row{any_of(c), 0, kNever};
      row.terms.emplace_back(variables_.at(n), -1);
      program_.rows.push_back(std::move(row));
    }
  }

  const EGraph& graph_;
  const std::vector<Class>& roots_;
  Trees trees_;
  std::map<NodeNumber, int> variables_;
  std::vector<NodeNumber> numbers_;
  IntegerProgram program_;
};

}  // namespace

std::optional<Extraction> extract_greedy(const EGraph& graph, const std::vector<Class>& roots,
                                         std::optional<NodeNumber> with) {
  const Trees trees(graph);
  for (const Class root : roots)
    if (trees.cost(graph.canonical(root)) == kNever) return std::nullopt;
  Chosen chosen = trees.chosen();
  if (with && !lead_to(graph, roots, trees, *with, chosen)) return std::nullopt;
  const Needed all = needed(graph, roots, chosen);
  if (!all.circle.empty()) return std::nullopt;
  return extraction_of(graph, all, chosen, false);
}

std::optional<Extraction> extract_exact(const EGraph& graph, const std::vector<Class>& roots,
                                        const std::vector<std::set<NodeNumber>>& without, double seconds) {
  if (!has_integer_solver()) return std::nullopt;
  Exact exact(graph, roots);
  for (const auto& together : without) exact.forbid(together);
  return exact.run(seconds);
}

}  // namespace isomer
