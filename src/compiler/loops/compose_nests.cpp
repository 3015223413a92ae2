#include <algorithm>
#include <map>
#include <set>

#include "compiler/loops/lower.h"
#include "model/expr/parts.h"
#include "model/expr/reads.h"

namespace isomer::lower {
namespace {

constexpr std::int64_t kLargestValue = 400;  // parts of one nest's expression

Dim points(const std::vector<Axis>& axes) {
  Dim count = 1;
  for (const Axis& a : axes) count = count * a.extent;
  return count;
}

std::int64_t size_of(const ExprNode& e) {
  std::int64_t size = 1;
  for (const ExprRef& a : e.args) size += size_of(*a);
  for (const ExprNode::Case& c : e.cases) size += size_of(*c.value);
  return size;
}

bool has_quotient(const Index& index) {
  return std::ranges::any_of(index.terms(),
                             [](const Index::Term& t) { return t.atom.kind != Index::AtomKind::Axis; });
}

// Moves data and computes nothing: a read, or a number.
bool is_movement(const ExprNode& e) {
  return e.kind == ExprNode::Kind::Read || e.kind == ExprNode::Kind::Number ||
         e.kind == ExprNode::Kind::IndexNumber;
}

// Nests whose value is chosen by intervals of one axis become one nest per interval, so that what computes a
// part of a Concat can write it there.
class Splitter {
 public:
  Splitter(AxisNumbers& numbers) : numbers_(numbers) {}

  std::vector<Nest> split(const Nest& nest) {
    const ExprNode& value = *nest.value;
    if (value.kind != ExprNode::Kind::Cases) return {nest};
    std::optional<Axis> axis;
    std::vector<std::pair<Interval, ExprRef>> parts;
    std::vector<Interval> left;
    for (const ExprNode::Case& c : value.cases) {
      const auto interval = as_interval(c.when);
      if (!interval || (axis && !(*axis == interval->first))) return {nest};
      if (!axis) left = {{0, interval->first.extent.concrete()}};
      axis = interval->first;
      take(left, interval->second, c.value, parts);
    }
    if (!axis || std::ranges::find(nest.axes, *axis) == nest.axes.end()) return {nest};
    for (const Interval& i : left) parts.emplace_back(i, value.args[0]);
    std::vector<Nest> out;
    for (const auto& [interval, part] : parts) {
      Nest whole = nest;
      whole.value = Expr(part);
      out.push_back(part_of(whole, *axis, interval.low, interval.high, numbers_));
    }
    return out;
  }

 private:
  static void take(std::vector<Interval>& left, const Interval& wanted, const ExprRef& value,
                   std::vector<std::pair<Interval, ExprRef>>& parts) {
    std::vector<Interval> rest;
    for (const Interval& i : left) {
      const Interval both{std::max(i.low, wanted.low), std::min(i.high, wanted.high)};
      if (both.low >= both.high) {
        rest.push_back(i);
        continue;
      }
      parts.emplace_back(both, value);
      if (i.low < both.low) rest.push_back({i.low, both.low});
      if (both.high < i.high) rest.push_back({both.high, i.high});
    }
    left = rest;
  }
  AxisNumbers& numbers_;
};

class Composer {
 public:
  Composer(Plan& plan, AxisNumbers& numbers) : plan_(plan), numbers_(numbers) {}

  void run() {
    Splitter splitter(numbers_);
    for (const Nest& nest : plan_.nests)
      for (Nest& part : splitter.split(nest)) nests_.push_back(std::move(part));
    for (std::size_t n = 0; n < nests_.size(); ++n) learn(n);
    for (std::size_t n = 0; n < nests_.size(); ++n)
      if (may_move(n)) move(n);
    // Several readers of a sum may have become one meanwhile.
    for (std::size_t n = 0; n < nests_.size(); ++n)
      if (has_reduction(nests_[n].value) && may_move(n)) move(n);
    plan_.nests.clear();
    const auto needed = needed_nests();
    for (std::size_t n = 0; n < nests_.size(); ++n)
      if (needed.contains(n)) plan_.nests.push_back(std::move(nests_[n]));
  }

 private:
  struct Site {
    Dim times = 0;  // how often it is evaluated
    bool is_reduced = false;
    std::vector<Index> at;
  };

  void learn(std::size_t n) {
    writers_[nests_[n].target].insert(n);
    for (const auto& [buffer, sites] : sites_of(nests_[n])) readers_[buffer].insert(n);
  }
  std::map<int, std::vector<Site>> sites_of(const Nest& nest) const {
    std::map<int, std::vector<Site>> out;
    std::vector<Axis> reduced;
    for_each_read(*nest.value, reduced, [&](const ExprNode& e, const std::vector<Axis>& around) {
      out[e.tensor.number].push_back({points(nest.axes) * points(around), !around.empty(), e.at});
    });
    return out;
  }

