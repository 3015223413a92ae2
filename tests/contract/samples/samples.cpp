#include "contract/samples/samples.h"

#include <algorithm>
#include <iterator>

namespace isomer::contract::samples {
namespace {

using Sample = void (*)(Sampler& s);

// In the order of all_operators().
#define ISOMER_ADDRESS(op) op,
constexpr Sample kSamples[] = {ISOMER_OPERATORS(ISOMER_ADDRESS)};
#undef ISOMER_ADDRESS

struct Note {
  std::string_view op, text;
};
constexpr Note kNotes[] = {
    {"ConvInteger", "onnxruntime pads with x0 and has no kernel for zero points per channel"},
    {"CumProd", "not in onnxruntime yet"},
    {"Gemm", "onnxruntime has no kernel for integers"},
    {"GlobalLpPool", "onnxruntime has no kernel since opset 22"},
    {"LRN", "onnxruntime takes odd sizes only"},
    {"MatMulInteger", "onnxruntime has no kernel for zero points per row of a"},
    {"MatMulIntegerToFloat", "onnxruntime has no kernel for a signed a and an unsigned b"},
    {"MeanVarianceNormalization", "onnxruntime leaves the 1e-9 out"},
    {"QAttention", "onnxruntime has kernels for unsigned inputs only"},
    {"QGemm", "onnxruntime has no kernel for a signed a and an unsigned b"},
    {"QLinearAdd", "onnxruntime adds the zero point before it rounds: halves to the even sum"},
    {"QLinearSoftmax", "onnxruntime divides integers: only scales that are powers of two from 1/256 on"},
    {"QLinearWhere", "onnxruntime crashes if some parameters are constants and others not"},
    {"Shrink", "double is computed in float there"},
    {"SwiGLU", "not in onnxruntime yet"},
    {"Swish", "found there at opset 24 only"},
};

}  // namespace

void draw(const Operator& op, Sampler& s) {
  const auto all = all_operators();
  kSamples[std::ranges::find(all, &op) - all.begin()](s);
}

std::string_view runtime_note(const Operator& op) {
  const auto* note = std::ranges::find(kNotes, op.name, &Note::op);
  return note == std::end(kNotes) ? "" : note->text;
}

}  // namespace isomer::contract::samples
