// A digest of the computation a few steps before every node: equal layers of a model have equal digests, so a
// failed search in one layer need not be repeated in the others.
#pragma once

#include <unordered_map>

#include "base/hash.h"
#include "optimizer/facts/site.h"

namespace isomer {

class Surroundings {
 public:
  // The number of steps back. Large constants count by type and shape; small ones by their elements.
  Surroundings(const Site& site, int steps);
  Digest of(NodeId node) const { return digests_.at(node); }

 private:
  std::unordered_map<NodeId, Digest> digests_;
};

}  // namespace isomer
