#include "model/eval/program.h"

#include <gtest/gtest.h>

#include <random>

#include "model/eval/element.h"
#include "model/eval/field_pair.h"

namespace isomer {
namespace {

using Inputs = std::vector<std::optional<Tensor>>;
constexpr auto kFloat = ElementType::Float;

Tensor random_floats(const Extents& extents, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(*element_count(extents)));
  for (float& v : values) v = normal(random);
  return Tensor::of(kFloat, extents, values);
}

// Every element of every output, evaluated alone, agrees with the program; mod p exactly.
void expect_elements_agree(const Formula& formula, const Inputs& inputs) {
  const auto outputs = Program::compile(formula).run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  Inputs in_field;
  for (const auto& t : inputs)
    in_field.push_back(t ? std::optional(convert(*t, is_float(t->type()) ? ElementType::Field : t->type()))
                         : std::nullopt);
  const Formula lifted = lift(formula, ElementType::Field);
  const auto field = Program::compile(lifted).run(in_field, 99);
  ASSERT_TRUE(field.ok());
  for (std::size_t o = 0; o < outputs->size(); ++o) {
    const Tensor& whole = (*outputs)[o];
    Extents position(whole.extents().size(), 0);
    for (std::int64_t n = 0; n < whole.count(); ++n) {
      const auto one = evaluate_element(formula, static_cast<int>(o), position, inputs);
      ASSERT_TRUE(one.ok());
      EXPECT_NEAR(one->doubles()->at(0), whole.doubles()->at(static_cast<std::size_t>(n)), 1e-4)
          << text(formula);
      if ((*field)[o].type() == ElementType::Field) {
        const auto exact = evaluate_element(lifted, static_cast<int>(o), position, in_field, 99);
        EXPECT_EQ(exact->as<std::uint64_t>()[0], (*field)[o].as<std::uint64_t>()[static_cast<std::size_t>(n)])
            << text(formula);
      }
      for (std::size_t k = position.size(); k-- > 0;) {
        if (++position[k] < whole.extents()[k]) break;
        position[k] = 0;
      }
    }
  }
}

Formula grouped_convolution(std::int64_t groups, std::int64_t stride, std::int64_t pad) {
  FormulaBuilder f({TensorType{kFloat, {2, 3 * groups, 7, 6}}, TensorType{kFloat, {2 * groups, 3, 3, 2}},
                    TensorType{kFloat, {2 * groups}}});
  const auto x = f.input(0), w = f.input(1), b = f.input(2);
  const auto p = f.axes({2, 2 * groups, (7 + 2 * pad - 3) / stride + 1, (6 + 2 * pad - 2) / stride + 1}),
             r = f.axes({3, 3, 2});
  const Index channel = Dim(3) * Index::floor(p[1], 2) + Index(r[0]);
  f.output(p, sum(r, x(p[0], channel, Dim(stride) * Index(p[2]) + Index(r[1]) - Index(pad),
                       Dim(stride) * Index(p[3]) + Index(r[2]) - Index(pad)) *
                         w(p[1], r[0], r[1], r[2])) +
                  b(p[1]));
  return std::move(f).finish();
}

TEST(Program, ConvolutionsWithGroupsStridesAndPadsAgreeElementByElement) {
  for (const std::int64_t groups : {1, 2, 4})
    for (const std::int64_t stride : {1, 2})
      for (const std::int64_t pad : {0, 1, 2})
        expect_elements_agree(grouped_convolution(groups, stride, pad),
                              {random_floats({2, 3 * groups, 7, 6}, 1),
                               random_floats({2 * groups, 3, 3, 2}, 2), random_floats({2 * groups}, 3)});
}

Tensor bytes_of(ElementType type, const Extents& extents, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> values(static_cast<std::size_t>(*element_count(extents)));
  for (std::uint8_t& v : values) v = static_cast<std::uint8_t>(random());
  return {type, extents, Bytes::copy_of(reinterpret_cast<const std::byte*>(values.data()), values.size())};
}

// Factors that are computed are stages of their own: what lies outside is still its zero less the zero point.
TEST(Program, SumsOfProductsOfDifferencesAgreeElementByElement) {
  constexpr auto kInt = ElementType::Int32;
  for (const std::int64_t rows : {1, 3, 40}) {
    for (const std::int64_t shift : {0, 2}) {
      FormulaBuilder f({TensorType{ElementType::Uint8, {rows, 30}}, TensorType{ElementType::Int8, {30, 17}},
                        TensorType{ElementType::Uint8, {}}, TensorType{ElementType::Int8, {17}}});
      const auto p = f.axes({rows, 17});
      const auto k = f.axis(30);
      const Expr left = cast(f.input(0)(p[0], Index(k) + Index(shift)), kInt) - cast(f.input(2).at({}), kInt);
      const Expr right = cast(f.input(1)(k, p[1]), kInt) - cast(f.input(3)(p[1]), kInt);
      f.output(p, sum({k}, left * right));
      expect_elements_agree(
          std::move(f).finish(),
          {bytes_of(ElementType::Uint8, {rows, 30}, 1), bytes_of(ElementType::Int8, {30, 17}, 2),
           bytes_of(ElementType::Uint8, {}, 3), bytes_of(ElementType::Int8, {17}, 4)});
    }
  }
}

TEST(Program, AQuotientModPIsTheSameForEachDivisor) {
  FormulaBuilder f({TensorType{kFloat, {6, 5}}, TensorType{kFloat, {6}}, TensorType{kFloat, {5}}});
  const auto p = f.axes({6, 5});
  const Expr x = f.input(0)(p[0], p[1]);
  f.output(p, x / f.input(1)(p[0]) + x / f.input(2)(p[1]) - f.input(2)(p[1]) / x);
  expect_elements_agree(std::move(f).finish(),
                        {random_floats({6, 5}, 1), random_floats({6}, 2), random_floats({5}, 3)});
}

TEST(Program, MatrixProductsOfEveryBlockSizeAgree) {
  for (const std::int64_t m : {1, 7, 97}) {
    for (const std::int64_t n : {1, 17, 40}) {
      for (const std::int64_t k : {0, 1, 300}) {
        FormulaBuilder f({TensorType{kFloat, {m, k}}, TensorType{kFloat, {k, n}}});
        const auto p = f.axes({m, n});
        const auto r = f.axis(k);
        f.output(p, sum({r}, f.input(0)(p[0], r) * f.input(1)(r, p[1])));
        const Formula formula = std::move(f).finish();
        const Tensor a = random_floats({m, k}, 4), b = random_floats({k, n}, 5);
        const auto y = Program::compile(formula).run({a, b});
        ASSERT_TRUE(y.ok());
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t j = 0; j < n; ++j) {
            double expected = 0;
            for (std::int64_t l = 0; l < k; ++l)
              expected += static_cast<double>(a.as<float>()[static_cast<std::size_t>(i * k + l)]) *
                          static_cast<double>(b.as<float>()[static_cast<std::size_t>(l * n + j)]);
            ASSERT_NEAR((*y)[0].as<float>()[static_cast<std::size_t>(i * n + j)], expected, 1e-3);
          }
        }
      }
    }
  }
}

