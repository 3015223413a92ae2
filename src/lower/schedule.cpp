#include "lower/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

namespace isomer::lower {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in{std::string(line.substr(0, line.find('#')))};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
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
    return Error{fmt::format("no step is named {}: split, fuse, reorder, unroll, vectorize, parallel", verb)};
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
  // What the loops were, in terms of what they are now.
  void substitute(const AxisMap& by) {
    for (AxisOfLoops& a : nest_.of) a.index = with_axes(a.index, by);
    for (Index& g : nest_.guard) g = with_axes(g, by);
  }

  Status split(const std::vector<std::string>& words) {
    std::int64_t by = 0;
    if (words.size() != 3 ||
        std::from_chars(words[2].data(), words[2].data() + words[2].size(), by).ptr !=
            words[2].data() + words[2].size() ||
        by < 1)
      return Error{"split NAME BY, where BY is a number of at least 1"};
    ISOMER_TRY(const std::size_t at, find(words[1]));
    const Loop loop = nest_.loops[at];
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
    const auto is_reduced = [&](const Loop& l) {
      return std::ranges::any_of(
          nest_.of, [&](const AxisOfLoops& x) { return x.is_reduced && x.index.mentions(l.axis); });
    };
    if (is_reduced(a) != is_reduced(b)) return Error{"a loop that sums and one that does not can't be one"};
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
  std::istringstream in{std::string(text)};
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

Status apply_schedules(Plan& plan, const Schedules& schedules, AxisNumbers& numbers) {
  for (const auto& [name, lines] : schedules) {
    const auto nest = std::ranges::find_if(plan.nests, [&](const Nest& n) { return n.name == name; });
    if (nest == plan.nests.end())
      return Error{fmt::format("no nest is named {}; --show all lists them", name)};
    if (nest->tile || nest->winograd) {
      nest->tile.reset();
      nest->winograd.reset();
    }
    nest->lanes = false;
    nest->reduction = main_reduction(nest->value);
    reset_loops(*nest, plan);
    for (const std::string& line : lines)
      if (auto done = apply_schedule(*nest, line, numbers); !done)
        return Error{fmt::format("{}: {}", name, done.error().message)};
  }
  return Done{};
}

}  // namespace isomer::lower
