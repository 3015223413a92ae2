#include "model/eval/field.h"
#include "model/eval/strip_nodes.h"

namespace isomer::strip_nodes {
namespace {

template <class T>
NodePtr make_unary(StripCompiler& compiler, Fn fn, NodePtr a) {
  return with_unary(fn, [&]<Fn f>() -> NodePtr {
    return std::make_unique<UnaryNode<T, T>>(compiler, std::move(a),
                                             [](const T* x, T* y, int n, ScalarContext& c) {
                                               for (int i = 0; i < n; ++i) y[i] = scalar::unary<f>(x[i], c);
                                             });
  });
}

// A scale divides a whole strip: its inverse, which takes some hundred multiplications, is computed once.
void divide(const Zp* x, const Zp* y, Zp* z, int n) {
  Zp divisor{1}, inverse{1};
  for (int i = 0; i < n; ++i) {
    if (!(y[i] == divisor)) {
      divisor = y[i];
      inverse = divisor.inverse();
    }
    z[i] = x[i] * inverse;
  }
}

template <class T>
NodePtr make_binary(StripCompiler& compiler, Fn fn, NodePtr a, NodePtr b) {
  if constexpr (std::same_as<T, Zp>) {
    if (fn == Fn::Div)
      return std::make_unique<BinaryNode<T, T>>(
          compiler, std::move(a), std::move(b),
          [](const T* x, const T* y, T* z, int n, ScalarContext&) { divide(x, y, z, n); });
  }
  return with_binary(fn, [&]<Fn f>() -> NodePtr {
    return std::make_unique<BinaryNode<T, T>>(compiler, std::move(a), std::move(b),
                                              [](const T* x, const T* y, T* z, int n, ScalarContext& c) {
                                                for (int i = 0; i < n; ++i)
                                                  z[i] = scalar::binary<f>(x[i], y[i], c);
                                              });
  });
}

template <class T>
NodePtr make_comparison(StripCompiler& compiler, Fn fn, NodePtr a, NodePtr b) {
  return with_comparison(fn, [&]<Fn f>() -> NodePtr {
    return std::make_unique<BinaryNode<std::uint8_t, T>>(
        compiler, std::move(a), std::move(b),
        [](const T* x, const T* y, std::uint8_t* z, int n, ScalarContext&) {
          for (int i = 0; i < n; ++i) z[i] = scalar::compare<f>(x[i], y[i]);
        });
  });
}

template <class T>
NodePtr make_test(StripCompiler& compiler, Fn fn, NodePtr a) {
  return with_test(fn, [&]<Fn f>() -> NodePtr {
    return std::make_unique<UnaryNode<std::uint8_t, T>>(
        compiler, std::move(a), [](const T* x, std::uint8_t* y, int n, ScalarContext&) {
          for (int i = 0; i < n; ++i) y[i] = scalar::test<f>(x[i]);
        });
  });
}

}  // namespace

NodePtr make_function(StripCompiler& compiler, const ExprNode& expr, std::vector<NodePtr> args) {
  return with_compute_type(expr.args.back()->type, [&]<class T>(T) -> NodePtr {
    switch (class_of(expr.fn)) {
      case FnClass::Unary: return make_unary<T>(compiler, expr.fn, std::move(args[0]));
      case FnClass::Binary: return make_binary<T>(compiler, expr.fn, std::move(args[0]), std::move(args[1]));
      case FnClass::Comparison:
        return make_comparison<T>(compiler, expr.fn, std::move(args[0]), std::move(args[1]));
      case FnClass::Test: return make_test<T>(compiler, expr.fn, std::move(args[0]));
      case FnClass::Where:
        return std::make_unique<WhereNode<T>>(compiler, std::move(args[0]), std::move(args[1]),
                                              std::move(args[2]));
      case FnClass::Cast: break;
    }
    ISOMER_UNREACHABLE("casts are compiled apart");
  });
}

}  // namespace isomer::strip_nodes
