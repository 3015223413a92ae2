#include "rules/generate/shard_text.h"

#include <fmt/format.h>

#include <charconv>

namespace isomer::rules {
namespace {

constexpr std::string_view kEnd = "# end of shard";

// Counts by name, in the order in which they are written.
template <class Stage>
auto counts_of(Stage& s) {
  return std::to_array<std::pair<std::string_view, decltype(&s.proved)>>(
      {{"terms", &s.enumerated.terms},
       {"renamings", &s.enumerated.renamings},
       {"derived", &s.enumerated.derived},
       {"computed", &s.enumerated.computed},
       {"values", &s.enumerated.values},
       {"candidates", &s.enumerated.candidates},
       {"left_out", &s.enumerated.left_out},
       {"candidates_left_out", &s.left_out},
       {"after_renaming", &s.after_renaming},
       {"after_common", &s.after_common},
       {"after_derivability", &s.after_derivability},
       {"doubtful", &s.doubtful},
       {"doubtful_left_out", &s.doubtful_left_out},
       {"proved", &s.proved},
       {"conditional", &s.conditional},
       {"enumerate_ms", &s.enumerate_ms},
       {"propose_ms", &s.propose_ms},
       {"decide_ms", &s.decide_ms}});
}

std::string stage_text(const GenerateStage& s) {
  std::string out = fmt::format("# stage {}\n", s.operators);
  for (const auto& [name, count] : counts_of(s)) out += fmt::format("# count {} {}\n", *count, name);
  for (const auto& [why, count] : s.dropped) out += fmt::format("# dropped {} {}\n", count, why);
  return out;
}

// Words of a line from the left; the rest of it as it is.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}
  std::string_view word() {
    const std::string_view out = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(std::min(rest_.size(), out.size() + 1));
    return out;
  }
  template <class Number>
  bool read(Number& out) {
    const std::string_view w = word();
    return std::from_chars(w.data(), w.data() + w.size(), out).ptr == w.data() + w.size() && !w.empty();
  }
  std::string rest() const { return std::string(rest_); }

 private:
  std::string_view rest_;
};

class Reader {
 public:
  // false: the line is none of a shard.
  bool take(std::string_view text) {
    if (!text.starts_with('#')) {
      // The text of a rule, whose name is of no use.
      if (rule_ == nullptr) return text.empty();
      if (!text.starts_with("rule ")) *rule_ += std::string(text) + '\n';
      return true;
    }
    rule_ = nullptr;
    Line line(text);
    line.word();
    return take(line.word(), line);
  }
  ShardText out;

 private:
  bool take(std::string_view kind, Line& line) {
    if (kind == "shard")
      return line.read(out.shard.index) && line.read(out.shard.of) && line.read(out.operators) &&
             line.read(out.most_candidates) && line.read(out.most_doubtful);
    if (kind == "run") {
      out.run = line.rest();
      return true;
    }
    if (kind == "stage") return line.read(out.stages.emplace_back().operators);
    if (kind == "count" || kind == "dropped") {
      std::uint64_t count = 0;
      return !out.stages.empty() && line.read(count) && set(kind, line.rest(), count);
    }
    if (kind == "kept" || kind == "doubtful") {
      KeptRules::Event& event = out.history.emplace_back();
      event.is_kept = kind == "kept";
      rule_ = &event.text;
      return line.read(event.operators);
    }
    if (kind != "proposed") return false;
    rule_ = &out.proposed.emplace_back().text;
    return line.read(out.proposed.back().inputs) && line.read(out.proposed.back().place);
  }
  bool set(std::string_view kind, const std::string& name, std::uint64_t count) {
    GenerateStage& s = out.stages.back();
    if (kind == "dropped") {
      s.dropped[name] = count;
      return true;
    }
    for (const auto& [known, at] : counts_of(s))
      if (known == name) {
        *at = count;
        return true;
      }
    return false;
  }
  std::string* rule_ = nullptr;
};

}  // namespace

std::string ShardText::text() const {
  std::string out = fmt::format("# shard {} {} {} {} {}\n# run {}\n", shard.index, shard.of, operators,
                                most_candidates, most_doubtful, run);
  for (const GenerateStage& s : stages) out += stage_text(s);
  for (std::size_t i = 0; i < history.size(); ++i)
    out += fmt::format("# {} {}\nrule k_{}\n{}", history[i].is_kept ? "kept" : "doubtful",
                       history[i].operators, i, history[i].text);
  for (const Proposed& p : proposed)
    out += fmt::format("# proposed {} {}\nrule p_{}\n{}", p.inputs, p.place, p.place, p.text);
  return out + std::string(kEnd) + '\n';
}

Result<ShardText> ShardText::parse(std::string_view text) {
  Reader reader;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line == kEnd) return std::move(reader.out);
    if (!reader.take(line)) return Error{fmt::format("line {}: no shard of `isomer rules generate`", number)};
  }
  return Error{"the shard ends too early"};
}

}  // namespace isomer::rules
