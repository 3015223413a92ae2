#include "kernel/certify/pairing.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <set>

#include "kernel/certify/model_interface.h"
#include "model/graph/constant.h"
#include "model/graph/flatten.h"
#include "model/graph/names.h"
#include "model/graph/rebuild.h"

namespace isomer {
namespace {

constexpr std::int64_t kMostMade = 1 << 18;                  // elements of a mask
constexpr std::uint64_t kMostWork = std::uint64_t{1} << 24;  // four times what the finder gives an output

Result<Value> value_of(const ValuesByName& names, const std::string& name, const char* model) {
  const auto at = names.find(name);
  if (at == names.end()) return Error{fmt::format("no value of the {} model is named {}", model, name)};
  return at->second;
}

Value add_indices(Graph& graph, const std::string& name, const Extents& list) {
  Node constant;
  constant.kind = NodeKind::Initializer;
  constant.outputs = {name};
  constant.tensor = Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(list.size())}, list);
  return {graph.add(std::move(constant)), 0};
}

// The graph with values that no node reads.
Result<std::vector<Value>> add_moved(Graph& graph, const std::vector<MovedValue>& moved) {
  std::vector<Value> out;
  ValuesByName names = values_by_name(graph);
  for (const MovedValue& m : moved) {
    ISOMER_TRY(const Value of, value_of(names, m.of, "first"));
    if (names.contains(m.name)) return Error{fmt::format("the name {} is taken", m.name)};
    Node node;
    node.op = m.perm.empty() ? "Slice" : "Transpose";
    node.inputs = {of};
    node.outputs = {m.name};
    if (!m.perm.empty()) {
      node.attributes.set("perm", m.perm);
    } else {
      const std::size_t rank = m.step.size();
      if (m.begin.size() != rank) return Error{fmt::format("{}: not as many begins as steps", m.name)};
      Extents axes, ends(rank, std::numeric_limits<std::int64_t>::max());
      for (std::size_t d = 0; d < rank; ++d) axes.push_back(static_cast<std::int64_t>(d));
      int number = 0;
      for (const Extents& list : {m.begin, ends, axes, m.step})
        node.inputs.push_back(add_indices(graph, fmt::format("{}/{}", m.name, number++), list));
    }
    out.push_back({graph.add(std::move(node)), 0});
    names.emplace(m.name, out.back());
  }
  return out;
}

// The program over the constants of a model in place of the inputs that have their names.
Result<Graph> with_constants_of(const Graph& program, const Graph& model, const ValuesByName& names) {
  Graph out;
  out.opsets = program.opsets;
  out.opsets.own = model.opsets.own;
  std::map<NodeId, NodeId> moved;
  for (const NodeId id : program.order()) {
    Node node = program.node(id);
    if (node.kind == NodeKind::Input) {
      ISOMER_TRY(const Value value, value_of(names, node.outputs[0], "other"));
      const auto constant = known_constant(model, value);
      if (!constant) return Error{fmt::format("{} is no constant of the other model", node.outputs[0])};
      node = {};
      node.kind = NodeKind::Initializer;
      node.outputs = {model.name_of(value)};
      node.tensor = *constant;
    }
    if (!node.captures.empty()) return Error{fmt::format("{} has a subgraph", label(node))};
    for (Value& v : node.inputs)
      if (v.exists()) v.node = moved.at(v.node);
    moved.emplace(id, out.add(std::move(node)));
  }
  if (program.outputs().size() != 1) return Error{"the program of a constant has one output"};
  const Value result = program.outputs()[0];
  out.add_output({moved.at(result.node), result.output});
  return out;
}

class PairChecker {
 public:
  PairChecker(const ModelPair& pair, std::uint64_t key)
      : pair_(pair),
        key_(key),
        sweep_(pair.a, pair.a_info, pair.b, pair.b_info, pair.moved),
        names_a_(values_by_name(pair.a)),
        names_b_(values_by_name(pair.b)) {
    for (const NodeId id : pair.b.order())
      if (known_constant(pair.b, {id, 0})) sweep_.add_to_b(id);
  }

