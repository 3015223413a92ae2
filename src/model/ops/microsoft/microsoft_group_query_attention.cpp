// com.microsoft.GroupQueryAttention: ONNX's Attention with keys and values that continue those of a cache.
// seqlens_k gives the end for each sequence: the number of used positions minus one; the new ones are the
// last of them (in the first prompt, the first). Query i attends to keys up to its own position, or up to the
// last used one. With do_rotary queries and new keys are first rotated by their positions. The cache is zero
// beyond the used positions.
#include <algorithm>

#include "model/ops/shared/composition.h"
#include "model/ops/shared/look_up.h"
#include "model/ops/shared/require_shape.h"

namespace isomer::ops {
namespace {

using Tensor = Composition::Tensor;

struct Sizes {
  Dim batch, length, total, past, cache;  // new positions, all of them, those of the past, of the present
  std::int64_t heads = 0, shared = 0, size = 0;
  bool is_first = false;  // nothing was before
  bool is_full = false;   // each sequence is said to use all positions: then what is where is known
  Dim before() const { return total - length; }
};

void check_call(const Call& call) {
  require_types(call, is_float, 5);
  if (call.type(0) != ElementType::Float) throw OpaqueCall("attention in another type than float");
  if (!call.has(5) || !call.has(6)) throw IllegalCall("the lengths are missing");
  if (call.rank(0) != 3 || call.has(1) != call.has(2)) throw IllegalCall("queries, keys or values");
  if (call.has(3) != call.has(4)) throw IllegalCall("a past of keys needs one of values");
  for (const int k : {1, 2})
    if (call.has(k) && call.rank(k) != 3) throw OpaqueCall("keys of another rank");
  for (const int k : {3, 4})
    if (call.has(k) && call.rank(k) != 4) throw IllegalCall("a past of another rank");
  if (call.type(5) != ElementType::Int32 || product(call.shape(5)).equals(call.shape(0)[0]) != true)
    throw OpaqueCall("not one length for each sequence");
  for (int k = 9; k < call.input_count(); ++k)
    if (call.has(k)) throw OpaqueCall("positions, a bias on the scores, or scales of the cache");
  for (const char* name : {"smooth_softmax", "sliding_window_cache"})
    if (call.integer(name, 0) > 0) throw OpaqueCall(std::string("attribute ") + name);
  if (call.integer("causal", 1) != 1) throw OpaqueCall("queries that look ahead");
  if (call.output_count > 3) throw OpaqueCall("the scores are used");
}

Sizes read_sizes(const Call& call) {
  Sizes s;
  s.heads = call.integer("num_heads", 0);
  s.shared = call.integer("kv_num_heads", 0);
  if (s.heads < 1 || s.shared < 1 || s.heads % s.shared != 0)
    throw IllegalCall("heads can't be shared", "kv_num_heads");
  s.batch = call.shape(0)[0];
  s.length = call.shape(0)[1];
  const Dim& width = call.shape(0)[2];
  const std::int64_t parts = call.has(1) ? s.heads : s.heads + 2 * s.shared;
  if (!width.is_concrete() || width.concrete() % parts != 0 || width.is(0))
    throw OpaqueCall("a width that the heads don't divide");
  s.size = width.concrete() / parts;
  for (const int k : {1, 2})
    if (call.has(k)) require_shape(call, k, {s.batch, s.length, s.shared * s.size});
  const auto& total = call.in(6).integers;
  if (!total || total->size() != 1) throw OpaqueCall("a total length that is not known");
  s.total = (*total)[0];
  const auto is_first = s.total.equals(s.length);
  if (!is_first) throw OpaqueCall("whether this is the first prompt is not known");
  s.is_first = *is_first;
  s.past = call.has(3) ? call.shape(3)[2] : Dim(0);
  for (const int k : {3, 4})
    if (call.has(k)) require_shape(call, k, {s.batch, s.shared, s.past, s.size});
  s.cache = Dim::max(s.past, s.total);
  const auto& last = call.in(5).integers;
  s.is_full = last && !last->empty() &&
              std::ranges::all_of(*last, [&](const Dim& d) { return (d + Dim(1)).equals(s.total) == true; });
  return s;
}

// Heads `from` on of an input whose last axis has them all, as [batch, heads, length, size].
Tensor heads_of(Composition& c, const Sizes& s, int input, std::int64_t from, std::int64_t count) {
  const auto p = c.f.axes({s.batch, count, s.length, s.size});
  const Tensor x = c.f.input(input);
  return c.f.stage(p, x(p[0], p[2], Dim(s.size) * (Index(p[1]) + Index(from)) + Index(p[3])));
}

// How many positions a sequence has in use, and how many of them were before.
struct Lengths {
  Tensor used, before;
};

Lengths read_lengths(Composition& c, const Sizes& s) {
  const auto b = c.f.axes({s.batch}), d = c.f.axes({s.batch});
  const Tensor given = c.f.input(5);
  const Expr last = given.at(delinearize(b[0], given.shape()));
  const Tensor used = c.f.stage(b, cast(last, ElementType::Int64) + 1.0);
  const Expr before =
      s.is_first ? integer(ElementType::Int64, 0) : used(d[0]) - index_number(Index(s.length));
  return {.used = used, .before = c.f.stage(d, before)};
}

// Queries or keys, turned by their positions.
Tensor rotated(const Call& call, Composition& c, const Sizes& s, const Lengths& lengths, const Tensor& x) {
  Composition::Operands inputs{x};
  require_shape(call, 8, call.shape(7));
  std::int64_t half = 0;
  for (const int k : {7, 8}) {
    const Tensor cache = c.f.input(k);
    if (cache.rank() != 2 || !cache.extent(1).is_concrete()) throw OpaqueCall("a cache of a symbolic size");
    half = cache.extent(1).concrete();
    const auto p = c.f.axes({s.batch, s.length, half});
    if (s.is_full) {
      call.runs_if(cache.extent(0) - s.total);
      inputs.emplace_back(c.f.stage(p, cache(Index(s.before()) + Index(p[1]), p[2])));
      continue;
    }
    const Expr place = lengths.before(p[0]) + index_number(Index(p[1]));
    inputs.emplace_back(
        c.f.stage(p, look_up(c.f, place, cache.extent(0), [&](const Index& v) { return cache(v, p[2]); })));
  }
  Attributes attributes;
  if (call.flag("rotary_interleaved", false)) attributes.set("interleaved", std::int64_t{1});
  if (2 * half != s.size) attributes.set("rotary_embedding_dim", 2 * half);
  return c.of("RotaryEmbedding", inputs, std::move(attributes));
}

// The cache with the new ones behind what was before: [batch, shared heads, cache, size].
Tensor joined(const Call& call, Composition& c, const Sizes& s, const Lengths& lengths, const Tensor& fresh,
              int past) {
  const auto p = c.f.axes({s.batch, s.shared, s.cache, s.size});
  if (s.is_full) {  // outside of the new ones it is zero
    const Expr added = fresh(p[0], p[1], Index(p[2]) - Index(s.before()), p[3]);
    if (!call.has(past)) return c.f.stage(p, added);
    const Domain is_old{Index(s.before()) - Index(1) - Index(p[2])};
    return c.f.stage(p, cases({{is_old, c.f.input(past).at(to_indices(p))}}, added));
  }
  const Expr place = index_number(Index(p[2])), before = lengths.before(p[0]);
  const Expr added = look_up_or_zero(c.f, place - before, s.length,
                                     [&](const Index& v) { return fresh(p[0], p[1], v, p[3]); });
  if (!call.has(past)) return c.f.stage(p, added);
  return c.f.stage(p, where(apply(Fn::Less, {place, before}), c.f.input(past).at(to_indices(p)), added));
}

Definition define_group_query_attention(const Call& call) {
  check_call(call);
  const Sizes s = read_sizes(call);
  if (!s.is_full) call.runs_if(-1);  // lengths may be said that are not there
  else if (!s.is_first) call.runs_if(s.past - s.before());
  Composition c(call);
  const bool packed = !call.has(1);
  Tensor q = heads_of(c, s, 0, 0, s.heads);
  Tensor k = heads_of(c, s, packed ? 0 : 1, packed ? s.heads : 0, s.shared);
  const Tensor v = heads_of(c, s, packed ? 0 : 2, packed ? s.heads + s.shared : 0, s.shared);
  const Lengths lengths = s.is_full ? Lengths{} : read_lengths(c, s);
  if (call.flag("do_rotary", false)) {
    if (!call.has(7) || !call.has(8)) return invalid("a rotation needs caches", "do_rotary");
    q = rotated(call, c, s, lengths, q);
    k = rotated(call, c, s, lengths, k);
  }
  const Tensor keys = joined(call, c, s, lengths, k, 3), values = joined(call, c, s, lengths, v, 4);

  const auto m = c.f.axes({s.batch, 1, s.length, s.cache});
  // A position after the last used one attends to the same keys as that one.
  const Expr key = index_number(Index(m[3]));
  const Expr place =
      s.is_full
          ? index_number(Index(s.before()) + Index(m[2]))
          : apply(Fn::Min, {lengths.before(m[0]) + index_number(Index(m[2])), lengths.used(m[0]) - 1.0});
  Expr open = apply(Fn::LessOrEqual, {key, place});
  const std::int64_t window = call.integer("local_window_size", -1);
  if (window == 0 || window < -1) return opaque("a window of no keys");
  const bool is_narrow = window > 0 && Dim(window).at_least(s.length) != true;
  if (s.is_first && is_narrow) return opaque("a window over a prompt, whose end may not be in use");
  if (window > 0) open = apply(Fn::And, {open, apply(Fn::Less, {place, key + static_cast<double>(window)})});
  Attributes attributes = c.attributes({"softcap"});
  if (const double scale = finite_real(call, "scale", 0); scale != 0)
    attributes.set("scale", static_cast<float>(scale));
  const Tensor y = c.of("Attention", {q, keys, values, c.f.stage(m, open)}, std::move(attributes));
  const auto o = c.f.axes({s.batch, s.length, s.heads * s.size});
  c.f.output(o, y(o[0], Index::floor(o[2], s.size), o[1], Index::mod(o[2], s.size)));
  if (call.output_count > 1) c.output(keys);
  if (call.output_count > 2) c.output(values);
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftGroupQueryAttention{
    .name = "GroupQueryAttention",
    .doc = "y = Σ softmax(scale · q k) · v per head, of keys and values that go on where a cache ends",
    .define = define_group_query_attention,
    .domain = "com.microsoft",
    .least_inputs = 1,
    .most_inputs = 16,
};

}  // namespace isomer::ops
