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

// Elements that are transposed.
double price(const Plan& p, const Operand& a, const Operand& b, const Labels& out,
             const LabelSizes& extents) {
  double sum = static_cast<double>(p.batch.size());
  const Labels own_a = without_missing(a.labels), own_b = without_missing(b.labels);
  if (!a.is_constant && left_order(p, own_a) != own_a) sum += static_cast<double>(size_of(own_a, extents));
  if (!b.is_constant && right_order(p, own_b) != own_b) sum += static_cast<double>(size_of(own_b, extents));
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

// The operand with its axes in this order, then as [batch..., first, second].
Value arranged(ProgramBuilder& b, const Operand& operand, const Labels& order, const Labels& batch,
               const Labels& first, const Labels& second, const LabelSizes& extents) {
  Value value = operand.value;
  std::vector<std::int64_t> sizes, perm;
  for (const int l : operand.labels) sizes.push_back(l == kNoLabel ? 1 : extents.at(l));
  // Axes without a label stay where they are, at the front.
  for (std::size_t d = 0; d < operand.labels.size(); ++d)
    if (operand.labels[d] == kNoLabel) perm.push_back(static_cast<std::int64_t>(d));
  for (const int l : order) perm.push_back(std::ranges::find(operand.labels, l) - operand.labels.begin());
  const bool in_order = without_missing(operand.labels) == order;
  if (!in_order) {
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
  shape.push_back(size_of(first, extents));
  shape.push_back(size_of(second, extents));
  return sizes == shape ? value : b.reshape(value, shape);
}

}  // namespace

std::optional<Value> contract(ProgramBuilder& b, const Operand& left, const Operand& right, const Labels& out,
                              const LabelSizes& extents) {
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
  const Value x = arranged(b, first, left_order(*best, without_missing(first.labels)), best->batch,
                           best->rows, best->summed, extents);
  const Value y = arranged(b, second, right_order(*best, without_missing(second.labels)), best->batch,
                           best->summed, best->columns, extents);
  Value result = b.op("MatMul", {x, y});
  const Labels order = joined({best->batch, best->rows, best->columns});
  std::vector<std::int64_t> shape, perm;
  for (const int l : order) shape.push_back(extents.at(l));
  for (const int l : out) perm.push_back(std::ranges::find(order, l) - order.begin());
  result = b.reshape(result, shape);
  return b.transpose(result, perm);
}

}  // namespace isomer
