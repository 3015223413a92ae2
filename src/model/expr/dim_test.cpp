#include "model/expr/dim.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace isomer {
namespace {

const Dim n = Dim::symbol("n"), m = Dim::symbol("m");

TEST(Dim, EqualPolynomialsHaveOneForm) {
  EXPECT_EQ((n + Dim(1)) * (n - Dim(1)), n * n - Dim(1));
  EXPECT_EQ(n * m, m * n);
  EXPECT_EQ(n - n, Dim(0));
  EXPECT_TRUE((n - n).is_concrete());
  EXPECT_EQ((Dim(2) * n * m + Dim(3)).text(), "2*m*n + 3");
}

TEST(Dim, FloorTakesOutWhatDivides) {
  EXPECT_EQ(Dim::floor(Dim(2) * n + Dim(1), 2), n);
  EXPECT_EQ(Dim::floor(n * m, m), n);
  EXPECT_EQ(Dim::floor(Dim(64) * n, 16), Dim(4) * n);
  EXPECT_EQ(Dim::floor(Dim(-7), 2), Dim(-4));
  EXPECT_EQ(Dim::ceil(Dim(7), 2), Dim(4));
  EXPECT_EQ(Dim::floor(n + Dim(1), 2).text(), "floor((n + 1)/2)");
}

TEST(Dim, LongDivisionFindsExactQuotients) {
  EXPECT_EQ(Dim::exact_quotient((n + Dim(1)) * (m + Dim(2)), m + Dim(2)), n + Dim(1));
  EXPECT_EQ(Dim::exact_quotient(n + Dim(1), m), std::nullopt);
  EXPECT_EQ(Dim::exact_quotient(n, 0), std::nullopt);
}

TEST(Dim, ComparesOnlyWhatHoldsForAllSymbols) {
  EXPECT_EQ((n + Dim(1)).at_least(n), true);
  EXPECT_EQ(n.at_least(n + Dim(1)), false);
  EXPECT_EQ(n.at_least(1), std::nullopt);
  EXPECT_EQ(n.at_least(m), std::nullopt);
  EXPECT_EQ(n.equals(m), std::nullopt);
  EXPECT_EQ((n + Dim(1)).equals(n), false);
}

TEST(Dim, WhatIsRoundedUpKeepsItsSign) {
  const Dim half = Dim::floor(n + Dim(1), 2);
  EXPECT_EQ(Dim::mod(half, 14).at_least(0), true);
  EXPECT_EQ((Dim(13) - Dim::mod(half, 14)).at_least(0), true);
  EXPECT_EQ((Dim(12) - Dim::mod(half, 14)).at_least(0), std::nullopt);
  EXPECT_EQ(Dim::ceil(n, 2).at_least(0), true);
  EXPECT_EQ(Dim::ceil(Dim::max(n - Dim(3), 0), 2).at_least(0), true);
  EXPECT_EQ(Dim::ceil(n - Dim(3), 2).at_least(0), std::nullopt);
}

TEST(Dim, ANameCannotPassForAnExpression) {
  const Dim impostor = Dim::symbol("floor((n + 1)/2)"), sum = Dim::symbol("n + 1");
  EXPECT_FALSE(impostor == Dim::floor(n + Dim(1), 2));
  EXPECT_FALSE(sum == n + Dim(1));
  EXPECT_FALSE(Dim::floor(sum, 2) == Dim::floor(n + Dim(1), 2));
  EXPECT_FALSE(Dim::symbol("a\"") == Dim::symbol("a\\\""));
}

TEST(Dim, EvaluatesAndSubstitutes) {
  const Dim d = Dim::floor(n + Dim(3), 2) * m + Dim::max(n, m);
  const auto value =
      d.evaluate([](std::string_view s) { return std::optional<std::int64_t>(s == "n" ? 4 : 10); });
  EXPECT_EQ(value, 3 * 10 + 10);
  EXPECT_EQ(
      d.evaluate([](std::string_view s) { return s == "n" ? std::optional<std::int64_t>(4) : std::nullopt; }),
      std::nullopt);
  EXPECT_EQ(d.symbols(), (std::vector<std::string>{"m", "n"}));
}

TEST(Dim, MaxAndMinAbsorbEachOther) {
  EXPECT_EQ(Dim::max(n, Dim::min(n, 512)), n);
  EXPECT_EQ(Dim::min(Dim::max(m, n), n), n);
  EXPECT_EQ(Dim::max(n, Dim::max(n, m)), Dim::max(m, n));
  EXPECT_EQ(Dim::max(n, n + Dim(2)), n + Dim(2));
  EXPECT_FALSE(Dim::max(n, Dim::min(m, 512)) == n);
}

TEST(Dim, OverflowIsAnException) {
  const Dim big = std::int64_t{1} << 62;
  EXPECT_THROW((void)(big * Dim(4)), DimOverflow);
  EXPECT_THROW((void)(big + big), DimOverflow);
  EXPECT_THROW((void)product({big, 4}), DimOverflow);
  EXPECT_EQ(product({big, 4, 0}), Dim(0));
}

}  // namespace
}  // namespace isomer
