// The kinds of StripNode, one per kind of expression. Internal to Program.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "algebra/strip_range.h"
#include "algebra/tensor.h"

namespace isomer::strip_nodes {

using NodePtr = std::unique_ptr<StripNode>;

// A pointwise function over compiled arguments; casts, of which there are many pairs, are compiled apart.
NodePtr make_function(StripCompiler& compiler, const ExprNode& expr, std::vector<NodePtr> args);
NodePtr make_cast(StripCompiler& compiler, ElementType from, ElementType to, NodePtr arg);

// A node that writes its elements into a register of the state.
template <class T>
class RegisterNode : public StripNode {
 public:
  explicit RegisterNode(StripCompiler& compiler) : register_(compiler.take_register(sizeof(T))) {}

 protected:
  T* out(StripState& state) const {
    return reinterpret_cast<T*>(state.registers.data() + register_);
  }

 private:
  std::size_t register_;  // where it begins
};

template <class T>
class NumberNode final : public StripNode {
 public:
  explicit NumberNode(T value) { values_.fill(value); }
  const void* run(StripState&) const override { return values_.data(); }

 private:
  std::array<T, kStripLength> values_;
};

template <class T>
class IndexNode final : public RegisterNode<T> {
 public:
  IndexNode(StripCompiler& compiler, const Index& index)
      : RegisterNode<T>(compiler), index_(compiler.index(index)), strip_slot_(compiler.strip_slot()) {}
  const void* run(StripState& state) const override {
    T* out = this->out(state);
    for_each_lane(state, strip_slot_, 0, state.length, [&](int i) { out[i] = static_cast<T>(index_.at(state.slots.data())); });
    return out;
  }

 private:
  LoopIndex index_;
  int strip_slot_;
};

// How elements are stored, and how they are loaded into the type that computes.
template <class T>
struct Plain {
  using Stored = T;
  static T load(Stored x) { return x; }
};
struct StoredBool {
  using Stored = std::uint8_t;
  static std::uint8_t load(Stored x) { return x != 0; }
};
struct StoredFloat16 {
  using Stored = std::uint16_t;
  static float load(Stored x) { return float16_to_float(x); }
};
struct StoredBFloat16 {
  using Stored = std::uint16_t;
  static float load(Stored x) { return bfloat16_to_float(x); }
};

// tensor[at], zero outside. Where every index changes evenly along the strip, one clipped strided copy; where floors and mods are
// of the strip's axis alone, by their tables; else each element by itself.
template <class T, class Storage>
class ReadNode final : public RegisterNode<T> {
 public:
  ReadNode(StripCompiler& compiler, const ExprNode& expr) : RegisterNode<T>(compiler), tensor_(expr.tensor), strip_slot_(compiler.strip_slot()) {
    std::int64_t stride = 1;
    for (std::size_t d = expr.at.size(); d-- > 0;) {
      LoopIndex index = compiler.index(expr.at[d]);
      LoopIndex rest = index;
      std::vector<std::int64_t> table = rest.take_table(strip_slot_, compiler.strip_extent());
      const auto slope = rest.slope(strip_slot_);
      if (!slope.has_value() || compiler.mentions_lane(index)) way_ = Way::Lanes;
      else if (!table.empty() && way_ == Way::Straight) way_ = Way::Tables;
      dims_.push_back({.index = std::move(index), .rest = std::move(rest), .table = std::move(table), .slope = slope.value_or(0),
                       .extent = expr.extents[d].concrete(), .stride = stride});
      stride = checked_multiply(stride, std::max<std::int64_t>(1, expr.extents[d].concrete()));
    }
  }

  const void* run(StripState& state) const override {
    const auto& source = (tensor_.kind == TensorRef::Kind::Input ? state.inputs : state.stages)[static_cast<std::size_t>(tensor_.number)];
    const auto* data = reinterpret_cast<const typename Storage::Stored*>(source.data);
    return way_ == Way::Lanes ? run_lanes(state, data) : run_strip(state, data);
  }

