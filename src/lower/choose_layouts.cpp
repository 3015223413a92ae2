#include <algorithm>
#include <numeric>
#include <vector>

#include "expr/reads.h"
#include "lower/layout.h"

namespace isomer::lower {
namespace {

bool is_image(const Storage& s) { return s.extents.size() >= 3 && s.extents.size() <= 5; }

// Buffers that should be laid out alike, and whether one of them wants its channels innermost.
class Layouts {
 public:
  explicit Layouts(Plan& plan) : plan_(plan), parent_(plan.buffers.size()), wants_(plan.buffers.size(), 0) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  void run() {
    for (const Nest& nest : plan_.nests) look_at(nest);
    std::vector<int> votes(plan_.buffers.size(), 0);
    for (std::size_t k = 0; k < votes.size(); ++k)
      votes[static_cast<std::size_t>(root(static_cast<int>(k)))] += wants_[k];
    for (std::size_t k = 0; k < votes.size(); ++k) {
      Storage& s = plan_.buffers[k];
      if (s.kind != Storage::Kind::Local || !is_image(s) ||
          votes[static_cast<std::size_t>(root(static_cast<int>(k)))] <= 0)
        continue;
      std::vector<int> order(s.extents.size());
      std::iota(order.begin(), order.end(), 0);
      std::rotate(order.begin() + 1, order.begin() + 2, order.end());
      lay_out(s, order);
    }
  }

 private:
  int root(int k) {
    while (parent_[static_cast<std::size_t>(k)] != k) k = parent_[static_cast<std::size_t>(k)];
    return k;
  }
  void join(int a, int b) { parent_[static_cast<std::size_t>(root(a))] = root(b); }

  void look_at(const Nest& nest) {
    const Storage& target = plan_.buffers[static_cast<std::size_t>(nest.target)];
    if (!is_image(target)) return;
    std::vector<Axis> reduced;
    bool slides = false;  // a window moves over a read: a position that adds up an axis and a reduced one
    std::vector<int> images;
    for_each_read(*nest.value, reduced, [&](const ExprNode& e, const std::vector<Axis>& around) {
      const Storage& source = plan_.buffers[static_cast<std::size_t>(e.tensor.number)];
      if (source.extents.size() != target.extents.size() || source.kind == Storage::Kind::Weight) return;
      for (std::size_t d = 2; d < e.at.size(); ++d) {
        const auto mentions_reduced =
            std::ranges::any_of(around, [&](const Axis& a) { return e.at[d].mentions(a); });
        const auto mentions_kept =
            std::ranges::any_of(nest.axes, [&](const Axis& a) { return e.at[d].mentions(a); });
        slides = slides || (mentions_reduced && mentions_kept);
      }
      images.push_back(e.tensor.number);
      const bool same_place = e.at[1].axes() == nest.at[1].axes() && e.at[0].axes() == nest.at[0].axes();
      if (same_place) join(e.tensor.number, nest.target);
    });
    if (slides || is_pointwise_product(nest)) {
      ++wants_[static_cast<std::size_t>(nest.target)];
      for (const int image : images) ++wants_[static_cast<std::size_t>(image)];
    }
  }
  // A 1x1 convolution: channels summed with weights of four axes.
  bool is_pointwise_product(const Nest& nest) const {
    const ExprRef sum = main_reduction(nest.value);
    if (!sum || sum->args[0]->kind != ExprNode::Kind::Apply || sum->args[0]->fn != Fn::Mul) return false;
    const auto is_weight = [&](const ExprRef& e) {
      if (e->kind != ExprNode::Kind::Read) return false;
      const Storage& s = plan_.buffers[static_cast<std::size_t>(e->tensor.number)];
      return s.kind == Storage::Kind::Weight && s.extents.size() == nest.at.size();
    };
    const auto sums_channels = [&](const ExprRef& e) {
      return e->kind == ExprNode::Kind::Read && e->at.size() == nest.at.size() && e->at.size() > 2 &&
             std::ranges::any_of(sum->axes, [&](const Axis& a) { return e->at[1].mentions(a); });
    };
    const auto& args = sum->args[0]->args;
    return (is_weight(args[0]) && sums_channels(args[1])) || (is_weight(args[1]) && sums_channels(args[0]));
  }

  Plan& plan_;
  std::vector<int> parent_;
  std::vector<int> wants_;
};

constexpr std::int64_t kShortestWithBorder = 12;  // shorter rows are better off as one long axis without gaps

// Images that windows look at beyond their ends get zeros around them, so that nobody has to ask where he is.
void choose_borders(Plan& plan) {
  for (const Nest& nest : plan.nests) {
    const ExprRef sum = main_reduction(nest.value);
    if (!sum || sum->reduction != Reduction::Sum) continue;
    std::vector<Axis> reduced;
    for_each_read(*sum->args[0], reduced, [&](const ExprNode& e, const std::vector<Axis>&) {
      Storage& s = plan.buffers[static_cast<std::size_t>(e.tensor.number)];
      if (s.kind != Storage::Kind::Local || s.type != ElementType::Float || !is_image(s) ||
          s.extents.back() < kShortestWithBorder)
        return;
      Extents low(s.extents.size(), 0), high(s.extents.size(), 0);
      bool is_needed = false;
      for (std::size_t d = 0; d < e.at.size(); ++d) {
        if (e.at[d].is_inside(s.extents[d])) continue;
        const auto range = e.at[d].range();
        if (!range || !range->low.value() || !range->high.value()) return;
        low[d] = std::max<std::int64_t>(0, -range->low.concrete());
        high[d] = std::max<std::int64_t>(0, range->high.concrete() - s.extents[d] + 1);
        if (low[d] + high[d] > s.extents[d]) return;
        is_needed = true;
      }
      if (!is_needed) return;
      const std::vector<int> order = order_of(s);
      if (s.low.empty()) s.low = s.high = Extents(s.extents.size(), 0);
      for (std::size_t d = 0; d < low.size(); ++d) {
        s.low[d] = std::max(s.low[d], low[d]);
        s.high[d] = std::max(s.high[d], high[d]);
      }
      lay_out(s, order);
    });
  }
}

}  // namespace

void choose_layouts(Plan& plan) {
  Layouts(plan).run();
  choose_borders(plan);
}

}  // namespace isomer::lower
