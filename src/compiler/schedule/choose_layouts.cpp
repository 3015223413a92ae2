#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "compiler/schedule/layout.h"
#include "model/expr/reads.h"

namespace isomer::lower {
namespace {

bool is_image(const Storage& s) { return s.extents.size() >= 3 && s.extents.size() <= 5; }

constexpr std::size_t kMostAxes = 5;
// Channels of an input or output that is copied: fewer fill no vector.
constexpr std::int64_t kFewestCopied = 8;

// Which axis of an image should be innermost: its channels, where windows and pointwise products want that.
// Axes of several buffers that go along together are wanted together.
class Layouts {
 public:
  Layouts(Plan& plan, AxisNumbers& numbers)
      : plan_(plan),
        numbers_(numbers),
        parent_(plan.buffers.size() * kMostAxes),
        wants_(parent_.size(), 0),
        slides_(plan.buffers.size(), false) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }

  void run() {
    for (const Nest& nest : plan_.nests) look_at(nest);
    std::vector<int> votes(wants_.size(), 0);
    for (std::size_t k = 0; k < votes.size(); ++k) votes[root(k)] += wants_[k];
    for (std::size_t k = 0; k < slides_.size(); ++k) {
      const Storage& s = plan_.buffers[k];
      if (!is_image(s) || s.kind == Storage::Kind::Weight) continue;
      std::size_t best = s.extents.size() - 1;
      for (std::size_t d = best; d-- > 0;)
        if (votes[root(axis(k, d))] > votes[root(axis(k, best))]) best = d;
      std::vector<int> order;
      for (std::size_t d = 0; d < s.extents.size(); ++d)
        if (d != best) order.push_back(static_cast<int>(d));
      order.push_back(static_cast<int>(best));
      if (s.kind == Storage::Kind::Local) lay_out(plan_.buffers[k], order);
      else if (slides_[k] && best + 1 < s.extents.size() &&
               plan_.sizes.usual(s.extents[best]) >= kFewestCopied)
        copy_port(static_cast<int>(k), order);
    }
  }

 private:
  // The caller's tensor as a local one in this order: nests read and write that.
  void copy_port(int port, const std::vector<int>& order) {
    Storage copy = plan_.buffer(port);
    const bool is_input = copy.kind == Storage::Kind::Input;
    copy.kind = Storage::Kind::Local;
    lay_out(copy, order);
    const auto local = static_cast<int>(plan_.buffers.size());
    Nest moved{.name = copy.name + (is_input ? ", channels last" : ", channels first"),
               .target = is_input ? local : port};
    for (const Dim& e : copy.extents) moved.axes.push_back(numbers_.make(e));
    moved.at = to_indices(moved.axes);
    moved.value = read({.kind = TensorRef::Kind::Input, .number = is_input ? port : local}, copy.type,
                       copy.extents, moved.at);
    plan_.buffers.push_back(std::move(copy));
    std::size_t behind = 0;  // where the copy of an output is made
    for (std::size_t n = 0; n < plan_.nests.size(); ++n) {
      Nest& nest = plan_.nests[n];
      if (nest.target == port) nest.target = local, behind = n + 1;
      nest.value = with_reads(nest.value, [&](const ExprNode& e) -> std::optional<Expr> {
        if (e.tensor.number != port) return std::nullopt;
        ExprNode out = e;
        out.tensor.number = local;
        return Expr(std::make_shared<const ExprNode>(std::move(out)));
      });
    }
    plan_.nests.insert(plan_.nests.begin() + static_cast<std::ptrdiff_t>(behind), std::move(moved));
  }
  static std::size_t axis(std::size_t buffer, std::size_t d) { return buffer * kMostAxes + d; }
  std::size_t root(std::size_t k) const {
    while (parent_[k] != k) k = parent_[k];
    return k;
  }

