// linear: computes a sum of products by the cheapest products.
//
// A value is written as its linear form (optimizer/facts/linear_form.h); one factor after the other is
// replaced by its definition, and each of these forms is written back. For every term it chooses the cheapest
// order of its products (all orders are tried), each product over the indices that its operands really have,
// so that repeated parts are computed once; then the terms are added, small ones first. This covers chains of
// products, products with concatenations and with repeated operands, sums of products, and work that
// broadcasting can do. No operator is named except those that are written.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "model/graph/constant.h"
#include "optimizer/facts/linear_form.h"
#include "optimizer/facts/price.h"
#include "optimizer/facts/site.h"
#include "optimizer/facts/surroundings.h"
#include "optimizer/propose/products/contraction.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

constexpr const char* kKind = "linear";
constexpr int kMostExpansions = 16;
constexpr int kStepsAround = 6;            // back from a value: what decides how it is written best
constexpr std::size_t kMostOperands = 8;   // of one term: all orders are tried
constexpr std::size_t kMostReaders = 8;    // of a product that is written into all of them
constexpr double kLarge = 4096;            // of a number that is added
constexpr double kMostConstant = 1 << 24;  // elements that a product of constants may have

Labels labels_in(const std::vector<Operand>& operands) {
  Labels out;
  for (const Operand& o : operands)
    for (const int l : o.labels)
      if (l != kNoLabel && !has(out, l)) out.push_back(l);
  return out;
}

// Writes one linear form as a program.
class Writer {
 public:
  Writer(const Site& site, const LinearForm& form, ProgramBuilder& b, bool is_image)
      : site_(site), form_(form), is_image_(is_image), b_(b), extents_(site.machine) {
    int next = form.next_axis;
    for (const auto& parts : form.axes) {
      Dim extent = 1;
      for (const Axis& a : parts) extent = extent * a.extent;
      wholes_.push_back({next++, extent});
      extents_[wholes_.back().id] = extent;
      if (parts.size() > 1) out_.push_back(wholes_.back().id);
      for (const Axis& a : parts) {
        extents_[a.id] = a.extent;
        if (!a.extent.is(1)) out_.push_back(a.id);
      }
    }
    for (const LinearTerm& t : form.terms)
      for (const Axis& a : t.summed) extents_[a.id] = a.extent;
  }

  std::optional<Value> written() {
    std::vector<Operand> terms;
    for (const LinearTerm& t : form_.terms) {
      auto term = written(t);
      if (!term) return std::nullopt;
      terms.push_back(std::move(*term));
    }
    return sum(std::move(terms));
  }
  int products() const { return products_; }

 private:
  // The reads of a term's factors, if an axis of the result that is split, but not for this term, is whole.
  std::optional<std::vector<std::vector<LabelledAxis>>> reads_of(const LinearTerm& t) {
    std::vector<std::vector<LabelledAxis>> out;
    for (const LinearFactor& f : t.factors) {
      auto axes = labelled(site_, f);
      if (!axes) return std::nullopt;
      out.push_back(std::move(*axes));
    }
    for (std::size_t d = 0; d < form_.axes.size(); ++d) {
      const std::vector<Axis>& parts = form_.axes[d];
      if (parts.size() < 2) continue;
      const auto stays_together = [&](const std::vector<LabelledAxis>& factor) {
        return std::ranges::all_of(factor, [&](const LabelledAxis& axis) {
          const auto mentions = [&](const Axis& a) {
            return std::ranges::find(axis.labels, a) != axis.labels.end();
          };
          return std::ranges::none_of(parts, mentions) || !std::ranges::search(axis.labels, parts).empty();
        });
      };
      if (!std::ranges::all_of(out, stays_together)) continue;
      for (auto& factor : out)
        for (LabelledAxis& axis : factor) {
          const auto run = std::ranges::search(axis.labels, parts);
          if (run.empty()) continue;
          *run.begin() = wholes_[d];
          axis.labels.erase(run.begin() + 1, run.end());
        }
    }
    return out;
  }

