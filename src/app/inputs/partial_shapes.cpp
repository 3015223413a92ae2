#include "app/inputs/partial_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include "model/graph/rebuild.h"

namespace isomer {
namespace {

constexpr char kOpen[] = "?";

std::string_view shape_of(std::string_view argument) { return argument.substr(argument.rfind('=') + 1); }

// nullopt in the list: it stays open.
std::optional<std::vector<std::optional<std::int64_t>>> parse(std::string_view text) {
  std::vector<std::optional<std::int64_t>> out;
  while (true) {
    const std::string_view word = text.substr(0, text.find('x'));
    std::int64_t extent = 0;
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), extent);
    const bool is_number = failure == std::errc{} && end == word.data() + word.size() && extent >= 0;
    if (!is_number && word != kOpen) return std::nullopt;
    out.push_back(is_number ? std::optional(extent) : std::nullopt);
    if (word.size() == text.size()) return out;
    text.remove_prefix(word.size() + 1);
  }
}

// Writes the extents into one input's shape; collects what is said of names.
class ShapeWriter {
 public:
  Status write(Node& input, const std::string& argument) {
    const auto extents = parse(shape_of(argument));
    auto& shape = input.declared.shape;
    const auto refuse = [&](const std::string& why) {
      return Error{fmt::format("--shape {}: {}", argument, why), input.outputs[0]};
    };
    if (!extents) return refuse("expected NAME=?x3x48x?");
    if (!shape) shape.emplace(extents->size());
    if (shape->size() != extents->size())
      return refuse(fmt::format("the input has {} extents, not {}", shape->size(), extents->size()));
    for (std::size_t d = 0; d < extents->size(); ++d) {
      if (!(*extents)[d]) continue;
      const Dim number(*(*extents)[d]);
      auto& declared = (*shape)[d];
      if (declared && declared->is_concrete() && !(*declared == number))
        return refuse(fmt::format("the model declares {} for extent {}", declared->text(), d));
      if (declared)
        for (const std::string& name : declared->symbols())
          if (*declared == Dim::symbol(name)) names_.emplace(name, number);
      declared = number;
    }
    return Done{};
  }
  Dim number_of(std::string_view name) const {
    const auto at = names_.find(std::string(name));
    return at == names_.end() ? Dim::symbol(name) : at->second;
  }

 private:
  std::map<std::string, Dim> names_;
};

}  // namespace

bool is_partial_shape(const std::string& argument) {
  return shape_of(argument).find(kOpen) != std::string_view::npos;
}

Result<Graph> with_partial_shapes(const Graph& graph, const std::vector<std::string>& arguments) {
  const auto is_input = [&](const std::string& name) {
    return std::ranges::any_of(graph.inputs(), [&](Value v) { return graph.name_of(v) == name; });
  };
  std::map<std::string, std::string> by_input;
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.rfind('='));
    if (!is_input(name)) return Error{fmt::format("--shape {}: the model has no input '{}'", argument, name)};
    by_input[name] = argument;
  }
  ShapeWriter writer;
  std::optional<Error> wrong;
  const Graph written = with_changed_nodes(graph, [&](Node& node) {
    const auto at = node.kind == NodeKind::Input ? by_input.find(node.outputs[0]) : by_input.end();
    if (at == by_input.end() || wrong) return;
    if (const Status done = writer.write(node, at->second); !done.ok()) wrong = done.error();
  });
  if (wrong) return *wrong;
  return with_changed_nodes(written, [&](Node& node) {
    if (node.kind != NodeKind::Input || !node.declared.shape) return;
    for (auto& extent : *node.declared.shape)
      if (extent) extent = extent->substitute([&](std::string_view name) { return writer.number_of(name); });
  });
}

}  // namespace isomer
