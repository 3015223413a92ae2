#include "propose/contraction.h"

#include <algorithm>

namespace isomer {
namespace {

using LabelSizes = std::map<int, std::int64_t>;

bool has(const Labels& labels, int label) { return std::ranges::find(labels, label) != labels.end(); }

std::int64_t size_of(const Labels& labels, const LabelSizes& extents) {
  std::int64_t n = 1;
  for (const int l : labels) n *= extents.at(l);
  return n;
}

Labels without_missing(const Labels& labels) {
  Labels out;
  std::ranges::copy_if(labels, std::back_inserter(out), [](int l) { return l != kNoLabel; });
  return out;
}

// MatMul's [batch..., rows, columns], out of a[batch..., rows, summed] and b[batch..., summed, columns].
struct Plan {
  bool swapped = false;  // the second operand is on the left
  Labels batch, rows, columns, summed;
};

Labels joined(std::initializer_list<Labels> parts) {
  Labels out;
  for (const Labels& p : parts) out.insert(out.end(), p.begin(), p.end());
  return out;
}

Labels only_of(const Labels& order, const Labels& present) {
  Labels out;
  std::ranges::copy_if(order, std::back_inserter(out), [&](int l) { return has(present, l); });
  return out;
}

Labels left_order(const Plan& p, const Labels& own) {
  return only_of(joined({p.batch, p.rows, p.summed}), own);
}
Labels right_order(const Plan& p, const Labels& own) {
  return only_of(joined({p.batch, p.summed, p.columns}), own);
}

// Multiplications, of which few rows or columns at a time are slow, and elements that are transposed.
double price(const Plan& p, const Operand& a, const Operand& b, const Labels& out,
             const LabelSizes& extents) {
  // A batch of which the right operand has nothing is more rows.
  const bool is_flat = only_of(p.batch, b.labels).empty();
  const auto rows = static_cast<double>(size_of(is_flat ? joined({p.batch, p.rows}) : p.rows, extents));
  const auto columns = static_cast<double>(size_of(p.columns, extents));
  const auto products = static_cast<double>(size_of(joined({out, p.summed}), extents));
  double sum = products / 16 * (1 + 8 / rows + 8 / columns) + static_cast<double>(p.batch.size());
  const Labels own_a = without_missing(a.labels), own_b = without_missing(b.labels);
  // Two axes that change places in front of a product are the product's own business.
  const Labels other_a = only_of(joined({p.batch, p.summed, p.rows}), own_a),
               other_b = only_of(joined({p.batch, p.columns, p.summed}), own_b);
  if (!a.is_constant && left_order(p, own_a) != own_a && other_a != own_a)
    sum += static_cast<double>(size_of(own_a, extents));
  if (!b.is_constant && right_order(p, own_b) != own_b && other_b != own_b)
    sum += static_cast<double>(size_of(own_b, extents));
  if (joined({p.batch, p.rows, p.columns}) != out) sum += static_cast<double>(size_of(out, extents));
  return sum;
}

std::optional<Plan> plan_for(const Operand& a, const Operand& b, const Labels& out, std::size_t prefix) {
  Plan p;
  for (std::size_t k = 0; k < out.size(); ++k) {
    const bool left = has(a.labels, out[k]), right = has(b.labels, out[k]);
    if (!left && !right) return std::nullopt;
    if (k < prefix || (left && right)) p.batch.push_back(out[k]);
    else (left ? p.rows : p.columns).push_back(out[k]);
  }
  for (const int l : without_missing(a.labels)) {
    if (has(out, l)) continue;
    if (!has(b.labels, l)) return std::nullopt;
    p.summed.push_back(l);
  }
  for (const int l : without_missing(b.labels))
    if (!has(out, l) && !has(a.labels, l)) return std::nullopt;
  if (p.summed.empty()) return std::nullopt;
  return p;
}

struct Arranged {
  Value value;
  std::vector<std::int64_t> shape;
};

// The operand as [batch..., first, second].
Arranged arranged(ProgramBuilder& b, const Operand& operand, const Labels& batch, const Labels& first,
                  const Labels& second, const LabelSizes& extents) {
  Value value = operand.value;
  const Labels own = without_missing(operand.labels);
  const Labels order = only_of(joined({batch, first, second}), own);
  const bool is_turned = own != order && own == only_of(joined({batch, second, first}), own);
  std::vector<std::int64_t> sizes, perm;
  for (const int l : operand.labels) sizes.push_back(l == kNoLabel ? 1 : extents.at(l));
  if (own != order && !is_turned) {
    // Axes without a label come first.
    for (std::size_t d = 0; d < operand.labels.size(); ++d)
      if (operand.labels[d] == kNoLabel) perm.push_back(static_cast<std::int64_t>(d));
    for (const int l : order) perm.push_back(std::ranges::find(operand.labels, l) - operand.labels.begin());
    value = b.transpose(value, perm);
    std::vector<std::int64_t> moved;
    for (const std::int64_t d : perm) moved.push_back(sizes[static_cast<std::size_t>(d)]);
    sizes = moved;
  }
  std::vector<std::int64_t> shape;
  for (const int l : batch) shape.push_back(has(operand.labels, l) ? extents.at(l) : 1);
  // Leading ones broadcast by themselves.
  const auto leading = std::ranges::find_if(shape, [](std::int64_t e) { return e != 1; });
  shape.erase(shape.begin(), leading);
  shape.push_back(size_of(is_turned ? second : first, extents));
  shape.push_back(size_of(is_turned ? first : second, extents));
  if (sizes != shape) value = b.reshape(value, shape);
  if (is_turned) {
    std::vector<std::int64_t> turn(shape.size());
    for (std::size_t d = 0; d < turn.size(); ++d) turn[d] = static_cast<std::int64_t>(d);
    std::swap(turn[turn.size() - 2], turn.back());
    std::swap(shape[shape.size() - 2], shape.back());
    value = b.transpose(value, turn);
  }
  return {value, shape};
}

std::vector<std::int64_t> product_shape(const Arranged& x, const Arranged& y) {
  const Arranged& longer = x.shape.size() >= y.shape.size() ? x : y;
  const Arranged& other = x.shape.size() >= y.shape.size() ? y : x;
  std::vector<std::int64_t> out = longer.shape;
  const std::size_t offset = longer.shape.size() - other.shape.size();
  for (std::size_t d = 0; d + 2 < other.shape.size(); ++d)
    out[d + offset] = std::max(out[d + offset], other.shape[d]);
  out[out.size() - 2] = x.shape[x.shape.size() - 2];
  out.back() = y.shape.back();
  return out;
}

}  // namespace

std::optional<Value> contract(ProgramBuilder& b, const Operand& left, const Operand& right, const Labels& out,
                              const LabelSizes& extents, const std::vector<std::int64_t>& shape) {
  std::optional<Plan> best;
  double least = 0;
  for (const bool swapped : {false, true}) {
    const Operand &first = swapped ? right : left, &second = swapped ? left : right;
    for (std::size_t prefix = 0; prefix <= out.size(); ++prefix) {
      auto plan = plan_for(first, second, out, prefix);
      if (!plan) continue;
      plan->swapped = swapped;
      const double now = price(*plan, first, second, out, extents);
      if (best && now >= least) continue;
      best = std::move(plan);
      least = now;
    }
  }
  if (!best) return std::nullopt;
  const Operand &first = best->swapped ? right : left, &second = best->swapped ? left : right;
  const Arranged x = arranged(b, first, best->batch, best->rows, best->summed, extents);
  const Arranged y = arranged(b, second, best->batch, best->summed, best->columns, extents);
  Value result = b.op("MatMul", {x.value, y.value});
  const Labels order = joined({best->batch, best->rows, best->columns});
  std::vector<std::int64_t> now = product_shape(x, y);
  if (order != out) {
    std::vector<std::int64_t> split, perm;
    for (const int l : order) split.push_back(extents.at(l));
    for (const int l : out) perm.push_back(std::ranges::find(order, l) - order.begin());
    if (now != split) result = b.reshape(result, split);
    result = b.transpose(result, perm);
    now.clear();
    for (const int l : out) now.push_back(extents.at(l));
  }
  return now == shape ? result : b.reshape(result, shape);
}

}  // namespace isomer