 private:
  enum class Way : std::uint8_t { Straight, Tables, Lanes };
  struct Dimension {
    LoopIndex index, rest;             // index = rest + table[strip]
    std::vector<std::int64_t> table;
    std::int64_t slope, extent, stride;  // slope: of the rest
  };

  const void* run_strip(StripState& state, const typename Storage::Stored* data) const {
    int low = 0, high = state.length;
    std::int64_t base = 0, step = 0;
    for (const Dimension& d : dims_) {
      const std::int64_t first = d.rest.at(state.slots.data()), last = first + d.slope * (state.length - 1);
      base += d.stride * first;
      step += d.stride * d.slope;
      if (d.table.empty() && (first < 0 || first >= d.extent || last < 0 || last >= d.extent)) clip(first, d.slope, d.extent, low, high);
    }
    if constexpr (std::same_as<Storage, Plain<T>>)
      if (way_ == Way::Straight && step == 1 && low == 0 && high == state.length) return data + base;
    T* out = this->out(state);
    std::fill(out, out + low, T{});
    if (way_ == Way::Tables) copy_by_tables(state, data, base, step, low, high, out);
    else if (step == 1)
      for (int i = low; i < high; ++i) out[i] = Storage::load(data[base + i]);
    else
      for (int i = low; i < high; ++i) out[i] = Storage::load(data[base + step * i]);
    std::fill(out + high, out + state.length, T{});
    return out;
  }

  void copy_by_tables(const StripState& state, const typename Storage::Stored* data, std::int64_t base, std::int64_t step, int low, int high, T* out) const {
    std::array<std::int64_t, kStripLength> offsets;
    std::array<std::uint8_t, kStripLength> inside;
    for (int i = low; i < high; ++i) {
      offsets[static_cast<std::size_t>(i)] = base + step * i;
      inside[static_cast<std::size_t>(i)] = 1;
    }
    const std::int64_t begin = state.slots[static_cast<std::size_t>(strip_slot_)];
    for (const Dimension& d : dims_) {
      if (d.table.empty()) continue;
      const std::int64_t first = d.rest.at(state.slots.data());
      for (int i = low; i < high; ++i) {
        const std::int64_t more = d.table[static_cast<std::size_t>(begin + i)], at = first + d.slope * i + more;
        offsets[static_cast<std::size_t>(i)] += d.stride * more;
        inside[static_cast<std::size_t>(i)] &= static_cast<std::uint8_t>(at >= 0 && at < d.extent);
      }
    }
    for (int i = low; i < high; ++i)
      out[i] = inside[static_cast<std::size_t>(i)] != 0 ? Storage::load(data[offsets[static_cast<std::size_t>(i)]]) : T{};
  }

  const void* run_lanes(StripState& state, const typename Storage::Stored* data) const {
    T* out = this->out(state);
    for_each_lane(state, strip_slot_, 0, state.length, [&](int i) {
      std::int64_t offset = 0;
      bool inside = true;
      for (const Dimension& d : dims_) {
        const std::int64_t at = d.index.at(state.slots.data());
        inside = inside && at >= 0 && at < d.extent;
        offset += d.stride * at;
      }
      out[i] = inside ? Storage::load(data[offset]) : T{};
    });
    return out;
  }

  TensorRef tensor_;
  int strip_slot_;
  Way way_ = Way::Straight;
  std::vector<Dimension> dims_;
};

template <class To, class From>
class UnaryNode final : public RegisterNode<To> {
 public:
  using Loop = void (*)(const From*, To*, int, ScalarContext&);
  UnaryNode(StripCompiler& compiler, NodePtr arg, Loop loop) : RegisterNode<To>(compiler), arg_(std::move(arg)), loop_(loop) {}
  const void* run(StripState& state) const override {
    To* out = this->out(state);
    loop_(static_cast<const From*>(arg_->run(state)), out, state.length, state.scalar);
    return out;
  }

