// The possible schedules of a unit, and steps from one to another: the moves of a search.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "compiler/emit/unit.h"

namespace isomer::lower {

struct NestChoice {
  enum class Kind : std::uint8_t { Kept, Tile, Winograd };
  Kind kind = Kind::Kept;
  std::int64_t width = 0, block = 0, group = 0, pieces = -1;  // of Tile; 0, or below for pieces: as chosen
  std::int64_t size = 4, tiles = 0;                           // of Winograd
};
struct StripChoice {
  std::size_t first = 0, count = 1;
  std::int64_t rows = 0;
};
struct UnitChoice {
  std::vector<NestChoice> nests = {};
  std::vector<StripChoice> strips = {};  // all nests, in order; of one nest: none
};

class UnitChoices {
 public:
  using Random = std::mt19937_64;
  UnitChoices(const Unit& unit, Exactness exactness);

  const Plan& chosen() const { return chosen_; }              // with no lines but those that are given
  const UnitChoice& start() const { return start_; }          // the same as a choice
  bool is_empty() const { return steps_.empty(); }            // nothing can be chosen
  UnitChoice drawn(Random& random) const;                     // anywhere
  UnitChoice changed(UnitChoice from, Random& random) const;  // one step
  static UnitChoice crossed(const UnitChoice& a, const UnitChoice& b, Random& random);
  std::string lines(const UnitChoice& choice) const;
  // nullopt: no choice has these lines.
  std::optional<UnitChoice> choice_of(const std::string& lines) const;

 private:
  struct Of {
    bool may_be_tile = false, may_be_winograd = false;
    Tile tile = {};          // as one is chosen
    Winograd winograd = {};  // the same
    std::int64_t panels = 1, rows = 1, depth = 1, height = 1;
  };
  Of choices_of(const Unit& unit, std::size_t nest, Exactness exactness) const;
  std::vector<StripChoice> chosen_strips() const;
  void change_tile(NestChoice& choice, const Of& nest, Random& random) const;
  void change_strips(UnitChoice& choice, Random& random) const;

  std::vector<Of> nests_;
  Plan chosen_;
  UnitChoice start_;
  std::vector<int> steps_;  // nests that have a choice; -1: strips
  bool may_be_large_ = true;
};

}  // namespace isomer::lower
