// Machine: what proposers may know of the runtime and the processor that will run a model. By itself it knows
// nothing and has estimates; search/observed_machine.h asks the real one.
#pragma once

#include <optional>

#include "graph/infer.h"

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

class Machine {
 public:
  virtual ~Machine();
  Machine() = default;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  const Prices& prices() const { return prices_; }
  // Whether this convolution is computed in the runtime's blocked layout; nullopt: not known.
  virtual std::optional<bool> is_blocked(const Graph& graph, const Inference& inference,
                                         NodeId convolution) const;
  // How many elements change their layout around this node, if what it reads comes from convolutions in the
  // blocked layout and what it makes goes to such.
  virtual double reordered(const Graph& graph, const Inference& inference, NodeId node) const;

 protected:
  Prices prices_;
};

const Machine& unknown_machine();

}  // namespace isomer
