#include "compiler/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "compiler/loops/intrinsic.h"
#include "compiler/schedule/layout.h"

namespace isomer::lower {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in{std::string(line.substr(0, line.find('#')))};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::optional<std::int64_t> number_of(std::string_view word) {
  std::int64_t out = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), out);
  return failure == std::errc{} && end == word.data() + word.size() ? std::optional(out) : std::nullopt;
}

// tensorize NAME, which is about the loops of one nest.
bool is_call(const std::vector<std::string>& words) {
  return words.size() == 2 && words[0] == "tensorize" && !words[1].starts_with("F(");
}

// Lines that are about more than the loops of one nest: done before those are.
bool is_about_more(const std::vector<std::string>& words) {
  return words[0] == "compute_at" || words[0] == "pack" || words[0] == "keep" ||
         (words[0] == "tensorize" && !is_call(words));
}

class Scheduler {
 public:
  Scheduler(Nest& nest, AxisNumbers& numbers) : nest_(nest), numbers_(numbers) {}

  Status apply(const std::vector<std::string>& words) {
    const std::string& verb = words[0];
    if (verb == "split") return split(words);
    if (verb == "fuse") return fuse(words);
    if (verb == "reorder") return reorder(words);
    if (verb == "unroll") return mark(words, Loop::Kind::Unrolled);
    if (verb == "vectorize") return mark(words, Loop::Kind::Vector);
    if (verb == "parallel") return mark(words, Loop::Kind::Parallel);
    return Error{
        fmt::format("no step is named {}: split, fuse, reorder, unroll, vectorize, parallel, compute_at, "
                    "pack, tensorize, keep",
                    verb)};
  }

 private:
  Result<std::size_t> find(const std::string& name) const {
    const auto at = std::ranges::find(nest_.loops, name, &Loop::name);
    if (at == nest_.loops.end()) {
      std::vector<std::string> names;
      for (const Loop& l : nest_.loops) names.push_back(l.name);
      return Error{fmt::format("no loop is named {}; there are {}", name, fmt::join(names, ", "))};
    }
    return static_cast<std::size_t>(at - nest_.loops.begin());
  }
  // The old loops in terms of the new ones.
  void substitute(const AxisMap& by) {
    for (AxisOfLoops& a : nest_.of) a.index = with_axes(a.index, by);
    for (Index& g : nest_.guard) g = with_axes(g, by);
  }

  Status split(const std::vector<std::string>& words) {
    const std::int64_t by = words.size() == 3 ? number_of(words[2]).value_or(0) : 0;
    if (by < 1) return Error{"split NAME BY, where BY is a number of at least 1"};
    ISOMER_TRY(const std::size_t at, find(words[1]));
    const Loop loop = nest_.loops[at];
    if (!loop.axis.extent.is_concrete()) return Error{fmt::format("split {}: {}", words[1], kNeedsSizes)};
    const std::int64_t extent = loop.axis.extent.concrete();
    const Axis outer = numbers_.make((extent + by - 1) / by), inner = numbers_.make(by);
    const Index whole = Dim(by) * Index(outer) + Index(inner);
    substitute({{loop.axis.id, whole}});
    if (extent % by != 0) nest_.guard.push_back(Index(extent - 1) - whole);
    nest_.loops[at] = {.axis = outer, .name = loop.name + ".o"};
    nest_.loops.insert(nest_.loops.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                       {.axis = inner, .name = loop.name + ".i"});
    return Done{};
  }

  Status fuse(const std::vector<std::string>& words) {
    if (words.size() != 3) return Error{"fuse A B"};
    ISOMER_TRY(const std::size_t at, find(words[1]));
    ISOMER_TRY(const std::size_t next, find(words[2]));
    if (next != at + 1)
      return Error{fmt::format("{} is not the loop right inside of {}", words[2], words[1])};
    const Loop a = nest_.loops[at], b = nest_.loops[next];
    if (is_reduced(nest_, a) != is_reduced(nest_, b))
      return Error{"a loop that sums and one that does not can't be one"};
    const Axis fused = numbers_.make(a.axis.extent * b.axis.extent);
    substitute({{a.axis.id, Index::floor(Index(fused), b.axis.extent)},
                {b.axis.id, Index::mod(Index(fused), b.axis.extent)}});
    nest_.loops[at] = {.axis = fused, .name = a.name + "." + b.name};
    nest_.loops.erase(nest_.loops.begin() + static_cast<std::ptrdiff_t>(next));
    return Done{};
  }

