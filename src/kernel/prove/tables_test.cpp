// Constants that take part by value: Winograd's filtering, in which matrices larger than any small constant
// have to cancel exactly, and what is almost that.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernel/prove/prove.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using Matrix = std::vector<std::vector<int>>;

struct Filtering {
  int outputs = 0;
  Matrix in, weights, out;
  int denominator = 1;
};

const Filtering kF2{.outputs = 2,
                    .in = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                    .weights = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}},
                    .out = {{1, 1, 1, 0}, {0, 1, -1, -1}},
                    .denominator = 2};
const Filtering kF4{
    .outputs = 4,
    .in = {{4, 0, -5, 0, 1, 0},
           {0, -4, -4, 1, 1, 0},
           {0, 4, -4, -1, 1, 0},
           {0, -2, -1, 2, 1, 0},
           {0, 2, -1, -2, 1, 0},
           {0, 4, 0, -5, 0, 1}},
    .weights = {{6, 0, 0}, {-4, -4, -4}, {-4, 4, -4}, {1, 2, 4}, {1, -2, 4}, {0, 0, 24}},
    .out = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
    .denominator = 24};

std::vector<int> flat(const Matrix& a) {
  std::vector<int> out;
  for (const auto& row : a) out.insert(out.end(), row.begin(), row.end());
  return out;
}

std::vector<int> both_ways(const Matrix& a) {
  std::vector<int> out;
  for (const auto& i : a)
    for (const auto& j : a)
      for (const int u : i)
        for (const int v : j) out.push_back(u * v);
  return out;
}

std::string numbers(const std::string& shape, const std::string& name, const std::vector<int>& values) {
  return fmt::format("float[{}] {} = {{{}.0}}", shape, name, fmt::join(values, ".0, "));
}

Graph program(const std::string& inputs, const std::string& output, const std::string& body,
              const std::string& constants = "") {
  return testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (" + inputs + ") => (" + output +
                         ") " + (constants.empty() ? "" : "<" + constants + ">") + "{\n" + body + "\n}");
}

bool is_proved(const Graph& a, const Graph& b, std::string* why = nullptr) {
  const Verdict v = prove_equal(a, b);
  if (why) *why = text(v);
  return std::holds_alternative<Proved>(v);
}
bool sets_prove(const Graph& a, const Graph& b) {
  return std::holds_alternative<Proved>(prove_equal(a, b, {.field = false}));
}

// One image axis, one channel.
std::string line_types(int size) { return fmt::format("float[1,1,{}] x, float[1,1,3] w", size); }
Graph direct_line(int size) {
  return program(line_types(size), fmt::format("float[1,1,{}] y", size), "y = Conv<pads=[1,1]>(x, w)");
}
Graph filtered_line(int size, const Filtering& f) {
  const int m = f.outputs, t = m + 2, n = size / m;
  return program(line_types(size), fmt::format("float[1,1,{}] y", size),
                 fmt::format("v = Conv<pads=[1,1], strides=[{0}]>(x, into)\nc = Reshape(w, column)\n"
                             "g = MatMul(weights, c)\nu = Div(g, denominator)\np = Mul(v, u)\n"
                             "q = MatMul(out, p)\nr = Transpose<perm=[0,2,1]>(q)\ny = Reshape(r, shape)",
                             m),
                 fmt::format("{}, {}, {}, float denominator = {{{}.0}}, int64[2] column = {{3, 1}}, "
                             "int64[3] shape = {{1, 1, {}}}",
                             numbers(fmt::format("{},1,{}", t, t), "into", flat(f.in)),
                             numbers(fmt::format("{},3", t), "weights", flat(f.weights)),
                             numbers(fmt::format("{},{}", m, t), "out", flat(f.out)), f.denominator, n * m));
}

