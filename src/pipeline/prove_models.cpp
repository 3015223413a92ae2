#include "pipeline/prove_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "algebra/program.h"
#include "graph/constant.h"
#include "graph/flatten.h"
#include "graph/names.h"
#include "graph/spelling.h"
#include "propose/combined_constant.h"
#include "propose/likeness.h"
#include "propose/moved_constant.h"
#include "propose/restated_constant.h"
#include "propose/scaled_constant.h"
#include "propose/solved_constant.h"
#include "prove/refute.h"
#include "prove/shrink.h"
#include "prove/sweep.h"
#include "prove/value_numbers.h"

namespace isomer {
namespace {

constexpr int kMostRounds = 5;              // of widening a region
constexpr std::size_t kMostCandidates = 3;  // for one value
// Of one pair inside of the models, and of one of outputs.
constexpr std::uint64_t kSetOperations = std::uint64_t{1} << 20, kMostSetOperations = std::uint64_t{1} << 22;

std::map<std::string, const Node*> fed_inputs(const Graph& graph) {
  std::map<std::string, const Node*> out;
  for (const Value& v : graph.inputs())
    if (graph.node(v.node).kind == NodeKind::Input) out.emplace(graph.name_of(v), &graph.node(v.node));
  return out;
}

// The second model's names of dimensions as the first one's, by where the inputs have them.
Graph with_symbols_of(const Graph& a, const Graph& b) {
  std::map<std::string, Dim, std::less<>> names;
  const auto of_a = fed_inputs(a);
  for (const auto& [name, node] : fed_inputs(b)) {
    const auto at = of_a.find(name);
    if (at == of_a.end() || !node->declared.shape || !at->second->declared.shape) continue;
    const auto &mine = *node->declared.shape, &theirs = *at->second->declared.shape;
    for (std::size_t d = 0; d < mine.size() && d < theirs.size(); ++d) {
      if (!mine[d] || !theirs[d]) continue;
      const auto symbols = mine[d]->symbols();
      if (symbols.size() == 1 && *mine[d] == Dim::symbol(symbols[0]) && !theirs[d]->is_concrete())
        names.try_emplace(symbols[0], *theirs[d]);
    }
  }
  return with_symbols_replaced(b, [&](std::string_view s) {
    const auto at = names.find(s);
    return at == names.end() ? Dim::symbol(s) : at->second;
  });
}

// What tells the two models apart before any value is computed.
std::optional<std::string> interface_difference(const Graph& a, const Inference& a_info, const Graph& b,
                                                const Inference& b_info) {
  if (a.outputs().size() != b.outputs().size())
    return fmt::format("the first model has {} outputs, the second {}", a.outputs().size(),
                       b.outputs().size());
  const auto of_a = fed_inputs(a), of_b = fed_inputs(b);
  for (const auto& [name, node] : of_b)
    if (!of_a.contains(name)) return fmt::format("only the second model has an input named {}", name);
  for (const auto& [name, node] : of_a) {
    const auto at = of_b.find(name);
    if (at == of_b.end()) return fmt::format("only the first model has an input named {}", name);
    const DeclaredType &x = node->declared, &y = at->second->declared;
    if (x.type != y.type || x.is_tensor != y.is_tensor)
      return fmt::format("input {} is {} in the first model, {} in the second", name, spelled(x), spelled(y));
    if (x.shape && y.shape && x.shape->size() != y.shape->size())
      return fmt::format("input {} has rank {} in the first model, {} in the second", name, x.shape->size(),
                         y.shape->size());
  }
  for (std::size_t k = 0; k < a.outputs().size(); ++k) {
    const ValueInfo &x = a_info.of(a.outputs()[k]), &y = b_info.of(b.outputs()[k]);
    if (x.type != y.type && x.type != ElementType::Undefined && y.type != ElementType::Undefined)
      return fmt::format("output {} is {} in the first model, {} in the second", k, name(x.type),
                         name(y.type));
    if (x.shape && y.shape && x.shape->size() != y.shape->size())
      return fmt::format("output {} has rank {} in the first model, {} in the second", k, x.shape->size(),
                         y.shape->size());
  }
  return std::nullopt;
}

// Inputs whose extents the models declare differently: what is equal at one size need not be at another.
std::optional<std::string> size_difference(const Graph& a, const Inference& a_info, const Graph& b,
                                           const Inference& b_info) {
  const ValuesByName names = values_by_name(b);
  for (const Value& v : a.inputs()) {
    const auto at = names.find(a.name_of(v));
    if (at == names.end()) continue;
    const auto &x = a_info.of(v).shape, &y = b_info.of(at->second).shape;
    if (x != y)
      return fmt::format("input {} has the shape {} in the first model, {} in the second", a.name_of(v),
                         x ? text(*x) : "?", y ? text(*y) : "?");
  }
  return std::nullopt;
}

class Prover {
 public:
  Prover(const Graph& a, const Inference& a_info, const Graph& b, const Inference& b_info,
         const ProveModelsOptions& options, std::optional<Likeness> likeness, ModelsVerdict& out)
      : a_(a),
        b_(b),
        a_info_(a_info),
        b_info_(b_info),
        options_(options),
        out_(out),
        sweep_(a, a_info, b, b_info),
        likeness_(std::move(likeness)),
        names_of_a_(values_by_name(a)),
        names_of_b_(values_by_name(b)) {}

