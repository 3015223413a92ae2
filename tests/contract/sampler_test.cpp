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

// A formula in which one length stands for another is found only by cases in which they differ, in every way
// in which a call may be made.
TEST(Sampler, DrawsLengthsThatDifferWhereTheyMay) {
  struct Pair {
    std::string_view domain, op, flag;  // an attribute that is set, or ""
    std::size_t one_input, one_axis, other_input, other_axis;
    int past = -1;  // an input that is there, or -1
  };
  for (const Pair& p : std::vector<Pair>{
           {"com.microsoft", "MultiHeadAttention", "", 0, 1, 1, 1},
           {"com.microsoft", "MultiHeadAttention", "unidirectional", 0, 1, 1, 1},
           {"com.microsoft", "MultiHeadAttention", "unidirectional", 0, 1, 1, 1, 6},
           {"com.microsoft", "MultiHeadAttention", "", 0, 1, 1, 1, 6},
           {"com.microsoft", "MultiHeadAttention", "", 1, 2, 2, 2},
           {"", "Attention", "", 0, 2, 1, 2},
           {"", "Attention", "is_causal", 0, 2, 1, 2},
           {"", "Attention", "is_causal", 0, 2, 1, 2, 4},
           {"", "Attention", "", 4, 3, 5, 3, 4},
           {"com.microsoft", "Attention", "", 0, 1, 0, 2},
           {"com.microsoft", "Attention", "unidirectional", 0, 1, 0, 2},
           {"com.microsoft", "QAttention", "unidirectional", 0, 1, 0, 2},
           {"com.microsoft", "GroupQueryAttention", "", 0, 1, 3, 2, 3},
       }) {
    const Operator& op = *find_operator(p.domain, p.op);
    int less = 0, more = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      Sampler s(seed, std::max(op.since, 1));
      samples::draw(op, s);
      const auto has = [&](std::size_t k) {
        return k < s.inputs.size() && s.inputs[k].type != ElementType::Undefined;
      };
      if (!has(p.one_input) || !has(p.other_input) || (p.past >= 0 && !has(static_cast<std::size_t>(p.past))))
        continue;
      if (!p.flag.empty() && s.attributes.find(p.flag) == nullptr) continue;
      const Extents one = s.inputs[p.one_input].value.extents(),
                    other = s.inputs[p.other_input].value.extents();
      if (one.size() <= p.one_axis || other.size() <= p.other_axis) continue;
      less += one[p.one_axis] < other[p.other_axis] ? 1 : 0;
      more += one[p.one_axis] > other[p.other_axis] ? 1 : 0;
    }
    EXPECT_GE(less, 5) << p.op << " " << p.flag << " " << p.past;
    EXPECT_GE(more, 5) << p.op << " " << p.flag << " " << p.past;
  }
}

}  // namespace
}  // namespace isomer::contract
