// The operations on the sums of a tile, a vector at a time. Internal to emit_tile.cpp.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/emit/nest_writer.h"

namespace isomer::lower {

class TileEnd {
 public:
  explicit TileEnd(NestWriter& out) : out_(out), columns_(out.nest().tile->columns) {}

  // Whether it can be computed, and stored, by vectors along the tile's columns.
  bool goes_by_vectors() const;
  // Defines `end_of`, a function of where a vector of sums is.
  void define_function();

 private:
  bool is_along_columns(int buffer, const std::vector<Index>& at) const;
  bool can_compute(const ExprNode& e) const;
  std::string value(const ExprNode& e);
  std::string read(const ExprNode& e);
  std::string apply(const ExprNode& e);

  NestWriter& out_;
  const Axis& columns_;
  std::unordered_map<const ExprNode*, std::string> known_;
};

}  // namespace isomer::lower
