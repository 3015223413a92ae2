// Reductions and look-ups over strips. Internal to Program.
#pragma once

#include "model/eval/strip_nodes.h"

namespace isomer::strip_nodes {

// Odometer over the axes of a reduction; f runs at every point, with the slots set.
struct ReductionLoops {
  std::vector<std::pair<int, std::int64_t>> axes;  // slot, extent
  template <class F>
  void run(StripState& state, F&& f) const {
    for (const auto& [slot, extent] : axes) {
      if (extent <= 0) return;
      state.slots[static_cast<std::size_t>(slot)] = 0;
    }
    for (;;) {
      f();
      std::size_t k = axes.size();
      while (k > 0) {
        auto& value = state.slots[static_cast<std::size_t>(axes[k - 1].first)];
        if (++value < axes[k - 1].second) break;
        value = 0;
        --k;
      }
      if (k == 0) return;
    }
  }
};

// Sums add up blocks of kBlock terms first, so that a float's error grows with the square root of the length
// at most.
template <class T>
class ReduceNode final : public RegisterNode<T> {
 public:
  ReduceNode(StripCompiler& compiler, const ExprNode& expr, ReductionLoops loops)
      : RegisterNode<T>(compiler),
        reduction_(expr.reduction),
        loops_(std::move(loops)),
        domain_(expr.domain, compiler),
        body_(compiler.compile(*expr.args[0])) {}

  const void* run(StripState& state) const override {
    T* out = this->out(state);
    std::fill_n(out, state.length, reduction_start<T>(reduction_));
    switch (reduction_) {
      case Reduction::Sum: accumulate<Fn::Add>(state, out); break;
      case Reduction::Product: accumulate<Fn::Mul>(state, out); break;
      case Reduction::Max: accumulate<Fn::Max>(state, out); break;
      case Reduction::Min: accumulate<Fn::Min>(state, out); break;
    }
    return out;
  }

 private:
  static constexpr int kBlock = 128;

  template <Fn step>
  void accumulate(StripState& state, T* out) const {
    constexpr bool ordered =
        scalar::Finite<T> &&
        (step == Fn::Max || step == Fn::Min);  // no identity mod p: the first term starts
    constexpr bool blocked = step == Fn::Add && std::floating_point<T>;
    std::array<std::uint8_t, ordered ? kStripLength : 1> started{};
    std::array<T, blocked ? kStripLength : 1> block;
    if constexpr (blocked) std::fill_n(block.begin(), state.length, T{});
    T* into = out;
    if constexpr (blocked) into = block.data();
    int in_block = 0;
    StripRange range;
    loops_.run(state, [&] {
      domain_.range(state, range);
      if (range.empty()) return;
      const auto* values = static_cast<const T*>(body_->run(state));
      for (int i = range.low; i < range.high; ++i) {
        if (!range.holds(i)) continue;
        if constexpr (ordered) {
          if (std::exchange(started[static_cast<std::size_t>(i)], std::uint8_t{1}) == 0) {
            into[i] = values[i];
            continue;
          }
        }
        into[i] = scalar::binary<step>(into[i], values[i], state.scalar);
      }
      if (blocked && ++in_block == kBlock) {
        for (int i = 0; i < state.length; ++i) {
          out[i] = scalar::binary<Fn::Add>(out[i], into[i], state.scalar);
          into[i] = T{};
        }
        in_block = 0;
      }
    });
    if (blocked)
      for (int i = 0; i < state.length; ++i) out[i] = scalar::binary<Fn::Add>(out[i], into[i], state.scalar);
  }

  Reduction reduction_;
  ReductionLoops loops_;
  LoopDomain domain_;
  NodePtr body_;
};

// Σ_v [v = e] · value: the value at v = e, where e has to be one of v's values.
template <class T, class E>
class LookupNode final : public StripNode {
 public:
  LookupNode(StripCompiler& compiler, NodePtr at, int slot, std::int64_t extent, NodePtr value)
      : at_(std::move(at)), slot_(slot), extent_(extent), value_(std::move(value)), register_(compiler) {}
  const void* run(StripState& state) const override {
    const auto* at = static_cast<const E*>(at_->run(state));
    std::int64_t* lanes = register_.lanes(state);
    for (int i = 0; i < state.length; ++i) {
      lanes[i] = static_cast<std::int64_t>(at[i]);
      if (lanes[i] < 0 || lanes[i] >= extent_) {
        state.looked_outside = true;
        lanes[i] = 0;
      }
    }
    auto& lane = state.lanes[static_cast<std::size_t>(slot_)];
    lane = lanes;
    const void* out = value_->run(state);
    lane = nullptr;
    return out;
  }

 private:
  struct Lanes final : RegisterNode<std::int64_t> {
    using RegisterNode<std::int64_t>::RegisterNode;
    std::int64_t* lanes(StripState& state) const { return this->out(state); }
    const void* run(StripState&) const override { return nullptr; }
  };
  NodePtr at_;
  int slot_;
  std::int64_t extent_;
  NodePtr value_;
  Lanes register_;
};

}  // namespace isomer::strip_nodes
