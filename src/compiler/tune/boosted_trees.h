// Boosted trees: small trees of which each predicts what those before it leave over. Trained in milliseconds
// on a few thousand rows; stored as lines of text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace isomer {

class BoostedTrees {
 public:
  struct Options {
    int trees = 120, depth = 3;
    std::size_t fewest = 3;  // rows of a leaf
    double rate = 0.12;
  };
  // All rows are equally long. Without rows it predicts 0.
  static BoostedTrees fitted(const std::vector<std::vector<double>>& rows, const std::vector<double>& values,
                             const Options& options);
  double predict(const std::vector<double>& row) const;

  std::string text() const;
  static Result<BoostedTrees> parse(std::string_view text);

 private:
  // Below the bound to the left; a leaf has feature -1.
  struct Node {
    int feature = -1;
    double bound = 0, value = 0;
    std::size_t left = 0, right = 0;
  };
  struct Grower;
  double base_ = 0;
  std::vector<std::vector<Node>> trees_;
};

}  // namespace isomer
