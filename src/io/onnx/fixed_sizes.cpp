#include "io/onnx/fixed_sizes.h"

#include <fmt/format.h>

#include "io/onnx/read_text.h"

namespace isomer::wire {
namespace {

using Symbols = std::map<std::string, std::int64_t, std::less<>>;
using Dimension = onnx::TensorShapeProto::Dimension;

bool is_symbol(const Dimension& dim) { return !dim.dim_param().empty() && dim.dim_param() != "?"; }

Status bind(Symbols& symbols, const std::string& symbol, std::int64_t size) {
  const auto [at, is_new] = symbols.emplace(symbol, size);
  if (is_new || at->second == size) return Done{};
  return Error{fmt::format("dimension '{}' would be {} and {}", printable(symbol), at->second, size)};
}

Status fix_input(onnx::ValueInfoProto& input, const Extents& extents, Symbols& symbols) {
  const std::string name = printable(input.name());
  if (!input.type().has_tensor_type()) return Error{fmt::format("input '{}' is no tensor", name)};
  const bool is_new = !input.type().tensor_type().has_shape();
  auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
  if (!is_new && static_cast<std::size_t>(shape.dim_size()) != extents.size())
    return Error{fmt::format("input '{}' has {} axes, not {}", name, shape.dim_size(), extents.size())};
  for (std::size_t d = 0; d < extents.size(); ++d) {
    Dimension& dim = is_new ? *shape.add_dim() : *shape.mutable_dim(static_cast<int>(d));
    if (is_symbol(dim)) ISOMER_TRY_DO(bind(symbols, dim.dim_param(), extents[d]));
    else if (dim.has_dim_value() && dim.dim_value() >= 0 && dim.dim_value() != extents[d])
      return Error{fmt::format("axis {} of input '{}' has the extent {}, not {}", d, name, dim.dim_value(),
                               extents[d])};
    dim.set_dim_value(extents[d]);
  }
  return Done{};
}

void fix(onnx::ValueInfoProto& value, const Symbols& symbols) {
  if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape()) return;
  for (Dimension& dim : *value.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
    if (const auto at = is_symbol(dim) ? symbols.find(dim.dim_param()) : symbols.end(); at != symbols.end())
      dim.set_dim_value(at->second);
}

}  // namespace

Status fix_sizes(onnx::GraphProto& graph, const InferOptions& sizes) {
  Symbols symbols = sizes.symbols;
  for (onnx::ValueInfoProto& input : *graph.mutable_input())
    if (const auto at = sizes.shapes.find(input.name()); at != sizes.shapes.end())
      ISOMER_TRY_DO(fix_input(input, at->second, symbols));
  for (auto* list : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
    for (onnx::ValueInfoProto& value : *list) fix(value, symbols);
  return Done{};
}

}  // namespace isomer::wire
