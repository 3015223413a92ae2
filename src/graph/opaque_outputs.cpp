#include "graph/opaque_outputs.h"

#include <algorithm>
#include <array>

namespace isomer {
namespace {

// A node and what is known of what it reads.
struct Site {
  const Graph& graph;
  const Inference& inference;
  Symbols& symbols;
  const Node& node;

  bool has(std::size_t k) const {
    return k < node.inputs.size() && inference.of(node.inputs[k]).shape.has_value();
  }
  const ValueInfo& in(std::size_t k) const { return inference.of(node.inputs[k]); }
  const Dims& shape(std::size_t k) const { return *in(k).shape; }
  std::size_t rank(std::size_t k) const { return shape(k).size(); }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    const auto* value = node.attributes.find_as<std::int64_t>(name);
    return value ? *value : otherwise;
  }
  // An extent that depends on values.
  Dim fresh(std::size_t axis) const { return symbols.fresh(node.outputs[0], axis); }
};
using Outputs = std::vector<ValueInfo>;

ValueInfo info(ElementType type, Dims shape) { return {type, std::move(shape), std::nullopt}; }

Outputs like_first(const Site& o) {
  if (!o.has(0)) return {};
  const std::int64_t dtype = o.integer("dtype", static_cast<std::int64_t>(o.in(0).type));
  if (dtype < 1 || dtype > kLastOnnxType) return {};
  return {info(static_cast<ElementType>(dtype), o.shape(0))};
}

// Coordinates of the elements that aren't zero, one column each.
Outputs non_zero(const Site& o) {
  if (!o.has(0) || o.rank(0) == 0) return {};
  return {info(ElementType::Int64, {static_cast<std::int64_t>(o.rank(0)), o.fresh(1)})};
}

Outputs top_k(const Site& o) {
  if (!o.has(0)) return {};
  Dim k = o.integer("k", -1);
  if (o.graph.opset("") >= 10) {
    if (!o.has(1) || !o.in(1).integers || o.in(1).integers->size() != 1) return {};
    k = o.in(1).integers->front();
  }
  const auto rank = static_cast<std::int64_t>(o.rank(0));
  std::int64_t axis = o.integer("axis", -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || k.at_least(0) != true) return {};
  Dims shape = o.shape(0);
  shape[static_cast<std::size_t>(axis)] = k;
  return {info(o.in(0).type, shape), info(ElementType::Int64, shape)};
}

// Triples (batch, class, box).
Outputs non_max_suppression(const Site& o) { return {info(ElementType::Int64, {o.fresh(0), 3})}; }

Outputs roi_align(const Site& o) {
  if (!o.has(0) || !o.has(1) || o.rank(0) != 4 || o.rank(1) != 2) return {};
  return {info(o.in(0).type,
               {o.shape(1)[0], o.shape(0)[1], o.integer("output_height", 1), o.integer("output_width", 1)})};
}

// Slices of the data, one for each position of the indices but their last axis.
Outputs gather_nd(const Site& o) {
  if (!o.has(0) || !o.has(1) || o.rank(1) == 0) return {};
  const auto depth = o.shape(1).back().value();
  const std::int64_t batch = o.integer("batch_dims", 0);
  const auto rank = static_cast<std::int64_t>(o.rank(0));
  if (!depth || *depth < 0 || batch < 0 || *depth > rank || batch > rank - *depth) return {};
  Dims shape(o.shape(1).begin(), o.shape(1).end() - 1);
  shape.insert(shape.end(), o.shape(0).begin() + batch + *depth, o.shape(0).end());
  return {info(o.in(0).type, shape)};
}

// X is [sequence, batch, input] (layout 1: batch first); R is [directions, gates * hidden, hidden].
Outputs recurrent(const Site& o) {
  if (!o.has(0) || !o.has(2) || o.rank(0) != 3 || o.rank(2) != 3) return {};
  const bool batch_first = o.integer("layout", 0) != 0;
  const Dim sequence = o.shape(0)[batch_first ? 1 : 0], batch = o.shape(0)[batch_first ? 0 : 1];
  const Dim directions = o.shape(2)[0], hidden = o.shape(2)[2];
  const Dims all =
      batch_first ? Dims{batch, sequence, directions, hidden} : Dims{sequence, directions, batch, hidden};
  const Dims last = batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  const ElementType type = o.in(0).type;
  return {info(type, all), info(type, last), info(type, last)};
}

struct Line {
  std::string_view op;
  Outputs (*outputs)(const Site&);
};
constexpr std::array kLines{Line{"Bernoulli", like_first},
                            Line{"CumSum", like_first},
                            Line{"GRU", recurrent},
                            Line{"GatherND", gather_nd},
                            Line{"LSTM", recurrent},
                            Line{"NonMaxSuppression", non_max_suppression},
                            Line{"NonZero", non_zero},
                            Line{"RNN", recurrent},
                            Line{"RandomNormalLike", like_first},
                            Line{"RandomUniformLike", like_first},
                            Line{"ReverseSequence", like_first},
                            Line{"RoiAlign", roi_align},
                            Line{"Scatter", like_first},
                            Line{"ScatterElements", like_first},
                            Line{"ScatterND", like_first},
                            Line{"TopK", top_k}};

}  // namespace

std::vector<ValueInfo> opaque_outputs(const Graph& graph, const Inference& inference, Symbols& symbols,
                                      const Node& node) {
  Outputs outputs;
  const auto line = std::ranges::find(kLines, node.op, &Line::op);
  const bool is_local = graph.functions.contains({node.domain, node.op, node.overload});
  if (node.domain.empty() && !node.outputs.empty() && !is_local && line != kLines.end())
    outputs = line->outputs({graph, inference, symbols, node});
  outputs.resize(node.outputs.size());
  return outputs;
}

}  // namespace isomer
