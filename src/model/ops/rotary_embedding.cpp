// RotaryEmbedding: pairs (x1, x2) of a head's elements, halves or neighbours, are turned by an angle of their
// position: (cos · x1 - sin · x2, sin · x1 + cos · x2). Elements past rotary_embedding_dim stay.
#include "model/ops/shared/look_up.h"

namespace isomer::ops {
namespace {

struct Layout {
  Dim heads, length, size;
  std::int64_t rotated = 0;  // elements of a head
  bool interleaved = false;
};

Layout read_layout(const Call& call) {
  const Dims& shape = call.shape(0);
  Layout out;
  if (shape.size() == 4) {
    out = {.heads = shape[1], .length = shape[2], .size = shape[3]};
  } else {
    const std::int64_t heads = call.integer("num_heads", 0);
    if (shape.size() != 3 || heads < 1) throw IllegalCall("rank 3 needs the number of heads", "num_heads");
    out = {.heads = heads, .length = shape[1], .size = Dim::floor(shape[2], heads)};
  }
  out.rotated = call.integer("rotary_embedding_dim", 0);
  if (out.rotated == 0 && !out.size.is_concrete()) throw OpaqueCall("heads of a symbolic size");
  if (out.rotated == 0) out.rotated = out.size.concrete();
  if (out.rotated % 2 != 0 || out.rotated < 2 || out.size.at_least(out.rotated) == false)
    throw IllegalCall("this number of elements can't be rotated", "rotary_embedding_dim");
  out.interleaved = call.flag("interleaved", false);
  return out;
}

Definition define_rotary_embedding(const Call& call) {
  require_types(call, is_float, 3);
  const Layout layout = read_layout(call);
  const Dim half = layout.rotated / 2;
  auto f = call.formula();
  const auto x = f.input(0);
  const auto p = f.axes(x.shape());
  const bool flat = x.rank() == 3;
  const Index b(p[0]), i(p[flat ? 1 : 2]);
  const Index h = flat ? Index::floor(p[2], layout.size) : Index(p[1]);
  const Index d = flat ? Index::mod(p[2], layout.size) : Index(p[3]);
  const auto at = [&](const Index& element) {
    return flat ? x(b, i, layout.size * h + element) : x(b, h, i, element);
  };
  const auto angle = [&](int k, const Index& pair) {
    const auto cache = f.input(k);
    if (!call.has(3)) return cache(b, i, pair);
    return look_up(f, f.input(3)(b, i), cache.extent(0), [&](const Index& v) { return cache(v, pair); });
  };
  for (const int k : {1, 2})
    if (call.rank(k) != (call.has(3) ? 2 : 3) || !call.may_equal(call.shape(k).back(), half))
      return invalid("a cache of another shape");
  for (const int k : {1, 2}) {
    if (call.has(3)) call.need_index(3, call.shape(k)[0]);
    const Dims known = call.has(3) ? call.shape(3) : Dims(call.shape(k).begin(), call.shape(k).end() - 1);
    if (known.size() != 2 || !call.may_equal(known[0], x.extent(0)) ||
        !call.may_equal(known[1], layout.length))
      return invalid("positions of another shape");
  }
  const auto real = [&](const Index& pair, const Index& a, const Index& c) {
    return angle(1, pair) * at(a) - angle(2, pair) * at(c);
  };
  const auto imaginary = [&](const Index& pair, const Index& a, const Index& c) {
    return angle(2, pair) * at(a) + angle(1, pair) * at(c);
  };
  std::vector<std::pair<Domain, Expr>> turned;
  const Domain kept{d - Index(layout.rotated)};
  if (layout.interleaved) {
    const Index pair = Index::floor(d, 2), odd = Index::mod(d, 2);
    turned = {{kept, at(d)}, {equal_to(odd, 0), real(pair, d, d + Index(1))}};
    f.output(p, cases(std::move(turned), imaginary(pair, d - Index(1), d)));
  } else {
    turned = {{kept, at(d)}, {Domain{Index(half) - d - Index(1)}, real(d, d, d + Index(half))}};
    f.output(p, cases(std::move(turned), imaginary(d - Index(half), d - Index(half), d)));
  }
  return std::move(f).finish();
}

}  // namespace

extern const Operator kRotaryEmbedding{
    .name = "RotaryEmbedding",
    .doc = "y = pairs of elements turned by the angle of their position",
    .define = define_rotary_embedding,
    .since = 23,
    .least_inputs = 3,
    .most_inputs = 4,
};

}  // namespace isomer::ops
