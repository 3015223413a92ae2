#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "optimizer/facts/normalization.h"
#include "optimizer/propose/values/functions.h"

namespace isomer {
namespace {

class SpelledNormalizations {
 public:
  SpelledNormalizations(const Site& site, Proposals& out) : site_(site), normalizations_(site), out_(out) {}

  void look_at(Value v) {
    if (covered_.contains(v.node)) return;
    const auto n = normalizations_.ending_in(v);
    if (!n) return;
    covered_.insert(n->nodes.begin(), n->nodes.end());
    const std::int64_t last = static_cast<std::int64_t>(site_.rank(v)) - 1;
    ProgramBuilder b(site_.graph, site_.name(v));
    Value y = Value::none();
    std::string name;
    switch (n->kind) {
      case Normalization::Kind::Softmax:
      case Normalization::Kind::LogSoftmax:
        name = n->kind == Normalization::Kind::Softmax ? "Softmax" : "LogSoftmax";
        y = b.op(name, {b.input(site_.name(n->input))}, with({{"axis", last}}));
        break;
      case Normalization::Kind::Layer:
        if (site_.graph.opset("") < 17 || is_fused_as_it_is(*n)) return;
        name = "LayerNormalization";
        y = layer(b, *n);
        break;
      case Normalization::Kind::Instance:
        if (is_of_a_layer(*n)) return;
        name = "InstanceNormalization";
        y = instance(b, *n);
    }
    out_.add(propose(site_, "functions",
                     fmt::format("{} nodes from {} are one {}", n->nodes.size(), site_.name(n->input), name),
                     b, {v}, {y}));
  }

  const std::set<NodeId>& covered() const { return covered_; }

 private:
  Value layer(ProgramBuilder& b, const Normalization& n) const {
    const Dims& shape = *site_.inference.of(n.output).shape;
    std::vector<std::int64_t> sizes;
    for (std::size_t d = n.kept.size(); d < shape.size(); ++d) sizes.push_back(shape[d].concrete());
    std::vector<Value> inputs{b.input(site_.name(n.input)), b.reshape(b.input(site_.name(n.scale)), sizes)};
    if (n.shift.exists()) inputs.push_back(b.reshape(b.input(site_.name(n.shift)), sizes));
    return b.op("LayerNormalization", inputs,
                with({{"axis", static_cast<std::int64_t>(n.kept.size())}, {"epsilon", n.epsilon}}));
  }

  // The two axes that are kept come first.
  Value instance(ProgramBuilder& b, const Normalization& n) const {
    const Dims& shape = *site_.inference.of(n.output).shape;
    std::vector<std::int64_t> order(n.kept.begin(), n.kept.end());
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (std::ranges::find(n.kept, d) == n.kept.end()) order.push_back(static_cast<std::int64_t>(d));
    const std::int64_t channels = shape[n.kept[1]].concrete();
    const auto along_channels = [&](Value constant, float otherwise) {
      if (constant.exists()) return b.reshape(b.input(site_.name(constant)), {channels});
      return b.constant(Tensor::of(ElementType::Float, {channels},
                                   std::vector<float>(static_cast<std::size_t>(channels), otherwise)));
    };
    const Value y = b.op("InstanceNormalization",
                         {turned(b, n.input, order), along_channels(n.scale, 1), along_channels(n.shift, 0)},
                         with({{"epsilon", n.epsilon}}));
    return b.transpose(y, inverse_order(order));
  }

  // As ONNX Runtime sees it: optimizer/layer_norm_fusion.cc.
  bool is_fused_as_it_is(const Normalization& n) const {
    std::multiset<std::string> operators;
    for (const NodeId id : n.nodes) operators.insert(site_.node(id).op);
    for (const char* square : {"Pow", "Mul"})
      for (const bool has_shift : {true, false}) {
        std::multiset<std::string> known{"ReduceMean", "Sub",  square, "ReduceMean",
                                         "Add",        "Sqrt", "Div",  "Mul"};
        if (has_shift) known.insert("Add");
        if (operators == known) return true;
      }
    return false;
  }

  // A value with its axes in this order; of one that is turned already, what it was.
  Value turned(ProgramBuilder& b, Value v, std::vector<std::int64_t> order) const {
    if (const auto transpose = site_.made_by(v, "Transpose")) {
      const auto before = attribute(site_.node(*transpose), "perm", std::vector<std::int64_t>{});
      if (before.size() == order.size()) {
        for (std::int64_t& d : order) d = before[static_cast<std::size_t>(d)];
        v = site_.node(*transpose).inputs[0];
      }
    }
    return b.transpose(b.input(site_.name(v)), order);
  }

  // Whether the next factor differs along what is reduced: a LayerNormalization, which runtimes see.
  bool is_of_a_layer(const Normalization& n) const {
    const auto reader = site_.only_reader(n.output);
    if (!reader || !site_.is(*reader, "Mul")) return false;
    for (const Value& v : site_.node(*reader).inputs) {
      const auto sizes = site_.is_constant(v) ? site_.concrete_sizes(v) : std::nullopt;
      if (!sizes || element_count(*sizes) == 1) continue;
      const std::size_t offset = site_.rank(n.output) - std::min(sizes->size(), site_.rank(n.output));
      for (std::size_t d = 0; d < sizes->size(); ++d)
        if ((*sizes)[d] != 1 && d + offset != n.kept[0] && d + offset != n.kept[1]) return true;
    }
    return false;
  }

  const Site& site_;
  const Normalizations normalizations_;
  Proposals& out_;
  std::set<NodeId> covered_;
};

}  // namespace

std::set<NodeId> propose_normalizations(const Site& site, Proposals& out) {
  SpelledNormalizations normalizations(site, out);
  for (const NodeId id : std::views::reverse(site.graph.order()))
    if (site.node(id).kind == NodeKind::Operator) normalizations.look_at({id, 0});
  return normalizations.covered();
}

}  // namespace isomer
