#include "pipeline/prove_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "graph/constant.h"
#include "graph/flatten.h"
#include "graph/names.h"
#include "graph/rebuild.h"
#include "pipeline/differing_input.h"
#include "pipeline/model_interface.h"
#include "propose/combined_constant.h"
#include "propose/likeness.h"
#include "propose/moved_constant.h"
#include "propose/restated_constant.h"
#include "propose/rounded_number.h"
#include "propose/scaled_constant.h"
#include "propose/solved_constant.h"
#include "prove/refute.h"
#include "prove/sweep.h"
#include "prove/value_numbers.h"

namespace isomer {
namespace {

constexpr std::int64_t kMostMade = 1 << 18;  // elements of a mask
constexpr int kMostRounds = 5;               // of widening a region
constexpr std::size_t kMostCandidates = 3;   // for one value
// Of one pair inside of the models, and of one of outputs.
constexpr std::uint64_t kSetOperations = std::uint64_t{1} << 20, kMostSetOperations = std::uint64_t{1} << 22;

// Runs of both models at the end: two, each again with other constants, at sizes that may be larger.
constexpr double kKept = 5;
// Of the set library, on a slow machine: a question that is begun late is a short one.
constexpr double kOperationsPerSecond = 0x1p18;
constexpr double kShare = 0.25;  // of the time that is left, for one question

constexpr std::size_t kMostMoved = 48;

// The first model with values that nobody reads: what the second has turned or in phases. By what they look
// like in the second.
struct Widened {
  Graph graph;
  std::map<std::string, Value> alike;
};

Widened widened(const Graph& a, const std::vector<Likeness::Moved>& moved) {
  Widened out{.graph = a, .alike = {}};
  const ValuesByName names = values_by_name(a);
  std::vector<std::pair<Likeness::Moved, Value>> made;
  const auto add = [&](Node node) {
    node.outputs = {fmt::format("moved value {}", out.graph.order().size())};
    return Value{out.graph.add(std::move(node)), 0};
  };
  for (const Likeness::Moved& m : moved) {
    if (!names.contains(m.of)) continue;
    const auto known = std::ranges::find_if(made, [&](const auto& k) {
      return k.first.of == m.of && k.first.perm == m.perm && k.first.begin == m.begin &&
             k.first.step == m.step;
    });
    if (known != made.end()) {
      out.alike.try_emplace(m.like, known->second);
      continue;
    }
    Node node;
    node.op = m.perm.empty() ? "Slice" : "Transpose";
    node.inputs = {names.at(m.of)};
    if (!m.perm.empty()) {
      node.attributes.set("perm", m.perm);
    } else {
      const auto rank = static_cast<std::int64_t>(m.step.size());
      Extents axes, ends(m.step.size(), std::numeric_limits<std::int64_t>::max());
      for (std::int64_t d = 0; d < rank; ++d) axes.push_back(d);
      for (const Extents& list : {m.begin, ends, axes, m.step}) {
        Node constant;
        constant.kind = NodeKind::Initializer;
        constant.tensor = Tensor::of(ElementType::Int64, {rank}, list);
        node.inputs.push_back(add(std::move(constant)));
      }
    }
    made.emplace_back(m, add(std::move(node)));
    out.alike.try_emplace(m.like, made.back().second);
  }
  return out;
}

class Prover {
 public:
  Prover(const Graph& a, const Inference& a_info, const Graph& b, const Inference& b_info,
         const ProveModelsOptions& options, std::optional<Likeness> likeness, double seconds_of_a_run,
         std::map<std::string, Value> alike, ModelsVerdict& out)
      : a_(a),
        b_(b),
        a_info_(a_info),
        b_info_(b_info),
        options_(options),
        out_(out),
        sweep_(a, a_info, b, b_info),
        likeness_(std::move(likeness)),
        seconds_of_a_run_(seconds_of_a_run),
        alike_(std::move(alike)),
        names_of_a_(values_by_name(a)),
        names_of_b_(values_by_name(b)) {
    for (const auto& [name, value] : alike_) sweep_.follow_in_a(value);
  }

  void run();

