#include "compiler/loops/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <variant>

#include "base/nth.h"
#include "model/graph/constant.h"
#include "model/graph/flatten.h"
#include "model/graph/live_nodes.h"

namespace isomer::lower {
namespace {

// How a tensor depends on the batch: not at all; or one axis of it has `rows` positions for each sample,
// which depend on that sample alone; or otherwise, and why.
struct Alike {};
struct BySample {
  std::size_t axis = 0;
  std::int64_t rows = 1;
};
struct Mixed {
  std::string why;
};
using Role = std::variant<Alike, BySample, Mixed>;

class Samples {
 public:
  Samples(const Graph& graph, const Inference& inference, const std::string& batch)
      : graph_(graph), inference_(inference), batch_(batch), size_(Dim::symbol(batch)) {}

  // The reason why an output can't be computed sample by sample.
  std::optional<std::string> run() {
    for (const Value& input : graph_.inputs()) roles_[input] = role_of(*inference_.of(input).shape);
    const auto live = live_nodes(graph_);
    for (const NodeId id : graph_.order())
      if (live.contains(id) && graph_.node(id).kind == NodeKind::Operator) visit(id);
    for (const Value& output : graph_.outputs()) {
      const Role role = role_of(output);
      const std::string& name = graph_.name_of(output);
      if (const auto* mixed = std::get_if<Mixed>(&role)) return mixed->why;
      const auto* rows = std::get_if<BySample>(&role);
      if (!rows || rows->axis != 0 || rows->rows != 1)
        return fmt::format("the first axis of output '{}' is not {}", name, batch_);
    }
    return std::nullopt;
  }

 private:
  // By its shape alone.
  Role role_of(const Dims& shape) const {
    Role out = Alike{};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (!has_batch(shape[d])) continue;
      const auto rows = Dim::exact_quotient(shape[d], size_);
      if (!std::holds_alternative<Alike>(out) || !rows || !rows->is_concrete() || rows->concrete() < 1)
        return Mixed{fmt::format("a tensor of shape {} is no batch of {}", text(shape), batch_)};
      out = BySample{d, rows->concrete()};
    }
    return out;
  }
  Role role_of(Value value) const {
    if (const auto known = roles_.find(value); known != roles_.end()) return known->second;
    return Alike{};  // a constant
  }