  // A factor as its value with an axis per label.
  std::optional<Operand> read(const LinearFactor& factor, const std::vector<LabelledAxis>& axes) {
    Operand out{.value = b_.input(site_.name(factor.value)),
                .labels = {},
                .is_constant = site_.is_constant(factor.value)};
    Dims shape = *site_.inference.of(factor.value).shape;
    std::vector<std::int64_t> begin, end, along, step;
    Dims split;
    for (std::size_t d = 0; d < axes.size(); ++d) {
      const LabelledAxis& axis = axes[d];
      Dim count = 1;
      for (const Axis& a : axis.labels) count = count * a.extent;
      if (!axis.is_whole) {
        const auto n = count.value();
        if (!n) return std::nullopt;
        begin.push_back(axis.begin);
        end.push_back(axis.begin + (*n - 1) * axis.step + 1);
        along.push_back(static_cast<std::int64_t>(d));
        step.push_back(axis.step);
        shape[d] = count;
      }
      for (const Axis& a : axis.labels) {
        out.labels.push_back(a.id);
        split.push_back(a.extent);
      }
      if (axis.labels.empty()) {
        out.labels.push_back(kNoLabel);
        split.emplace_back(1);
      }
    }
    if (!begin.empty())
      out.value = b_.op(
          "Slice", {out.value, b_.integers(begin), b_.integers(end), b_.integers(along), b_.integers(step)});
    if (factor.is_inverse) out.value = b_.op("Reciprocal", {out.value});
    if (shape != split) out.shape = shape;
    return out;
  }

  std::optional<Operand> written(const LinearTerm& t) {
    operands_.clear();
    const auto reads = reads_of(t);
    if (!reads) return std::nullopt;
    for (std::size_t k = 0; k < t.factors.size(); ++k) {
      auto operand = read(t.factors[k], (*reads)[k]);
      if (!operand) return std::nullopt;
      operands_.push_back(std::move(*operand));
    }
    if (t.scale != 1 || operands_.empty())
      operands_.push_back(
          {b_.constant(Tensor::of(ElementType::Float, {}, std::vector<float>{static_cast<float>(t.scale)})),
           {},
           true});
    if (operands_.size() > kMostOperands) return std::nullopt;
    return in_best_order();
  }

  // ---- the order of products: sets of operands, and of labels, as bits

  using Set = std::uint64_t;
  struct Best {
    double cost = 0;
    Set left = 0;  // 0: one operand
  };

  // Labels of the operands, by their bits.
  struct Order {
    Labels labels = {};
    std::vector<double> sizes = {};
    std::vector<Set> of_operand = {};  // the labels of each
    Set out = 0;                       // labels of the result
    std::vector<Set> of_set = {};      // the labels of each set of operands
  };
  Order order_of_operands() const {
    Order o{.labels = labels_in(operands_)};
    for (std::size_t k = 0; k < o.labels.size(); ++k) {
      o.sizes.push_back(typical_count({o.labels[k]}, extents_));
      if (has(out_, o.labels[k])) o.out |= Set{1} << k;
    }
    for (const Operand& operand : operands_) {
      Set bits = 0;
      for (std::size_t k = 0; k < o.labels.size(); ++k)
        if (has(operand.labels, o.labels[k])) bits |= Set{1} << k;
      o.of_operand.push_back(bits);
    }
    o.of_set.resize(Set{1} << operands_.size());
    for (Set set = 1; set < o.of_set.size(); ++set)
      o.of_set[set] =
          o.of_set[set & (set - 1)] | o.of_operand[static_cast<std::size_t>(std::countr_zero(set))];
    return o;
  }
  // The labels of a set that other nodes need.
  static Set kept_by(const Order& o, Set set) {
    return o.of_set[set] & (o.out | o.of_set[(o.of_set.size() - 1) & ~set]);
  }
  static double count(const Order& o, Set labels) {
    double n = 1;
    for (; labels != 0; labels &= labels - 1)
      n *= o.sizes[static_cast<std::size_t>(std::countr_zero(labels))];
    return n;
  }
  double cost_of(const Order& o, Set constants, Set left, Set right) const {
    const double made = count(o, kept_by(o, left | right));
    if (((left | right) & ~constants) == 0) return made > kMostConstant ? 1e30 : 0;
    const Prices& prices = site_.machine.prices;
    const double products = count(o, kept_by(o, left) | kept_by(o, right));
    return 2 * products + prices.element * (made + products / 64) + prices.node;
  }

