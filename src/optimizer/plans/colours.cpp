#include "optimizer/plans/colours.h"

#include <algorithm>
#include <map>
#include <set>

#include "kernel/prove/facts.h"
#include "kernel/prove/prove.h"
#include "model/graph/constant.h"
#include "model/graph/content.h"

namespace isomer {
namespace {

// The first word of each kind's digest, so that no two kinds are confused.
enum class Start : std::uint8_t { Input, Symbol, Constant, Operator, Node, Reader, Extent };

Hasher start(Start kind) {
  Hasher hasher;
  hasher.add(static_cast<int>(kind));
  return hasher;
}

class Refinement {
 public:
  Refinement(const Graph& graph, const std::function<std::string(NodeId)>& label)
      : graph_(graph), label_(label) {
    for (const NodeId id : graph.order()) {
      const auto constant = known_constant(graph, {id, 0});
      if (constant) constants_.insert(id);
      labels_[id] = colours_[id] = constant ? label_of(*constant) : label_of(id);
      for (std::size_t k = 0; k < graph.node(id).inputs.size(); ++k)
        if (const Value v = graph.node(id).inputs[k]; v.exists()) reads_[v.node].push_back({id, k, v.output});
    }
    for (const Value& v : graph.outputs()) outputs_[v.node].insert(v.output);
  }

  std::unordered_map<NodeId, Digest> run() {
    for (std::size_t seen = 0;;) {
      refine();
      std::set<Digest> different;
      for (const auto& [id, colour] : colours_) different.insert(colour);
      if (different.size() == seen) return colours_;
      seen = different.size();
    }
  }

 private:
  struct Read {
    NodeId by;
    std::size_t place;
    std::uint32_t output;
  };

  Digest label_of(const Tensor& t) const {
    Hasher hasher = start(is_symbol(t) ? Start::Symbol : Start::Constant);
    if (is_symbol(t)) {
      hasher.add(static_cast<int>(t.type()));
      for (const std::int64_t extent : t.extents()) hasher.add(extent);
      hasher.add(all_positive(t) ? 1 : 0);
    } else {
      add_content(hasher, t, ContentDigests::Full);
    }
    return hasher.digest();
  }
  Digest label_of(NodeId id) const {
    const Node& node = graph_.node(id);
    Hasher hasher = start(node.kind == NodeKind::Operator ? Start::Operator : Start::Input);
    if (node.kind == NodeKind::Operator) add_call(hasher, graph_, node);
    else hasher.add(static_cast<int>(node.declared.type));
    hasher.add(std::string_view(label_(id)));
    return hasher.digest();
  }

  void refine() {
    color_extents();
    std::unordered_map<NodeId, Digest> next;
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      Hasher hasher = start(Start::Node);
      hasher.add(labels_.at(id)).add(colours_.at(id));
      if (node.kind == NodeKind::Input) add_extents(hasher, node.declared);
      if (!constants_.contains(id))
        for (const Value& v : node.inputs) {
          if (v.exists()) hasher.add(colours_.at(v.node)).add(std::uint64_t{v.output});
          else hasher.add(-1);
        }
      add_readers(hasher, id);
      next.emplace(id, hasher.digest());
    }
    colours_ = std::move(next);
  }
  void add_readers(Hasher& hasher, NodeId id) const {
    std::vector<Digest> readers;
    if (const auto at = reads_.find(id); at != reads_.end())
      for (const Read& r : at->second)
        readers.push_back(start(Start::Reader)
                              .add(colours_.at(r.by))
                              .add(std::uint64_t{r.place})
                              .add(std::uint64_t{r.output})
                              .digest());
    std::ranges::sort(readers);
    for (const Digest& d : readers) hasher.add(d);
    if (const auto at = outputs_.find(id); at != outputs_.end())
      for (const std::uint32_t output : at->second) hasher.add(std::uint64_t{output} + 1);
  }

  // Named extents are distinguished by their places, not by their names.
  void color_extents() {
    std::map<std::string, std::vector<Digest>, std::less<>> places;
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::Input || !node.declared.shape) continue;
      for (std::size_t axis = 0; axis < node.declared.shape->size(); ++axis)
        if (const auto& dim = (*node.declared.shape)[axis]; dim && !dim->is_concrete())
          for (const std::string& symbol : dim->symbols())
            places[symbol].push_back(
                start(Start::Extent).add(colours_.at(id)).add(std::uint64_t{axis}).digest());
    }
    extents_.clear();
    for (auto& [symbol, at] : places) {
      std::ranges::sort(at);
      Hasher hasher = start(Start::Extent);
      for (const Digest& d : at) hasher.add(d);
      extents_.emplace(symbol, Dim::symbol("s" + hasher.digest().hex()));
    }
  }
  void add_extents(Hasher& hasher, const DeclaredType& type) const {
    if (!type.shape) return;
    for (const auto& dim : *type.shape) {
      if (!dim) hasher.add(std::string_view("?"));
      else if (dim->is_concrete()) hasher.add(dim->concrete());
      else
        hasher.add(std::string_view(
            dim->substitute([&](std::string_view symbol) { return extents_.find(symbol)->second; }).text()));
    }
  }

  const Graph& graph_;
  const std::function<std::string(NodeId)>& label_;
  std::set<NodeId> constants_;
  std::unordered_map<NodeId, Digest> labels_, colours_;
  std::unordered_map<NodeId, std::vector<Read>> reads_;
  std::unordered_map<NodeId, std::set<std::uint32_t>> outputs_;
  std::map<std::string, Dim, std::less<>> extents_;
};

}  // namespace

bool is_symbol(const Tensor& constant) { return is_float(constant.type()) && !kByValue.takes(constant); }

void add_call(Hasher& hasher, const Graph& graph, const Node& node) {
  for (const std::string* text : {&node.op, &node.domain, &node.overload})
    hasher.add(std::string_view(*text));
  hasher.add(graph.opset(node.domain));
  add_content(hasher, node.attributes, ContentDigests::Full);
  hasher.add(std::uint64_t{node.inputs.size()});
  for (const Value& v : node.inputs) hasher.add(v.exists() ? 1 : 0);
  for (const std::string& output : node.outputs) hasher.add(output.empty() ? 0 : 1);
}

std::unordered_map<NodeId, Digest> colours(const Graph& graph,
                                           const std::function<std::string(NodeId)>& label) {
  return Refinement(graph, label).run();
}

}  // namespace isomer