  bool has_batch(const Dim& dim) const {
    const auto symbols = dim.symbols();
    return std::ranges::find(symbols, batch_) != symbols.end();
  }
  bool has_batch(const Index& index) const {
    if (has_batch(index.offset())) return true;
    return std::ranges::any_of(index.terms(), [&](const Index::Term& t) {
      if (has_batch(t.scale)) return true;
      if (t.atom.kind == Index::AtomKind::Axis) return has_batch(t.atom.axis.extent);
      return has_batch(t.atom.divisor) || has_batch(*t.atom.inner);
    });
  }

  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    const auto put = [&](const Role& role) {
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k) roles_[{id, k}] = role;
    };
    if (is_constant_node(node)) return put(Alike{});
    const Definition definition = define_node(graph_, inference_, id);
    if (const auto* opaque = std::get_if<Opaque>(&definition))
      return put(Mixed{fmt::format("node '{}' ({}): {}", label(node), node.op, opaque->reason)});
    if (const auto* invalid = std::get_if<Invalid>(&definition)) return put(Mixed{invalid->message});
    const Formula& formula = std::get<Formula>(definition);
    std::vector<Role> inputs(formula.inputs.size(), Alike{}), stages;
    for (std::size_t k = 0; k < std::min(inputs.size(), node.inputs.size()); ++k)
      if (node.inputs[k].exists()) inputs[k] = role_of(node.inputs[k]);
    for (const Stage& stage : formula.stages) {
      Role role = role_of(stage.shape());
      Reader reader(*this, stage, role, inputs, stages);
      if (const auto why = reader.run())
        role = Mixed{reader.is_inherited() ? *why
                                           : fmt::format("node '{}' ({}) {}", label(node), node.op, *why)};
      stages.push_back(std::move(role));
    }
    if (const auto why = condition_of(formula))
      return put(Mixed{fmt::format("node '{}' ({}) {}", label(node), node.op, *why)});
    for (std::uint32_t k = 0; k < node.outputs.size() && k < formula.outputs.size(); ++k)
      roles_[{id, k}] = is_known({id, k}) ? Role(Alike{}) : nth(stages, formula.outputs[k]);
  }
  // A value that does not depend on the inputs, nor on the size of the batch.
  bool is_known(Value value) const {
    const ValueInfo& info = inference_.of(value);
    return info.constant || (info.integers && std::ranges::all_of(*info.integers, &Dim::is_concrete));
  }
  // A formula may be right for some sizes only.
  std::optional<std::string> condition_of(const Formula& formula) const {
    for (const SizeCondition& c : formula.conditions) {
      if (c.kind != SizeCondition::Kind::Exact || !has_batch(c.extent)) continue;
      const Dim from_one = c.extent.substitute(
          [&](std::string_view name) { return name == batch_ ? size_ + Dim(1) : Dim::symbol(name); });
      if (from_one.at_least(0) != true)
        return fmt::format("computes otherwise where {} < 0", c.extent.text());
    }
    return std::nullopt;
  }

  // Looks at what one stage reads, for one sample.
  class Reader {
   public:
    Reader(const Samples& all, const Stage& stage, const Role& role, const std::vector<Role>& inputs,
           const std::vector<Role>& stages)
        : all_(all),
          stage_(stage),
          inputs_(inputs),
          stages_(stages),
          sample_{.id = kSample, .extent = all.size_} {
      if (const auto* mixed = std::get_if<Mixed>(&role)) why_ = mixed->why;
      const auto* rows = std::get_if<BySample>(&role);
      if (!rows) return;
      axis_ = stage.axes[rows->axis];
      const Axis row{.id = kRow, .extent = Dim(rows->rows)};
      position_ = rows->rows == 1 ? Index(sample_) : Dim(rows->rows) * Index(sample_) + Index(row);
    }

    // The fault, as the end of a sentence; a whole sentence if it is about an input tensor.
    std::optional<std::string> run() {
      if (!why_) visit(*stage_.value);
      return why_;
    }
    bool is_inherited() const { return is_inherited_; }

   private:
    static constexpr int kSample = -2, kRow = -3;  // no formula has such axes

    Index of_sample(const Index& index) const {
      if (!axis_) return index;
      return index.substitute([&](const Axis& a) { return a == *axis_ ? position_ : Index(a); });
    }
    // Whether an index is the same for all samples and sizes of the batch.
    bool is_alike(const Index& index) const { return !index.mentions(sample_) && !all_.has_batch(index); }
    void look(const Index& index) {
      if (!is_alike(of_sample(index)))
        why_ = "depends on the sample's position in the batch, or on the number of samples";
    }

    void visit(const ExprNode& e) {
      if (why_ || !seen_.insert(&e).second) return;
      if (e.kind == ExprNode::Kind::IndexNumber) look(e.index);
      if (e.kind == ExprNode::Kind::Read) read(e);
      for (const Axis& a : e.axes)
        if (all_.has_batch(a.extent)) why_ = "combines several samples of the batch";
      for (const Index& i : e.domain) look(i);
      for (const ExprNode::Case& c : e.cases) {
        for (const Index& i : c.when) look(i);
        visit(*c.value);
      }
      for (const ExprRef& a : e.args) visit(*a);
    }
    void read(const ExprNode& e) {
      const auto number = static_cast<std::size_t>(e.tensor.number);
      const Role& role = e.tensor.kind == TensorRef::Kind::Input ? inputs_[number] : stages_[number];
      if (const auto* mixed = std::get_if<Mixed>(&role)) {
        why_ = mixed->why;
        is_inherited_ = true;
        return;
      }
      const auto* rows = std::get_if<BySample>(&role);
      for (std::size_t d = 0; d < e.at.size(); ++d) {
        if (!rows || d != rows->axis) {
          look(e.at[d]);
          continue;
        }
        const Index rest = of_sample(e.at[d]) - Dim(rows->rows) * Index(sample_);
        if (!axis_ || !is_alike(rest) || !rest.is_inside(Dim(rows->rows)))
          why_ = "reads other samples of the batch";
      }
    }

    const Samples& all_;
    const Stage& stage_;
    const std::vector<Role>&inputs_, &stages_;
    Axis sample_;
    std::optional<Axis> axis_;  // of the stage: the batch
    Index position_;            // along it
    std::set<const ExprNode*> seen_;
    std::optional<std::string> why_;
    bool is_inherited_ = false;
  };

  const Graph& graph_;
  const Inference& inference_;
  const std::string& batch_;
  Dim size_;
  std::map<Value, Role> roles_;
};

}  // namespace

