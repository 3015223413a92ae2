#include "runtime/judge/feeds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/hash.h"

namespace isomer {
namespace {

constexpr std::int64_t kFirstAxis = 1, kOtherAxis = 128;  // one sample; a short text

bool needs_feed(const Graph& graph, Value input) { return graph.node(input.node).kind == NodeKind::Input; }

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

bool is_mask(const std::string& name) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower.find("mask") != std::string::npos;
}

std::optional<Tensor> draw_feed(const std::string& name, ElementType type, const Extents& extents,
                                std::int64_t indexed, Source& source) {
  if (is_mask(name) || type == ElementType::Bool) return fill(type, extents, [] { return 1.0; });
  if (is_float(type)) return fill(type, extents, [&] { return source.normal(); });
  // An index fits its own type: a byte into a table of thousands.
  const std::int64_t most = bits(type) == 8 ? 127 : bits(type) == 16 ? 32767 : 2147483647;
  const std::int64_t bound = std::clamp<std::int64_t>(indexed > 0 ? indexed : 2, 1, most);
  return fill(type, extents, [&] { return static_cast<double>(source.below(bound)); });
}

// Tells the sizes of named dimensions, and notes those that nobody gave.
class Sizes {
 public:
  explicit Sizes(const InferOptions& options) : given_(options.symbols) {}

  // A symbol that is some input's first axis is a batch, wherever else it stands.
  void note_first(const Dim& dim) {
    for (const std::string& symbol : dim.symbols()) first_.insert(symbol);
  }
  // The sizes that the symbols of an input with given extents have.
  void bind(const Dim& dim, std::int64_t extent) {
    const auto symbols = dim.symbols();
    if (symbols.size() == 1 && dim == Dim::symbol(symbols[0])) given_.emplace(symbols[0], extent);
  }
  std::optional<std::int64_t> of(const Dim& dim) {
    return dim.evaluate([&](std::string_view symbol) -> std::optional<std::int64_t> {
      if (const auto found = given_.find(symbol); found != given_.end()) return found->second;
      const std::int64_t size = first_.contains(std::string(symbol)) ? kFirstAxis : kOtherAxis;
      assume(std::string(symbol), size);
      given_.emplace(symbol, size);
      return size;
    });
  }
  void assume(const std::string& what, std::int64_t size) {
    assumed_.push_back(fmt::format("{}={}", what, size));
  }
  std::string assumed() const { return fmt::format("{}", fmt::join(assumed_, ", ")); }

 private:
  std::map<std::string, std::int64_t, std::less<>> given_;
  std::set<std::string> first_;
  std::vector<std::string> assumed_;
};

}  // namespace

Result<ChosenSizes> choose_sizes(const Graph& graph, const InferOptions& options) {
  ChosenSizes chosen{options, {}};
  Sizes sizes(options);
  for (const Value input : graph.inputs()) {
    const auto& shape = graph.node(input.node).declared.shape;
    const auto given = options.shapes.find(graph.name_of(input));
    if (!shape || shape->empty()) continue;
    if (shape->front()) sizes.note_first(*shape->front());
    if (given != options.shapes.end() && given->second.size() == shape->size())
      for (std::size_t i = 0; i < shape->size(); ++i)
        if ((*shape)[i]) sizes.bind(*(*shape)[i], given->second[i]);
  }
  for (const Value input : graph.inputs()) {
    const Node& node = graph.node(input.node);
    const std::string& name = graph.name_of(input);
    if (!needs_feed(graph, input) || options.shapes.contains(name)) continue;
    if (!node.declared.is_tensor)
      return Error{fmt::format("input '{}' is no tensor: give it with --feeds", name)};
    if (!node.declared.shape)
      return Error{
          fmt::format("the shape of input '{}' is not known: give it with --shape {}=...", name, name)};
    Extents extents;
    for (std::size_t i = 0; i < node.declared.shape->size(); ++i) {
      const auto& dim = (*node.declared.shape)[i];
      const std::int64_t fallback = i == 0 ? kFirstAxis : kOtherAxis;
      if (!dim) sizes.assume(fmt::format("{}[{}]", name, i), fallback);
      extents.push_back(dim ? sizes.of(*dim).value_or(fallback) : fallback);
    }
    chosen.options.shapes.emplace(name, std::move(extents));
  }
  // Every input has its shape now; symbols that only dimensions use stay as they were given.
  chosen.assumed = sizes.assumed();
  return chosen;
}

Result<GeneratedFeeds> generate_feeds(const Graph& graph, const InferOptions& options, std::uint64_t seed) {
  ISOMER_TRY(ChosenSizes chosen, choose_sizes(graph, options));
  // What can't be inferred indexes nothing that we know of; the runtime will say what is wrong.
  const auto inferred = infer(graph, chosen.options);
  GeneratedFeeds feeds{{}, std::move(chosen.assumed)};
  Source source(seed);
  for (const Value input : graph.inputs()) {
    if (!needs_feed(graph, input)) continue;
    const std::string& name = graph.name_of(input);
    const ElementType type = graph.node(input.node).declared.type;
    const std::int64_t indexed = inferred && is_integer(type) ? indexed_extent(graph, *inferred, input) : 0;
    const Extents& extents = chosen.options.shapes.find(name)->second;
    if (!byte_size(type, extents))
      return Error{fmt::format("input '{}' has a size that no tensor has", name)};
    auto tensor = draw_feed(name, type, extents, indexed, source);
    if (!tensor)
      return Error{fmt::format("inputs of type {} can't be made up: give '{}' with --feeds",
                               isomer::name(type), name)};
    feeds.tensors.emplace(name, std::move(*tensor));
  }
  return feeds;
}

}  // namespace isomer
