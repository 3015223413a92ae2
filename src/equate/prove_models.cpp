#include "equate/prove_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "equate/combined_constant.h"
#include "equate/differing_input.h"
#include "equate/likeness.h"
#include "equate/made_constants.h"
#include "equate/moved_constant.h"
#include "equate/restated_constant.h"
#include "equate/rounded_number.h"
#include "equate/scaled_constant.h"
#include "equate/solved_constant.h"
#include "kernel/certify/model_interface.h"
#include "kernel/prove/refute.h"
#include "kernel/prove/sweep.h"
#include "kernel/prove/value_numbers.h"
#include "model/graph/constant.h"
#include "model/graph/content.h"
#include "model/graph/dequantized.h"
#include "model/graph/names.h"
#include "optimizer/facts/proof_cache.h"

namespace isomer {
namespace {

// With the positions that are open, which people need not read elsewhere.
std::string traced(const Verdict& verdict) {
  const auto* open = std::get_if<NotDecided>(&verdict);
  const bool is_open = open != nullptr && !open->positions.empty();
  return is_open ? fmt::format("{}; open at {}", open->why, open->positions) : text(verdict);
}

constexpr std::uint64_t kKeyOfCheck = 0x9e3779b97f4a7c15;  // of the field witness: not that of the search
constexpr int kMostRounds = 5;                             // of widening a region
constexpr std::size_t kMostCandidates = 3;                 // for one value
// Limits for one pair inside the models, and for one pair of outputs.
constexpr std::uint64_t kSetOperations = std::uint64_t{1} << 20, kMostSetOperations = std::uint64_t{1} << 22;

// Time reserved for looking for an input that refutes, in runs of both models: two runs, each again with
// other constants, at sizes that may be larger.
constexpr double kKept = 5;
// The speed of the set library on a slow machine: a question that is begun late gets a small limit.
constexpr double kOperationsPerSecond = 0x1p18;
constexpr double kShare = 0.25;  // of the time that is left, for one question

constexpr std::size_t kMostMoved = 48;  // transposed and sliced copies that A is extended by

// Transposed and sliced copies of A's values that B seems to use: A is extended by them. `alike`: from a
// value of B to the name of the copy that it looks like.
struct Moved {
  std::vector<MovedValue> values;
  std::map<std::string, std::string> alike;
};

Moved moved_values(const Graph& a, const std::vector<Likeness::Moved>& seen) {
  Moved out;
  const ValuesByName names = values_by_name(a);
  for (const Likeness::Moved& m : seen) {
    if (!names.contains(m.of)) continue;
    const auto is_it = [&](const MovedValue& k) {
      return k.of == m.of && k.perm == m.perm && k.begin == m.begin && k.step == m.step;
    };
    auto known = std::ranges::find_if(out.values, is_it);
    if (known == out.values.end())
      known = out.values.insert(known, {.name = fmt::format("moved value {}", out.values.size()),
                                        .of = m.of,
                                        .perm = m.perm,
                                        .begin = m.begin,
                                        .step = m.step});
    out.alike.try_emplace(m.like, known->name);
  }
  return out;
}

Digest digest_of(const Tensor& tensor) {
  Hasher hasher;
  add_content(hasher, tensor, ContentDigests::Full);
  return hasher.digest();
}

// A program of a constant with the other model's constants as inputs of their names: what a certificate says.
// Small ones are numbers of the program's own.
Graph named(const Graph& program, const Graph& other) {
  Graph out;
  out.opsets = program.opsets;
  std::map<NodeId, NodeId> moved;
  std::unordered_map<Digest, std::vector<Value>> constants;
  for (const NodeId id : other.order())
    if (const auto constant = known_constant(other, {id, 0}); constant && !kByValue.takes(*constant))
      constants[digest_of(*constant)].push_back({id, 0});
  for (const NodeId id : program.order()) {
    Node node = program.node(id);
    for (Value& v : node.inputs)
      if (v.exists()) v.node = moved.at(v.node);
    if (node.kind == NodeKind::Initializer && !kByValue.takes(node.tensor)) {
      for (const Value& v : constants[digest_of(node.tensor)]) {
        const Tensor constant = *known_constant(other, v);
        if (!constant.same_bits(node.tensor)) continue;
        Node input;
        input.kind = NodeKind::Input;
        input.outputs = {other.name_of(v)};
        input.declared.type = constant.type();
        const Dims dims = to_dims(constant.extents());
        input.declared.shape = std::vector<std::optional<Dim>>(dims.begin(), dims.end());
        node = std::move(input);
        break;
      }
    }
    moved.emplace(id, out.add(std::move(node)));
  }
  for (const NodeId id : out.order())
    if (out.node(id).kind == NodeKind::Input) out.add_input({id, 0});
  for (const Value& v : program.outputs()) out.add_output({moved.at(v.node), v.output});
  return out;
}

class Prover {
 public:
  Prover(const ModelPair& pair, const ProveModelsOptions& options, std::optional<Likeness> likeness,
         double seconds_of_a_run, const std::map<std::string, std::string>& alike, ModelsVerdict& out)
      : a_(pair.a),
        b_(pair.b),
        a_info_(pair.a_info),
        b_info_(pair.b_info),
        options_(options),
        out_(out),
        sweep_(pair.a, pair.a_info, pair.b, pair.b_info, pair.moved),
        likeness_(std::move(likeness)),
        seconds_of_a_run_(seconds_of_a_run),
        names_of_a_(values_by_name(pair.a)) {
    for (const auto& [like, name] : alike) alike_.emplace(like, names_of_a_.at(name));
  }

