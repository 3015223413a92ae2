#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/nth.h"
#include "compiler/schedule/layout.h"
#include "compiler/schedule/legality.h"
#include "compiler/schedule/row_strips.h"
#include "model/expr/reads.h"

namespace isomer::lower {
namespace {

constexpr std::int64_t kShortestRow = 12;       // shorter ones leave a tile half empty
constexpr std::int64_t kWinogradChannels = 16;  // with as many, a 3x3 window is better off as a whole
constexpr int kRows = 2, kChannels = 1;         // axes of an image

// The rows that a nest reads of the one before it.
struct Window {
  std::int64_t step = 1, low = 0, high = 0;  // rows step·row + low to step·row + high
};

class Strips {
 public:
  Strips(Plan& plan, const StripLimits& limits, const Schedules& own)
      : plan_(plan), limits_(limits), own_(own), sizes_(plan.sizes) {
    for (std::size_t n = 0; n < plan.nests.size(); ++n) {
      writers_[plan.nests[n].target].insert(n);
      std::vector<Axis> reduced;
      for_each_read(*plan.nests[n].value, reduced, [&](const ExprNode& e, const std::vector<Axis>&) {
        readers_[e.tensor.number].insert(n);
      });
    }
  }

  Status run() {
    for (std::size_t n = 0; n < plan_.nests.size();) {
      std::size_t length = 1;
      std::vector<Window> windows;
      if (plan_.nests[n].strip) {  // as a schedule says
        ++n;
        continue;
      }
      if (const auto lines = own_.find(plan_.nests[n].name); lines != own_.end()) {
        ISOMER_TRY(length, apply_request(n, lines->second));
        n += length;
        continue;
      }
      while (n + length < plan_.nests.size() && !own_.contains(plan_.nests[n + length].name) &&
             !plan_.nests[n + length].strip) {
        const auto window = link(n + length - 1, n + length, length == 1);
        if (!window) break;
        windows.push_back(*window);
        ++length;
      }
      // A chain that is too long for the cache loses its end.
      while (length > 1 && !make(n, length, windows)) windows.resize(--length - 1);
      n += length;
    }
    return Done{};
  }

 private:
  // At the sizes that are looked at.
  std::int64_t height(std::size_t n) { return sizes_.usual(target(n).extents[kRows]); }
  Storage& target(std::size_t n) { return plan_.buffer(plan_.nests[n].target); }
  static std::optional<Axis> rows_of(const Nest& nest) {
    if (nest.at.size() != 4) return std::nullopt;
    auto axis = nest.at[kRows].as_axis();
    if (!axis) return std::nullopt;
    for (std::size_t d = 0; d < nest.at.size(); ++d)
      if (d != kRows && nest.at[d].mentions(*axis)) return std::nullopt;
    return axis;
  }
  static bool mentions_any(const Index& index, const std::vector<Axis>& axes) {
    return std::ranges::any_of(axes, [&](const Axis& a) { return !a.extent.is(1) && index.mentions(a); });
  }

  // Whether a nest may go strip by strip: it computes rows of one image, and no kernel wants all of them.
  bool may_be_cut(std::size_t n, bool is_first) {
    const Nest& nest = plan_.nests[n];
    const Storage& s = target(n);
    if (!rows_of(nest) || s.extents.size() != 4 || !s.extents[0].is(1) ||
        plan_.sizes.usual(s.extents[3]) < kShortestRow || s.type != ElementType::Float ||
        s.kind == Storage::Kind::Input)
      return false;
    const ExprRef sum = main_reduction(nest.value);
    if (!sum) return true;
    bool fits = true;
    std::vector<Axis> around;
    for_each_read(*sum->args[0], around, [&](const ExprNode& e, const std::vector<Axis>&) {
      if (e.at.size() != 4 || plan_.buffer(e.tensor.number).kind == Storage::Kind::Weight) return;
      const bool is_window = mentions_any(e.at[kRows], sum->axes) || mentions_any(e.at[3], sum->axes);
      if (!is_window || !mentions_any(e.at[kChannels], sum->axes)) return;
      // A dense window: by Winograd if it may be, and its rows can't go round.
      const auto rows = rows_of(nest);
      const bool by_winograd =
          stride(e.at[kRows], *rows) == 1 && plan_.sizes.usual(e.extents[kChannels]) >= kWinogradChannels;
      if (!is_first || by_winograd) fits = false;
    });
    return fits;
  }

