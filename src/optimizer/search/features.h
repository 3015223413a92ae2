// Features: what a graph is made of, in numbers and in blocks that other graphs may have, too. For the prior
// (prior.h), which knows what paid for graphs that look alike.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "model/graph/infer.h"

namespace isomer {

struct Features {
  // "nodes"; "depth": the longest way through them, as a share of all; "branching": the share of values that
  // are read more than once; "intensity": what the graph costs by the analytic price, for each element that
  // it computes; "share.Conv", ...: of each operator among the nodes.
  std::map<std::string, double> numbers;
  // A block is an operator with those that it reads, two steps back: "Relu(Conv1x1(Concat))". Neither names
  // nor sizes nor weights; how often each is there.
  std::map<std::string, int> blocks;
};

// Of what computes numbers from the graph's inputs: shapes, indices and constants are left out.
Features features_of(const Graph& graph, const Inference& inference);

// A block as a file names it: eight hexadecimal digits.
std::string block_hash(std::string_view block);

}  // namespace isomer
