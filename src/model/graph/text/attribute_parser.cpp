#include "model/graph/text/attribute_parser.h"

#include <fmt/format.h>

#include "model/graph/text/spelling.h"
#include "model/graph/text/type_parser.h"

namespace isomer {
namespace {

using Value = Attribute::Value;

// One element of a list, or a value that is no list.
using Single = std::variant<std::int64_t, float, std::string, Tensor>;

Result<Single> parse_float(Scanner& scanner, const Scanner::Number& number, std::size_t place) {
  const auto value = read_number<float>(number.text);
  if (!value) return scanner.error_at(place, fmt::format("{} is no float", number.text));
  return Single(*value);
}

// `type`: what was declared, in the singular; empty if nothing was.
Result<Single> parse_single(Scanner& scanner, std::string_view type) {
  const std::size_t place = scanner.position();
  if (scanner.peek() == '"') {
    ISOMER_TRY(std::string found, scanner.string());
    return Single(std::move(found));
  }
  if (scanner.peek() == '@') return scanner.error("references to a function's attributes are not read");
  const std::string_view word = scanner.peek_identifier();
  if (is_type_word(word)) {
    ISOMER_TRY(const DeclaredType declared, parse_type(scanner));
    if (scanner.peek() == '"' || !scanner.peek_identifier().empty()) ISOMER_TRY_DO(scanner.name());
    scanner.matches('=');
    ISOMER_TRY(Tensor tensor, parse_tensor(scanner, declared));
    return Single(std::move(tensor));
  }
  auto number = scanner.number();
  if (!number.ok()) return word.empty() ? number.error() : scanner.error_at(place, "subgraphs are not read");
  if (number->is_float || type == "float") return parse_float(scanner, *number, place);
  const auto value = read_number<std::int64_t>(number->text);
  if (!value) return scanner.error_at(place, fmt::format("{} is no 64-bit integer", number->text));
  return Single(*value);
}

template <class T>
Result<Value> as_list(Scanner& scanner, std::size_t place, std::vector<Single>& singles) {
  std::vector<T> list;
  for (Single& single : singles) {
    T* element = std::get_if<T>(&single);
    if (element == nullptr) return scanner.error_at(place, "elements of different types");
    list.push_back(std::move(*element));
  }
  return Value(std::move(list));
}

Result<Value> parse_list(Scanner& scanner, std::string_view type) {
  const std::size_t place = scanner.position();
  std::vector<Single> singles;
  ISOMER_TRY_DO(scanner.expect('['));
  if (!scanner.matches(']')) {
    do {
      ISOMER_TRY(Single one, parse_single(scanner, type == "floats" ? "float" : ""));
      singles.push_back(std::move(one));
    } while (scanner.matches(','));
    ISOMER_TRY_DO(scanner.expect(']'));
  }
  const auto is = [&](std::string_view name, std::size_t alternative) {
    return type.empty() ? !singles.empty() && singles[0].index() == alternative : type == name;
  };
  if (is("ints", 0)) return as_list<std::int64_t>(scanner, place, singles);
  if (is("floats", 1)) return as_list<float>(scanner, place, singles);
  if (is("strings", 2)) return as_list<std::string>(scanner, place, singles);
  return scanner.error_at(place, singles.empty() ? "an empty list needs a type: ints, floats or strings"
                                                 : "lists of these are not read");
}

std::optional<std::string> bytes_of(std::string_view hexadecimal) {
  std::string bytes;
  if (hexadecimal.size() % 2 != 0) return std::nullopt;
  const auto digit = [](char c) { return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  for (std::size_t i = 0; i < hexadecimal.size(); i += 2) {
    const int high = digit(hexadecimal[i]), low = digit(hexadecimal[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

Result<Value> parse_raw(Scanner& scanner, bool is_graph) {
  const std::size_t place = scanner.position();
  ISOMER_TRY(const std::string text, scanner.string());
  auto bytes = bytes_of(text);
  if (!bytes) return scanner.error_at(place, "expected bytes in hexadecimal");
  return Value(RawAttribute{std::move(*bytes), is_graph});
}

Result<std::vector<std::string>> parse_captures(Scanner& scanner) {
  std::vector<std::string> names;
  ISOMER_TRY_DO(scanner.expect('['));
  do {
    ISOMER_TRY(std::string name, scanner.name());
    names.push_back(std::move(name));
  } while (scanner.matches(','));
  ISOMER_TRY_DO(scanner.expect(']'));
  return names;
}

Result<Value> parse_value(Scanner& scanner, std::string_view type) {
  const std::size_t place = scanner.position();
  if (type == "raw" || type == "raw_graph") return parse_raw(scanner, type == "raw_graph");
  if (scanner.peek() == '[') return parse_list(scanner, type);
  ISOMER_TRY(Single single, parse_single(scanner, type));
  constexpr std::string_view kNames[] = {"int", "float", "string", "tensor"};
  if (!type.empty() && type != kNames[single.index()])
    return scanner.error_at(place, fmt::format("expected a value of type {}", type));
  return std::visit([](auto& value) { return Value(std::move(value)); }, single);
}

}  // namespace

Result<ParsedAttribute> parse_attribute(Scanner& scanner) {
  ParsedAttribute parsed;
  ISOMER_TRY(parsed.name, scanner.name());
  std::string type;
  if (scanner.matches(':')) type = scanner.identifier();
  ISOMER_TRY_DO(scanner.expect('='));
  if (type == "values") {
    ISOMER_TRY(parsed.captures, parse_captures(scanner));
  } else {
    ISOMER_TRY(parsed.value, parse_value(scanner, type));
  }
  return parsed;
}

}  // namespace isomer
