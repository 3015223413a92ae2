#include "compiler/emit/unit_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/nth.h"
#include "compiler/schedule/schedule.h"

namespace isomer::lower {
namespace {

constexpr std::array<std::int64_t, 12> kRows{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16};
constexpr std::array<std::int64_t, 4> kWidths{16, 32, 48, 64};
constexpr std::array<std::int64_t, 6> kGroups{1, 2, 3, 4, 6, 8};

std::size_t below(std::size_t bound, UnitChoices::Random& random) { return random() % bound; }
template <class List>
auto one_of(const List& list, UnitChoices::Random& random) {
  return list[below(list.size(), random)];
}
// From a quarter to four times the number.
std::int64_t about(std::int64_t number, UnitChoices::Random& random) {
  constexpr std::array<double, 6> kTimes{0.25, 0.5, 0.75, 1.5, 2, 4};
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(number) * one_of(kTimes, random)));
}

const Nest* named(const Plan& plan, const std::string& name) {
  const auto at = std::ranges::find(plan.nests, name, &Nest::name);
  return at == plan.nests.end() ? nullptr : &*at;
}

}  // namespace

UnitChoices::UnitChoices(const Unit& unit, Exactness exactness) {
  may_be_large_ = exactness < Exactness::SmallTiles;
  auto chosen = scheduled(unit, unit.given, exactness);
  start_.nests.resize(unit.plan.nests.size());
  nests_.resize(unit.plan.nests.size());
  if (!chosen) return;
  chosen_ = std::move(*chosen);
  for (std::size_t k = 0; k < nests_.size(); ++k) {
    nests_[k] = choices_of(unit, k, exactness);
    if (nests_[k].may_be_tile || nests_[k].may_be_winograd) steps_.push_back(static_cast<int>(k));
  }
  if (nests_.size() < 2) return;
  steps_.insert(steps_.end(), {-1, -1});
  start_.strips = chosen_strips();
}

UnitChoices::Of UnitChoices::choices_of(const Unit& unit, std::size_t k, Exactness exactness) const {
  Of nest;
  const std::string name = fmt::format("n{}", k);
  const lower::Nest* now = named(chosen_, name);
  ISOMER_CHECK(now != nullptr, "a unit has all of its nests");
  const Dims& extents = chosen_.buffer(now->target).extents;
  nest.height = extents.size() == 4 ? extents[2].concrete() : 1;
  const auto tile = [&](const Tile& t) {
    nest.may_be_tile = true;
    nest.tile = t;
    nest.panels = (t.columns.extent.concrete() + t.width - 1) / t.width;
    nest.rows = (t.outer_rows.empty() ? t.rows : t.outer_rows.back()).extent.concrete();
    nest.depth = (t.outer.empty() ? t.depth : t.outer.front()).extent.concrete();
  };
  if (now->tile) {
    tile(*now->tile);
  } else if (const auto plan = scheduled(unit, fmt::format("nest {}\nkeep\ntensorize\n", name), exactness)) {
    const lower::Nest* other = named(*plan, name);
    if (other != nullptr && other->tile) tile(*other->tile);
  }
  if (exactness >= Exactness::Direct) return nest;
  const auto plan = scheduled(
      unit, fmt::format("nest {}\nkeep\ntensorize F({},3)\n", name, may_be_large_ ? 4 : 2), exactness);
  const lower::Nest* other = plan ? named(*plan, name) : nullptr;
  if (other != nullptr && other->winograd) {
    nest.may_be_winograd = true;
    nest.winograd = *other->winograd;
  }
  return nest;
}

std::vector<StripChoice> UnitChoices::chosen_strips() const {
  std::vector<StripChoice> out;
  for (std::size_t k = 0; k < nests_.size();) {
    const lower::Nest* first = named(chosen_, fmt::format("n{}", k));
    StripChoice strip{.first = k, .count = 1};
    while (first->strip && k + strip.count < nests_.size()) {
      const lower::Nest* next = named(chosen_, fmt::format("n{}", k + strip.count));
      if (!next->strip || next->strip->group != first->strip->group) break;
      strip.rows = next->strip->done.front();
      ++strip.count;
    }
    k += strip.count;
    out.push_back(strip);
  }
  return out;
}

void UnitChoices::change_tile(NestChoice& choice, const Of& nest, Random& random) const {
  using Kind = NestChoice::Kind;
  const bool is_now = choice.kind == Kind::Kept;
  if (nest.may_be_winograd && (!nest.may_be_tile || below(is_now ? 2 : 4, random) == 0)) {
    const bool was = choice.kind == Kind::Winograd;
    choice = {.kind = Kind::Winograd, .size = may_be_large_ && below(3, random) > 0 ? 4 : 2};
    if (was || below(2, random) == 0)
      choice.tiles = std::min(about(nest.winograd.tiles, random), nest.winograd.all_tiles().concrete() * 4);
    return;
  }
  if (!nest.may_be_tile) return;
  if (choice.kind != Kind::Tile) choice = {.kind = Kind::Tile};
  switch (below(4, random)) {
    case 0: choice.width = one_of(kWidths, random); break;
    case 1: choice.block = std::min(about(nest.tile.block, random), nest.rows); break;
    case 2: choice.group = one_of(kGroups, random); break;
    default:
      if (nest.tile.chunk > 0) choice.pieces = below(3, random) == 0 ? 0 : about(nest.tile.chunk, random);
      else choice.pieces = below(2, random) == 0 ? nest.depth / 2 : nest.depth / 4;
  }
}

