// Laws of unbounded integers, tested on integers that wrap: the interpreter computes what the sets prove at
// the limits of each type.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "kernel/prove/prove.h"
#include "model/eval/program.h"
#include "model/graph/interpret.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

struct Type {
  std::string name;
  ElementType type;
  std::int64_t low, high;
};
template <class T>
Type type_of(std::string name, ElementType type) {
  return {std::move(name), type, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}
const std::vector<Type>& types() {
  static const std::vector<Type> kTypes{type_of<std::int8_t>("int8", ElementType::Int8),
                                        type_of<std::uint8_t>("uint8", ElementType::Uint8),
                                        type_of<std::int32_t>("int32", ElementType::Int32),
                                        type_of<std::uint32_t>("uint32", ElementType::Uint32),
                                        type_of<std::int64_t>("int64", ElementType::Int64)};
  return kTypes;
}

// Both sides of laws over the integers, in prefix notation; A and B stand for anything. Some hold in a ring
// that wraps, too.
constexpr std::pair<const char*, const char*> kLaws[] = {
    {"(Add A B)", "(Add B A)"},
    {"(Mul A (Add A B))", "(Add (Mul A A) (Mul A B))"},
    {"(Add A A)", "(Mul A 2)"},
    {"(Sub (Add A B) B)", "A"},
    {"(Div (Mul A 2) 2)", "A"},
    {"(Div (Add A A) 2)", "A"},
    {"(Mul (Max A B) 2)", "(Max (Mul A 2) (Mul B 2))"},
    {"(Sub (Max A B) B)", "(Max (Sub A B) 0)"},
    {"(Max (Add A 1) A)", "(Add A 1)"},
    {"(Max (Mul A A) 0)", "(Mul A A)"},
    {"(Add (Max A B) (Min A B))", "(Add A B)"},
    {"(Where (Less A B) B A)", "(Max A B)"},
    {"(Where (Less (Sub A B) 0) B A)", "(Max A B)"},
    {"(Where (Less (Mul A 2) (Mul B 2)) B A)", "(Max A B)"},
    {"(Where (Less A (Add A 1)) A B)", "A"},
    {"(Where (Equal (Mul A 2) (Mul B 2)) A B)", "B"},
    {"(Where (Less (Mul A A) 0) B A)", "A"},
    {"(Cast (Add A B))", "(Add (Cast A) (Cast B))"},
    {"(Cast (Mul A 2))", "(Mul (Cast A) 2)"},
    {"(Mod (Add A 4) 4)", "(Mod A 4)"},
    {"(Mod (Mul A 6) 3)", "0"},
    {"(Sub A (Mod A 4))", "(Mul (Div A 4) 4)"},
    {"(Abs (Mul A 2))", "(Mul (Abs A) 2)"},
    {"(Max (Abs A) 0)", "(Abs A)"},
    {"(Abs (Sub A B))", "(Abs (Sub B A))"},
    {"(Mul (Mul A 16) 16)", "0"},
};

// The program of an expression over x and z. Cast goes to 64 bits, and so are numbers beside what is cast.
class Writer {
 public:
  explicit Writer(const Type& type) : narrow_(type.name) {}

  Graph program(const std::string& expression) {
    text_ = expression;
    const auto [last, type] = read(narrow_);
    return testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]> g (" + narrow_ + "[n] x, " + narrow_ +
                           "[n] z) => (y) <" + constants_ + narrow_ + " unused = {0}> {\n" + body_ +
                           "y = Identity(" + last + ")\n}");
  }

 private:
  struct Named {
    std::string name, type;
  };
  std::string word() {
    const std::size_t end = text_.find_first_of(" ()", at_);
    std::string out = text_.substr(at_, end - at_);
    at_ = std::min(end, text_.size());
    return out;
  }
  Named constant(const std::string& value, const std::string& type) {
    const std::string name = "k" + std::to_string(count_++);
    constants_ += type + " " + name + " = {" + value + "}, ";
    return {name, type};
  }
  Named read(const std::string& type) {
    if (text_[at_] != '(') {
      const std::string leaf = word();
      return leaf == "x" || leaf == "z" ? Named{leaf, narrow_} : constant(leaf, type);
    }
    ++at_;
    const std::string op = word();
    std::vector<std::string> args;
    std::string of = type;
    while (text_[at_] == ' ') {
      ++at_;
      const Named arg = read(of);
      args.push_back(arg.name);
      if (op != "Where" || args.size() > 1) of = arg.type;
    }
    ++at_;
    const std::string name = "v" + std::to_string(count_++);
    body_ += name + " = " + op + (op == "Cast" ? "<to=7>(" : "(") + args[0];
    for (std::size_t k = 1; k < args.size(); ++k) body_ += ", " + args[k];
    body_ += ")\n";
    return {name, op == "Cast" ? "int64" : of};
  }
  std::string narrow_, text_, body_, constants_;
  std::size_t at_ = 0;
  int count_ = 0;
};