  bool may_move(std::size_t n) const {
    const Nest& nest = nests_[n];
    const Storage& buffer = plan_.buffer(nest.target);
    if (buffer.kind != Storage::Kind::Local || writers_.at(nest.target).size() != 1 ||
        nest.at != to_indices(nest.axes))
      return false;
    if (buffer.type == ElementType::Float16 || buffer.type == ElementType::BFloat16) return false;
    const auto readers = readers_.find(nest.target);
    if (readers == readers_.end()) return false;
    const bool moves = is_movement(*nest.value);
    const bool reduces = has_reduction(nest.value);
    const Dim elements = points(nest.axes);
    const std::int64_t size = size_of(*nest.value);
    Dim times = 0;
    std::int64_t sites = 0;
    bool is_reduced = false, quotients = false, all_whole = true;
    for (const std::size_t r : readers->second) {
      const Nest& reader = nests_[r];
      if (size_of(*reader.value) + size > kLargestValue) return false;
      const auto at = sites_of(reader);
      const auto here = at.find(nest.target);
      if (here == at.end()) continue;
      for (std::size_t k = 0; k < here->second.size(); ++k) {
        const Site& s = here->second[k];
        // A value that is read twice at the same place is computed once.
        if (reduces && !s.is_reduced &&
            std::ranges::any_of(here->second.begin(), here->second.begin() + static_cast<std::ptrdiff_t>(k),
                                [&](const Site& other) { return !other.is_reduced && other.at == s.at; }))
          continue;
        ++sites;
        times = times + s.times;
        is_reduced = is_reduced || s.is_reduced;
        for (std::size_t d = 0; d < s.at.size(); ++d)
          all_whole = all_whole && s.at[d].is_inside(nest.axes[d].extent);
        if (moves && nest.value->kind == ExprNode::Kind::Read)
          quotients = quotients || makes_quotients(nest, s);
        // A product of reads stays one.
        if (moves && s.is_reduced)
          for (std::size_t d = 0; d < s.at.size(); ++d)
            if (asks_along(nest, d, s.at[d])) return false;
        // Sums stay in the shape in which they can be tiled.
        if (reduces && std::ranges::any_of(s.at, has_quotient)) return false;
      }
      if (reduces && has_reduction(reader.value)) return false;
    }
    if (sites == 0) return false;
    if (moves && !quotients) return true;
    if (is_reduced && (reduces || quotients)) return false;
    if (reduces) return sites == 1 && times == elements && all_whole;
    return plan_.sizes.usual(times) <= plan_.sizes.usual(elements) ||
           (size <= 2 && !is_reduced && sites <= 2);
  }
  // Whether reading through this nest needs divisions that reading its memory doesn't.
  static bool makes_quotients(const Nest& nest, const Site& site) {
    AxisMap by;
    for (std::size_t d = 0; d < nest.axes.size(); ++d) by[nest.axes[d].id] = site.at[d];
    return std::ranges::any_of(nest.value->at,
                               [&](const Index& i) { return has_quotient(with_axes(i, by)); });
  }

  void move(std::size_t n) {
    const Nest nest = nests_[n];
    for (const std::size_t r : std::set<std::size_t>(readers_[nest.target])) {
      Nest& reader = nests_[r];
      std::vector<std::pair<std::vector<Index>, Expr>> known;  // one for each place, however often it is read
      reader.value = with_reads(reader.value, [&](const ExprNode& e) -> std::optional<Expr> {
        if (e.tensor.number != nest.target) return std::nullopt;
        for (const auto& [at, value] : known)
          if (at == e.at) return value;
        known.emplace_back(e.at, written(nest, e));
        return known.back().second;
      });
      if (!is_movement(*nest.value) && !has_same_name(reader.name, nest.name))
        reader.name = nest.name + " + " + reader.name;
      for (const auto& [buffer, sites] : sites_of(reader)) readers_[buffer].insert(r);
    }
    for (const auto& [buffer, sites] : sites_of(nest)) readers_[buffer].erase(n);
    readers_.erase(nest.target);
    writers_[nest.target].clear();
  }
  static bool has_same_name(const std::string& names, const std::string& name) {
    return names == name || names.starts_with(name + " +") || names.ends_with("+ " + name);
  }
  // Whether a position must be checked before a nest's value is read there, because it may be outside. A nest
  // that only reads another tensor along a whole axis of it is zero there as well.
  static bool asks_along(const Nest& nest, std::size_t d, const Index& at) {
    if (at.is_inside(nest.axes[d].extent)) return false;
    if (nest.value->kind != ExprNode::Kind::Read) return true;
    for (std::size_t e = 0; e < nest.value->at.size(); ++e)
      if (nest.value->at[e] == Index(nest.axes[d]) && nest.value->extents[e] == nest.axes[d].extent)
        return false;
    return true;
  }
  // The value of a nest at the position of a read, which is zero outside.
  Expr written(const Nest& nest, const ExprNode& read) {
    AxisMap by;
    Domain inside;
    for (std::size_t d = 0; d < nest.axes.size(); ++d) {
      by[nest.axes[d].id] = read.at[d];
      if (asks_along(nest, d, read.at[d]))
        inside = both(std::move(inside), between(0, read.at[d], nest.axes[d].extent));
    }
    Expr value = with_axes(nest.value, by, numbers_);
    if (inside.empty()) return value;
    const Expr zero = is_float(value.type()) ? number(value.type(), 0) : integer(value.type(), 0);
    return cases({{inside, value}}, zero);
  }

  std::set<std::size_t> needed_nests() const {
    std::set<std::size_t> needed;
    std::set<int> wanted;
    for (const Port& p : plan_.outputs) wanted.insert(p.buffer);
    for (std::size_t n = nests_.size(); n-- > 0;) {
      const auto writers = writers_.find(nests_[n].target);
      if (writers == writers_.end() || !writers->second.contains(n) || !wanted.contains(nests_[n].target))
        continue;
      needed.insert(n);
      for (const auto& [buffer, sites] : sites_of(nests_[n])) wanted.insert(buffer);
    }
    return needed;
  }

  Plan& plan_;
  AxisNumbers& numbers_;
  std::vector<Nest> nests_;
  std::map<int, std::set<std::size_t>> writers_, readers_;
};

}  // namespace

void compose_nests(Plan& plan, AxisNumbers& numbers) { Composer(plan, numbers).run(); }

}  // namespace isomer::lower
