#include "optimizer/search/plans/found_plans.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "model/graph/constant.h"
#include "model/graph/graph_index.h"
#include "optimizer/plans/places.h"
#include "optimizer/search/replay.h"

namespace isomer {
namespace {

using Names = std::vector<std::string>;

// Names that have to do with each other.
class Together {
 public:
  const std::string& root(const std::string& name) {
    auto at = parent_.try_emplace(name, name).first;
    while (at->second != at->first) at = parent_.find(at->second);
    return at->first;
  }
  void unite(const std::string& a, const std::string& b) {
    const std::string from = root(a), to = root(b);
    parent_[from] = to;
  }
  const std::map<std::string, std::string>& all() const { return parent_; }

 private:
  std::map<std::string, std::string> parent_;
};

// A walk through the steps of a draft, by names: which value is computed from which, and which names belong
// together.
class Trace {
 public:
  Trace(const Workpiece& piece, const Draft& draft) {
    const Graph& original = piece.graph();
    for (const NodeId id : original.order()) {
      const Node& node = original.node(id);
      for (const std::string& name : node.outputs) {
        given_.insert(name);
        if (node.kind != NodeKind::Operator || is_constant_node(node)) continue;
        Names& reads = reads_[name];
        for (const Value& v : node.inputs)
          if (v.exists()) reads.push_back(original.name_of(v));
      }
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
        if (node.kind == NodeKind::Operator && known_value(piece.inference(), {id, k}))
          known_.insert(node.outputs[k]);
    }
    for (const NodeId id : constant_operators(original))
      for (const std::string& name : original.node(id).outputs) constant_.insert(name);
    for (const CertifiedStep& step : draft.steps) {
      if (const auto* claim = std::get_if<Claim>(&step)) add(*claim);
      else if (const auto* fold = std::get_if<FoldStep>(&step)) add(*fold);
      else if (const auto* wide = std::get_if<WidenStep>(&step))
        widened_.insert(wide->values.begin(), wide->values.end());
    }
    apply();
  }

  Together together;
  bool is_given(const std::string& name) const { return given_.contains(name); }
  const std::set<std::string>& widened() const { return widened_; }

 private:
  void add(const Claim& claim) {
    const std::string& first = claim.outputs.at(0);
    const std::set<std::string> inputs(claim.inputs.begin(), claim.inputs.end());
    std::set<std::string> seen;
    Names open = claim.outputs;
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      if (inputs.contains(name) || !seen.insert(name).second) continue;
      const auto at = reads_.find(name);
      if (at == reads_.end()) {
        note_read(name, first);
        continue;
      }
      together.unite(name, first);
      open.insert(open.end(), at->second.begin(), at->second.end());
    }
    for (const std::string& name : claim.inputs) note_read(name, first);
    add_program(claim.after, first, inputs);
    for (std::size_t k = 0; k < claim.outputs.size(); ++k)
      later_.emplace_back(claim.outputs[k], Names{claim.after.name_of(claim.after.outputs()[k])});
    for (const ConstantFact& fact : claim.facts) {
      note_read(fact.constant, first);
      for (const Value& v : fact.program.inputs()) note_read(fact.program.name_of(v), first);
    }
  }
  void add_program(const Graph& program, const std::string& first, const std::set<std::string>& inputs) {
    for (const NodeId id : program.order()) {
      const Node& node = program.node(id);
      for (const std::string& name : node.outputs) {
        if (name.empty()) continue;
        if (node.kind == NodeKind::Input) {
          if (!inputs.contains(name)) note_read(name, first);
          continue;
        }
        together.unite(name, first);
        if (node.kind != NodeKind::Operator || is_constant_node(node)) continue;
        Names reads;
        for (const Value& v : node.inputs)
          if (v.exists()) reads.push_back(program.name_of(v));
        later_.emplace_back(name, std::move(reads));
      }
    }
  }
  // A value that steps made belongs to its reader; a value of the original does not.
  void note_read(const std::string& name, const std::string& by) {
    if (!given_.contains(name)) together.unite(name, by);
  }
  void add(const FoldStep& fold) {
    apply();
    for (const std::string& name : fold.values) {
      together.unite(name + std::string(kFoldedSuffix), name);
      unite_known(name);
    }
    std::set<std::string> gone;
    for (const std::string& name : fold.values) {
      reads_.erase(name);
      if (!constant_.contains(name)) gone.insert(name);
    }
    if (gone.empty()) return;
    // Its readers read constants from now on, and depend on the nodes that make these. A value that depends
    // only on constants is one for every region that reads it, folded or not.
    for (auto& [name, reads] : reads_)
      for (std::string& read : reads)
        if (gone.contains(read)) read += kFoldedSuffix;
  }
  // Folded values, with the nodes that make them known: arithmetic of extents, down to the values whose
  // extents they are.
  void unite_known(const std::string& folded) {
    Names open{folded};
    std::set<std::string> seen;
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      const auto at = reads_.find(name);
      if (at == reads_.end() || !seen.insert(name).second) continue;
      together.unite(name, folded);
      for (const std::string& read : at->second)
        if (known_.contains(read) || !given_.contains(read)) open.push_back(read);
    }
  }
  // Claims that follow one another are about the same graph.
  void apply() {
    for (auto& [name, reads] : later_) reads_[name] = std::move(reads);
    later_.clear();
  }