std::string with(std::string text, char place, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos;) {
    const bool is_word = (at == 0 || (text[at - 1] == ' ' || text[at - 1] == '(')) &&
                         (at + 1 == text.size() || (text[at + 1] == ' ' || text[at + 1] == ')'));
    if (is_word) text.replace(at, 1, by);
    at += is_word ? by.size() : 1;
  }
  return text;
}

NamedTensors at_the_limits(const Type& type) {
  std::vector<std::int64_t> some{
      type.low,          type.low + 1,  0,        1, 2, 5, type.high / 3, type.high / 2,
      type.high / 2 + 1, type.high - 1, type.high};
  if (type.low < 0) some.insert(some.end(), {-1, -2, -7, type.low / 2, type.low / 2 - 1});
  std::vector<std::int64_t> x, z;
  for (const std::int64_t a : some)
    for (const std::int64_t b : some) {
      x.push_back(a);
      z.push_back(b);
    }
  const auto tensor = [&](const std::vector<std::int64_t>& values) {
    return convert(Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(values.size())}, values),
                   type.type);
  };
  return {{"x", tensor(x)}, {"z", tensor(z)}};
}

TEST(Integers, WhatTheSetsProveOfThemHoldsAtTheLimitsOfTheirType) {
  constexpr const char* kParts[] = {"x",         "z",         "(Add x z)", "(Mul x z)",
                                    "(Sub x 1)", "(Mul x 3)", "(Max x z)", "100"};
  constexpr const char* kAround[] = {
      "_", "_", "(Add _ z)", "(Max _ z)", "(Mul _ _)", "(Div _ 3)", "(Where (Less _ z) x _)"};
  std::mt19937_64 random(5);
  const auto one_of = [&](const auto& list) { return list[random() % std::size(list)]; };
  int proved = 0, refused = 0;
  for (int round = 0; round < 400; ++round) {
    const Type& type = one_of(types());
    const auto [left, right] = one_of(kLaws);
    const std::string a = one_of(kParts), b = one_of(kParts);
    const bool is_wide = std::string_view(left).find("Cast") != std::string_view::npos;
    const std::string around = is_wide ? "_" : one_of(kAround);
    const auto made = [&](const std::string& side) {
      return Writer(type).program(with(around, '_', with(with(side, 'A', a), 'B', b)));
    };
    const Graph p = made(left), q = made(right);
    const Verdict verdict = prove_equal(p, q, {.field = false});
    if (!std::holds_alternative<Proved>(verdict)) {
      ++refused;
      continue;
    }
    ++proved;
    const NamedTensors feeds = at_the_limits(type);
    const auto u = interpret(p, feeds), v = interpret(q, feeds);
    ASSERT_TRUE(u.ok() && v.ok() && !u->opaque && !v->opaque);
    EXPECT_TRUE(u->outputs.at("y").same_bits(v->outputs.at("y")))
        << type.name << ": " << around << " of " << left << " and " << right << ", A = " << a
        << ", B = " << b;
  }
  EXPECT_GT(proved, 20);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace isomer
