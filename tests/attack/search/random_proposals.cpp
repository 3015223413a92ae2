// isomer-random-proposals: soundness under pressure. A proposer that has no idea what it does, on regions of
// real models; whatever the prover accepts is evaluated, and none of it may be false.
//
//   isomer-random-proposals [--proposals 10000] [--seed 1] [--verbose] MODEL...
// Proposals go the way of all proposals: they are proved as steps of the whole model, those that were
// accepted are applied together, and the next ones are about the graph that results. An accepted one is run
// beside its region in float64 at several inputs. Prints how many were refused, by reason and by what was
// done; exit 1 if one was false.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <string_view>

#include "attack/search/random_rewrite.h"
#include "io/onnx/model.h"
#include "kernel/prove/shrink.h"
#include "model/eval/program.h"
#include "optimizer/search/steps.h"

namespace isomer::testing {
namespace {

constexpr std::size_t kBatch = 40;       // proposals about one graph
constexpr std::size_t kMostNodes = 5;    // of a region
constexpr double kMostOperations = 2e7;  // of one evaluation
constexpr double kTolerance = 1e-9;      // of the largest element: float64 in another order
constexpr std::int64_t kSize = 3;        // of a named extent, for evaluating
constexpr int kInputs = 3;

struct Tally {
  int proposed = 0, refused = 0, accepted = 0, evaluated = 0, is_false = 0, applied = 0;
  std::map<std::string, std::pair<int, int>> kinds;  // proposed, accepted
  std::map<std::string, int> reasons;
};

// The reason without what is different each time: names, numbers, sets.
std::string class_of(std::string why) {
  if (why.starts_with("the second program: ")) return "the second program is not legal";
  return why.substr(0, why.find_first_of("0123456789{"));
}

Tensor drawn(ElementType type, const Extents& extents, Random& random) {
  const auto count = static_cast<std::size_t>(*element_count(extents));
  if (is_float(type)) {
    std::normal_distribution<double> normal;
    std::vector<double> values(count);
    for (double& v : values) v = normal(random);
    const Tensor wide = Tensor::of(ElementType::Double, extents, values);
    return type == ElementType::Double ? wide : convert(wide, type);
  }
  std::vector<std::int64_t> values(count);
  for (auto& v : values) v = static_cast<std::int64_t>(below(random, 2));  // an index into anything
  const Tensor wide = Tensor::of(ElementType::Int64, extents, values);
  return type == ElementType::Int64 ? wide : convert(wide, type);
}

// Where the first is a number the second is the same one.
bool is_same(const Tensor& a, const Tensor& b) {
  const auto x = a.doubles(), y = b.doubles();
  if (!x || !y || a.extents() != b.extents()) return false;
  double scale = 1e-30;
  for (const double v : *x)
    if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
  for (std::size_t i = 0; i < x->size(); ++i)
    if (std::isfinite((*x)[i]) && !(std::abs((*x)[i] - (*y)[i]) <= kTolerance * scale)) return false;
  return true;
}

enum class Evaluation : std::uint8_t { Same, Different, None };

Evaluation evaluated(const Graph& before, const Graph& after, Random& random) {
  Sizes sizes;
  for (const std::string& s : symbols_of(before)) sizes[s] = kSize;
  const Graph a = at_sizes(before, sizes), b = at_sizes(after, sizes);
  const auto info = infer(a);
  const auto price = info.ok() ? operations(a, *info) : std::nullopt;
  if (!price || *price > kMostOperations) return Evaluation::None;
  for (int k = 0; k < kInputs; ++k) {
    NamedTensors feeds;
    for (const Value& v : a.inputs()) {
      const auto extents = info->of(v).shape ? concrete(*info->of(v).shape) : std::nullopt;
      if (!extents) return Evaluation::None;
      feeds.emplace(a.name_of(v), drawn(info->of(v).type, *extents, random));
    }
    const auto left = interpret(a, feeds, Arithmetic::Double),
               right = interpret(b, feeds, Arithmetic::Double);
    if (!left.ok() || left->opaque) return Evaluation::None;  // undefined there
    if (!right.ok() || right->opaque) return Evaluation::Different;
    if (!is_same(left->outputs.begin()->second, right->outputs.begin()->second)) return Evaluation::Different;
  }
  return Evaluation::Same;
}

// A few nodes, from a value back.
std::optional<Claim> some_region(const Workpiece& piece, const std::vector<NodeId>& operators,
                                 Random& random) {
  const Graph& graph = piece.graph();
  const NodeId last = operators[below(random, operators.size())];
  const auto may_join = [&](Value v) {
    const Node& node = graph.node(v.node);
    return node.kind == NodeKind::Operator && node.captures.empty() &&
           !piece.inference().opaque.contains(v.node) && !(node.op == "Constant" && node.domain.empty());
  };
  if (!may_join({last, 0}) || graph.node(last).outputs.size() != 1) return std::nullopt;
  const std::size_t size = 1 + below(random, kMostNodes);
  std::set<NodeId> inside{last};
  for (std::size_t tries = 0; inside.size() < size && tries < 4 * size; ++tries) {
    auto from = inside.begin();
    std::advance(from, static_cast<std::ptrdiff_t>(below(random, inside.size())));
    const auto& inputs = graph.node(*from).inputs;
    if (inputs.empty()) continue;
    if (const Value v = inputs[below(random, inputs.size())]; v.exists() && may_join(v))
      inside.insert(v.node);
  }
  Claim claim{.inputs = {}, .outputs = {graph.name_of({last, 0})}, .after = {}};
  std::set<std::string> seen;
  for (const NodeId id : inside)
    for (const Value& v : graph.node(id).inputs) {
      if (!v.exists() || inside.contains(v.node)) continue;
      const Node& node = graph.node(v.node);
      const bool is_constant =
          (node.kind == NodeKind::Initializer && !graph.is_overridable(v.node)) || node.op == "Constant";
      if (!is_constant && seen.insert(graph.name_of(v)).second) claim.inputs.push_back(graph.name_of(v));
    }
  return claim;
}

class Pressure {
 public:
  Pressure(std::uint64_t seed, bool verbose) : random_(seed), verbose_(verbose) {}

