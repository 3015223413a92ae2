#include "optimizer/propose/positions/partial/mutants.h"

#include <fmt/format.h>

#include <algorithm>

#include "optimizer/facts/convolution.h"

namespace isomer {
namespace {

// A convolution with the shapes around it.
struct Sized : Convolution {
  Dims in, out;
};

std::optional<Sized> sized_at(const Site& site, NodeId id) {
  const auto conv = convolution_at(site, id);
  if (!conv) return std::nullopt;
  const auto &x = site.inference.of(conv->x).shape, &y = site.inference.of({id, 0}).shape;
  if (!x || !y || x->size() < 3 || !(*x)[1].is_concrete()) return std::nullopt;
  return Sized{*conv, *x, *y};
}

std::int64_t span(const Convolution& c, std::size_t k) { return c.dilations[k] * (c.kernel[k] - 1) + 1; }

Value read(ProgramBuilder& b, const Site& site, Value v) { return b.input(site.name(v)); }

// The convolution of another value, with other attributes.
Value convolve(ProgramBuilder& b, const Site& site, const Convolution& c, Value x) {
  std::vector<Value> inputs{x, read(b, site, c.weights)};
  if (c.bias.exists()) inputs.push_back(read(b, site, c.bias));
  return b.op("Conv", inputs, attributes_of(c));
}

Value padded_axis(ProgramBuilder& b, Value x, std::size_t rank, std::size_t axis, std::int64_t before,
                  std::int64_t after) {
  if (before == 0 && after == 0) return x;
  std::vector<std::int64_t> pads(2 * rank, 0);
  pads[axis] = before;
  pads[rank + axis] = after;
  return b.op("Pad", {x, b.integers(pads)});
}

Mutant finished(ProgramBuilder& b, const Site& site, const Sized& c, Value y, std::string what) {
  b.output(y);
  return {.what = fmt::format("{} {}", label(site.node(c.id)), what),
          .from = c.x,
          .to = {c.id, 0},
          .program = b.graph()};
}

// ---- the images of a batch side by side

// How far apart the images begin: with a halo of zeros between them, or with nothing, where those at the
// border see their neighbour. nullopt: the results would not come at equal distances.
std::optional<std::int64_t> distance(const Sized& c, std::size_t k, bool has_halo) {
  const Dim &in = c.in[k + 2], &out = c.out[k + 2];
  if (!in.is_concrete() || !out.is_concrete()) return std::nullopt;
  const std::int64_t x = in.concrete(), y = out.concrete(), stride = c.strides[k], before = c.pads[k];
  if (!has_halo) return stride * y == x ? std::optional(x) : std::nullopt;
  const std::int64_t least = std::max({x + before, stride * (y - 1) - before + span(c, k), stride * y});
  return (least + stride - 1) / stride * stride;
}

// The shape with the batch before an axis: [n, c, ..., l, ...] as [c, ..., n, l, ...], and with both as one.
Dims batch_before(const Dims& shape, std::size_t axis, std::int64_t length) {
  Dims out(shape.begin() + 1, shape.begin() + static_cast<std::ptrdiff_t>(axis));
  out.push_back(shape[0]);
  out.emplace_back(length);
  out.insert(out.end(), shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end());
  return out;
}
Dims merged(const Dims& apart, std::size_t axis) {
  Dims out{1};
  out.insert(out.end(), apart.begin(), apart.end());
  out[axis] = out[axis] * out[axis + 1];
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  return out;
}

std::optional<Mutant> side_by_side(const Site& site, const Sized& c, std::size_t k, bool has_halo) {
  const std::size_t rank = c.in.size(), axis = k + 2;
  const auto apart = distance(c, k, has_halo);
  if (!apart || c.in[0].is(1) || c.in[0] != c.out[0]) return std::nullopt;
  if (has_halo && *apart == c.in[axis].concrete()) return std::nullopt;
  // As many results as there is room for.
  Convolution one = c;
  const std::int64_t after = span(c, k) - c.strides[k] - c.pads[k], each = *apart / c.strides[k];
  if (after <= -c.strides[k]) return std::nullopt;
  one.pads[c.kernel.size() + k] = std::max<std::int64_t>(after, 0);

  ProgramBuilder b(site.graph, site.name({c.id, 0}));
  const Value x = padded_axis(b, read(b, site, c.x), rank, axis, 0, *apart - c.in[axis].concrete());
  std::vector<std::int64_t> order;
  for (std::size_t d = 1; d < rank; ++d) {
    if (d == axis) order.push_back(0);
    order.push_back(static_cast<std::int64_t>(d));
  }
  const Dims in = batch_before(c.in, axis, *apart), out = batch_before(c.out, axis, each);
  const auto wide = b.reshape(b.transpose(x, order), in, merged(in, axis));
  if (!wide) return std::nullopt;
  auto y = b.reshape(convolve(b, site, one, *wide), merged(out, axis), out);
  if (!y) return std::nullopt;
  if (c.out[axis].concrete() < each)
    y = b.slice(*y, static_cast<std::int64_t>(axis), 0, c.out[axis].concrete());
  return finished(b, site, c, b.transpose(*y, inverse_order(order)),
                  fmt::format("with its images side by side along axis {}{}", axis,
                              has_halo ? ", zeros between them" : ""));
}

// Elements of weights from which on it gained to read them once for all images: 1.09 to 1.22 with 2.4
// million, which no cache of a core holds, and 0.95 with 0.6 million.
constexpr std::int64_t kLargeWeights = 1 << 20;

void add_side_by_side(const Site& site, NodeId id, Mutations mutations, std::vector<Mutant>& out) {
  const auto c = sized_at(site, id);
  if (!c) return;
  const std::size_t last = c->kernel.size() - 1;
  if (mutations == Mutations::Likely) {
    if (c->in[0].is_concrete() && product(to_dims(c->w)).concrete() >= kLargeWeights)
      for (const bool has_halo : {true, false})
        if (auto mutant = side_by_side(site, *c, last, has_halo)) return out.push_back(std::move(*mutant));
    return;
  }
  for (std::size_t k = last + 1; k-- > 0;)
    for (const bool has_halo : {false, true})
      if (auto mutant = side_by_side(site, *c, k, has_halo)) out.push_back(std::move(*mutant));
}

// ---- holes in a kernel as a batch

// The rest, if the holes' distance does not divide an axis: left out (the results that read it are wrong), or
// filled with zeros.
enum class Rest : std::uint8_t { LeftOut, Filled };

// Every d-th position of an axis is an image of its own: [n, c, q·r] as [r·n, c, q].
class HolesAsBatch {
 public:
  HolesAsBatch(const Site& site, const Sized& c, Rest rest)
      : site_(site), c_(c), rest_(rest), dense_(c), b_(site.graph, site.name({c.id, 0})) {
    dense_.dilations.assign(c.kernel.size(), 1);
  }

