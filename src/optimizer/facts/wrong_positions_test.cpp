#include "optimizer/facts/wrong_positions.h"

#include "model/graph/testing.h"

namespace isomer {
namespace {

Result<WrongPositions> wrong(const std::string& inputs, const std::string& right, const std::string& mutant) {
  const auto graph = [&](const std::string& body) {
    return testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (" + inputs +
                           ") => (y) <int64[1] one = {1}, int64[1] axis = {0}, int64[1] end = {1000}, "
                           "int64[2] around = {1, 0}, int64[1] minus = {-1}, int64[2] both = {1, 1}, "
                           "int64[1] zero = {0}, int64[1] middle = {50}, int64[1] next = {51}> {\n" +
                           body + "}");
  };
  return wrong_positions(graph(right), graph(mutant));
}

std::string margins(const Result<WrongPositions>& found) {
  if (!found.ok()) return found.error().message;
  std::string out;
  for (const Margin& m : found->margins)
    out += std::to_string(m.axis) + ":" + std::to_string(m.begin) + "," + std::to_string(m.end) + " ";
  return out;
}

// Everything moved by one: the first is new.
constexpr const char* kMoved = "t = Slice(x, zero, minus, axis)\ny = Pad(t, around)";

TEST(WrongPositions, OfEqualProgramsAreNone) {
  const auto found = wrong("float[9] x", "y = Add(x, x)", "y = Add(x, x)");
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->is_empty);
  EXPECT_TRUE(found->margins.empty());
}

TEST(WrongPositions, AtTheBeginningAndAtTheEnd) {
  const std::string cut = "t = Slice(x, one, minus, axis)\ny = Pad(t, both)";
  EXPECT_EQ(margins(wrong("float[9] x", "y = Identity(x)", cut)), "0:1,1 ");
  const std::string all = "x = Concat<axis = 0>(a, b, a)\n";
  const auto named = wrong("float[1] a, float[N] b", all + "y = Identity(x)", all + cut);
  EXPECT_EQ(margins(named), "0:1,1 ");
  EXPECT_NE(named->set.find("1 + N"), std::string::npos) << named->set;
}

TEST(WrongPositions, EverywhereAreNoMargins) {
  EXPECT_NE(margins(wrong("float[9] x", "y = Identity(x)", kMoved)).find("no margins"), std::string::npos);
}

TEST(WrongPositions, InTheMiddleAreNoMargins) {
  const std::string hole =
      "a = Slice(x, zero, middle, axis)\nm = Slice(x, middle, next, axis)\nb = Slice(x, next, end, axis)\n"
      "n = Neg(m)\ny = Concat<axis = 0>(a, n, b)";
  EXPECT_NE(margins(wrong("float[99] x", "y = Identity(x)", hole)).find("no margins"), std::string::npos);
}

TEST(WrongPositions, OfAnotherShapeAreNotToldOf) {
  EXPECT_EQ(margins(wrong("float[9] x", "y = Identity(x)", "y = Slice(x, one, end, axis)")),
            "a value of another type or shape");
}

}  // namespace
}  // namespace isomer
