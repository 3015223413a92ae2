#include "app/inputs/model_feeds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "io/npz/npz.h"
#include "io/onnx/size_arguments.h"
#include "model/expr/formula.h"
#include "runtime/judge/feeds.h"

namespace isomer {
namespace {

// Why a tensor is none for this input, or "".
std::string misfit(const Tensor& tensor, const DeclaredType& declared) {
  if (!declared.is_tensor) return "";
  if (declared.type != ElementType::Undefined && tensor.type() != declared.type)
    return fmt::format("is {}, and the model wants {}", name(tensor.type()), name(declared.type));
  if (!declared.shape) return "";
  if (declared.shape->size() != tensor.extents().size())
    return fmt::format("has {} axes, and the model wants {}", tensor.extents().size(),
                       declared.shape->size());
  for (std::size_t d = 0; d < declared.shape->size(); ++d) {
    const auto& dim = (*declared.shape)[d];
    if (dim && dim->is_concrete() && dim->concrete() != tensor.extents()[d])
      return fmt::format("is {}, and axis {} of the model's input has the extent {}",
                         fmt::join(tensor.extents(), "x"), d, dim->concrete());
  }
  return "";
}

}  // namespace

Status check_feeds(const NamedTensors& feeds, const Graph& graph) {
  std::map<std::string, const Node*> inputs;
  for (const Value value : graph.inputs()) inputs.emplace(graph.name_of(value), &graph.node(value.node));
  for (const auto& [name, tensor] : feeds) {
    const auto at = inputs.find(name);
    if (at == inputs.end())
      return Error{fmt::format("the feeds hold '{}', which is no input of the model", name)};
    if (at->second->kind != NodeKind::Input) continue;
    if (const std::string why = misfit(tensor, at->second->declared); !why.empty())
      return Error{fmt::format("the feed '{}' {}", name, why)};
  }
  for (const auto& [name, node] : inputs)
    if (node->kind == NodeKind::Input && !feeds.contains(name))
      return Error{fmt::format("the feeds hold nothing for the input '{}'", name)};
  return Done{};
}

Result<FeedsForModels> feeds_for(const std::vector<const Graph*>& graphs,
                                 const std::optional<NamedTensors>& given,
                                 const std::vector<std::string>& sizes, std::uint64_t seed) {
  ISOMER_TRY(const auto parsed, parse_sizes(sizes, graphs));
  FeedsForModels out;
  std::string assumed;
  if (given) {
    out.tensors = *given;
  } else {
    ISOMER_TRY(GeneratedFeeds made, generate_feeds(*graphs.front(), parsed.front(), seed));
    out.tensors = std::move(made.tensors);
    assumed = std::move(made.assumed);
  }
  for (const Graph* graph : graphs) ISOMER_TRY_DO(check_feeds(out.tensors, *graph));
  for (const auto& [name, tensor] : out.tensors)
    out.words += fmt::format(
        "{}{} {}", out.words.empty() ? "" : ", ", name,
        tensor.extents().empty() ? "scalar" : fmt::format("{}", fmt::join(tensor.extents(), "x")));
  if (out.words.empty()) out.words = "none";
  if (!assumed.empty()) out.words += fmt::format(" ({} was assumed; --shape says otherwise)", assumed);
  return out;
}

Result<FeedsForModels> feeds_from_file(const std::vector<const Graph*>& graphs,
                                       const std::filesystem::path& file,
                                       const std::vector<std::string>& sizes, std::uint64_t seed) {
  ISOMER_TRY(const NamedTensors given, read_npz(file));
  if (const Status fits = check_feeds(given, *graphs.front()); !fits.ok())
    return Error{fmt::format("--feeds {}: {}", file.string(), fits.error().message)};
  ISOMER_TRY(FeedsForModels out, feeds_for(graphs, given, sizes, seed));
  out.words += fmt::format(" of {}", file.string());
  return out;
}

}  // namespace isomer
