#include "model/graph/crossings.h"

#include <algorithm>

namespace isomer {

std::vector<Crossing> crossings(const GraphIndex& index, const std::map<NodeId, std::size_t>& places,
                                const std::set<NodeId>& constants) {
  std::vector<Crossing> out;
  for (const auto& [value, readers] : index.all_readers()) {
    if (constants.contains(value.node)) continue;
    const auto made = places.find(value.node);
    std::size_t last = 0;
    for (const NodeId r : readers)
      if (const auto at = places.find(r); at != places.end()) last = std::max(last, at->second);
    const std::size_t first = made == places.end() ? 0 : made->second + 1;
    if (last >= first) out.push_back({.value = value, .first = first, .last = last});
  }
  return out;
}

}  // namespace isomer
