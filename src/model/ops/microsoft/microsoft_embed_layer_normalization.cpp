// com.microsoft.EmbedLayerNormalization: LayerNormalization of the sum of the embeddings of a word, of its
// position and of its segment. Further outputs: how many 1s the mask has (0, if there is none), and the sum.
#include "model/ops/shared/composition.h"
#include "model/ops/shared/require_shape.h"

namespace isomer::ops {
namespace {

Definition define_embed_layer_normalization(const Call& call) {
  for (const int k : {2, 3, 5, 6})
    if (!call.has(k)) return invalid("an embedding, gamma or beta is missing");
  if (call.rank(0) != 2) return invalid("the words are of another rank");
  if (call.has(1) != call.has(4)) return invalid("segments need an embedding");
  const Dims& rows = call.shape(0);
  for (const int k : {1, 7})
    if (call.has(k)) require_shape(call, k, rows);
  if (finite_real(call, "epsilon", 0) < 0) return opaque("an epsilon below 0, which the runtime refuses");
  Composition c(call);
  const auto width = c.f.input(2).shape().back();
  std::vector<Composition::Tensor> parts{c.of("Gather", {c.input(2), c.input(0)})};
  if (call.has(8)) parts.push_back(c.of("Gather", {c.input(3), c.input(8)}));
  if (call.has(1)) parts.push_back(c.of("Gather", {c.input(4), c.input(1)}));
  const auto p = c.f.axes({rows[0], rows[1], width});
  for (const int k : {2, 3, 4})
    if (call.has(k) && (call.rank(k) != 2 || !call.may_equal(call.shape(k)[1], width)))
      return invalid("embeddings of different widths");
  Expr sum;
  for (const auto& part : parts) sum = sum ? sum + broadcast(part, p) : broadcast(part, p);
  if (!call.has(8)) {
    call.need(call.shape(3)[0] - rows[1]);
    sum = sum + c.f.input(3)(p[1], p[2]);
  }
  const auto total = c.f.stage(p, sum);
  Attributes attributes = c.attributes({"epsilon"});
  if (!call.has_attribute("epsilon")) attributes.set("epsilon", 1e-12F);
  c.output(c.of("LayerNormalization", {total, c.input(5), c.input(6)}, std::move(attributes)));
  if (call.output_count > 1) {
    const auto b = c.f.axes({rows[0]});
    const ElementType type = ElementType::Int32;
    if (call.has(7)) {
      const Axis r = c.f.axis(rows[1]);
      const Expr is_one = apply(Fn::Equal, {c.f.input(7)(b[0], r), integer(call.type(7), 1)});
      c.f.output(b, reduce(Reduction::Sum, {r}, cast(is_one, type)));
    } else {
      c.f.output(b, integer(type, 0));
    }
  }
  if (call.output_count > 2) c.output(total);
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftEmbedLayerNormalization{
    .name = "EmbedLayerNormalization",
    .doc = "y = LayerNormalization of the embeddings of words, positions and segments, added",
    .define = define_embed_layer_normalization,
    .domain = "com.microsoft",
    .least_inputs = 1,
    .most_inputs = 9,
};

}  // namespace isomer::ops
