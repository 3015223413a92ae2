// Makes text from an untrusted file (names of values, messages of a runtime, an operator's text) safe for a
// terminal. Characters that move the cursor, end the line or change the direction of writing, and bytes that
// are not UTF-8, are written as \xNN. So such a text can neither erase a line of ours nor imitate one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace isomer {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0: the bytes here are not UTF-8
};
// The code point at the front of a non-empty text (RFC 3629: shortest form, no surrogates, at most U+10FFFF).
CodePoint decode_utf8(std::string_view text);

// C0, DEL and C1. A terminal obeys U+009B, the one-byte escape, in either of its encodings.
bool is_control(char32_t c);

// On one line. A text that would become longer than `most_bytes` ends with "...".
std::string printable(std::string_view text, std::size_t most_bytes = std::string_view::npos);
// The same for a text of several lines: '\n' and '\t' stay.
std::string printable_lines(std::string_view text);

}  // namespace isomer