TEST(Program, MaximaSkipWhatLiesOutsideOfTheirDomain) {
  FormulaBuilder f({TensorType{kFloat, {1, 300}}});
  const auto p = f.axes({1, 302});
  const auto r = f.axis(3);
  const Index at = Index(p[1]) + Index(r) - Index(2);
  f.output(p, reduce(Reduction::Max, {r}, f.input(0)(p[0], at), between(0, at, 300)));
  expect_elements_agree(std::move(f).finish(), {random_floats({1, 300}, 6)});
}

TEST(Program, CasesAndFloorsAgreeAcrossStrips) {
  FormulaBuilder f({TensorType{kFloat, {150}}, TensorType{kFloat, {4, 100}}});
  const auto p = f.axes({400});
  const Index flat = p[0];
  f.output(p,
           cases({{between(0, flat, 150), f.input(0)(flat)}, {between(150, flat, 160), number(kFloat, -1)}},
                 f.input(1)(Index::floor(flat, 100), Index::mod(flat, 100)) * 2.0));
  expect_elements_agree(std::move(f).finish(), {random_floats({150}, 7), random_floats({4, 100}, 8)});
}

Formula gather(std::int64_t rows) {
  FormulaBuilder f({TensorType{kFloat, {rows, 3}}, TensorType{ElementType::Int64, {5}}});
  const auto p = f.axes({5, 3});
  const auto v = f.axis(rows);
  f.output(p, sum({v}, where(apply(Fn::Equal, {index_number(v), f.input(1)(p[0])}), f.input(0)(v, p[1]),
                             number(kFloat, 0))));
  return std::move(f).finish();
}

TEST(Program, ASumPinnedByAnEqualityLooksUp) {
  const Tensor at = Tensor::of(ElementType::Int64, {5}, std::vector<std::int64_t>{3, 0, 7, 7, 1});
  expect_elements_agree(gather(8), {random_floats({8, 3}, 9), at});
}

TEST(Program, ALookUpOutsideIsAnErrorAndNotAZero) {
  const Tensor at = Tensor::of(ElementType::Int64, {5}, std::vector<std::int64_t>{3, 0, 8, 7, 1});
  EXPECT_FALSE(Program::compile(gather(8)).run({random_floats({8, 3}, 9), at}).ok());
}

