// The explicit list of operators: one line each, in alphabetical order. An operator that is not here does not
// exist.
#define ISOMER_OPERATORS(X)                    \
  X(Abs)                                       \
  X(Acos)                                      \
  X(Acosh)                                     \
  X(Add)                                       \
  X(AffineGrid)                                \
  X(And)                                       \
  X(ArgMax)                                    \
  X(ArgMin)                                    \
  X(Asin)                                      \
  X(Asinh)                                     \
  X(Atan)                                      \
  X(Atanh)                                     \
  X(Attention)                                 \
  X(AveragePool)                               \
  X(BatchNormalization)                        \
  X(BitShift)                                  \
  X(BitwiseAnd)                                \
  X(BitwiseNot)                                \
  X(BitwiseOr)                                 \
  X(BitwiseXor)                                \
  X(BlackmanWindow)                            \
  X(Cast)                                      \
  X(CastLike)                                  \
  X(Ceil)                                      \
  X(Celu)                                      \
  X(CenterCropPad)                             \
  X(Clip)                                      \
  X(Col2Im)                                    \
  X(Compress)                                  \
  X(Concat)                                    \
  X(Constant)                                  \
  X(ConstantOfShape)                           \
  X(Conv)                                      \
  X(ConvInteger)                               \
  X(ConvTranspose)                             \
  X(Cos)                                       \
  X(Cosh)                                      \
  X(CumProd)                                   \
  X(CumSum)                                    \
  X(DepthToSpace)                              \
  X(DequantizeLinear)                          \
  X(DFT)                                       \
  X(Div)                                       \
  X(Dropout)                                   \
  X(DynamicQuantizeLinear)                     \
  X(Einsum)                                    \
  X(Elu)                                       \
  X(Equal)                                     \
  X(Erf)                                       \
  X(Exp)                                       \
  X(Expand)                                    \
  X(EyeLike)                                   \
  X(Flatten)                                   \
  X(Floor)                                     \
  X(Gather)                                    \
  X(GatherElements)                            \
  X(GatherND)                                  \
  X(Gelu)                                      \
  X(Gemm)                                      \
  X(GlobalAveragePool)                         \
  X(GlobalLpPool)                              \
  X(GlobalMaxPool)                             \
  X(Greater)                                   \
  X(GreaterOrEqual)                            \
  X(GridSample)                                \
  X(GroupNormalization)                        \
  X(GRU)                                       \
  X(HammingWindow)                             \
  X(HannWindow)                                \
  X(Hardmax)                                   \
  X(HardSigmoid)                               \
  X(HardSwish)                                 \
  X(Identity)                                  \
  X(InstanceNormalization)                     \
  X(IsInf)                                     \
  X(IsNaN)                                     \
  X(LayerNormalization)                        \
  X(LeakyRelu)                                 \
  X(Less)                                      \
  X(LessOrEqual)                               \
  X(Log)                                       \
  X(LogSoftmax)                                \
  X(LpNormalization)                           \
  X(LpPool)                                    \
  X(LRN)                                       \
  X(LSTM)                                      \
  X(MatMul)                                    \
  X(MatMulInteger)                             \
  X(Max)                                       \
  X(MaxPool)                                   \
  X(Mean)                                      \
  X(MeanVarianceNormalization)                 \
  X(MicrosoftAttention)                        \
  X(MicrosoftBiasGelu)                         \
  X(MicrosoftFastGelu)                         \
  X(MicrosoftFusedConv)                        \
  X(MicrosoftFusedMatMul)                      \
  X(MicrosoftGelu)                             \
  X(MicrosoftQuickGelu)                        \
  X(MicrosoftSkipLayerNormalization)           \
  X(MicrosoftSkipSimplifiedLayerNormalization) \
  X(Min)                                       \
  X(Mish)                                      \
  X(Mod)                                       \
  X(Mul)                                       \
  X(Neg)                                       \
  X(NegativeLogLikelihoodLoss)                 \
  X(Not)                                       \
  X(OneHot)                                    \
  X(Or)                                        \
  X(Pad)                                       \
  X(Pow)                                       \
  X(PRelu)                                     \
  X(QuantizeLinear)                            \
  X(Range)                                     \
  X(Reciprocal)                                \
  X(ReduceL1)                                  \
  X(ReduceL2)                                  \
  X(ReduceLogSum)                              \
  X(ReduceLogSumExp)                           \
  X(ReduceMax)                                 \
  X(ReduceMean)                                \
  X(ReduceMin)                                 \
  X(ReduceProd)                                \
  X(ReduceSum)                                 \
  X(ReduceSumSquare)                           \
  X(Relu)                                      \
  X(Reshape)                                   \
  X(Resize)                                    \
  X(ReverseSequence)                           \
  X(RMSNormalization)                          \
  X(RNN)                                       \
  X(RoiAlign)                                  \
  X(RotaryEmbedding)                           \
  X(Round)                                     \
  X(Scatter)                                   \
  X(ScatterElements)                           \
  X(ScatterND)                                 \
  X(Selu)                                      \
  X(Shape)                                     \
  X(Shrink)                                    \
  X(Sigmoid)                                   \
  X(Sign)                                      \
  X(SimplifiedLayerNormalization)              \
  X(Sin)                                       \
  X(Sinh)                                      \
  X(Size)                                      \
  X(Slice)                                     \
  X(Softmax)                                   \
  X(SoftmaxCrossEntropyLoss)                   \
  X(Softplus)                                  \
  X(Softsign)                                  \
  X(SpaceToDepth)                              \
  X(Split)                                     \
  X(Sqrt)                                      \
  X(Squeeze)                                   \
  X(STFT)                                      \
  X(Sub)                                       \
  X(Sum)                                       \
  X(SwiGLU)                                    \
  X(Swish)                                     \
  X(Tan)                                       \
  X(Tanh)                                      \
  X(ThresholdedRelu)                           \
  X(Tile)                                      \
  X(Transpose)                                 \
  X(Trilu)                                     \
  X(Unsqueeze)                                 \
  X(Upsample)                                  \
  X(Where)                                     \
  X(Xor)

#include <algorithm>
#include <array>

#include "ops/operator.h"

namespace isomer {

namespace ops {
#define ISOMER_DECLARE(op) extern const Operator k##op;
ISOMER_OPERATORS(ISOMER_DECLARE)
#undef ISOMER_DECLARE
}  // namespace ops

std::span<const Operator* const> all_operators() {
#define ISOMER_ADDRESS(op) &ops::k##op,
  static const std::array all{ISOMER_OPERATORS(ISOMER_ADDRESS)};
#undef ISOMER_ADDRESS
  return all;
}

const Operator* find_operator(std::string_view domain, std::string_view name) {
  const auto all = all_operators();
  const auto at =
      std::ranges::find_if(all, [&](const Operator* op) { return op->name == name && op->domain == domain; });
  return at == all.end() ? nullptr : *at;
}

}  // namespace isomer
