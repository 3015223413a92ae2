#include "model/analysis/analysis.h"

#include <algorithm>
#include <map>

#include "model/expr/reads.h"

namespace isomer {

bool Box::empty() const {
  for (std::size_t k = 0; k < low.size(); ++k)
    if (low[k] >= high[k]) return true;
  return false;
}

namespace {

using Interval = std::pair<std::int64_t, std::int64_t>;  // inclusive
using AxisIntervals = std::map<int, Interval>;

Interval interval_of(const Index& index, const AxisIntervals& axes) {
  Interval out{index.offset().concrete(), index.offset().concrete()};
  for (const Index::Term& t : index.terms()) {
    Interval atom;
    if (t.atom.kind == Index::AtomKind::Axis) {
      atom = axes.at(t.atom.axis.id);
    } else {
      const Interval inner = interval_of(*t.atom.inner, axes);
      const std::int64_t q = t.atom.divisor.concrete(), first = floor_div(inner.first, q),
                         last = floor_div(inner.second, q);
      if (t.atom.kind == Index::AtomKind::Floor) atom = {first, last};
      else if (first == last) atom = {inner.first - first * q, inner.second - last * q};
      else atom = {0, q - 1};
    }
    const std::int64_t a = checked_multiply(t.scale.concrete(), atom.first),
                       b = checked_multiply(t.scale.concrete(), atom.second);
    out = {checked_add(out.first, std::min(a, b)), checked_add(out.second, std::max(a, b))};
  }
  return out;
}

void include(std::optional<Box>& box, const Box& more) {
  if (more.empty()) return;
  if (!box) {
    box = more;
    return;
  }
  for (std::size_t k = 0; k < more.low.size(); ++k) {
    box->low[k] = std::min(box->low[k], more.low[k]);
    box->high[k] = std::max(box->high[k], more.high[k]);
  }
}

}  // namespace

std::vector<std::optional<Box>> needed_regions(const Formula& formula, int output, const Box& box) {
  std::vector<std::optional<Box>> inputs(formula.inputs.size()), stages(formula.stages.size());
  include(stages[static_cast<std::size_t>(formula.outputs[static_cast<std::size_t>(output)])], box);
  for (std::size_t s = formula.stages.size(); s-- > 0;) {  // stages read earlier ones only
    if (!stages[s]) continue;
    const Stage& stage = formula.stages[s];
    AxisIntervals intervals;
    for (std::size_t k = 0; k < stage.axes.size(); ++k)
      intervals[stage.axes[k].id] = {stages[s]->low[k], stages[s]->high[k] - 1};
    std::vector<Axis> around;
    for_each_read(*stage.value, around, [&](const ExprNode& read, const std::vector<Axis>& reduced) {
      for (const Axis& a : reduced) intervals[a.id] = {0, a.extent.concrete() - 1};
      Box region;
      for (std::size_t d = 0; d < read.at.size(); ++d) {
        const auto [low, high] = interval_of(read.at[d], intervals);
        const std::int64_t extent = read.extents[d].concrete();
        region.low.push_back(std::clamp<std::int64_t>(low, 0, extent));
        region.high.push_back(std::clamp<std::int64_t>(high + 1, 0, extent));
      }
      auto& target = read.tensor.kind == TensorRef::Kind::Input ? inputs : stages;
      include(target[static_cast<std::size_t>(read.tensor.number)], region);
    });
  }
  return inputs;
}

}  // namespace isomer
