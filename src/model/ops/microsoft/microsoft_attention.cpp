// com.microsoft.Attention, as ONNX Runtime's transformer tools write it: queries, keys and values are
// projections of one input by one weight [hidden, 3 · width]; y[b, i, h·D + d] = Σ_j softmax_j(scale · q k +
// mask) · v. The mask [batch, length] adds mask_filter_value where it is 0; unidirectional forbids later
// keys.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

// The modelled case: no past, no bias on the scores, equal sizes, a mask of rank 2.
void check_call(const Call& call) {
  require_types(call, is_float, 3);
  if (call.rank(0) != 3 || call.rank(1) != 2 || (call.has(2) && call.rank(2) != 1))
    throw IllegalCall("the input, weight or bias is of another rank");
  for (int k = 4; k < call.input_count(); ++k)
    if (call.has(k)) throw OpaqueCall("a past, or a bias on the scores");
  for (const char* name : {"qkv_hidden_sizes", "rotary_embedding_dim"})
    if (call.has_attribute(name)) throw OpaqueCall(std::string("attribute ") + name);
  for (const char* name : {"do_rotary", "past_present_share_buffer"})
    if (call.flag(name, false)) throw OpaqueCall(std::string("attribute ") + name);
  if (call.has(3) && (call.rank(3) != 2 || !is_integer(call.type(3))))
    throw OpaqueCall("a mask of another rank");
  if (call.output_count > 1) throw OpaqueCall("the present keys and values are used");
}

Definition define_attention(const Call& call) {
  check_call(call);
  const std::int64_t heads = call.integer("num_heads", 0);
  if (heads < 1) return invalid("there must be a head", "num_heads");
  auto f = call.formula();
  const auto x = f.input(0), w = f.input(1);
  const ElementType type = x.type();
  if (Dim::mod(w.extent(1), 3 * heads).equals(0) != true)
    return opaque("a width that the heads don't divide");
  if (w.extent(1).is(0)) return opaque("heads of no elements");
  const Dim width = Dim::floor(w.extent(1), 3), size = Dim::floor(width, heads);
  const Dim &batch = x.extent(0), &length = x.extent(1);
  if (!call.may_equal(w.extent(0), x.extent(2)) ||
      (call.has(2) && !call.may_equal(call.shape(2)[0], w.extent(1))))
    return invalid("a weight or a bias of another size");
  if (call.has(3) && (!call.may_equal(call.shape(3)[0], batch) || !call.may_equal(call.shape(3)[1], length)))
    return opaque("a mask of another shape");

  const auto p = f.axes({batch, length, w.extent(1)});
  const Axis c = f.axis(x.extent(2));
  const Expr projection = sum({c}, x(p[0], p[1], c) * w(c, p[2]));
  const auto qkv = f.stage(p, call.has(2) ? projection + f.input(2)(p[2]) : projection);
  const auto part = [&](int which, const Index& b, const Index& h, const Index& i, const Index& d) {
    return qkv(b, i, Dim(which) * width + size * h + d);
  };
  const Dims square{batch, heads, length, length};
  const auto s = f.axes(square);
  const Axis d = f.axis(size);
  const double given = finite_real(call, "scale", 0);
  const Expr scale =
      given != 0 ? number(type, given) : 1.0 / apply(Fn::Sqrt, {index_number(Index(size), type)});
  Expr score = sum({d}, part(0, s[0], s[1], s[2], d) * part(1, s[0], s[1], s[3], d)) * scale;
  if (call.has(3)) {
    const Expr open = apply(Fn::Less, {integer(call.type(3), 0), f.input(3)(s[0], s[3])});
    score =
        score + where(open, number(type, 0), number(type, finite_real(call, "mask_filter_value", -10000)));
  }
  const auto scores = f.stage(s, score);
  const bool causal = call.flag("unidirectional", false);
  const auto later = [&](const Axis& i, const Axis& j) {
    return causal ? Domain{Index(i) - Index(j)} : Domain{};
  };
  const auto l = f.axes({batch, heads, length}), t = f.axes({batch, heads, length});
  const Axis j = f.axis(length), r = f.axis(length), n = f.axis(length);
  const auto largest = f.stage(l, reduce(Reduction::Max, {j}, scores(l[0], l[1], l[2], j), later(l[2], j)));
  const auto e = f.axes(square);
  const auto exps = f.stage(e, apply(Fn::Exp, {scores.at(to_indices(e)) - largest(e[0], e[1], e[2])}));
  const auto total = f.stage(t, sum({r}, exps(t[0], t[1], t[2], r), later(t[2], r)));
  const auto y = f.axes({batch, length, width});
  const Index h = Index::floor(y[2], size);
  const Expr value = exps(y[0], h, y[1], n) * part(2, y[0], h, n, Index::mod(y[2], size));
  f.output(y, sum({n}, value, later(y[1], n)) / total(y[0], h, y[1]));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kMicrosoftAttention{
    .name = "Attention",
    .doc = "y = Σ softmax(scale · q k + mask) · v, all three projections of x",
    .define = define_attention,
    .domain = "com.microsoft",
    .least_inputs = 2,
    .most_inputs = 7,
};

}  // namespace isomer::ops