std::optional<ImageBatch> image_batch(const Graph& graph, const Inference& inference) {
  ImageBatch out;
  bool has_image = false;
  for (const Value input : graph.inputs()) {
    const auto& shape = inference.of(input).shape;
    if (!shape) return std::nullopt;
    for (std::size_t d = 0; d < shape->size(); ++d) {
      const auto symbols = (*shape)[d].symbols();
      if (d == 0 && symbols.size() == 1 && (*shape)[d] == Dim::symbol(symbols[0]) &&
          (out.name.empty() || out.name == symbols[0])) {
        out.name = symbols[0];
        out.inputs.insert(graph.name_of(input));
        has_image = has_image || shape->size() == 4;
      } else if (!out.name.empty() && std::ranges::find(symbols, out.name) != symbols.end()) {
        return std::nullopt;
      }
    }
  }
  if (!has_image || Samples(graph, inference, out.name).run()) return std::nullopt;
  return out;
}

std::string shape_option(const std::string& input, const std::optional<Dims>& shape) {
  std::string extents;
  const auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  for (std::size_t d = 0; shape && d < shape->size(); ++d) {
    std::string extent = (*shape)[d].text();
    if (!std::ranges::all_of(extent, is_letter)) extent = fmt::format("N{}", d);
    extents += (d == 0 ? "" : "x") + extent;
  }
  return fmt::format("--shape {}={}", input, shape ? extents : "1x2x3");
}

Result<std::optional<Batch>> open_batch(const Graph& graph, const InferOptions& sizes) {
  ISOMER_TRY(const Graph flat, flatten(graph, sizes));
  ISOMER_TRY(const Inference inference, infer(flat, sizes));
  Batch batch{.one = sizes};
  std::string first, to_type;  // of the inputs that are open
  std::string why;
  const auto refuse = [&](const std::string& reason) {
    if (why.empty()) why = reason;
  };
  for (const Value input : flat.inputs()) {
    const ValueInfo& info = inference.of(input);
    if (flat.node(input.node).kind != NodeKind::Input || concrete_shape(info)) continue;
    const std::string& name = flat.name_of(input);
    if (first.empty()) first = fmt::format("'{}'{}", name, info.shape ? ' ' + text(*info.shape) : "");
    to_type += ' ' + shape_option(name, info.shape);
    if (!info.shape) {
      refuse("its rank is not known");
      continue;
    }
    Extents one;
    for (std::size_t d = 0; d < info.shape->size(); ++d) {
      const Dim& extent = (*info.shape)[d];
      one.push_back(extent.value().value_or(1));
      if (extent.is_concrete()) continue;
      const auto symbols = extent.symbols();
      if (d != 0 || symbols.size() != 1 || !(extent == Dim::symbol(symbols[0])))
        refuse("more than the first axis is open");
      else if (!batch.name.empty() && batch.name != symbols[0])
        refuse(fmt::format("two sizes are open, {} and {}", batch.name, symbols[0]));
      else batch.name = symbols[0];
    }
    batch.inputs.insert(name);
    batch.one.shapes[name] = one;
  }
  if (first.empty()) return std::optional<Batch>();
  if (why.empty())
    if (const auto mixed = Samples(flat, inference, batch.name).run()) why = *mixed;
  if (why.empty()) return std::optional(std::move(batch));
  return Error{fmt::format(
      "the size of input {} is open, and a module leaves open only a batch whose samples are computed one by "
      "one: {}. Give the size:{}, with numbers in the place of names",
      first, why, to_type)};
}

}  // namespace isomer::lower
