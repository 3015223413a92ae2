#include "model/graph/text/type_parser.h"

#include <fmt/format.h>

#include "model/graph/text/spelling.h"
#include "model/graph/text/tensor_text.h"

namespace isomer {
namespace {

// Deeper than any type of a real model: sequences of maps of optional tensors.
constexpr int kDeepest = 16;

Result<std::optional<Dim>> parse_dim(Scanner& scanner) {
  if (scanner.matches('?')) return std::optional<Dim>();
  if (scanner.peek() == '"' || !scanner.peek_identifier().empty()) {
    ISOMER_TRY(const std::string symbol, scanner.name());
    if (symbol.empty()) return std::optional<Dim>();
    return std::optional(Dim::symbol(symbol));
  }
  ISOMER_TRY(const std::int64_t extent, scanner.integer());
  return std::optional(Dim(extent));
}

Result<DeclaredType> parse_tensor_type(Scanner& scanner, ElementType type) {
  DeclaredType found{type};
  if (!scanner.matches('[')) {
    found.shape.emplace();
    return found;
  }
  if (scanner.matches(']')) return found;
  found.shape.emplace();
  do {
    ISOMER_TRY(auto dim, parse_dim(scanner));
    found.shape->push_back(std::move(dim));
  } while (scanner.matches(','));
  ISOMER_TRY_DO(scanner.expect(']'));
  return found;
}

Result<ElementType> parse_element_type(Scanner& scanner) {
  const std::size_t place = scanner.position();
  const std::string_view word = scanner.identifier();
  const auto type = element_type_named(word);
  if (!type || *type == ElementType::Undefined)
    return scanner.error_at(place, fmt::format("'{}' is no element type", word));
  return *type;
}

// opaque(), opaque(name), opaque(domain, name); names may have dots.
Result<std::string> parse_opaque(Scanner& scanner) {
  std::string spelling = "opaque(";
  while (scanner.peek() != ')') {
    const std::string_view word = scanner.identifier();
    if (word.empty()) return scanner.error("expected a name");
    spelling += word;
    if (scanner.matches('.')) spelling += '.';
    else if (scanner.matches(',')) spelling += ", ";
    else break;
  }
  return spelling;
}

Result<DeclaredType> parse_nested(Scanner& scanner, int depth) {
  const std::size_t place = scanner.position();
  if (depth > kDeepest) return scanner.error("types are nested too deeply");
  const std::string word(scanner.identifier());
  if (const auto type = element_type_named(word); type && *type != ElementType::Undefined)
    return parse_tensor_type(scanner, *type);
  if (!is_type_word(word)) return scanner.error_at(place, fmt::format("'{}' is no type", word));
  ISOMER_TRY_DO(scanner.expect('('));
  DeclaredType found{.is_tensor = false, .spelling = word + "("};
  if (word == "opaque") {
    ISOMER_TRY(found.spelling, parse_opaque(scanner));
  } else {
    if (word == "map") {
      ISOMER_TRY(const ElementType key, parse_element_type(scanner));
      ISOMER_TRY_DO(scanner.expect(','));
      found.spelling += std::string(name(key)) + ", ";
    }
    ISOMER_TRY(const DeclaredType inner, parse_nested(scanner, depth + 1));
    found.spelling += spell(inner);
  }
  ISOMER_TRY_DO(scanner.expect(')'));
  found.spelling += ')';
  return found;
}

}  // namespace

Result<DeclaredType> parse_type(Scanner& scanner) { return parse_nested(scanner, 0); }

Result<Tensor> parse_tensor(Scanner& scanner, const DeclaredType& type) {
  if (!type.is_tensor || !type.shape) return scanner.error("a tensor needs a type with every extent");
  if (scanner.peek() == '[') return scanner.error("external data is not read");
  Extents extents;
  for (const auto& dim : *type.shape) {
    if (!dim || !dim->is_concrete()) return scanner.error("a tensor needs a type with every extent");
    extents.push_back(dim->concrete());
  }
  return parse_elements(scanner, type.type, extents);
}

}  // namespace isomer
