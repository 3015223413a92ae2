// A nest whose value has a sum of products of two reads, while a scheduler changes it. Internal to tiler.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/loops/compose.h"
#include "compiler/loops/nest.h"
#include "compiler/schedule/packing.h"

namespace isomer::lower {

class ProductNest {
 public:
  // `right`: the buffer that has to be the right factor; below 0: any.
  ProductNest(Nest nest, Packing& packing, int right)
      : nest_(std::move(nest)), packing_(packing), wanted_right_(right) {}

  // Looks for the sum. False: there is none, or not of the right factor that is wanted.
  bool find();

  Nest& nest() { return nest_; }
  const Nest& nest() const { return nest_; }
  const ExprNode& sum() const { return *nest_.reduction; }
  bool is_left_first() const { return left_ == 0; }
  const ExprNode& left() const { return *sum().args[0]->args[left_]; }
  const ExprNode& right() const { return *right_ref(); }
  const ExprRef& right_ref() const { return sum().args[0]->args[1 - left_]; }
  const Storage& storage_of(const ExprNode& read) const { return packing_.storage(read.tensor.number); }
  // Where the factors and the target go.
  Index at_left() const { return address(left().tensor.number, left().at); }
  Index at_right() const { return address(right().tensor.number, right().at); }
  Index at_target() const { return address(nest_.target, nest_.at); }

  // Steps of a window that never meet the image, as far dilated ones don't, are left out.
  void trim_windows();
  // An output axis of which positions see the quotient by the size of a group becomes two.
  void split_groups();
  // Reduced axes that continue each other in the left factor become one.
  void merge_depth();
  // Fuses two axes of the nest, the outer and the inner.
  Axis fuse(const Axis& outer, const Axis& inner);
  void replace_left(const Expr& by);

 private:
  std::int64_t usual(const auto& what) const { return packing_.usual(what); }
  Index address(int buffer, const std::vector<Index>& at) const { return packing_.address(buffer, at); }
  void choose_sides();
  bool meets_image(const Axis& axis, std::int64_t step) const;
  std::optional<std::pair<Axis, std::int64_t>> quotient() const;
  void replace_axes(const AxisMap& by);
  void fuse_reduced(const Axis& outer, const Axis& inner);
  void reindex(std::vector<Axis> axes, const AxisMap& by);

  Nest nest_;
  Packing& packing_;
  int wanted_right_;
  std::size_t left_ = 0;  // among the product's factors
};

}  // namespace isomer::lower