  std::set<std::string> given_, widened_;
  std::set<std::string> known_,
      constant_;  // of operators: inference knows them; they depend on constants only
  std::map<std::string, Names> reads_;
  std::vector<std::pair<std::string, Names>> later_;
};

class Maker {
 public:
  Maker(const Workpiece& original, const Draft& draft, const std::string& by)
      : original_(original),
        draft_(draft),
        by_(by),
        trace_(original, draft),
        index_(original.graph()),
        folded_(constant_operators(original.graph())) {
    for (const auto& [name, parent] : trace_.together.all())
      members_[trace_.together.root(name)].insert(name);
  }

  std::vector<FoundPlan> run() {
    std::vector<FoundPlan> out;
    for (const auto& [root, names] : members_)
      if (auto found = plan_of(root, names)) out.push_back(std::move(*found));
    return out;
  }

 private:
  std::optional<FoundPlan> plan_of(const std::string& root, const std::set<std::string>& names) {
    if (std::ranges::any_of(names, [&](const auto& n) { return trace_.widened().contains(n); }))
      return std::nullopt;
    const auto border = border_of(names);
    if (!border) return std::nullopt;
    const auto region = original_.region(border->first, border->second);
    if (!region.ok() || !is_inside(*region, names)) return std::nullopt;
    auto known = known_region(*region);
    if (!known.ok()) return std::nullopt;
    FoundPlan out;
    if (!add_steps(root, known->names, out)) return std::nullopt;
    out.plan.key = key_of(known->region);
    out.plan.region = std::move(known->region);
    out.plan.by = by_;
    const Graph& graph = out.plan.region.graph;
    const std::string first = graph.name_of(graph.outputs()[0]);
    for (const auto& [name, renamed] : known->names)
      if (const auto value = index_.find(name); renamed == first && value)
        out.anchor = anchor_of(original_.graph(), original_.inference(), value->node);
    return out;
  }

