#include "kernel/prove/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "model/eval/element.h"
#include "model/eval/program.h"
#include "model/graph/constant.h"
#include "model/graph/last_digits.h"

namespace isomer {
namespace {

constexpr std::int64_t kCases = 256;
constexpr std::int64_t kMostWalked = 4096;  // elements of a node, one by one
// The digits that float32 may have lost of the largest number, nine: float64 has lost less than 2^-43 of it
// then.
constexpr double kMostLost = 0x1p-15;
constexpr double kMargin = 0x1p-38;

bool has_8_bits(ElementType type) { return type == ElementType::Uint8 || type == ElementType::Int8; }

// All numbers of a type of 8 bits, each at the place that it has as an index: -1 is the last.
Tensor all_cases(ElementType type, std::size_t rank) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t k = 0; k < kCases; ++k)
    numbers.push_back(type == ElementType::Int8 && k >= kCases / 2 ? k - kCases : k);
  Extents extents(rank, 1);
  extents.back() = kCases;
  return convert(Tensor::of(ElementType::Int64, extents, numbers), type);
}

// Whether the elements keep their order, whatever shape they have then.
bool keeps_order(const Node& node) {
  return node.domain.empty() &&
         (node.op == "Reshape" || node.op == "Flatten" || node.op == "Squeeze" || node.op == "Unsqueeze");
}

// Whether an element of the output is made of the elements at its place of the inputs that vary, and of
// numbers that are the same at all places.
class Pointwise {
 public:
  Pointwise(const Formula& formula, const std::vector<bool>& varies) : formula_(formula), varies_(varies) {}

  bool holds() const {
    if (formula_.stages.size() != 1 || formula_.outputs.size() != 1) return false;
    for (std::size_t k = 0; k < formula_.inputs.size(); ++k)
      if (formula_.inputs[k] && varies_[k] && formula_.inputs[k]->shape != stage().shape()) return false;
    return holds(*stage().value);
  }

 private:
  const Stage& stage() const { return formula_.stages[0]; }
  bool mentions_place(const Index& index) const {
    return std::ranges::any_of(stage().axes, [&](const Axis& a) { return index.mentions(a); });
  }
  bool holds(const ExprNode& e) const {
    switch (e.kind) {
      case ExprNode::Kind::Number: return true;
      case ExprNode::Kind::IndexNumber: return !mentions_place(e.index);
      case ExprNode::Kind::Read: return reads_rightly(e);
      case ExprNode::Kind::Cases: return false;
      case ExprNode::Kind::Reduce:
        if (!e.domain.empty()) return false;
        break;
      case ExprNode::Kind::Apply: break;
    }
    return std::ranges::all_of(e.args, [&](const ExprRef& a) { return holds(*a); });
  }
  bool reads_rightly(const ExprNode& e) const {
    if (e.tensor.kind != TensorRef::Kind::Input) return false;
    if (!varies_[static_cast<std::size_t>(e.tensor.number)])
      return std::ranges::none_of(e.at, [&](const Index& i) { return mentions_place(i); });
    if (e.at.size() != stage().axes.size()) return false;
    for (std::size_t d = 0; d < e.at.size(); ++d) {
      const Axis& axis = stage().axes[d];
      if (!(e.at[d] == Index(axis)) && !(axis.extent.is(1) && e.at[d] == Index(0))) return false;
    }
    return true;
  }
  const Formula& formula_;
  const std::vector<bool>& varies_;
};

// Whether two expressions, both pointwise, are one function.
bool is_same_function(const ExprNode& a, const ExprNode& b, const std::vector<bool>& varies) {
  if (a.kind != b.kind || a.type != b.type || a.number != b.number || a.integer != b.integer ||
      !(a.index == b.index) || !(a.tensor == b.tensor) || a.fn != b.fn || a.reduction != b.reduction ||
      a.axes.size() != b.axes.size() || a.args.size() != b.args.size())
    return false;
  for (std::size_t k = 0; k < a.axes.size(); ++k)
    if (a.axes[k].id != b.axes[k].id || !(a.axes[k].extent == b.axes[k].extent)) return false;
  if (a.kind == ExprNode::Kind::Read && !varies[static_cast<std::size_t>(a.tensor.number)] &&
      (!(a.at == b.at) || !(a.extents == b.extents)))
    return false;
  return std::ranges::equal(
      a.args, b.args, [&](const ExprRef& x, const ExprRef& y) { return is_same_function(*x, *y, varies); });
}

// A program at 256 elements that are all cases of its input: a value of rank r has the extents 1, ..., 256.
struct Twin {
  Graph graph;
  std::map<Value, Value> made;  // by what they stand for
  std::set<Value> varies;       // values of the program that depend on its input
  std::set<NodeId> reshaped;    // nodes that only change a shape
  std::optional<std::int64_t> count;
};