  Status state(const StatedConstant& constant);
  Status prove(const Equation& equation, PairedReport& report);
  Status finish(PairedReport& report);

 private:
  std::optional<std::string> shape_difference(Value x, Value y) const;
  // Nodes of the second model up to this one have their classes.
  void reach(std::size_t position) {
    for (; next_ < position && next_ < pair_.b.order().size(); ++next_) {
      const NodeId id = pair_.b.order()[next_];
      if (!known_constant(pair_.b, {id, 0})) sweep_.add_to_b(id);
    }
  }
  const ModelPair& pair_;
  std::uint64_t key_;
  Sweep sweep_;
  ValuesByName names_a_, names_b_;
  std::set<std::pair<Value, Value>>
      proved_;  // two values of the first model may be equal to one of the second
  std::size_t next_ = 0;
};

Status PairChecker::state(const StatedConstant& constant) {
  const bool is_a = constant.side == Side::A;
  ISOMER_TRY(const Value value,
             value_of(is_a ? names_a_ : names_b_, constant.name, is_a ? "first" : "second"));
  ISOMER_TRY(const Graph program,
             with_constants_of(constant.program, is_a ? pair_.b : pair_.a, is_a ? names_b_ : names_a_));
  ISOMER_TRY(const Rounding rounding, sweep_.replace_constant(constant.side, value, program));
  (void)rounding;
  return Done{};
}

Status PairChecker::prove(const Equation& equation, PairedReport& report) {
  ISOMER_TRY(const Value a, value_of(names_a_, equation.a, "first"));
  ISOMER_TRY(const Value b, value_of(names_b_, equation.b, "second"));
  reach(equation.at_end ? pair_.b.order().size() : sweep_.position_in_b(b.node) + 1);
  std::set<int> open;
  for (const std::string& name : equation.open) {
    ISOMER_TRY(const Value value, value_of(names_a_, name, "first"));
    open.insert(sweep_.class_of(Side::A, value));
  }
  ProveOptions options;
  options.key = key_;
  options.attempt = equation.attempt;
  if (equation.work > 0) options.budget.set_operations = std::min(equation.work, kMostWork);
  const Verdict verdict = sweep_.prove(a, b, open, prove_equal, options);
  const auto* proved = std::get_if<Proved>(&verdict);
  if (proved == nullptr) return Error{fmt::format("{} = {}: {}", equation.a, equation.b, text(verdict))};
  proved_.emplace(a, b);
  ++report.equations;
  report.points += proved->field.points;
  return Done{};
}

// Proved outputs have one shape. The shape by inference is a second check: a constant that decides an extent
// may differ in its last digits.
std::optional<std::string> PairChecker::shape_difference(Value x, Value y) const {
  const auto &left = pair_.a_info.of(x).shape, &right = pair_.b_info.of(y).shape;
  if (!left || !right) return std::nullopt;
  bool differs = left->size() != right->size();
  for (std::size_t k = 0; !differs && k < left->size(); ++k)
    differs = (*left)[k].equals((*right)[k]) == false;
  if (!differs) return std::nullopt;
  return fmt::format("output {} has the shape {} in the first model, {} in the second", pair_.a.name_of(x),
                     text(*left), text(*right));
}

