// com.microsoft.RotaryEmbedding: ONNX's, with positions before the caches; one position alone is that of the
// first element, and the others follow.
#include "model/ops/shared/composition.h"
#include "model/ops/shared/look_up.h"
#include "model/ops/shared/require_shape.h"

namespace isomer::ops {
namespace {

Definition define_rotary_embedding(const Call& call) {
  if (call.flag("is_packed_batching", false)) return opaque("sequences of several lengths");
  if (finite_real(call, "scale", 1) != 1) return opaque("attribute scale");
  if (call.rank(0) != 3 && call.rank(0) != 4) return invalid("the input is of another rank");
  if (call.rank(2) != 2 || call.rank(3) != 2) return invalid("a cache of another shape");
  require_shape(call, 3, call.shape(2));
  Composition c(call);
  Attributes attributes = c.attributes({"interleaved", "rotary_embedding_dim"});
  const Dim& half = call.shape(2)[1];
  if (!half.is_concrete() || half.is(0)) return opaque("a cache of a symbolic size");
  if (call.rank(0) == 3) {
    // If it is not said, a head is as long as the caches have it.
    std::int64_t heads = call.integer("num_heads", 0);
    const Dim& width = call.shape(0)[2];
    if (heads == 0 && !width.is_concrete()) return opaque("heads of a symbolic size");
    if (heads == 0) heads = width.concrete() / (2 * half.concrete());
    if (heads < 1 || !call.may_equal(Dim::mod(width, heads), 0))
      return invalid("this number of heads is impossible", "num_heads");
    attributes.set("num_heads", heads);
  }
  Composition::Operands inputs{c.input(0), c.input(2), c.input(3)};
  if (call.rank(1) == 2) {
    inputs.push_back(c.input(1));
  } else {
    const Dims rows{call.shape(0)[0], call.shape(0)[call.rank(0) == 3 ? 1 : 2], half};
    call.runs_if(-1);  // the last position may lie behind the caches
    const Expr first = cast(scalar(call, c.f, 1), ElementType::Int64);
    for (const std::size_t k : {1U, 2U}) {
      const auto p = c.f.axes(rows);
      const auto cache = *inputs[k];
      inputs[k] = c.f.stage(p, look_up(c.f, first + index_number(Index(p[1])), cache.extent(0),
                                       [&](const Index& v) { return cache(v, p[2]); }));
    }
  }
  c.output(c.of("RotaryEmbedding", inputs, std::move(attributes)));
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftRotaryEmbedding{
    .name = "RotaryEmbedding",
    .doc = "y = pairs of elements turned by the angle of their position",
    .define = define_rotary_embedding,
    .domain = "com.microsoft",
    .least_inputs = 4,
    .most_inputs = 4,
};

}  // namespace isomer::ops