  std::optional<Mutant> mutant() {
    const auto is_one = [](std::int64_t n) { return n == 1; };
    if (std::ranges::all_of(c_.dilations, is_one) || !std::ranges::all_of(c_.strides, is_one))
      return std::nullopt;
    x_ = read(b_, site_, c_.x);
    in_ = c_.in;
    out_ = c_.out;
    for (std::size_t k = 0; k < c_.kernel.size(); ++k)
      if (c_.dilations[k] > 1 && !fit(k)) return std::nullopt;
    if (is_exact_ && rest_ == Rest::Filled) return std::nullopt;
    const auto x = phases_first();
    if (!x) return std::nullopt;
    const auto y = phases_last(convolve(b_, site_, dense_, *x));
    if (!y) return std::nullopt;
    const std::string how = is_exact_               ? ""
                            : rest_ == Rest::Filled ? ", the rest filled with zeros"
                                                    : ", the rest left out";
    return finished(b_, site_, c_, with_real_size(*y), "with its holes as a batch" + how);
  }

 private:
  // The input along one axis as long as a multiple of the distance, and what the dense kernel pads and makes.
  bool fit(std::size_t k) {
    const std::size_t d = c_.kernel.size(), axis = k + 2;
    const std::int64_t step = c_.dilations[k];
    if (!in_[axis].is_concrete() || c_.pads[k] % step != 0 || c_.pads[d + k] % step != 0) return false;
    std::int64_t length = in_[axis].concrete();
    const std::int64_t over = length % step;
    is_exact_ = is_exact_ && over == 0;
    if (over != 0 && rest_ == Rest::Filled) {
      x_ = padded_axis(b_, x_, in_.size(), axis, 0, step - over);
      length += step - over;
    } else if (over != 0) {
      x_ = b_.slice(x_, static_cast<std::int64_t>(axis), 0, length - over);
      length -= over;
    }
    dense_.pads[k] /= step;
    dense_.pads[d + k] /= step;
    const std::int64_t each = length / step + dense_.pads[k] + dense_.pads[d + k] - c_.kernel[k] + 1;
    in_[axis] = Dim(length);
    out_[axis] = Dim(each * step);
    return each > 0;
  }