  std::optional<Operand> in_best_order() {
    const Order o = order_of_operands();
    if (o.labels.size() > 60) return std::nullopt;
    Set constants = 0;
    for (std::size_t k = 0; k < operands_.size(); ++k)
      if (operands_[k].is_constant) constants |= Set{1} << k;
    const Set all = o.of_set.size() - 1;
    std::vector<Best> best(o.of_set.size());
    for (Set set = 1; set <= all; ++set) {
      if (std::popcount(set) < 2) continue;
      best[set].cost = 1e40;
      for (Set left = (set - 1) & set; left > 0; left = (left - 1) & set) {
        const Set right = set & ~left;
        if (left < right) break;
        const double cost = best[left].cost + best[right].cost + cost_of(o, constants, left, right);
        if (cost < best[set].cost) best[set] = {cost, left};
      }
    }
    auto whole = built(o, best, all);
    return whole ? reduced(*whole, out_) : std::nullopt;
  }

  std::optional<Operand> built(const Order& o, const std::vector<Best>& best, Set set) {
    if (std::popcount(set) == 1) return operands_[static_cast<std::size_t>(std::countr_zero(set))];
    const Set left = best[set].left;
    const auto a = built(o, best, left), b = built(o, best, set & ~left);
    if (!a || !b) return std::nullopt;
    Labels kept;
    for (Set bits = kept_by(o, set); bits != 0; bits &= bits - 1)
      kept.push_back(o.labels[static_cast<std::size_t>(std::countr_zero(bits))]);
    return joined(*a, *b, kept);
  }

  // Summed over the labels that are not kept.
  std::optional<Operand> reduced(const Operand& o, const Labels& kept) {
    std::vector<std::int64_t> axes;
    Labels labels;
    for (std::size_t d = 0; d < o.labels.size(); ++d) {
      if (o.labels[d] == kNoLabel || has(kept, o.labels[d])) labels.push_back(o.labels[d]);
      else axes.push_back(static_cast<std::int64_t>(d));
    }
    if (axes.empty()) return o;
    const auto split = with_axes_of_labels(b_, o, extents_);
    if (!split) return std::nullopt;
    const Attributes drop = with({{"keepdims", std::int64_t{0}}});
    const Value value =
        site_.graph.opset("") >= 13
            ? b_.op("ReduceSum", {*split, b_.integers(axes)}, drop)
            : b_.op("ReduceSum", {*split}, with({{"keepdims", std::int64_t{0}}, {"axes", axes}}));
    return Operand{value, labels, o.is_constant};
  }

  std::optional<Operand> joined(const Operand& x, const Operand& y, const Labels& kept) {
    const auto needed = [&](const Operand& other) {
      Labels out = kept;
      for (const int l : other.labels)
        if (l != kNoLabel && !has(out, l)) out.push_back(l);
      return out;
    };
    const auto left = reduced(x, needed(y)), right = reduced(y, needed(x));
    if (!left || !right) return std::nullopt;
    const Operand &a = *left, &b = *right;
    const bool is_constant = a.is_constant && b.is_constant;
    const bool is_summed = std::ranges::any_of(
        a.labels, [&](int l) { return l != kNoLabel && has(b.labels, l) && !has(kept, l); });
    if (!is_summed) return multiplied(a, b, "Mul");
    // A product of no rows and no columns is none.
    const auto is_shared = [&](int l) { return l == kNoLabel || (has(a.labels, l) && has(b.labels, l)); };
    if (!is_constant && std::ranges::all_of(a.labels, is_shared) &&
        std::ranges::all_of(b.labels, is_shared)) {
      const auto all = multiplied(a, b, "Mul");
      return all ? reduced(*all, kept) : std::nullopt;
    }
    if (!is_constant) ++products_;
    if (is_image_)
      for (const auto& [image, weights] : {std::pair(a, b), std::pair(b, a)})
        if (auto made = convolve(image, weights, kept)) return made;
    Labels order = only_of(out_, kept);
    if (order.size() != kept.size()) {
      order.clear();
      for (const Operand* o : {&a, &b})
        for (const int l : o->labels)
          if (has(kept, l) && !has(order, l)) order.push_back(l);
    }
    return contract(b_, a, b, order, extents_);
  }

