#include <fmt/format.h>

#include <algorithm>

#include "optimizer/propose/weights/structure.h"

namespace isomer {
namespace {

using Kind = ProductSum::Kind;

constexpr std::int64_t kRunningSumOpset = 14;  // Trilu, which states it

// A matrix that reads one element per column, along one axis of the activation.
class Selecting {
 public:
  Selecting(const Site& site, const ProductSum& product, std::size_t k, std::size_t n)
      : site_(site),
        p_(product),
        claim_(site, product),
        axis_(p_.axes[k].x),
        rows_(p_.sizes[k]),
        columns_(p_.sizes[n]),
        is_turned_(n < k) {}

  std::optional<Proposal> choose(const Selection& s) {
    Form form = stride(s);
    if (!form) form = shuffle(s);
    if (!form) form = look_up(s);
    return finish(s, form->first, form->second);
  }

  std::optional<Proposal> running_sum(bool reverse) {
    const Value ones = claim_.fact.op(
        "Expand", {claim_.fact.constant(Tensor::of(ElementType::Float, {1, 1}, std::vector<float>{1})),
                   claim_.fact.integers({rows_, columns_})});
    const Value mask = claim_.fact.op("Trilu", {ones}, with({{"upper", std::int64_t{reverse ? 0 : 1}}}));
    const Value y = claim_.after.op("CumSum", {claim_.x(), claim_.after.scalar_integer(axis_)},
                                    with({{"reverse", std::int64_t{reverse ? 1 : 0}}}));
    return claim_.finish(fmt::format("{} adds up what came before", label(site_.node(p_.id))),
                         claim_.with_bias(y), as_constant(mask));
  }

 private:
  using Form = std::optional<std::pair<Value, Value>>;  // in the new program; the matrix in the fact's

  // from = first + step · n.
  Form stride(const Selection& s) {
    const std::int64_t first = s.from[0], step = columns_ > 1 ? s.from[1] - first : 1;
    if (step == 0) return std::nullopt;
    for (std::size_t n = 0; n < s.from.size(); ++n)
      if (s.from[n] != first + step * static_cast<std::int64_t>(n)) return std::nullopt;
    const auto slice = [&](ProgramBuilder& b, Value v, std::int64_t axis) {
      if (first == 0 && step == 1 && columns_ == rows_) return v;
      const std::int64_t end = first + step * columns_;
      return b.op("Slice", {v, b.integers({first}), b.integers({end < 0 ? -rows_ - 1 : end}),
                            b.integers({axis}), b.integers({step})});
    };
    return std::pair(slice(claim_.after, claim_.x(), axis_), slice(claim_.fact, claim_.fact.eye(rows_), 1));
  }

  // from[a · q + b] = b · p + a: channels dealt out anew.
  Form shuffle(const Selection& s) {
    if (rows_ != columns_ || rows_ < 4) return std::nullopt;
    const std::int64_t p = s.from[1];
    if (p < 2 || rows_ % p != 0) return std::nullopt;
    const std::int64_t q = rows_ / p;
    for (std::int64_t n = 0; n < rows_; ++n)
      if (s.from[static_cast<std::size_t>(n)] != n % q * p + n / q) return std::nullopt;
    const Dims& shape = *site_.inference.of(p_.x).shape;
    const auto axis = static_cast<std::size_t>(axis_);
    const auto apart = shape_with(shape, axis, {q, p}), whole = shape_with(shape, axis, {rows_});
    if (!apart || !whole) return std::nullopt;
    std::vector<std::int64_t> order(shape.size() + 1);
    for (std::size_t d = 0; d < order.size(); ++d) order[d] = static_cast<std::int64_t>(d);
    std::swap(order[axis], order[axis + 1]);
    ProgramBuilder &a = claim_.after, &f = claim_.fact;
    return std::pair(
        a.reshape(a.transpose(a.reshape(claim_.x(), *apart), order), *whole),
        f.reshape(f.transpose(f.reshape(f.eye(rows_), {rows_, q, p}), {0, 2, 1}), {rows_, rows_}));
  }

  Form look_up(const Selection& s) {
    ProgramBuilder &a = claim_.after, &f = claim_.fact;
    const Value y = a.op("Gather", {claim_.x(), a.integers(s.from)}, with({{"axis", axis_}}));
    return std::pair(y,
                     f.op("Gather", {f.eye(rows_), f.integers(s.from)}, with({{"axis", std::int64_t{1}}})));
  }

  std::optional<Proposal> finish(const Selection& s, Value y, Value matrix) {
    if (!s.is_plain()) {
      const bool is_one = std::ranges::all_of(s.scale, [&](float v) { return v == s.scale[0]; });
      std::vector<std::int64_t> shape(p_.rank - static_cast<std::size_t>(axis_), 1);
      if (!is_one) shape[0] = columns_;
      const std::vector<float> scale = is_one ? std::vector{s.scale[0]} : s.scale;
      y = claim_.after.op("Mul", {y, claim_.after.constant(Tensor::of(ElementType::Float, shape, scale))});
      matrix = claim_.fact.op(
          "Mul", {matrix, claim_.fact.constant(Tensor::of(
                              ElementType::Float, {static_cast<std::int64_t>(scale.size())}, scale))});
    }
    return claim_.finish(fmt::format("{} selects", label(site_.node(p_.id))), claim_.with_bias(y),
                         as_constant(matrix));
  }

  // From [rows, columns] to the constant's own shape.
  Value as_constant(Value matrix) {
    if (is_turned_) matrix = claim_.fact.transpose(matrix, {1, 0});
    return p_.sizes.size() == 2 ? matrix : claim_.fact.reshape(matrix, p_.sizes);
  }

  const Site& site_;
  const ProductSum& p_;
  StructureClaim claim_;
  std::int64_t axis_, rows_, columns_;
  bool is_turned_;
};

}  // namespace

bool propose_selection(const Site& site, const ProductSum& product, const ConstantStructure& structure,
                       Proposals& out) {
  if (!product.is_matrix || !structure.has_zeros()) return false;
  const std::size_t k = *product.only(Kind::Contracted), n = *product.only(Kind::Free);
  if (const auto selection = structure.selection(k, n)) {
    out.add(Selecting(site, product, k, n).choose(*selection));
    return true;
  }
  const bool forth = structure.is_running_sum(k, n), back = structure.is_running_sum(n, k);
  if (!forth && !back) return false;
  if (site.graph.opset("") >= kRunningSumOpset) out.add(Selecting(site, product, k, n).running_sum(back));
  return true;
}

}  // namespace isomer
