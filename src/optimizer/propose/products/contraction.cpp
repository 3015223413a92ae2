#include "optimizer/propose/products/contraction.h"

#include <algorithm>
#include <set>

#include "optimizer/facts/price.h"

namespace isomer {
namespace {

Dim size_of(const Labels& labels, const LabelSizes& extents) { return product(shape_of(labels, extents)); }

Labels without_missing(const Labels& labels) {
  Labels out;
  std::ranges::copy_if(labels, std::back_inserter(out), [](int l) { return l != kNoLabel; });
  return out;
}

constexpr double kNode = 300;        // run at all, in the unit of price()
constexpr double kUndecided = 1e15;  // only if there is nothing else

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
  const double rows = typical_count(is_flat ? joined({p.batch, p.rows}) : p.rows, extents);
  const double columns = typical_count(p.columns, extents);
  const double products = typical_count(joined({out, p.summed}), extents);
  double sum = products / 16 * (1 + 8 / rows + 8 / columns) + static_cast<double>(p.batch.size());
  const Labels own_a = without_missing(a.labels), own_b = without_missing(b.labels);
  // Two axes that change places in front of a product are the product's own business.
  const Labels other_a = only_of(joined({p.batch, p.summed, p.rows}), own_a),
               other_b = only_of(joined({p.batch, p.columns, p.summed}), own_b);
  if (!a.is_constant && left_order(p, own_a) != own_a && other_a != own_a)
    sum += typical_count(own_a, extents);
  if (!b.is_constant && right_order(p, own_b) != own_b && other_b != own_b)
    sum += typical_count(own_b, extents);
  if (joined({p.batch, p.rows, p.columns}) != out) sum += typical_count(out, extents);
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

// Runtimes refuse a batch of none that is broadcast, unless the second operand has no batch.
bool runs_at_all_sizes(const Plan& p, const Operand& a, const Operand& b, const LabelSizes& extents) {
  const Labels of_a = only_of(p.batch, a.labels), of_b = only_of(p.batch, b.labels);
  return of_a == of_b || of_b.empty() || is_concrete(shape_of(p.batch, extents));
}

// Whether axes are merged whose inner part has a named extent: the prover cannot decide positions there.
bool has_named_scale(const Labels& labels, const LabelSizes& extents) {
  return labels.size() > 1 &&
         std::any_of(labels.begin() + 1, labels.end(), [&](int l) { return !extents.at(l).is_concrete(); });
}

struct Arranged {
  Value value;
  Dims shape;
};

// The operand as [batch..., first, second].
std::optional<Arranged> arrange(ProgramBuilder& b, const Operand& operand, const Labels& batch,
                                const Labels& first, const Labels& second, const LabelSizes& extents) {
  Value value = operand.value;
  const Labels own = without_missing(operand.labels);
  const Labels order = only_of(joined({batch, first, second}), own);
  const bool is_turned = own != order && own == only_of(joined({batch, second, first}), own);
  Dims sizes = shape_of(operand.labels, extents);
  if (own != order && !is_turned) {
    const auto split = with_axes_of_labels(b, operand, extents);
    if (!split) return std::nullopt;
    value = *split;
    std::vector<std::int64_t> perm;
    // Axes without a label come first.
    for (std::size_t d = 0; d < operand.labels.size(); ++d)
      if (operand.labels[d] == kNoLabel) perm.push_back(static_cast<std::int64_t>(d));
    for (const int l : order) perm.push_back(std::ranges::find(operand.labels, l) - operand.labels.begin());
    value = b.transpose(value, perm);
    Dims moved;
    for (const std::int64_t d : perm) moved.push_back(sizes[static_cast<std::size_t>(d)]);
    sizes = moved;
  }
  Dims shape;
  for (const int l : batch) shape.push_back(has(operand.labels, l) ? extents.at(l) : Dim(1));
  // Leading ones broadcast by themselves.
  const auto leading = std::ranges::find_if(shape, [](const Dim& e) { return !e.is(1); });
  shape.erase(shape.begin(), leading);
  shape.push_back(size_of(is_turned ? second : first, extents));
  shape.push_back(size_of(is_turned ? first : second, extents));
  // Nor do they hurt.
  const std::size_t more = sizes.size() - std::min(sizes.size(), shape.size());
  const auto front = sizes.begin() + static_cast<std::ptrdiff_t>(more);
  if (std::equal(front, sizes.end(), shape.begin(), shape.end()) &&
      std::all_of(sizes.begin(), front, [](const Dim& e) { return e.is(1); }))
    shape = sizes;
  const bool is_moved = value != operand.value || !operand.shape;
  const auto made = reshaped(b, value, is_moved ? sizes : *operand.shape, shape);
  if (!made) return std::nullopt;
  value = *made;
  if (is_turned) {
    std::vector<std::int64_t> turn(shape.size());
    for (std::size_t d = 0; d < turn.size(); ++d) turn[d] = static_cast<std::int64_t>(d);
    std::swap(turn[turn.size() - 2], turn.back());
    std::swap(shape[shape.size() - 2], shape.back());
    value = b.transpose(value, turn);
  }
  return Arranged{value, shape};
}

std::vector<Place> places_of(const Operand& operand, const LabelSizes& extents) {
  std::vector<Place> out = operand.places;
  const Dims shape = operand.shape.value_or(shape_of(operand.labels, extents));
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (!shape[d].is_concrete()) out.push_back({shape[d], operand.value, d});
  return out;
}

// Whether Reshape's own rules determine all extents at all sizes: one may follow from the others, but not for
// an empty tensor.
bool is_said_at_all_sizes(const Dims& from, const Dims& to) {
  Dim others = 1;
  int open = 0;
  std::set<std::string> symbols;
  for (std::size_t d = 0; d < to.size(); ++d) {
    for (const std::string& name : to[d].symbols()) symbols.insert(name);
    if (to[d].is_concrete() || (d < from.size() && from[d] == to[d])) others = others * to[d];
    else ++open;
  }
  return open == 0 || (open == 1 && (symbols.size() < 2 || others.at_least(Dim(1)) == true));
}

Dims product_shape(const Arranged& x, const Arranged& y) {
  const Arranged& longer = x.shape.size() >= y.shape.size() ? x : y;
  const Arranged& other = x.shape.size() >= y.shape.size() ? y : x;
  Dims out = longer.shape;
  const std::size_t offset = longer.shape.size() - other.shape.size();
  for (std::size_t d = 0; d + 2 < other.shape.size(); ++d)
    if (out[d + offset].is(1)) out[d + offset] = other.shape[d];
  out[out.size() - 2] = x.shape[x.shape.size() - 2];
  out.back() = y.shape.back();
  return out;
}

std::optional<Operand> product_by(ProgramBuilder& b, const Plan& plan, const Operand& left,
                                  const Operand& right, const Labels& out, const LabelSizes& extents) {
  const Operand &first = plan.swapped ? right : left, &second = plan.swapped ? left : right;
  const auto x = arrange(b, first, plan.batch, plan.rows, plan.summed, extents);
  const auto y = arrange(b, second, plan.batch, plan.summed, plan.columns, extents);
  if (!x || !y) return std::nullopt;
  std::optional<Value> result = b.op("MatMul", {x->value, y->value});
  const Labels order = joined({plan.batch, plan.rows, plan.columns});
  std::vector<Place> places = places_of(left, extents);
  for (Place& p : places_of(right, extents)) places.push_back(std::move(p));
  Dims now = product_shape(*x, *y);
  if (order != out) {
    std::vector<std::int64_t> perm;
    for (const int l : out) perm.push_back(std::ranges::find(order, l) - order.begin());
    result = reshaped(b, *result, now, shape_of(order, extents), places);
    if (!result) return std::nullopt;
    return Operand{.value = b.transpose(*result, perm),
                   .labels = out,
                   .is_constant = left.is_constant && right.is_constant,
                   .places = std::move(places)};
  }
  Operand made{*result, out, left.is_constant && right.is_constant};
  made.places = std::move(places);
  if (now != shape_of(out, extents)) made.shape = now;
  ProgramBuilder trial = b;
  return with_axes_of_labels(trial, made, extents) ? std::optional(made) : std::nullopt;
}

}  // namespace

bool has(const Labels& labels, int label) { return std::ranges::find(labels, label) != labels.end(); }

Labels only_of(const Labels& order, const Labels& present) {
  Labels out;
  std::ranges::copy_if(order, std::back_inserter(out), [&](int l) { return has(present, l); });
  return out;
}

double typical_count(const Labels& labels, const LabelSizes& extents) {
  double n = 1;
  for (const int l : labels)
    if (l != kNoLabel) n *= static_cast<double>(typical_size(extents.at(l), *extents.machine).value_or(1));
  return n;
}

Dims shape_of(const Labels& labels, const LabelSizes& extents) {
  Dims out;
  for (const int l : labels) out.push_back(l == kNoLabel ? Dim(1) : extents.at(l));
  return out;
}

std::optional<Value> reshaped(ProgramBuilder& b, Value value, const Dims& from, const Dims& to) {
  if (from == to) return value;
  std::vector<std::int64_t> shape;
  bool has_open = false;
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (const auto known = to[d].value()) {
      if (*known == 0) return std::nullopt;  // Reshape reads 0 as "as it is"
      shape.push_back(*known);
    } else if (d < from.size() && from[d] == to[d]) {
      shape.push_back(0);
    } else if (!has_open) {
      shape.push_back(-1);
      has_open = true;
    } else {
      return std::nullopt;
    }
  }
  return b.reshape(value, shape);
}

