// Calls of a kernel of the user's own: the innermost loops are the same sum, of elements that lie as its
// strides say.
#include <algorithm>

#include "compiler/loops/compose.h"
#include "compiler/schedule/legality_parts.h"

namespace isomer::lower {
namespace {

class CallChecker {
 public:
  CallChecker(const Plan& plan, const Nest& nest, const SetSpace& space)
      : plan_(plan), nest_(nest), space_(space), own_(plan.intrinsics[nest.call->intrinsic]) {}

  Wrong run() {
    if (!nest_.reduction || nest_.tile || nest_.winograd || nest_.strip || nest_.lanes ||
        !nest_.guard.empty())
      return "an intrinsic is called from plain loops that divide evenly";
    const ExprNode &sum = *nest_.reduction, &theirs = *own_.value;
    if (theirs.kind != ExprNode::Kind::Reduce || theirs.reduction != Reduction::Sum ||
        sum.reduction != Reduction::Sum || sum.type != theirs.type || !sum.domain.empty() ||
        !theirs.domain.empty())
      return "it is not the sum of its intrinsic";
    if (nest_.loops.size() < all_axes(own_).size() || nest_.call->factors.size() != own_.inputs.size())
      return "an intrinsic has more loops, or other inputs";
    if (auto wrong = match_loops()) return wrong;
    return summand(*theirs.args[0], *sum.args[0]);
  }

 private:
  // Its axes are the innermost loops, in order.
  Wrong match_loops() {
    const std::vector<Axis> axes = all_axes(own_);
    const std::size_t first = nest_.loops.size() - axes.size();
    bool sums = false;
    for (std::size_t k = 0; k < nest_.loops.size(); ++k) {
      const Loop& loop = nest_.loops[k];
      const bool is_kept = std::ranges::any_of(
          nest_.of, [&](const AxisOfLoops& a) { return !a.is_reduced && a.index.mentions(loop.axis); });
      if (is_kept && is_reduced(nest_, loop)) return "a loop sums and does not";
      if (k < first) {
        sums = sums || is_reduced(nest_, loop);
        if (sums && is_kept) return "a loop that does not sum is inside of one that does";
        continue;
      }
      const std::size_t n = k - first;
      const Axis& axis = axes[n];
      if (loop.kind != Loop::Kind::Serial || !(loop.axis.extent == axis.extent) ||
          (n < own_.axes.size() ? is_reduced(nest_, loop) : is_kept))
        return "the innermost loops are not those of the intrinsic";
      to_loops_.emplace(axis.id, Index(loop.axis));
    }
    return std::nullopt;
  }

  Wrong summand(const ExprNode& theirs, const ExprNode& e) {
    if (theirs.kind != e.kind || theirs.type != e.type) return "it does not sum what its intrinsic does";
    switch (theirs.kind) {
      case ExprNode::Kind::Number:
        return theirs.number == e.number && theirs.integer == e.integer
                   ? std::nullopt
                   : Wrong("it does not sum what its intrinsic does");
      case ExprNode::Kind::Read: return factor(theirs, e);
      case ExprNode::Kind::Apply: break;
      default: return "an intrinsic may only sum products and functions of its inputs";
    }
    if (theirs.fn != e.fn || theirs.args.size() != e.args.size())
      return "it does not sum what its intrinsic does";
    Wrong wrong;
    for (std::size_t k = 0; k < e.args.size() && !wrong; ++k) wrong = summand(*theirs.args[k], *e.args[k]);
    return wrong;
  }

  Wrong factor(const ExprNode& theirs, const ExprNode& e) {
    const auto number = static_cast<std::size_t>(theirs.tensor.number);
    if (number >= own_.inputs.size()) return "an intrinsic reads what is no input";
    const IntrinsicCall::Factor& told = nest_.call->factors[number];
    const Storage& source = plan_.buffer(e.tensor.number);
    if (!told.read || told.read->kind != ExprNode::Kind::Read || told.read->tensor != e.tensor ||
        told.read->at != e.at || told.strides.size() != theirs.at.size() ||
        source.type != own_.inputs[number].type || source.ring > 0)
      return "an intrinsic gets another tensor";
    if (to_dims(own_.inputs[number].extents) != theirs.extents) return "an intrinsic reads another shape";
    if (!access(space_, all_axes(own_), theirs.at, {}).range().is_subset_of(box(space_, theirs.extents)))
      return "an intrinsic reads outside of its input";
    return wrong_place(theirs, e, told);
  }

  // Its inputs lie where its strides say.
  Wrong wrong_place(const ExprNode& theirs, const ExprNode& e, const IntrinsicCall::Factor& told) {
    const Storage& source = plan_.buffer(e.tensor.number);
    const AxisMap by_loops = over_loops(nest_);
    AxisMap at_first;
    for (const auto& [axis, loop] : to_loops_)
      for (const Index::Term& t : loop.terms()) at_first.emplace(t.atom.axis.id, Index(0));
    std::vector<Axis> loops;
    for (const Loop& l : nest_.loops) loops.push_back(l.axis);
    std::vector<Index> at;
    for (std::size_t d = 0; d < e.at.size(); ++d) {
      if (!stays_inside(source, d, e.at[d])) return "an intrinsic does not check the bounds of a tensor";
      at.push_back(with_axes(e.at[d], by_loops));
    }
    const Index address = address_of(source, at);
    Index apart = address - with_axes(address, at_first);
    for (std::size_t d = 0; d < theirs.at.size(); ++d)
      apart = apart - told.strides[d] * with_axes(theirs.at[d], to_loops_);
    if (!access(space_, loops, {apart}, {}).range().is_subset_of(box(space_, {Dim(1)})))
      return "what an intrinsic reads lies elsewhere";
    return std::nullopt;
  }

  const Plan& plan_;
  const Nest& nest_;
  const SetSpace& space_;
  const Intrinsic& own_;
  AxisMap to_loops_;  // its axes as loops
};

}  // namespace

Wrong wrong_call(const Plan& plan, const Nest& nest, const SetSpace& space) {
  if (nest.call->intrinsic >= plan.intrinsics.size()) return "it calls an intrinsic that is not there";
  return CallChecker(plan, nest, space).run();
}

}  // namespace isomer::lower
