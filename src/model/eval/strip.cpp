#include "model/eval/strip.h"

#include "model/eval/strip_nodes.h"
#include "model/eval/strip_read.h"
#include "model/eval/strip_reduce.h"
#include "model/expr/look_up.h"

namespace isomer {

using namespace strip_nodes;

StripCompiler::StripCompiler(std::vector<ElementType> input_types, std::vector<ElementType> stage_types)
    : input_types_(std::move(input_types)), stage_types_(std::move(stage_types)) {}

int StripCompiler::slot_of(const Axis& axis) {
  const auto [at, inserted] = slots_.try_emplace(axis.id, static_cast<int>(slots_.size()));
  if (inserted) lane_slots_.push_back(false);
  return at->second;
}

bool StripCompiler::mentions_lane(const LoopIndex& index) const {
  for (std::size_t s = 0; s < lane_slots_.size(); ++s)
    if (lane_slots_[s] && index.mentions(static_cast<int>(s))) return true;
  return false;
}

ElementType StripCompiler::stored_type(TensorRef tensor) const {
  return (tensor.kind == TensorRef::Kind::Input ? input_types_ : stage_types_)
      .at(static_cast<std::size_t>(tensor.number));
}

StripState StripCompiler::fresh_state() const {
  StripState state;
  state.slots.assign(slots_.size(), 0);
  state.lanes.assign(slots_.size(), nullptr);
  state.registers.resize(register_bytes_);
  return state;
}

NodePtr StripCompiler::compile_read(const ExprNode& expr) {
  switch (stored_type(expr.tensor)) {
    case ElementType::Bool: return std::make_unique<ReadNode<std::uint8_t, StoredBool>>(*this, expr);
    case ElementType::Float16: return std::make_unique<ReadNode<float, StoredFloat16>>(*this, expr);
    case ElementType::BFloat16: return std::make_unique<ReadNode<float, StoredBFloat16>>(*this, expr);
    default:
      return with_compute_type(expr.type, [&]<class T>(T) -> NodePtr {
        return std::make_unique<ReadNode<T, Plain<T>>>(*this, expr);
      });
  }
}

NodePtr StripCompiler::compile_apply(const ExprNode& expr) {
  std::vector<NodePtr> args;
  for (const ExprRef& a : expr.args) args.push_back(compile(*a));
  if (expr.fn == Fn::Cast) return make_cast(*this, expr.args[0]->type, expr.type, std::move(args[0]));
  return make_function(*this, expr, std::move(args));
}

NodePtr StripCompiler::compile_reduce(const ExprNode& expr) {
  if (const auto lookup = as_look_up(expr)) {
    NodePtr at = compile(*lookup->at);
    const int slot = slot_of(lookup->axis);
    set_lane(slot, true);
    NodePtr value = compile(*lookup->value);
    set_lane(slot, false);
    const std::int64_t extent = lookup->axis.extent.concrete();
    return with_compute_type(expr.type, [&]<class T>(T) {
      return with_compute_type(lookup->at->type, [&]<class E>(E) -> NodePtr {
        if constexpr (std::integral<E>)
          return std::make_unique<LookupNode<T, E>>(*this, std::move(at), slot, extent, std::move(value));
        else ISOMER_UNREACHABLE("a look-up is at an integer");
      });
    });
  }
  ReductionLoops loops;
  for (const Axis& a : expr.axes) loops.axes.emplace_back(slot_of(a), a.extent.concrete());
  return with_compute_type(expr.type, [&]<class T>(T) -> NodePtr {
    return std::make_unique<ReduceNode<T>>(*this, expr, std::move(loops));
  });
}

NodePtr StripCompiler::compile(const ExprNode& expr) {
  ISOMER_CHECK(strip_slot_ >= 0, "the strip's axis comes first");
  switch (expr.kind) {
    case ExprNode::Kind::Number:
      return with_compute_type(expr.type, [&]<class T>(T) -> NodePtr {
        if constexpr (scalar::Finite<T>) return std::make_unique<NumberNode<T>>(T::of(expr.number));
        else
          return std::make_unique<NumberNode<T>>(is_float(expr.type) ? static_cast<T>(expr.number)
                                                                     : static_cast<T>(expr.integer));
      });
    case ExprNode::Kind::IndexNumber:
      return with_compute_type(expr.type, [&]<class T>(T) -> NodePtr {
        if constexpr (std::integral<T>) return std::make_unique<IndexNode<T>>(*this, expr.index);
        else ISOMER_UNREACHABLE("an index is a number of an integer type");
      });
    case ExprNode::Kind::Read: return compile_read(expr);
    case ExprNode::Kind::Apply: return compile_apply(expr);
    case ExprNode::Kind::Cases:
      return with_compute_type(
          expr.type, [&]<class T>(T) -> NodePtr { return std::make_unique<CasesNode<T>>(*this, expr); });
    case ExprNode::Kind::Reduce: return compile_reduce(expr);
  }
  ISOMER_UNREACHABLE("every kind of expression is compiled");
}

}  // namespace isomer
