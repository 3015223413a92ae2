// Nests that run strip by strip, and rings of rows between them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/loops/compose.h"
#include "compiler/schedule/legality.h"
#include "compiler/schedule/legality_parts.h"
#include "model/expr/reads.h"

namespace isomer::lower {
namespace {

// Nests that run strip by strip, in turns: what one reads of the others has been written in this strip or
// before, and is still there.
class StripChecker {
 public:
  StripChecker(const Plan& plan, std::size_t first, std::size_t length)
      : plan_(plan), first_(first), length_(length) {}

  Wrong run() {
    for (std::size_t n = first_; n < first_ + length_; ++n) {
      if (strip(n).done.size() != strip(first_).done.size()) return "strips differ in their number";
      const int target = plan_.nests[n].target;
      if (axes_.contains(target) && axes_[target] != row_axis(n)) return "rows of one tensor are two axes";
      axes_[target] = row_axis(n);
      writers_[target].push_back(n);
      is_apart_ = is_apart_ || strip(n).apart;
    }
    if (is_apart_)
      if (auto wrong = apart()) return wrong;
    for (std::size_t n = first_; n < first_ + length_; ++n) {
      Wrong wrong;
      std::vector<Axis> reduced;
      for_each_read(*plan_.nests[n].value, reduced, [&](const ExprNode& e, const std::vector<Axis>&) {
        if (!wrong && writers_.contains(e.tensor.number)) wrong = read(n, e);
        if (!wrong && is_apart_ && writers_.contains(e.tensor.number)) wrong = read_apart(n, e);
      });
      if (wrong) return fmt::format("{}: {}", plan_.nests[n].name, *wrong);
    }
    return std::nullopt;
  }

 private:
  const Strip& strip(std::size_t n) const { return *plan_.nests[n].strip; }
  // The one axis of the target that the nest's rows are.
  std::optional<std::size_t> row_axis(std::size_t n) const {
    const Nest& nest = plan_.nests[n];
    std::optional<std::size_t> out;
    for (std::size_t d = 0; d < nest.at.size(); ++d) {
      if (!nest.at[d].mentions(strip(n).rows)) continue;
      if (out || !(nest.at[d] == Index(strip(n).rows))) return std::nullopt;
      out = d;
    }
    return out;
  }
  std::int64_t done(std::size_t n, std::size_t strip_count) const {
    return strip_count == 0 ? 0 : strip(n).done[strip_count - 1];
  }

  Wrong read(std::size_t n, const ExprNode& e) {
    const Storage& s = plan_.buffer(e.tensor.number);
    const auto axis = axes_[e.tensor.number];
    if (!axis || *axis >= e.at.size()) return fmt::format("rows of {} are no axis of it", s.name);
    if (s.ring > 0 && s.ring_axis != *axis) return fmt::format("other rows of {} go round", s.name);
    const std::int64_t rows = s.extents[*axis].concrete(), low = s.low.empty() ? 0 : s.low[*axis],
                       high = s.high.empty() ? 0 : s.high[*axis];
    for (std::size_t k = 0; k < strip(n).done.size(); ++k) {
      const std::int64_t from = done(n, k), to = done(n, k + 1);
      if (from == to) continue;
      const Axis here{.id = strip(n).rows.id, .extent = Dim(to - from)};
      const auto range = with_axes(e.at[*axis], {{here.id, Index(here) + Index(from)}}).range();
      if (!range || !range->low.value() || !range->high.value()) return "which rows are read is not seen";
      // No element further outside is read: the code checks, or the plan was rejected already.
      const std::int64_t begin = std::max(range->low.concrete(), -low),
                         end = std::min(range->high.concrete() + 1, rows + high);
      std::int64_t least = rows, most = 0;  // that all writers have done, that one has
      for (const std::size_t w : writers_[e.tensor.number]) {
        const std::int64_t now = done(w, w < n ? k + 1 : k);
        least = std::min(least, now);
        most = std::max(most, now);
      }
      // Zeros behind the last row are written with it.
      if (least == rows) least += high;
      if (most == rows) most += high;
      if (end > 0 && begin < end && end > least) return fmt::format("it reads rows of {} too early", s.name);
      if (s.ring > 0 && begin < most - s.ring) return fmt::format("it reads rows of {} too late", s.name);
    }
    return std::nullopt;
  }

