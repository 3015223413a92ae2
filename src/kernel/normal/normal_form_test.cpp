#include "kernel/normal/normal_form.h"
#include "kernel/normal/testing.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

using T = FormulaBuilder::Tensor;
constexpr ElementType kF = ElementType::Float;

// A program written with formulas: each call is one formula applied to forms.
class NormalFormTest : public testing::Test {
 protected:
  NormalForms forms{{"N", "C", "H"}, {}};

  Form tensor(const Dims& shape) { return forms.tensor(kF, shape); }

  template <class F>
  Form apply(const std::vector<Form>& inputs, const F& build) {
    return applied(forms, inputs, build);
  }
  Form unary(Fn fn, const Form& x) {
    return apply({x}, [&](FormulaBuilder& f) {
      const auto p = f.axes(x.shape());
      f.output(p, isomer::apply(fn, {f.input(0).at(to_indices(p))}));
    });
  }
  Form relu(const Form& x) { return unary(Fn::Relu, x); }
  Form binary(Fn fn, const Form& x, const Form& y) {
    return apply({x, y}, [&](FormulaBuilder& f) {
      const auto p = f.axes(x.shape());
      f.output(p, isomer::apply(fn, {f.input(0).at(to_indices(p)), f.input(1).at(to_indices(p))}));
    });
  }
  Form add(const Form& x, const Form& y) { return binary(Fn::Add, x, y); }
  Form conv(const Form& x, const Form& w, int pad) {
    return apply({x, w}, [&](FormulaBuilder& f) {
      const auto a = f.input(0), b = f.input(1);
      const Dim& k = b.extent(2);
      const auto p = f.axes({a.extent(0), b.extent(0), a.extent(2) + Dim(2 * pad + 1) - k});
      const auto c = f.axis(b.extent(1)), u = f.axis(k);
      f.output(p, sum({c, u}, a(p[0], c, Index(p[2]) + Index(u) - Index(pad)) * b(p[1], c, u)));
    });
  }
  Form concat(const Form& x, const Form& y, std::size_t axis) {
    return apply({x, y}, [&](FormulaBuilder& f) {
      Dims shape = x.shape();
      const Dim cut = shape[axis];
      shape[axis] = cut + y.shape()[axis];
      const auto p = f.axes(shape);
      auto second = to_indices(p);
      second[axis] = second[axis] - Index(cut);
      f.output(p, f.input(0).at(to_indices(p)) + f.input(1).at(second));
    });
  }
  Form reshape(const Form& x, const Dims& shape) {
    return apply({x}, [&](FormulaBuilder& f) {
      const auto p = f.axes(shape);
      f.output(p, f.input(0).at(delinearize(linearize(to_indices(p), shape), x.shape())));
    });
  }
  Form sum_last(const Form& x) {
    return apply({x}, [&](FormulaBuilder& f) {
      Dims shape = x.shape();
      const auto r = f.axis(shape.back());
      shape.pop_back();
      const auto p = f.axes(shape);
      auto at = to_indices(p);
      at.emplace_back(r);
      f.output(p, sum({r}, f.input(0).at(at)));
    });
  }
  testing::AssertionResult equal(const Form& a, const Form& b) {
    const auto why = forms.why_not_equal(a, b);
    return why ? testing::AssertionFailure() << why->why << why->positions : testing::AssertionSuccess();
  }
};

TEST_F(NormalFormTest, SumsCommute) {
  const Form x = tensor({4, 5}), y = tensor({4, 5});
  EXPECT_TRUE(equal(add(x, y), add(y, x)));
  EXPECT_FALSE(equal(add(x, y), add(x, x)));
}

TEST_F(NormalFormTest, ConvolutionDistributesForAllSizes) {
  const Dim n = Dim::symbol("N"), c = Dim::symbol("C"), h = Dim::symbol("H");
  const Form x = tensor({n, c, h}), w = tensor({8, c, 3}), v = tensor({8, c, 3});
  EXPECT_TRUE(equal(add(conv(x, w, 1), conv(x, v, 1)), conv(x, add(w, v), 1)));
  EXPECT_TRUE(equal(concat(conv(x, w, 1), conv(x, v, 1), 1), conv(x, concat(w, v, 0), 1)));
  EXPECT_TRUE(equal(concat(relu(conv(x, w, 1)), relu(conv(x, v, 1)), 1), relu(conv(x, concat(w, v, 0), 1))));
  EXPECT_FALSE(equal(concat(relu(conv(x, w, 1)), relu(conv(x, v, 1)), 1), relu(conv(x, concat(v, w, 0), 1))));
}

TEST_F(NormalFormTest, ReluOfReshape) {
  const Form x = tensor({6, 4}), w = tensor({3, 4, 1});
  const Form y = conv(reshape(x, {1, 4, 6}), w, 0);
  EXPECT_TRUE(equal(reshape(relu(y), {9, 2}), relu(reshape(y, {9, 2}))));
  EXPECT_TRUE(equal(reshape(relu(y), {3, 6}), relu(reshape(reshape(y, {9, 2}), {3, 6}))));
  EXPECT_FALSE(equal(reshape(relu(y), {3, 6}), relu(reshape(concat(y, y, 1), {6, 6}))));
}

TEST_F(NormalFormTest, AReductionIsNoMovement) {  // trap 1
  const Form x = tensor({4, 5});
  EXPECT_FALSE(equal(relu(sum_last(x)), sum_last(relu(x))));
}

TEST_F(NormalFormTest, EqualFactors) {  // trap 5
  const Form x = tensor({4, 2});
  const Form s = sum_last(x);
  const Form squared = binary(Fn::Mul, s, s);
  const Form expanded = apply({x}, [&](FormulaBuilder& f) {
    const auto p = f.axes({4});
    const auto a = f.input(0)(p[0], 0), b = f.input(0)(p[0], 1);
    f.output(p, a * a + a * b * 2.0 + b * b);
  });
  const Form lossy = apply({x}, [&](FormulaBuilder& f) {
    const auto p = f.axes({4});
    const auto a = f.input(0)(p[0], 0), b = f.input(0)(p[0], 1);
    f.output(p, a * a + a * b + b * b);
  });
  EXPECT_TRUE(equal(squared, expanded));
  EXPECT_FALSE(equal(squared, lossy));
}

TEST_F(NormalFormTest, ArgumentsAreReduced) {  // trap 15
  const Form x = tensor({4}), y = tensor({4});
  EXPECT_TRUE(equal(relu(binary(Fn::Sub, add(x, y), y)), relu(x)));
}

}  // namespace
}  // namespace isomer