  // Weights [o, c] times an image [n, c, ...]: a convolution.
  std::optional<Operand> convolve(const Operand& image, const Operand& weights, const Labels& kept) {
    if (!weights.is_constant || image.is_constant || image.labels.size() < 3 || image.labels.size() > 5)
      return std::nullopt;
    const int channel = image.labels[1];
    Labels own;
    for (const int l : weights.labels)
      if (l != kNoLabel) own.push_back(l);
    if (channel == kNoLabel || has(kept, channel) || own.size() != 2 || !has(own, channel))
      return std::nullopt;
    const int made = own[own[0] == channel ? 1 : 0];
    if (has(image.labels, made)) return std::nullopt;
    Labels order{made, channel};
    order.resize(image.labels.size(), kNoLabel);
    const auto w = aligned(b_, weights, order, extents_);
    if (!w) return std::nullopt;
    const auto x = with_axes_of_labels(b_, image, extents_);
    if (!x) return std::nullopt;
    Operand out{b_.op("Conv", {*x, *w}), image.labels, false};
    out.labels[1] = made;
    return out;
  }

  // Element by element, broadcast.
  std::optional<Operand> multiplied(const Operand& x, const Operand& y, const char* op) {
    const bool swapped = y.labels.size() > x.labels.size() ||
                         (y.labels.size() == x.labels.size() &&
                          typical_count(y.labels, extents_) > typical_count(x.labels, extents_));
    const Operand &large = swapped ? y : x, &small = swapped ? x : y;
    const bool is_constant = x.is_constant && y.is_constant;
    const bool is_inside =
        std::ranges::all_of(small.labels, [&](int l) { return l == kNoLabel || has(large.labels, l); });
    Labels order = large.labels;
    if (!is_inside) {
      const Labels both = labels_in({x, y});
      order = only_of(out_, both);
      for (const int l : both)
        if (!has(order, l)) order.push_back(l);
      // Along the image, if all are there.
      if (const Labels plain = only_of(pattern_, order); plain == order) {
        order = pattern_;
        for (int& l : order)
          if (!has(both, l)) l = kNoLabel;
      }
    }
    const auto a = aligned(b_, large, order, extents_), b = aligned(b_, small, order, extents_);
    if (!a || !b) return std::nullopt;
    return Operand{b_.op(op, {*a, *b}), order, is_constant};
  }

  // An image that is smaller by whole factors, each element repeated: what terms have that read only the
  // outer part of a split axis.
  std::optional<Operand> enlarge(const Operand& o) {
    if (o.labels.size() < 3 || o.labels.size() > 5 || o.is_constant || site_.graph.opset("") < 13)
      return std::nullopt;
    std::vector<float> scales(o.labels.size(), 1.0F);
    Operand out = o;
    out.shape.reset();
    bool is_larger = false;
    for (std::size_t k = 0; k < o.labels.size(); ++k)
      for (std::size_t d = 0; d < form_.axes.size(); ++d) {
        const std::vector<Axis>& parts = form_.axes[d];
        if (parts.size() != 2 || parts[0].id != o.labels[k]) continue;
        const auto factor = parts[1].extent.value();
        if (!factor || k < 2 || has(o.labels, parts[1].id)) return std::nullopt;
        scales[k] = static_cast<float>(*factor);
        out.labels[k] = wholes_[d].id;
        is_larger = true;
      }
    if (!is_larger) return std::nullopt;
    const auto x = with_axes_of_labels(b_, o, extents_);
    if (!x) return std::nullopt;
    const auto rank = static_cast<std::int64_t>(scales.size());
    out.value =
        b_.op("Resize", {*x, Value::none(), b_.constant(Tensor::of(ElementType::Float, {rank}, scales))},
              with({{"mode", std::string("nearest")},
                    {"coordinate_transformation_mode", std::string("asymmetric")},
                    {"nearest_mode", std::string("floor")}}));
    return out;
  }

  // With whole axes in parts, where another term needs that.
  Operand split(const Operand& o, const std::vector<bool>& is_split) const {
    Operand out{.value = o.value, .labels = {}, .is_constant = o.is_constant};
    for (const int l : o.labels) {
      const auto whole = std::ranges::find(wholes_, l, &Axis::id);
      const auto d = static_cast<std::size_t>(whole - wholes_.begin());
      if (whole == wholes_.end() || !is_split[d]) {
        out.labels.push_back(l);
        continue;
      }
      for (const Axis& a : form_.axes[d]) out.labels.push_back(a.extent.is(1) ? kNoLabel : a.id);
    }
    const Dims to = shape_of(out.labels, extents_);
    if (const Dims from = o.shape.value_or(shape_of(o.labels, extents_)); from != to) out.shape = from;
    out.places = o.places;
    return out;
  }

