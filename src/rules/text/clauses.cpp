#include "rules/text/clauses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace isomer {
namespace {

constexpr std::array<std::string_view, 7> kWords = {"rule", "for",   "require", "given",
                                                    "left", "right", "expect"};
constexpr std::string_view kSpace = " \t\r\n";

class Reader {
 public:
  // Parts of a line end at a ';' outside of braces and strings.
  Status take(std::string_view line) {
    ++number_;
    std::size_t begin = 0, end = line.size();
    int depth = depth_;  // where the part begins
    bool is_quoted = false;
    for (std::size_t i = 0; i < end; ++i) {
      const char c = line[i];
      if (c == '"') is_quoted = !is_quoted;
      if (is_quoted) continue;
      if (c == '#') end = i;
      if (c == '{') ++depth_;
      if (c == '}') --depth_;
      if (c != ';' || depth_ != 0) continue;
      ISOMER_TRY_DO(add(line.substr(0, i), begin, depth));
      begin = i + 1;
      depth = depth_;
    }
    ISOMER_TRY_DO(add(line.substr(0, end), begin, depth));
    if (depth_ < 0) return error_at(number_, "'}' without '{'");
    return Done{};
  }

  Result<std::vector<Clause>> finish() {
    if (depth_ > 0) return error_at(number_, "'{' without '}'");
    return std::move(out_);
  }

 private:
  // The part of the line from `begin` on.
  Status add(std::string_view line, std::size_t begin, int depth) {
    const std::size_t first = std::min(line.find_first_not_of(kSpace, begin), line.size());
    std::size_t column = first;
    while (column < line.size() && is_word(line[column])) ++column;
    const auto* const word = std::ranges::find(kWords, line.substr(first, column - first));
    if (depth == 0 && word != kWords.end()) {
      out_.push_back({*word, number_, column, std::string(line.substr(column))});
      return Done{};
    }
    const bool is_empty = first == line.size();
    if (begin > 0) return is_empty ? Status(Done{}) : error_at(number_, "expected a clause after ';'");
    if (out_.empty()) return is_empty ? Status(Done{}) : error_at(number_, "expected 'rule'");
    out_.back().text += '\n';
    if (!is_empty) out_.back().text += line;
    return Done{};
  }

  std::vector<Clause> out_;
  int number_ = 0, depth_ = 0;
};

// Line breaks and what surrounds them are one space.
std::string flat(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t first = std::min(text.find_first_not_of(kSpace), text.size());
    text.remove_prefix(first);
    const std::string_view word = text.substr(0, text.find_first_of(kSpace));
    text.remove_prefix(word.size());
    if (!word.empty()) out += fmt::format("{}{}", out.empty() ? "" : " ", word);
  }
  return out;
}

}  // namespace

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

Error error_at(int line, const std::string& message) { return {fmt::format("line {}: {}", line, message)}; }

Result<std::vector<Clause>> clauses_of(std::string_view text) {
  Reader reader;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ISOMER_TRY_DO(reader.take(line));
  }
  return reader.finish();
}

std::string in_lines(const std::vector<Clause>& rule) {
  std::string out;
  for (const Clause& c : rule) out += fmt::format("{} {}\n", c.word, flat(c.text));
  return out;
}

std::string on_one_line(const std::vector<Clause>& rule) {
  std::string out;
  for (const Clause& c : rule) out += fmt::format("{}{} {}", out.empty() ? "" : "; ", c.word, flat(c.text));
  return out;
}

}  // namespace isomer
