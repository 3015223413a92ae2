#include "contract/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/hash.h"

namespace isomer::contract {
namespace {

bool is_unsigned(ElementType type) { return is_integer(type) && !is_signed_integer(type); }

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// Whole numbers for integer types; the caller keeps them inside of the type's range.
void store(std::byte* at, ElementType type, double value) {
  const auto whole = static_cast<std::int64_t>(is_float(type) ? 0.0 : value);
  switch (type) {
    case ElementType::Float: return put(at, static_cast<float>(value));
    case ElementType::Double: return put(at, value);
    case ElementType::Float16: return put(at, float_to_float16(static_cast<float>(value)));
    case ElementType::BFloat16: return put(at, float_to_bfloat16(static_cast<float>(value)));
    case ElementType::Bool: return put(at, static_cast<std::uint8_t>(whole != 0));
    default:
      std::memcpy(at, &whole, static_cast<std::size_t>(bits(type)) / 8);  // little-endian: the low bytes
  }
}

}  // namespace

std::uint64_t Sampler::next() {
  state_ = mix(state_);
  return state_;
}

std::int64_t Sampler::between(std::int64_t low, std::int64_t high) {
  ISOMER_CHECK(low <= high);
  const std::uint64_t count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + (count == 0 ? next() : next() % count));
}

bool Sampler::chance(double probability) { return static_cast<double>(next() >> 11) * 0x1p-53 < probability; }

Extents Sampler::shape(int low_rank, int high_rank, std::int64_t high_extent) {
  Extents out(static_cast<std::size_t>(between(low_rank, high_rank)));
  for (std::int64_t& e : out) e = between(1, high_extent);
  return out;
}

Extents Sampler::broadcastable(const Extents& with) {
  Extents out(with.begin() + between(0, static_cast<std::int64_t>(with.size())), with.end());
  for (std::int64_t& e : out) {
    if (e == 1) e = between(1, 4);
    else if (chance(0.3)) e = 1;
  }
  if (out.size() == with.size() && chance(0.1)) out.insert(out.begin(), between(1, 3));
  return out;
}

std::vector<std::int64_t> Sampler::permutation(int n) {
  std::vector<std::int64_t> out;
  for (int i = 0; i < n; ++i) out.insert(out.begin() + between(0, i), i);
  return out;
}

double Sampler::draw(ElementType type, Values values) {
  if (type == ElementType::Bool) return chance(0.5) ? 1 : 0;
  const double low = is_unsigned(type) ? 0 : -1;
  const auto whole = [&](double first, double last) {
    return static_cast<double>(between(static_cast<std::int64_t>(first), static_cast<std::int64_t>(last)));
  };
  const auto uniform = [&](double first, double last) {
    return first + (last - first) * static_cast<double>(next() >> 11) * 0x1p-53;
  };
  const auto normal = [&] {
    return (uniform(-1, 1) + uniform(-1, 1) + uniform(-1, 1));
  };  // variance 1, within -3..3
  switch (values) {
    case Values::Normal: return is_float(type) ? normal() : whole(20 * low, 20);
    case Values::Positive: return is_float(type) ? uniform(0.1, 2) : whole(1, 20);
    case Values::Unit: return is_float(type) ? uniform(-0.95, 0.95) : whole(low, 1);
    case Values::Small: return whole(3 * low, 3);
    case Values::AboveOne: return is_float(type) ? uniform(1.01, 4) : whole(2, 20);
    case Values::NonZero:
      return (low < 0 && chance(0.5) ? -1 : 1) * (is_float(type) ? uniform(0.5, 3) : whole(1, 20));
    case Values::Halves: return is_float(type) ? whole(-6, 6) / 2 : whole(3 * low, 3);
    case Values::Wide: return normal() * std::exp2(whole(-8, 8));  // integers are drawn by bits, see input()
    case Values::Special: {
      constexpr double inf = std::numeric_limits<double>::infinity();
      if (!is_float(type)) return whole(3 * low, 3);
      return chance(0.5) ? normal() : pick({std::numeric_limits<double>::quiet_NaN(), inf, -inf, 0.0, -0.0});
    }
  }
  return 0;
}

void Sampler::input(ElementType type, const Extents& extents, Values values) {
  ISOMER_CHECK(is_computable(type) && bits(type) >= 8);
  const std::size_t width = static_cast<std::size_t>(bits(type)) / 8;
  Buffer buffer(*byte_size(type, extents));
  for (std::size_t at = 0; at < buffer.size(); at += width) {
    if (values == Values::Wide && is_integer(type)) {
      const std::uint64_t any = next();
      std::memcpy(buffer.data() + at, &any, width);
    } else {
      store(buffer.data() + at, type, draw(type, values));
    }
  }
  inputs.push_back(
      {.type = type, .value = Tensor(type, extents, std::move(buffer).freeze()), .constant = false});
}

void Sampler::constant(Tensor value) {
  const ElementType type = value.type();
  inputs.push_back({.type = type, .value = std::move(value), .constant = true});
}

void Sampler::integers(const std::vector<std::int64_t>& values) {
  constant(Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(values.size())}, values));
}

void Sampler::absent() { inputs.emplace_back(); }

void Sampler::attribute(std::string name, Attribute::Value value) {
  attributes.set(std::move(name), std::move(value));
}

namespace {

// Mostly ordinary, sometimes without elements.
Extents sample_shape(Sampler& s) {
  Extents shape = s.shape(0, 4);
  if (!shape.empty() && s.chance(0.05))
    shape[static_cast<std::size_t>(s.between(0, static_cast<std::int64_t>(shape.size()) - 1))] = 0;
  return shape;
}

}  // namespace

void sample_unary(Sampler& s, TypeList types, Sampler::Values values) {
  const ElementType type = s.pick(types);
  s.input(type, sample_shape(s), values);
}

void sample_binary(Sampler& s, TypeList types, Sampler::Values values) {
  const ElementType type = s.pick(types);
  const Extents a = sample_shape(s), b = s.broadcastable(a);
  const bool swap = s.chance(0.5);
  s.input(type, swap ? b : a, values);
  s.input(type, swap ? a : b, values);
}

void sample_variadic(Sampler& s, TypeList types, Sampler::Values values) {
  const ElementType type = s.pick(types);
  const Extents shape = sample_shape(s);
  const std::int64_t count = s.between(1, 4);
  for (std::int64_t k = 0; k < count; ++k) {
    Extents part(
        shape.begin() + (k == 0 || s.opset() < 8 ? 0 : s.between(0, static_cast<std::int64_t>(shape.size()))),
        shape.end());
    for (std::int64_t& e : part)
      if (s.opset() >= 8 && s.chance(0.2)) e = 1;  // variadic operators broadcast since opset 8
    s.input(type, part, values);
  }
}

}  // namespace isomer::contract
