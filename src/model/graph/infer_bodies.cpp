#include "model/graph/infer_bodies.h"

#include <algorithm>
#include <set>

namespace isomer {
namespace {

// Bodies of bodies are inferred down to here: each level may take several rounds. Real models have up to 4.
constexpr int kDeepest = 5;

// A node and the known facts about its inputs.
struct Site {
  const Graph& graph;
  const Inference& inference;
  Symbols& symbols;
  const Node& node;
  int depth;
};

std::optional<Inference> infer_body(const Site& site, const Body& body,
                                    const std::vector<ValueInfo>& passed) {
  InferOptions options;
  options.depth = site.depth + 1;
  options.outside = &site.symbols;
  Graph graph = *body.graph;
  graph.opsets.own = site.graph.opsets.own;
  const std::size_t parameters = graph.inputs().size() - body.captured.size();
  for (std::size_t k = 0; k < graph.inputs().size(); ++k) {
    ValueInfo info;
    if (k >= parameters) info = site.inference.of(site.node.captures[body.captured[k - parameters]]);
    else if (k < passed.size()) info = passed[k];
    options.known.emplace(graph.name_of(graph.inputs()[k]), std::move(info));
  }
  auto inferred = infer(graph, options);
  return inferred.ok() ? std::optional(*std::move(inferred)) : std::nullopt;
}

std::vector<ValueInfo> outputs_of(const Body& body, const Inference& inference) {
  std::vector<ValueInfo> outputs;
  for (const Value& output : body.graph->outputs()) outputs.push_back(inference.of(output));
  return outputs;
}

// The common part of two values; extents that differ become new symbols.
ValueInfo common(const Site& site, const std::string& name, const ValueInfo& a, const ValueInfo& b) {
  if (a.type != b.type) return {};
  ValueInfo info{a.type, std::nullopt, std::nullopt};
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) return info;
  info.shape = a.shape;
  for (std::size_t i = 0; i < info.shape->size(); ++i)
    if (!((*a.shape)[i] == (*b.shape)[i])) (*info.shape)[i] = site.symbols.fresh(name, i);
  return info;
}

BodyInference infer_if(const Site& site) {
  BodyInference result;
  std::vector<std::vector<ValueInfo>> branches;
  for (const Body& body : site.node.bodies) {
    auto inferred = infer_body(site, body, {});
    if (!inferred) return {};
    branches.push_back(outputs_of(body, *inferred));
    result.bodies.push_back(*std::move(inferred));
  }
  if (branches.size() != 2) return {};
  for (std::size_t k = 0; k < site.node.outputs.size(); ++k)
    result.outputs.push_back(common(site, site.node.outputs[k], branches[0].at(k), branches[1].at(k)));
  return result;
}

BodyInference infer_call(const Site& site) {
  std::vector<ValueInfo> passed;
  for (const Value& input : site.node.inputs) passed.push_back(site.inference.of(input));
  auto inferred = infer_body(site, site.node.bodies[0], passed);
  if (!inferred) return {};
  auto outputs = outputs_of(site.node.bodies[0], *inferred);
  outputs.resize(site.node.outputs.size());
  return {.bodies = {*std::move(inferred)}, .outputs = std::move(outputs)};
}

ValueInfo without_value(ValueInfo info) {
  info.integers.reset();
  info.constant.reset();
  return info;
}

// Makes what is carried fit what the body makes of it: an extent that changes is a new symbol, and stays one.
// Whether nothing had to change.
bool widen(const Site& site, const std::string& name, ValueInfo& carried, const ValueInfo& next,
           std::set<std::size_t>& open) {
  const bool fits =
      carried.type == next.type && carried.shape && next.shape && carried.shape->size() == next.shape->size();
  if (!fits) {
    const bool was_open = !carried.shape && carried.type == next.type;
    if (carried.type != next.type) carried.type = ElementType::Undefined;
    carried.shape.reset();
    return was_open;
  }
  bool kept = true;
  for (std::size_t i = 0; i < carried.shape->size(); ++i) {
    if (open.contains(i) || (*carried.shape)[i] == (*next.shape)[i]) continue;
    (*carried.shape)[i] = site.symbols.fresh(name, i);
    open.insert(i);
    kept = false;
  }
  return kept;
}

// A body that runs again and again: inputs from `first` on are carried to the outputs from `result` on. An
// extent that the body changes is a new symbol, until it keeps all of them.
std::optional<Inference> infer_repeated(const Site& site, std::vector<ValueInfo>& passed, std::size_t first,
                                        std::size_t result, std::size_t carried) {
  const Body& body = site.node.bodies[0];
  std::vector<std::set<std::size_t>> open(carried);  // axes whose extent is a new symbol already
  constexpr int kMostRounds = 4;  // an extent changes once, and may change another one with it
  for (int round = 0; round < kMostRounds; ++round) {
    auto inferred = infer_body(site, body, passed);
    if (!inferred) return std::nullopt;
    const auto outputs = outputs_of(body, *inferred);
    bool kept = true;
    for (std::size_t k = 0; k < carried; ++k) {
      const std::string& name = body.graph->name_of(body.graph->inputs()[first + k]);
      kept = widen(site, name, passed[first + k], outputs.at(result + k), open[k]) && kept;
    }
    if (kept) return inferred;
  }
  return std::nullopt;
}

// Iterations of a node that repeats its body.
struct Iterations {
  bool any = false;      // it is known that there is one
  std::size_t mark = 0;  // symbols made after these belong to a single iteration, and mean nothing outside
};

// The outputs of all iterations, concatenated along a new axis. If there is none, ONNX doesn't define the
// other extents.
ValueInfo stacked(const Site& site, std::size_t output, ValueInfo info, const Dim& length,
                  const Iterations& iterations) {
  if (!info.shape) return without_value(std::move(info));
  Dims shape{length};
  for (const Dim& dim : *info.shape) {
    const bool is_kept = iterations.any && !site.symbols.is_since(iterations.mark, dim);
    shape.push_back(is_kept ? dim : site.symbols.fresh(site.node.outputs[output], shape.size()));
  }
  info.shape = std::move(shape);
  return without_value(std::move(info));
}

// The number that an input of a Loop is known to be; `otherwise` where it is absent.
std::optional<std::int64_t> known_number(const Site& site, std::size_t input, std::int64_t otherwise) {
  if (!site.node.inputs[input].exists()) return otherwise;
  const auto& integers = site.inference.of(site.node.inputs[input]).integers;
  return integers && integers->size() == 1 ? integers->front().value() : std::nullopt;
}

BodyInference infer_loop(const Site& site) {
  if (site.node.inputs.size() < 2) return {};
  const std::size_t carried = site.node.inputs.size() - 2;
  const Graph& body = *site.node.bodies[0].graph;
  if (body.inputs().size() < site.node.inputs.size()) return {};
  std::vector<ValueInfo> passed;
  for (const ElementType type : {ElementType::Int64, ElementType::Bool}) {
    // Scalars, unless the body requires something else: a runtime gives it that.
    const auto& asked = body.node(body.inputs()[passed.size()].node).declared.shape;
    const bool is_scalar = !asked || asked->empty();
    passed.push_back({type, is_scalar ? std::optional(Dims{}) : std::nullopt, std::nullopt});
  }
  for (std::size_t k = 0; k < carried; ++k)
    passed.push_back(without_value(site.inference.of(site.node.inputs[k + 2])));
  // The body may end the loop, but not before the first time.
  const Iterations iterations{
      .any = known_number(site, 0, 1).value_or(0) >= 1 && known_number(site, 1, 1).value_or(0) == 1,
      .mark = site.symbols.made().size()};
  // The condition is carried, too.
  auto inferred = infer_repeated(site, passed, 1, 0, carried + 1);
  if (!inferred) return {};
  const auto outputs = outputs_of(site.node.bodies[0], *inferred);
  BodyInference result;
  for (std::size_t k = 0; k < site.node.outputs.size(); ++k) {
    if (k < carried) {
      result.outputs.push_back(passed[k + 2]);
      continue;
    }
    const Dim length = site.symbols.fresh(site.node.outputs[k], 0);
    result.outputs.push_back(stacked(site, k, outputs.at(k + 1), length, iterations));
  }
  result.bodies.push_back(*std::move(inferred));
  return result;
}

BodyInference infer_scan(const Site& site) {
  const auto* scanned = site.node.attributes.find_as<std::int64_t>("num_scan_inputs");
  const std::size_t count = site.node.inputs.size();
  // Axes and directions other than the first, forwards, are rare; opset 8 has another signature.
  const bool is_plain = site.node.attributes.find("scan_input_axes") == nullptr &&
                        site.node.attributes.find("scan_output_axes") == nullptr;
  if (!scanned || *scanned < 1 || static_cast<std::size_t>(*scanned) > count || !is_plain) return {};
  const std::size_t carried = count - static_cast<std::size_t>(*scanned);
  std::vector<ValueInfo> passed;
  std::optional<Dim> length;
  for (std::size_t k = 0; k < count; ++k) {
    passed.push_back(without_value(site.inference.of(site.node.inputs[k])));
    if (k < carried || !passed[k].shape) continue;
    if (passed[k].shape->empty()) return {};
    length = passed[k].shape->front();
    passed[k].shape->erase(passed[k].shape->begin());
  }
  if (!length) return {};
  const Iterations iterations{.any = length->at_least(1) == true, .mark = site.symbols.made().size()};
  auto inferred = infer_repeated(site, passed, 0, 0, carried);
  if (!inferred) return {};
  const auto outputs = outputs_of(site.node.bodies[0], *inferred);
  BodyInference result;
  for (std::size_t k = 0; k < site.node.outputs.size(); ++k)
    result.outputs.push_back(k < carried ? passed[k] : stacked(site, k, outputs.at(k), *length, iterations));
  result.bodies.push_back(*std::move(inferred));
  return result;
}

}  // namespace

BodyInference infer_bodies(const Graph& graph, const Inference& inference, Symbols& symbols, const Node& node,
                           int depth) {
  if (node.bodies.empty() || depth >= kDeepest) return {};
  const Site site{graph, inference, symbols, node, depth};
  if (node.bodies[0].attribute.empty()) return infer_call(site);
  if (!node.domain.empty()) return {};
  if (node.op == "If") return infer_if(site);
  if (node.op == "Loop") return infer_loop(site);
  if (node.op == "Scan" && graph.opset("") >= 9) return infer_scan(site);
  return {};
}

}  // namespace isomer
