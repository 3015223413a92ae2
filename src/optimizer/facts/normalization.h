// Regions that normalize one value along some of its axes, in any spelling: softmax and its logarithm along
// the last axis; (x - mean) / sqrt(variance + epsilon), with or without a factor and a shift. A region is
// recognised by its values. Untrusted: it only supports proposals.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "optimizer/facts/site.h"

namespace isomer {

struct Normalization {
  enum class Kind : std::uint8_t {
    Softmax,
    LogSoftmax,
    Instance,  // moments over all axes but two, of which the second has a factor and a shift
    Layer,     // moments over the last axes, which have a factor and a shift
  };
  Kind kind = Kind::Softmax;
  Value input, output;
  std::vector<NodeId> nodes;
  std::vector<std::size_t> kept;  // axes, the others are reduced
  float epsilon = 0;
  Value scale = Value::none(), shift = Value::none();  // constants; none: 1 and 0
};

class Normalizations {
 public:
  // The site must outlive this.
  explicit Normalizations(const Site& site);
  // The normalization that ends in this value; nullopt: there is none, or its sizes are not known.
  std::optional<Normalization> ending_in(Value output) const;

 private:
  // The role of a node in one.
  struct Part {
    bool is_element_wise = false;  // or a view
    std::vector<bool> reduced;     // per axis of its input; empty: it reduces nothing
  };
  struct Region {
    Value input;
    std::vector<NodeId> nodes;
    std::vector<bool> reduced;
  };
  std::vector<Region> regions(Value output) const;
  std::optional<Normalization> normalization(const Region& region, Value output) const;

  const Site& site_;
  std::map<NodeId, Part> parts_;
  bool has_reductions_ = false;
};

}  // namespace isomer
