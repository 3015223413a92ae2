#include "contract/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "contract/samples/samples.h"

namespace isomer::contract {
namespace {

TEST(Sampler, DrawsTheSameFromTheSameSeed) {
  for (const Operator* op : all_operators()) {
    const int opset = std::min(std::max(op->since, 13), op->last);
    Sampler a(7, opset), b(7, opset);
    samples::draw(*op, a);
    samples::draw(*op, b);
    ASSERT_EQ(a.inputs.size(), b.inputs.size()) << op->name;
    for (std::size_t k = 0; k < a.inputs.size(); ++k) {
      ASSERT_EQ(a.inputs[k].type, b.inputs[k].type) << op->name;
      if (a.inputs[k].type != ElementType::Undefined) {
        EXPECT_TRUE(a.inputs[k].value.same_bits(b.inputs[k].value)) << op->name;
      }
    }
  }
}

std::vector<double> last_drawn(const Sampler& s) { return *s.inputs.back().value.doubles(); }

TEST(Sampler, DrawsValuesOfTheKindThatIsAsked) {
  Sampler s(1, 13);
  for (const ElementType type : {ElementType::Float, ElementType::Int8, ElementType::Uint8}) {
    s.input(type, {1000}, Sampler::Values::NonZero);
    for (const double x : last_drawn(s)) EXPECT_NE(x, 0);
    s.input(type, {1000}, Sampler::Values::AboveOne);
    for (const double x : last_drawn(s)) EXPECT_GT(x, 1);
    s.input(type, {1000}, Sampler::Values::Small);
    for (const double x : last_drawn(s)) EXPECT_LE(std::abs(x), 3);
  }
}

}  // namespace
}  // namespace isomer::contract
