// The kinds of StripNode, one per kind of expression. Internal to Program.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/eval/strip_range.h"
#include "model/expr/tensor.h"

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
  T* out(StripState& state) const { return reinterpret_cast<T*>(state.registers.data() + register_); }

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
      : RegisterNode<T>(compiler),
        index_(compiler.index(index)),
        strip_slot_(compiler.strip_slot()),
        varies_(index_.mentions(strip_slot_) || compiler.mentions_lane(index_)) {}
  const void* run(StripState& state) const override {
    T* out = this->out(state);
    if (!varies_) std::fill_n(out, state.length, static_cast<T>(index_.at(state.slots.data())));
    else
      for_each_lane(state, strip_slot_, 0, state.length,
                    [&](int i) { out[i] = static_cast<T>(index_.at(state.slots.data())); });
    return out;
  }

 private:
  LoopIndex index_;
  int strip_slot_;
  bool varies_;  // along the strip
};

template <class To, class From>
class UnaryNode final : public RegisterNode<To> {
 public:
  using Loop = void (*)(const From*, To*, int, ScalarContext&);
  UnaryNode(StripCompiler& compiler, NodePtr arg, Loop loop)
      : RegisterNode<To>(compiler), arg_(std::move(arg)), loop_(loop) {}
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
      : RegisterNode<T>(compiler),
        condition_(std::move(condition)),
        yes_(std::move(yes)),
        no_(std::move(no)) {}
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
    for (const ExprNode::Case& c : expr.cases)
      cases_.push_back({LoopDomain(c.when, compiler), compiler.compile(*c.value)});
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
      if (left == state.length && range.low == 0 && range.high == state.length && !range.marked)
        return value->run(state);
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

}  // namespace isomer::strip_nodes
