#include "optimizer/facts/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/graph/constant.h"
#include "model/graph/content.h"

namespace isomer {
namespace {

constexpr std::int64_t kMostElements = 1 << 20;  // of a value that is tried

std::string spell(const Node& node) {
  Hasher hasher;
  add_content(hasher, node.attributes, ContentDigests::Full);
  const Digest digest = hasher.digest();
  return fmt::format("{} {:x}.{:x}", node.op, digest.high, digest.low);
}

std::optional<Extents> extents_of(const Inference& inference, Value v) {
  return concrete_shape(inference.of(v));
}

// Images with channels that fill blocks, not too large to try.
bool fills_blocks(const std::optional<Extents>& x) {
  if (!x || x->size() != 4 || (*x)[1] % kBlockChannels != 0) return false;
  const auto count = element_count(*x);
  return count && *count > 0 && *count <= kMostElements;
}

}  // namespace

const Machine& unknown_machine() {
  static const Machine machine;
  return machine;
}

std::string convolution_kind(const Graph& graph, const Inference& inference, NodeId convolution) {
  const Node& node = graph.node(convolution);
  const auto x = extents_of(inference, node.inputs[0]), w = extents_of(inference, node.inputs[1]);
  if (!x || !w || x->size() != w->size() || x->size() < 3) return "";
  return fmt::format("{} {}", spell(node), fmt::join(*w, ","));
}

std::string layout_kind(const Graph& graph, const Inference& inference, NodeId id) {
  const Node& node = graph.node(id);
  const auto made = extents_of(inference, {id, 0});
  if (node.op == "Conv" || node.outputs.size() != 1 || !fills_blocks(made)) return "";
  std::string kind = fmt::format("{} {}", spell(node), fmt::join(*made, ","));
  bool has_image = false;
  for (const Value& v : node.inputs) {
    const auto constant = v.exists() ? known_constant(graph, v) : std::nullopt;
    if (constant) kind += fmt::format(" constant {}", fmt::join(constant->extents(), ","));
    if (!v.exists() || constant) continue;
    const auto x = extents_of(inference, v);
    if (!fills_blocks(x) || inference.of(v).type != ElementType::Float) return "";
    kind += fmt::format(" {}", fmt::join(*x, ","));
    has_image = true;
  }
  return has_image ? kind : "";
}

std::optional<bool> is_blocked(const Machine& machine, const Graph& graph, const Inference& inference,
                               NodeId convolution) {
  if (machine.blocked.empty()) return std::nullopt;
  const auto known = machine.blocked.find(convolution_kind(graph, inference, convolution));
  return known == machine.blocked.end() ? std::nullopt : std::optional(known->second);
}

double reordered_elements(const Machine& machine, const Graph& graph, const Inference& inference,
                          NodeId node) {
  if (machine.reordered.empty()) return 0;
  const auto known = machine.reordered.find(layout_kind(graph, inference, node));
  return known == machine.reordered.end() ? 0 : known->second;
}

}  // namespace isomer
