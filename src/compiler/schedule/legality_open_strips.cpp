// Nests that run strip by strip with open sizes: the same checks as for known ones, by isl for all sizes and
// all strips at once.
#include <fmt/format.h>

#include <map>

#include "compiler/loops/compose.h"
#include "compiler/schedule/legality.h"
#include "compiler/schedule/legality_parts.h"
#include "model/expr/reads.h"

namespace isomer::lower {
namespace {

// No nest has such axes.
constexpr int kStripAxis = -2000, kRowAxis = -2001, kOtherRowAxis = -2002;

// Zeros before the first row of a tensor and behind its last one.
struct Zeros {
  std::int64_t low = 0, high = 0;
};
Zeros zeros_of(const Storage& s, std::size_t axis) {
  return s.low.empty() ? Zeros{} : Zeros{s.low[axis], s.high[axis]};
}

// From strips to rows, which count from the first row of zeros on.
class RowsOfStrips {
 public:
  RowsOfStrips(const SetSpace& space, const Strip& strip, Zeros zeros = {})
      : space_(space), strip_(strip), zeros_(zeros) {}

  // Rows that are done before a strip, and with it; zeros behind the last row come with that.
  Relation before() const { return done_after(Index(axis(kStripAxis, strip_.open->count)), true); }
  Relation with() const {
    return done_after(Index(axis(kStripAxis, strip_.open->count)) + Index(1), false) | all_with_the_last();
  }
  // Rows that a strip does.
  Relation now() const { return with() - before(); }

 private:
  static Axis axis(int id, const Dim& extent) { return {.id = id, .extent = extent}; }

  Relation part(const Domain& conditions) const {
    RelationBuilder builder(space_, 1, 1, 0);
    const Axis strip = axis(kStripAxis, strip_.open->count),
               row = axis(kRowAxis, strip_.rows.extent + Dim(zeros_.low + zeros_.high));
    builder.name_axis(strip, 0);
    builder.name_axis(row, 1);
    builder.inside(0, strip.extent);
    builder.inside(1, row.extent);
    builder.hold(conditions);
    builder.hold({row_index() - Index(zeros_.low)});
    builder.hold_all_preconditions();
    return builder.finish();
  }
  Index row_index() const {
    return Index(axis(kRowAxis, strip_.rows.extent + Dim(zeros_.low + zeros_.high)));
  }
  // After this number of strips, none of which is the last one.
  Relation done_after(const Index& strips, bool is_before) const {
    const Index done = Dim(strip_.open->step) * strips + Index(strip_.open->offset);
    const Index row = row_index() - Index(zeros_.low), all(strip_.rows.extent);
    const Domain begun = is_before ? Domain{strips - Index(1)} : Domain{};
    return part(both(begun, Domain{done - row - Index(1), all - row - Index(1)})) |
           part(both(begun, Domain{row - all, done - all}));
  }
  Relation all_with_the_last() const {
    const Index strip(axis(kStripAxis, strip_.open->count));
    return part({strip - Index(strip_.open->count) + Index(1)});
  }

  const SetSpace& space_;
  const Strip& strip_;
  Zeros zeros_;
};

// Pairs of rows of a strip that are a ring apart, or more.
bool has_rows_apart(const Relation& rows, const Relation& others, std::int64_t ring, const SetSpace& space) {
  RelationBuilder builder(space, 1, 2, 0);
  const Axis row{.id = kRowAxis, .extent = Dim(0)}, other{.id = kOtherRowAxis, .extent = Dim(0)};
  builder.name_axis(row, 1);
  builder.name_axis(other, 2);
  builder.hold({Index(other) - Index(row) - Index(ring)});
  return !(rows.beside(others) & builder.finish()).is_empty();
}

class OpenStripChecker {
 public:
  OpenStripChecker(const Plan& plan, std::size_t first, const SetSpace& space)
      : plan_(plan), first_(first), end_(first + strip_length(plan, first)), space_(space) {}

  Wrong run() {
    for (std::size_t n = first_; n < end_; ++n)
      if (auto wrong = wrong_rows(n)) return wrong;
    if (has_no_strip(strip(first_).open->count)) return "there may be no strip";
    for (std::size_t n = first_; n < end_; ++n) {
      Wrong wrong;
      std::vector<Axis> reduced;
      for_each_read(*plan_.nests[n].value, reduced, [&](const ExprNode& e, const std::vector<Axis>& around) {
        if (!wrong && writers_.contains(e.tensor.number)) wrong = wrong_read(n, e, around);
      });
      if (wrong) return fmt::format("{}: {}", plan_.nests[n].name, *wrong);
    }
    return std::nullopt;
  }