  std::size_t last() const { return first_ + length_ - 1; }
  // Rows that are read, where the nest does those from `from` to `to`.
  static std::optional<std::pair<std::int64_t, std::int64_t>> read_rows(const Index& at, const Axis& rows,
                                                                        std::int64_t from, std::int64_t to) {
    const Axis here{.id = rows.id, .extent = Dim(to - from)};
    const auto range = with_axes(at, {{here.id, Index(here) + Index(from)}}).range();
    if (!range || !range->low.value() || !range->high.value()) return std::nullopt;
    return std::pair{range->low.concrete(), range->high.concrete() + 1};
  }

  // Threads divide the rows of the last nest. For rows r to q of it, one of them does the rows first[r] to
  // last[q] of every nest, in the same order as strips have all rows: so nothing is read too early or too
  // late that would not be without threads, if all that is read is among what this thread does. What it
  // writes is its own, but for the rows of the last nest, which no other one has.
  Wrong apart() {
    const auto rows = static_cast<std::size_t>(strip(last()).done.back());
    for (std::size_t n = first_; n <= last(); ++n) {
      const Strip& s = strip(n);
      const int target = plan_.nests[n].target;
      const Storage& t = plan_.buffer(target);
      if (!s.apart) return "threads divide some of the nests that run in turns";
      if (is_shared(plan_.nests[n])) return "threads divide what one of them does";
      if (!axes_[target] || writers_[target].size() != 1) return "threads may write the same rows";
      if (s.first.size() != rows + 1 || s.last.size() != rows + 1 || s.first.front() != 0 ||
          s.last.back() != s.done.back() || s.last.front() < 0 || !std::ranges::is_sorted(s.first) ||
          !std::ranges::is_sorted(s.last))
        return "threads leave out rows";
      for (std::size_t r = 0; r < rows; ++r) {
        const auto row = static_cast<std::int64_t>(r);
        // A thread without rows writes no zeros after the last one either.
        if (s.first[r] >= s.done.back()) return "threads leave out rows";
        if (n == last() && (s.first[r] != row || s.last[r] != row))
          return "threads do rows of the last nest twice, or leave them out";
      }
      if (n == last() ? t.each_thread : !t.each_thread || t.kind != Storage::Kind::Local)
        return fmt::format("threads share {}", t.name);
    }
    return std::nullopt;
  }
  Wrong read_apart(std::size_t n, const ExprNode& e) {
    const Storage& s = plan_.buffer(e.tensor.number);
    const std::size_t w = writers_[e.tensor.number].front(), axis = *axes_[e.tensor.number];
    if (w == last()) return fmt::format("a thread reads rows of {} that another one writes", s.name);
    const std::int64_t rows = strip(n).done.back(), written = s.extents[axis].concrete();
    for (std::size_t r = 0; r < strip(n).first.size(); ++r) {
      if (const std::int64_t from = strip(n).first[r]; r + 1 < strip(n).first.size()) {
        const auto range = read_rows(e.at[axis], strip(n).rows, from, rows);
        if (!range) return "which rows are read is not seen";
        if (std::max<std::int64_t>(range->first, 0) < strip(w).first[r])
          return fmt::format("it reads rows of {} before those that its thread has", s.name);
      }
      if (const std::int64_t to = strip(n).last[r]; to > 0) {
        const auto range = read_rows(e.at[axis], strip(n).rows, 0, to);
        if (!range) return "which rows are read is not seen";
        if (std::min(range->second, written) > strip(w).last[r])
          return fmt::format("it reads rows of {} behind those that its thread has", s.name);
      }
    }
    return std::nullopt;
  }

