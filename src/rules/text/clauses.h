// Clauses: the parts of a rule's text, each with its place in the file (docs/reference/rules.md). A clause
// begins with one of seven words, at the beginning of a line or after a ';', and ends where the next one
// begins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace isomer {

struct Clause {
  std::string_view word;   // "rule", "for", "require", "given", "left", "right" or "expect"
  int line = 0;            // of the word, from 1
  std::size_t column = 0;  // of the text, from 0
  std::string text;        // without the word and comments
};

// Error: "line 3: ...".
Result<std::vector<Clause>> clauses_of(std::string_view text);
Error error_at(int line, const std::string& message);

// The same rule with a clause a line, and with all of them on one.
std::string in_lines(const std::vector<Clause>& rule);
std::string on_one_line(const std::vector<Clause>& rule);

// A word of letters, digits and '_'.
bool is_word(char c);

}  // namespace isomer
