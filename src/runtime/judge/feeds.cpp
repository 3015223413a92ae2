#include "runtime/judge/feeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace isomer {
namespace {

class Source {
 public:
  explicit Source(std::uint64_t seed) : state_(mix(seed)) {}
  std::uint64_t word() { return state_ = mix(state_); }
  double uniform() { return (static_cast<double>(word() >> 11) + 0.5) * 0x1p-53; }
  double normal() {  // Box and Muller
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::acos(-1.0) * uniform());
  }
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(word() % static_cast<std::uint64_t>(bound));
  }

 private:
  std::uint64_t state_;
};

template <class T, class Draw>
Tensor filled(ElementType type, const Extents& extents, const Draw& draw) {
  std::vector<T> values(static_cast<std::size_t>(element_count(extents).value_or(0)));
  for (T& value : values) value = static_cast<T>(draw());
  return Tensor::of(type, extents, values);
}

template <class Draw>
std::optional<Tensor> fill(ElementType type, const Extents& extents, const Draw& draw) {
  switch (type) {
    case ElementType::Float: return filled<float>(type, extents, draw);
    case ElementType::Double: return filled<double>(type, extents, draw);
    case ElementType::Float16:
      return filled<std::uint16_t>(type, extents,
                                   [&] { return float_to_float16(static_cast<float>(draw())); });
    case ElementType::BFloat16:
      return filled<std::uint16_t>(type, extents,
                                   [&] { return float_to_bfloat16(static_cast<float>(draw())); });
    case ElementType::Bool:
    case ElementType::Uint8: return filled<std::uint8_t>(type, extents, draw);
    case ElementType::Int8: return filled<std::int8_t>(type, extents, draw);
    case ElementType::Uint16: return filled<std::uint16_t>(type, extents, draw);
    case ElementType::Int16: return filled<std::int16_t>(type, extents, draw);
    case ElementType::Uint32: return filled<std::uint32_t>(type, extents, draw);
    case ElementType::Int32: return filled<std::int32_t>(type, extents, draw);
    case ElementType::Uint64: return filled<std::uint64_t>(type, extents, draw);
    case ElementType::Int64: return filled<std::int64_t>(type, extents, draw);
    default: return std::nullopt;
  }
}

// How long the samples of a batch are, for an input that says it of each: the second axis of another input
// with as many of them. 0: it says something else.
std::int64_t told_length(const std::string& name, const Extents& extents, const InferOptions& sizes) {
  if (extents.size() != 1 || !has_word(name, {"len"}) || has_word(name, {"seqlens", "past", "total"}))
    return 0;
  std::int64_t longest = 0;
  for (const auto& [other, shape] : sizes.shapes)
    if (other != name && shape.size() >= 2 && shape[0] == extents[0]) longest = std::max(longest, shape[1]);
  return longest;
}

std::optional<Tensor> draw_feed(const std::string& name, ElementType type, const Extents& extents,
                                std::int64_t indexed, Source& source) {
  if (has_word(name, {"mask"}) || type == ElementType::Bool) return fill(type, extents, [] { return 1.0; });
  if (is_float(type)) return fill(type, extents, [&] { return source.normal(); });
  // An index fits its own type: a byte into a table of thousands.
  const std::int64_t most = bits(type) == 8 ? 127 : bits(type) == 16 ? 32767 : 2147483647;
  const std::int64_t bound = std::clamp<std::int64_t>(indexed > 0 ? indexed : 2, 1, most);
  return fill(type, extents, [&] { return static_cast<double>(source.below(bound)); });
}

}  // namespace

std::optional<Tensor> filled_tensor(ElementType type, const Extents& extents, double number) {
  if (!is_computable(type)) return std::nullopt;
  if (type == ElementType::Bool && number != 0 && number != 1) return std::nullopt;
  const bool is_signed = type == ElementType::Int8 || type == ElementType::Int16 ||
                         type == ElementType::Int32 || type == ElementType::Int64;
  const double most = std::ldexp(1.0, std::min(53, bits(type) - (is_signed ? 1 : 0)));  // what doubles hold
  if (is_integer(type) &&
      (number != std::floor(number) || number >= most || number < (is_signed ? -most : 0)))
    return std::nullopt;
  return fill(type, extents, [&] { return number; });
}

Result<NamedTensors> draw_feeds(const Graph& graph, const ChosenSizes& sizes, const Inference* inference,
                                const FilledInputs& filled, std::uint64_t seed) {
  NamedTensors feeds;
  Source source(seed);
  for (const Value input : graph.inputs()) {
    if (!needs_feed(graph, input)) continue;
    const std::string& name = graph.name_of(input);
    const ElementType type = graph.node(input.node).declared.type;
    const Extents& extents = sizes.options.shapes.find(name)->second;
    if (!byte_size(type, extents))
      return Error{fmt::format("input '{}' has a size that no tensor has", name)};
    std::optional<Tensor> tensor;
    const std::int64_t length = is_integer(type) ? told_length(name, extents, sizes.options) : 0;
    if (const auto number = filled.find(name); number != filled.end()) {
      tensor = filled_tensor(type, extents, number->second);
      if (!tensor)
        return Error{fmt::format("--value {}={:g}: the input is {}, and the number is not of that type", name,
                                 number->second, isomer::name(type))};
    } else if (length > 0) {
      tensor = filled_tensor(type, extents, static_cast<double>(length));
    } else {
      const bool may_index = inference != nullptr && is_integer(type);
      tensor =
          draw_feed(name, type, extents, may_index ? indexed_extent(graph, *inference, input) : 0, source);
    }
    if (!tensor)
      return Error{fmt::format("inputs of type {} can't be generated: give '{}' with --feeds",
                               isomer::name(type), name)};
    feeds.emplace(name, std::move(*tensor));
  }
  return feeds;
}

Result<GeneratedFeeds> generate_feeds(const Graph& graph, const InferOptions& options, std::uint64_t seed) {
  ISOMER_TRY(const ChosenSizes chosen, choose_sizes(graph, options));
  // An input that can't be inferred has no known index range; the runtime reports a fault.
  const auto inferred = infer(graph, chosen.options);
  GeneratedFeeds out;
  ISOMER_TRY(out.tensors, draw_feeds(graph, chosen, inferred.ok() ? &*inferred : nullptr, {}, seed));
  for (const AssumedSize& a : chosen.assumed)
    out.assumed += fmt::format("{}{}={}", out.assumed.empty() ? "" : ", ", a.name, a.size);
  return out;
}

}  // namespace isomer