  void on(const Model& model, int proposals) {
    Draft draft{.graph = model.graph};
    ProofCache proofs;
    const int end = tally.proposed + proposals;
    while (tally.proposed < end) {
      auto piece = Workpiece::of(draft.graph);
      if (!piece.ok()) return;
      StepMaker maker(std::move(*piece), proofs, 1);
      std::vector<Step> steps;
      const int before = tally.proposed;
      for (std::size_t k = 0; k < kBatch && tally.proposed < end; ++k) propose(maker, proofs, steps);
      if (tally.proposed == before && ++idle_ > 50) return;  // nothing here can be rewritten
      const std::size_t taken = draft.taken.size();
      draft = maker.with(draft, pointers_to(steps));
      tally.applied += static_cast<int>(draft.taken.size() - taken);
    }
  }

  Tally tally;

 private:
  void propose(const StepMaker& maker, ProofCache& proofs, std::vector<Step>& steps) {
    const Workpiece& piece = maker.piece();
    std::vector<NodeId> operators;
    for (const NodeId id : piece.graph().order())
      if (piece.graph().node(id).kind == NodeKind::Operator) operators.push_back(id);
    if (operators.empty()) return;
    auto claim = some_region(piece, operators, random_);
    const auto region = claim ? piece.region(claim->inputs, claim->outputs) : Result<Graph>(Error{""});
    const auto info = region.ok() ? infer(*region) : Result<Inference>(Error{""});
    if (!info.ok()) return;
    RandomRewrite rewrite(*region, *info, random_);
    std::string what;
    for (std::size_t k = 1 + below(random_, 2); k > 0; --k)
      if (const auto done = rewrite.change()) what += (what.empty() ? "" : ", ") + *done;
    if (what.empty()) return;
    claim->after = rewrite.program(piece.graph(), claim->outputs[0]);
    Proposal proposal{.kind = "random", .what = what, .claim = std::move(*claim), .folds = {}};
    ++tally.proposed;
    auto& [drawn, good] = tally.kinds[what];
    ++drawn;
    auto answer = maker.prove(proposal);
    if (const auto* why = std::get_if<std::string>(&answer)) {
      ++tally.refused;
      ++tally.reasons[class_of(*why)];
      return;
    }
    ++tally.accepted;
    ++good;
    judge(*region, proposal, proofs);
    steps.push_back(std::get<Step>(std::move(answer)));
  }