  void run();

 private:
  bool is_stopped() const { return options_.stop != nullptr && *options_.stop; }
  void find_constants();
  void solve_moved();
  void try_value(Value v);
  bool depends_on_failed(Value v) const;
  bool try_pair(Value a, Value b, int rounds, std::uint64_t set_operations);
  bool solve(const Sweep::Regions& regions);
  std::string unsolved_in(const Sweep::Regions& regions) const;
  std::set<int> widened(const Sweep::Regions& regions, const std::set<int>& open) const;
  bool is_input_class(int c) const;
  void settle_outputs();
  bool refute();
  std::string first_parting() const;

  const Graph &a_, &b_;
  const Inference &a_info_, &b_info_;
  const ProveModelsOptions& options_;
  ModelsVerdict& out_;
  Sweep sweep_;
  std::optional<Likeness> likeness_;
  ProofCache cache_;
  ValuesByName names_of_a_, names_of_b_;
  std::vector<std::pair<Value, Tensor>> constants_of_b_;  // that A has not
  std::vector<Tensor> constants_of_a_, only_of_a_;        // those that B has not first
  std::map<int, Value> unsolved_;                         // by class
  std::set<std::string> failed_;                          // questions
  std::set<NodeId> unproved_;                             // nodes of B that look like something of A
  std::string why_;                                       // the last pair was not proved
};

void Prover::find_constants() {
  std::set<int> in_b;
  for (const NodeId id : b_.order()) {
    const auto tensor = known_constant(b_, {id, 0});
    if (!tensor) continue;
    sweep_.add_to_b(id);
    const int c = sweep_.class_of(Side::B, {id, 0});
    in_b.insert(c);
    if (sweep_.in_a(c).exists() || !is_float(tensor->type())) continue;
    if (unsolved_.emplace(c, Value{id, 0}).second) constants_of_b_.emplace_back(Value{id, 0}, *tensor);
  }
  for (const bool shared : {false, true}) {
    for (const NodeId id : a_.order()) {
      const auto tensor = known_constant(a_, {id, 0});
      if (tensor && is_float(tensor->type()) && in_b.contains(sweep_.class_of(Side::A, {id, 0})) == shared)
        constants_of_a_.push_back(*tensor);
    }
    if (!shared) only_of_a_ = constants_of_a_;
  }
}

void Prover::solve_moved() {
  if (constants_of_b_.empty()) return;
  const MovedConstants moved(constants_of_a_, only_of_a_);
  for (const auto& [value, tensor] : constants_of_b_) {
    if (is_stopped()) return;
    auto program = restated_constant(tensor, only_of_a_, b_.opsets);
    if (!program) program = moved.find(tensor, b_.opsets);
    if (!program) program = scaled_constant(tensor, only_of_a_, b_.opsets);
    if (!program) program = combined_constant(tensor, only_of_a_, b_.opsets);
    if (!program) continue;
    if (sweep_.replace_constant(value, *program).ok()) unsolved_.erase(sweep_.class_of(Side::B, value));
  }
}

bool Prover::is_input_class(int c) const {
  const Value v = sweep_.in_a(c);
  return !v.exists() || a_.node(v.node).kind != NodeKind::Operator;
}

std::set<int> Prover::widened(const Sweep::Regions& regions, const std::set<int>& open) const {
  std::set<int> more;
  std::ranges::set_symmetric_difference(regions.a_begins, regions.b_begins, std::inserter(more, more.end()));
  std::erase_if(more, [&](int c) { return is_input_class(c); });
  if (more.empty()) {
    std::ranges::set_union(regions.a_begins, regions.b_begins, std::inserter(more, more.end()));
    std::erase_if(more, [&](int c) { return is_input_class(c); });
  }
  if (more.empty()) return {};
  more.insert(open.begin(), open.end());
  return more;
}

bool Prover::solve(const Sweep::Regions& regions) {
  bool any = false;
  auto solved = solved_constants(regions.a, regions.b);
  if (solved.empty()) {
    std::vector<Tensor> unknown;
    for (const int c : regions.constants)
      if (const auto at = unsolved_.find(c); at != unsolved_.end())
        unknown.push_back(*known_constant(b_, at->second));
    solved = solved_shift(regions.a, regions.b, unknown);
  }
  for (const SolvedConstant& s : solved) {
    for (const int c : regions.constants) {
      const auto at = unsolved_.find(c);
      if (at == unsolved_.end()) continue;
      const auto tensor = known_constant(b_, at->second);
      if (!tensor || !tensor->same_bits(s.stored)) continue;
      if (!sweep_.replace_constant(at->second, s.program).ok()) continue;
      unsolved_.erase(at);
      any = true;
      break;
    }
  }
  return any;
}

std::string Prover::unsolved_in(const Sweep::Regions& regions) const {
  for (const int c : regions.constants) {
    const auto at = unsolved_.find(c);
    if (at == unsolved_.end()) continue;
    const auto tensor = known_constant(b_, at->second);
    if (tensor && !kByValue.takes(*tensor)) return b_.name_of(at->second);
  }
  return "";
}

bool Prover::try_pair(Value a, Value b, int rounds, std::uint64_t set_operations) {
  std::set<int> open;
  for (int round = 0; round < rounds && !is_stopped(); ++round) {
    auto regions = sweep_.regions(a, b, open);
    if (!regions.ok()) {
      why_ = regions.error().message;
      return false;
    }
    if (!unsolved_in(*regions).empty() && solve(*regions)) {
      regions = sweep_.regions(a, b, open);
      if (!regions.ok()) return false;
    }
    if (const std::string unknown = unsolved_in(*regions); !unknown.empty()) {
      // A number that nobody understands is equal to nothing; elsewhere it may be solved for.
      why_ = fmt::format("constant {} of the second model is not understood", unknown);
      open = widened(*regions, open);
      if (open.empty()) return false;
      continue;
    }
    ProveOptions options;
    options.refute = false;
    options.stop = options_.stop;
    options.partial_inputs = regions->partial;
    options.budget.set_operations = set_operations;
    const std::string text_of_question = question(regions->a, regions->b, options);
    if (!failed_.contains(text_of_question)) {
      ++out_.questions;
      const Verdict verdict = sweep_.prove(a, b, open, cache_, options);
      if (options_.trace)
        options_.trace(fmt::format("{} = {}, {} and {} nodes: {}", a_.name_of(a), b_.name_of(b),
                                   regions->a.operator_count(), regions->b.operator_count(), text(verdict)));
      if (const auto* proved = std::get_if<Proved>(&verdict)) {
        ++out_.proofs;
        out_.points += proved->field.points;
        return true;
      }
      if (const auto* bug = std::get_if<WitnessesDisagree>(&verdict)) out_.bug = bug->what;
      why_ = text(verdict);
      failed_.insert(text_of_question);
    }
    const auto wider = widened(*regions, open);
    if (wider.empty()) return false;
    open = wider;
  }
  return false;
}

void Prover::try_value(Value v) {
  const std::string& name = b_.name_of(v);
  if (name.empty() || !likeness_ || sweep_.is_common(sweep_.class_of(Side::B, v))) return;
  const auto candidates = likeness_->like(name, kMostCandidates);
  if (candidates.empty()) return;
  // Behind a pair that was not proved one try is enough: a wider region has the same difficulty in it.
  const int rounds = depends_on_failed(v) ? 1 : kMostRounds;
  for (const std::string& candidate : candidates) {
    const auto at = names_of_a_.find(candidate);
    if (at != names_of_a_.end() && try_pair(at->second, v, rounds, kSetOperations)) return;
  }
  unproved_.insert(v.node);
}

// Whether a value that was not proved lies between this one and what is common.
bool Prover::depends_on_failed(Value v) const {
  std::set<NodeId> seen;
  std::vector<NodeId> open{v.node};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    for (const Value& i : b_.node(id).inputs) {
      if (!i.exists() || sweep_.is_common(sweep_.class_of(Side::B, i)) || !seen.insert(i.node).second)
        continue;
      if (unproved_.contains(i.node)) return true;
      open.push_back(i.node);
    }
  }
  return false;
}

void Prover::settle_outputs() {
  out_.answer = Answer::Proved;
  for (std::size_t k = 0; k < a_.outputs().size(); ++k) {
    const Value x = a_.outputs()[k], y = b_.outputs()[k];
    ModelsVerdict::Output output{
        .a = a_.name_of(x), .b = b_.name_of(y), .answer = Answer::Undecided, .why = {}};
    const bool equal = sweep_.class_of(Side::A, x) == sweep_.class_of(Side::B, y);
    if (equal || try_pair(x, y, 2 * kMostRounds, kMostSetOperations)) {
      output.answer = Answer::Proved;
    } else {
      output.why = is_stopped() ? "the time is up" : why_;
      out_.answer = Answer::Undecided;
      if (out_.why.empty()) out_.why = fmt::format("output {}: {}", output.a, output.why);
    }
    out_.outputs.push_back(std::move(output));
  }
}

std::string Prover::first_parting() const {
  const std::set<NodeId> needed = needed_nodes(b_);
  for (const NodeId id : b_.order()) {
    const Node& node = b_.node(id);
    if (!needed.contains(id) || node.kind != NodeKind::Operator || known_constant(b_, {id, 0})) continue;
    const int c = sweep_.class_of(Side::B, {id, 0});
    if (c >= 0 && sweep_.is_common(c)) continue;
    const auto at = names_of_a_.find(node.outputs[0]);
    if (at == names_of_a_.end()) return label(node);
    return fmt::format("{} of the first model and {} of the second", label(a_.node(at->second.node)),
                       label(node));
  }
  return "";
}

bool Prover::refute() {
  // At the sizes that the models declare.
  if (likeness_) likeness_ = Likeness::of(a_, b_, false);
  if (!likeness_) {
    if (!constants_of_b_.empty()) return false;
    const auto refuted = find_counterexample(a_, b_, {}, 1);
    if (!refuted) return false;
    out_.example = *refuted;
    return true;
  }
  // Numbers of the second model's own may be rounded ones of the first.
  const double far = constants_of_b_.empty() ? 1e-6 : 1e-2;
  for (std::size_t k = 0; k < a_.outputs().size(); ++k) {
    if (out_.outputs[k].answer == Answer::Proved) continue;
    const Tensor* x = likeness_->output_of_a(a_.name_of(a_.outputs()[k]));
    const Tensor* y = likeness_->output_of_b(b_.name_of(b_.outputs()[k]));
    if (x == nullptr || y == nullptr || x->extents() != y->extents()) continue;
    const auto u = x->doubles(), v = y->doubles();
    if (!u || !v) continue;
    double scale = is_float(x->type()) ? 1e-30 : 1;
    for (const double d : *u)
      if (std::isfinite(d)) scale = std::max(scale, std::abs(d));
    for (std::size_t i = 0; i < u->size(); ++i) {
      if (!std::isfinite((*u)[i])) continue;
      if (std::isfinite((*v)[i]) && std::abs((*u)[i] - (*v)[i]) <= far * scale) continue;
      Extents position(x->extents().size());
      auto rest = static_cast<std::int64_t>(i);
      for (std::size_t d = position.size(); d-- > 0;) {
        position[d] = rest % x->extents()[d];
        rest /= x->extents()[d];
      }
      out_.example = Refuted{.feeds = likeness_->feeds(),
                             .output = static_cast<int>(k),
                             .position = position,
                             .a = (*u)[i],
                             .b = (*v)[i]};
      return true;
    }
  }
  return false;
}

void Prover::run() {
  find_constants();
  solve_moved();
  const std::set<NodeId> needed = needed_nodes(b_);
  std::size_t done = 0;
  for (const NodeId id : b_.order()) {
    ++done;
    if (known_constant(b_, {id, 0})) continue;
    sweep_.add_to_b(id);
    if (b_.node(id).kind != NodeKind::Operator || !needed.contains(id) || is_stopped()) continue;
    options_.progress(fmt::format("node {} of {}, {} pairs proved", done, b_.order().size(), out_.proofs));
    for (std::uint32_t k = 0; k < b_.node(id).outputs.size(); ++k) try_value({id, k});
  }
  settle_outputs();
  for (const auto& [c, folded] : sweep_.folded()) {
    ++(folded.rounding.is_exact      ? out_.constants_moved
       : folded.rounding.is_restated ? out_.constants_restated
                                     : out_.constants_rounded);
    out_.worst_ulp = std::max(out_.worst_ulp, folded.rounding.worst_ulp);
  }
  if (out_.answer == Answer::Proved) {
    const auto jump = sweep_.jump_behind_rounding();
    if (!jump) return;
    out_.answer = Answer::Undecided;
    out_.why =
        fmt::format("equal but for rounded constants, which reach {}, where a small change may be a jump",
                    label(b_.node(*jump)));
    for (auto& output : out_.outputs) output.answer = Answer::Undecided;
    return;
  }
  out_.first_difference = first_parting();
  if (!refute()) return;
  out_.answer = Answer::Refuted;
  out_.outputs[static_cast<std::size_t>(out_.example->output)].answer = Answer::Refuted;
  out_.why = text(Verdict(*out_.example));
}

}  // namespace

ModelsVerdict prove_models(const Graph& first, const Graph& second, const ProveModelsOptions& options) {
  ModelsVerdict out;
  const auto undecided = [&](std::string why) {
    out.why = std::move(why);
    return out;
  };
  const auto a = flattened(first), flat_b = flattened(second);
  if (!a.ok()) return undecided("the first model: " + a.error().message);
  if (!flat_b.ok()) return undecided("the second model: " + flat_b.error().message);
  const Graph b = with_symbols_of(*a, *flat_b);
  const auto a_info = infer(*a), b_info = infer(b);
  if (!a_info.ok()) return undecided("the first model: " + a_info.error().message);
  if (!b_info.ok()) return undecided("the second model: " + b_info.error().message);
  if (auto difference = interface_difference(*a, *a_info, b, *b_info)) {
    out.answer = Answer::Refuted;
    out.why = *difference;
    return out;
  }
  if (auto difference = size_difference(*a, *a_info, b, *b_info)) return undecided(*difference);
  options.progress("running both models");
  auto likeness = Likeness::of(*a, b, true, options.stop);
  Prover(*a, *a_info, b, *b_info, options, std::move(likeness), out).run();
  return out;
}

}  // namespace isomer
