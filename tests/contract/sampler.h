// Sampler: draws one legal call of an operator: shapes, types, attributes and constants. Everything random
// comes from here, and everything that it draws follows from its seed, on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ops/operator.h"

namespace isomer::contract {

class Sampler {
 public:
  explicit Sampler(std::uint64_t seed, int opset) : state_(seed), opset_(opset) {}
  int opset() const { return opset_; }
  std::int64_t between(std::int64_t low, std::int64_t high);  // inclusive
  bool chance(double probability);
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[between(0, static_cast<std::int64_t>(choices.size()) - 1)];
  }
  Extents shape(int low_rank, int high_rank, std::int64_t high_extent = 5);
  // Extents that broadcast with the given ones.
  Extents broadcastable(const Extents& with);
  std::vector<std::int64_t> permutation(int n);

  // What values an input's elements take; unsigned types take the part of it that is not negative.
  enum class Values : std::uint8_t {
    Normal /* both signs */,
    Positive,
    Unit /* -1..1 */,
    Small /* integers -3..3 as any type */,
    AboveOne,
    NonZero /* both signs */,
    Halves /* multiples of 1/2, -3..3 */,
    Wide /* integers of any bits */,
    Special /* NaN, infinities and -0 among others */
  };
  void input(ElementType type, const Extents& extents, Values values = Values::Normal);
  void constant(Tensor value);                             // an input with known value: an initializer
  void integers(const std::vector<std::int64_t>& values);  // constant int64 vector
  void absent();
  void attribute(std::string name, Attribute::Value value);
  void outputs(int count) { output_count = count; }

  struct Drawn {
    ElementType type = ElementType::Undefined;  // Undefined: absent
    Tensor value;
    bool constant = false;
  };
  std::vector<Drawn> inputs;
  Attributes attributes;
  int output_count = 1;

 private:
  std::uint64_t next();
  double draw(ElementType type, Values values);
  std::uint64_t state_;
  int opset_;
};

// Types of samples: onnxruntime has kernels of most elementwise operators for one of these lists.
using TypeList = std::initializer_list<ElementType>;
inline constexpr TypeList kFloats{ElementType::Float, ElementType::Double};
inline constexpr TypeList kIntegers{ElementType::Int8,   ElementType::Int16, ElementType::Int32,
                                    ElementType::Int64,  ElementType::Uint8, ElementType::Uint16,
                                    ElementType::Uint32, ElementType::Uint64};
inline constexpr TypeList kNumbers{
    ElementType::Float, ElementType::Double, ElementType::Int8,   ElementType::Int16,  ElementType::Int32,
    ElementType::Int64, ElementType::Uint8,  ElementType::Uint16, ElementType::Uint32, ElementType::Uint64};
inline constexpr TypeList kWideNumbers{ElementType::Float, ElementType::Double, ElementType::Int32,
                                       ElementType::Int64, ElementType::Uint32, ElementType::Uint64};
// What every operator that only moves data takes there, the frequent ones more often.
inline constexpr TypeList kMovable{
    ElementType::Float, ElementType::Float, ElementType::Float, ElementType::Double, ElementType::Int64,
    ElementType::Int64, ElementType::Int32, ElementType::Uint8, ElementType::Int8,   ElementType::Bool};
// Samples of elementwise operators: one input, or two that broadcast with each other, of one of the types.
void sample_unary(Sampler& s, TypeList types, Sampler::Values values = Sampler::Values::Normal);
void sample_binary(Sampler& s, TypeList types, Sampler::Values values = Sampler::Values::Normal);
// One to four inputs that broadcast together.
void sample_variadic(Sampler& s, TypeList types, Sampler::Values values = Sampler::Values::Normal);

}  // namespace isomer::contract