// Two axes, channels; sizes that are no multiple of a tile.
struct Image {
  int channels = 3, outputs = 2, rows = 7, columns = 9;
  std::string types() const {
    return fmt::format("float[1,{0},{2},{3}] x, float[{1},{0},3,3] w", channels, outputs, rows, columns);
  }
  std::string result() const { return fmt::format("float[1,{},{},{}] y", outputs, rows, columns); }
};
Graph direct(const Image& i) {
  return program(i.types(), i.result(), "c = Conv<pads=[1,1,1,1]>(x, w)\ny = Relu(c)");
}
struct Edit {
  int overlap = 0;  // a tile begins later by this number of rows
  int first = 0;    // of the rows that are kept
  int numerator = 1;
};
Graph filtered(const Image& i, const Filtering& f, const Edit& edit = {}) {
  const int m = f.outputs, t = m + 2, down = (i.rows + m - 1) / m, across = (i.columns + m - 1) / m;
  const int low = 1 - edit.overlap;
  return program(
      i.types(), i.result(),
      fmt::format(
          "a = Reshape(x, apart)\n"
          "v = Conv<strides=[{0},{0}], pads=[{1},1,{2},{3}]>(a, into)\nvr = Reshape(v, tiles)\n"
          "vt = Transpose<perm=[1,0,2]>(vr)\nwt = Transpose<perm=[2,3,0,1]>(w)\nwr = Reshape(wt, taps)\n"
          "g = MatMul(weights, wr)\nd = Div(g, denominator)\nu = Reshape(d, kernels)\np = MatMul(u, vt)\n"
          "pt = Transpose<perm=[1,0,2]>(p)\nq = MatMul(out, pt)\nr = Reshape(q, depth)\n"
          "s = DepthToSpace<blocksize={0}, mode=\"CRD\">(r)\nc = Slice(s, low, high, axes)\ny = Relu(c)",
          m, low, 1 + down * m - i.rows + edit.overlap, 1 + across * m - i.columns),
      fmt::format(
          "{}, {}, {}, float denominator = {{{}.0}}, int64[4] apart = {{{}, 1, {}, {}}}, "
          "int64[3] tiles = {{{}, {}, {}}}, int64[2] taps = {{9, {}}}, int64[3] kernels = {{{}, {}, {}}}, "
          "int64[4] depth = {{1, {}, {}, {}}}, int64[2] low = {{{}, 0}}, int64[2] high = {{{}, {}}}, "
          "int64[2] axes = {{2, 3}}",
          numbers(fmt::format("{0},1,{1},{1}", t * t, t), "into", both_ways(f.in)),
          numbers(fmt::format("{},9", t * t), "weights", both_ways(f.weights)),
          numbers(fmt::format("{},{}", m * m, t * t), "out", both_ways(f.out)),
          f.denominator * f.denominator * edit.numerator, i.channels, i.rows, i.columns, i.channels, t * t,
          down * across, i.outputs * i.channels, t * t, i.outputs, i.channels, i.outputs * m * m, down,
          across, edit.first, i.rows + edit.first, i.columns));
}

TEST(Tables, FilteringOfALine) {
  std::string why;
  EXPECT_TRUE(is_proved(direct_line(8), filtered_line(8, kF2), &why)) << why;
  EXPECT_TRUE(is_proved(direct_line(12), filtered_line(12, kF4), &why)) << why;
}

TEST(Tables, FilteringOfAnImage) {
  std::string why;
  EXPECT_TRUE(is_proved(direct({}), filtered({}, kF2), &why)) << why;
  EXPECT_TRUE(is_proved(direct({}), filtered({}, kF4), &why)) << why;
}

TEST(Tables, SizesDoNotMatter) {
  const Image large{.channels = 512, .outputs = 512, .rows = 55, .columns = 56};
  std::string why;
  EXPECT_TRUE(is_proved(direct(large), filtered(large, kF4), &why)) << why;
}

TEST(Tables, NoNumberOfALineMayBeAnother) {
  const Graph wanted = direct_line(6);
  for (Matrix Filtering::* part : {&Filtering::in, &Filtering::weights, &Filtering::out})
    for (std::size_t i = 0; i < (kF2.*part).size(); ++i)
      for (std::size_t j = 0; j < (kF2.*part)[i].size(); ++j) {
        Filtering bad = kF2;
        int& number = (bad.*part)[i][j];
        number = number == 0 ? 1 : -number;
        EXPECT_FALSE(sets_prove(wanted, filtered_line(6, bad))) << i << " " << j;
      }
  Filtering halved = kF2;
  halved.denominator *= 2;
  EXPECT_FALSE(sets_prove(wanted, filtered_line(6, halved)));
}

