// Attention: y[b, h, i] = Σ_j w[b, h, i, j] · v[b, g, j], w = softmax_j(scale · Σ_d q[b, h, i, d] · k[b, g,
// j, d] + mask), g the head of keys and values that h shares. Heads are an axis of their own (rank 4) or
// digits of the last one (rank 3). Keys and values go on where those of the past end. A key that the mask,
// the causal order, a window (since opset 25) or the length of the cache (since 24) forbids has no weight;
// where all are forbidden, y is zero.
#include <limits>

#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

using Tensor = FormulaBuilder::Tensor;

// A tensor [batch, heads, length, size], whether or not heads are an axis.
struct Heads {
  Tensor x;
  Dim heads, length, size;
  Expr at(const Index& b, const Index& h, const Index& i, const Index& d) const {
    return x.rank() == 4 ? x(b, h, i, d) : x(b, i, size * h + d);
  }
};

Heads read_heads(const Call& call, const FormulaBuilder& f, int k, std::string_view count) {
  const Tensor x = f.input(k);
  if (x.rank() == 4) return {.x = x, .heads = x.extent(1), .length = x.extent(2), .size = x.extent(3)};
  const std::int64_t heads = call.integer(count, 0);
  if (x.rank() != 3 || heads < 1) throw IllegalCall("rank 3 needs the number of heads", std::string(count));
  if (!call.may_equal(Dim::mod(x.extent(2), heads), 0))
    throw IllegalCall("the last extent is no multiple of the heads", std::string(count));
  return {.x = x, .heads = heads, .length = x.extent(1), .size = Dim::floor(x.extent(2), heads)};
}

// The past, then the new ones, as [batch, heads, length, size].
Heads joined(const Call& call, FormulaBuilder& f, const Heads& fresh, int past) {
  if (!call.has(past)) return fresh;
  const Tensor before = f.input(past);
  if (before.rank() != 4) throw IllegalCall("the past must be of rank 4");
  if (!call.may_equal(before.extent(0), fresh.x.extent(0)) ||
      !call.may_equal(before.extent(1), fresh.heads) || !call.may_equal(before.extent(3), fresh.size))
    throw IllegalCall("a past of another shape");
  const Dim length = before.extent(2) + fresh.length;
  const auto p = f.axes({fresh.x.extent(0), fresh.heads, length, fresh.size});
  const Index behind = Index(p[2]) - Index(before.extent(2));
  const Expr value = cases({{Domain{behind}, fresh.at(p[0], p[1], behind, p[3])}}, before.at(to_indices(p)));
  return {.x = f.stage(p, value), .heads = fresh.heads, .length = length, .size = fresh.size};
}

// The mask, broadcast from the right; it may end before the keys do.
struct Mask {
  Tensor x;
  Expr at(const std::vector<Axis>& p) const {
    std::vector<Index> place;
    for (int i = 0; i < x.rank(); ++i) {
      const Axis& axis = p[p.size() - static_cast<std::size_t>(x.rank() - i)];
      place.push_back(x.extent(i).is(1) && !axis.extent.is(1) && i + 1 < x.rank() ? Index(0) : Index(axis));
    }
    return x.at(place);
  }
};

Expr conjunction(const Expr& a, const Expr& b) { return a ? apply(Fn::And, {a, b}) : b; }

Expr from_domain(const Domain& domain) {
  return cases({{domain, integer(ElementType::Bool, 1)}}, integer(ElementType::Bool, 0));
}

