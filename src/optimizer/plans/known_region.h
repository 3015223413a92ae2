// A region of a model without reference to the model: values renamed (x0: an input, w0: a large constant, of
// which only type, extents and sign are known, k0: a constant by its elements, v0: a computed value), in a
// canonical order; and its key, which renamed values, reordered nodes, other weights and other names of
// extents do not change.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "model/graph/graph.h"

namespace isomer {

struct KnownRegion {
  Graph graph;  // without large constants: they are inputs
  // Known facts about inputs that are large constants: whether all of their elements are positive, and how
  // many constants of the region equal this one, byte by byte.
  struct Constant {
    bool positive = false;
    int same = 1;
  };
  std::map<std::string, Constant> constants;
};

struct Renamed {
  KnownRegion region;
  std::map<std::string, std::string> names;  // of the model's values: those of the region
};

// Error: it has what a program may not have (io/onnx/program.h), or the type of an input is not known.
Result<Renamed> known_region(const Graph& region);

// 32 digits.
std::string key_of(const KnownRegion& region);

}  // namespace isomer