  void look_at(const Nest& nest) {
    const auto target = static_cast<std::size_t>(nest.target);
    if (!is_image(plan_.buffers[target])) return;
    const ExprRef sum = main_reduction(nest.value);
    std::vector<Axis> reduced;
    for_each_read(*nest.value, reduced, [&](const ExprNode& e, const std::vector<Axis>&) {
      const auto source = static_cast<std::size_t>(e.tensor.number);
      if (plan_.buffers[source].kind == Storage::Kind::Weight || e.at.size() != nest.at.size()) return;
      for (std::size_t d = 0; d < e.at.size(); ++d)
        for (std::size_t t = 0; t < nest.at.size(); ++t)
          if (!nest.at[t].axes().empty() && e.at[d].axes() == nest.at[t].axes())
            parent_[root(axis(source, d))] = root(axis(target, t));
    });
    if (sum) vote(nest, *sum);
  }

  // For a sum whose window moves over an image, or that is a pointwise product with weights: the channels
  // that it reads, and those that it writes.
  void vote(const Nest& nest, const ExprNode& sum) {
    std::vector<Axis> summed;  // a group of one channel has an axis of one
    std::ranges::copy_if(sum.axes, std::back_inserter(summed), [](const Axis& a) { return !a.extent.is(1); });
    std::vector<const ExprNode*> images;
    const ExprNode* weights = nullptr;
    std::vector<Axis> around = sum.axes;
    for_each_read(*sum.args[0], around, [&](const ExprNode& e, const std::vector<Axis>&) {
      const Storage& source = plan_.buffer(e.tensor.number);
      if (source.kind == Storage::Kind::Weight) weights = &e;
      else if (e.at.size() == nest.at.size()) images.push_back(&e);
    });
    const bool is_product = sum.args[0]->kind == ExprNode::Kind::Apply && sum.args[0]->fn == Fn::Mul &&
                            weights && weights->at.size() == nest.at.size() && nest.at.size() > 2;
    for (const ExprNode* image : images) {
      const auto slides = [&](std::size_t d) {
        return steps_along(image->at[d], nest.axes) && steps_along(image->at[d], summed);
      };
      std::optional<std::size_t> channels;
      bool is_window = false;
      for (std::size_t d = 0; d < image->at.size(); ++d) {
        if (slides(d)) is_window = true;
        else if (!channels && mentions_any(image->at[d], summed)) channels = d;
      }
      // Sums over channels are tiles of a matrix product, which take any order.
      if (is_window && !channels)
        slides_[static_cast<std::size_t>(image->tensor.number)] =
            slides_[static_cast<std::size_t>(nest.target)] = true;
      if (!is_window && !(is_product && channels)) continue;
      for (std::size_t d = 1; d < image->at.size() && !channels && weights; ++d)
        if (!slides(d) && std::ranges::any_of(weights->at, [&](const Index& i) {
              return mentions_any(image->at[d], i.axes()) && !i.axes().empty();
            }))
          channels = d;
      for (std::size_t d = 1; d < image->at.size() && !channels; ++d)
        if (!slides(d)) channels = d;
      if (!channels) continue;
      ++wants_[axis(static_cast<std::size_t>(image->tensor.number), *channels)];
      if (const auto written = written_channels(nest, summed, *image, *channels, weights))
        ++wants_[axis(static_cast<std::size_t>(nest.target), *written)];
    }
  }
  // The channels of the weights; without weights, those of the input.
  static std::optional<std::size_t> written_channels(const Nest& nest, const std::vector<Axis>& summed,
                                                     const ExprNode& image, std::size_t channels,
                                                     const ExprNode* weights) {
    for (std::size_t t = 0; t < nest.at.size(); ++t) {
      const std::vector<Axis> axes = nest.at[t].axes();
      if (axes.empty()) continue;
      if (weights ? std::ranges::any_of(
                        weights->at,
                        [&](const Index& i) { return mentions_any(i, axes) && !mentions_any(i, summed); })
                  : mentions_any(image.at[channels], axes))
        return t;
    }
    return std::nullopt;
  }
  static bool mentions_any(const Index& index, const std::vector<Axis>& axes) {
    return std::ranges::any_of(axes, [&](const Axis& a) { return index.mentions(a); });
  }
  // Whether one of these axes is a summand.
  static bool steps_along(const Index& index, const std::vector<Axis>& axes) {
    return std::ranges::any_of(axes, [&](const Axis& a) { return stride(index, a) != 0; });
  }