Formula integer_formula(ElementType type, Fn fn) {
  FormulaBuilder f({TensorType{type, {3}}, TensorType{type, {3}}});
  const auto p = f.axes({3});
  f.output(p, apply(fn, {f.input(0)(p[0]), f.input(1)(p[0])}));
  return std::move(f).finish();
}

TEST(Program, IntegersWrapAndTruncate) {
  const auto run = [](Fn fn, const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
    return Program::compile(integer_formula(ElementType::Int32, fn))
        .run({Tensor::of(ElementType::Int32, {3}, a), Tensor::of(ElementType::Int32, {3}, b)});
  };
  constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min(),
                         kMax = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(run(Fn::Add, {kMax, 1, 2}, {1, 1, 1})->at(0).integers(), (std::vector<std::int64_t>{kMin, 2, 3}));
  EXPECT_EQ(run(Fn::Div, {-7, kMin, 7}, {2, -1, -2})->at(0).integers(),
            (std::vector<std::int64_t>{-3, kMin, -3}));
  EXPECT_EQ(run(Fn::Mod, {-7, kMin, 7}, {3, -1, -3})->at(0).integers(),
            (std::vector<std::int64_t>{2, 0, -2}));
  EXPECT_FALSE(run(Fn::Div, {1, 2, 3}, {1, 0, 1}).ok());
}

TEST(Program, HalvesAreRoundedWhenStored) {
  FormulaBuilder f({TensorType{ElementType::Float16, {1}}});
  const auto p = f.axes({1});
  const Expr x = f.input(0)(p[0]);
  f.output(p, (x + 1.0) - 1.0);  // in float: exact; in halves 1 + 2^-11 would have been 1
  const Tensor tiny =
      Tensor::of(ElementType::Float16, {1}, std::vector<std::uint16_t>{float_to_float16(0x1p-11f)});
  const auto y = Program::compile(std::move(f).finish()).run({tiny});
  EXPECT_EQ(float16_to_float((*y)[0].as<std::uint16_t>()[0]), 0x1p-11f);
}

TEST(Program, ARowMajorRenumberingSharesTheBytes) {
  FormulaBuilder f({TensorType{kFloat, {4, 6}}});
  const auto p = f.axes({3, 8});
  f.output(p, f.input(0).at(delinearize(linearize(to_indices(p), {3, 8}), {4, 6})));
  const Tensor x = random_floats({4, 6}, 10);
  const auto y = Program::compile(std::move(f).finish()).run({x});
  EXPECT_EQ((*y)[0].bytes().data, x.bytes().data);
}

// exp(a + b) = exp(a)·exp(b) as two programs: equal in the pair of fields, apart in one field alone, where
// exp has no law.
TEST(Program, ExpKeepsItsLawInThePairOfFields) {
  const auto build = [](bool split) {
    FormulaBuilder f({TensorType{kFloat, {3}}, TensorType{kFloat, {3}}});
    const auto p = f.axes({3});
    const Expr a = f.input(0)(p[0]), b = f.input(1)(p[0]);
    f.output(p, split ? apply(Fn::Exp, {a}) * apply(Fn::Exp, {b}) : apply(Fn::Exp, {a + b}));
    return std::move(f).finish();
  };
  const Tensor a = random_floats({3}, 11), b = random_floats({3}, 12);
  for (const ElementType type : {ElementType::Field, ElementType::FieldPair}) {
    const Inputs inputs{convert(a, type), convert(b, type)};
    const auto x = Program::compile(lift(build(false), type)).run(inputs, 5),
               y = Program::compile(lift(build(true), type)).run(inputs, 5);
    for (std::size_t i = 0; i < 3; ++i) {
      if (type == ElementType::Field) {
        EXPECT_NE((*x)[0].as<std::uint64_t>()[i], (*y)[0].as<std::uint64_t>()[i]);
      } else {
        const Agreement result = compare((*x)[0].as<FieldPair>()[i], (*y)[0].as<FieldPair>()[i]);
        EXPECT_TRUE(result.tested && result.agree);
      }
    }
  }
}

TEST(Symbolic, FollowsShapesThroughArithmetic) {
  const Dim n = Dim::symbol("n");
  FormulaBuilder f({TensorType{ElementType::Int64, {2}}});
  const auto p = f.axes({2});
  f.output(p, f.input(0)(p[0]) * 2.0 + index_number(p[0]));
  EXPECT_EQ(evaluate_symbolic(std::move(f).finish(), 0, {Dims{n, 5}}), (Dims{Dim(2) * n, 11}));
}

}  // namespace
}  // namespace isomer