std::optional<Value> reshaped(ProgramBuilder& b, Value value, const Dims& from, const Dims& to,
                              const std::vector<Place>& places) {
  constexpr int kPartsOfShapes = 15;  // opset in which Shape has a start and an end
  if (from == to || is_said_at_all_sizes(from, to)) return reshaped(b, value, from, to);
  // Without leading ones more may keep its place.
  const auto first = std::ranges::find_if(from, [](const Dim& e) { return !e.is(1); });
  if (const Dims rest(first, from.end()); rest.size() < from.size() && is_said_at_all_sizes(rest, to)) {
    std::vector<std::int64_t> ones;
    for (std::size_t d = 0; d < from.size() - rest.size(); ++d) ones.push_back(static_cast<std::int64_t>(d));
    return reshaped(b, b.squeeze(value, ones), rest, to);
  }
  if (b.graph().opset("") < kPartsOfShapes) return reshaped(b, value, from, to);
  std::vector<Value> parts;
  std::vector<std::int64_t> numbers;
  const auto end_numbers = [&] {
    if (!numbers.empty()) parts.push_back(b.integers(numbers));
    numbers.clear();
  };
  for (const Dim& extent : to) {
    if (extent.is_concrete()) {
      numbers.push_back(extent.concrete());
      continue;
    }
    const auto at = std::ranges::find(places, extent, &Place::extent);
    if (at == places.end()) return reshaped(b, value, from, to);
    end_numbers();
    const auto axis = static_cast<std::int64_t>(at->axis);
    parts.push_back(b.op("Shape", {at->value}, with({{"start", axis}, {"end", axis + 1}})));
  }
  end_numbers();
  return b.op("Reshape", {value, b.concat(parts, 0)}, with({{"allowzero", std::int64_t{1}}}));
}

