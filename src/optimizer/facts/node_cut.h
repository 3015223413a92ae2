// One node of which only some positions are needed: which of its output it can compute alone, and what that
// reads. Read off its formula: axes that it follows one to one, windows, and movement of data.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "optimizer/facts/positions.h"
#include "optimizer/facts/site.h"

namespace isomer {

// A choice of positions that is no list of numbers: computed indices, or a slice of an axis whose extent has
// a name. Over several axes together, it leaves the extents below, and they are the first of the value.
struct Choice {
  enum class Kind : std::uint8_t { Slice, Gather, GatherNd } kind = Kind::Slice;
  Dims extents = {};         // of the remaining part of each axis
  Value indices = {};        // Gather: of one axis, or of several as one; GatherNd: tuples
  std::int64_t column = -1;  // Gather: of tuples, the place of the index
  std::int64_t batch = 0;    // GatherNd: the number of axes that stay; each has its own tuples
  std::int64_t start = 0, end = 0, step = 1;  // Slice
  std::string key = {};                       // equal for those that choose alike
  std::size_t axes() const { return extents.size(); }
};

// The choices that a graph makes; equal ones have one number.
class Choices {
 public:
  int number(Choice selection);
  const Choice& at(int number) const { return list_[static_cast<std::size_t>(number)]; }

 private:
  std::map<std::string, int> numbers_;
  std::vector<Choice> list_;
};

// Along a spatial axis, position p of the output reads stride·p + dilation·k - pad for k < kernel;
// transposed, position i of the input is read by stride·i + dilation·k - pad.
struct WindowAxis {
  std::int64_t stride, dilation, kernel, pad, input, output;
  bool is_transposed = false;
};

struct NodeCut {
  enum class Kind : std::uint8_t {
    Copy,    // the same node, of less; windows may have other strides and pads
    Select,  // some positions of its input, maybe without axes of which one is left
    Gather,  // the same by indices, which may repeat and be in any order
    GatherNd,
    Pad,
    Concat,
    Reshape,  // the same elements in the same order
  };
  Kind kind = Kind::Copy;
  std::vector<std::optional<Needs>> outputs;            // the computed part of each; nullopt: no reader
  std::vector<std::optional<Needs>> inputs;             // what of each that reads; nullopt: nothing
  std::vector<std::optional<WindowAxis>> windows = {};  // Copy: per axis of the output
  // Copy: the new pads along an axis whose extent has a name.
  std::vector<std::optional<std::pair<std::int64_t, std::int64_t>>> pads = {};
  std::vector<Needs> parts = {};           // Select: per output, what it is of the input
  std::vector<std::int64_t> dropped = {};  // Select, Gather: axes of the input
  std::vector<std::int64_t> numbers = {};  // Gather: the indices, if they are known; Pad: the new pads
};

// Nodes of a graph whose values may be undefined, found at first use.
class PartialNodes {
 public:
  bool contains(const Site& site, NodeId id);

 private:
  std::optional<std::set<NodeId>> nodes_;
};

// `needed` per output: the positions that are read. The node computes these or more.
NodeCut cut_of(const Site& site, Choices& selections, PartialNodes& partial, NodeId id,
               const std::vector<std::optional<Needs>>& needed);

// The extents of the needed part.
Dims extents_of(const Dims& shape, const Needs& needs, const Choices& selections);

// The integers of a constant, or of a value that is known before the model runs.
std::optional<std::vector<std::int64_t>> known_integers(const Site& site, Value v);

}  // namespace isomer
