// What is computed a few steps before every node, as a digest: equal layers of a model have equal ones, so
// that who found nothing in one layer need not look at the others.
#pragma once

#include <unordered_map>

#include "base/hash.h"
#include "optimizer/facts/site.h"

namespace isomer {

class Surroundings {
 public:
  // So many steps back. Large constants count by type and shape; small ones by their elements.
  Surroundings(const Site& site, int steps);
  Digest of(NodeId node) const { return digests_.at(node); }

 private:
  std::unordered_map<NodeId, Digest> digests_;
};

}  // namespace isomer