std::optional<Value> with_axes_of_labels(ProgramBuilder& b, const Operand& operand,
                                         const LabelSizes& extents) {
  const Dims to = shape_of(operand.labels, extents);
  return reshaped(b, operand.value, operand.shape.value_or(to), to, operand.places);
}

std::optional<Value> aligned(ProgramBuilder& b, const Operand& operand, const Labels& order,
                             const LabelSizes& extents) {
  const Labels own = without_missing(only_of(order, operand.labels));
  const bool is_in_order = without_missing(operand.labels) == own;
  std::vector<std::int64_t> perm;
  for (std::size_t d = 0; d < operand.labels.size(); ++d)
    if (operand.labels[d] == kNoLabel || is_in_order) perm.push_back(static_cast<std::int64_t>(d));
  if (!is_in_order)
    for (const int l : own) perm.push_back(std::ranges::find(operand.labels, l) - operand.labels.begin());
  const Dims sizes = shape_of(operand.labels, extents);
  Dims from, to;
  for (const std::int64_t d : perm) from.push_back(sizes[static_cast<std::size_t>(d)]);
  for (const int l : order) to.push_back(l != kNoLabel && has(operand.labels, l) ? extents.at(l) : Dim(1));
  // Leading ones broadcast by themselves.
  while (to.size() > from.size() && to[0].is(1)) to.erase(to.begin());
  if (is_in_order) return reshaped(b, operand.value, operand.shape.value_or(from), to);
  const auto split = with_axes_of_labels(b, operand, extents);
  if (!split) return std::nullopt;
  return reshaped(b, b.transpose(*split, perm), from, to);
}

std::optional<Operand> contract(ProgramBuilder& b, const Operand& left, const Operand& right,
                                const Labels& out, const LabelSizes& extents) {
  std::optional<ProgramBuilder> best;
  Operand result;
  double least = 0;
  for (const bool swapped : {false, true}) {
    const Operand &first = swapped ? right : left, &second = swapped ? left : right;
    for (std::size_t prefix = 0; prefix <= out.size(); ++prefix) {
      auto plan = plan_for(first, second, out, prefix);
      if (!plan || !runs_at_all_sizes(*plan, first, second, extents)) continue;
      plan->swapped = swapped;
      ProgramBuilder trial = b;
      const auto value = product_by(trial, *plan, left, right, out, extents);
      if (!value) continue;
      double now = price(*plan, first, second, out, extents) +
                   kNode * static_cast<double>(trial.graph().order().size());
      for (const Labels* merged : {&plan->rows, &plan->columns, &plan->summed})
        if (has_named_scale(*merged, extents)) now += kUndecided;
      if (best && now >= least) continue;
      best = std::move(trial);
      result = *value;
      least = now;
    }
  }
  if (!best) return std::nullopt;
  b = std::move(*best);
  return result;
}

}  // namespace isomer