  // Whether `b` is all that reads what `a` writes, which it does row by row, and how.
  std::optional<Window> link(std::size_t a, std::size_t b, bool is_first) {
    const int buffer = plan_.nests[a].target;
    const Storage& s = target(a);
    if (s.kind != Storage::Kind::Local || s.extents.size() != 4 ||
        order_of(s, plan_.sizes).back() != kChannels || writers_[buffer].size() != 1 ||
        readers_[buffer] != std::set{b} || writers_[plan_.nests[b].target].size() != 1 ||
        !may_be_cut(a, is_first) || !may_be_cut(b, false))
      return std::nullopt;
    const Nest& reader = plan_.nests[b];
    if (!(plan_.nests[a].at == to_indices(plan_.nests[a].axes))) return std::nullopt;
    const auto rows = rows_of(reader);
    const ExprRef sum = main_reduction(reader.value);
    const bool is_sum = sum && sum->reduction == Reduction::Sum;
    std::optional<Window> out;
    bool fits = true;
    std::vector<Axis> reduced;
    for_each_read(*reader.value, reduced, [&](const ExprNode& e, const std::vector<Axis>&) {
      if (e.tensor.number != buffer || !fits) return;
      const Index& at = e.at[kRows];
      const std::int64_t step = stride(at, *rows).value().value_or(0);
      const Index rest = at - Dim(step) * Index(*rows);
      const auto range = rest.range();
      fits = step > 0 && !rest.mentions(*rows) && range && range->low.value() && range->high.value();
      for (std::size_t d = 0; d < e.at.size(); ++d) {
        fits = fits && (d == kRows || !e.at[d].mentions(*rows));
        fits = fits && (!is_sum || stays_inside(s, d, e.at[d]));
      }
      if (!fits) return;
      const Window w{step, range->low.concrete(), range->high.concrete()};
      fits = !out || out->step == step;
      out = out ? Window{step, std::min(out->low, w.low), std::max(out->high, w.high)} : w;
    });
    return fits ? out : std::nullopt;
  }

  // A chain as a schedule wants it, whatever its size; how many nests it has.
  Result<std::size_t> apply_request(std::size_t first, const std::vector<std::string>& lines) {
    const std::string& name = plan_.nests[first].name;
    auto said = strip_request(lines);
    if (!said) return Error{fmt::format("{}: {}", name, said.error().message)};
    const std::optional<StripRequest>& request = *said;
    if (!request) return std::size_t{1};
    std::vector<Window> windows;
    for (std::size_t n = first; n + 1 < plan_.nests.size(); ++n) {
      const auto window = link(n, n + 1, n == first);
      if (!window)
        return Error{fmt::format("{}: compute_at {}: {} does not read {} row by row, it alone", name,
                                 request->nest, plan_.nests[n + 1].name, plan_.nests[n].name)};
      windows.push_back(*window);
      if (plan_.nests[n + 1].name != request->nest) continue;
      const std::int64_t rows = std::min(request->rows, height(n + 1));
      cut(first, n + 2 - first, rows_done(first, n + 2 - first, windows, rows), windows);
      return n + 2 - first;
    }
    return Error{fmt::format("{}: compute_at: no nest after it is named {}", name, request->nest)};
  }

