// Every operator of the list keeps every law, on many calls that its own sampler draws. No test is written
// per operator.
//
//   ISOMER_CONTRACT_CASES=1000   cases per operator and law (default 200; 20 under sanitizers)
//   ISOMER_CONTRACT_CASE=17      only this one, to look at a failure
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <tuple>

#include "contract/laws.h"

namespace isomer::contract {

// Else gtest prints addresses, which differ from run to run.
static void PrintTo(const Law& law, std::ostream* out) { *out << law.name; }

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kCases = 20;
#else
constexpr int kCases = 200;
#endif
constexpr int kMostReported = 3;

struct Range {
  int first, last;
};

Range cases() {
  if (const char* one = std::getenv("ISOMER_CONTRACT_CASE")) return {std::atoi(one), std::atoi(one) + 1};
  const char* count = std::getenv("ISOMER_CONTRACT_CASES");
  return {0, count ? std::atoi(count) : kCases};
}

std::string refusal(const Definition& definition) {
  if (const auto* opaque = std::get_if<Opaque>(&definition)) return "opaque: " + opaque->reason;
  if (const auto* invalid = std::get_if<Invalid>(&definition)) return "invalid: " + invalid->message;
  return {};
}

std::string test_name(const Operator& op) {
  std::string name = op.domain.empty() ? "" : std::string(op.domain) + "_";
  std::ranges::replace(name, '.', '_');
  return name + std::string(op.name);
}

class Samples : public ::testing::TestWithParam<const Operator*> {};

// A sampler that draws what isn't legal, or mostly what isn't modelled, tests nothing.
TEST_P(Samples, AreLegalAndMostlyModelled) {
  const auto [first, last] = cases();
  int opaque = 0;
  std::string why;
  for (int number = first; number < last; ++number) {
    const DrawnCase drawn = draw_case(*GetParam(), number);
    const Definition definition = define(*GetParam(), drawn.call);
    ASSERT_FALSE(std::holds_alternative<Invalid>(definition))
        << drawn.text() << "\n  " << refusal(definition);
    if (!std::holds_alternative<Opaque>(definition)) continue;
    ++opaque;
    why = drawn.text() + "\n  " + refusal(definition);
  }
  EXPECT_LE(opaque * 5, last - first) << opaque << " cases are opaque, such as\n  " << why;
}

INSTANTIATE_TEST_SUITE_P(Operators, Samples,
                         ::testing::ValuesIn(all_operators().begin(), all_operators().end()),
                         [](const auto& at) { return test_name(*at.param); });

class Contract : public ::testing::TestWithParam<std::tuple<const Operator*, Law>> {};

TEST_P(Contract, Holds) {
  const auto& [op, law] = GetParam();
  const auto [first, last] = cases();
  int broken = 0;
  for (int number = first; number < last; ++number) {
    const DrawnCase drawn = draw_case(*op, number);
    const Definition definition = define(*op, drawn.call);
    const auto* formula = std::get_if<Formula>(&definition);
    if (!formula) continue;  // Samples counts them
    const Violation violation = law.check(drawn, *formula);
    if (!violation) continue;
    if (++broken <= kMostReported)
      ADD_FAILURE() << drawn.text() << "\n  " << *violation << "\n" << text(*formula);
  }
  EXPECT_EQ(broken, 0) << "of " << last - first << " cases";
}

INSTANTIATE_TEST_SUITE_P(Operators, Contract,
                         ::testing::Combine(::testing::ValuesIn(all_operators().begin(),
                                                                all_operators().end()),
                                            ::testing::ValuesIn(laws().begin(), laws().end())),
                         [](const auto& at) {
                           return fmt::format("{}_{}", test_name(*std::get<0>(at.param)),
                                              std::get<1>(at.param).name);
                         });

}  // namespace
}  // namespace isomer::contract