// Whether query i may look at key j, beyond what the float mask says; none: always.
Expr allowed(const Call& call, const FormulaBuilder& f, const std::vector<Axis>& p, const Dim& past) {
  Expr result;
  const Index i(p[2]), j(p[3]);
  if (call.has(3)) {
    const Tensor mask = f.input(3);
    if (mask.rank() < 1 || mask.rank() > 4) throw IllegalCall("a mask of another rank");
    // ONNX lets one row of the mask serve all queries, ONNX Runtime does not.
    if (mask.rank() > 1 &&
        !call.may_equal(mask.shape()[static_cast<std::size_t>(mask.rank() - 2)], p[2].extent))
      throw OpaqueCall("a mask of another number of queries, on which runtimes differ");
    const Dim& end = mask.shape().back();
    if (mask.type() == ElementType::Bool) result = Mask{mask}.at(p);
    if (!(end == p[3].extent)) result = conjunction(result, from_domain(between(0, j, end)));
  }
  const bool is_causal = call.flag("is_causal", false);
  const std::int64_t left = call.integer("left_window_size", -1),
                     right = call.integer("right_window_size", -1);
  if (!call.has(6)) {
    const Index ahead = j - i - Index(past);  // how far the key is ahead of the query
    Domain near;
    if (is_causal) near.push_back(Dim(-1) * ahead);
    if (left >= 0) near.push_back(ahead + Index(left));
    if (right >= 0) near.push_back(Index(right) - ahead);
    return near.empty() ? result : conjunction(result, from_domain(near));
  }
  // Only the first keys of the cache count, up to this number, and the queries are the last of them.
  const Expr valid = cast(f.input(6)(p[0]), ElementType::Int64), key = index_number(j);
  result = conjunction(result, apply(Fn::Less, {key, valid}));
  const Expr place = index_number(i) + valid - index_number(Index(p[2].extent));
  const auto within = [&](const Expr& a, const Expr& b) {
    result = conjunction(result, apply(Fn::LessOrEqual, {a, b}));
  };
  if (is_causal) within(key, place);
  if (left >= 0) within(place, key + static_cast<double>(left));
  if (right >= 0) within(key, place + static_cast<double>(right));
  return result;
}

double lowest(ElementType type) {
  return type == ElementType::Float16 ? -65504.0 : static_cast<double>(std::numeric_limits<float>::lowest());
}

void check_call(const Call& call) {
  require_types(call, is_float, 3);
  // Its sums and exponentials are rounded to 8 bits in the middle, each runtime in its own places.
  if (call.type(0) == ElementType::BFloat16) throw OpaqueCall("attention in bfloat16");
  if (call.rank(0) != call.rank(1) || call.rank(0) != call.rank(2))
    throw IllegalCall("queries, keys and values must be of one rank");
  if (call.has(4) != call.has(5)) throw IllegalCall("a past of keys needs one of values");
  for (const int k : {4, 5})
    if (call.has(k) && call.type(k) != call.type(0)) throw OpaqueCall("a past of another type");
  if (call.has(3) && call.type(3) != ElementType::Bool && call.type(3) != call.type(0))
    throw OpaqueCall("a mask of another type");
  const std::int64_t precision = call.integer("softmax_precision", 0);
  const bool is_enough = precision == 0 || precision == 1 || precision == 11;
  if (!is_enough && precision != static_cast<std::int64_t>(call.type(0)))
    throw OpaqueCall("a softmax in less than the input's precision");
  if (call.has(6)) call.runs_if(-1);  // a cache may be said to hold more than it does
  if (call.has(6) && (call.has(4) || !is_integer(call.type(6)))) throw IllegalCall("lengths and a past");
}

