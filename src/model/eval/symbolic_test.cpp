// What inference knows of integers is what the interpreter computes: at the limits of every type, and over
// symbols for every size.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>

#include "model/eval/element.h"
#include "model/eval/program.h"

namespace isomer {
namespace {

constexpr ElementType kIntegers[] = {ElementType::Int8,   ElementType::Int16, ElementType::Int32,
                                     ElementType::Int64,  ElementType::Uint8, ElementType::Uint16,
                                     ElementType::Uint32, ElementType::Uint64};

// The limits of all types and what lies beside them.
std::int64_t drawn_number(std::mt19937_64& random) {
  constexpr int kBits[] = {0, 1, 7, 8, 15, 16, 31, 32, 62, 63};
  const auto power = std::uint64_t{1} << static_cast<unsigned>(kBits[random() % std::size(kBits)]);
  const auto beside = static_cast<std::int64_t>(power + random() % 5 - 2);
  return random() % 3 == 0 ? static_cast<std::int64_t>(random() % 11) - 5 : beside;
}

std::int64_t number_of(std::mt19937_64& random, ElementType type) {
  return convert(Tensor::of(ElementType::Int64, {}, std::vector{drawn_number(random)}), type)
      .integers()
      ->front();
}

class Drawn {
 public:
  Drawn(std::mt19937_64& random, std::span<const ElementType> types, const FormulaBuilder& f, const Axis& p)
      : random_(random), types_(types), f_(f), p_(p) {}

  Expr of(ElementType type, int depth) {
    if (depth == 0 || random_() % 6 == 0) return leaf(type);
    switch (random_() % 5) {
      case 0: return cast(of(some_type(), depth - 1), type);
      case 1: return where(truth(depth - 1), of(type, depth - 1), of(type, depth - 1));
      case 2: return apply(one_of({Fn::Neg, Fn::Abs, Fn::Relu, Fn::Sign, Fn::BitNot}), {of(type, depth - 1)});
      default:
        return apply(one_of({Fn::Add, Fn::Sub, Fn::Mul, Fn::Add, Fn::Sub, Fn::Mul, Fn::Div, Fn::Mod, Fn::Fmod,
                             Fn::Max, Fn::Min, Fn::BitAnd, Fn::BitOr, Fn::ShiftLeft}),
                     {of(type, depth - 1), of(type, depth - 1)});
    }
  }

