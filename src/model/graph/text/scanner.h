// Scanner: the words of ONNX's text syntax, with the place of an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace isomer {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // White space and comments (# to the end of the line) are skipped before each of these.
  bool at_end();
  char peek();  // 0 at the end
  bool matches(char c);
  bool matches(std::string_view symbol);
  Status expect(char c);
  Status expect(std::string_view symbol);
  std::string_view identifier();  // empty if none is next
  std::string_view peek_identifier();
  Result<std::string> string();  // "..." with \\ and \"
  Result<std::string> name();    // an identifier or a string
  struct Number {
    std::string_view text;
    bool is_float = false;  // has a point or an exponent, or is inf or nan
  };
  Result<Number> number();
  Result<std::int64_t> integer();

  // Where the next word begins; an error there.
  std::size_t position();
  Error error(const std::string& message);
  Error error_at(std::size_t position, const std::string& message) const;  // "line 3, column 7: ..."

 private:
  void skip_space();

  std::string_view text_;
  std::size_t at_ = 0;
};

// A number's text as one of these types; nullopt where it doesn't fit.
template <class T>
std::optional<T> read_number(std::string_view text);

}  // namespace isomer
