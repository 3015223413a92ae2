#include "app/inputs/model_feeds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "io/npz/npz.h"
#include "io/onnx/fixed_values.h"
#include "io/onnx/size_arguments.h"
#include "model/expr/formula.h"

namespace isomer {
namespace {

// Why a tensor is none for this input, or "".
std::string misfit(const Tensor& tensor, const DeclaredType& declared) {
  if (!declared.is_tensor) return "";
  if (declared.type != ElementType::Undefined && tensor.type() != declared.type)
    return fmt::format("is {}, but the model requires {}", name(tensor.type()), name(declared.type));
  if (!declared.shape) return "";
  if (declared.shape->size() != tensor.extents().size())
    return fmt::format("has {} axes, but the model requires {}", tensor.extents().size(),
                       declared.shape->size());
  for (std::size_t d = 0; d < declared.shape->size(); ++d) {
    const auto& dim = (*declared.shape)[d];
    if (dim && dim->is_concrete() && dim->concrete() != tensor.extents()[d])
      return fmt::format("is {}, but axis {} of the model's input has the extent {}",
                         fmt::join(tensor.extents(), "x"), d, dim->concrete());
  }
  return "";
}

// Replaces given inputs by numbers, or adds to them.
Status fill(NamedTensors& feeds, const FilledInputs& values, const Graph& graph) {
  for (const Value input : graph.inputs()) {
    const auto value = values.find(graph.name_of(input));
    if (value == values.end()) continue;
    const DeclaredType& declared = graph.node(input.node).declared;
    Extents extents;
    const auto given = feeds.find(value->first);
    for (const auto& dim : declared.shape.value_or(std::vector<std::optional<Dim>>{}))
      extents.push_back(dim && dim->is_concrete() ? dim->concrete() : 1);
    if (given != feeds.end()) extents = given->second.extents();
    const auto tensor = filled_tensor(declared.type, extents, value->second);
    if (!tensor)
      return Error{fmt::format("--value {}={:g}: the input is {}, and the number is not of that type",
                               value->first, value->second, name(declared.type))};
    feeds.insert_or_assign(value->first, *tensor);
  }
  return Done{};
}

}  // namespace

Status check_feeds(const NamedTensors& feeds, const Graph& graph) {
  std::map<std::string, const Node*> inputs;
  for (const Value value : graph.inputs()) inputs.emplace(graph.name_of(value), &graph.node(value.node));
  for (const auto& [name, tensor] : feeds) {
    const auto at = inputs.find(name);
    if (at == inputs.end())
      return Error{fmt::format("the feeds contain '{}', which is no input of the model", name)};
    if (at->second->kind != NodeKind::Input) continue;
    if (const std::string why = misfit(tensor, at->second->declared); !why.empty())
      return Error{fmt::format("the feed '{}' {}", name, why)};
  }
  for (const auto& [name, node] : inputs)
    if (node->kind == NodeKind::Input && !feeds.contains(name))
      return Error{fmt::format("the feeds contain no input '{}'", name)};
  return Done{};
}

std::vector<std::string> FeedsForModels::shapes() const {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : tensors)
    out.push_back(fmt::format("{}={}", name, fmt::join(tensor.extents(), "x")));
  return out;
}

Result<FeedsForModels> feeds_for(const std::vector<const Graph*>& graphs, const FeedsRequest& request) {
  ISOMER_TRY(auto sizes, parse_sizes(request.sizes, graphs));
  ISOMER_TRY(FilledInputs values, parse_values(request.values, graphs));
  FeedsForModels out;
  std::string chosen;
  if (request.given) {
    out.tensors = *request.given;
    ISOMER_TRY_DO(fill(out.tensors, values, *graphs.front()));
  } else {
    ISOMER_TRY(FoundInputs found, find_inputs({.graphs = graphs,
                                               .sizes = std::move(sizes),
                                               .values = values,
                                               .seed = request.seed,
                                               .run = request.run}));
    out.tensors = std::move(found.tensors);
    chosen = std::move(found.words);
    out.is_open = !chosen.empty();
  }
  for (const Graph* graph : graphs) ISOMER_TRY_DO(check_feeds(out.tensors, *graph));
  for (const auto& [name, tensor] : out.tensors) {
    const std::string shape =
        tensor.extents().empty() ? "scalar" : fmt::format("{}", fmt::join(tensor.extents(), "x"));
    out.words += fmt::format("{}{} {}", out.words.empty() ? "" : ", ", name, shape);
    if (const auto value = values.find(name); value != values.end())
      out.words += fmt::format(" = {:g}", value->second);
  }
  if (out.words.empty()) out.words = "none";
  if (!chosen.empty()) out.words += fmt::format(" ({}; --shape and --value change that)", chosen);
  return out;
}

Result<FeedsForModels> feeds_from_file(const std::vector<const Graph*>& graphs,
                                       const std::filesystem::path& file, FeedsRequest request) {
  ISOMER_TRY(request.given, read_npz(file));
  ISOMER_TRY(const FilledInputs values, parse_values(request.values, graphs));
  ISOMER_TRY_DO(fill(*request.given, values, *graphs.front()));
  if (const Status fits = check_feeds(*request.given, *graphs.front()); !fits.ok())
    return Error{fmt::format("--feeds {}: {}", file.string(), fits.error().message)};
  ISOMER_TRY(FeedsForModels out, feeds_for(graphs, request));
  out.words += fmt::format(" of {}", file.string());
  return out;
}

}  // namespace isomer
