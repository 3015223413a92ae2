// com.microsoft.MultiHeadAttention: ONNX's Attention of queries, keys and values to which a bias was added.
// A padding mask [batch, keys] adds mask_filter_value to the scores where it is 0; the attention bias is
// added to them as it is.
#include "model/ops/shared/composition.h"

namespace isomer::ops {
namespace {

using Tensor = Composition::Tensor;

void check_call(const Call& call) {
  require_types(call, is_float, 4);
  for (const int k : {0, 1, 2})
    if (!call.has(k) || call.rank(k) != 3) throw OpaqueCall("queries, keys and values that are packed");
  for (const int k : {5, 6, 7})
    if (call.has(k) && (call.type(k) != call.type(0) || call.rank(k) != 4))
      throw OpaqueCall("a past or a bias on the scores of another type or rank");
  for (const int k : {8, 9})
    if (call.has(k)) throw OpaqueCall("a cache that is shared");
  if (call.has(6) != call.has(7)) throw IllegalCall("a past of keys needs one of values");
  if (call.has(6) && !call.may_equal(call.shape(0)[2], call.shape(2)[2]))
    throw OpaqueCall("a past with values of another size than keys, which the runtime refuses");
  if (call.has(4) && (call.rank(4) != 2 || !is_integer(call.type(4))))
    throw OpaqueCall("a mask of another rank");
  if (call.output_count > 3) throw OpaqueCall("the scores are used");
}

// An operand with its part of the bias, which is one vector for all three.
Tensor with_bias(const Call& call, Composition& c, int k, const Dim& from) {
  Tensor x = c.f.input(k);
  if (!call.has(3)) return x;
  const auto p = c.f.axes(x.shape());
  return c.f.stage(p, x.at(to_indices(p)) + c.f.input(3)(Index(p[2]) + Index(from)));
}

// The bias of the scores [batch, heads, queries, keys]; none: no bias.
std::optional<Tensor> mask_of(const Call& call, Composition& c, const Dims& square) {
  if (!call.has(4) && !call.has(5)) return std::nullopt;
  const auto p = c.f.axes(square);
  Expr sum;
  if (call.has(5)) {
    const auto shape = call.broadcast({square, call.shape(5)});
    if (!shape || *shape != square) throw OpaqueCall("a bias on the scores of another shape");
    sum = broadcast(c.f.input(5), p);
  }
  if (call.has(4)) {
    if (!call.may_equal(call.shape(4)[0], square[0]) || !call.may_equal(call.shape(4)[1], square[3]))
      throw OpaqueCall("a mask of another shape");
    const ElementType type = call.type(0);
    const Expr open = apply(Fn::Less, {integer(call.type(4), 0), c.f.input(4)(p[0], p[3])});
    const Expr added =
        where(open, number(type, 0), number(type, finite_real(call, "mask_filter_value", -10000)));
    sum = sum ? sum + added : added;
  }
  return c.f.stage(p, sum);
}

// ONNX Runtime lets query i see the keys up to i, those of the past besides, and the last query all of them.
// That is a causal order where there are not more new keys than queries, and no order at all of one query.
void set_causal(const Call& call, Attributes& attributes) {
  const Dim &queries = call.shape(0)[1], &keys = call.shape(1)[1];
  if (queries.is(1)) return;
  if ((queries - keys).at_least(0) != true)
    throw OpaqueCall("a causal order in which there may be more keys than queries, on which runtimes differ");
  attributes.set("is_causal", std::int64_t{1});
}

Definition define_multi_head_attention(const Call& call) {
  check_call(call);
  const std::int64_t heads = call.integer("num_heads", 0);
  if (heads < 1) return invalid("there must be a head", "num_heads");
  const Dim &width = call.shape(0)[2], &value_width = call.shape(2)[2];
  if (call.has(3) && (call.rank(3) != 1 || !call.may_equal(call.shape(3)[0], width + width + value_width)))
    return invalid("a bias of another size");
  Composition c(call);
  const Tensor q = with_bias(call, c, 0, 0), k = with_bias(call, c, 1, width),
               v = with_bias(call, c, 2, width + width);
  const Dim keys = call.has(6) ? call.shape(6)[2] + call.shape(1)[1] : call.shape(1)[1];
  const auto mask = mask_of(call, c, {call.shape(0)[0], heads, call.shape(0)[1], keys});
  Attributes attributes;
  attributes.set("q_num_heads", heads);
  attributes.set("kv_num_heads", heads);
  if (call.flag("unidirectional", false)) set_causal(call, attributes);
  if (const double scale = finite_real(call, "scale", 0); scale != 0)
    attributes.set("scale", static_cast<float>(scale));
  const auto y = c.all_of("", "Attention", {q, k, v, mask, c.input(6), c.input(7)}, std::move(attributes),
                          call.output_count);
  for (int o = 0; o < call.output_count; ++o) c.output(y[static_cast<std::size_t>(o)]);
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftMultiHeadAttention{
    .name = "MultiHeadAttention",
    .doc = "y = Σ softmax(scale · q k + mask) · v per head, of operands with a bias",
    .define = define_multi_head_attention,
    .domain = "com.microsoft",
    .least_inputs = 1,
    .most_inputs = 10,
};

}  // namespace isomer::ops
