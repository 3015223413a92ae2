#include "compiler/schedule/row_strips.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/schedule/legality.h"
#include "compiler/schedule/packing.h"
#include "model/expr/reads.h"

namespace isomer::lower {
namespace {

class RowStrips {
 public:
  RowStrips(Plan& plan, const StripLimits& limits, const Schedules& own)
      : plan_(plan), limits_(limits), own_(own) {
    for (std::size_t n = 0; n < plan.nests.size(); ++n) {
      ++writers_[plan.nests[n].target];
      std::vector<Axis> reduced;
      for_each_read(*plan.nests[n].value, reduced, [&](const ExprNode& e, const std::vector<Axis>&) {
        readers_[e.tensor.number].insert(n);
      });
    }
  }

  void run() {
    for (std::size_t n = 0; n < plan_.nests.size();) n += make(n);
  }

  void run_requested() {
    for (std::size_t n = 0; n < plan_.nests.size(); ++n) {
      const auto lines = own_.find(plan_.nests[n].name);
      if (lines == own_.end() || plan_.nests[n].strip) continue;
      const auto request = strip_request(lines->second);
      if (request && *request) make_requested(n, **request);
    }
  }

 private:
  Storage& target(std::size_t n) { return plan_.buffer(plan_.nests[n].target); }
  const Storage& target(std::size_t n) const { return plan_.buffer(plan_.nests[n].target); }

  // How many nests go by rows from this one on; 1: it goes alone.
  std::size_t make(std::size_t first) {
    if (plan_.nests[first].strip || own_.contains(plan_.nests[first].name)) return 1;
    std::vector<Axis> axes = plan_.nests[first].axes;
    std::ranges::stable_sort(
        axes, [&](const Axis& a, const Axis& b) { return plan_.sizes.usual(a) > plan_.sizes.usual(b); });
    for (const Axis& axis : axes) {
      const RowChain chain = row_chain(first, axis);
      const auto rows = chain.rows.size() > 1 ? rows_in_cache(first, chain) : std::nullopt;
      if (rows && cut_rows(first, chain, *rows)) return chain.rows.size();
    }
    return 1;
  }
  void make_requested(std::size_t first, const StripRequest& request) {
    std::size_t last = first + 1;
    while (last < plan_.nests.size() && plan_.nests[last].name != request.nest) ++last;
    if (last == plan_.nests.size()) return;
    const std::vector<Axis> axes = plan_.nests[first].axes;
    for (const Axis& axis : axes) {
      const RowChain chain = row_chain(first, axis, last);
      if (chain.rows.size() == last + 1 - first && cut_rows(first, chain, request.rows)) return;
    }
  }

  struct RowChain {
    std::vector<Axis> rows = {};               // of each nest
    std::map<int, std::size_t> position = {};  // of the row, in what they write
  };

  static bool is_product(const Nest& nest) {  // a tile of it wants many rows
    const ExprRef sum = main_reduction(nest.value);
    return sum && sum->reduction == Reduction::Sum && sum->args[0]->fn == Fn::Mul &&
           std::ranges::all_of(sum->args[0]->args,
                               [](const ExprRef& a) { return a->kind == ExprNode::Kind::Read; });
  }
  // Rows of a large tensor have to lie together.
  bool goes_by_rows(const Storage& s, std::size_t position) const {
    return plan_.sizes.usual(byte_size(s)) < limits_.worth_by_rows / 8 ||
           innermost_axis(s, order_of(s, plan_.sizes)) != position;
  }
  // The position of a nest's target that is this axis.
  static std::optional<std::size_t> position_of(const Nest& nest, const Axis& rows) {
    std::optional<std::size_t> out;
    for (std::size_t d = 0; d < nest.at.size(); ++d) {
      if (!nest.at[d].mentions(rows)) continue;
      if (out || !(nest.at[d] == Index(rows))) return std::nullopt;
      out = d;
    }
    return out;
  }
  bool add_nest(RowChain& chain, std::size_t n, const Axis& rows) const {
    const Nest& nest = plan_.nests[n];
    const auto position = position_of(nest, rows);
    if (!position || is_product(nest) || writers_.at(nest.target) != 1 ||
        target(n).kind == Storage::Kind::Input || !goes_by_rows(target(n), *position))
      return false;
    chain.rows.push_back(rows);
    chain.position[nest.target] = *position;
    return true;
  }
  // The axis of a nest that is the row of all that it reads of the chain.
  std::optional<Axis> rows_read(const RowChain& chain, const Nest& nest) const {
    std::optional<Axis> rows;
    bool fits = true;
    std::vector<Axis> reduced;
    for_each_read(*nest.value, reduced, [&](const ExprNode& e, const std::vector<Axis>&) {
      const auto of = chain.position.find(e.tensor.number);
      if (of == chain.position.end()) return;
      const auto axis = e.at[of->second].as_axis();
      fits = fits && axis && contains(nest.axes, *axis) && (!rows || *rows == *axis);
      for (std::size_t d = 0; fits && d < e.at.size(); ++d)
        fits = d == of->second || !e.at[d].mentions(*axis);
      rows = axis;
    });
    return fits ? rows : std::nullopt;
  }
  // Up to a nest that has strips, or that a schedule speaks of; or up to this one.
  RowChain row_chain(std::size_t first, const Axis& rows, std::optional<std::size_t> last = {}) const {
    RowChain chain;
    if (!add_nest(chain, first, rows)) return chain;
    const std::size_t end = last ? *last + 1 : plan_.nests.size();
    for (std::size_t n = first + 1; n < end; ++n) {
      const auto next = rows_read(chain, plan_.nests[n]);
      const bool is_taken = plan_.nests[n].strip || (!last && own_.contains(plan_.nests[n].name));
      if (!next || is_taken || !add_nest(chain, n, *next)) break;
    }
    return chain;
  }
  // Whether only nests of the chain read what this one writes.
  bool is_inner(std::size_t n, std::size_t first, std::size_t length) const {
    const auto readers = readers_.find(plan_.nests[n].target);
    return target(n).kind == Storage::Kind::Local && readers != readers_.end() &&
           *readers->second.begin() >= first && *readers->second.rbegin() < first + length;
  }

