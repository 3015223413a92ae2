// isomer-value-shapes MODEL [SYMBOL=VALUE,...]...: every value of the main graph with its inferred type and
// shape, as JSON, for tests/evidence/shapes.py to compare with a runtime. For each list of sizes also the
// shape under it, where it follows: an extent that depends on values is null.
#include <cstdio>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/onnx/model.h"
#include "model/graph/infer.h"

namespace {

using Json = nlohmann::ordered_json;
using Sizes = std::map<std::string, std::int64_t, std::less<>>;

Sizes parse_sizes(const std::string& text) {
  Sizes sizes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size()), equal = text.find('=', at);
    sizes[text.substr(at, equal - at)] = std::stoll(text.substr(equal + 1, end - equal - 1));
    at = end + 1;
  }
  return sizes;
}

Json extents_at(const isomer::Dims& shape, const Sizes& sizes) {
  Json extents = Json::array();
  for (const isomer::Dim& dim : shape) {
    const auto value = dim.evaluate([&](std::string_view symbol) -> std::optional<std::int64_t> {
      const auto at = sizes.find(symbol);
      return at == sizes.end() ? std::nullopt : std::optional(at->second);
    });
    extents.push_back(value ? Json(*value) : Json());
  }
  return extents;
}

Json describe(const isomer::ValueInfo& info, const std::vector<Sizes>& sizes) {
  Json entry{{"type", name(info.type)}, {"shape", nullptr}};
  if (!info.shape) return entry;
  entry["shape"] = Json::array();
  for (const isomer::Dim& dim : *info.shape) entry["shape"].push_back(dim.text());
  for (const Sizes& one : sizes) entry["extents"].push_back(extents_at(*info.shape, one));
  return entry;
}

int refuse(const std::string& message) {
  std::fprintf(stderr, "isomer: %s\n", message.c_str());
  return 2;
}

int list_values(const std::string& path, const std::vector<Sizes>& sizes) {
  const auto model = isomer::read_model(path);
  if (!model.ok()) return refuse(model.error().message);
  const auto inference = isomer::infer(model->graph);
  if (!inference.ok()) return refuse(inference.error().message);
  Json all = Json::object();
  for (const isomer::NodeId id : model->graph.order()) {
    const isomer::Node& node = model->graph.node(id);
    if (node.kind != isomer::NodeKind::Operator) continue;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
      if (!node.outputs[k].empty()) {
        all[node.outputs[k]] = describe(inference->of({id, k}), sizes);
        all[node.outputs[k]]["op"] = node.op;
      }
  }
  std::printf("%s\n", all.dump().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return refuse("usage: isomer-value-shapes MODEL [SYMBOL=VALUE,...]...");
  try {
    std::vector<Sizes> sizes;
    for (int k = 2; k < argc; ++k) sizes.push_back(parse_sizes(argv[k]));
    return list_values(argv[1], sizes);
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
}
