#include "model/graph/text/scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/graph/text/spelling.h"

namespace isomer {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

void Scanner::skip_space() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
    else if (is_space(text_[at_])) ++at_;
    else break;
  }
}

bool Scanner::at_end() {
  skip_space();
  return at_ == text_.size();
}

char Scanner::peek() { return at_end() ? '\0' : text_[at_]; }

bool Scanner::matches(char c) { return matches(std::string_view(&c, 1)); }

bool Scanner::matches(std::string_view symbol) {
  skip_space();
  if (!text_.substr(at_).starts_with(symbol)) return false;
  at_ += symbol.size();
  return true;
}

Status Scanner::expect(char c) { return expect(std::string_view(&c, 1)); }

Status Scanner::expect(std::string_view symbol) {
  if (matches(symbol)) return Done{};
  return error(fmt::format("expected '{}'", symbol));
}

std::string_view Scanner::peek_identifier() {
  skip_space();
  std::size_t end = at_;
  if (end < text_.size() && is_letter(text_[end]))
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
  return text_.substr(at_, end - at_);
}

std::string_view Scanner::identifier() {
  const std::string_view found = peek_identifier();
  at_ += found.size();
  return found;
}

Result<std::string> Scanner::string() {
  if (peek() != '"') return error("expected a string");
  std::string out;
  for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
    if (text_[i] == '"') {
      at_ = i + 1;
      return out;
    }
    if (text_[i] == '\\') ++i;
    if (i == text_.size()) break;
    out += text_[i];
  }
  return error("the string has no end");
}

Result<std::string> Scanner::name() {
  if (peek() == '"') return string();
  const std::string_view found = identifier();
  if (found.empty()) return error("expected a name");
  return std::string(found);
}

Result<Scanner::Number> Scanner::number() {
  skip_space();
  std::size_t end = at_;
  const auto digits = [&] {
    const std::size_t begin = end;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    return end > begin;
  };
  const auto accept = [&](std::string_view any) {
    const bool found = end < text_.size() && any.find(text_[end]) != std::string_view::npos;
    end += found ? 1 : 0;
    return found;
  };
  Number found;
  accept("-");
  if (end < text_.size() && is_letter(text_[end])) {
    const std::size_t begin = end;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    const std::string word = lowered(text_.substr(begin, end - begin));
    if (word != "inf" && word != "infinity" && word != "nan") return error("expected a number");
    found.is_float = true;
  } else {
    if (!digits()) return error("expected a number");
    if (accept(".")) found.is_float = true, digits();
    if (accept("eE")) {
      found.is_float = true;
      accept("+-");
      if (!digits()) return error("the exponent has no digits");
    }
  }
  found.text = text_.substr(at_, end - at_);
  at_ = end;
  return found;
}

Result<std::int64_t> Scanner::integer() {
  const std::size_t begin = position();
  ISOMER_TRY(const Number found, number());
  const auto value = found.is_float ? std::nullopt : read_number<std::int64_t>(found.text);
  if (!value) return error_at(begin, fmt::format("{} is no 64-bit integer", found.text));
  return *value;
}

std::size_t Scanner::position() {
  skip_space();
  return at_;
}

Error Scanner::error(const std::string& message) { return error_at(position(), message); }

Error Scanner::error_at(std::size_t position, const std::string& message) const {
  const std::string_view before = text_.substr(0, position);
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto last = before.rfind('\n');
  const std::size_t column = before.size() - (last == std::string_view::npos ? 0 : last + 1) + 1;
  return {fmt::format("line {}, column {}: {}", line, column, message)};
}

template <class T>
std::optional<T> read_number(std::string_view text) {
  T value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (fault == std::errc()) return value;
  // A float too close to zero is zero, one too large is refused.
  if constexpr (std::is_floating_point_v<T>) {
    const auto exponent = text.find_first_of("eE");
    if (fault == std::errc::result_out_of_range && exponent != std::string_view::npos &&
        text[exponent + 1] == '-')
      return std::copysign(T{0}, text[0] == '-' ? T{-1} : T{1});
  }
  return std::nullopt;
}

template std::optional<std::int64_t> read_number(std::string_view);
template std::optional<std::uint64_t> read_number(std::string_view);
template std::optional<float> read_number(std::string_view);
template std::optional<double> read_number(std::string_view);

}  // namespace isomer