  // Where the values of the model among these begin and end; nullopt: there are none.
  std::optional<std::pair<Names, Names>> border_of(const std::set<std::string>& names) const {
    const Graph& graph = original_.graph();
    std::set<NodeId> inside;
    for (const std::string& name : names)
      if (const auto v = index_.find(name);
          v && graph.node(v->node).kind == NodeKind::Operator && !folded_.contains(v->node))
        inside.insert(v->node);
    std::pair<Names, Names> out;
    std::set<Value> inputs;
    for (const NodeId id : inside) {
      const Node& node = graph.node(id);
      if (!node.bodies.empty() || !node.captures.empty()) return std::nullopt;
      for (const Value& v : node.inputs)
        if (v.exists() && !inside.contains(v.node) && !folded_.contains(v.node) &&
            !known_constant(graph, v) && inputs.insert(v).second)
          out.first.push_back(graph.name_of(v));
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
        const Value v{id, k};
        const auto& readers = index_.readers(v);
        if (index_.is_output(v) ||
            std::ranges::any_of(readers, [&](NodeId r) { return !inside.contains(r); }))
          out.second.push_back(node.outputs[k]);
      }
    }
    if (out.second.empty()) return std::nullopt;
    return out;
  }
  // Whether the region has no operators but these, and such that depend on constants only.
  bool is_inside(const Graph& region, const std::set<std::string>& names) const {
    return std::ranges::all_of(region.order(), [&](NodeId id) {
      const Node& node = region.node(id);
      if (node.kind != NodeKind::Operator || is_constant_node(node)) return true;
      const auto v = index_.find(node.outputs[0]);
      return (v && folded_.contains(v->node)) ||
             std::ranges::any_of(node.outputs, [&](const auto& n) { return names.contains(n); });
    });
  }

  // New names for a component; nullopt: of a value that is neither of the region nor made by a step.
  class Namer {
   public:
    Namer(const std::map<std::string, std::string>& known, const Trace& trace)
        : known_(known), trace_(trace) {}
    std::string operator()(const std::string& name) {
      if (name.empty()) return name;
      if (const auto at = known_.find(name); at != known_.end()) return at->second;
      if (trace_.is_given(name)) {
        is_lost = true;
        return name;
      }
      if (name.ends_with(kFoldedSuffix))
        return (*this)(name.substr(0, name.size() - kFoldedSuffix.size())).append(kFoldedSuffix);
      const auto at = made_.try_emplace(name, fmt::format("n{}", made_.size())).first;
      return at->second;
    }
    Names operator()(Names names) {
      for (std::string& n : names) n = (*this)(n);
      return names;
    }
    Graph operator()(const Graph& program) {
      Graph out;
      out.opsets = program.opsets;
      std::map<Value, Value> moved;
      // In the order in which a file has them: what was read from one is written as it was.
      std::vector<NodeId> order = program.order();
      std::ranges::stable_sort(order, {}, [&](NodeId id) { return program.node(id).kind; });
      for (const NodeId id : order) {
        Node node = program.node(id);
        node.name.clear();
        node.extras.clear();
        node.outputs = (*this)(node.outputs);
        for (Value& v : node.inputs)
          if (v.exists()) v = moved.at(v);
        if (!node.bodies.empty()) is_lost = true;
        const bool is_input = node.kind == NodeKind::Input;
        const std::size_t count = node.outputs.size();
        const NodeId made = out.add(std::move(node));
        if (is_input) out.add_input({made, 0});
        for (std::uint32_t k = 0; k < count; ++k) moved.emplace(Value{id, k}, Value{made, k});
      }
      for (const Value& v : program.outputs()) out.add_output(moved.at(v));
      return out;
    }
    bool is_lost = false;

   private:
    const std::map<std::string, std::string>& known_;
    const Trace& trace_;
    std::map<std::string, std::string> made_;
  };

  // The steps of a component, under new names. False: there is no claim, or one that reads something else.
  bool add_steps(const std::string& root, const std::map<std::string, std::string>& known, FoundPlan& out) {
    Namer renamed(known, trace_);
    std::vector<const Draft::Taken*> taken;
    for (const Draft::Taken& t : draft_.taken)
      if (t.is_claim) taken.push_back(&t);
    std::size_t claim = 0, since = 0;
    for (const CertifiedStep& step : draft_.steps) {
      if (const auto* c = std::get_if<Claim>(&step)) {
        const Draft::Taken& told = *taken.at(claim++);
        if (trace_.together.root(c->outputs.at(0)) != root) continue;
        out.plan.steps.emplace_back(with_names(*c, renamed));
        out.plan.about.push_back({told.change.kind, told_of(*c)});
        out.ratio = std::max(out.ratio, told.ratio);
        ++since;
      } else if (const auto* f = std::get_if<FoldStep>(&step)) {
        FoldStep mine;
        for (const std::string& name : f->values)
          if (trace_.together.root(name) == root) mine.values.push_back(renamed(name));
        if (since == 0 && mine.values.empty()) continue;
        out.plan.steps.emplace_back(std::move(mine));
        since = 0;
      }
    }
    return !out.plan.about.empty() && !renamed.is_lost && since == 0;
  }
  static std::string told_of(const Claim& claim) {
    std::vector<std::string> operators;
    for (const NodeId id : claim.after.order())
      if (const std::string& op = claim.after.node(id).op;
          !op.empty() && std::ranges::find(operators, op) == operators.end())
        operators.push_back(op);
    return fmt::format(
        "as {}", operators.empty() ? std::string("nothing") : fmt::format("{}", fmt::join(operators, "+")));
  }

  const Workpiece& original_;
  const Draft& draft_;
  const std::string& by_;
  Trace trace_;
  GraphIndex index_;
  std::set<NodeId> folded_;
  std::map<std::string, std::set<std::string>> members_;
};

}  // namespace

std::vector<FoundPlan> plans_in(const Workpiece& original, const Draft& draft, const std::string& by) {
  return Maker(original, draft, by).run();
}

}  // namespace isomer