  Plan& plan_;
  AxisNumbers& numbers_;
  std::vector<std::size_t> parent_;
  std::vector<int> wants_;
  std::vector<bool> slides_;  // of buffers: a window slides over each channel by itself
};

constexpr std::int64_t kShortestWithBorder = 12;  // shorter rows are better off as one long axis without gaps

// The smallest number, 0 or more, that another one is never above; nullopt: none is seen.
std::optional<std::int64_t> smallest_bound(const Dim& dim, const Sizes& sizes) {
  if (const auto known = dim.value()) return std::max<std::int64_t>(0, *known);
  constexpr std::int64_t kMost = 16;
  for (std::int64_t bound = 0; bound <= kMost; ++bound)
    if (sizes.from_least(Dim(bound) - dim).at_least(0) == true) return bound;
  return std::nullopt;
}

// Images that windows read beyond the edge get zeros around them, so that inner loops need no bounds checks.
void choose_borders(Plan& plan) {
  for (const Nest& nest : plan.nests) {
    const ExprRef sum = main_reduction(nest.value);
    if (!sum || sum->reduction != Reduction::Sum) continue;
    std::vector<Axis> reduced;
    for_each_read(*sum->args[0], reduced, [&](const ExprNode& e, const std::vector<Axis>&) {
      Storage& s = plan.buffer(e.tensor.number);
      if (s.kind != Storage::Kind::Local || s.type != ElementType::Float || !is_image(s) ||
          plan.sizes.usual(s.extents.back()) < kShortestWithBorder)
        return;
      Extents low(s.extents.size(), 0), high(s.extents.size(), 0);
      bool is_needed = false;
      for (std::size_t d = 0; d < e.at.size(); ++d) {
        if (e.at[d].is_inside(s.extents[d])) continue;
        const auto range = e.at[d].range();
        if (!range) return;
        const auto before = smallest_bound(Dim(0) - range->low, plan.sizes),
                   behind = smallest_bound(range->high - s.extents[d] + Dim(1), plan.sizes);
        if (!before || !behind) return;
        low[d] = *before;
        high[d] = *behind;
        if (low[d] + high[d] > plan.sizes.usual(s.extents[d])) return;
        is_needed = true;
      }
      if (!is_needed) return;
      const std::vector<int> order = order_of(s, plan.sizes);
      if (s.low.empty()) s.low = s.high = Extents(s.extents.size(), 0);
      for (std::size_t d = 0; d < low.size(); ++d) {
        s.low[d] = std::max(s.low[d], low[d]);
        s.high[d] = std::max(s.high[d], high[d]);
      }
      lay_out(s, order);
    });
  }
}

// Addresses that differ by a multiple of this number of bytes share one set of the first cache, which has 8
// or 12 places: fewer than the rows that a tile of a product reads.
constexpr std::int64_t kBytesOfSets = 4096, kGap = 16;

// Rows that are summed over by products get a gap where they would lie such a distance apart.
void choose_gaps(Plan& plan) {
  for (const Nest& nest : plan.nests) {
    const ExprRef sum = main_reduction(nest.value);
    if (!sum || sum->reduction != Reduction::Sum || sum->args[0]->fn != Fn::Mul) continue;
    std::vector<Axis> reduced;
    for_each_read(*sum->args[0], reduced, [&](const ExprNode& e, const std::vector<Axis>&) {
      Storage& s = plan.buffer(e.tensor.number);
      if (s.kind != Storage::Kind::Local || s.type != ElementType::Float || s.extents.size() < 2) return;
      const std::vector<int> order = order_of(s, plan.sizes);
      const std::size_t inner = innermost_axis(s, order);
      const auto length = s.extents[inner].value();
      const std::int64_t zeros = s.low.empty() ? 0 : s.low[inner] + s.high[inner];
      const bool is_summed =
          std::ranges::any_of(sum->axes, [&](const Axis& a) { return e.at[inner].mentions(a); });
      if (!length || (*length + zeros) * stored_bytes(s.type) % kBytesOfSets != 0 || !is_summed) return;
      s.gap = kGap;
      lay_out(s, order);
    });
  }
}

}  // namespace

void choose_layouts(Plan& plan, AxisNumbers& numbers) {
  Layouts(plan, numbers).run();
  choose_borders(plan);
  choose_gaps(plan);
}

}  // namespace isomer::lower