void UnitChoices::change_strips(UnitChoice& choice, Random& random) const {
  const std::size_t at = below(choice.strips.size(), random);
  StripChoice& strip = choice.strips[at];
  const auto rows_of = [&](const StripChoice& s) {
    const std::int64_t height = nests_[s.first + s.count - 1].height;
    std::int64_t rows = one_of(kRows, random);
    while (rows > 1 && 2 * rows > height) rows /= 2;
    return rows;
  };
  const std::size_t what = below(3, random);
  if (what == 0 && at + 1 < choice.strips.size()) {  // one with the next
    strip.count += choice.strips[at + 1].count;
    if (strip.rows == 0) strip.rows = rows_of(strip);
    choice.strips.erase(choice.strips.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  } else if (what == 1 && strip.count > 1) {  // two
    const std::size_t first = 1 + below(strip.count - 1, random);
    StripChoice rest{.first = strip.first + first, .count = strip.count - first, .rows = strip.rows};
    strip.count = first;
    for (StripChoice* s : {&strip, &rest})
      if (s->count == 1) s->rows = 0;
    choice.strips.insert(choice.strips.begin() + static_cast<std::ptrdiff_t>(at) + 1, rest);
  } else if (strip.count > 1) {
    strip.rows = rows_of(strip);
  }
}

UnitChoice UnitChoices::changed(UnitChoice from, Random& random) const {
  if (steps_.empty()) return from;
  const int step = one_of(steps_, random);
  if (step < 0) change_strips(from, random);
  else change_tile(nth(from.nests, step), nth(nests_, step), random);
  return from;
}

UnitChoice UnitChoices::drawn(Random& random) const {
  UnitChoice out = start_;
  for (std::size_t k = 0, steps = 1 + below(4, random); k < steps; ++k) out = changed(std::move(out), random);
  return out;
}

UnitChoice UnitChoices::crossed(const UnitChoice& a, const UnitChoice& b, Random& random) {
  UnitChoice out = below(2, random) == 0 ? a : b;
  for (std::size_t k = 0; k < out.nests.size(); ++k) {
    NestChoice& mine = out.nests[k];
    const NestChoice& other = (below(2, random) == 0 ? a : b).nests[k];
    if (mine.kind == NestChoice::Kind::Tile && other.kind == mine.kind) {
      if (below(2, random) == 0) mine.width = other.width;
      if (below(2, random) == 0) mine.block = other.block;
      if (below(2, random) == 0) mine.group = other.group;
      if (below(2, random) == 0) mine.pieces = other.pieces;
    } else {
      mine = other;
    }
  }
  return out;
}

std::string UnitChoices::lines(const UnitChoice& choice) const {
  std::string out;
  const auto lines_of = [&](std::size_t k, const StripChoice* strip) {
    const NestChoice& c = choice.nests[k];
    if (c.kind == NestChoice::Kind::Kept && strip == nullptr) return;
    out += fmt::format("nest n{}\nkeep\n", k);
    if (strip != nullptr && strip->first == k && strip->count > 1)
      out += fmt::format("compute_at n{} {}\n", k + strip->count - 1, strip->rows);
    if (c.kind == NestChoice::Kind::Winograd) {
      out += fmt::format("tensorize F({},3)\n", c.size);
      if (c.tiles > 0) out += fmt::format("tiles {}\n", c.tiles);
    }
    if (c.kind != NestChoice::Kind::Tile) return;
    if (c.width > 0) out += fmt::format("pack {}\n", c.width);
    out += "tensorize\n";
    if (c.block > 0) out += fmt::format("block {}\n", c.block);
    if (c.group > 0) out += fmt::format("group {}\n", c.group);
    if (c.pieces >= 0) out += fmt::format("pieces {}\n", c.pieces);
  };
  if (nests_.size() == 1) lines_of(0, nullptr);
  for (const StripChoice& strip : choice.strips)
    for (std::size_t k = strip.first; k < strip.first + strip.count; ++k) lines_of(k, &strip);
  return out;
}

std::optional<UnitChoice> UnitChoices::choice_of(const std::string& lines) const {
  const auto parsed = parse_schedules(lines);
  if (!parsed) return std::nullopt;
  UnitChoice out{.nests = std::vector<NestChoice>(nests_.size())};
  std::size_t in_strip = 0;  // nests that the strip before has
  for (std::size_t k = 0; k < nests_.size(); ++k) {
    if (in_strip > 0) --in_strip;
    else if (nests_.size() > 1) out.strips.push_back({.first = k});
    const auto said = parsed->find(fmt::format("n{}", k));
    if (said == parsed->end()) continue;
    const auto tile = tile_request(said->second);
    const auto strip = strip_request(said->second);
    if (!tile || !strip) return std::nullopt;
    if (*strip) {
      for (std::size_t last = k + 1; last < nests_.size() && in_strip == 0; ++last)
        if ((*strip)->nest == fmt::format("n{}", last)) in_strip = last - k;
      if (in_strip == 0 || out.strips.empty() || out.strips.back().first != k) return std::nullopt;
      out.strips.back().count = in_strip + 1;
      out.strips.back().rows = (*strip)->rows;
    }
    if (!*tile) continue;
    const TileRequest& request = **tile;
    if (request.winograd)
      out.nests[k] = {.kind = NestChoice::Kind::Winograd, .size = *request.winograd, .tiles = request.tiles};
    else
      out.nests[k] = {.kind = NestChoice::Kind::Tile,
                      .width = request.columns,
                      .block = request.block,
                      .group = request.group,
                      .pieces = request.pieces.value_or(-1)};
  }
  return this->lines(out) == lines ? std::optional(out) : std::nullopt;
}

}  // namespace isomer::lower
