#include <fmt/format.h>

#include <algorithm>

#include "model/graph/constant.h"
#include "optimizer/facts/ranges.h"
#include "optimizer/propose/weights/structure.h"

namespace isomer {
namespace {

using Kind = ProductSum::Kind;

constexpr std::size_t kMostNodes = 16;   // between two products
constexpr std::size_t kMostRuns = 32;    // of slices that are left
constexpr std::int64_t kLeastShare = 8;  // of all that is left out, as where slices are cut off

bool is_small(const Site& site, Value constant) {
  const auto sizes = site.concrete_sizes(constant);
  return sizes && element_count(*sizes).value_or(kMostWeights + 1) <= kMostWeights;
}

struct Run {
  std::int64_t begin = 0, end = 0;
  bool is_kept = true;
};

// One product, functions of its elements, and the products that sum over what one of its axes has become.
class Channels {
 public:
  Channels(const Site& site, const ProductSum& first, std::size_t axis)
      : site_(site), first_(first), axis_(axis), b_(site.graph, site.name({first.id, 0})) {
    count_ = first.sizes[axis];
    channel_ = static_cast<std::size_t>(first.axes[axis].y);
    // Counted from the end, so that constants of fewer axes have it, too.
    behind_ = first.rank - channel_;
  }

  std::optional<Proposal> propose() {
    if (!follow() || last_.empty()) return std::nullopt;
    find_kept();
    const auto kept = std::ranges::count(kept_, true);
    if (kept == 0 || (count_ - kept) * kLeastShare < count_) return std::nullopt;
    find_runs();
    if (runs_.size() > kMostRuns) return std::nullopt;
    write_first();
    for (const NodeId id : between_) write_between(id);
    std::vector<Value> replaced, by;
    for (const auto& [p, axis] : last_) {
      replaced.push_back({p.id, 0});
      by.push_back(write_last(p, axis));
    }
    auto out =
        isomer::propose(site_, "structure",
                        fmt::format("{} of {} channels after {}", kept, count_, label(site_.node(first_.id))),
                        b_, replaced, by);
    if (out) out->claim.facts = std::move(facts_);
    return out;
  }

 private:
  // All nodes that read the first product's channels; false: another node needs all of them.
  bool follow() {
    std::vector<Value> open{{first_.id, 0}};
    std::set<Value> made{open[0]};
    for (std::size_t k = 0; k < open.size(); ++k) {
      if (site_.is_output(open[k]) || site_.readers(open[k]).empty() || open.size() > kMostNodes)
        return false;
      for (const NodeId id : site_.readers(open[k])) {
        if (made.contains({id, 0})) continue;
        if (const auto p = product_sum_at(site_, id); p && p->x == open[k]) {
          const auto axis = summed_axis(*p);
          if (!axis || !is_small(site_, p->constant)) return false;
          if (std::ranges::none_of(last_, [&](const auto& l) { return l.first.id == id; }))
            last_.emplace_back(*p, *axis);
          continue;
        }
        if (!is_between(id, made)) return false;
        made.insert({id, 0});
        open.push_back({id, 0});
        between_.push_back(id);
      }
    }
    std::ranges::sort(between_, {}, [&](NodeId id) { return site_.position(id); });
    return true;
  }

  std::optional<std::size_t> summed_axis(const ProductSum& p) const {
    for (std::size_t d = 0; d < p.axes.size(); ++d)
      if (p.axes[d].kind == Kind::Contracted && p.axes[d].x == static_cast<int>(channel_) &&
          p.sizes[d] == count_)
        return d;
    return std::nullopt;
  }

  // A function of elements of the followed values, and of constants.
  bool is_between(NodeId id, const std::set<Value>& made) const {
    if (!is_pointwise(site_, id) || site_.rank({id, 0}) != first_.rank) return false;
    for (const Value& v : site_.activations(id))
      if (!made.contains(v)) return false;
    for (const Value& v : site_.node(id).inputs)
      if (v.exists() && site_.is_constant(v) && !site_.concrete_sizes(v)) return false;
    return true;
  }

  using ByChannel = std::vector<ValueRange>;

