#include "model/ops/shared/composition.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/check.h"

namespace isomer {
namespace {

// The version of ONNX in which the parts of a composition are meant.
constexpr int kOpsetOfParts = 23;

TensorRef ref_of(const FormulaBuilder::Tensor& x) {
  return x.at(std::vector<Index>(x.shape().size()))->tensor;
}

// A formula's expressions, as part of another one: with axes of that one, and reads of its tensors.
class Writer {
 public:
  Writer(FormulaBuilder& f, const Composition::Operands& inputs) : f_(f), inputs_(inputs) {}

  FormulaBuilder::Tensor stage(const Stage& part) {
    std::vector<Axis> axes;
    for (const Axis& a : part.axes) axes.push_back(axis(a));
    return stages_.emplace_back(f_.stage(std::move(axes), value(part.value.ref())));
  }

 private:
  const Axis& axis(const Axis& a) {
    const auto at = axes_.find(a.id);
    return at == axes_.end() ? axes_.emplace(a.id, f_.axis(a.extent)).first->second : at->second;
  }
  Index index(const Index& i) {
    return i.substitute([&](const Axis& a) { return Index(axis(a)); });
  }
  void rewrite(std::vector<Index>& list) {
    for (Index& i : list) i = index(i);
  }

  // Each node once: what was shared stays shared.
  ExprRef value(const ExprRef& expr) {
    if (const auto at = done_.find(expr.get()); at != done_.end()) return at->second;
    ExprNode node = *expr;
    if (node.kind == ExprNode::Kind::IndexNumber) node.index = index(node.index);
    if (node.kind == ExprNode::Kind::Read) {
      const auto number = static_cast<std::size_t>(node.tensor.number);
      node.tensor = ref_of(node.tensor.kind == TensorRef::Kind::Input ? *inputs_[number] : stages_[number]);
    }
    rewrite(node.at);
    rewrite(node.domain);
    for (Axis& a : node.axes) a = axis(a);
    for (ExprRef& a : node.args) a = value(a);
    for (ExprNode::Case& c : node.cases) {
      rewrite(c.when);
      c.value = value(c.value);
    }
    return done_.emplace(expr.get(), std::make_shared<const ExprNode>(std::move(node))).first->second;
  }

  FormulaBuilder& f_;
  const Composition::Operands& inputs_;
  std::vector<FormulaBuilder::Tensor> stages_;
  std::map<int, Axis> axes_;
  std::unordered_map<const ExprNode*, ExprRef> done_;
};

// The whole needs equal extents wherever the part does. At sizes that the runtime rejects for the part
// (mostly empty tensors) it may accept the whole: nothing is promised there.
void take_over(const Call& call, const std::vector<SizeCondition>& conditions) {
  using enum SizeCondition::Kind;
  for (const SizeCondition& c : conditions) {
    const SizeCondition reversed{.kind = Needed, .extent = Dim(0) - c.extent};
    const bool is_equality = c.kind == Needed && std::ranges::find(conditions, reversed) != conditions.end();
    if (is_equality) call.need(c.extent);
    else if (c.kind == Runs) call.runs_if(c.extent);
    else call.exact_if(c.extent);
  }
}

}  // namespace

std::vector<Composition::Tensor> Composition::all_of(std::string_view domain, std::string_view op,
                                                     const Operands& inputs, Attributes attributes,
                                                     int outputs) {
  Call part;
  part.opset = domain.empty() ? kOpsetOfParts : 1;
  part.output_count = outputs;
  part.attributes = std::move(attributes);
  for (const auto& x : inputs) {
    if (!x) {
      part.inputs.emplace_back();
      continue;
    }
    const TensorRef ref = ref_of(*x);
    Call::Input input{.type = {x->type(), x->shape()}};
    if (ref.kind == TensorRef::Kind::Input) input = call_.in(ref.number);
    part.inputs.emplace_back(std::move(input));
  }
  const Operator* found = find_operator(domain, op);
  ISOMER_CHECK(found != nullptr, "a part that is no operator");
  const Definition definition = define_part(*found, part);
  if (const auto* opaque = std::get_if<Opaque>(&definition)) throw OpaqueCall(opaque->reason);
  if (const auto* invalid = std::get_if<Invalid>(&definition))
    throw IllegalCall(invalid->message, invalid->attribute);
  const auto& formula = std::get<Formula>(definition);
  take_over(call_, formula.conditions);
  for (const IndexRange& range : formula.ranges) {
    const TensorRef ref = ref_of(*inputs[static_cast<std::size_t>(range.input)]);
    if (ref.kind != TensorRef::Kind::Input) throw OpaqueCall("indices that are computed inside");
    call_.need_index(ref.number, range.extent, range.place);
  }
  Writer writer(f, inputs);
  std::vector<Tensor> stages;
  for (const Stage& stage : formula.stages) stages.push_back(writer.stage(stage));
  std::vector<Tensor> out;
  for (const int k : formula.outputs) out.push_back(stages[static_cast<std::size_t>(k)]);
  return out;
}

Attributes Composition::attributes(std::initializer_list<std::string_view> names) const {
  Attributes out;
  for (const std::string_view name : names)
    if (const Attribute::Value* value = call_.attributes.find(name)) out.set(std::string(name), *value);
  return out;
}

void Composition::output(const Tensor& x) {
  const auto p = f.axes(x.shape());
  f.output(p, x.at(to_indices(p)));
}

}  // namespace isomer
