#include "compiler/cover/mix_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include "model/graph/rebuild.h"

namespace isomer {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
using Costs = std::array<double, 2>;  // if the last segment is the runtime's, or ours

// From the costs before some segments to those behind them.
Costs costs_behind(const std::vector<SegmentTimes>& times, const MixPart& part, Costs now) {
  for (std::size_t k = part.first; k < part.first + part.count; ++k) {
    const SegmentTimes& s = times[k];
    const Costs own{s.runtime_ns, s.ours_ns.value_or(kNever)},
        saved{k > 0 ? s.saved_runtime_ns : 0, k > 0 ? s.saved_ours_ns : 0};
    Costs next{};
    for (const std::size_t engine : {0, 1})
      next[engine] = own[engine] + std::min(now[engine] - saved[engine], now[1 - engine]);
    now = next;
  }
  return now;
}

// The parts of a model between borders that it shares with the first, which has `borders` of them, by the
// border that each begins at; the model's beginning is 0.
std::map<std::size_t, std::pair<std::size_t, MixPart>> parts_of(std::size_t number, const CoverMaker& model,
                                                                std::size_t borders) {
  std::map<std::size_t, std::pair<std::size_t, MixPart>> out;
  const std::vector<Segment>& segments = model.cut().segments;
  std::size_t from = 0, first = 0;
  for (std::size_t k = 1; k <= segments.size(); ++k) {
    const bool is_end = k == segments.size();
    const auto border = is_end        ? std::optional(borders)
                        : number == 0 ? std::optional(k - 1)
                                      : segments[k].border;
    if (!border) continue;
    const std::size_t to = *border + 1;
    out[from] = {to, {number, first, k - first}};
    from = to;
    first = k;
  }
  return out;
}

// Writes parts of several graphs into one.
class Mixer {
 public:
  Mixer(const std::vector<const CoverMaker*>& models, Graph out) : models_(models), out_(std::move(out)) {}

  Result<Graph> run(const std::vector<MixPart>& parts) {
    const Graph& first = graph(0);
    for (const Value& v : first.inputs()) {
      if (first.is_overridable(v.node)) return Error{"a model whose inputs have defaults is not mixed"};
      by_name_[first.name_of(v)] = {out_.add(first.node(v.node)), 0};
      out_.add_input(by_name_.at(first.name_of(v)));
    }
    for (std::size_t k = 0; k < parts.size(); ++k) ISOMER_TRY_DO(add(parts[k], k));
    for (const Value& v : first.outputs()) {
      const auto made = by_name_.find(first.name_of(v));
      if (made == by_name_.end()) return Error{fmt::format("nobody makes {}", first.name_of(v))};
      out_.add_output(made->second);
    }
    return without_dead_nodes(out_);
  }

 private:
  const Graph& graph(std::size_t model) const { return models_[model]->cut().model.graph; }

  // Values that others read keep their names; all else gets new ones, where it is of another model than the
  // first.
  Status add(const MixPart& part, std::size_t number) {
    const CutModel& cut = models_[part.model]->cut();
    auto program = region_program(cut, nodes_of(cut, part.first, part.count));
    if (!program.ok()) return program.error();
    std::map<Value, Value> made;
    const Graph& g = program->graph;
    std::set<std::string> kept;
    for (const Value& v : g.outputs()) kept.insert(g.name_of(v));
    for (const NodeId id : g.order()) {
      Node node = g.node(id);
      if (node.kind == NodeKind::Input) {
        const auto known = by_name_.find(node.outputs[0]);
        if (known == by_name_.end()) return Error{fmt::format("nobody makes {}", node.outputs[0])};
        made[{id, 0}] = known->second;
        continue;
      }
      for (Value& v : node.inputs)
        if (v.exists()) v = made.at(v);
      for (std::string& name : node.outputs)
        if (!name.empty() && !kept.contains(name)) name = fmt::format("part{}/{}", number, name);
      const auto outputs = node.outputs;
      const NodeId added = out_.add(std::move(node));
      for (std::uint32_t k = 0; k < outputs.size(); ++k) {
        made[{id, k}] = {added, k};
        if (!kept.contains(outputs[k])) continue;
        if (!by_name_.emplace(outputs[k], Value{added, k}).second)
          return Error{fmt::format("{} is made twice", outputs[k])};
      }
    }
    return Done{};
  }

  const std::vector<const CoverMaker*>& models_;
  Graph out_;
  std::map<std::string, Value> by_name_;
};

}  // namespace

Mix cheapest_mix(const std::vector<const CoverMaker*>& models) {
  const std::size_t end = models[0]->cut().segments.size();  // its borders, and the model's end
  struct At {
    Costs costs{kNever, kNever};
    std::vector<MixPart> parts[2];  // that lead to these costs
  };
  std::vector<At> at(end + 1);
  at[0].costs = {0, kNever};
  std::vector<std::map<std::size_t, std::pair<std::size_t, MixPart>>> all;
  for (std::size_t m = 0; m < models.size(); ++m) all.push_back(parts_of(m, *models[m], end - 1));
  for (std::size_t border = 0; border < end; ++border)
    for (const auto& parts : all) {
      const auto part = parts.find(border);
      if (part == parts.end()) continue;
      const auto& [to, segments] = part->second;
      // From each engine by itself, so that what led there is known.
      for (const std::size_t before : {0, 1}) {
        if (at[border].costs[before] == kNever) continue;
        Costs now{kNever, kNever};
        now[before] = at[border].costs[before];
        now = costs_behind(models[segments.model]->times(), segments, now);
        for (const std::size_t engine : {0, 1}) {
          if (now[engine] >= at[to].costs[engine]) continue;
          at[to].costs[engine] = now[engine];
          at[to].parts[engine] = at[border].parts[before];
          at[to].parts[engine].push_back(segments);
        }
      }
    }
  const std::size_t best = at[end].costs[1] < at[end].costs[0] ? 1 : 0;
  return {at[end].parts[best], at[end].costs[best]};
}

Result<Model> mixed_model(const std::vector<const CoverMaker*>& models, const std::vector<MixPart>& parts) {
  Model out = models[0]->cut().model;
  Graph empty = out.graph.without_nodes();
  for (const CoverMaker* model : models)
    for (const auto& [domain, version] : model->cut().model.graph.opsets)
      empty.opsets.emplace(domain, version);
  ISOMER_TRY(out.graph, Mixer(models, std::move(empty)).run(parts));
  return out;
}

}  // namespace isomer
