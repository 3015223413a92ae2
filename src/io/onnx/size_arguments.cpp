#include "io/onnx/size_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace isomer {
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

// "x [batch, 3], dimension batch": what could have been meant.
std::string names_of(const std::vector<const Graph*>& graphs) {
  std::string text;
  for (const Value input : graphs[0]->inputs()) {
    const Node& node = graphs[0]->node(input.node);
    if (node.kind == NodeKind::Input) text += (text.empty() ? "" : ", ") + graphs[0]->name_of(input);
  }
  return text;
}

// A value that can't be inferred at these sizes, though it can without them, is their fault.
Status check(const Graph& graph, const InferOptions& sizes, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return Done{};
  const auto at_sizes = infer(graph, sizes);
  if (at_sizes.ok() || !infer(graph).ok()) return Done{};
  Error error = at_sizes.error();
  error.message = fmt::format("--shape {}: {}", arguments.front(), error.message);
  return error;
}

}  // namespace

Result<std::vector<InferOptions>> parse_sizes(const std::vector<std::string>& arguments,
                                              const std::vector<const Graph*>& graphs) {
  std::vector<InferOptions> all(graphs.size());
  for (const std::string& argument : arguments) {
    const auto equals = argument.rfind('=');  // names of inputs may hold one too
    const auto extents = equals == std::string::npos
                             ? std::nullopt
                             : parse_extents(std::string_view(argument).substr(equals + 1));
    if (!extents)
      return Error{fmt::format("--shape {}: expected NAME=1x3x224x224, or DIMENSION=8", argument)};
    const std::string name = argument.substr(0, equals);
    bool is_known = false, is_new = true;
    for (std::size_t k = 0; k < graphs.size(); ++k) {
      if (has_input(*graphs[k], name)) is_new &= all[k].shapes.emplace(name, *extents).second;
      else if (has_symbol(*graphs[k], name) && extents->size() == 1)
        is_new &= all[k].symbols.emplace(name, extents->front()).second;
      else continue;
      is_known = true;
    }
    if (!is_known)
      return Error{fmt::format("--shape {}: the model has no input or dimension '{}'; its inputs are {}",
                               argument, name, names_of(graphs))};
    if (!is_new) return Error{fmt::format("--shape {}: '{}' has a shape already", argument, name)};
  }
  for (std::size_t k = 0; k < graphs.size(); ++k) ISOMER_TRY_DO(check(*graphs[k], all[k], arguments));
  return all;
}

Result<InferOptions> parse_sizes(const std::vector<std::string>& arguments, const Graph& graph) {
  ISOMER_TRY(auto all, parse_sizes(arguments, std::vector{&graph}));
  return std::move(all.front());
}

}  // namespace isomer