 private:
  NodePtr arg_;
  Loop loop_;
};

template <class To, class From>
class BinaryNode final : public RegisterNode<To> {
 public:
  using Loop = void (*)(const From*, const From*, To*, int, ScalarContext&);
  BinaryNode(StripCompiler& compiler, NodePtr a, NodePtr b, Loop loop)
      : RegisterNode<To>(compiler), a_(std::move(a)), b_(std::move(b)), loop_(loop) {}
  const void* run(StripState& state) const override {
    To* out = this->out(state);
    const auto* a = static_cast<const From*>(a_->run(state));
    loop_(a, static_cast<const From*>(b_->run(state)), out, state.length, state.scalar);
    return out;
  }

 private:
  NodePtr a_, b_;
  Loop loop_;
};

template <class T>
class WhereNode final : public RegisterNode<T> {
 public:
  WhereNode(StripCompiler& compiler, NodePtr condition, NodePtr yes, NodePtr no)
      : RegisterNode<T>(compiler), condition_(std::move(condition)), yes_(std::move(yes)), no_(std::move(no)) {}
  const void* run(StripState& state) const override {
    T* out = this->out(state);
    const auto* condition = static_cast<const std::uint8_t*>(condition_->run(state));
    const auto* yes = static_cast<const T*>(yes_->run(state));
    const auto* no = static_cast<const T*>(no_->run(state));
    for (int i = 0; i < state.length; ++i) out[i] = condition[i] != 0 ? yes[i] : no[i];
    return out;
  }

 private:
  NodePtr condition_, yes_, no_;
};

// The first case whose domain holds. A case is run only where it is needed.
template <class T>
class CasesNode final : public RegisterNode<T> {
 public:
  CasesNode(StripCompiler& compiler, const ExprNode& expr) : RegisterNode<T>(compiler) {
    for (const ExprNode::Case& c : expr.cases) cases_.push_back({LoopDomain(c.when, compiler), compiler.compile(*c.value)});
    otherwise_ = compiler.compile(*expr.args[0]);
  }
  const void* run(StripState& state) const override {
    T* out = this->out(state);
    std::array<std::uint8_t, kStripLength> done;
    std::fill_n(done.begin(), state.length, std::uint8_t{0});
    int left = state.length;
    StripRange range;
    for (const auto& [domain, value] : cases_) {
      domain.range(state, range);
      if (range.empty()) continue;
      if (left == state.length && range.low == 0 && range.high == state.length && !range.marked) return value->run(state);
      const T* values = nullptr;
      for (int i = range.low; i < range.high; ++i) {
        auto& is_done = done[static_cast<std::size_t>(i)];
        if (is_done != 0 || !range.holds(i)) continue;
        if (values == nullptr) values = static_cast<const T*>(value->run(state));
        out[i] = values[i];
        is_done = 1;
        --left;
      }
      if (left == 0) return out;
    }
    const auto* values = static_cast<const T*>(otherwise_->run(state));
    for (int i = 0; i < state.length; ++i)
      if (done[static_cast<std::size_t>(i)] == 0) out[i] = values[i];
    return out;
  }

 private:
  std::vector<std::pair<LoopDomain, NodePtr>> cases_;
  NodePtr otherwise_;
};

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

// Sums add up blocks of kBlock terms first, so that a float's error grows with the square root of the length at most.
template <class T>
class ReduceNode final : public RegisterNode<T> {
 public:
  ReduceNode(StripCompiler& compiler, const ExprNode& expr, ReductionLoops loops)
      : RegisterNode<T>(compiler), reduction_(expr.reduction), loops_(std::move(loops)), domain_(expr.domain, compiler), body_(compiler.compile(*expr.args[0])) {}

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
    constexpr bool ordered = scalar::Finite<T> && (step == Fn::Max || step == Fn::Min);  // no identity mod p: the first term starts
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
