// Strips: an expression compiled to a tree of nodes, each of which computes up to kStripLength consecutive
// elements at once.
//
// Internal to Program. The interpreter's overhead is paid once per strip and node instead of once per
// element; loops over a strip are plain loops that the compiler vectorises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/eval/loop_index.h"
#include "model/eval/scalar.h"
#include "model/expr/expr.h"

namespace isomer {

constexpr int kStripLength = 256;  // a few registers of 2 KiB each stay in the first-level cache

// Where a tensor's elements are and how they are stored.
struct StoredTensor {
  const std::byte* data = nullptr;
  ElementType type = ElementType::Undefined;
};

// The state of a run. Programs are shared between threads, states are not.
struct StripState {
  std::vector<std::int64_t> slots;         // value of each axis; the strip's axis: its first value
  std::vector<const std::int64_t*> lanes;  // per slot: a value for every element of the strip, or null
  int length = 0;                          // elements in this strip
  std::vector<StoredTensor> inputs, stages;
  std::vector<std::byte> registers;
  ScalarContext scalar;
  bool looked_outside = false;  // a look-up left its tensor
};

class StripNode {
 public:
  StripNode() = default;
  StripNode(const StripNode&) = delete;
  StripNode& operator=(const StripNode&) = delete;
  virtual ~StripNode() = default;
  // `state.length` elements of the node's compute type, valid until the node runs again.
  virtual const void* run(StripState& state) const = 0;
};

// Compiles expressions whose axes have slots; reductions inside get slots of their own.
class StripCompiler {
 public:
  StripCompiler(std::vector<ElementType> input_types, std::vector<ElementType> stage_types);
  int slot_of(const Axis& axis);  // makes one where there is none
  void set_strip_axis(const Axis& axis) {
    strip_slot_ = slot_of(axis);
    strip_extent_ = axis.extent.concrete();
  }
  std::unique_ptr<StripNode> compile(const ExprNode& expr);
  // A state with room for all that was compiled.
  StripState fresh_state() const;
  int strip_slot() const { return strip_slot_; }
  std::int64_t strip_extent() const { return strip_extent_; }

  // For the nodes' constructors.
  LoopIndex index(const Index& index) const { return {index, slots_}; }
  // Room for a strip of elements of this size, aligned for vectors; returns where it begins.
  std::size_t take_register(std::size_t element_bytes) {
    const std::size_t at = register_bytes_;
    register_bytes_ += kStripLength * element_bytes;
    return at;
  }
  bool is_lane(int slot) const { return lane_slots_[static_cast<std::size_t>(slot)]; }
  bool mentions_lane(const LoopIndex& index) const;
  void set_lane(int slot, bool lane) { lane_slots_[static_cast<std::size_t>(slot)] = lane; }
  ElementType stored_type(TensorRef tensor) const;

 private:
  std::unique_ptr<StripNode> compile_read(const ExprNode& expr);
  std::unique_ptr<StripNode> compile_apply(const ExprNode& expr);
  std::unique_ptr<StripNode> compile_reduce(const ExprNode& expr);

  std::vector<ElementType> input_types_, stage_types_;
  Slots slots_;
  std::vector<bool> lane_slots_;
  int strip_slot_ = -1;
  std::int64_t strip_extent_ = 0;
  std::size_t register_bytes_ = 0;
};

}  // namespace isomer