  // The terms over the same axes: `pattern_` is what the result's axes are.
  void match(std::vector<Operand>& terms) {
    const auto is_whole = [&](std::size_t d) {
      return std::ranges::any_of(terms, [&](const Operand& o) { return has(o.labels, wholes_[d].id); });
    };
    bool any_whole = false;
    for (std::size_t d = 0; d < form_.axes.size(); ++d) any_whole |= form_.axes[d].size() > 1 && is_whole(d);
    if (any_whole && is_image_)
      for (Operand& o : terms)
        if (auto larger = enlarge(o)) o = std::move(*larger);
    std::vector<bool> is_split;
    pattern_.clear();
    for (std::size_t d = 0; d < form_.axes.size(); ++d) {
      const auto reads_part = [&](const Axis& a) {
        return std::ranges::any_of(terms, [&](const Operand& o) { return has(o.labels, a.id); });
      };
      is_split.push_back(form_.axes[d].size() > 1 && std::ranges::any_of(form_.axes[d], reads_part));
      if (is_split.back() || form_.axes[d].size() == 1)
        for (const Axis& a : form_.axes[d]) pattern_.push_back(a.extent.is(1) ? kNoLabel : a.id);
      else pattern_.push_back(wholes_[d].extent.is(1) ? kNoLabel : wholes_[d].id);
    }
    out_.clear();
    std::ranges::copy_if(pattern_, std::back_inserter(out_), [](int l) { return l != kNoLabel; });
    for (Operand& o : terms) o = split(o, is_split);
  }

  std::optional<Value> sum(std::vector<Operand> terms) {
    match(terms);
    std::ranges::stable_sort(terms, {}, [&](const Operand& o) { return typical_count(o.labels, extents_); });
    std::optional<Operand> all;
    for (const Operand& t : terms) {
      all = all ? multiplied(*all, t, "Add") : t;
      if (!all) return std::nullopt;
    }
    Dims shape;
    for (const Axis& a : wholes_) shape.push_back(a.extent);
    const Labels own = only_of(out_, all->labels);
    Labels present;
    for (const int l : all->labels)
      if (l != kNoLabel) present.push_back(l);
    if (present != own) {
      const auto turned = aligned(b_, *all, own, extents_);
      if (!turned) return std::nullopt;
      all = Operand{*turned, own, all->is_constant};
    }
    if (own == out_)
      return reshaped(b_, all->value, all->shape.value_or(shape_of(all->labels, extents_)), shape,
                      all->places);
    // It is the same along some axes.
    const auto sizes = concrete(shape_of(pattern_, extents_));
    if (!sizes) return std::nullopt;
    const auto wide = aligned(b_, *all, pattern_, extents_);
    if (!wide) return std::nullopt;
    return reshaped(b_, b_.op("Expand", {*wide, b_.integers(*sizes)}), to_dims(*sizes), shape);
  }

  const Site& site_;
  const LinearForm& form_;
  bool is_image_;
  ProgramBuilder& b_;
  LabelSizes extents_;
  std::vector<Axis> wholes_;  // per axis of the value
  Labels out_;                // labels of the value's axes, in order
  Labels pattern_;            // the same with axes of one element, once the terms match
  std::vector<Operand> operands_;
  int products_ = 0;
};

class LinearProposer {
 public:
  explicit LinearProposer(const Site& site) : site_(site) {}

  std::vector<Value> ends() {
    std::vector<Value> out;
    std::set<Value> seen;
    const auto note = [&](Value v) {
      if (seen.insert(v).second) out.push_back(v);
    };
    for (const NodeId id : site_.graph.order()) {
      if (!is_worth_a_look(id)) continue;
      Value end{id, 0};
      for (int k = 0; k < kMostExpansions; ++k) {
        const auto next = site_.only_reader(end);
        if (!next || site_.is_output(end) || !form_of(*next)) break;
        end = {*next, 0};
      }
      note(end);
      note({id, 0});
    }
    return out;
  }