class TwinBuilder {
 public:
  TwinBuilder(const Graph& program, const Inference& inference) : program_(program), inference_(inference) {}

  Result<Twin> build() {
    out_.graph.opsets = program_.opsets;
    out_.graph.functions = program_.functions;
    for (const NodeId id : program_.order()) ISOMER_TRY_DO(add(id));
    for (const Value& v : program_.outputs()) {
      if (!out_.varies.contains(v) || !is_integer(inference_.of(v).type))
        return Error{"an output is no integer that varies"};
      out_.graph.add_output(out_.made.at(v));
    }
    return std::move(out_);
  }

 private:
  bool varies(const Value& v) const { return v.exists() && out_.varies.contains(v); }
  void put(NodeId id, Node node) {
    out_.made.emplace(Value{id, 0}, Value{out_.graph.add(std::move(node)), 0});
  }

  Status add(NodeId id) {
    Node node = program_.node(id);
    if (node.kind == NodeKind::Input) return add_input(id);
    if (!node.captures.empty() || node.outputs.size() != 1 || program_.is_overridable(id))
      return Error{fmt::format("{} is no function of one element", label(node))};
    // For several floats, a cached question (optimizer/facts/proof_cache.h) keeps no numbers.
    const auto constant = known_constant(program_, {id, 0});
    if (constant && is_float(constant->type()) && constant->count() != 1)
      return Error{"a constant of several floats"};
    const bool depends = std::ranges::any_of(node.inputs, [&](const Value& v) { return varies(v); });
    if (depends && keeps_order(node)) return add_reshape(id);
    for (Value& v : node.inputs)
      if (v.exists()) v = out_.made.at(v);
    put(id, std::move(node));
    if (depends) out_.varies.insert({id, 0});
    return Done{};
  }
  Status add_input(NodeId id) {
    const ValueInfo& info = inference_.of({id, 0});
    const auto extents = concrete_shape(info);
    if (!has_8_bits(info.type) || !extents || extents->empty() || !out_.varies.empty())
      return Error{"it has not one input of 8 bits, of a known size"};
    Node node;
    node.kind = NodeKind::Input;
    node.outputs = program_.node(id).outputs;
    node.declared.type = info.type;
    const Dims shape = to_dims(all_cases(info.type, extents->size()).extents());
    node.declared.shape = std::vector<std::optional<Dim>>(shape.begin(), shape.end());
    put(id, std::move(node));
    out_.graph.add_input(out_.made.at({id, 0}));
    out_.varies.insert({id, 0});
    out_.count = element_count(*extents);
    return Done{};
  }
  Status add_reshape(NodeId id) {
    const Node& from = program_.node(id);
    const auto extents = concrete_shape(inference_.of({id, 0}));
    if (std::ranges::count_if(from.inputs, [&](const Value& v) { return varies(v); }) != 1 ||
        !varies(from.inputs[0]) || !extents || extents->empty() || element_count(*extents) != out_.count)
      return Error{fmt::format("{} is no change of shape", label(from))};
    Node shape;
    shape.kind = NodeKind::Initializer;
    shape.outputs = {from.outputs[0] + "_shape_of_cases"};
    std::vector<std::int64_t> target(extents->size(), 1);
    target.back() = kCases;
    shape.tensor = Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(target.size())}, target);
    const Value to{out_.graph.add(std::move(shape)), 0};
    Node node;
    node.op = "Reshape";
    node.inputs = {out_.made.at(from.inputs[0]), to};
    node.outputs = from.outputs;
    put(id, std::move(node));
    out_.varies.insert({id, 0});
    out_.reshaped.insert(id);
    return Done{};
  }

  const Graph& program_;
  const Inference& inference_;
  Twin out_;
};

// An index of a look-up, and the extent that it must lie in.
struct Pointer {
  Value index;  // in the other program
  std::int64_t extent;
};