  // Channels that are zero where they are summed, or that meet zeros there.
  void find_kept() {
    const std::size_t count = all();
    const std::vector<bool> computed = zero_slices(first_.constant, axis_);
    const auto axis =
        first_.bias.exists() ? axis_of_channels(first_.bias, first_.bias_axis.has_value()) : std::nullopt;
    const std::vector<bool> added =
        axis ? zero_slices(first_.bias, *axis) : std::vector<bool>(count, !first_.bias.exists());
    std::map<Value, ByChannel> ranges;
    for (std::size_t k = 0; k < count; ++k)
      ranges[{first_.id, 0}].push_back(computed[k] && added[k] ? ValueRange::of(0) : ValueRange{});
    for (const NodeId id : between_) ranges[{id, 0}] = ranges_after(id, ranges);
    kept_.assign(count, false);
    for (const auto& [p, last_axis] : last_) {
      const std::vector<bool> unread = zero_slices(p.constant, last_axis);
      const ByChannel& summed = ranges.at(p.x);
      for (std::size_t k = 0; k < count; ++k)
        kept_[k] = kept_[k] || (summed[k] != ValueRange::of(0) && !unread[k]);
    }
  }

  ByChannel ranges_after(NodeId id, const std::map<Value, ByChannel>& ranges) const {
    const auto formula = site_.formula(id);
    const Node& node = site_.node(id);
    std::vector<ByChannel> inputs;
    for (const Value& v : node.inputs) {
      if (!v.exists()) inputs.emplace_back(all());
      else inputs.push_back(site_.is_constant(v) ? ranges_of_constant(v) : ranges.at(v));
    }
    ByChannel out;
    for (std::size_t k = 0; k < all(); ++k) {
      std::vector<ValueRange> here;
      for (const ByChannel& input : inputs) here.push_back(input[k]);
      out.push_back(range_of(node, *formula, here));
    }
    return out;
  }

  // The same for all channels if these are not distinguished.
  ByChannel ranges_of_constant(Value v) const {
    const auto numbers = known_constant(site_.graph, v)->doubles();
    if (!numbers || numbers->empty()) return ByChannel(all());
    const auto [low, high] = std::ranges::minmax(*numbers);
    ByChannel out(all(), ValueRange{low, high});
    if (axis_of_channels(v) && numbers->size() == all())
      std::ranges::transform(*numbers, out.begin(), [](double number) { return ValueRange::of(number); });
    return out;
  }
  std::size_t all() const { return static_cast<std::size_t>(count_); }

  std::vector<bool> zero_slices(Value constant, std::size_t axis) const {
    return isomer::zero_slices(*known_constant(site_.graph, constant), axis);
  }

  // Which axis of a constant lies along the channels; nullopt: it has one number for all.
  std::optional<std::size_t> axis_of_channels(Value constant, bool is_along = false) const {
    const Extents sizes = *site_.concrete_sizes(constant);
    if (is_along) return 0;
    if (sizes.size() < behind_ || sizes[sizes.size() - behind_] != count_) return std::nullopt;
    return sizes.size() - behind_;
  }

  void find_runs() {
    for (std::int64_t k = 0; k < count_; ++k) {
      const bool is_kept = kept_[static_cast<std::size_t>(k)];
      if (runs_.empty() || runs_.back().is_kept != is_kept) runs_.push_back({k, k, is_kept});
      runs_.back().end = k + 1;
    }
  }

  // The channels that are kept.
  Value few(ProgramBuilder& b, Value constant, std::size_t axis) const {
    const Value whole = b.input(site_.name(constant));
    std::vector<Value> parts;
    for (const Run& run : runs_)
      if (run.is_kept) parts.push_back(b.slice(whole, static_cast<std::int64_t>(axis), run.begin, run.end));
    return parts.size() == 1 ? parts[0] : b.concat(parts, static_cast<std::int64_t>(axis));
  }

