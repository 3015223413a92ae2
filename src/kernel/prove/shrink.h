// The same programs at smaller sizes, which the field witness evaluates in full.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernel/normal/by_value.h"
#include "model/graph/infer.h"

namespace isomer {

// Scalar operations of everything that the outputs depend on; nullopt: not all sizes are known.
std::optional<double> operations(const Graph& graph, const Inference& inference);

// Both programs with extents of inputs, constants and shape vectors made smaller alike, as far as both still
// have as many formulas and equal output shapes, until they cost no more than `most`. Large constants are
// replaced by others of the new shape whose elements mean nothing.
struct Instance {
  Graph a, b;
  Inference a_info, b_info;
  bool is_smaller = false;
};
// Whether constants may be resized, too: a number in a vector of integers may be an extent or something else,
// so programs that are equal need not be equal then.
enum class Resized : std::uint8_t { Inputs, All };
std::optional<Instance> shrunk(const Graph& a, const Graph& b, Resized what, double most,
                               const ByValue& by_value);

// Named dimensions of the inputs, small sizes for them that satisfy the preconditions (each >= 0), and a
// program at such sizes.
using Sizes = std::map<std::string, std::int64_t, std::less<>>;
std::set<std::string> symbols_of(const Graph& graph);
inline constexpr std::array<std::int64_t, 7> kSmallSizes = {3, 5, 2, 7, 4, 6, 1};
inline constexpr std::array<std::int64_t, 7> kSizesOfParts = {8, 12, 3, 16, 5, 10, 9};  // [frames] as [-1,8]
inline constexpr std::array<std::int64_t, 7> kSizesBehindStrides = {64, 32, 100, 48, 131, 224, 77};
std::vector<Sizes> small_sizes(const std::set<std::string>& symbols, const Dims& preconditions,
                               std::uint64_t key, std::size_t most,
                               std::span<const std::int64_t, 7> of = kSmallSizes);
Graph at_sizes(const Graph& graph, const Sizes& sizes);
// The same program for another shape of one input.
Graph with_input_shape(const Graph& graph, const std::string& input, const Extents& shape);
// A program with the symbols of its inputs' extents replaced.
Graph with_symbols_replaced(const Graph& graph, const Dim::Substitution& substitution);

}  // namespace isomer