  // Rows of a strip, all of whose tensors stay in the cache; nullopt: there is little to keep there.
  std::optional<std::int64_t> rows_in_cache(std::size_t first, const RowChain& chain) const {
    const std::size_t length = chain.rows.size();
    std::int64_t inner = 0, all = 0;  // bytes of tensors that only the chain uses, and of all that it uses
    std::set<int> used;
    for (std::size_t n = first; n < first + length; ++n) {
      if (is_inner(n, first, length)) inner += plan_.sizes.usual(byte_size(target(n)));
      used.insert(plan_.nests[n].target);
      std::vector<Axis> reduced;
      for_each_read(*plan_.nests[n].value, reduced,
                    [&](const ExprNode& e, const std::vector<Axis>&) { used.insert(e.tensor.number); });
    }
    for (const int buffer : used) all += plan_.sizes.usual(byte_size(plan_.buffer(buffer)));
    const std::int64_t height = plan_.sizes.usual(chain.rows[0]);
    if (height < 2 || inner < limits_.worth_by_rows) return std::nullopt;
    return std::clamp<std::int64_t>(limits_.rings * height / all, 1, height / 2);
  }
  bool cut_rows(std::size_t first, const RowChain& chain, std::int64_t rows) {
    const std::size_t length = chain.rows.size();
    std::vector<Storage> before;
    for (std::size_t k = 0; k < length; ++k) {
      Nest& nest = plan_.nests[first + k];
      before.push_back(target(first + k));
      nest.strip = row_strip(static_cast<int>(first), chain.rows[k], rows);
      if (is_inner(first + k, first, length))
        go_round(target(first + k), chain.position.at(nest.target), rows);
    }
    if (!illegal_strips(plan_, first)) return true;
    for (std::size_t k = 0; k < length; ++k) {
      target(first + k) = before[k];
      plan_.nests[first + k].strip.reset();
    }
    return false;
  }
  Strip row_strip(int group, const Axis& axis, std::int64_t rows) const {
    Strip out{.group = group, .rows = axis};
    if (!plan_.sizes.is_empty()) {
      out.open = Strip::Open{.count = Dim::floor(axis.extent + Dim(rows - 1), rows), .step = rows};
      return out;
    }
    const std::int64_t all = axis.extent.concrete();
    for (std::int64_t done = rows; done < all + rows; done += rows) out.done.push_back(std::min(done, all));
    for (std::int64_t r = 0; r <= all; ++r) out.first.push_back(r), out.last.push_back(r);
    return out;
  }
  // Rows of a ring lie together.
  void go_round(Storage& s, std::size_t axis, std::int64_t rows) const {
    std::vector<int> order = order_of(s, plan_.sizes);
    std::ranges::stable_partition(order, [&](int d) { return static_cast<std::size_t>(d) == axis; });
    s.ring = rows;
    s.ring_axis = axis;
    lay_out(s, order);
  }

  Plan& plan_;
  const StripLimits& limits_;
  const Schedules& own_;
  std::map<int, std::size_t> writers_;            // how many nests write a buffer
  std::map<int, std::set<std::size_t>> readers_;  // nests that read it
};

}  // namespace

void choose_requested_row_strips(Plan& plan, const StripLimits& limits, const Schedules& own) {
  if (!own.empty()) RowStrips(plan, limits, own).run_requested();
}

void choose_row_strips(Plan& plan, const StripLimits& limits, const Schedules& own) {
  RowStrips(plan, limits, own).run();
}

}  // namespace isomer::lower