// Whether each node that depends on the input is pointwise, by one formula in both programs; adds the indices
// by which it looks up.
Status compare(const Graph& program, const Inference& inference, const Twin& twin, const Inference& found,
               std::vector<Pointer>& pointers) {
  for (const NodeId id : program.order()) {
    const Node& node = program.node(id);
    if (node.kind != NodeKind::Operator || !twin.varies.contains({id, 0}) || twin.reshaped.contains(id))
      continue;
    const NodeId other = twin.made.at({id, 0}).node;
    std::vector<bool> varies;
    for (const Value& v : node.inputs) varies.push_back(v.exists() && twin.varies.contains(v));
    const Definition here = define_node(program, inference, id),
                     there = define_node(twin.graph, found, other);
    const auto *a = std::get_if<Formula>(&here), *b = std::get_if<Formula>(&there);
    const bool is_same = a != nullptr && b != nullptr && a->inputs.size() <= varies.size() &&
                         a->inputs.size() == b->inputs.size() && !inference.opaque.contains(id) &&
                         !found.opaque.contains(other) && Pointwise(*a, varies).holds() &&
                         Pointwise(*b, varies).holds() && a->stages[0].type == b->stages[0].type &&
                         is_same_function(*a->stages[0].value, *b->stages[0].value, varies);
    if (!is_same) return Error{fmt::format("{} is not pointwise", label(node))};
    for (const IndexRange& r : a->ranges) {
      if (r.place || !r.extent.is_concrete()) return Error{fmt::format("the indices of {}", label(node))};
      const Value index = node.inputs[static_cast<std::size_t>(r.input)];
      pointers.push_back({twin.made.at(index), r.extent.concrete()});
    }
  }
  return Done{};
}

Status is_inside(const Tensor& indices, std::int64_t extent) {
  const auto numbers = indices.integers();
  if (!numbers || std::ranges::any_of(*numbers, [&](std::int64_t i) { return i < -extent || i >= extent; }))
    return Error{"an index points outside"};
  return Done{};
}

// All elements of a node's output, one by one, by the evaluator that walks the tree.
Result<Tensor> walked(const Formula& formula, const std::vector<std::optional<Tensor>>& inputs) {
  const auto extents = concrete(formula.output(0).shape());
  const auto count = extents ? element_count(*extents) : std::nullopt;
  if (!count || *count > kMostWalked) return Error{"too many elements"};
  std::vector<std::byte> bytes;
  Extents at(extents->size(), 0);
  for (std::int64_t k = 0; k < *count; ++k) {
    std::int64_t rest = k;
    for (std::size_t d = at.size(); d-- > 0;) {
      at[d] = rest % (*extents)[d];
      rest /= (*extents)[d];
    }
    ISOMER_TRY(const Tensor element, evaluate_element(formula, 0, at, inputs));
    bytes.insert(bytes.end(), element.bytes().data, element.bytes().data + element.bytes().size);
  }
  return Tensor(formula.output(0).type, *extents, Bytes::copy_of(bytes.data(), bytes.size()));
}

double largest_of(const std::vector<double>& values) {
  double out = 0;
  for (const double v : values) out = std::max(out, std::abs(v));
  return out;
}

// Numbers next to these: further away than float64 can be off, as far as `is_faithful` lets it.
Tensor moved(const Tensor& tensor, double sign) {
  std::vector<double> values = *tensor.doubles();
  const double largest = largest_of(values);
  for (double& v : values) v += sign * kMargin * (std::abs(v) + largest);
  return Tensor::of(ElementType::Double, tensor.extents(), values);
}

// Evaluates both programs: with real numbers, as float64, and in the stored types from one jump to the next.
class Evaluation {
 public:
  Evaluation(const Twin& twin, const Inference& inference, Tensor all)
      : twin_(twin), inference_(inference), all_(std::move(all)) {}

  Status run() {
    for (const NodeId id : twin_.graph.order()) ISOMER_TRY_DO(add(id));
    return Done{};
  }
  const Tensor& of(Value v) const { return real_.at(v); }

 private:
  using Inputs = std::vector<std::optional<Tensor>>;

  static Tensor widened(const Tensor& t) { return is_float(t.type()) ? convert(t, ElementType::Double) : t; }
  void put(NodeId id, const Tensor& real, const Tensor& stored) {
    real_.emplace(Value{id, 0}, real);
    stored_.emplace(Value{id, 0}, stored);
  }

