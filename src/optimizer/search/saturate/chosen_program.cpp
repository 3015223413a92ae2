#include "optimizer/search/saturate/chosen_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/graph/constant.h"
#include "optimizer/facts/site.h"

namespace isomer {
namespace {

using Class = EGraph::Class;
using NodeNumber = EGraph::NodeNumber;

// The parts of the chosen program that the state lacks, in connected pieces.
class Pieces {
 public:
  Pieces(const ProgramClasses& classes, const Graph& state, const Placed& placed, const Extraction& wanted,
         Claims claims)
      : state_(state), placed_(placed), wanted_(wanted) {
    for (const auto& [c, n] : wanted.chosen) {
      const Word::Kind kind = classes.word(n).kind;
      const bool is_written =
          claims == Claims::OfAll && kind != Word::Kind::Input && kind != Word::Kind::Constant;
      if (is_written || !placed.nodes.contains(n)) piece_.emplace(c, c);
    }
    for (const auto& [c, n] : wanted.chosen)
      if (is_new(c))
        for (const Class child : classes.graph().node(n).children)
          if (is_new(child)) piece_[root(child)] = root(c);
  }
  bool is_new(Class c) const { return piece_.contains(c); }

  // Values of the state that are to be computed as the choice says, by piece: those that nodes which stay
  // read, and outputs of the region.
  std::map<Class, std::set<Value>> replaced() const {
    std::map<Class, std::set<Value>> out;
    const auto note = [&](Value v) {
      if (!v.exists()) return;
      const Class c = placed_.classes.at(v);
      if (is_new(c)) out[root(c)].insert(v);
      else if (wanted_.chosen.at(c) != placed_.makers.at(v)) out[c].insert(v);
    };
    std::ranges::for_each(state_.outputs(), note);
    for (const NodeId id : state_.order())
      if (stays(id)) std::ranges::for_each(state_.node(id).inputs, note);
    return out;
  }

 private:
  Class root(Class c) const {
    while (piece_.at(c) != c) c = piece_.at(c);
    return c;
  }
  bool stays(NodeId id) const {
    for (std::uint32_t k = 0; k < state_.node(id).outputs.size(); ++k) {
      const Class c = placed_.classes.at({id, k});
      const auto at = wanted_.chosen.find(c);
      if (at != wanted_.chosen.end() && !is_new(c) && at->second == placed_.makers.at({id, k})) return true;
    }
    return false;
  }

  const Graph& state_;
  const Placed& placed_;
  const Extraction& wanted_;
  std::map<Class, Class> piece_;
};

// Writes values of the chosen program over those of the state.
class Writer {
 public:
  Writer(ProgramClasses& classes, const Site& site, const Placed& placed, const Extraction& wanted,
         const Pieces& pieces, const std::string& name)
      : classes_(classes),
        site_(site),
        placed_(placed),
        wanted_(wanted),
        pieces_(pieces),
        builder(site.graph, name) {}

  std::optional<Value> value(Class goal) {
    std::vector<Class> open{goal};
    while (!open.empty()) {
      const Class c = open.back();
      if (made_.contains(c)) {
        open.pop_back();
        continue;
      }
      if (++steps_ > kMostSteps) return std::nullopt;
      const auto at = wanted_.chosen.find(c);
      if (at == wanted_.chosen.end()) return std::nullopt;
      const Word& word = classes_.word(at->second);
      if (!pieces_.is_new(c)) {
        made_.emplace(c, builder.input(site_.name(placed_.values.at(at->second))));
      } else if (word.kind == Word::Kind::Constant) {
        const auto constant = written(c, word.tensor);
        if (!constant) return std::nullopt;
        made_.emplace(c, *constant);
      } else {
        const std::vector<Class>& children = classes_.graph().node(at->second).children;
        bool is_ready = true;
        for (const Class child : children)
          if (!made_.contains(child)) {
            open.push_back(child);
            is_ready = false;
          }
        if (is_ready) made_.emplace(c, apply(word, children));
      }
    }
    return made_.at(goal);
  }

 private:
  Value apply(const Word& word, const std::vector<Class>& children) {
    if (word.kind == Word::Kind::Output) return {made_.at(children[0]).node, word.output};
    std::vector<Value> inputs;
    std::size_t k = 0;
    for (const Value& v : word.node.inputs)
      inputs.push_back(v.exists() ? made_.at(children[k++]) : Value::none());
    return builder.copy(word.node, inputs);
  }

  // A constant that the state lacks, as the program that computed it, if that is known. The inputs of that
  // program were known earlier, so the recursion ends; the bound is a safeguard.
  std::optional<Value> written(Class c, const Tensor& tensor, int depth = 0) {
    if (const auto known = constants_.find(c); known != constants_.end()) return known->second;
    if (depth > kMostDepth || ++steps_ > kMostSteps) return std::nullopt;
    for (const NodeNumber n : classes_.graph().classes().at(c))
      if (const auto at = placed_.values.find(n);
          at != placed_.values.end() && classes_.word(n).kind == Word::Kind::Constant)
        return builder.input(site_.name(at->second));
    const Graph* recipe = classes_.recipe(c);
    if (recipe == nullptr) return constants_.emplace(c, builder.constant(tensor)).first->second;
    std::map<NodeId, Value> moved;
    for (const NodeId id : recipe->order()) {
      if (const auto part = known_constant(*recipe, {id, 0})) {
        const auto made = written(*classes_.class_of(*part), *part, depth + 1);
        if (!made) return std::nullopt;
        moved.emplace(id, *made);
        continue;
      }
      const Node& node = recipe->node(id);
      std::vector<Value> inputs;
      for (const Value& v : node.inputs)
        inputs.push_back(v.exists() ? Value{moved.at(v.node).node, moved.at(v.node).output + v.output}
                                    : Value::none());
      moved.emplace(id, builder.copy(node, inputs));
    }
    const Value result = recipe->outputs()[0];
    const Value out{moved.at(result.node).node, moved.at(result.node).output + result.output};
    return constants_.emplace(c, out).first->second;
  }

  static constexpr int kMostSteps = 4096, kMostDepth = 64;
  ProgramClasses& classes_;
  const Site& site_;
  const Placed& placed_;
  const Extraction& wanted_;
  const Pieces& pieces_;
  std::map<Class, Value> made_, constants_;
  int steps_ = 0;

 public:
  ProgramBuilder builder;
};

}  // namespace

std::vector<Proposal> proposals_for(ProgramClasses& classes, const Graph& state, const Placed& placed,
                                    const Extraction& wanted, const Machine& machine, Claims claims) {
  std::vector<Proposal> out;
  const auto inference = infer(state);
  if (!inference.ok()) return out;
  const Site site(state, *inference, machine);
  const Pieces pieces(classes, state, placed, wanted, claims);
  for (const auto& [piece, values] : pieces.replaced()) {
    const std::vector<Value> replaced(values.begin(), values.end());
    Writer writer(classes, site, placed, wanted, pieces, site.name(replaced[0]));
    std::vector<Value> by;
    for (const Value& v : replaced) {
      const auto made = writer.value(placed.classes.at(v));
      if (!made) return {};
      by.push_back(*made);
    }
    auto proposal = propose(
        site, "saturate",
        fmt::format("{} and what it is made of, as equality saturation chose it", site.name(replaced[0])),
        writer.builder, replaced, by);
    if (!proposal) return {};
    out.push_back(std::move(*proposal));
  }
  return out;
}

}  // namespace isomer
