#include "contract/drawn_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/hash.h"
#include "contract/samples/samples.h"

namespace isomer::contract {
namespace {

constexpr std::int64_t kMostKnownIntegers = 4096;  // as many as inference follows

std::string text_of(const Attribute::Value& value) {
  struct Visitor {
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(float v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const { return '"' + v + '"'; }
    std::string operator()(const Tensor& v) const { return text(TensorType{v.type(), to_dims(v.extents())}); }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      return fmt::format("[{}]", fmt::join(v, ", "));
    }
    std::string operator()(const std::vector<float>& v) const {
      return fmt::format("[{}]", fmt::join(v, ", "));
    }
    std::string operator()(const std::vector<std::string>& v) const {
      return fmt::format("[{}]", fmt::join(v, ", "));
    }
    std::string operator()(const RawAttribute&) const { return "(raw)"; }
  };
  return std::visit(Visitor{}, value);
}

}  // namespace

Call::Input describe(const Tensor& value, bool is_constant) {
  Call::Input input{.type = {value.type(), to_dims(value.extents())}};
  if (!is_constant) return input;
  input.constant = value;
  if (value.count() <= kMostKnownIntegers)
    if (const auto values = value.integers()) input.integers = to_dims(*values);
  return input;
}

DrawnCase draw_case(const Operator& op, int number) {
  const std::uint64_t seed = Hasher().add(op.domain).add(op.name).add(number).digest().high;
  const int first = op.domain.empty() ? std::max(op.since, kOldestOpset) : op.since;
  const int last = op.domain.empty() ? std::min(op.last, kNewestOpset) : op.since;
  const int opset = first + static_cast<int>(mix(seed) % static_cast<std::uint64_t>(last - first + 1));

  Sampler sampler(seed, opset);
  samples::draw(op, sampler);
  DrawnCase drawn;
  drawn.op = &op;
  drawn.number = number;
  drawn.call.opset = opset;
  drawn.call.attributes = sampler.attributes;
  drawn.call.output_count = sampler.output_count;
  for (const Sampler::Drawn& input : sampler.inputs) {
    const bool absent = input.type == ElementType::Undefined;
    drawn.call.inputs.push_back(absent ? std::nullopt : std::optional(describe(input.value, input.constant)));
    drawn.inputs.push_back(absent ? std::nullopt : std::optional(input.value));
    drawn.is_constant.push_back(input.constant);
  }
  return drawn;
}

std::string DrawnCase::text() const {
  std::string result = fmt::format("{}, case {}, opset {}:", op->name, number, call.opset);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    result += i == 0 ? " " : ", ";
    if (!call.inputs[i]) {
      result += "absent";
      continue;
    }
    result += isomer::text(call.inputs[i]->type);
    if (is_constant[i] && inputs[i]->count() <= 8)
      if (const auto values = inputs[i]->integers())
        result += fmt::format("={{{}}}", fmt::join(*values, ", "));
  }
  for (const Attribute& attribute : call.attributes.all())
    result += fmt::format("; {}={}", attribute.name, text_of(attribute.value));
  return result;
}

}  // namespace isomer::contract