  // The shape with each axis that has holes as two, and the order in which the phases come first.
  struct Apart {
    Dims shape;
    std::vector<std::int64_t> order;
  };
  Apart apart(const Dims& whole) const {
    Apart out;
    std::vector<std::int64_t> others;
    const auto add = [&](const Dim& extent, std::vector<std::int64_t>& where) {
      where.push_back(static_cast<std::int64_t>(out.shape.size()));
      out.shape.push_back(extent);
    };
    for (std::size_t axis = 0; axis < whole.size(); ++axis) {
      const std::int64_t step = axis < 2 ? 1 : c_.dilations[axis - 2];
      add(step == 1 ? whole[axis] : Dim::floor(whole[axis], step), others);
      if (step > 1) add(Dim(step), out.order);
    }
    out.order.insert(out.order.end(), others.begin(), others.end());
    return out;
  }
  static Dims in_order(const Apart& a) {
    Dims out;
    for (const std::int64_t k : a.order) out.push_back(a.shape[static_cast<std::size_t>(k)]);
    return out;
  }
  // The phases and the batch as one.
  static Dims stacked(const Apart& a, std::size_t rank) {
    const Dims ordered = in_order(a);
    const auto first = ordered.end() - static_cast<std::ptrdiff_t>(rank) + 1;
    Dims out{product({ordered.begin(), first})};
    out.insert(out.end(), first, ordered.end());
    return out;
  }

  std::optional<Value> phases_first() {
    const Apart a = apart(in_);
    const auto split = b_.reshape(x_, in_, a.shape);
    if (!split) return std::nullopt;
    return b_.reshape(b_.transpose(*split, a.order), in_order(a), stacked(a, in_.size()));
  }
  std::optional<Value> phases_last(Value y) {
    const Apart a = apart(out_);
    const auto split = b_.reshape(y, stacked(a, out_.size()), in_order(a));
    if (!split) return std::nullopt;
    return b_.reshape(b_.transpose(*split, inverse_order(a.order)), a.shape, out_);
  }

  // Without what is too much, and with zeros for what is missing.
  Value with_real_size(Value y) {
    for (std::size_t axis = 2; axis < out_.size(); ++axis) {
      if (out_[axis] == c_.out[axis]) continue;
      const std::int64_t made = out_[axis].concrete(), wanted = c_.out[axis].concrete();
      y = made > wanted ? b_.slice(y, static_cast<std::int64_t>(axis), 0, wanted)
                        : padded_axis(b_, y, out_.size(), axis, 0, wanted - made);
    }
    return y;
  }