Definition define_attention(const Call& call) {
  check_call(call);
  auto f = call.formula();
  const Heads q = read_heads(call, f, 0, "q_num_heads");
  const Heads new_k = read_heads(call, f, 1, "kv_num_heads"), new_v = read_heads(call, f, 2, "kv_num_heads");
  if (!call.may_equal(q.size, new_k.size)) return invalid("queries and keys differ in size");
  if (new_k.heads.is(0) || q.size.is(0) || new_v.size.is(0)) return opaque("heads of no elements");
  if (!call.may_equal(Dim::mod(q.heads, new_k.heads), 0)) return invalid("heads can't be shared");
  for (const Heads* other : {&new_k, &new_v})
    if (!call.may_equal(other->x.extent(0), q.x.extent(0))) return invalid("batches of different sizes");
  if (!call.may_equal(new_k.length, new_v.length) || !call.may_equal(new_k.heads, new_v.heads))
    return invalid("keys and values differ in length or heads");
  // ONNX counts a query's place from the past, ONNX Runtime from the last key.
  if (call.flag("is_causal", false) && call.has(4) && q.length.equals(new_k.length) != true)
    return opaque("a causal order in which queries and new keys differ in length, on which runtimes differ");
  const Heads k = joined(call, f, new_k, 4), v = joined(call, f, new_v, 5);
  const Dim sharing = Dim::floor(q.heads, k.heads), past = k.length - new_k.length;
  const ElementType type = q.x.type();

  const Dims square{q.x.extent(0), q.heads, q.length, k.length};
  const auto p = f.axes(square);
  const Axis d = f.axis(q.size);
  const Expr product = sum({d}, q.at(p[0], p[1], p[2], d) * k.at(p[0], Index::floor(p[1], sharing), p[3], d));
  if (finite_real(call, "scale", 1) <= 0)
    return opaque("a scale that is not positive, which the runtime refuses");
  const Expr scale = call.has_attribute("scale") ? number(type, finite_real(call, "scale", 1))
                                                 : 1.0 / apply(Fn::Sqrt, {index_number(Index(q.size), type)});
  Expr score = product * scale;
  const auto raw = f.stage(p, score);
  const double cap = finite_real(call, "softcap", 0);
  const auto s = f.axes(square);
  score = raw.at(to_indices(s));
  if (cap > 0) score = apply(Fn::Tanh, {score / cap}) * cap;
  const auto capped = f.stage(s, score);

  const auto m = f.axes(square);
  score = capped.at(to_indices(m));
  if (call.has(3) && call.type(3) != ElementType::Bool) score = score + Mask{f.input(3)}.at(m);
  const auto masked = f.stage(m, score);
  const auto l = f.axes({square[0], square[1], square[2]});
  const Axis j = f.axis(k.length);
  const std::vector<Axis> row{l[0], l[1], l[2], j};
  const Expr open = allowed(call, f, row, past), here = masked.at(to_indices(row));
  const auto largest =
      f.stage(l, reduce(Reduction::Max, {j}, open ? where(open, here, number(type, lowest(type))) : here));
  const auto e = f.axes(square);
  const Expr power = apply(Fn::Exp, {masked.at(to_indices(e)) - largest(e[0], e[1], e[2])});
  const Expr may = allowed(call, f, e, past);
  const auto exps = f.stage(e, may ? where(may, power, number(type, 0)) : power);
  const auto t = f.axes({square[0], square[1], square[2]});
  const Axis r = f.axis(k.length);
  const auto total = f.stage(t, sum({r}, exps(t[0], t[1], t[2], r)));
  const auto w = f.axes(square);
  const Expr weight = exps.at(to_indices(w)) / total(w[0], w[1], w[2]);
  const Expr none = apply(Fn::Equal, {total(w[0], w[1], w[2]), number(type, 0)});
  const auto weights = f.stage(w, may ? where(none, number(type, 0), weight) : weight);

  const auto y = q.x.rank() == 4 ? f.axes({square[0], q.heads, q.length, v.size})
                                 : f.axes({square[0], q.length, q.heads * v.size});
  const Index h = y.size() == 4 ? Index(y[1]) : Index::floor(y[2], v.size);
  const Index i = y.size() == 4 ? Index(y[2]) : Index(y[1]);
  const Index c = y.size() == 4 ? Index(y[3]) : Index::mod(y[2], v.size);
  const Axis n = f.axis(k.length);
  f.output(y, sum({n}, weights(y[0], h, i, n) * v.at(y[0], Index::floor(h, sharing), n, c)));
  for (const auto& [number_of, kept] : {std::pair(1, &k), std::pair(2, &v)}) {
    if (call.output_count <= number_of) continue;
    const auto o = f.axes({square[0], kept->heads, kept->length, kept->size});
    f.output(o, kept->at(o[0], o[1], o[2], o[3]));
  }
  if (call.output_count > 3) {
    const std::int64_t mode = call.integer("qk_matmul_output_mode", 0);
    if (mode == 2 && may) return opaque("scores of forbidden keys, which are infinite");
    // ONNX Runtime shows them before the cap in mode 0 and behind it in mode 1, ONNX's own evaluator
    // otherwise.
    if (mode != 3 && cap > 0) return opaque("scores with a softcap, on which runtimes differ");
    const auto o = f.axes(square);
    const Tensor& shown = mode <= 1 ? raw : mode == 2 ? masked : weights;
    f.output(o, shown.at(to_indices(o)));
  }
  return std::move(f).finish();
}

}  // namespace

extern const Operator kAttention{
    .name = "Attention",
    .doc = "y = Σ softmax(scale · q k + mask) · v per head",
    .define = define_attention,
    .since = 23,
    .least_inputs = 3,
    .most_inputs = 7,
};

}  // namespace isomer::ops
