#include "kernel/prove/flush.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>

#include "model/graph/constant.h"
#include "model/graph/names.h"
#include "model/graph/rebuild.h"

namespace isomer {
namespace {

// The tensor without its denormal numbers, which are counted.
Tensor flushed(const Tensor& tensor, std::uint64_t& count) {
  std::vector<float> values(tensor.as<float>().begin(), tensor.as<float>().end());
  for (float& value : values) {
    if (!is_denormal(value)) continue;
    value = 0;
    ++count;
  }
  return Tensor::of(ElementType::Float, tensor.extents(), values);
}

}  // namespace

bool is_denormal(float value) { return value != 0 && std::abs(value) < std::numeric_limits<float>::min(); }

Result<Flushed> flush_denormals(const Graph& graph, const std::vector<std::string>& constants) {
  const ValuesByName names = values_by_name(graph);
  Flushed out;
  std::map<std::string, Tensor> made;
  for (const std::string& name : constants) {
    const auto at = names.find(name);
    const auto tensor = at == names.end() ? std::nullopt : known_constant(graph, at->second);
    if (!tensor || tensor->type() != ElementType::Float)
      return Error{fmt::format("{} is no constant of float32 numbers", name)};
    if (!made.contains(name)) made.emplace(name, flushed(*tensor, out.numbers));
  }
  out.graph = with_changed_nodes(graph, [&](Node& node) {
    const auto at = node.outputs.size() == 1 ? made.find(node.outputs[0]) : made.end();
    if (at == made.end()) return;
    if (node.kind == NodeKind::Initializer) {
      node.tensor = at->second;
      return;
    }
    node.attributes = {};
    node.attributes.set("value", at->second);
  });
  return out;
}

}  // namespace isomer
