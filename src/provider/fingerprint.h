// The identity of a model: a digest of the graph that the runtime shows, from any source. It covers what the
// graph computes: names of inputs and outputs, operators, attributes, the bytes of all weights. Names inside
// the graph, the order of its nodes and its metadata do not count.
#pragma once

#include <set>
#include <string>

#include "provider/ort.h"

namespace isomer::provider {

struct Fingerprint {
  std::string digest;
  std::set<std::string> used_inputs;  // those of the graph's that a node reads
  std::set<std::string> outputs;      // those of the graph's that a node computes
};

// An operator of another domain than the runtime's own: maybe a function of the model, whose body no API
// shows.
class UnknownOperator : public Reason {
 public:
  using Reason::Reason;
};

// Throws a Reason if the graph has something that the API does not show.
Fingerprint fingerprint_of(const Ort& ort, const OrtGraph* graph);

}  // namespace isomer::provider