  // The claim applied to its region alone, and both run.
  void judge(const Graph& region, const Proposal& proposal, ProofCache& proofs) {
    auto local = Workpiece::of(region);
    if (!local.ok()) return;
    StepMaker maker(std::move(*local), proofs, 1);
    auto again = maker.prove(proposal);
    if (!std::holds_alternative<Step>(again)) return;
    const Draft after = maker.with({.graph = region}, {&std::get<Step>(again)});
    const Evaluation result = evaluated(region, after.graph, random_);
    tally.evaluated += result == Evaluation::None ? 0 : 1;
    if (result != Evaluation::Different) return;
    ++tally.is_false;
    fmt::print("FALSE: {} at {}\n", proposal.what, proposal.claim.outputs[0]);
    if (verbose_)
      for (const Graph* g : {&region, &after.graph})
        for (const NodeId id : g->order()) fmt::print("  {}\n", label(g->node(id)));
  }

  Random random_;
  bool verbose_;
  int idle_ = 0;
};

int report(const Tally& t) {
  fmt::print("{} proposals: {} refused, {} accepted ({} of them evaluated, {} applied), {} false\n",
             t.proposed, t.refused, t.accepted, t.evaluated, t.applied, t.is_false);
  fmt::print("refused because:\n");
  for (const auto& [why, count] : t.reasons) fmt::print("  {:6}  {}\n", count, why);
  fmt::print("accepted of proposed, single changes:\n");
  for (const auto& [kind, counts] : t.kinds)
    if (kind.find(',') == std::string::npos)
      fmt::print("  {:6} of {:6}  {}\n", counts.second, counts.first, kind);
  // With nothing accepted, or nothing refused, nothing was tested.
  return t.is_false == 0 && t.evaluated > 0 && t.refused > 0 ? 0 : 1;
}

int main(const std::vector<std::string>& arguments) {
  int proposals = 10000;
  std::uint64_t seed = 1;
  bool verbose = false;
  std::vector<std::string> models;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    if (arguments[k] == "--proposals") proposals = std::stoi(arguments.at(++k));
    else if (arguments[k] == "--seed") seed = std::stoull(arguments.at(++k));
    else if (arguments[k] == "--verbose") verbose = true;
    else models.push_back(arguments[k]);
  }
  Pressure pressure(seed, verbose);
  for (std::size_t k = 0; k < models.size(); ++k) {
    const auto model = read_model(models[k]);
    if (!model.ok()) {
      fmt::print("{}: {}\n", models[k], model.error().message);
      return 1;
    }
    const int left = proposals - pressure.tally.proposed;
    pressure.on(*model, left / static_cast<int>(models.size() - k));
    const Tally& t = pressure.tally;
    fmt::print("{}: {} proposed, {} accepted, {} false so far\n", models[k], t.proposed, t.accepted,
               t.is_false);
    std::fflush(stdout);
  }
  return report(pressure.tally);
}

}  // namespace
}  // namespace isomer::testing

int main(int count, char** arguments) {
  return isomer::testing::main(std::vector<std::string>(arguments + 1, arguments + count));
}
