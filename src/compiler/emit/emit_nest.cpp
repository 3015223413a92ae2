#include "compiler/emit/emit_nest.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/emit/scalar_text.h"
#include "compiler/emit/thread_parts.h"
#include "compiler/loops/compose.h"
#include "compiler/loops/intrinsic.h"

namespace isomer::lower {
namespace {

void emit_plain(NestWriter& out) {
  std::size_t opened = open_loops(out, out.nest().loops);
  out.define_axes(false);
  if (const std::string condition = out.holds(out.nest().guard); !condition.empty()) {
    out.open(fmt::format("if ({})", condition));
    ++opened;
  }
  out.store_value();
  out.close_all(opened);
}

// The arguments of a kernel of the user's own: the sums, then where each factor begins and its strides.
// `at_first`: the loops of the call at their first positions.
std::string intrinsic_arguments(NestWriter& out, const AxisMap& at_first) {
  AxisMap over_loops;
  for (const AxisOfLoops& a : out.nest().of) over_loops.emplace(a.axis.id, with_axes(a.index, at_first));
  std::string arguments = "sum";
  for (const IntrinsicCall::Factor& factor : out.nest().call->factors) {
    std::vector<Index> at;
    for (const Index& i : factor.read->at) at.push_back(with_axes(i, over_loops));
    const int buffer = factor.read->tensor.number;
    arguments += fmt::format(", {} + ({})", out.pointer(buffer), out.text(out.address(buffer, at)));
    for (const Dim& stride : factor.strides) arguments += ", " + out.text(stride);
  }
  return arguments;
}

// A tile of sums, to which calls of a kernel of the user's own add.
void emit_intrinsic(NestWriter& out) {
  const Nest& nest = out.nest();
  const Intrinsic& own = out.plan().intrinsics[nest.call->intrinsic];
  const auto first = std::ranges::find_if(nest.loops, [&](const Loop& l) { return is_reduced(nest, l); });
  const std::size_t kept = own.axes.size(), called = kept + own.value->axes.size();
  const auto call = nest.loops.end() - static_cast<std::ptrdiff_t>(called);
  const auto inner = std::min(first, call);
  const std::vector<Loop> calls(call, nest.loops.end());
  const std::size_t around = open_loops(out, {nest.loops.begin(), inner});
  std::int64_t tile = 1;
  Index place;
  AxisMap at_first;
  for (std::size_t k = 0; k < called; ++k) {
    const Axis& axis = calls[k].axis;
    at_first.emplace(axis.id, Index(0));
    if (k >= kept) continue;
    place = axis.extent * place + Index(axis);
    tile *= axis.extent.concrete();
  }
  out.say(fmt::format("__attribute__((aligned(64))) {} sum[{}];", c_type(nest.reduction->type), tile));
  out.say(fmt::format("for (int64_t n = 0; n < {}; ++n) sum[n] = 0;", tile));
  for (auto loop = inner; loop < call; ++loop) out.open_loop(*loop);
  out.say(fmt::format("{}({});", function_name(own), intrinsic_arguments(out, at_first)));
  out.close_all(static_cast<std::size_t>(call - inner));
  for (std::size_t k = 0; k < kept; ++k)
    out.open_loop(calls[k].axis, "0", fmt::format("{}", calls[k].axis.extent.concrete()));
  out.define_axes(false);
  out.bind(nest.reduction, fmt::format("sum[{}]", out.text(place)));
  out.store_value();
  out.close_all(kept + around);
}

}  // namespace

NestFunction emit_nest(const Plan& plan, const Nest& nest) {
  NestWriter out(plan, nest);
  if (is_shared(nest)) out.say("if (low < 0) __builtin_unreachable();");
  if (nest.winograd) emit_winograd(out);
  else if (nest.reduction && nest.tile) emit_tile(out);
  else if (nest.call) emit_intrinsic(out);
  else if (nest.reduction) emit_reduction(out);
  else emit_plain(out);
  std::string body = out.finish();
  return {std::move(body), out.buffers(), out.sizes(), out.may_fail()};
}

}  // namespace isomer::lower
