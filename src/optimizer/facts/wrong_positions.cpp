#include "optimizer/facts/wrong_positions.h"

#include <algorithm>
#include <optional>
#include <set>

#include "kernel/normal/normal_form.h"
#include "kernel/prove/shrink.h"
#include "kernel/prove/translate.h"
#include "model/graph/infer.h"

namespace isomer {
namespace {

// Wider margins are no borders any more: a kernel of 7 after one of 7 has 3, one of 5 with holes of 4 has 8.
constexpr std::int64_t kWidest = 16;

class Margins {
 public:
  Margins(const SetSpace& space, Dims shape) : space_(space), shape_(std::move(shape)) {}

  // The margins that hold all of these points; nullopt: there are none.
  std::optional<std::vector<Margin>> around(Points open) const {
    std::vector<Margin> out;
    std::set<std::size_t> used;
    while (!open.is_empty()) {
      std::optional<Margin> best;
      bool is_last = false;
      for (std::size_t axis = 0; axis < shape_.size() && !is_last; ++axis) {
        if (used.contains(axis)) continue;
        const auto margin = along(open, axis);
        if (!margin) continue;
        is_last = (open & between(*margin)).is_empty();
        if (is_last || !best) best = margin;
      }
      if (!best) return std::nullopt;
      used.insert(best->axis);
      out.push_back(*best);
      open = open & between(*best);
    }
    return out;
  }

 private:
  // The smallest margins between which all positions along the axis are alike.
  std::optional<Margin> along(const Points& open, std::size_t axis) const {
    std::int64_t widest = kWidest;
    if (const auto extent = shape_[axis].value()) widest = std::min(widest, (*extent - 1) / 2);
    Margin out{.axis = axis, .begin = widest, .end = widest};
    if (widest <= 0 || !is_alike(open, out)) return std::nullopt;
    const auto shrink = [&](std::int64_t& side) {
      while (side > 0) {
        --side;
        if (is_alike(open, out)) continue;
        ++side;
        return;
      }
    };
    shrink(out.begin);
    shrink(out.end);
    return out.begin + out.end > 0 ? std::optional(out) : std::nullopt;
  }

  bool is_alike(const Points& open, const Margin& margin) const {
    const int axis = static_cast<int>(margin.axis);
    const Points inner = between(margin), some = open & inner;
    return (to_nothing(some).without_in(axis).with_in(axis).domain() & inner).is_subset_of(some);
  }

  Points between(const Margin& margin) const {
    const int rank = static_cast<int>(shape_.size());
    RelationBuilder out(space_, rank, 0, 0);
    for (int k = 0; k < rank; ++k) out.inside(k, shape_[static_cast<std::size_t>(k)]);
    const Axis axis{.id = 0, .extent = shape_[margin.axis]};
    out.name_axis(axis, static_cast<int>(margin.axis));
    out.hold(isomer::between(Index(margin.begin), Index(axis), Index(axis.extent - Dim(margin.end))));
    return out.finish().domain();
  }

  const SetSpace& space_;
  Dims shape_;
};

Result<WrongPositions> compared(NormalForms& forms, const Form& right, const Form& mutant) {
  if (right.type != mutant.type || right.shape() != mutant.shape())
    return Error{"a value of another type or shape"};
  const auto unproved = forms.unproved_positions(right, mutant);
  WrongPositions out{.set = unproved.positions.coalesce().text(), .is_empty = unproved.positions.is_empty()};
  std::erase(out.set, '$');
  auto margins = Margins(forms.space(), right.shape()).around(unproved.positions);
  if (!margins) return Error{"wrong at " + out.set + ", which are no margins"};
  out.margins = std::move(*margins);
  return out;
}

}  // namespace

Result<WrongPositions> wrong_positions(const Graph& right, const Graph& mutant) {
  InferOptions for_right, for_mutant;
  for_right.taken = symbols_of(mutant);
  for_mutant.taken = symbols_of(right);
  const auto a = infer(right, for_right);
  if (!a.ok()) return a.error();
  for_mutant.taken.insert(a->made.begin(), a->made.end());
  const auto b = infer(mutant, for_mutant);
  if (!b.ok()) return b.error();
  ValueNumbers numbers;
  numbers.add(right, *a);
  numbers.add(mutant, *b);
  std::set<std::string> names = symbols_of(right);
  names.merge(symbols_of(mutant));
  try {
    NormalForms forms({names.begin(), names.end()}, {});
    Translator translator(forms, numbers, {.cut_common = true});
    const auto x = translator.outputs(right, *a), y = translator.outputs(mutant, *b);
    return compared(forms, x[0], y[0]);
  } catch (const Undecided& undecided) {
    return Error{undecided.what()};
  } catch (const DimOverflow& overflow) {
    return Error{overflow.what()};
  }
}

}  // namespace isomer