Status PairChecker::finish(PairedReport& report) {
  reach(pair_.b.order().size());
  for (std::size_t k = 0; k < pair_.a.outputs().size(); ++k) {
    const Value x = pair_.a.outputs()[k], y = pair_.b.outputs()[k];
    if (sweep_.class_of(Side::A, x) != sweep_.class_of(Side::B, y) && !proved_.contains({x, y}))
      return Error{fmt::format("output {} is not shown to be {}", pair_.a.name_of(x), pair_.b.name_of(y))};
    if (const auto why = shape_difference(x, y)) return Error{*why};
    if (pair_.a.name_of(x) != pair_.b.name_of(y))
      report.renamed.emplace_back(pair_.a.name_of(x), pair_.b.name_of(y));
  }
  const Node* unaccounted = sweep_.unaccounted();
  if (unaccounted == nullptr) unaccounted = sweep_.unaccounted_dead(pair_.whole_a, pair_.whole_a_info);
  if (const Node* node = unaccounted)
    return Error{fmt::format("{} of the second model may fail where the first model doesn't", label(*node))};
  if (const Node* jump = sweep_.jump_behind_rounding())
    return Error{
        fmt::format("the outputs are equal but for the last digits of constants, and these reach {}, where a "
                    "small change may be a jump",
                    label(*jump))};
  if (const Node* node = sweep_.undetermined_constant())
    return Error{
        fmt::format("nothing determines a rounded constant of {} but its own program", label(*node))};
  for (const auto& [c, folded] : sweep_.folded()) {
    ++(folded.rounding.is_exact      ? report.constants_moved
       : folded.rounding.is_restated ? report.constants_restated
                                     : report.constants_rounded);
    report.worst_ulp = std::max(report.worst_ulp, folded.rounding.worst_ulp);
  }
  return Done{};
}

}  // namespace

std::variant<ModelPair, PairFailure> paired(const Graph& first, const Graph& second, bool by_position,
                                            const std::vector<MovedValue>& moved) {
  const auto failure = [](const char* which, const Error& e) {
    return PairFailure{fmt::format("the {} model: {}", which, e.message)};
  };
  auto a = flatten(with_named_sizes(first));
  if (!a.ok()) return failure("first", a.error());
  auto flat_b = flatten(with_named_sizes(second));
  if (!flat_b.ok()) return failure("second", flat_b.error());
  ModelPair out;
  out.whole_a = *std::move(a);
  out.a = without_dead_nodes(out.whole_a);
  out.b = with_symbols_of(out.a, by_position ? *flat_b : with_outputs_like(out.a, *flat_b));
  auto values = add_moved(out.a, moved);
  if (!values.ok()) return failure("first", values.error());
  out.moved = std::move(*values);
  const InferOptions with_masks{.symbols = {}, .shapes = {}, .most_made = kMostMade};
  auto a_info = infer(out.a, with_masks), b_info = infer(out.b, with_masks),
       whole_a_info = infer(out.whole_a, with_masks);
  if (!a_info.ok()) return failure("first", a_info.error());
  if (!whole_a_info.ok()) return failure("first", whole_a_info.error());
  if (!b_info.ok()) return failure("second", b_info.error());
  out.a_info = std::move(*a_info);
  out.whole_a_info = std::move(*whole_a_info);
  out.b_info = std::move(*b_info);
  if (auto why = interface_difference(out.a, out.a_info, out.b, out.b_info))
    return PairFailure{std::move(*why), true};
  if (auto why = size_difference(out.a, out.a_info, out.b, out.b_info)) return PairFailure{std::move(*why)};
  return out;
}

PairedReport check_pairing(const Graph& first, const Graph& second, const Pairing& pairing,
                           std::uint64_t key) {
  PairedReport report;
  const auto pair = paired(first, second, pairing.by_position, pairing.moved);
  if (const auto* failure = std::get_if<PairFailure>(&pair)) {
    report.refusal = failure->why;
    return report;
  }
  PairChecker checker(std::get<ModelPair>(pair), key);
  for (const StatedConstant& constant : pairing.constants)
    if (const Status done = checker.state(constant); !done.ok()) {
      report.refusal = fmt::format("constant {}: {}", constant.name, done.error().message);
      return report;
    }
  for (const Equation& equation : pairing.equations)
    if (const Status done = checker.prove(equation, report); !done.ok()) {
      report.equation = report.equations;
      report.refusal = done.error().message;
      return report;
    }
  if (const Status done = checker.finish(report); !done.ok()) report.refusal = done.error().message;
  return report;
}

}  // namespace isomer