  // A product that several sums read is part of all of them: they are written together, so that it need not
  // be computed.
  std::optional<Proposal> shared(NodeId id) {
    const Value v{id, 0};
    const std::set<NodeId> readers(site_.readers(v).begin(), site_.readers(v).end());
    if (readers.size() < 2 || readers.size() > kMostReaders || site_.is_output(v) || !is_product(id))
      return std::nullopt;
    ProgramBuilder b(site_.graph, site_.name(v));
    std::vector<Value> replaced, by;
    int products = 0;
    for (const NodeId r : readers) {
      const auto& own = form_of(r);
      if (!own || std::ranges::all_of(own->terms, [](const LinearTerm& t) { return t.summed.empty(); }))
        return std::nullopt;
      const auto form = without_products(*own, v);
      if (!form) return std::nullopt;
      Writer writer(site_, *form, b, is_image(*form, {r, 0}));
      const auto value = writer.written();
      if (!value) return std::nullopt;
      products += writer.products();
      replaced.push_back({r, 0});
      by.push_back(*value);
    }
    return propose(site_, kKind, fmt::format("{} in {} products", site_.name(v), products), b, replaced, by);
  }

  struct Way {
    std::optional<Proposal> proposal = {};
    int expansions = 0;
  };
  // The best way to compute this value; or the one after this number of expansions.
  Way best(Value y, std::optional<int> expansions) {
    Way out;
    const auto own = form_of(y.node);
    if (!own) return out;
    LinearForm form = *own;
    std::set<Value> leaves;
    for (int k = 0; k < kMostExpansions; ++k) {
      if (!expansions || *expansions == k) {
        auto next = written(form, y);
        if (next && (!out.proposal || next->gain > out.proposal->gain)) out = {std::move(next), k};
        if (expansions) return out;
      }
      bool has_grown = false;
      while (const auto v = latest(form, leaves)) {
        auto next = expanded(site_, form, *v);
        leaves.insert(*v);
        if (!next || would_cancel(*next)) continue;
        form = std::move(*next);
        has_grown = true;
        break;
      }
      if (!has_grown) break;
    }
    return out;
  }

 private:
  const std::optional<LinearForm>& form_of(NodeId id) {
    const auto at = forms_.find(id);
    if (at != forms_.end()) return at->second;
    std::optional<LinearForm> form;
    const Value v{id, 0};
    const Node& node = site_.node(id);
    if (node.kind == NodeKind::Operator && node.outputs.size() == 1 && !site_.is_constant(v) &&
        site_.inference.of(v).type == ElementType::Float) {
      form = linear_form(site_, v);
      if (form) form = expanded(site_, *form, v);
    }
    return forms_.emplace(id, std::move(form)).first->second;
  }

  std::optional<Proposal> written(const LinearForm& form, Value y) const {
    ProgramBuilder b(site_.graph, site_.name(y));
    Writer writer(site_, form, b, is_image(form, y));
    const auto value = writer.written();
    if (!value) return std::nullopt;
    return propose(site_, kKind, fmt::format("{} by {} products", site_.name(y), writer.products()), b, {y},
                   {*value});
  }

  // A product of several values, element by element.
  bool is_product(NodeId id) {
    const auto& form = form_of(id);
    return form && form->terms.size() == 1 && form->terms[0].summed.empty() &&
           form->terms[0].factors.size() > 1;
  }

  // With this product, and those that only it reads, as their factors.
  std::optional<LinearForm> without_products(const LinearForm& form, Value product) {
    auto out = expanded(site_, form, product);
    for (const Value& v : site_.node(product.node).inputs) {
      if (!out || would_cancel(*out)) return std::nullopt;
      if (!v.exists() || site_.is_constant(v) || v.output != 0 || site_.is_output(v) ||
          site_.only_reader(v) != product.node || !is_product(v.node))
        continue;
      if (auto further = without_products(*out, v)) out = std::move(further);
    }
    return out;
  }

  // Convolutions are around: others would have to change the layout.
  bool is_image(const LinearForm& form, Value y) const {
    const auto meets = [&](Value v) {
      return site_.made_by(v, "Conv") ||
             std::ranges::any_of(site_.readers(v), [&](NodeId r) { return site_.is(r, "Conv"); });
    };
    return meets(y) || std::ranges::any_of(form.terms, [&](const LinearTerm& t) {
             return std::ranges::any_of(t.factors, [&](const LinearFactor& f) {
               return !site_.is_constant(f.value) && meets(f.value);
             });
           });
  }

