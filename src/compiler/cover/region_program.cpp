#include "compiler/cover/region_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/cover/graph_copy.h"
#include "model/eval/program.h"
#include "model/expr/parts.h"
#include "model/graph/content.h"
#include "model/graph/graph_index.h"

namespace isomer {
namespace {

// A way that leaves the region and comes back; nullopt: there is none.
std::optional<std::string> way_around(const Graph& graph, const std::set<NodeId>& inside) {
  std::set<NodeId> behind;  // outside, but dependent on the region
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (const auto* values : {&node.inputs, &node.captures})
      for (const Value& v : *values) {
        if (!v.exists()) continue;
        if (behind.contains(v.node)) {
          if (inside.contains(id))
            return fmt::format("{} reads {}, which depends on the region and is not in it", label(node),
                               graph.name_of(v));
          behind.insert(id);
        } else if (inside.contains(v.node) && !inside.contains(id)) {
          behind.insert(id);
        }
      }
  }
  return std::nullopt;
}

class RegionMaker {
 public:
  RegionMaker(const CutModel& cut, const std::vector<NodeId>& nodes, const std::set<NodeId>& inside)
      : cut_(cut),
        graph_(cut.model.graph),
        nodes_(nodes),
        inside_(inside),
        copy_(graph_, empty_graph(graph_)) {}

  Result<RegionProgram> make() {
    find_constants();
    ISOMER_TRY_DO(add_inputs());
    for (const NodeId id : graph_.order())
      if (constants_.contains(id) || inside_.contains(id)) copy_.copy(id);
    add_outputs();
    if (out_.outputs.empty()) return Error{"not a region: nothing reads what it computes"};
    out_.nodes = nodes_;
    out_.graph = std::move(copy_.graph());
    return std::move(out_);
  }

 private:
  static Graph empty_graph(const Graph& like) {
    Graph out;
    out.opsets = like.opsets;
    out.name = like.name;
    return out;
  }
  // The nodes that the region reads, and that these read.
  void find_constants() {
    for (std::vector<NodeId> waiting = nodes_; !waiting.empty();) {
      const Node& node = graph_.node(waiting.back());
      waiting.pop_back();
      for (const Value& v : node.inputs)
        if (v.exists() && cut_.constants.contains(v.node) && constants_.insert(v.node).second)
          waiting.push_back(v.node);
    }
  }
  // Constants read the sizes of a call, if they are open, and no other input.
  Status add_inputs() {
    std::vector<NodeId> readers = nodes_;
    readers.insert(readers.end(), constants_.begin(), constants_.end());
    for (const NodeId id : readers)
      for (const Value& v : graph_.node(id).inputs) {
        if (!v.exists() || inside_.contains(v.node) || constants_.contains(v.node) ||
            std::ranges::find(out_.inputs, v) != out_.inputs.end())
          continue;
        const ValueInfo& info = cut_.inference.of(v);
        const bool is_known = cut_.sizes.exists() ? info.shape.has_value() : concrete_shape(info).has_value();
        if (!is_known || !is_computable(info.type))
          return Error{fmt::format("{}: its size is not known", graph_.name_of(v)), graph_.name_of(v)};
        Node input;
        input.kind = NodeKind::Input;
        input.outputs = {graph_.name_of(v)};
        input.declared = declared_as(info);
        const Value made{copy_.add(std::move(input)), 0};
        copy_.set(v, made);
        copy_.graph().add_input(made);
        out_.inputs.push_back(v);
      }
    return Done{};
  }
  // The values that nodes outside read.
  void add_outputs() {
    const GraphIndex index(graph_);
    const auto is_inside = [&](NodeId reader) { return inside_.contains(reader); };
    for (const NodeId id : nodes_)
      for (std::uint32_t k = 0; k < graph_.node(id).outputs.size(); ++k) {
        const Value v{id, k};
        if (graph_.node(id).outputs[k].empty()) continue;
        if (!index.is_output(v) && std::ranges::all_of(index.readers(v), is_inside)) continue;
        out_.outputs.push_back(v);
        copy_.graph().declare(graph_.name_of(v), declared_as(cut_.inference.of(v)));
        copy_.graph().add_output(copy_.of(v));
      }
  }

  const CutModel& cut_;
  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  const std::set<NodeId>& inside_;
  GraphCopy copy_;
  std::set<NodeId> constants_;
  RegionProgram out_;
};

}  // namespace

Result<RegionProgram> region_program(const CutModel& cut, const std::vector<NodeId>& nodes) {
  const std::set<NodeId> inside(nodes.begin(), nodes.end());
  if (const auto way = way_around(cut.model.graph, inside))
    return Error{fmt::format("not a region: {}", *way)};
  return RegionMaker(cut, nodes, inside).make();
}

Digest structure_of(const Graph& program) {
  Hasher hasher;
  std::map<Value, std::uint64_t> numbers;
  for (const NodeId id : program.order()) {
    const Node& node = program.node(id);
    hasher.add(static_cast<std::uint64_t>(node.kind)).add(std::string_view(node.op));
    hasher.add(std::string_view(node.domain)).add(program.opset(node.domain));
    for (const Value& v : node.inputs) hasher.add(v.exists() ? numbers.at(v) + 1 : std::uint64_t{0});
    add_content(hasher, node.attributes);
    if (node.kind == NodeKind::Input) add_content(hasher, node.declared);
    if (node.kind == NodeKind::Initializer) {
      // Shapes and numbers decide what runs; weights don't.
      const bool decides =
          is_small(node.tensor) && (node.tensor.type() == ElementType::Int64 || node.tensor.count() == 1);
      if (decides) add_content(hasher, node.tensor);
      hasher.add(static_cast<std::uint64_t>(node.tensor.type()));
      for (const std::int64_t e : node.tensor.extents()) hasher.add(e);
    }
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) numbers.emplace(Value{id, k}, numbers.size());
  }
  for (const Value& v : program.outputs()) hasher.add(numbers.at(v));
  return hasher.digest();
}

}  // namespace isomer