  bool is_open() const { return !plan_.sizes.is_empty(); }
  // Rows that are done after each strip, if the last nest does this many in one.
  std::vector<Extents> rows_done(std::size_t first, std::size_t length, const std::vector<Window>& windows,
                                 std::int64_t rows) {
    if (is_open()) return rows_done(first, open_strips(first, length, windows, rows));
    std::vector<Extents> done(length);
    const auto height = [&](std::size_t k) { return this->height(first + k); };
    const std::int64_t count = (height(length - 1) + rows - 1) / rows;
    for (std::int64_t strip = 0; strip < count; ++strip) {
      std::int64_t wanted = std::min((strip + 1) * rows, height(length - 1));
      done[length - 1].push_back(wanted);
      for (std::size_t k = length - 1; k-- > 0;) {
        wanted = std::clamp<std::int64_t>(windows[k].step * (wanted - 1) + windows[k].high + 1, 0, height(k));
        if (strip + 1 == count) wanted = height(k);
        done[k].push_back(wanted);
      }
    }
    return done;
  }
  // The same for every size: how rows before the last strip follow each other.
  std::vector<Strip::Open> open_strips(std::size_t first, std::size_t length,
                                       const std::vector<Window>& windows, std::int64_t rows) {
    std::vector<Strip::Open> out(length);
    const Dim count = Dim::floor(target(first + length - 1).extents[kRows] + Dim(rows - 1), rows);
    out.back() = {.count = count, .step = rows};
    for (std::size_t k = length - 1; k-- > 0;)
      out[k] = {.count = count,
                .step = windows[k].step * out[k + 1].step,
                .offset = windows[k].step * (out[k + 1].offset - 1) + windows[k].high + 1};
    return out;
  }
  std::vector<Extents> rows_done(std::size_t first, const std::vector<Strip::Open>& strips) {
    std::vector<Extents> done(strips.size());
    const std::int64_t count = sizes_.usual(strips[0].count);
    for (std::size_t k = 0; k < strips.size(); ++k)
      for (std::int64_t n = 1; n <= count; ++n) {
        const std::int64_t all = height(first + k), wanted = strips[k].step * n + strips[k].offset;
        done[k].push_back(n == count ? all : std::clamp<std::int64_t>(wanted, 0, all));
      }
    return done;
  }
  // Rows that the memory of each tensor needs, zeros included.
  std::int64_t ring_of(std::size_t n, const Window& window, const Extents& written, const Extents& read) {
    const Storage& s = target(n);
    const std::int64_t low = s.low.empty() ? 0 : s.low[kRows], high = s.high.empty() ? 0 : s.high[kRows];
    std::int64_t ring = 1;
    for (std::size_t k = 0; k < read.size(); ++k) {
      const std::int64_t from = k == 0 ? 0 : read[k - 1];
      // Threads write the rows of one strip at the same time, also those that are not read.
      ring = std::max(ring, written[k] - (k == 0 ? 0 : written[k - 1]));
      if (from == read[k]) continue;
      const std::int64_t end = written[k] + (written[k] == height(n) ? high : 0);
      ring = std::max(ring, end - std::max(window.step * from + window.low, -low));
    }
    return ring;
  }
  std::int64_t row_bytes(const Storage& s) const {
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < s.extents.size(); ++d)
      if (d != kRows)
        elements *= plan_.sizes.usual(s.extents[d]) + (s.low.empty() ? 0 : s.low[d] + s.high[d]);
    return elements * stored_bytes(s.type);
  }

