// Machine: known properties of the runtime and the processor that will run a model. It has only figures: code
// with a runtime measures it before prices are computed (optimizer/search/observed_machine.h); the default is
// an estimate.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "model/graph/infer.h"

namespace isomer {

// In operations of a matrix product.
struct Prices {
  double node = 2e4;       // run at all
  double element = 2;      // read or written
  double function = 1;     // a value of exp, tanh and their like
  double convolution = 1;  // an operation of a dense convolution in the blocked layout
  double unblocked = 1;    // of one that is not computed in it
  double depthwise = 1;    // of one of single channels
  double reordered = 0;    // an element brought into the blocked layout, or out of it
};

struct Machine {
  Prices prices = {};
  std::map<std::string, bool> blocked = {};                     // by convolution_kind
  std::map<std::string, double> reordered = {};                 // by layout_kind
  std::map<std::string, std::int64_t, std::less<>> sizes = {};  // of named extents, where a model is measured
};

const Machine& unknown_machine();

// The name of the kind that decides whether a convolution is computed in the runtime's blocked layout; "":
// its sizes are not known.
std::string convolution_kind(const Graph& graph, const Inference& inference, NodeId convolution);
// The name of the kind that decides which layouts a node reads and makes; "": it can't be between
// convolutions in the blocked layout, or is too large to try.
std::string layout_kind(const Graph& graph, const Inference& inference, NodeId node);
inline constexpr std::int64_t kBlockChannels = 16;  // a multiple of any processor's block

// Whether this convolution is computed in the runtime's blocked layout; nullopt: not known.
std::optional<bool> is_blocked(const Machine& machine, const Graph& graph, const Inference& inference,
                               NodeId convolution);
// How many elements change their layout around this node, if what it reads comes from convolutions in the
// blocked layout and what it makes goes to such; 0 where it is not known.
double reordered_elements(const Machine& machine, const Graph& graph, const Inference& inference,
                          NodeId node);

}  // namespace isomer
