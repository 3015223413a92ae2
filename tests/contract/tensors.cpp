#include "contract/tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "model/eval/field.h"
#include "model/eval/program.h"
#include "model/expr/formula.h"

namespace isomer::contract {
namespace {

std::size_t element_bytes(const Tensor& tensor) { return static_cast<std::size_t>(bits(tensor.type())) / 8; }

Extents position_of(std::int64_t linear, const Extents& extents) {
  Extents position(extents.size(), 0);
  for (std::size_t i = extents.size(); i-- > 0; linear /= extents[i]) position[i] = linear % extents[i];
  return position;
}

bool is_inside(const Extents& position, const Box& box) {
  for (std::size_t i = 0; i < position.size(); ++i)
    if (position[i] < box.low[i] || position[i] >= box.high[i]) return false;
  return true;
}

}  // namespace

std::uint64_t Random::next() { return mix(state_++); }

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
}

Tensor random_like(const Tensor& tensor, Random& random) {
  if (tensor.type() == ElementType::Field) {
    std::vector<std::uint64_t> values(static_cast<std::size_t>(tensor.count()));
    std::ranges::generate(values, [&] { return random.next() % Zp::kModulus; });
    return Tensor::of(tensor.type(), tensor.extents(), values);
  }
  if (is_float(tensor.type())) {
    std::vector<double> values(static_cast<std::size_t>(tensor.count()));
    std::ranges::generate(values, [&] { return static_cast<double>(random.between(-4000, 4000)) / 1000; });
    return convert(Tensor::of(ElementType::Double, tensor.extents(), values), tensor.type());
  }
  Buffer data(tensor.bytes().size);
  const std::size_t size = element_bytes(tensor);
  for (std::size_t at = 0; at < data.size(); at += size)
    std::memcpy(data.data() + at,
                tensor.bytes().data + size * static_cast<std::size_t>(random.between(0, tensor.count() - 1)),
                size);
  return {tensor.type(), tensor.extents(), std::move(data).freeze()};
}

Tensor zeros_like(const Tensor& tensor) {
  return {tensor.type(), tensor.extents(), Buffer(tensor.bytes().size).freeze()};
}

Tensor random_scalar(ElementType type, Random& random) {
  if (type == ElementType::Field) return Tensor::of<std::uint64_t>(type, {}, {random.next() % Zp::kModulus});
  const std::int64_t value = type == ElementType::Bool ? random.between(0, 1) : random.between(2, 5);
  return convert(Tensor::of<std::int64_t>(ElementType::Int64, {}, {value}), type);
}

Tensor combine(const Tensor& a, const Tensor& x, const Tensor& b, const Tensor& y) {
  const TensorType scalar{x.type(), {}}, tensor{x.type(), to_dims(x.extents())};
  FormulaBuilder f({scalar, tensor, scalar, tensor});
  const auto p = f.axes(tensor.shape);
  const Expr ax[] = {f.input(0)(), f.input(1).at(to_indices(p))},
             by[] = {f.input(2)(), f.input(3).at(to_indices(p))};
  if (x.type() == ElementType::Bool)  // the field of two elements
    f.output(p, apply(Fn::Xor, {apply(Fn::And, {ax[0], ax[1]}), apply(Fn::And, {by[0], by[1]})}));
  else f.output(p, ax[0] * ax[1] + by[0] * by[1]);
  return Program::compile(std::move(f).finish()).run({a, x, b, y}).value().front();
}

Tensor poison(const Tensor& tensor, const std::optional<Box>& keep, const Tensor& other) {
  Buffer data(tensor.bytes().size);
  const std::size_t size = element_bytes(tensor);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const bool kept = keep && is_inside(position_of(i, tensor.extents()), *keep);
    const std::size_t at = static_cast<std::size_t>(i) * size;
    std::memcpy(data.data() + at, (kept ? tensor : other).bytes().data + at, size);
  }
  return {tensor.type(), tensor.extents(), std::move(data).freeze()};
}

Inputs lifted_to_double(const Inputs& inputs) {
  Inputs lifted = inputs;
  for (auto& input : lifted)
    if (input && is_float(input->type())) input = convert(*input, ElementType::Double);
  return lifted;
}

Inputs lifted_to_field(const Inputs& inputs, Random& random) {
  Inputs lifted = inputs;
  for (auto& input : lifted) {
    if (!input || !is_float(input->type())) continue;
    const auto size = *byte_size(ElementType::Field, input->extents());
    input = random_like(Tensor(ElementType::Field, input->extents(), Buffer(size).freeze()), random);
  }
  return lifted;
}

std::optional<std::string> difference(const Tensor& actual, const Tensor& expected, double tolerance) {
  if (actual.type() != expected.type() || actual.extents() != expected.extents())
    return fmt::format("{} instead of {}", text(TensorType{actual.type(), to_dims(actual.extents())}),
                       text(TensorType{expected.type(), to_dims(expected.extents())}));
  if (actual.same_bits(expected)) return std::nullopt;
  if (!is_float(actual.type()) || actual.type() == ElementType::Field)
    return difference_inside(actual, expected,
                             Box{Extents(expected.extents().size(), 0), expected.extents()});

  const auto a = actual.doubles().value(), e = expected.doubles().value();
  double largest = 0;
  for (const double value : e)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < e.size(); ++i) {
    const bool same = a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i])) ||
                      std::abs(a[i] - e[i]) <= tolerance * largest;
    if (same) continue;
    return fmt::format("{} instead of {} at [{}], largest magnitude {}", a[i], e[i],
                       fmt::join(position_of(static_cast<std::int64_t>(i), expected.extents()), ", "),
                       largest);
  }
  return std::nullopt;
}

std::optional<std::string> difference_inside(const Tensor& actual, const Tensor& expected, const Box& box) {
  const std::size_t size = element_bytes(expected);
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const Extents position = position_of(i, expected.extents());
    const std::size_t at = static_cast<std::size_t>(i) * size;
    if (!is_inside(position, box) ||
        std::memcmp(actual.bytes().data + at, expected.bytes().data + at, size) == 0)
      continue;
    return fmt::format("other bits at [{}]", fmt::join(position, ", "));
  }
  return std::nullopt;
}

}  // namespace isomer::contract
