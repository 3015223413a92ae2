// Pad: what lies outside of x is a constant, a reflection, the nearest edge, or x again (wrap, since opset
// 19). Negative pads cut first, and the other modes then reflect, repeat or wrap what is left. Pads and value
// are attributes before opset 11 and inputs since; since 18 a list of axes may say which ones are meant.
#include <cmath>

#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

struct Pads {
  Dims begin, end;  // per axis of the input
};

std::variant<Pads, Definition> read_pads(const Call& call) {
  const auto list = integer_list(call, "pads", 1, 11);
  if (!list.given) return invalid("pads are missing", "pads");
  if (!list.values) return opaque("the pads are not known");
  std::vector<int> axes;
  for (int i = 0; i < call.rank(0); ++i) axes.push_back(i);
  if (call.opset >= 18 && call.has(3)) {
    const auto known = integer_list(call, "", 3, 18).concrete();
    if (!known) return opaque("the axes are not known");
    const auto normalized = normalize_axes(*known, call.rank(0));
    if (!normalized) return invalid("axes are outside of the input's rank, or repeated");
    axes = *normalized;
  }
  if (list.values->size() != 2 * axes.size()) return invalid("there are not two pads per axis", "pads");
  Pads out{.begin = Dims(call.shape(0).size(), 0), .end = Dims(call.shape(0).size(), 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    out.begin[static_cast<std::size_t>(axes[i])] = (*list.values)[i];
    out.end[static_cast<std::size_t>(axes[i])] = (*list.values)[axes.size() + i];
  }
  return out;
}

Definition pad_constant(const Call& call, const Pads& pads) {
  auto f = call.formula();
  const auto x = f.input(0);
  Expr value = integer(x.type(), 0);
  if (call.opset < 11) {
    if (!is_float(x.type())) return invalid("before opset 11 only floats are padded");
    value = number(x.type(), call.real("value", 0));
  } else if (call.has(2)) {
    if (call.type(2) != x.type()) return invalid("the constant has another type than the input");
    value = scalar(call, f, 2);
  }
  Dims shape;
  for (std::size_t i = 0; i < pads.begin.size(); ++i)
    shape.push_back(x.shape()[i] + pads.begin[i] + pads.end[i]);
  const auto p = f.axes(shape);
  std::vector<Index> at;
  Domain inside;
  for (std::size_t i = 0; i < p.size(); ++i) {
    at.push_back(Index(p[i]) - Index(pads.begin[i]));
    if (!at[i].is_inside(x.shape()[i])) inside = both(std::move(inside), between(0, at[i], x.shape()[i]));
  }
  // A read outside is zero already.
  const bool is_zero = value->kind == ExprNode::Kind::Number && value->number == 0 &&
                       !std::signbit(value->number) && value->integer == 0;
  f.output(p, is_zero || inside.empty() ? x.at(at) : cases({{inside, x.at(at)}}, value));
  return std::move(f).finish();
}

// One axis: q is the position in x, and may lie outside of its remaining part, first..first+extent-1.
Expr pad_axis(const std::string& mode, const Index& q, const Dim& first, const Dim& extent,
              const std::function<Expr(const Index&)>& x) {
  const Index last(first + extent - Dim(1)), low(first);
  if (mode == "wrap") return x(Index::mod(q - low, extent) + low);
  const Domain below{low - q - Index(1)}, above{q - last - Index(1)};
  if (mode == "edge") return cases({{below, x(low)}, {above, x(last)}}, x(q));
  return cases({{below, x(low + low - q)}, {above, x(last + last - q)}}, x(q));
}

Definition pad_repeating(const Call& call, const Pads& pads, const std::string& mode) {
  auto f = call.formula();
  auto x = f.input(0);
  std::vector<std::size_t> padded;
  for (std::size_t i = 0; i < pads.begin.size(); ++i)
    if (!pads.begin[i].is(0) || !pads.end[i].is(0)) padded.push_back(i);
  if (padded.empty()) return identity(call);
  for (const std::size_t axis : padded) {  // one stage per axis: the cases of two axes would multiply
    const Dim &begin = pads.begin[axis], &end = pads.end[axis];
    if (!begin.is_concrete() || !end.is_concrete()) return opaque("symbolic pads");
    const Dim first = Dim::max(Dim(0) - begin, 0);
    const Dim extent = x.shape()[axis] - first + Dim::min(end, 0);  // after cutting
    const Dim most = Dim::max(begin, end), limit = mode == "reflect" ? extent - Dim(1) : extent;
    if (extent.at_least(1) == false) return opaque("nothing is left to repeat");
    if (mode != "edge" && limit.at_least(most) == false) return opaque("pads of more than one period");
    call.need(extent - Dim(1));
    if (mode != "edge") {
      call.runs_if(limit - most);
      call.exact_if(limit - most);
    }
    Dims shape = x.shape();
    shape[axis] = shape[axis] + begin + end;
    const auto p = f.axes(shape);
    const Expr y = pad_axis(mode, Index(p[axis]) - Index(begin), first, extent, [&](const Index& q) {
      std::vector<Index> at = to_indices(p);
      at[axis] = q;
      return x.at(at);
    });
    x = axis == padded.back() ? f.output(p, y) : f.stage(p, y);
  }
  return std::move(f).finish();
}

Definition define_pad(const Call& call) {
  const std::string mode = call.text("mode", "constant");
  const auto pads = read_pads(call);
  if (const auto* refused = std::get_if<Definition>(&pads)) return *refused;
  if (mode == "constant") return pad_constant(call, std::get<Pads>(pads));
  if (mode == "reflect" || mode == "edge" || (mode == "wrap" && call.opset >= 19))
    return pad_repeating(call, std::get<Pads>(pads), mode);
  return invalid("mode must be constant, reflect, edge or (since opset 19) wrap", "mode");
}

}  // namespace

extern const Operator kPad{
    .name = "Pad",
    .doc = "y[p] = x[p - begin]; outside of x a constant, a reflection, the edge, or x again",
    .define = define_pad,
    .most_inputs = 4,
};

}  // namespace isomer::ops
