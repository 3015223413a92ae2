// Change: the effect of a step, as values: which operators became which, at which place, by which proposer.
// Its text is made only here, and no code parses it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/graph/graph.h"

namespace isomer {

struct CountedOperator {
  std::string op;  // "Conv"
  int count = 1;
  std::string size = {};  // of the kernel, where all of them have the same: "3×3"
};

struct Change {
  std::string kind;                                      // the proposer's name
  std::vector<CountedOperator> before = {}, after = {};  // in the order of their first nodes
  std::string where = {};  // the first value that is replaced; "": nothing is, only folded or widened
};

// The operators of these nodes, in their order.
std::vector<CountedOperator> count_operators(const Graph& graph, const std::vector<NodeId>& nodes);

// "collapse: Conv+Add -> Conv": steps with the same label have similar gains. An opaque key: it is not
// parsed.
std::string label_of(const Change& change);

// "3 convolutions and an addition → one 3×3 convolution", and what the proposer adds to it. The same for
// equal changes at other places.
std::string describe(const Change& change);
// The same with its place: "..., at stages.0/Add".
std::string describe_at(const std::string& words, std::string_view where);

// A value as a viewer shows it: without the slash and the number that exporters add, and not too long.
std::string short_name(std::string_view name);

}  // namespace isomer