  Status add(NodeId id) {
    const Node& node = twin_.graph.node(id);
    if (const auto constant = known_constant(twin_.graph, {id, 0})) {
      if (is_float(constant->type()) || is_integer(constant->type()) || constant->type() == ElementType::Bool)
        put(id, widened(*constant), *constant);
      return Done{};
    }
    if (node.kind == NodeKind::Input) {
      put(id, all_, all_);
      return Done{};
    }
    const Definition definition = define_node(twin_.graph, inference_, id);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr || formula->outputs.size() != 1)
      return Error{fmt::format("{} has no formula", label(node))};
    const ElementType type = formula->output(0).type;
    if (narrows(*formula) || type == ElementType::Float16 || type == ElementType::BFloat16)
      return Error{fmt::format("{} rounds to fewer bits", label(node))};
    return compute(id, node, *formula);
  }

  Status compute(NodeId id, const Node& node, const Formula& formula) {
    Inputs exact(formula.inputs.size()), stored(formula.inputs.size());
    for (std::size_t k = 0; k < exact.size(); ++k) {
      if (!formula.inputs[k]) continue;
      const auto at = real_.find(node.inputs[k]);
      if (at == real_.end()) return Error{fmt::format("{} reads what is no number", label(node))};
      exact[k] = at->second;
      stored[k] = stored_.at(node.inputs[k]);
    }
    const Formula lifted = lift(formula, ElementType::Double);
    const Program program = Program::compile(lifted);
    ISOMER_TRY(const std::vector<Tensor> results, program.run(exact));
    ISOMER_TRY(const Tensor again, walked(lifted, exact));
    if (!again.same_bits(results[0])) return Error{"the two evaluators make different numbers of a case"};
    ISOMER_TRY(const std::vector<Tensor> native, Program::compile(formula).run(stored));
    if (is_continuous(formula, node)) {
      if (!is_faithful(results[0], native[0]))
        return Error{fmt::format("{} leaves too few digits", label(node))};
      put(id, results[0], native[0]);
      return Done{};
    }
    // Half of a step, exactly, is decided by both arithmetics alike.
    if (is_near_a_jump(program, exact, results[0]) && !widened(native[0]).same_bits(results[0]))
      return Error{fmt::format("the last digits decide {}", label(node))};
    put(id, results[0], convert(results[0], native[0].type()));
    return Done{};
  }

  // Whether the stored types are near the real numbers: then float64, which has 29 digits more, is off by
  // less than `moved` moves.
  static bool is_faithful(const Tensor& real, const Tensor& stored) {
    if (!is_float(real.type())) return real.same_bits(stored);
    const auto wanted = *real.doubles(), found = *stored.doubles();
    const double most = kMostLost * largest_of(wanted);
    for (std::size_t k = 0; k < wanted.size(); ++k)
      if (!std::isfinite(wanted[k]) || !(std::abs(wanted[k] - found[k]) <= most)) return false;
    return true;
  }
  static bool is_near_a_jump(const Program& program, const Inputs& inputs, const Tensor& result) {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (!inputs[k] || inputs[k]->type() != ElementType::Double) continue;
      for (const double sign : {-1.0, 1.0}) {
        Inputs others = inputs;
        others[k] = moved(*inputs[k], sign);
        const auto there = program.run(others);
        if (!there.ok() || !(*there)[0].same_bits(result)) return true;
      }
    }
    return false;
  }

  const Twin& twin_;
  const Inference& inference_;
  Tensor all_;
  std::map<Value, Tensor> real_, stored_;
};

std::optional<Value> input_of_8_bits(const Graph& program) {
  if (program.inputs().size() != 1) return std::nullopt;
  const Value x = program.inputs()[0];
  return has_8_bits(program.node(x.node).declared.type) ? std::optional(x) : std::nullopt;
}

}  // namespace

Result<std::vector<Tensor>> cases_of(const Graph& program, const Inference& inference) {
  const auto x = input_of_8_bits(program);
  if (!x) return Error{"it has not one input of 8 bits"};
  ISOMER_TRY(const Twin twin, TwinBuilder(program, inference).build());
  ISOMER_TRY(const Inference found, infer(twin.graph));
  std::vector<Pointer> pointers;
  ISOMER_TRY_DO(compare(program, inference, twin, found, pointers));
  const ValueInfo& info = found.of(twin.made.at(*x));
  Evaluation evaluation(twin, found, all_cases(info.type, info.shape->size()));
  ISOMER_TRY_DO(evaluation.run());
  for (const Pointer& p : pointers) ISOMER_TRY_DO(is_inside(evaluation.of(p.index), p.extent));
  std::vector<Tensor> results;
  for (const Value& v : twin.graph.outputs()) results.push_back(evaluation.of(v));
  return results;
}

bool may_have_cases(const Graph& a, const Graph& b) { return input_of_8_bits(a) && input_of_8_bits(b); }

std::optional<std::string> why_not_equal_by_cases(const Graph& a, const Inference& a_info, const Graph& b,
                                                  const Inference& b_info) {
  const auto left = cases_of(a, a_info);
  if (!left.ok()) return "the first program by cases: " + left.error().message;
  const auto right = cases_of(b, b_info);
  if (!right.ok()) return "the second program by cases: " + right.error().message;
  for (std::size_t k = 0; k < left->size(); ++k) {
    const auto shape = concrete_shape(a_info.of(a.outputs()[k]));
    if (!shape || shape != concrete_shape(b_info.of(b.outputs()[k])))
      return fmt::format("output {} has another shape", k);
    if (!(*left)[k].same_bits((*right)[k])) return fmt::format("output {}: some of 256 cases differ", k);
  }
  return std::nullopt;
}

}  // namespace isomer
