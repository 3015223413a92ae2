#include "app/inputs/input_candidates.h"

#include <algorithm>
#include <array>

#include "app/inputs/compared_numbers.h"

namespace isomer {
namespace {

// Windows of speech, images, lines of text, positions; then what is small enough to fit where others don't.
constexpr auto kUsual = std::to_array<std::int64_t>(
    {512, 256, 576, 48, 64, 32, 224, 320, 640, 1024, 16, 8, 96, 80, 160, 100, 16000, 32000});
constexpr auto kSmall = std::to_array<std::int64_t>({4, 3, 2, 1});
constexpr auto kBatches = std::to_array<std::int64_t>({2, 4, 8, 3, 16, 32});
constexpr auto kScalars = std::to_array<double>({1, 2, 0, 8});
constexpr double kRate = 16000, kSlowRate = 8000;  // of speech

bool is_rate(const std::string& name) {
  return name == "sr" || name == "SR" || name == "fs" ||
         has_word(name, {"sample_rate", "sampling_rate", "samplerate", "samplingrate"});
}

template <class Number>
void add_once(std::vector<Number>& list, Number number) {
  if (std::ranges::find(list, number) == list.end()) list.push_back(number);
}

std::vector<std::int64_t> sizes_to_try(const std::vector<std::int64_t>& hints) {
  std::vector<std::int64_t> out(kUsual.begin(), kUsual.end());
  for (const std::int64_t hint : hints) add_once(out, hint);
  for (const std::int64_t small : kSmall) add_once(out, small);
  return out;
}

}  // namespace

std::vector<OpenValue> open_values(const Graph& graph, const FilledInputs& given) {
  std::vector<OpenValue> out;
  for (const Value input : graph.inputs()) {
    const std::string& name = graph.name_of(input);
    const DeclaredType& declared = graph.node(input.node).declared;
    if (!needs_feed(graph, input) || given.contains(name) || !declared.is_tensor) continue;
    const bool is_few = declared.shape && declared.shape->size() <= 1;
    if (!is_few || has_word(name, {"mask"}) || !is_computable(declared.type) ||
        declared.type == ElementType::Bool)
      continue;
    OpenValue value{.input = name, .numbers = {}};
    if (is_integer(declared.type)) value.numbers = compared_numbers(graph, input);
    if (!value.numbers.empty()) value.why = "which the model compares it with";
    if (is_rate(name)) {
      const auto usual = std::ranges::find(value.numbers, kRate);
      if (usual != value.numbers.end()) std::rotate(value.numbers.begin(), usual, usual + 1);
      if (value.why.empty()) value.why = "by its name";
      for (const double rate : {kRate, kSlowRate}) add_once(value.numbers, rate);
    }
    value.is_chosen = !value.numbers.empty();
    if (is_integer(declared.type) && !has_word(name, {"len"}))
      for (const double number : kScalars) add_once(value.numbers, number);
    if (!value.numbers.empty()) out.push_back(std::move(value));
  }
  return out;
}

std::vector<InputChoice> changes_of(const InputChoice& choice, const std::vector<AssumedSize>& sizes,
                                    const std::vector<OpenValue>& values,
                                    const std::vector<std::int64_t>& hints) {
  std::vector<InputChoice> out;
  const auto with_sizes = [&](std::int64_t size, const auto& is_changed) {
    InputChoice next = choice;
    bool is_new = false;
    for (const AssumedSize& s : sizes) {
      if (!is_changed(s) || s.size == size) continue;
      next.sizes.insert_or_assign(s.name, size);
      is_new = true;
    }
    if (is_new) out.push_back(std::move(next));
  };
  const std::vector<std::int64_t> to_try = sizes_to_try(hints);
  for (const AssumedSize& one : sizes)
    if (!one.is_batch)
      for (const std::int64_t size : to_try)
        with_sizes(size, [&](const AssumedSize& s) { return s.name == one.name; });
  for (const std::int64_t size : kBatches) with_sizes(size, [](const AssumedSize& s) { return s.is_batch; });
  for (const OpenValue& value : values)
    for (const double number : value.numbers) {
      InputChoice next = choice;
      next.values.insert_or_assign(value.input, number);
      if (next.values != choice.values) out.push_back(std::move(next));
    }
  if (std::ranges::count_if(sizes, [](const AssumedSize& s) { return !s.is_batch; }) > 1)
    for (const std::int64_t size : to_try) with_sizes(size, [](const AssumedSize& s) { return !s.is_batch; });
  if (std::ranges::count_if(sizes, [](const AssumedSize& s) { return s.is_batch; }) > 1)
    for (const AssumedSize& one : sizes)
      if (one.is_batch)
        for (const std::int64_t size : kBatches)
          with_sizes(size, [&](const AssumedSize& s) { return s.name == one.name; });
  // A size that looks like a batch may be any size, such as the number of rows of a table.
  for (const AssumedSize& one : sizes)
    if (one.is_batch)
      for (const std::int64_t size : hints)
        with_sizes(size, [&](const AssumedSize& s) { return s.name == one.name; });
  return out;
}

}  // namespace isomer
