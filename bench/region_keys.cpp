// The lookups of models in a store of plans: their anchors and regions, as digests (bench/scale.py).
//   isomer-region-keys MODEL
// One line of JSON: operators, digests of anchors (each a lookup) and of the regions that a search by regions
// takes one by one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "io/onnx/model.h"
#include "model/graph/constant.h"
#include "optimizer/plans/places.h"
#include "optimizer/search/regions.h"

namespace isomer {
namespace {

constexpr int kMostNodes = 40;  // as optimizer/search/region_search.cpp takes them

int run(const char* path) {
  const auto model = read_model(path);
  if (!model.ok()) {
    fmt::print(stderr, "{}\n", model.error().message);
    return 2;
  }
  const auto piece = Workpiece::of(model->graph);
  if (!piece.ok()) {
    fmt::print(stderr, "{}\n", piece.error().message);
    return 2;
  }
  std::vector<std::string> anchors, regions;
  for (const NodeId id : piece->graph().order()) {
    const Node& node = piece->graph().node(id);
    if (node.kind == NodeKind::Operator && !is_constant_node(node))
      anchors.push_back(anchor_of(piece->graph(), piece->inference(), id));
  }
  for (const RegionPlace& place : partition(*piece, kMostNodes, false))
    if (const auto known = known_region(place.graph); known.ok())
      regions.push_back(key_of(known->region).substr(0, 16));
  fmt::print("{{\"operators\": {}, \"anchors\": [\"{}\"], \"regions\": [\"{}\"]}}\n", anchors.size(),
             fmt::join(anchors, "\", \""), fmt::join(regions, "\", \""));
  return 0;
}

}  // namespace
}  // namespace isomer

int main(int argc, char** argv) { return argc == 2 ? isomer::run(argv[1]) : 2; }