 private:
  Fn one_of(std::initializer_list<Fn> fns) { return fns.begin()[random_() % fns.size()]; }
  Expr leaf(ElementType type) {
    switch (random_() % 4) {
      case 0: return integer(type, number_of(random_, type));
      case 1: return index_number(Dim(100) * Index(p_) + Index(20), type);
      default:
        return cast(
            f_.input(static_cast<int>(std::ranges::find(kIntegers, some_type()) - std::begin(kIntegers)))(p_),
            type);
    }
  }
  Expr truth(int depth) {
    const ElementType type = some_type();
    return apply(one_of({Fn::Equal, Fn::Less, Fn::LessOrEqual}), {of(type, depth), of(type, depth)});
  }
  ElementType some_type() { return types_[random_() % types_.size()]; }
  std::mt19937_64& random_;
  std::span<const ElementType> types_;
  const FormulaBuilder& f_;
  Axis p_;
};

// A formula of one input of each type, with three elements.
Formula drawn_formula(std::mt19937_64& random, std::span<const ElementType> types, int depth) {
  std::vector<std::optional<TensorType>> inputs;
  for (const ElementType type : kIntegers) inputs.emplace_back(TensorType{type, {3}});
  FormulaBuilder f(inputs);
  const auto p = f.axes({3});
  const ElementType type = types[random() % types.size()];
  Expr value = Drawn(random, types, f, p[0]).of(type, depth);
  if (random() % 4 == 0) {
    constexpr Reduction kReductions[] = {Reduction::Sum, Reduction::Product, Reduction::Max, Reduction::Min};
    const Axis r = f.axis(3);
    value = reduce(kReductions[random() % 4], {r}, Drawn(random, types, f, r).of(type, depth - 1));
  }
  f.output(p, value);
  return std::move(f).finish();
}

std::optional<Tensor> computed(const Formula& formula, const std::vector<std::vector<std::int64_t>>& inputs) {
  std::vector<std::optional<Tensor>> tensors;
  for (std::size_t k = 0; k < std::size(kIntegers); ++k)
    tensors.emplace_back(convert(Tensor::of(ElementType::Int64, {3}, inputs[k]), kIntegers[k]));
  auto outputs = Program::compile(formula).run(tensors);
  return outputs.ok() ? std::optional((*outputs)[0]) : std::nullopt;  // a division by zero
}

TEST(Symbolic, ComputesWhatTheInterpreterComputesAtTheLimitsOfEveryType) {
  std::mt19937_64 random(20);
  int known = 0;
  for (int round = 0; round < 4000; ++round) {
    const Formula formula = drawn_formula(random, kIntegers, 4);
    std::vector<std::vector<std::int64_t>> inputs;
    std::vector<std::optional<Dims>> dims;
    for (const ElementType type : kIntegers) {
      inputs.push_back({number_of(random, type), number_of(random, type), number_of(random, type)});
      dims.emplace_back(to_dims(inputs.back()));
    }
    const auto right = computed(formula, inputs);
    const auto said = evaluate_symbolic(formula, 0, dims);
    if (!right || !said) continue;
    ++known;
    ASSERT_EQ(*concrete(*said), *right->integers()) << "round " << round << ": " << text(formula);
  }
  EXPECT_GT(known, 2000);
}

// How many of 4000 drawn formulas it knows in symbols; each is compared at sizes of at most 2^extent_bits, as
// are their products.
int count_known(int extent_bits, std::span<const std::pair<int, int>> sizes) {
  std::mt19937_64 random(21);
  const Dim n = Dim::symbol("n"), m = Dim::symbol("m");
  const Dims some[] = {
      {n, m, n + m}, {n * m, Dim::mod(n, 100), 3}, {Dim::min(n, 90), n - m, Dim::floor(m, 3)}};
  constexpr ElementType kMostlyWide[] = {ElementType::Int64, ElementType::Int64,  ElementType::Int64,
                                         ElementType::Int64, ElementType::Uint64, ElementType::Int32};
  SymbolProducts products(extent_bits);
  products.add({n, m});
  int known = 0;
  for (int round = 0; round < 4000; ++round) {
    const Formula formula = drawn_formula(random, kMostlyWide, 2);
    std::vector<std::optional<Dims>> dims;
    for (const ElementType type : kIntegers) {
      if (type == ElementType::Int64) dims.emplace_back(some[random() % 3]);
      else if (type == ElementType::Uint64) dims.emplace_back(Dims{n, n * m, Dim::max(n, m)});
      else dims.emplace_back(Dims{number_of(random, type), number_of(random, type), 1});
    }
    const auto said = evaluate_symbolic(formula, 0, dims, 4096, products);
    if (!said) continue;
    const bool is_symbolic = !is_concrete(*said);
    for (const auto& [a, b] : sizes) {
      const auto at = [&](std::string_view name) { return std::optional<std::int64_t>(name == "n" ? a : b); };
      std::vector<std::vector<std::int64_t>> inputs;
      for (const auto& d : dims) {
        inputs.emplace_back();
        for (const Dim& x : *d) inputs.back().push_back(*x.evaluate(at));
      }
      const auto right = computed(formula, inputs);
      if (!right) continue;
      std::vector<std::int64_t> values;
      for (const Dim& x : *said) values.push_back(*x.evaluate(at));
      EXPECT_EQ(values, *right->integers())
          << "round " << round << ", n = " << a << ", m = " << b << ": " << text(formula);
    }
    known += static_cast<int>(is_symbolic);
  }
  return known;
}

TEST(Symbolic, IsRightForEverySizeWhereItKnowsSomething) {
  constexpr std::pair<int, int> kSizes[] = {{0, 0},     {1, 7},        {99, 3},
                                            {130, 250}, {300, 40'000}, {70'000, 70'001}};
  EXPECT_GT(count_known(kExtentBits, kSizes), 100);
}

TEST(Symbolic, IsRightInNarrowTypesWhereExtentsAreSmall) {
  constexpr std::pair<int, int> kSizes[] = {{0, 0},     {1, 7},        {99, 3},
                                            {130, 250}, {300, 40'000}, {16'777'216, 1}};
  EXPECT_GT(count_known(24, kSizes), count_known(kExtentBits, kSizes));
}

TEST(Symbolic, KnowsThatAPooledExtentIsSmallBesideABatch) {
  const Dim n = Dim::symbol("n"), w = Dim::symbol("w");
  SymbolProducts products;
  products.add({n, 3, w});
  const Dim pooled = Dim::floor(Dim::floor(w + Dim(1), 2) + Dim(1), 2);
  EXPECT_TRUE(products.fits(pooled, 62));
  EXPECT_TRUE(products.fits(n * w, 62));
  EXPECT_FALSE(products.fits(pooled * pooled, 62));
  products.add({n, pooled * pooled});  // what is an extent of a tensor is no larger than extents are
  EXPECT_TRUE(products.fits(pooled * pooled, 62));
}

}  // namespace
}  // namespace isomer
