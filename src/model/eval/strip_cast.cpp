#include "model/eval/strip_nodes.h"

namespace isomer::strip_nodes {
namespace {

template <class To, class From>
NodePtr make_cast_loop(StripCompiler& compiler, ElementType to, NodePtr a) {
  if (to == ElementType::Bool)
    return std::make_unique<UnaryNode<To, From>>(compiler, std::move(a),
                                                 [](const From* x, To* y, int n, ScalarContext& c) {
                                                   for (int i = 0; i < n; ++i)
                                                     y[i] = scalar::cast<To>(x[i], true, c);
                                                 });
  return std::make_unique<UnaryNode<To, From>>(compiler, std::move(a),
                                               [](const From* x, To* y, int n, ScalarContext& c) {
                                                 for (int i = 0; i < n; ++i)
                                                   y[i] = scalar::cast<To>(x[i], false, c);
                                               });
}

// A cast to a 16-bit float inside of an expression rounds at once.
NodePtr make_rounding(StripCompiler& compiler, ElementType to, NodePtr a) {
  if (to == ElementType::Float16)
    return std::make_unique<UnaryNode<float, float>>(compiler, std::move(a),
                                                     [](const float* x, float* y, int n, ScalarContext&) {
                                                       for (int i = 0; i < n; ++i)
                                                         y[i] = float16_to_float(float_to_float16(x[i]));
                                                     });
  return std::make_unique<UnaryNode<float, float>>(compiler, std::move(a),
                                                   [](const float* x, float* y, int n, ScalarContext&) {
                                                     for (int i = 0; i < n; ++i)
                                                       y[i] = bfloat16_to_float(float_to_bfloat16(x[i]));
                                                   });
}

}  // namespace

NodePtr make_cast(StripCompiler& compiler, ElementType from, ElementType to, NodePtr arg) {
  NodePtr node = with_compute_type(from, [&]<class From>(From) {
    return with_compute_type(
        to, [&]<class To>(To) { return make_cast_loop<To, From>(compiler, to, std::move(arg)); });
  });
  const bool half = to == ElementType::Float16 || to == ElementType::BFloat16;
  return half ? make_rounding(compiler, to, std::move(node)) : std::move(node);
}

}  // namespace isomer::strip_nodes
