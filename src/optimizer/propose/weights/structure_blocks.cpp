#include <fmt/format.h>

#include <algorithm>

#include "optimizer/facts/convolution.h"
#include "optimizer/propose/weights/structure.h"

namespace isomer {
namespace {

using Kind = ProductSum::Kind;

// The constant with both axes split into classes and what is within: [classes, .., classes, ..], axes that
// are classes first. `split` is the shape of the first step, `order` the second; `back` undoes it.
struct Blocked {
  std::vector<std::int64_t> split, order, back;
};

// Two axes that follow one another, a before b, and kernel axes behind them.
Blocked blocked(const Extents& sizes, std::size_t a, const Blocks& blocks) {
  Blocked out;
  const std::int64_t g = blocks.count;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const bool is_split = d == a || d == a + 1, inner = d == a ? blocks.a_inner : blocks.b_inner;
    const auto next = static_cast<std::int64_t>(out.split.size());
    if (!is_split) {
      out.split.push_back(sizes[d]);
      out.order.push_back(next);
      continue;
    }
    const std::int64_t rest = sizes[d] / g;
    out.split.insert(out.split.end(), {inner ? rest : g, inner ? g : rest});
    out.order.insert(out.order.end(), {inner ? next + 1 : next, inner ? next : next + 1});
  }
  out.back = inverse_order(out.order);
  return out;
}

// [classes, m, classes, n, ..] of the constant.
Value split(ProgramBuilder& b, Value constant, const Blocked& s) {
  return b.transpose(b.reshape(constant, s.split), s.order);
}

// The fact: what lies between two classes is zero.
Value stated(StructureClaim& claim, const Blocked& s, const Extents& sizes, std::int64_t classes) {
  ProgramBuilder& f = claim.fact;
  const Value apart = split(f, claim.constant(f), s);
  const Value masked = f.op("Mul", {apart, same_class(f, classes, s.order.size())});
  return f.reshape(f.transpose(masked, s.back), sizes);
}

// The blocks alone: [classes, m, n, ..].
Value diagonal(StructureClaim& claim, const Blocked& s, std::int64_t classes) {
  ProgramBuilder& a = claim.after;
  const Value apart = split(a, claim.constant(a), s);
  return a.reduce("ReduceSum", a.op("Mul", {apart, same_class(a, classes, s.order.size())}), 2);
}

// Convolutions: the classes are groups.
std::optional<Proposal> as_groups(const Site& site, const ProductSum& p, const Blocks& blocks) {
  StructureClaim claim(site, p);
  const Blocked s = blocked(p.sizes, 0, blocks);
  Extents sizes = p.sizes;
  sizes[1] /= blocks.count;
  Node node = site.node(p.id);
  node.attributes.set("group", blocks.count);
  std::vector<Value> inputs{claim.x(), claim.after.reshape(diagonal(claim, s, blocks.count), sizes)};
  if (p.bias.exists()) inputs.push_back(claim.bias());
  return claim.finish(fmt::format("{} has {} groups", label(node), blocks.count),
                      claim.after.copy(node, inputs), stated(claim, s, p.sizes, blocks.count));
}

// Products with a matrix: the classes are a batch.
class BatchOfBlocks {
 public:
  BatchOfBlocks(const Site& site, const ProductSum& product, const Blocks& blocks, bool is_turned)
      : site_(site), p_(product), claim_(site, product), blocks_(blocks), is_turned_(is_turned) {
    const std::size_t k = *p_.only(Kind::Contracted), n = *p_.only(Kind::Free);
    axis_ = static_cast<std::size_t>(p_.axes[k].x);
    k_inner_ = is_turned ? blocks.b_inner : blocks.a_inner;
    n_inner_ = is_turned ? blocks.a_inner : blocks.b_inner;
    inner_ = p_.sizes[k] / blocks.count;
    columns_ = p_.sizes[n];
    matrix_ = {p_.sizes[std::min(k, n)], p_.sizes[std::max(k, n)]};
  }

  // One block, again and again: the other class is a row or a column more.
  std::optional<Proposal> propose_one() {
    const Dims& shape = *site_.inference.of(p_.x).shape;
    const std::int64_t g = blocks_.count;
    const bool is_last = axis_ + 1 == shape.size();
    if (k_inner_ != n_inner_ || shape.size() < 2 || (!is_last && (k_inner_ || axis_ + 2 != shape.size())))
      return std::nullopt;
    const auto apart = shape_with(shape, axis_, parts());
    const auto whole = shape_with(shape, axis_, {columns_});
    if (!apart || !whole) return std::nullopt;
    ProgramBuilder &a = claim_.after, &f = claim_.fact;
    const Blocked s = blocked(matrix_, 0, blocks_);
    const auto first = [&](ProgramBuilder& b) {
      return b.slice(b.slice(split(b, claim_.constant(b), s), 0, 0, 1), 2, 0, 1);
    };
    const bool is_right = is_last && !k_inner_;  // x · w, else w · x
    Value w = a.squeeze(first(a), {0, 2});
    if (is_turned_ == is_right) w = a.transpose(w, {1, 0});
    const Value x = a.reshape(claim_.x(), *apart);
    const Value y = a.reshape(is_right ? a.op("MatMul", {x, w}) : a.op("MatMul", {w, x}), *whole);
    const Value masked = f.op("Mul", {first(f), same_class(f, g, s.order.size())});
    return claim_.finish(fmt::format("{} is one block {} times", label(site_.node(p_.id)), g),
                         claim_.with_bias(y), f.reshape(f.transpose(masked, s.back), p_.sizes));
  }