  bool make(std::size_t first, std::size_t length, const std::vector<Window>& windows) {
    std::int64_t whole = 0;
    for (std::size_t k = 0; k + 1 < length; ++k) whole += row_bytes(target(first + k)) * height(first + k);
    if (whole < limits_.worth) return false;
    const std::int64_t all = height(first + length - 1);
    for (const std::int64_t rows : {8, 7, 4, 2, 1}) {
      if (2 * rows > all) continue;
      const auto rings = rings_of(first, length, windows, rows);
      std::int64_t bytes = 0;
      for (std::size_t k = 0; k + 1 < length; ++k) bytes += rings[k] * row_bytes(target(first + k));
      if (bytes > limits_.rings) continue;
      if (is_open()) return cut_open(first, open_strips(first, length, windows, rows), rings);
      cut(first, length, rows_done(first, length, windows, rows), windows);
      return true;
    }
    return false;
  }
  // Rings of every tensor except the last. With open sizes: the largest at some of them; isl checks whether
  // that is enough for all.
  std::vector<std::int64_t> rings_of(std::size_t first, std::size_t length,
                                     const std::vector<Window>& windows, std::int64_t rows) {
    constexpr std::int64_t kTried = 8;
    std::vector<std::int64_t> rings(length - 1, 1);
    for (std::int64_t more = 0; more < (is_open() ? kTried : 1); ++more) {
      for (std::size_t k = 0; k < sizes_.open.size(); ++k) {
        const OpenSize& size = plan_.sizes.open[k];
        sizes_.open[k].usual = std::min(size.usual + more, size.most.value_or(INT64_MAX));
      }
      const auto done = rows_done(first, length, windows, rows);
      for (std::size_t k = 0; k + 1 < length; ++k)
        rings[k] = std::max(rings[k], ring_of(first + k, windows[k], done[k], done[k + 1]));
    }
    sizes_ = plan_.sizes;
    return rings;
  }
  bool cut_open(std::size_t first, const std::vector<Strip::Open>& strips,
                const std::vector<std::int64_t>& rings) {
    std::vector<Storage> before;
    for (std::size_t k = 0; k < strips.size(); ++k) {
      Nest& nest = plan_.nests[first + k];
      nest.strip = Strip{.group = static_cast<int>(first), .rows = *rows_of(nest), .open = strips[k]};
      before.push_back(target(first + k));
      if (k + 1 < strips.size()) go_round(target(first + k), rings[k]);
    }
    if (!illegal_strips(plan_, first)) return true;
    for (std::size_t k = 0; k < strips.size(); ++k) {
      target(first + k) = before[k];
      plan_.nests[first + k].strip.reset();
    }
    return false;
  }
  // The rows of each nest that rows of the last nest need: all, if it is all of them.
  void find_needed(std::size_t first, std::size_t length, const std::vector<Window>& windows) {
    const std::int64_t rows = height(first + length - 1);
    for (std::size_t k = length; k-- > 0;) {
      Strip& s = *plan_.nests[first + k].strip;
      const std::int64_t all = this->height(first + k);
      for (std::int64_t r = 0; r <= rows; ++r) {
        std::int64_t begin = r, end = r;
        if (k + 1 < length) {
          const Strip& reader = *plan_.nests[first + k + 1].strip;
          const Window& w = windows[k];
          begin = w.step * nth(reader.first, r) + w.low;
          end = w.step * (nth(reader.last, r) - 1) + w.high + 1;
          begin = r == 0 ? 0 : std::clamp<std::int64_t>(begin, 0, all - 1);
          end = r == rows ? all : std::clamp<std::int64_t>(end, 0, all);
        }
        s.first.push_back(begin);
        s.last.push_back(end);
      }
    }
  }
  void cut(std::size_t first, std::size_t length, const std::vector<Extents>& done,
           const std::vector<Window>& windows) {
    for (std::size_t k = 0; k < length; ++k) {
      Nest& nest = plan_.nests[first + k];
      nest.strip = Strip{.group = static_cast<int>(first), .rows = *rows_of(nest), .done = done[k]};
    }
    find_needed(first, length, windows);
    for (std::size_t k = 0; k + 1 < length; ++k)
      go_round(target(first + k), ring_of(first + k, windows[k], done[k], done[k + 1]));
  }
  void go_round(Storage& s, std::int64_t rows) const {
    if (s.extents[kRows].is_concrete() && rows >= s.extents[kRows].concrete()) return;
    const std::vector<int> order = order_of(s, plan_.sizes);
    s.ring = rows;
    s.ring_axis = kRows;
    lay_out(s, order);
  }

  Plan& plan_;
  StripLimits limits_;
  const Schedules& own_;
  Sizes sizes_;  // that are looked at
  std::map<int, std::set<std::size_t>> writers_, readers_;
};

}  // namespace

Status choose_strips(Plan& plan, const StripLimits& limits, const Schedules& own) {
  for (const auto& [nest, lines] : own) {
    ISOMER_TRY(const auto request, strip_request(lines));
    if (request && !plan.sizes.is_empty()) return Error{fmt::format("{}: compute_at: {}", nest, kNeedsSizes)};
  }
  choose_requested_row_strips(plan, limits, own);
  ISOMER_TRY_DO(Strips(plan, limits, own).run());
  choose_row_strips(plan, limits, own);
  return Done{};
}

}  // namespace isomer::lower
