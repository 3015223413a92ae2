#include "ops/empty.h"

#include <algorithm>
#include <array>

namespace isomer {
namespace {

constexpr auto kTried = std::to_array<std::string_view>({
    "Abs", "Acos", "Acosh", "Add", "And", "ArgMax", "ArgMin", "Asin", "Asinh", "Atan", "Atanh",
    "AveragePool", "BatchNormalization", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr",
    "BitwiseXor", "Cast", "CastLike", "Ceil", "Celu", "CenterCropPad", "Clip", "Compress", "Concat",
    "ConstantOfShape", "Conv", "Cos", "Cosh", "CumProd", "CumSum", "DepthToSpace",
    "DequantizeLinear", "Div", "Dropout", "Einsum", "Elu", "Equal", "Erf", "Exp", "Expand",
    "EyeLike", "Flatten", "Floor", "Gather", "GatherElements", "GatherND", "Gelu", "Gemm",
    "GlobalAveragePool", "GlobalMaxPool", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish",
    "Hardmax", "Identity", "InstanceNormalization", "IsInf", "IsNaN", "LRN", "LayerNormalization",
    "LeakyRelu", "Less", "LessOrEqual", "Log", "LogSoftmax", "LpNormalization", "MatMul", "Max",
    "MaxPool", "Mean", "MeanVarianceNormalization", "Min", "Mish", "Mod", "Mul", "Neg", "Not",
    "OneHot", "Or", "PRelu", "Pad", "Pow", "QuantizeLinear", "RMSNormalization", "Range",
    "Reciprocal", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
    "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Relu", "Reshape",
    "Round", "Scatter", "ScatterElements", "ScatterND", "Selu", "Shape", "Shrink", "Sigmoid",
    "Sign", "Sin", "Sinh", "Size", "Slice", "Softmax", "Softplus", "Softsign", "SpaceToDepth",
    "Split", "Sqrt", "Squeeze", "Sub", "Sum", "SwiGLU", "Swish", "Tan", "Tanh", "ThresholdedRelu",
    "Tile", "Transpose", "Trilu", "Unsqueeze", "Where", "Xor", "com.microsoft.BiasGelu",
    "com.microsoft.FastGelu", "com.microsoft.FusedMatMul", "com.microsoft.Gelu",
    "com.microsoft.QuickGelu"});
static_assert(std::ranges::is_sorted(kTried));

}  // namespace

bool runs_on_nothing(const Operator& op) {
  const std::string name = op.domain.empty() ? std::string(op.name) : std::string(op.domain) + "." + std::string(op.name);
  return std::ranges::binary_search(kTried, name);
}

}  // namespace isomer