  // Two constants of which one is large are apart on purpose: x + 1e8 - 1e8 is not x in floats.
  bool would_cancel(const LinearForm& form) const {
    int alone = 0;
    bool is_large = false;
    for (const LinearTerm& t : form.terms) {
      if (!std::ranges::all_of(t.factors, [&](const LinearFactor& f) { return site_.is_constant(f.value); }))
        continue;
      double size = std::abs(t.scale);
      for (const LinearFactor& f : t.factors) size *= largest(f.value);
      ++alone;
      is_large = is_large || !(size <= kLarge);
    }
    return alone > 1 && is_large;
  }
  double largest(Value constant) const {
    const auto numbers = known_constant(site_.graph, constant)->doubles();
    double out = 0;
    if (numbers)
      for (const double v : *numbers) out = std::max(out, std::abs(v));
    return out;
  }

  // The producer that is last in the graph.
  std::optional<Value> latest(const LinearForm& form, const std::set<Value>& leaves) const {
    std::optional<Value> out;
    for (const LinearTerm& t : form.terms)
      for (const LinearFactor& f : t.factors) {
        if (leaves.contains(f.value) || f.is_inverse || f.value.output != 0 || site_.is_constant(f.value) ||
            site_.node(f.value.node).kind != NodeKind::Operator)
          continue;
        if (!out || site_.position(f.value.node) > site_.position(out->node)) out = f.value;
      }
    return out;
  }

  // It sums products, or reads what is repeated.
  bool is_worth_a_look(NodeId id) {
    const auto& form = form_of(id);
    if (!form) return false;
    for (const LinearTerm& t : form->terms) {
      if (!t.summed.empty()) return true;
      for (const LinearFactor& f : t.factors)
        if (f.value.exists() && is_repeated(f.value)) return true;
    }
    return false;
  }
  bool is_repeated(Value v) {
    const Node& node = site_.node(v.node);
    if (node.kind != NodeKind::Operator || site_.is_constant(v) || node.inputs.empty()) return false;
    const auto& form = form_of(v.node);
    if (!form || form->terms.size() != 1 || form->terms[0].factors.size() != 1) return false;
    const auto to = site_.sizes(v), from = site_.sizes(form->terms[0].factors[0].value);
    const auto count = [](const Extents& e) {
      double n = 1;
      for (const std::int64_t x : e) n *= static_cast<double>(x);
      return n;
    };
    return to && from && count(*to) > count(*from);
  }

  const Site& site_;
  std::map<NodeId, std::optional<LinearForm>> forms_;
};

Proposals propose_linear(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  const Site site(graph, inference, *options.machine);
  LinearProposer proposer(site);
  // A gain below a node's price is not measurable.
  const double least = options.any_price ? 0 : site.machine.prices.node;
  const auto add = [&](std::optional<Proposal> found) {
    if (found && found->gain > least) out.list.push_back(std::move(*found));
  };
  // The result in one layer, or that there is none, holds for its equals.
  const Surroundings around(site, kStepsAround);
  std::map<Digest, std::optional<int>> known;
  for (const Value& y : proposer.ends()) {
    const auto [at, is_new] = known.try_emplace(around.of(y.node));
    if (!is_new && !at->second) continue;
    LinearProposer::Way way = proposer.best(y, at->second);
    if (is_new && way.proposal && way.proposal->gain > least) at->second = way.expansions;
    add(std::move(way.proposal));
  }
  for (const NodeId id : graph.order()) add(proposer.shared(id));
  std::ranges::stable_sort(out.list, std::greater<>{}, &Proposal::gain);
  return out;
}

}  // namespace

constinit const Proposer kLinear{
    .name = "linear",
    .title = "sums of products at lower cost",
    .law = "(AB)x = A(Bx),   Σᵢ Aᵢxᵢ = [A₁ … Aₙ][x₁; …; xₙ]",
    .finds =
        "Computes a sum of products by the cheapest products: chains in another order, repeated "
        "values once (grouped-query attention, pairs of objects, pooled context), products "
        "distributed over concatenations and sums where that is cheaper.",
    .propose = propose_linear,
    .remark = "cheaper products",
};

}  // namespace isomer
