// Runs a graph on tensors, node by node, with each operator's formula: the reference that everything is
// compared with.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/graph/graph.h"

namespace isomer {

using NamedTensors = std::map<std::string, Tensor, std::less<>>;

enum class Arithmetic : std::uint8_t {
  Native,  // each type in its own arithmetic
  Double,  // floats of every width as double; casts to narrower ones round
  Field,   // floats as integers mod p
  // As double, but what jumps or becomes a narrower float is what Native makes of it, and goes on as that:
  // the digits of float64 where they are only digits (last_digits.h).
  Faithful,
  Certain,  // the same, and no value where runtimes need not agree on the digits that decide
};

// A node without a formula, or without a value that is certain, stops the run; that is not a fault of the
// model.
struct OpaqueNode {
  std::string node, op, reason;
};

struct RunOutcome {
  NamedTensors outputs;              // floats in the run's arithmetic
  std::optional<OpaqueNode> opaque;  // set: no outputs
};

// Feeds by input name, in the model's types; initializers need none. Values are freed after their last use,
// and nodes that no output depends on are not run. Error: feeds that don't fit the inputs; a node that no
// legal model has, or whose evaluation fails.
Result<RunOutcome> interpret(const Graph& graph, const NamedTensors& feeds,
                             Arithmetic arithmetic = Arithmetic::Native);

}  // namespace isomer