  // States that a constant is zero in all others.
  void state(Value constant, std::size_t axis) {
    ProgramBuilder f(site_.graph, site_.name(constant));
    const Value whole = f.input(site_.name(constant));
    std::vector<Value> parts;
    for (const Run& run : runs_) {
      Extents sizes = *site_.concrete_sizes(constant);
      sizes[axis] = run.end - run.begin;
      parts.push_back(run.is_kept ? f.slice(whole, static_cast<std::int64_t>(axis), run.begin, run.end)
                                  : f.zeros(sizes));
    }
    f.output(f.concat(parts, static_cast<std::int64_t>(axis)));
    const std::string name = site_.name(constant);
    if (std::ranges::none_of(facts_, [&](const ConstantFact& fact) { return fact.constant == name; }))
      facts_.push_back({name, f.graph()});
  }

  bool is_zero_elsewhere(Value constant, std::size_t axis) const {
    const std::vector<bool> zero = zero_slices(constant, axis);
    for (std::size_t k = 0; k < kept_.size(); ++k)
      if (!zero[k] && !kept_[k]) return false;
    return true;
  }

  void write_first() {
    const Node& node = site_.node(first_.id);
    std::vector<Value> inputs;
    for (const Value& v : node.inputs) {
      if (!v.exists()) inputs.push_back(v);
      else if (v == first_.x) inputs.push_back(b_.input(site_.name(v)));
      else
        inputs.push_back(fewer(v, v == first_.constant ? std::optional(axis_)
                                                       : axis_of_channels(v, first_.bias_axis.has_value())));
    }
    made_[{first_.id, 0}] = b_.copy(node, inputs);
  }

  Value fewer(Value constant, std::optional<std::size_t> axis) {
    if (!axis) return b_.input(site_.name(constant));
    if (is_zero_elsewhere(constant, *axis)) state(constant, *axis);
    return few(b_, constant, *axis);
  }

  void write_between(NodeId id) {
    std::vector<Value> inputs;
    for (const Value& v : site_.node(id).inputs) {
      if (!v.exists()) inputs.push_back(v);
      else if (!site_.is_constant(v)) inputs.push_back(made_.at(v));
      else inputs.push_back(fewer(v, axis_of_channels(v)));
    }
    made_[{id, 0}] = b_.copy(site_.node(id), inputs);
  }

  Value write_last(const ProductSum& p, std::size_t axis) {
    std::vector<Value> inputs;
    for (const Value& v : site_.node(p.id).inputs) {
      if (!v.exists()) inputs.push_back(v);
      else if (v == p.x) inputs.push_back(made_.at(v));
      else if (v == p.constant) inputs.push_back(fewer(v, axis));
      else inputs.push_back(b_.input(site_.name(v)));
    }
    return b_.copy(site_.node(p.id), inputs);
  }

  const Site& site_;
  const ProductSum& first_;
  std::size_t axis_, channel_ = 0, behind_ = 0;
  std::int64_t count_ = 0;
  ProgramBuilder b_;
  std::vector<NodeId> between_;
  std::vector<std::pair<ProductSum, std::size_t>> last_;
  std::vector<bool> kept_;
  std::vector<Run> runs_;
  std::map<Value, Value> made_;
  std::vector<ConstantFact> facts_;
};

}  // namespace

void propose_fewer_channels(const Site& site, Proposals& out) {
  // Few models have such zeros: the weights are looked at before any formula is.
  const auto may_have_zeros = [&](NodeId id) {
    for (const Value& v : site.node(id).inputs) {
      const auto sizes = v.exists() && site.is_constant(v) ? site.concrete_sizes(v) : std::nullopt;
      if (!sizes || sizes->size() < 2 || site.inference.of(v).type != ElementType::Float ||
          !is_small(site, v))
        continue;
      const Tensor constant = *known_constant(site.graph, v);
      for (std::size_t d = 0; d < sizes->size(); ++d)
        if (std::ranges::count(zero_slices(constant, d), true) * kLeastShare >= (*sizes)[d] &&
            (*sizes)[d] > 1)
          return true;
    }
    return false;
  };
  const std::vector<NodeId>& order = site.graph.order();
  if (std::ranges::none_of(order, may_have_zeros)) return;
  for (const NodeId id : order) {
    const auto p = product_sum_at(site, id);
    if (!p || !is_small(site, p->constant)) continue;
    for (std::size_t d = 0; d < p->axes.size(); ++d)
      if (p->axes[d].kind == Kind::Free && p->sizes[d] > 1) out.add(Channels(site, *p, d).propose());
  }
}

}  // namespace isomer