 private:
  const Strip& strip(std::size_t n) const { return *plan_.nests[n].strip; }

  Wrong wrong_rows(std::size_t n) {
    const Nest& nest = plan_.nests[n];
    const Strip& s = strip(n);
    if (!s.open || s.apart || !(s.open->count == strip(first_).open->count))
      return "strips differ in their number";
    std::optional<std::size_t> axis;
    for (std::size_t d = 0; d < nest.at.size(); ++d) {
      if (!nest.at[d].mentions(s.rows)) continue;
      if (axis || !(nest.at[d] == Index(s.rows))) return "rows of a tensor are two axes";
      axis = d;
    }
    if (!axis || (axes_.contains(nest.target) && axes_[nest.target] != *axis))
      return "rows are no axis of a tensor";
    if (!(plan_.buffer(nest.target).extents[*axis] == s.rows.extent)) return "strips leave out rows";
    axes_[nest.target] = *axis;
    writers_[nest.target].push_back(n);
    const RowsOfStrips rows(space_, s);
    if (!(rows.before() - rows.with()).is_empty()) return "rows are done again";
    return std::nullopt;
  }
  bool has_no_strip(const Dim& count) const {
    RelationBuilder builder(space_, 0, 0, 0);
    builder.hold({Index(Dim(0) - count)});
    builder.hold_all_preconditions();
    return !builder.finish().is_empty();
  }

  // From rows of the nest to rows of the tensor that are read, zeros included; all of them, or without those
  // before the first row.
  Relation rows_read(std::size_t n, const ExprNode& e, const std::vector<Axis>& around, std::size_t axis,
                     Zeros zeros, bool with_first) const {
    std::vector<Axis> others = plan_.nests[n].axes;
    others.insert(others.end(), around.begin(), around.end());
    std::erase(others, strip(n).rows);
    RelationBuilder builder(space_, 1, 1, static_cast<int>(others.size()));
    builder.name_axis(strip(n).rows, 0);
    builder.inside(0, strip(n).rows.extent);
    for (std::size_t k = 0; k < others.size(); ++k) {
      builder.name_axis(others[k], static_cast<int>(k) + 2);
      builder.inside(static_cast<int>(k) + 2, others[k].extent);
    }
    builder.inside(1, plan_.buffer(e.tensor.number).extents[axis] + Dim(zeros.low + zeros.high));
    builder.equal(1, e.at[axis] + Index(zeros.low));
    if (!with_first) builder.hold({e.at[axis]});
    builder.hold_all_preconditions();
    return builder.finish();
  }

  Wrong wrong_read(std::size_t n, const ExprNode& e, const std::vector<Axis>& around) {
    const Storage& s = plan_.buffer(e.tensor.number);
    const std::size_t axis = axes_.at(e.tensor.number);
    if (axis >= e.at.size()) return fmt::format("rows of {} are no axis of it", s.name);
    if (s.ring > 0 && s.ring_axis != axis) return fmt::format("other rows of {} go round", s.name);
    const Zeros zeros = zeros_of(s, axis);
    const Relation now = RowsOfStrips(space_, strip(n)).now();
    const Relation read = now.then(rows_read(n, e, around, axis, zeros, true)),
                   read_written = now.then(rows_read(n, e, around, axis, zeros, false));
    for (const std::size_t w : writers_[e.tensor.number]) {
      const RowsOfStrips rows(space_, strip(w), zeros);
      const Relation written = w < n ? rows.with() : rows.before();
      if (!(read_written - written).is_empty()) return fmt::format("it reads rows of {} too early", s.name);
      if (s.ring > 0 && has_rows_apart(read, written, s.ring, space_))
        return fmt::format("it reads rows of {} too late", s.name);
    }
    return std::nullopt;
  }

  const Plan& plan_;
  std::size_t first_, end_;
  const SetSpace& space_;
  std::map<int, std::size_t> axes_;  // of tensors that are written: which one rows are
  std::map<int, std::vector<std::size_t>> writers_;
};

}  // namespace

Wrong wrong_open_strips(const Plan& plan, std::size_t first, const SetSpace& space) {
  return OpenStripChecker(plan, first, space).run();
}

bool share_places(const Strip& strip, std::int64_t ring, const SetSpace& space) {
  const Relation rows = RowsOfStrips(space, strip).now();
  return has_rows_apart(rows, rows, ring, space);
}

}  // namespace isomer::lower