  std::optional<Proposal> propose() {
    const Dims& shape = *site_.inference.of(p_.x).shape;
    const bool is_last = axis_ + 1 == shape.size();
    if (shape.size() < 2 || (!is_last && axis_ + 2 != shape.size())) return std::nullopt;
    ProgramBuilder& a = claim_.after;
    const Blocked s = blocked(matrix_, 0, blocks_);
    Value w = diagonal(claim_, s, blocks_.count);  // [g, inner, outer], or turned
    if (is_turned_ == is_last) w = a.transpose(w, {0, 2, 1});
    const auto y = is_last ? rows_times(w, shape) : times_columns(w, shape);
    if (!y) return std::nullopt;
    return claim_.finish(fmt::format("{} is {} blocks", label(site_.node(p_.id)), blocks_.count),
                         claim_.with_bias(*y), stated(claim_, s, p_.sizes, blocks_.count));
  }

 private:
  static std::vector<std::int64_t> pair(std::int64_t a, std::int64_t b) { return {a, b}; }
  std::vector<std::int64_t> parts() const {
    return k_inner_ ? pair(inner_, blocks_.count) : pair(blocks_.count, inner_);
  }
  // All rows are one axis: a runtime may refuse a batch of none that is broadcast.
  Value rows_times(Value w, const Dims& shape) {
    ProgramBuilder& a = claim_.after;
    std::vector<std::int64_t> apart = parts();
    apart.insert(apart.begin(), -1);
    const Value x = a.transpose(a.reshape(claim_.x(), apart), k_inner_ ? std::vector<std::int64_t>{2, 0, 1}
                                                                       : std::vector<std::int64_t>{1, 0, 2});
    const Value y = a.transpose(a.op("MatMul", {x, w}), n_inner_ ? std::vector<std::int64_t>{1, 2, 0}
                                                                 : std::vector<std::int64_t>{1, 0, 2});
    return with_rows_of(a, y, claim_.x(), shape, columns_);
  }
  std::optional<Value> times_columns(Value w, const Dims& shape) {
    const auto apart = shape_with(shape, axis_, parts()), whole = shape_with(shape, axis_, {columns_});
    if (!apart || !whole) return std::nullopt;
    ProgramBuilder& a = claim_.after;
    std::vector<std::int64_t> plain, turned;
    for (std::size_t d = 0; d <= shape.size(); ++d) plain.push_back(static_cast<std::int64_t>(d));
    turned = plain;
    std::swap(turned[axis_], turned[axis_ + 1]);
    const Value x = a.transpose(a.reshape(claim_.x(), *apart), k_inner_ ? turned : plain);
    return a.reshape(a.transpose(a.op("MatMul", {w, x}), n_inner_ ? turned : plain), *whole);
  }

  const Site& site_;
  const ProductSum& p_;
  StructureClaim claim_;
  Blocks blocks_;
  bool is_turned_, k_inner_ = false, n_inner_ = false;
  std::size_t axis_ = 0;
  std::int64_t inner_ = 0, columns_ = 0;
  Extents matrix_;  // the constant's sizes without axes of one element
};

}  // namespace

void propose_blocks(const Site& site, const ProductSum& product, const ConstantStructure& structure,
                    Proposals& out) {
  const auto k = product.only(Kind::Contracted), n = product.only(Kind::Free);
  if (!k || !n) return;
  const std::size_t a = std::min(*k, *n), b = std::max(*k, *n);
  if (b != a + 1) return;
  const Blocks blocks = structure.blocks(a, b);
  if (blocks.count < 2) return;
  const bool convolves = site.is(product.id, "Conv") || site.is(product.id, "ConvTranspose");
  if (convolves && !blocks.a_inner && !blocks.b_inner) out.add(as_groups(site, product, blocks));
  if (convolves || !product.is_matrix) return;
  std::optional<Proposal> one;
  if (structure.has_equal_blocks(a, b, blocks))
    one = BatchOfBlocks(site, product, blocks, *n < *k).propose_one();
  out.add(one ? std::move(one) : BatchOfBlocks(site, product, blocks, *n < *k).propose());
}

}  // namespace isomer
