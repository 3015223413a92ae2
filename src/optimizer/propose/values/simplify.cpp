// simplify: removes needless nodes: known values (constants, arithmetic of shapes), nodes that change
// nothing, duplicates. It has no list of operators: inference gives the known values, and the formula shows
// what changes nothing.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "kernel/prove/step.h"
#include "model/graph/constant.h"
#include "model/graph/content.h"
#include "model/graph/dequantized.h"
#include "model/graph/graph_index.h"
#include "model/graph/last_digits.h"
#include "model/graph/program_builder.h"
#include "model/graph/purity.h"
#include "optimizer/facts/evaluation_visits.h"
#include "optimizer/facts/proposal.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

constexpr double kMostFoldedVisits = 4e9;           // a few seconds, of all constants together
constexpr std::int64_t kMostFoldedBytes = 1 << 20;  // that a folded constant may add
constexpr std::int64_t kMostWidened = 1 << 12;      // elements of 16 bits that become 32: biases, not weights

// Both ends of a tensor: candidates are compared in full by the prover.
void add_sample(Hasher& hasher, const Tensor& tensor) {
  if (is_small(tensor)) return add_content(hasher, tensor);
  constexpr std::size_t kEnd = 256;
  hasher.add(static_cast<int>(tensor.type()));
  for (const std::int64_t e : tensor.extents()) hasher.add(static_cast<std::int64_t>(e));
  const auto* bytes = reinterpret_cast<const char*>(tensor.bytes().data);
  hasher.add(std::string_view(bytes, kEnd));
  hasher.add(std::string_view(bytes + tensor.bytes().size - kEnd, kEnd));
}

class Simplifier {
 public:
  Simplifier(const Graph& graph, const Inference& inference, bool fewer_nodes)
      : graph_(graph), inference_(inference), fewer_nodes_(fewer_nodes), index_(graph) {}