// The attempt that looks at the numbers of tables. All others, which NoNumberOfALineMayBeAnother has been put
// to, are slow to give up on an image.
bool tables_prove(const Graph& a, const Graph& b) {
  return std::holds_alternative<Proved>(prove_equal(a, b, {.field = false, .attempt = 7}));
}

class AlmostTheFilteringOfAnImage : public ::testing::TestWithParam<int> {};
TEST_P(AlmostTheFilteringOfAnImage, IsNotProved) {
  const Filtering& good = GetParam() == 2 ? kF2 : kF4;
  const Image image{.channels = 2, .outputs = 1, .rows = 5, .columns = 4};
  EXPECT_TRUE(tables_prove(direct(image), filtered(image, good)));
  Filtering bad = good;
  bad.in[1][2] = -bad.in[1][2];
  EXPECT_FALSE(tables_prove(direct(image), filtered(image, bad)));
  bad = good;
  bad.out[1][2] = -bad.out[1][2];
  EXPECT_FALSE(tables_prove(direct(image), filtered(image, bad)));
  bad = good;
  bad.weights[2][0] *= 2;
  EXPECT_FALSE(tables_prove(direct(image), filtered(image, bad)));
  EXPECT_FALSE(tables_prove(direct(image), filtered(image, good, {.overlap = 1})));
  EXPECT_FALSE(tables_prove(direct(image), filtered(image, good, {.first = 1})));
  EXPECT_FALSE(tables_prove(direct(image), filtered(image, good, {.numerator = 2})));
}
INSTANTIATE_TEST_SUITE_P(Tables, AlmostTheFilteringOfAnImage, ::testing::Values(2, 4));

// Two tables at one index, at constant indices, under a sum that a third factor takes part in.
TEST(Tables, ProductsOfTablesAreTablesOnlyWhereNothingElseReadsTheAxis) {
  std::vector<int> ramp, signs;
  for (int k = 0; k < 70; ++k) {
    ramp.push_back(k % 7 - 3);
    signs.push_back(k % 2 == 0 ? 1 : -1);
  }
  const std::string tables = numbers("70", "a", ramp) + ", " + numbers("70", "b", signs);
  int total = 0;
  for (int k = 0; k < 70; ++k)
    total += ramp[static_cast<std::size_t>(k)] * signs[static_cast<std::size_t>(k)];
  const auto sum_of = [&](const std::string& product) {
    return program("float[70] x, float[1] s", "float[1] y",
                   product + "\nr = ReduceSum<keepdims=1>(p)\ny = Mul(r, s)", tables);
  };
  const auto times = [&](int k) {
    return program("float[70] x, float[1] s", "float[1] y", "y = Mul(k, s)", numbers("1", "k", {k}));
  };
  EXPECT_TRUE(is_proved(sum_of("p = Mul(a, b)"), times(total)));
  EXPECT_FALSE(sets_prove(sum_of("p = Mul(a, b)"), times(total + 1)));
  EXPECT_FALSE(sets_prove(sum_of("q = Mul(a, b)\np = Mul(q, x)"), times(total)));
  EXPECT_TRUE(is_proved(sum_of("q = Mul(a, b)\np = Mul(q, x)"), sum_of("q = Mul(b, x)\np = Mul(a, q)")));
}

// Zeros behind a product's columns, and before its rows: the second product sums over the columns that are
// there, for the rows that are there.
TEST(Tables, AreSummedWhereConditionsHold) {
  const Graph padded =
      program("float[3,2] x", "float[4,2] y", "h = MatMul(x, a)\np = Pad(h, z)\ny = MatMul(p, b)",
              numbers("2,3", "a", {1, 2, 3, 4, 5, 6}) + ", int64[4] z = {1, 0, 0, 2}, " +
                  numbers("5,2", "b", {1, 0, 2, 1, 0, 3, 7, 7, 9, 9}));
  const auto joined = [](const std::vector<int>& c) {
    return program("float[3,2] x", "float[4,2] y", "h = MatMul(x, c)\ny = Pad(h, z)",
                   numbers("2,2", "c", c) + ", int64[4] z = {1, 0, 0, 0}");
  };
  EXPECT_TRUE(std::holds_alternative<Proved>(prove_equal(padded, joined({5, 11, 14, 23}))));
  EXPECT_FALSE(std::holds_alternative<Proved>(prove_equal(padded, joined({5, 11, 14, 24}))));
}

}  // namespace
}  // namespace isomer
