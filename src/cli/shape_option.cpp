#include "cli/shape_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace isomer::cli {
namespace {

std::optional<Extents> parse_extents(std::string_view text) {
  Extents extents;
  while (!text.empty()) {
    std::int64_t extent = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (failure != std::errc{} || extent < 0) return std::nullopt;
    extents.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != 'x' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  return extents;
}

bool has_input(const Graph& graph, std::string_view name) {
  return std::ranges::any_of(graph.inputs(), [&](Value value) { return graph.name_of(value) == name; });
}

bool has_symbol(const Graph& graph, std::string_view name) {
  for (const Value input : graph.inputs()) {
    const DeclaredType& declared = graph.node(input.node).declared;
    for (const auto& dim : declared.shape.value_or(std::vector<std::optional<Dim>>{}))
      if (dim && std::ranges::count(dim->symbols(), name) > 0) return true;
  }
  return false;
}

}  // namespace

void add_shape_option(CLI::App& command, std::vector<std::string>& shapes) {
  command.add_option("--shape", shapes, "Extents of an input (x=1x3x224x224) or of a dimension (batch=8)")
      ->type_name("NAME=SHAPE")
      ->expected(1)
      ->take_all();
}

Result<InferOptions> parse_shapes(const std::vector<std::string>& arguments, const Graph& graph) {
  InferOptions options;
  for (const std::string& argument : arguments) {
    const auto equals = argument.rfind('=');  // names of inputs may hold one too
    const auto extents = equals == std::string::npos
                             ? std::nullopt
                             : parse_extents(std::string_view(argument).substr(equals + 1));
    if (!extents) return Error{fmt::format("--shape {}: expected NAME=1x3x224x224", argument)};
    const std::string name = argument.substr(0, equals);
    bool is_new = false;
    if (has_input(graph, name)) is_new = options.shapes.emplace(name, *extents).second;
    else if (has_symbol(graph, name) && extents->size() == 1)
      is_new = options.symbols.emplace(name, extents->front()).second;
    else return Error{fmt::format("--shape {}: the model has no input or dimension '{}'", argument, name)};
    if (!is_new) return Error{fmt::format("--shape {}: '{}' has a shape already", argument, name)};
  }
  return options;
}

}  // namespace isomer::cli
