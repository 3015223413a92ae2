// ElementType: the element types of ONNX, with ONNX's own numbers, and two of our own for evaluation over a
// finite field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace isomer {

enum class ElementType : std::uint8_t {
  Undefined = 0,
  Float = 1,
  Uint8 = 2,
  Int8 = 3,
  Uint16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  Uint32 = 12,
  Uint64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  Uint4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  Uint2 = 25,
  Int2 = 26,
  Float6E2M3 = 27,
  Float6E3M2 = 28,
  Field = 100,      // an integer mod p (field.h): what every float becomes in the field interpreter
  FieldPair = 101,  // the same, with a second modulus in which exp has its law
};

constexpr int kLastOnnxType = 28;  // of onnx 1.23's TensorProto.DataType

std::string_view name(ElementType type);  // as ONNX's text syntax writes it: "float", "int64", ...
std::optional<ElementType> element_type_named(std::string_view name);

// Bits of one stored element (6, 4 and 2 for the packed types); 0 for String and Undefined.
int bits(ElementType type);

bool is_float(
    ElementType type);  // Float16, BFloat16, Float, Double, Field, FieldPair: what real algebra applies to
bool is_integer(ElementType type);  // 8 to 64 bits, signed or not
bool is_signed_integer(ElementType type);
// Whether formulas can compute with it: floats of 16 bits and more, integers of 8 bits and more, Bool, Field.
bool is_computable(ElementType type);
// Whether a cast changes no value.
bool is_exact_cast(ElementType from, ElementType to);

}  // namespace isomer