  Status reorder(const std::vector<std::string>& words) {
    std::vector<std::size_t> places;
    std::vector<Loop> loops;
    for (std::size_t k = 1; k < words.size(); ++k) {
      ISOMER_TRY(const std::size_t at, find(words[k]));
      if (std::ranges::find(places, at) != places.end())
        return Error{fmt::format("{} is named twice", words[k])};
      places.push_back(at);
      loops.push_back(nest_.loops[at]);
    }
    std::ranges::sort(places);
    for (std::size_t k = 0; k < places.size(); ++k) nest_.loops[places[k]] = loops[k];
    return Done{};
  }

  Status mark(const std::vector<std::string>& words, Loop::Kind kind) {
    if (words.size() != 2) return Error{fmt::format("{} NAME", words[0])};
    ISOMER_TRY(const std::size_t at, find(words[1]));
    if (!nest_.loops[at].axis.extent.is_concrete())
      return Error{fmt::format("{} {}: {}", words[0], words[1], kNeedsSizes)};
    nest_.loops[at].kind = kind;
    return Done{};
  }

  Nest& nest_;
  AxisNumbers& numbers_;
};

}  // namespace

Status apply_schedule(Nest& nest, std::string_view line, AxisNumbers& numbers) {
  const auto words = words_of(line);
  if (words.empty()) return Done{};
  ISOMER_TRY_DO(Scheduler(nest, numbers).apply(words));
  nest.schedule.push_back(fmt::format("{}", fmt::join(words, " ")));
  return Done{};
}

Result<Schedules> parse_schedules(std::string_view text) {
  Schedules out;
  std::istringstream in{without_intrinsics(text)};
  std::vector<std::string>* lines = nullptr;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (words[0] == "nest") {
      const std::size_t begin = line.find("nest") + 4, from = line.find_first_not_of(" \t", begin);
      if (from == std::string::npos) return Error{fmt::format("line {}: nest NAME", number)};
      std::string name = line.substr(from, line.find('#') - from);
      name.erase(name.find_last_not_of(" \t\r") + 1);
      lines = &out[name];
    } else if (!lines) {
      return Error{fmt::format("line {}: a schedule begins with \"nest NAME\"", number)};
    } else {
      lines->push_back(line);
    }
  }
  return out;
}

namespace {

// Lines about the loops around tiles; false: it is none of them.
Result<bool> takes_size(TileRequest& request, const std::vector<std::string>& words) {
  const bool is_pieces = words[0] == "pieces", is_tiles = words[0] == "tiles";
  if (words[0] != "block" && words[0] != "group" && !is_pieces && !is_tiles) return false;
  const auto number = words.size() == 2 ? number_of(words[1]) : std::nullopt;
  if (!number || *number < (is_pieces ? 0 : 1) || is_tiles != request.winograd.has_value())
    return Error{
        "block ROWS, group PANELS and pieces DEPTH of a tensorize without F, tiles COUNT of one with F"};
  if (is_pieces) request.pieces = *number;
  else (is_tiles ? request.tiles : words[0] == "block" ? request.block : request.group) = *number;
  return true;
}

}  // namespace

