#include "model/graph/text/spelling.h"

#include <algorithm>
#include <array>

namespace isomer {
namespace {

constexpr std::array<std::string_view, 5> kOtherTypes = {"seq", "map", "optional", "sparse_tensor", "opaque"};

std::string spelled_dim(const std::optional<Dim>& dim) {
  if (!dim) return "?";
  if (dim->is_concrete()) return std::to_string(dim->concrete());
  const auto symbols = dim->symbols();
  return symbols.size() == 1 && *dim == Dim::symbol(symbols[0]) ? spell(symbols[0]) : spell(dim->text());
}

}  // namespace

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_type_word(std::string_view text) {
  const auto type = element_type_named(text);
  return (type && *type != ElementType::Undefined) ||
         std::ranges::find(kOtherTypes, text) != kOtherTypes.end();
}

std::string spell(std::string_view name) {
  return is_identifier(name) && !is_type_word(name) ? std::string(name) : quote(name);
}

std::string spell(const DeclaredType& type) {
  if (!type.is_tensor) return type.spelling.empty() ? "opaque()" : type.spelling;
  std::string out(name(type.type));
  if (!type.shape) return out + "[]";
  if (type.shape->empty()) return out;
  for (std::size_t i = 0; i < type.shape->size(); ++i)
    out += (i == 0 ? "[" : ", ") + spelled_dim((*type.shape)[i]);
  return out + "]";
}

std::string spell(ElementType type, const Extents& extents) {
  std::string out(name(type));
  for (std::size_t i = 0; i < extents.size(); ++i) out += (i == 0 ? "[" : ", ") + std::to_string(extents[i]);
  return extents.empty() ? out : out + "]";
}

}  // namespace isomer
