#include "model/expr/element_type.h"

#include <array>

namespace isomer {
namespace {

struct Row {
  ElementType type;
  std::string_view name;
  int bits;
};

using enum ElementType;
constexpr std::array kRows{Row{Undefined, "undefined", 0},
                           Row{Float, "float", 32},
                           Row{Uint8, "uint8", 8},
                           Row{Int8, "int8", 8},
                           Row{Uint16, "uint16", 16},
                           Row{Int16, "int16", 16},
                           Row{Int32, "int32", 32},
                           Row{Int64, "int64", 64},
                           Row{String, "string", 0},
                           Row{Bool, "bool", 8},
                           Row{Float16, "float16", 16},
                           Row{Double, "double", 64},
                           Row{Uint32, "uint32", 32},
                           Row{Uint64, "uint64", 64},
                           Row{Complex64, "complex64", 64},
                           Row{Complex128, "complex128", 128},
                           Row{BFloat16, "bfloat16", 16},
                           Row{Float8E4M3FN, "float8e4m3fn", 8},
                           Row{Float8E4M3FNUZ, "float8e4m3fnuz", 8},
                           Row{Float8E5M2, "float8e5m2", 8},
                           Row{Float8E5M2FNUZ, "float8e5m2fnuz", 8},
                           Row{Uint4, "uint4", 4},
                           Row{Int4, "int4", 4},
                           Row{Float4E2M1, "float4e2m1", 4},
                           Row{Float8E8M0, "float8e8m0", 8},
                           Row{Uint2, "uint2", 2},
                           Row{Int2, "int2", 2},
                           Row{Float6E2M3, "float6e2m3", 6},
                           Row{Float6E3M2, "float6e3m2", 6},
                           Row{Field, "field", 64},
                           Row{FieldPair, "field_pair", 192}};

const Row& row(ElementType type) {
  for (const Row& r : kRows)
    if (r.type == type) return r;
  return kRows[0];
}

}  // namespace

std::string_view name(ElementType type) { return row(type).name; }

std::optional<ElementType> element_type_named(std::string_view name) {
  for (const Row& r : kRows)
    if (r.name == name) return r.type;
  return std::nullopt;
}

int bits(ElementType type) { return row(type).bits; }

bool is_float(ElementType type) {
  return type == Float || type == Double || type == Float16 || type == BFloat16 || type == Field ||
         type == FieldPair;
}

bool is_signed_integer(ElementType type) {
  return type == Int8 || type == Int16 || type == Int32 || type == Int64;
}

bool is_integer(ElementType type) {
  return is_signed_integer(type) || type == Uint8 || type == Uint16 || type == Uint32 || type == Uint64;
}

bool is_computable(ElementType type) { return is_float(type) || is_integer(type) || type == Bool; }

bool is_exact_cast(ElementType from, ElementType to) {
  if (from == to) return true;
  // Signed and unsigned wrap differently, so that integers only widen to what holds all of their values; but
  // then the narrow ring's wrapping is lost: not equal as polynomials. Bool has no arithmetic.
  if (from == ElementType::Bool) return is_float(to) || is_integer(to);
  if (to == ElementType::Double)
    return from == ElementType::Float || from == ElementType::Float16 || from == ElementType::BFloat16;
  if (to == ElementType::Float) return from == ElementType::Float16 || from == ElementType::BFloat16;
  return false;
}

}  // namespace isomer
