// A constant whose numbers are those of other constants, moved: concatenated, cut, padded with zeros, turned,
// strided, reshaped, repeated. Found by looking where its numbers occur; proposed as a program that moves
// them.
#pragma once

#include <optional>
#include <vector>

#include "model/graph/graph.h"

namespace isomer {

class MovedConstants {
 public:
  // `preferred` are those of the sources of which products with numbers are looked for, too.
  MovedConstants(const std::vector<Tensor>& sources, const std::vector<Tensor>& preferred);

  // A program without inputs that computes `wanted` from some of the sources; nullopt: none was found.
  std::optional<Graph> find(const Tensor& wanted, const Opsets& opsets) const;

  // A constant, or its product with a number, or quotient by it.
  struct Source {
    Tensor numbers, constant;
    std::optional<Tensor> factor = {};
    bool divides = false;
  };

 private:
  std::optional<Graph> find_repeated(const Tensor& wanted, const Opsets& opsets) const;
  std::vector<Source> plain_, products_;
};

}  // namespace isomer
