// isomer-contraction-speed: milliseconds of one 3x3 convolution of 64 channels at 56x56, on one core, through
// Conv's formula and Program, in float, double and the field. Exit 1 if a target is missed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>

#include "base/hash.h"
#include "model/eval/program.h"
#include "model/ops/operator.h"

namespace isomer {
namespace {

constexpr std::int64_t kChannels = 64, kSize = 56, kKernel = 3;
constexpr int kRuns = 7;  // the median of them counts
constexpr double kFloatTargetMs = 60;
constexpr double kDoubleTargetMs = 120;
constexpr double kFieldFactor =
    5;  // of the time in double, as measured: a product mod p is a 128-bit product, reduced once in 32

Tensor random(ElementType type, const Extents& extents) {
  std::vector<float> values(static_cast<std::size_t>(*element_count(extents)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(mix(i) % 2001) / 1000 - 1;
  return convert(Tensor::of(ElementType::Float, extents, values), type);
}

double median_ms(const Program& program, const std::vector<std::optional<Tensor>>& inputs) {
  std::vector<double> times;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    (void)program.run(inputs).value();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

double measure(ElementType type) {
  const Extents x{1, kChannels, kSize, kSize}, w{kChannels, kChannels, kKernel, kKernel};
  Call call;
  call.opset = 13;
  call.inputs = {Call::Input{.type = {ElementType::Float, to_dims(x)}},
                 Call::Input{.type = {ElementType::Float, to_dims(w)}}};
  call.attributes.set("pads", std::vector<std::int64_t>{1, 1, 1, 1});
  const auto formula = std::get<Formula>(define(*find_operator("", "Conv"), call));
  const auto program = Program::compile(type == ElementType::Float ? formula : lift(formula, type));
  return median_ms(program, {random(type, x), random(type, w)});
}

int report() {
  bool met = true;
  const double gigaflop = 2e-9 * kChannels * kChannels * kKernel * kKernel * kSize * kSize;
  const auto row = [&](std::string_view name, double ms, double target) {
    met &= ms <= target;
    fmt::print("{:<8}{:>8.1f} ms{:>8.1f} G/s   target {:>6.1f} ms   {}\n", name, ms, gigaflop / ms * 1000,
               target, ms <= target ? "met" : "MISSED");
  };
  const double in_double = measure(ElementType::Double), in_field = measure(ElementType::Field);
  row("float", measure(ElementType::Float), kFloatTargetMs);
  row("double", in_double, kDoubleTargetMs);
  row("field", in_field, kFieldFactor * in_double);
  fmt::print("field / double = {:.1f}\n", in_field / in_double);
  return met ? 0 : 1;
}

}  // namespace
}  // namespace isomer

int main() { return isomer::report(); }