Result<std::optional<TileRequest>> tile_request(const std::vector<std::string>& lines) {
  TileRequest request;
  bool is_packed = false, is_tensorized = false;
  for (const std::string& line : lines) {
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (is_call(words)) return std::optional<TileRequest>();
    if (words[0] == "pack") {
      const bool is_any = words.size() == 2;
      const auto right = is_any ? std::optional<std::int64_t>(-1)
                         : words.size() == 3 && words[1].starts_with('x')
                             ? number_of(std::string_view(words[1]).substr(1))
                             : std::nullopt;
      const auto columns = right ? number_of(words.back()) : std::nullopt;
      if (!columns || (*columns != 16 && *columns != 32 && *columns != 48 && *columns != 64))
        return Error{
            "pack xK COLUMNS, where xK is a factor as --show has it (left out: the one that is chosen) and "
            "COLUMNS 16, 32, 48 or 64"};
      request.right = static_cast<int>(*right);
      request.columns = *columns;
      is_packed = true;
    } else if (words[0] == "tensorize") {
      is_tensorized = true;
      if (words.size() == 2 && words[1] == "F(4,3)") request.winograd = 4;
      else if (words.size() == 2 && words[1] == "F(2,3)") request.winograd = 2;
      else if (words.size() != 1) return Error{"tensorize, or tensorize F(4,3) or F(2,3)"};
    } else if (is_tensorized && words[0] == "parallel") {
      if (words.size() == 2 && words[1] == "rows") request.shared = Tile::Shared::Rows;
      else if (words.size() == 2 && words[1] == "columns") request.shared = Tile::Shared::Columns;
      else return Error{"parallel rows, or parallel columns"};
    } else if (is_packed || is_tensorized) {
      ISOMER_TRY(const bool is_size, takes_size(request, words));
      if (is_size || words[0] == "keep") continue;
      if (words[0] != "compute_at") return Error{fmt::format("{}: a tile has no loops of its own", words[0])};
    }
  }
  if (is_packed && (!is_tensorized || request.winograd)) return Error{"pack is for a tensorize without F"};
  return is_tensorized ? std::optional(request) : std::nullopt;
}

Result<std::optional<StripRequest>> strip_request(const std::vector<std::string>& lines) {
  std::optional<StripRequest> out;
  for (const std::string& line : lines) {
    const auto words = words_of(line);
    if (words.empty() || words[0] != "compute_at") continue;
    const auto rows = words.size() >= 3 ? number_of(words.back()) : std::nullopt;
    if (!rows || *rows < 1 || out) return Error{"compute_at NEST ROWS, once, where ROWS is at least 1"};
    out = StripRequest{fmt::format("{}", fmt::join(words.begin() + 1, words.end() - 1, " ")), *rows};
  }
  return out;
}

bool keeps_rest(const std::vector<std::string>& lines) {
  return std::ranges::any_of(lines, [](const std::string& line) {
    const auto words = words_of(line);
    return words.size() == 1 && words[0] == "keep";
  });
}

namespace {

void share(Plan& plan, Nest& nest, Tile::Shared along) {
  if (nest.tile) nest.tile->shared = along;
  if (!nest.winograd) return;
  nest.winograd->shared = along;
  plan.buffer(nest.winograd->scratch).each_thread = along != Tile::Shared::None;
}

}  // namespace

Status apply_schedules(Plan& plan, const Schedules& schedules, AxisNumbers& numbers) {
  for (const auto& [name, lines] : schedules) {
    const auto nest = std::ranges::find_if(plan.nests, [&](const Nest& n) { return n.name == name; });
    if (nest == plan.nests.end())
      return Error{fmt::format("no nest is named {}; --show all lists them", name)};
    ISOMER_TRY(const auto request, tile_request(lines));
    if (keeps_rest(lines)) {
      for (const std::string& line : lines)
        if (const auto words = words_of(line); !request && !words.empty() && !is_about_more(words))
          return Error{fmt::format("{}: {}: keep leaves its loops as they are", name, words[0])};
      continue;
    }
    if (request) {
      share(plan, *nest, request->shared);
      continue;
    }
    nest->tile.reset();
    nest->winograd.reset();
    nest->lanes = false;
    nest->reduction = main_reduction(nest->value);
    reset_loops(*nest, plan);
    for (const std::string& line : lines)
      if (const auto words = words_of(line); !words.empty() && is_about_more(words)) continue;
      else if (auto done = !words.empty() && is_call(words) ? tensorize(plan, *nest, words[1])
                                                            : apply_schedule(*nest, line, numbers);
               !done)
        return Error{fmt::format("{}: {}", name, done.error().message)};
  }
  return Done{};
}

}  // namespace isomer::lower
