// Nodes of a graph again, in a claim's program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "optimizer/facts/site.h"

namespace isomer {

// In this order, each with one output, on the copies of its inputs; `made` gets their results.
void copy_nodes(ProgramBuilder& b, const Site& site, const std::vector<NodeId>& nodes,
                std::map<Value, Value>& made);

// The nodes that compute only from this value and constants, without matrices, in the graph's order: a
// normalization that is written out, a function.
std::vector<NodeId> computed_from(const Site& site, Value value);

// Values that were made again and that other nodes read, or the graph's user, and what was made of them.
struct ReadElsewhere {
  std::vector<Value> replaced, by;
};
ReadElsewhere read_elsewhere(const Site& site, const std::map<Value, Value>& made);

// A program's nodes in another one, which is for this site: what the site has is read by its name, but for
// what was made in its place. The program's one output there.
Value append_program(ProgramBuilder& b, const Site& site, const Graph& program,
                     const std::map<std::string, Value>& made = {});

// The same for a program that reads values of `inner`, which itself reads the site's: what `inner` computes
// of them comes first.
Value append_program(ProgramBuilder& b, const Site& site, const Graph& inner, const Graph& program);

}  // namespace isomer