  Proposals run() {
    note_few_bits();
    fold_constants();
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::Operator || !node.captures.empty() || is_constant_node(node)) continue;
      if (constants_.contains({id, 0}) || purity(graph_, node) != Purity::Function) continue;
      if (!know_value(id) && !drop_identity(id)) note_twin(id);
    }
    for (const auto& [first, twins] : twins_) merge(first, twins);
    // By itself: what is known shows what changes nothing, and what is merged can't be folded by its name.
    if (!folds_.empty())
      out_.list = {{.kind = "simplify",
                    .what = fmt::format("{} values are known before anything runs", folds_.size()),
                    .claim = {},
                    .folds = folds_}};
    return std::move(out_);
  }

 private:
  // Functions of dequantized numbers, but not of their shapes.
  void note_few_bits() {
    const auto is_noted = [&](Value v) { return few_bits_.contains(v); };
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::Operator) continue;
      if (!is_dequantization(node) && std::ranges::none_of(node.inputs, is_noted)) continue;
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
        if (is_float(inference_.of({id, k}).type)) few_bits_.insert({id, k});
    }
  }

  // Constants that operators compute from constants, if other nodes read them.
  void fold_constants() {
    double spent = 0;
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (node.kind == NodeKind::Input || !node.captures.empty()) continue;
      if (known_constant(graph_, {id, 0})) {
        constants_.insert({id, 0});
        continue;
      }
      const auto is_constant = [&](Value v) { return !v.exists() || constants_.contains(v); };
      if (node.kind != NodeKind::Operator || node.inputs.empty() || node.outputs.size() != 1 ||
          !std::ranges::all_of(node.inputs, is_constant) || purity(graph_, node) != Purity::Function)
        continue;
      if (node.op == "Identity" && !index_.is_output({id, 0})) continue;  // shared weights stay shared
      if (is_dequantization(node) || is_stored_narrow(node)) continue;
      const Definition definition = define_node(graph_, inference_, id);
      const auto* formula = std::get_if<Formula>(&definition);
      const auto visits = formula ? evaluation_visits(*formula) : std::nullopt;
      if (!visits || spent + *visits > kMostFoldedVisits || bytes_of({id, 0}) > allowed_bytes(id)) continue;
      spent += *visits;
      constants_.insert({id, 0});
    }
    for (const Value& v : constants_) {
      const Node& node = graph_.node(v.node);
      const bool may_stay = is_constant_node(node) && (!fewer_nodes_ || index_.is_output(v));
      if (node.kind == NodeKind::Operator && !may_stay && is_read_by_others(v)) fold(v);
    }
    // A value may hang on digits that runtimes do not agree on, or that cancellation has not left.
    const auto may_fold = [&](const std::vector<std::string>& values) {
      return isomer::fold_constants(graph_, values).ok();
    };
    if (!may_fold(folds_)) std::erase_if(folds_, [&](const std::string& v) { return !may_fold({v}); });
  }

  // Weights that are stored in 16 bits and computed with in more: folded, the file would be twice as large.
  // Runtimes fold such a cast when they load a model, and proposers look through it (float32_view.h).
  bool is_stored_narrow(const Node& node) const {
    if (node.op != "Cast" || !node.domain.empty()) return false;
    const auto stored = known_constant(graph_, node.inputs[0]);
    return stored && stored->count() > kMostWidened &&
           (stored->type() == ElementType::Float16 || stored->type() == ElementType::BFloat16);
  }

  // An Identity that gives a constant an output's name stays.
  void fold(Value v) {
    if (!index_.is_output(v) || graph_.node(v.node).op != "Identity") folds_.push_back(graph_.name_of(v));
  }

  bool is_read_by_others(Value v) const {
    return index_.is_output(v) ||
           std::ranges::any_of(index_.readers(v), [&](NodeId r) { return !constants_.contains({r, 0}); });
  }

  std::int64_t bytes_of(Value v) const {
    const ValueInfo& info = inference_.of(v);
    const auto extents = concrete_shape(info);
    if (!extents || info.type == ElementType::Undefined) return std::int64_t{1} << 60;
    const auto bytes = byte_size(info.type, *extents);
    return bytes ? static_cast<std::int64_t>(*bytes) : std::int64_t{1} << 60;
  }
  std::int64_t allowed_bytes(NodeId id) const {
    std::int64_t most = kMostFoldedBytes;
    for (const Value& v : graph_.node(id).inputs)
      if (v.exists()) most = std::max(most, bytes_of(v));
    return most;
  }

  // Arithmetic of shapes that are known.
  bool is_known(Value v) const {
    return graph_.node(v.node).outputs.size() == 1 && !few_bits_.contains(v) &&
           known_value(inference_, v).has_value();
  }
  bool know_value(NodeId id) {
    const Value v{id, 0};
    if (!is_known(v)) return false;
    const bool is_last = index_.is_output(v) ||
                         std::ranges::any_of(index_.readers(v), [&](NodeId r) { return !is_known({r, 0}); });
    if (is_last) fold(v);
    return true;
  }

  // A node whose every element is that of its input at the same place.
  bool drop_identity(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.outputs.size() != 1 || index_.is_output({id, 0})) return false;
    const Definition definition = define_node(graph_, inference_, id);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr || formula->outputs.size() != 1) return false;
    const auto number = kept_input(node, *formula);
    if (!number) return false;
    const Value from = node.inputs.at(static_cast<std::size_t>(*number));
    ProgramBuilder b(graph_, graph_.name_of({id, 0}));
    std::vector<std::string> inputs = inputs_of_claim(node, from);
    b.output(b.input(graph_.name_of(from)));
    if (constants_.contains(from)) std::erase(inputs, graph_.name_of(from));
    propose(fmt::format("{} changes nothing", label(node)),
            {.inputs = inputs, .outputs = {graph_.name_of({id, 0})}, .after = b.graph()});
    return true;
  }

  // Where a claim about a node begins. Integers that inference knows, the extents of a shape, are computed
  // inside of the claim: at its border they would be unknown.
  std::vector<std::string> inputs_of_claim(const Node& node, Value kept) const {
    std::vector<std::string> inputs;
    std::set<Value> seen;
    std::vector<Value> open(node.inputs.rbegin(), node.inputs.rend());
    while (!open.empty()) {
      const Value v = open.back();
      open.pop_back();
      if (!v.exists() || (constants_.contains(v) && v != kept) || !seen.insert(v).second) continue;
      const Node& made = graph_.node(v.node);
      if (v != kept && inference_.of(v).integers && made.kind == NodeKind::Operator)
        open.insert(open.end(), made.inputs.rbegin(), made.inputs.rend());
      else inputs.push_back(graph_.name_of(v));
    }
    return inputs;
  }

  // The input that comes out as it went in.
  std::optional<int> kept_input(const Node& node, const Formula& formula) const {
    const Stage& stage = formula.output(0);
    const auto kept = [&](const ExprNode& e) -> std::optional<int> {
      if (e.kind != ExprNode::Kind::Read || e.tensor.kind != TensorRef::Kind::Input ||
          e.extents != stage.shape() || e.at.size() != stage.axes.size())
        return std::nullopt;
      for (std::size_t k = 0; k < e.at.size(); ++k)
        if (!(e.at[k] == Index(stage.axes[k]))) return std::nullopt;
      const Value from = node.inputs.at(static_cast<std::size_t>(e.tensor.number));
      if (!from.exists() || inference_.of(from).type != stage.type) return std::nullopt;
      return e.tensor.number;
    };
    const ExprNode& value = *stage.value;
    if (value.kind != ExprNode::Kind::Apply || value.args.size() != 2) return kept(value);
    for (const std::size_t k : {0, 1})
      if (is_neutral(node, value.fn, *value.args[k], k))
        if (const auto number = kept(*value.args[1 - k])) return number;
    return std::nullopt;
  }

  // Whether the function has this operand for nothing: x + 0, x - 0, x * 1, x / 1.
  bool is_neutral(const Node& node, Fn fn, const ExprNode& operand, std::size_t place) const {
    const bool commutes = fn == Fn::Add || fn == Fn::Mul;
    const bool adds = fn == Fn::Add || fn == Fn::Sub;
    if ((!commutes && place == 0) || (!adds && fn != Fn::Mul && fn != Fn::Div)) return false;
    if (operand.kind != ExprNode::Kind::Read || operand.tensor.kind != TensorRef::Kind::Input) return false;
    const auto constant =
        known_constant(graph_, node.inputs.at(static_cast<std::size_t>(operand.tensor.number)));
    return constant && constant->is_uniform() && is_float(constant->type()) &&
           constant->doubles()->front() == (adds ? 0 : 1);
  }

  // Equal nodes. The nodes after them are equal only once they are merged, in the next round.
  void note_twin(NodeId id) {
    const Node& node = graph_.node(id);
    Hasher hasher;
    hasher.add(node.op).add(node.domain).add(node.overload);
    add_content(hasher, node.attributes);
    for (const Value& v : node.inputs) {
      const auto constant = v.exists() ? known_constant(graph_, v) : std::nullopt;
      if (constant) add_sample(hasher, *constant);
      else hasher.add(v.exists() ? graph_.name_of(v) : "");
    }
    for (const std::string& o : node.outputs) hasher.add(static_cast<int>(o.empty()));
    const auto [at, is_new] = first_.try_emplace(hasher.digest(), id);
    if (!is_new) twins_[at->second].push_back(id);
  }

  void merge(NodeId first, const std::vector<NodeId>& twins) {
    const Node& node = graph_.node(first);
    ProgramBuilder b(graph_, graph_.name_of({first, 0}));
    std::vector<std::string> inputs;
    std::vector<Value> read;
    for (const Value& v : node.inputs) {
      read.push_back(v.exists() ? b.input(graph_.name_of(v)) : v);
      if (v.exists() && !constants_.contains(v) &&
          std::ranges::find(inputs, graph_.name_of(v)) == inputs.end())
        inputs.push_back(graph_.name_of(v));
    }
    const Value made = b.copy(node, read);
    Claim claim{.inputs = inputs, .outputs = {}, .after = {}};
    const auto add = [&](NodeId id) {
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
        if (node.outputs[k].empty()) continue;
        claim.outputs.push_back(graph_.name_of({id, k}));
        b.output({made.node, k});
      }
    };
    add(first);
    std::ranges::for_each(twins, add);
    claim.after = b.graph();
    propose(fmt::format("{} nodes compute what {} does", twins.size(), label(node)), std::move(claim));
  }

  void propose(std::string what, Claim claim) {
    out_.list.push_back(
        {.kind = "simplify", .what = std::move(what), .claim = std::move(claim), .folds = {}});
  }

  const Graph& graph_;
  const Inference& inference_;
  bool fewer_nodes_;
  GraphIndex index_;
  std::set<Value> constants_, few_bits_;
  std::unordered_map<Digest, NodeId> first_;
  std::map<NodeId, std::vector<NodeId>> twins_;
  std::vector<std::string> folds_;
  Proposals out_;
};

Proposals propose_simplify(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  return Simplifier(graph, inference, options.fewer_nodes).run();
}

}  // namespace

constinit const Proposer kSimplify{
    .name = "simplify",
    .title = "nothing left to compute",
    .law = "f(c) = c′,   x + 0 = x,   f(x), f(x) ⟼ one f(x)",
    .finds =
        "Computes constants and arithmetic of known shapes in advance; removes nodes that change "
        "nothing and computations made twice.",
    .propose = propose_simplify,
    .summary = "constants computed in advance, nodes that change nothing and duplicates removed",
};

}  // namespace isomer
