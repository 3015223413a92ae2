// Quantisation: what QuantizeLinear, DequantizeLinear and their relatives share.
#pragma once

#include "model/ops/shared/composition.h"

namespace isomer {

// The nearest value of an integer type of up to 16 bits: values beyond its limits become these.
Expr saturate(const Expr& x, ElementType to);
// saturate(round(x / scale) + zero point), halves to the even integer.
Expr quantize(const Expr& x, const Expr& scale, const Expr& zero_point);

// Where a scale or zero point is read for a position p of the input: one for all, one per index of `axis`, or
// one per block of `block_size` along it. Throws IllegalCall.
std::vector<Index> parameter_at(const Call& call, int parameter, const std::vector<Axis>& p);

// An element less its zero point (which may be none), as a wider integer. Throws IllegalCall.
Expr centred(const Expr& x, const Expr& zero_point, ElementType wide);

// Element `number` of bytes that hold 8 / bits elements each, low bits first.
Expr unpack(const std::function<Expr(const Index&)>& byte, const Index& number, std::int64_t bits);

// The QLinear operators: each dequantises its operands, computes, and quantises the result. Between the two
// stand real numbers, so all of it is computed in double: only the quantiser rounds.
//
// Which inputs of the call an operand is, with its scale and zero point (which may be absent).
struct QuantizedOperand {
  int x = 0, scale = 1, zero = 2;
  std::optional<int> axis = {};  // along which a vector of scales or zero points goes
};

class QuantizedComposition : public Composition {
 public:
  explicit QuantizedComposition(const Call& call) : Composition(call), call_(call) {}

  // The operand less its zero point, as whole numbers of a float type, or of int32.
  Tensor steps(const QuantizedOperand& of, ElementType type = ElementType::Double);
  // The real numbers that the operand represents.
  Tensor dequantize(const QuantizedOperand& of, ElementType type = ElementType::Double);
  // A scale or zero point at a position of its operand: one for all, or one per index of the axis.
  Expr parameter(const QuantizedOperand& of, int input, const std::vector<Index>& at) const;
  // The call's output: x quantised by a scale and a zero point, which says its type; absent, it is 0.
  void output_quantized(const Tensor& x, int scale, int zero, ElementType otherwise);

 private:
  const Call& call_;
};

// Whether sums of `terms` products of 8-bit operands, each minus its zero point, and a bias fit into 32 bits,
// so that the integers in which a runtime adds them are whole numbers. The bias is an input, absent if
// negative.
bool sums_fit(const Call& call, const Dim& terms, int bias);
// Throws OpaqueCall unless these inputs are integers of 8 bits.
void require_bytes(const Call& call, std::initializer_list<int> inputs);

}  // namespace isomer