  void run();

 private:
  // The last part of the time is reserved for looking for a difference: no proof may use it.
  bool is_stopped() const {
    return (options_.stop != nullptr && *options_.stop) ||
           (options_.seconds_left && options_.seconds_left() < kKept * seconds_of_a_run_);
  }
  void find_constants();
  void solve_moved();
  std::vector<std::string> candidates_for(const std::string& name) const;
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
  ValuesByName names_of_a_;
  std::vector<std::pair<Value, Tensor>> constants_of_b_;  // that A has not
  std::vector<Tensor> constants_of_a_, only_of_a_;        // those that B has not first
  std::map<int, Value> unsolved_;                         // by class
  std::set<std::string> failed_;                          // questions
  std::set<NodeId> unproved_;                             // nodes of B that look like something of A
  bool at_end_ = false;                                   // all nodes of B have their classes
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

// Numbers that one model computes and the other doesn't have: proofs see the computation, from constants that
// both have. (LSTM's one bias is the biases of two products in a row.)
void Prover::solve_moved() {
  const std::vector<MadeConstant> made = made_constants(b_, b_info_);
  const MovedConstants moved(constants_of_a_, only_of_a_);
  const auto solve_for = [&](Value value, const Tensor& tensor) {
    auto program = restated_constant(tensor, only_of_a_, b_.opsets);
    if (!program) program = moved.find(tensor, b_.opsets);
    if (!program) program = scaled_constant(tensor, only_of_a_, b_.opsets);
    if (!program) program = combined_constant(tensor, only_of_a_, b_.opsets);
    return program && sweep_.replace_constant(Side::B, value, *program).ok();
  };
  for (const auto& [value, tensor] : constants_of_b_) {
    if (is_stopped()) return;
    if (solve_for(value, tensor)) unsolved_.erase(sweep_.class_of(Side::B, value));
  }
  for (const MadeConstant& m : made) {
    if (is_stopped()) return;
    if (!sweep_.replace_constant(Side::B, m.value, m.program).ok())
      (void)solve_for(m.value, *b_info_.of(m.value).constant);
  }
  for (const MadeConstant& m : made_constants(a_, a_info_))
    if (!sweep_.in_b(sweep_.class_of(Side::A, m.value)).exists())
      (void)sweep_.replace_constant(Side::A, m.value, m.program);
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

// Constants of B that are not understood yet, and what each of them may be.
std::vector<std::pair<Value, Graph>> Prover::solved(const Sweep::Regions& regions) const {
  std::vector<Tensor> unknown;
  for (const int c : regions.constants)
    if (const auto at = unsolved_.find(c); at != unsolved_.end())
      unknown.push_back(*known_constant(b_, at->second));
  if (unknown.empty()) return {};
  auto solved = solved_constants(regions.a, regions.b);
  if (solved.empty()) solved = solved_shift(regions.a, regions.b, unknown);
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
  const Verdict verdict = sweep_.prove(a, b, open, cache_.source(), options);
  if (options_.trace)
    options_.trace(fmt::format("{} = {}, {} and {} nodes: {}", a_.name_of(a), b_.name_of(b),
                               regions.a.operator_count(), regions.b.operator_count(), traced(verdict)));
  if (const auto* proved = std::get_if<Proved>(&verdict)) {
    Equation equation{.a = a_.name_of(a),
                      .b = b_.name_of(b),
                      .work = options.budget.set_operations,
                      .attempt = proved->attempt,
                      .at_end = at_end_};
    std::vector<std::string> open_in_b;
    for (const int c : open) {
      equation.open.push_back(a_.name_of(sweep_.in_a(c)));
      if (const Value v = sweep_.in_b(c); v.exists()) open_in_b.push_back(b_.name_of(v));
    }
    out_.pairing.equations.push_back(std::move(equation));
    out_.open_in_second.push_back(std::move(open_in_b));
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
  // So few numbers that the proof used them as they are.
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

// A bias of 32 bits in steps of its own, in one of the regions: the scale of such a one is a product of two
// others, rounded, and to find out that nothing is equal before takes long.
static bool has_dequantised_bias(const Graph& region) {
  return std::ranges::any_of(region.order(), [&](NodeId id) {
    const Node& node = region.node(id);
    const auto steps = is_dequantization(node) ? known_constant(region, node.inputs[0]) : std::nullopt;
    return steps && steps->type() == ElementType::Int32;
  });
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
      // A constant that is not understood yet is equal to nothing here; in another pair it may be solved for.
      why_ = fmt::format(
          "constant {} of the second model has no exact formula over the first model's constants (it may be "
          "rounded differently)",
          unknown);
      open = widened(*regions, open);
      if (open.empty()) return false;
      continue;
    }
    // An input that only the second region has: the first computes this value, or does not use it.
    if (!std::ranges::includes(regions->a_begins, regions->b_begins)) {
      if (const auto wider = widened(*regions, open); !wider.empty() && wider != open) {
        open = wider;
        continue;
      }
    }
    const bool rounded_first =
        round == 0 && has_dequantised_bias(regions->a) != has_dequantised_bias(regions->b);
    if (rounded_first && ask_with_rounded_numbers(a, b, open, *regions, set_operations)) return true;
    if (ask(a, b, open, *regions, set_operations)) return true;
    if (round == 0 && !rounded_first && ask_with_rounded_numbers(a, b, open, *regions, set_operations))
      return true;
    const auto wider = widened(*regions, open);
    if (wider.empty()) return false;
    open = wider;
  }
  return false;
}

// Values of A that this one may be equal to: those that look like it. Where the models could not be run,
// nothing is known of its looks: then the value of its name, which tools that rewrite models keep.
std::vector<std::string> Prover::candidates_for(const std::string& name) const {
  auto out = likeness_ ? likeness_->like(name, kMostCandidates) : std::vector<std::string>();
  const bool is_seen = likeness_ && likeness_->has_seen(name);
  if (const auto same = std::ranges::find(out, name); same != out.end())
    std::rotate(out.begin(), same, same + 1);
  else if (!is_seen) out.push_back(name);
  return out;
}

void Prover::try_value(Value v) {
  const std::string& name = b_.name_of(v);
  if (name.empty() || sweep_.is_common(sweep_.class_of(Side::B, v))) return;
  const auto candidates = candidates_for(name);
  const auto moved = alike_.find(name);
  if (candidates.empty() && moved == alike_.end()) return;
  // Behind a pair that was not proved one try is enough: a wider region has the same difficulty in it.
  const int rounds = depends_on_failed(v) ? 1 : kMostRounds;
  for (const std::string& candidate : candidates) {
    const auto at = names_of_a_.find(candidate);
    if (at == names_of_a_.end() || sweep_.class_of(Side::A, at->second) < 0) continue;
    if (try_pair(at->second, v, rounds, kSetOperations)) return;
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
  // And where masks and numbers of tokens are zero, which random inputs never are.
  const bool has_integers = std::ranges::any_of(a_.inputs(), [&](const Value& v) {
    const Node& input = a_.node(v.node);
    return input.kind == NodeKind::Input && !is_float(input.declared.type);
  });
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
    options_.progress(fmt::format("node {} of {}, {} pairs proved", done, b_.order().size(),
                                  out_.pairing.equations.size()));
    for (std::uint32_t k = 0; k < b_.node(id).outputs.size(); ++k) try_value({id, k});
  }
  at_end_ = true;
  settle_outputs();
  for (const auto& [c, folded] : sweep_.folded())
    out_.pairing.constants.push_back({.side = folded.side,
                                      .name = folded.name,
                                      .program = named(folded.program, folded.side == Side::A ? b_ : a_)});
  if (out_.answer == Answer::Proved) return;
  out_.first_difference = first_parting();
  if (!refute()) return;
  out_.answer = Answer::Refuted;
  auto& output = out_.outputs[static_cast<std::size_t>(out_.example->output)];
  output.answer = Answer::Refuted;
  out_.why = output.why =
      fmt::format("output {} at {} is {} and {}", output.a, text(to_dims(out_.example->position)),
                  out_.example->a, out_.example->b);
}

// Searches for a pairing of the models. An answer `Proved` is a candidate for the checker.
ModelsVerdict find_pairing(const Graph& first, const Graph& second, const ProveModelsOptions& options) {
  ModelsVerdict out;
  const auto failed = [&](const PairFailure& failure) {
    out.answer = failure.is_difference ? Answer::Refuted : Answer::Undecided;
    out.why = failure.why;
    return out;
  };
  auto pair = paired(first, second, options.by_position);
  if (const auto* failure = std::get_if<PairFailure>(&pair)) return failed(*failure);
  const ModelPair& plain = std::get<ModelPair>(pair);
  options.progress("running both models");
  const double seconds_before = options.seconds_left ? options.seconds_left() : 0;
  auto likeness = Likeness::of(plain.a, plain.b, {.smaller = true, .stop = options.stop});
  const double seconds_of_a_run = options.seconds_left ? seconds_before - options.seconds_left() : 0;
  Moved moved;
  if (likeness) moved = moved_values(plain.a, likeness->moved(kMostMoved));
  if (!moved.values.empty()) {
    pair = paired(first, second, options.by_position, moved.values);
    if (const auto* failure = std::get_if<PairFailure>(&pair)) return failed(*failure);
  }
  out.by_position = options.by_position || !same_output_names(first, second);
  out.pairing.by_position = options.by_position;
  out.pairing.moved = std::move(moved.values);
  Prover(std::get<ModelPair>(pair), options, std::move(likeness), seconds_of_a_run, moved.alike, out).run();
  return out;
}

// A pairing of the second model with the first as one of the first with the second. The checker decides what
// it proves: where one of them is undefined and the other isn't, only one order is right.
std::optional<Pairing> turned(const ModelsVerdict& found) {
  if (!found.pairing.moved.empty()) return std::nullopt;
  Pairing out{.by_position = found.pairing.by_position, .moved = {}, .constants = {}, .equations = {}};
  for (const StatedConstant& c : found.pairing.constants)
    out.constants.push_back(
        {.side = c.side == Side::A ? Side::B : Side::A, .name = c.name, .program = c.program});
  for (std::size_t k = 0; k < found.pairing.equations.size(); ++k) {
    const Equation& e = found.pairing.equations[k];
    out.equations.push_back(
        {.a = e.b, .b = e.a, .open = found.open_in_second[k], .work = e.work, .at_end = e.at_end});
  }
  return out;
}

// The checker's word on what was found.
ModelsVerdict judged(ModelsVerdict found, const Graph& first, const Graph& second) {
  const PairedReport report = check_pairing(first, second, found.pairing, kKeyOfCheck);
  found.proofs = report.equations;
  found.points = report.points;
  found.constants_rounded = report.constants_rounded;
  found.constants_restated = report.constants_restated;
  found.constants_moved = report.constants_moved;
  found.worst_ulp = report.worst_ulp;
  if (!report.refusal) return found;
  found.answer = Answer::Undecided;
  found.why = *report.refusal;
  for (auto& output : found.outputs) output.answer = Answer::Undecided;
  return found;
}

}  // namespace

ModelsVerdict prove_models(const Graph& first, const Graph& second, const ProveModelsOptions& options) {
  ModelsVerdict found = find_pairing(first, second, options);
  if (found.answer == Answer::Proved) {
    options.progress("checking the pairing");
    found = judged(std::move(found), first, second);
  }
  const bool has_time = options.stop == nullptr || !*options.stop;
  if (found.answer != Answer::Undecided || found.outputs.empty() || !has_time) return found;
  // Constants are solved for in the second model: if it is the first that was folded, look from there.
  ModelsVerdict other = find_pairing(second, first, options);
  auto pairing = other.answer == Answer::Proved ? turned(other) : std::nullopt;
  if (!pairing) return found;
  other.pairing = std::move(*pairing);
  for (auto& output : other.outputs) std::swap(output.a, output.b);
  options.progress("checking the pairing");
  other = judged(std::move(other), first, second);
  return other.answer == Answer::Proved ? other : found;
}

}  // namespace isomer
