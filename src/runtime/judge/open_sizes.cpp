#include "runtime/judge/open_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace isomer {
namespace {

constexpr std::int64_t kFirstAxis = 1, kOtherAxis = 128;  // one sample; a short text
constexpr std::int64_t kSamples = 16000;                  // a second of speech

// An axis of an input.
struct Place {
  const std::string& input;
  std::size_t axis, rank;
};

// The state of a recurrent network has its samples along the second of three axes.
bool is_batch_of_state(const Place& at) {
  if (at.rank != 3 || at.axis != 1) return false;
  return has_word(at.input, {"state", "hidden", "cell"}) || at.input == "h" || at.input == "c" ||
         at.input == "h0" || at.input == "c0" || at.input == "hn" || at.input == "cn";
}

// A wave: a second of it.
bool is_of_samples(const std::string& symbol, const Place& at) {
  if (has_word(symbol, {"sample", "waveform"})) return !has_word(symbol, {"num_samples_per", "batch"});
  const bool is_last = at.axis + 1 == at.rank && at.rank <= 2;
  return is_last && has_word(at.input, {"waveform", "audio", "wav", "pcm"}) &&
         !has_word(symbol, {"frame", "feature", "mel", "token"});
}

// Chooses the sizes of open dimensions, and notes those that were not given.
class Sizes {
 public:
  Sizes(const InferOptions& options, const WantedSizes& wanted) : given_(options.symbols), wanted_(wanted) {}

  // A symbol that is some input's first axis is a batch, wherever else it stands.
  void note_first(const Dim& dim) {
    for (const std::string& symbol : dim.symbols()) first_.insert(symbol);
  }
  // The sizes that the symbols of an input with given extents have.
  void bind(const Dim& dim, std::int64_t extent) {
    const auto symbols = dim.symbols();
    if (symbols.size() == 1 && dim == Dim::symbol(symbols[0])) given_.emplace(symbols[0], extent);
  }
  std::optional<std::int64_t> of(const Dim& dim, const Place& at) {
    return dim.evaluate([&](std::string_view symbol) -> std::optional<std::int64_t> {
      if (const auto found = given_.find(symbol); found != given_.end()) return found->second;
      const std::string name(symbol);
      const std::int64_t size = assume(name, name, first_.contains(name), at);
      given_.emplace(symbol, size);
      return size;
    });
  }
  std::int64_t of_unnamed(const Place& at) {
    return assume(fmt::format("{}[{}]", at.input, at.axis), "", at.axis == 0, at);
  }
  std::vector<AssumedSize> take_assumed() { return std::move(assumed_); }

 private:
  std::int64_t assume(const std::string& name, const std::string& symbol, bool is_first, const Place& at) {
    AssumedSize out{.name = name, .size = kOtherAxis, .is_batch = is_first || is_batch_of_state(at)};
    if (out.is_batch) {
      out.size = kFirstAxis;
    } else if (is_of_samples(symbol, at)) {
      out.size = kSamples;
      out.is_named = true;
    }
    if (const auto wanted = wanted_.find(name); wanted != wanted_.end()) out.size = wanted->second;
    assumed_.push_back(out);
    return out.size;
  }

  std::map<std::string, std::int64_t, std::less<>> given_;
  const WantedSizes& wanted_;
  std::set<std::string> first_;
  std::vector<AssumedSize> assumed_;
};

}  // namespace

bool has_word(const std::string& name, std::initializer_list<std::string_view> words) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::any_of(words, [&](std::string_view w) { return lower.find(w) != std::string::npos; });
}

bool needs_feed(const Graph& graph, Value input) { return graph.node(input.node).kind == NodeKind::Input; }

Result<ChosenSizes> choose_sizes(const Graph& graph, const InferOptions& options, const WantedSizes& wanted) {
  ChosenSizes chosen{options, {}};
  Sizes sizes(options, wanted);
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
      const Place at{name, i, node.declared.shape->size()};
      const auto size = dim ? sizes.of(*dim, at) : std::optional(sizes.of_unnamed(at));
      extents.push_back(size.value_or(i == 0 ? kFirstAxis : kOtherAxis));
    }
    chosen.options.shapes.emplace(name, std::move(extents));
  }
  // Every input has its shape now; symbols that only dimensions use stay as they were given.
  chosen.assumed = sizes.take_assumed();
  return chosen;
}

}  // namespace isomer