  const Site& site_;
  const Sized& c_;
  Rest rest_;
  Convolution dense_;
  ProgramBuilder b_;
  Value x_;
  Dims in_, out_;  // whole multiples of the distances
  bool is_exact_ = true;
};

// Lost wherever it was measured: 0.4.
void add_holes_as_batch(const Site& site, NodeId id, Mutations mutations, std::vector<Mutant>& out) {
  const auto c = mutations == Mutations::All ? sized_at(site, id) : std::nullopt;
  if (!c) return;
  for (const Rest rest : {Rest::LeftOut, Rest::Filled})
    if (auto mutant = HolesAsBatch(site, *c, rest).mutant()) out.push_back(std::move(*mutant));
}

// ---- one convolution after another as one

struct Pair {
  Sized first, second;
  bool is_dense;  // otherwise every channel by itself
};

// Where the one that is both looks.
Convolution both_of(const Pair& p) {
  Convolution out = p.second;
  const std::size_t d = out.kernel.size();
  out.x = p.first.x;
  out.dilations.assign(d, 1);
  for (std::size_t k = 0; k < d; ++k) {
    const std::int64_t step = p.first.strides[k];
    out.kernel[k] = step * p.second.dilations[k] * (p.second.kernel[k] - 1) + span(p.first, k);
    out.strides[k] = step * p.second.strides[k];
    for (const std::size_t side : {k, d + k})
      out.pads[side] = p.first.pads[side] + step * p.second.pads[side];
  }
  return out;
}

// Every tap of the second kernel adds the first one, moved. That is a transposed convolution, of any strides
// and dilations.
Value kernel_of_both(ProgramBuilder& b, const Site& site, const Pair& p) {
  Extents steps = p.second.dilations;
  std::vector<std::int64_t> swapped{1, 0};
  for (std::size_t k = 0; k < steps.size(); ++k) {
    steps[k] *= p.first.strides[k];
    swapped.push_back(static_cast<std::int64_t>(k) + 2);
  }
  const Value w = read(b, site, p.second.weights);
  const Value sum =
      b.op("ConvTranspose", {p.is_dense ? w : b.transpose(w, swapped), read(b, site, p.first.weights)},
           with({{"strides", steps}, {"dilations", p.first.dilations}, {"group", p.second.groups}}));
  return p.is_dense ? sum : b.transpose(sum, swapped);
}

// The sum of the second's response to the first one's bias and its own bias.
Value bias_of_both(ProgramBuilder& b, const Site& site, const Pair& p) {
  if (!p.first.bias.exists()) return p.second.bias.exists() ? read(b, site, p.second.bias) : Value::none();
  const Extents& w = p.second.w;
  const Value flat = b.reshape(read(b, site, p.second.weights), {w[0], w[1], -1});
  const Value sums = b.reduce("ReduceSum", flat, 2);
  const Value first = read(b, site, p.first.bias);
  const Value bias = p.is_dense ? b.op("MatMul", {sums, first}) : b.op("Mul", {b.reshape(sums, {-1}), first});
  return p.second.bias.exists() ? b.op("Add", {bias, read(b, site, p.second.bias)}) : bias;
}

std::optional<Mutant> one_kernel(const Site& site, const Sized& first, const Sized& second) {
  const std::int64_t channels = first.in[1].concrete();
  const auto is_single = [&](const Sized& c) { return c.groups == channels && c.channels == channels; };
  const bool is_dense = first.groups == 1 && second.groups == 1;
  if (!is_dense && !(is_single(first) && is_single(second))) return std::nullopt;
  const Pair pair{first, second, is_dense};
  const Convolution both = both_of(pair);
  ProgramBuilder b(site.graph, site.name({second.id, 0}));
  std::vector<Value> inputs{read(b, site, first.x), kernel_of_both(b, site, pair)};
  if (const Value bias = bias_of_both(b, site, pair); bias.exists()) inputs.push_back(bias);
  Mutant out = finished(b, site, second, b.op("Conv", inputs, attributes_of(both)),
                        fmt::format("and the one before it as one of {}", fmt::join(both.kernel, "x")));
  out.from = first.x;
  out.is_arithmetic = true;
  return out;
}

void add_one_kernel(const Site& site, NodeId id, Mutations /*mutations*/, std::vector<Mutant>& out) {
  const auto second = sized_at(site, id);
  if (!second || !site.only_reader(second->x) || site.is_output(second->x)) return;
  const auto first = site.made_by(second->x, "Conv") ? sized_at(site, second->x.node) : std::nullopt;
  if (!first) return;
  if (auto mutant = one_kernel(site, *first, *second)) out.push_back(std::move(*mutant));
}

using Mutation = void (*)(const Site& site, NodeId id, Mutations mutations, std::vector<Mutant>& out);
constexpr Mutation kMutations[] = {add_side_by_side, add_holes_as_batch, add_one_kernel};

}  // namespace

std::vector<Mutant> mutants_of(const Site& site, NodeId id, Mutations mutations) {
  std::vector<Mutant> out;
  for (const Mutation mutation : kMutations) mutation(site, id, mutations, out);
  return out;
}

}  // namespace isomer
