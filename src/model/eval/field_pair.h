// FieldPair: a value mod p and mod q = 2p + 1 at once, so that exp(a + b) = exp(a)·exp(b) can hold.
//
// No homomorphism leads from a field's addition to its own multiplication. But q is prime and its squares are
// a group of order p: exp reads the residue mod p and gives g^x mod q, g a square that the key chooses. The
// result has no residue mod p any more (a lane is lost), and sqrt, whose sign only the residue mod p decides,
// has none mod q. Two values agree if they agree in every lane that both have; where none is left, nothing
// was tested. Functions without laws draw both lanes anew. Idea: Mirage's pairs of fields.
#pragma once

#include <cstdint>

#include "model/eval/field.h"

namespace isomer {

// q = 2p + 1.
using Zq = Residue<62, 2 * (Zp::kMask - Zp::kModulus + 1) - 1>;
static_assert(Zq::kModulus == 2 * Zp::kModulus + 1);

struct FieldPair {
  Zp p;
  bool has_p = true, has_q = true;
  Zq q;
  static FieldPair of(std::int64_t x) { return {.p = Zp::of(x), .q = Zq::of(x)}; }
  static FieldPair of(double x) { return {.p = Zp::of(x), .q = Zq::of(x)}; }
  friend FieldPair operator+(const FieldPair& a, const FieldPair& b) {
    return lanes(a, b, a.p + b.p, a.q + b.q);
  }
  friend FieldPair operator-(const FieldPair& a, const FieldPair& b) {
    return lanes(a, b, a.p - b.p, a.q - b.q);
  }
  friend FieldPair operator*(const FieldPair& a, const FieldPair& b) {
    return lanes(a, b, a.p * b.p, a.q * b.q);
  }
  friend FieldPair operator/(const FieldPair& a, const FieldPair& b) {
    return lanes(a, b, a.p / b.p, a.q / b.q);
  }
  FieldPair operator-() const { return FieldPair{} - *this; }
  bool is_positive() const;

 private:
  static FieldPair lanes(const FieldPair& a, const FieldPair& b, Zp p, Zq q) {
    return {.p = p, .has_p = a.has_p && b.has_p, .has_q = a.has_q && b.has_q, .q = q};
  }
};

// Whether two values agree in every lane that both have. `tested`: whether there is such a lane.
struct Agreement {
  bool agree = false, tested = false;
};
Agreement compare(const FieldPair& a, const FieldPair& b);

FieldPair field_unary(Fn fn, const FieldPair& a, std::uint64_t key);
FieldPair field_binary(Fn fn, const FieldPair& a, const FieldPair& b, std::uint64_t key);
bool field_less(const FieldPair& a, const FieldPair& b);
std::int64_t field_to_integer(const FieldPair& a, std::uint64_t key);

}  // namespace isomer