  const Plan& plan_;
  std::size_t first_, length_;
  bool is_apart_ = false;
  std::map<int, std::optional<std::size_t>> axes_;
  std::map<int, std::vector<std::size_t>> writers_;
};

}  // namespace

Wrong wrong_strip(const Nest& nest) {
  const Strip& s = *nest.strip;
  const auto is_rows = [&](const Axis& a) { return a == s.rows; };
  if (std::ranges::count_if(nest.axes, is_rows) != 1) return "strips are of another nest's rows";
  if (nest.winograd) return "tiles of several rows do not go strip by strip";
  if (nest.tile) {
    if (std::ranges::count_if(nest.tile->batch, is_rows) != 1) return "tiles are of several rows";
  } else {
    for (const AxisOfLoops& a : nest.of)
      if (is_rows(a.axis) ? !(a.index == Index(s.rows)) : a.index.mentions(s.rows))
        return "strips are no rows";
    if (std::ranges::count_if(nest.loops, [&](const Loop& l) { return is_rows(l.axis); }) != 1)
      return "rows have no loop";
    const auto loop = std::ranges::find_if(nest.loops, [&](const Loop& l) { return is_rows(l.axis); });
    if (loop->kind != Loop::Kind::Serial && loop->kind != Loop::Kind::Parallel)
      return "rows are no plain loop";
  }
  if (s.open) return std::nullopt;  // wrong_open_strips sees that all rows are done
  if (s.done.empty() || s.done.front() < 0 || !std::ranges::is_sorted(s.done) ||
      !s.rows.extent.is(s.done.back()))
    return "strips leave out rows";
  return std::nullopt;
}

Wrong wrong_strips(const Plan& plan) {
  std::set<int> groups;
  std::map<int, std::set<std::size_t>> users;  // of buffers, by where their group begins
  for (std::size_t n = 0; n < plan.nests.size();) {
    const std::size_t length = strip_length(plan, n);
    for (std::size_t k = n; k < n + std::max<std::size_t>(1, length); ++k) {
      users[plan.nests[k].target].insert(n);
      for (const int buffer : read_by(plan.nests[k])) users[buffer].insert(n);
    }
    if (length > 0) {
      if (!groups.insert(plan.nests[n].strip->group).second) return "a group of strips is there twice";
      const SetSpace space = space_of(plan);
      if (auto wrong = plan.nests[n].strip->open ? wrong_open_strips(plan, n, space)
                                                 : StripChecker(plan, n, length).run())
        return wrong;
    }
    n += std::max<std::size_t>(1, length);
  }
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Storage& s = plan.buffers[b];
    const auto at = users.find(static_cast<int>(b));
    if (at == users.end()) continue;
    const auto& strip = plan.nests[*at->second.begin()].strip;
    if (s.each_thread && (at->second.size() != 1 || !strip || !strip->apart))
      return fmt::format("{} is a thread's own, and others read it", s.name);
    if (s.ring == 0) continue;
    if (s.kind != Storage::Kind::Local || s.ring < 0 || s.ring_axis >= s.extents.size() ||
        at->second.size() != 1 || !plan.nests[*at->second.begin()].strip)
      return fmt::format("{} is needed as a whole, but its rows go round", s.name);
    // Zeros before the first row and behind the last are whole rows.
    for (std::size_t d = 0; d < s.extents.size(); ++d)
      if (d != s.ring_axis && !s.extents[d].is(1) &&
          !is_above(s.strides[s.ring_axis], s.strides[d], plan.sizes))
        return fmt::format("{}: its rows do not lie together", s.name);
    if (!s.low.empty() && s.low[s.ring_axis] > s.ring) return fmt::format("{} has too few rows", s.name);
  }
  return std::nullopt;
}

std::optional<std::string> illegal_strips(const Plan& plan, std::size_t first) {
  try {
    const SetSpace space = space_of(plan);
    return plan.nests[first].strip->open ? wrong_open_strips(plan, first, space)
                                         : StripChecker(plan, first, strip_length(plan, first)).run();
  } catch (const Undecided& open) {
    return fmt::format("undecided: {}", open.what());
  }
}

}  // namespace isomer::lower