 private:
  // What is left when there is only time to look for a difference is not for proofs.
  bool is_stopped() const {
    return (options_.stop != nullptr && *options_.stop) ||
           (options_.seconds_left && options_.seconds_left() < kKept * seconds_of_a_run_);
  }
  void find_constants();
  void solve_moved();
  void try_value(Value v);
  bool depends_on_failed(Value v) const;
  bool try_pair(Value a, Value b, int rounds, std::uint64_t set_operations);
  std::vector<std::pair<Value, Graph>> solved(const Sweep::Regions& regions) const;
  bool solve(const Sweep::Regions& regions);
  bool ask(Value a, Value b, const std::set<int>& open, const Sweep::Regions& regions,
           std::uint64_t set_operations);
  bool ask_with_rounded_numbers(Value a, Value b, const std::set<int>& open, const Sweep::Regions& regions,
                                std::uint64_t set_operations);
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
  double seconds_of_a_run_;
  std::map<std::string, Value> alike_;  // values of A that were added to it, by what they look like
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
    if (sweep_.replace_constant(Side::B, value, *program).ok())
      unsolved_.erase(sweep_.class_of(Side::B, value));
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

// Constants of B that nobody understands yet, and what they seem to be.
std::vector<std::pair<Value, Graph>> Prover::solved(const Sweep::Regions& regions) const {
  auto solved = solved_constants(regions.a, regions.b);
  if (solved.empty()) {
    std::vector<Tensor> unknown;
    for (const int c : regions.constants)
      if (const auto at = unsolved_.find(c); at != unsolved_.end())
        unknown.push_back(*known_constant(b_, at->second));
    solved = solved_shift(regions.a, regions.b, unknown);
  }
  std::vector<std::pair<Value, Graph>> out;
  for (const SolvedConstant& s : solved)
    for (const int c : regions.constants) {
      const auto at = unsolved_.find(c);
      const auto tensor = at == unsolved_.end() ? std::nullopt : known_constant(b_, at->second);
      if (!tensor || !tensor->same_bits(s.stored)) continue;
      out.emplace_back(at->second, s.program);
      break;
    }
  return out;
}

bool Prover::solve(const Sweep::Regions& regions) {
  bool any = false;
  for (const auto& [constant, program] : solved(regions)) {
    if (!sweep_.replace_constant(Side::B, constant, program).ok()) continue;
    unsolved_.erase(sweep_.class_of(Side::B, constant));
    any = true;
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

bool Prover::ask(Value a, Value b, const std::set<int>& open, const Sweep::Regions& regions,
                 std::uint64_t set_operations) {
  ProveOptions options;
  options.refute = false;
  options.stop = options_.stop;
  options.partial_inputs = regions.partial;
  options.budget.set_operations = set_operations;
  if (options_.seconds_left) {
    const double seconds = std::max(0.01, kShare * options_.seconds_left());
    options.budget.set_operations =
        std::min(set_operations, static_cast<std::uint64_t>(kOperationsPerSecond * seconds));
  }
  const std::string text_of_question = question(regions.a, regions.b, options);
  if (failed_.contains(text_of_question)) return false;
  ++out_.questions;
  const Verdict verdict = sweep_.prove(a, b, open, cache_, options);
  if (options_.trace)
    options_.trace(fmt::format("{} = {}, {} and {} nodes: {}", a_.name_of(a), b_.name_of(b),
                               regions.a.operator_count(), regions.b.operator_count(), text(verdict)));
  if (const auto* proved = std::get_if<Proved>(&verdict)) {
    ++out_.proofs;
    out_.points += proved->field.points;
    return true;
  }
  if (const auto* bug = std::get_if<WitnessesDisagree>(&verdict); bug && ++out_.witness_disagreements == 1)
    out_.disagreement = fmt::format("{} = {}: {}", a_.name_of(a), b_.name_of(b), bug->what);
  why_ = text(verdict);
  failed_.insert(text_of_question);
  return false;
}

// A number of one model's own, or a few of them, may be a result of numbers of the other, rounded; if of
// several, one after the other is tried.
bool Prover::ask_with_rounded_numbers(Value a, Value b, const std::set<int>& open,
                                      const Sweep::Regions& regions, std::uint64_t set_operations) {
  struct Rounded {
    Side side;
    Value constant;
    std::vector<Graph> programs;
  };
  std::vector<Rounded> all;
  std::size_t tries = 0;
  // So few numbers that they took part as they are.
  for (auto& [constant, program] : solved(regions)) {
    all.push_back({Side::B, constant, {std::move(program)}});
    tries = 1;
  }
  const auto look = [&](Side side, Value v, std::optional<std::set<double>>& numbers, const Graph& others) {
    const Graph& graph = side == Side::A ? a_ : b_;
    const auto tensor = known_constant(graph, v);
    if (!tensor || !tensor->is_uniform()) return;
    if (!numbers) numbers = numbers_in(others);
    auto programs = rounded_number(*tensor, *numbers, graph.opsets);
    tries = std::max(tries, programs.size());
    if (!programs.empty()) all.push_back({side, v, std::move(programs)});
  };
  std::optional<std::set<double>> of_a, of_b;
  for (const int c : regions.constants)
    if (const auto at = unsolved_.find(c); at != unsolved_.end()) look(Side::B, at->second, of_a, regions.a);
  for (const int c : regions.constants_of_a) look(Side::A, sweep_.in_a(c), of_b, regions.b);
  for (std::size_t k = 0; k < std::min(tries, kMostCandidates) && !is_stopped(); ++k) {
    std::vector<const Rounded*> replaced;
    for (const Rounded& r : all)
      if (sweep_.replace_constant(r.side, r.constant, r.programs[std::min(k, r.programs.size() - 1)]).ok())
        replaced.push_back(&r);
    if (replaced.empty()) continue;
    const auto changed = sweep_.regions(a, b, open);
    const bool is_proved = changed.ok() && ask(a, b, open, *changed, set_operations);
    for (const Rounded* r : replaced) {
      if (!is_proved) (void)sweep_.restore_constant(r->side, r->constant);
      else if (r->side == Side::B) unsolved_.erase(sweep_.class_of(Side::B, r->constant));
    }
    if (is_proved) return true;
  }
  return false;
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
    // What only the second one begins at is something else to the first.
    if (!std::ranges::includes(regions->a_begins, regions->b_begins)) {
      if (const auto wider = widened(*regions, open); !wider.empty() && wider != open) {
        open = wider;
        continue;
      }
    }
    if (ask(a, b, open, *regions, set_operations)) return true;
    if (round == 0 && ask_with_rounded_numbers(a, b, open, *regions, set_operations)) return true;
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
  const auto moved = alike_.find(name);
  if (candidates.empty() && moved == alike_.end()) return;
  // Behind a pair that was not proved one try is enough: a wider region has the same difficulty in it.
  const int rounds = depends_on_failed(v) ? 1 : kMostRounds;
  for (const std::string& candidate : candidates) {
    const auto at = names_of_a_.find(candidate);
    if (at != names_of_a_.end() && try_pair(at->second, v, rounds, kSetOperations)) return;
  }
  if (moved != alike_.end() && try_pair(moved->second, v, rounds, kSetOperations)) return;
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
  if (!likeness_) {
    if (constants_of_b_.empty()) out_.example = find_counterexample(a_, b_, {}, 1);
    return out_.example.has_value();
  }
  std::vector<Tensor> own;
  for (const auto& [value, tensor] : constants_of_b_) own.push_back(tensor);
  std::vector<bool> proved;
  for (const auto& output : out_.outputs) proved.push_back(output.answer == Answer::Proved);
  out_.example = differing_input(a_, b_, own, proved, {.stop = options_.stop});
  // And where masks and numbers of tokens are zero, which nobody draws.
  const bool has_integers = std::ranges::any_of(
      fed_inputs(a_), [](const auto& input) { return !is_float(input.second->declared.type); });
  if (!out_.example && has_integers)
    out_.example = differing_input(a_, b_, own, proved, {.zero_integers = true, .stop = options_.stop});
  return out_.example.has_value();
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
    const Node* jump = sweep_.jump_behind_rounding();
    if (jump == nullptr) return;
    out_.answer = Answer::Undecided;
    out_.why = fmt::format(
        "equal but for rounded constants, which reach {}, where a small change may be a jump", label(*jump));
    for (auto& output : out_.outputs) output.answer = Answer::Undecided;
    return;
  }
  out_.first_difference = first_parting();
  if (!refute()) return;
  out_.answer = Answer::Refuted;
  auto& output = out_.outputs[static_cast<std::size_t>(out_.example->output)];
  output.answer = Answer::Refuted;
  out_.why = output.why =
      fmt::format("output {} at {} is {} and {}", output.a, text(to_dims(out_.example->position)),
                  out_.example->a, out_.example->b);
}

}  // namespace

ModelsVerdict prove_models(const Graph& first, const Graph& second, const ProveModelsOptions& options) {
  ModelsVerdict out;
  const auto undecided = [&](std::string why) {
    out.why = std::move(why);
    return out;
  };
  auto a = flattened(first);
  const auto flat_b = flattened(second);
  if (!a.ok()) return undecided("the first model: " + a.error().message);
  *a = without_dead_nodes(*a);  // what the first model does not compute, nobody knows to run
  if (!flat_b.ok()) return undecided("the second model: " + flat_b.error().message);
  const Graph b = with_symbols_of(*a, *flat_b);
  const InferOptions with_masks{.symbols = {}, .shapes = {}, .most_made = kMostMade};
  const auto a_info = infer(*a, with_masks), b_info = infer(b, with_masks);
  if (!a_info.ok()) return undecided("the first model: " + a_info.error().message);
  if (!b_info.ok()) return undecided("the second model: " + b_info.error().message);
  if (auto difference = interface_difference(*a, *a_info, b, *b_info)) {
    out.answer = Answer::Refuted;
    out.why = *difference;
    return out;
  }
  if (auto difference = size_difference(*a, *a_info, b, *b_info)) return undecided(*difference);
  options.progress("running both models");
  const double seconds_before = options.seconds_left ? options.seconds_left() : 0;
  auto likeness = Likeness::of(*a, b, {.smaller = true, .stop = options.stop});
  const double seconds_of_a_run = options.seconds_left ? seconds_before - options.seconds_left() : 0;
  const auto moved = likeness ? likeness->moved(kMostMoved) : std::vector<Likeness::Moved>{};
  if (moved.empty()) {
    Prover(*a, *a_info, b, *b_info, options, std::move(likeness), seconds_of_a_run, {}, out).run();
    return out;
  }
  Widened wide = widened(*a, moved);
  const auto wide_info = infer(wide.graph, with_masks);
  if (!wide_info.ok()) return undecided("the first model: " + wide_info.error().message);
  Prover(wide.graph, *wide_info, b, *b_info, options, std::move(likeness), seconds_of_a_run,
         std::move(wide.alike), out)
      .run();
  return out;
}

}  // namespace isomer
