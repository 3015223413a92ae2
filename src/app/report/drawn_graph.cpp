#include "app/report/drawn_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace isomer {
namespace {

using Json = ReportData;

// "1×64×56×56"; a symbol as it is named.
std::string shape_text(const std::optional<Dims>& shape) {
  if (!shape) return "";
  std::vector<std::string> dims;
  for (const Dim& d : *shape) dims.push_back(d.text());
  return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "×"));
}

}  // namespace

ReportData rounded(double value) {
  if (!std::isfinite(value) || value <= 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(value)) - 3);
  const double out = std::round(value / unit) * unit;
  return out >= 1000 ? Json(static_cast<std::int64_t>(std::round(out)))
                     : Json(std::stod(fmt::format("{:.4g}", out)));
}

DrawnGraph::DrawnGraph(const Graph& graph, const std::vector<double>& widths, SharedTexts& texts)
    : graph_(graph), json_{{"op", Json::array()},    {"name", Json::array()},   {"from", Json::array()},
                           {"shape", Json::array()}, {"weight", Json::array()}, {"width", Json::array()}} {
  const auto inference = infer(graph);
  const Inference nothing;
  const Inference& known = inference.ok() ? *inference : nothing;
  for (std::uint32_t k = 0; k < graph.inputs().size(); ++k) inputs_.emplace(graph.inputs()[k].node, k);
  for (const NodeId id : graph.order()) {
    if (graph.node(id).kind != NodeKind::Operator) continue;
    const std::size_t number = numbers_.size();
    numbers_.emplace(id, number);
    add(id, known, number < widths.size() ? widths[number] : 0, texts);
  }
  json_["inputs"] = Json::array();
  for (const Value v : graph.inputs())
    json_["inputs"].push_back({graph.name_of(v), shape_text(known.of(v).shape)});
  json_["outputs"] = Json::array();
  for (const Value v : graph.outputs())
    if (const auto at = numbers_.find(v.node); at != numbers_.end())
      json_["outputs"].push_back({at->second, graph.name_of(v)});
}

ReportData DrawnGraph::numbers(const std::vector<NodeId>& ids) const {
  Json out = Json::array();
  for (const NodeId id : ids) out.push_back(number(id));
  return out;
}

void DrawnGraph::add(NodeId id, const Inference& inference, double width, SharedTexts& texts) {
  const Node& node = graph_.node(id);
  Json from = Json::array();
  std::string weight;
  for (const auto* values : {&node.inputs, &node.captures})
    for (const Value v : *values) {
      if (!v.exists()) continue;
      if (const auto at = numbers_.find(v.node); at != numbers_.end()) {
        if (std::ranges::find(from, Json(at->second)) == from.end()) from.push_back(at->second);
      } else if (const auto input = inputs_.find(v.node);
                 input != inputs_.end() && graph_.node(v.node).kind == NodeKind::Input) {
        from.push_back(-1 - static_cast<std::int64_t>(input->second));
      } else if (weight.empty()) {
        weight = shape_text(inference.of(v).shape);
      }
    }
  json_["op"].push_back(texts.number(node.domain.empty() ? node.op : node.domain + "." + node.op));
  json_["name"].push_back(!node.name.empty() || node.outputs.empty() ? node.name : node.outputs[0]);
  json_["from"].push_back(std::move(from));
  json_["shape"].push_back(texts.number(node.outputs.empty() ? "" : shape_text(inference.of({id, 0}).shape)));
  json_["weight"].push_back(texts.number(weight));
  json_["width"].push_back(rounded(width));
}

}  // namespace isomer
