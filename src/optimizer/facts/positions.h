// Positions of a value along its axes: all of them, a list, or a choice that is no list of numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/expr/index.h"
#include "model/graph/graph.h"

namespace isomer {

// Positions first, first + step, ...
struct Progression {
  std::int64_t first = 0, step = 1, count = 0;
  std::int64_t last() const { return first + (count - 1) * step; }
};

// Positions along one axis.
class Positions {
 public:
  Positions() = default;  // all of them
  // Sorted and each once; all of them where there are as many as the extent.
  static Positions listed(std::vector<std::int64_t> list, std::int64_t extent);
  // By a number that stands for the choice, and the place of this axis among those of which it chooses.
  static Positions chosen(int selection, int place = 0);

  bool is_whole() const { return !list_ && selection_ < 0; }
  const std::optional<std::vector<std::int64_t>>& list() const { return list_; }
  int selection() const { return selection_; }  // -1: none
  int place() const { return place_; }
  // The list as a progression; nullopt: it is none, or there is no list.
  std::optional<Progression> progression() const;
  // The smallest progression, and the smallest range, that holds the list.
  Positions hull(std::int64_t extent) const;
  Positions range(std::int64_t extent) const;
  // These, and those.
  Positions united(const Positions& other, const Dim& extent) const;

  friend bool operator==(const Positions&, const Positions&) = default;
  friend auto operator<=>(const Positions&, const Positions&) = default;

 private:
  std::optional<std::vector<std::int64_t>> list_;
  int selection_ = -1, place_ = 0;
};

// Per axis. No axes: the value is needed whole, or has none.
using Needs = std::vector<Positions>;
bool is_cut(const Needs& needs);
std::string text(const Needs& needs);  // "[*, 255, 0:8:2]"

// Sorted positions as a progression.
std::optional<Progression> as_progression(const std::vector<std::int64_t>& list);

// The values of an index, where each of its axes runs over these positions; nullopt: not known, or too many.
// Terms are taken as if they did not depend on each other: there may be more.
std::optional<std::vector<std::int64_t>> image(const Index& index, const std::vector<Axis>& axes,
                                               const Needs& needs);

}  // namespace isomer
