// Sixteen elements along a nest's vector loop at once, or fewer: reads that are next to each other, or the
// same. Internal to emit_reduction.cpp.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/emit/nest_writer.h"

namespace isomer::lower {

class LaneWriter {
 public:
  LaneWriter(NestWriter& out, const Axis& lane) : out_(out), lane_(lane) {}

  const Axis& lane() const { return lane_; }
  std::string value(const ExprNode& e);
  // Whether what becomes of sums of lanes can be computed, and stored, by lanes, too.
  bool can_finish() const;

  // Steps of a window that add nothing are skipped in the loop of the sum that knows it, one of the blocks
  // from `first` to `end`: those outside of the sum's domain, and, of a sum of products, those that are zero
  // since a factor is read outside of its tensor.
  void skip_outside(const ExprNode& reduction, std::size_t first, std::size_t end);
  // Conditions but those that are known to hold, since others are skipped; "": always.
  std::string holds(const Domain& domain);
  void end_loops() { known_.clear(); }

 private:
  std::string read(const ExprNode& e);
  std::optional<Axis> axis_along() const;
  bool goes_along(int buffer, const std::vector<Index>& at) const;
  bool can_compute(const ExprNode& e) const;
  bool can_read(const ExprNode& e) const;

  NestWriter& out_;
  Axis lane_;
  std::set<std::string> known_;  // conditions that hold in the loops of a sum
};

}  // namespace isomer::lower
