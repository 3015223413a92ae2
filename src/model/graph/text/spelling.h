// Names, strings and types as ONNX's text syntax writes them: in the printer and in messages.
#pragma once

#include <string>
#include <string_view>

#include "model/graph/graph.h"

namespace isomer {

inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string quote(std::string_view text);  // "a\"b"
// Letters, digits and _, not beginning with a digit.
bool is_identifier(std::string_view text);
// The name of a type, of tensors or others ("seq"): a value of that name must be quoted.
bool is_type_word(std::string_view text);
std::string spell(std::string_view name);     // as it is where that is an identifier, else quoted
std::string spell(const DeclaredType& type);  // "float[N, 3]", "float" (rank 0), "float[]" (unknown rank)
std::string spell(ElementType type, const Extents& extents);

}  // namespace isomer
