#include "optimizer/search/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "model/expr/parts.h"
#include "model/graph/constant.h"
#include "model/graph/graph_index.h"

namespace isomer {
namespace {

struct Context {
  std::vector<std::string> inputs, outputs;
};

constexpr int kFarthest = 6;  // Gelu spelled out, from its last product to what it is of
constexpr std::size_t kMostNeighbours = 24;

// Whether a node is what runtimes fuse with others: element by element, or a movement.
bool is_fusible(const Workpiece& piece, NodeId id) {
  const Definition definition = define_node(piece.graph(), piece.inference(), id);
  const auto* formula = std::get_if<Formula>(&definition);
  return formula != nullptr && !has_reductions(*formula);
}

// The region of a step and its neighbours, since a runtime fuses and lays out beyond the borders of a region:
// the readers of its outputs, the nodes that make its inputs, and further nodes that may be fused with the
// latter.
Context context_of(const Workpiece& piece, const Step& step, bool with_neighbours) {
  const Graph& graph = piece.graph();
  std::set<NodeId> inside;
  const GraphIndex index(graph);
  for (const NodeId id : graph.order())
    for (const std::string& o : graph.node(id).outputs)
      if (!o.empty() && step.replaced.contains(o)) inside.insert(id);
  const auto may_join = [&](NodeId id) {
    const Node& node = graph.node(id);
    return node.kind == NodeKind::Operator && node.captures.empty();
  };
  if (with_neighbours) {
    const std::set<NodeId> core = inside;
    std::vector<NodeId> border(core.begin(), core.end());
    for (int far = 0; far < kFarthest && inside.size() < core.size() + kMostNeighbours; ++far) {
      std::vector<NodeId> next;
      for (const NodeId id : border)
        for (const Value& v : graph.node(id).inputs)
          if (v.exists() && may_join(v.node) && !inside.contains(v.node) &&
              (far == 0 || is_fusible(piece, v.node))) {
            inside.insert(v.node);
            if (far > 0 || is_fusible(piece, v.node)) next.push_back(v.node);
          }
      border = std::move(next);
    }
    for (const NodeId id : core) {
      for (std::uint32_t k = 0; k < graph.node(id).outputs.size(); ++k)
        for (const NodeId r : index.readers({id, k}))
          if (may_join(r)) inside.insert(r);
    }
  }
  // Nodes between two nodes that are inside must be inside, too.
  std::set<NodeId> below;  // depends on something inside
  for (const NodeId id : graph.order()) {
    const auto& inputs = graph.node(id).inputs;
    if (std::ranges::any_of(inputs, [&](Value v) {
          return v.exists() && (inside.contains(v.node) || below.contains(v.node));
        }))
      below.insert(id);
  }
  std::set<NodeId> above;
  for (auto at = graph.order().rbegin(); at != graph.order().rend(); ++at) {
    const bool is_in = inside.contains(*at) || (above.contains(*at) && below.contains(*at));
    if (is_in) inside.insert(*at);
    if (!is_in && !above.contains(*at)) continue;
    for (const Value& v : graph.node(*at).inputs)
      if (v.exists()) above.insert(v.node);
  }
  std::set<std::string> inputs, outputs;
  for (const NodeId id : inside) {
    const Node& node = graph.node(id);
    for (const Value& v : node.inputs)
      if (v.exists() && !inside.contains(v.node) && !known_constant(graph, v))
        inputs.insert(graph.name_of(v));
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k].empty()) continue;
      const bool is_read =
          std::ranges::any_of(index.readers({id, k}), [&](NodeId r) { return !inside.contains(r); });
      if (is_read || index.is_output({id, k})) outputs.insert(node.outputs[k]);
    }
  }
  return {{inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}};
}

}  // namespace

OnProgress told_as(const std::function<void(const std::string&)>& progress, const std::string& what) {
  return [&progress, what](const MeasureProgress& now) {
    progress(fmt::format("measuring {}, {:.0f} %{}", what, 100 * now.share,
                         now.ratio ? fmt::format(", {:.3f}", now.ratio->estimate) : ""));
  };
}

ObservedMachine& Trials::machine() {
  if (!machine_)
    machine_ = std::make_unique<ObservedMachine>(*judge_, options_.runtime, options_.out, options_.feeds);
  return *machine_;
}

// Shapes and types of the feeds are what a time depends on.
Outcome<PairMeasurement> Trials::measure(const ScratchModel& a, const ScratchModel& b,
                                         const NamedTensors& feeds, const MeasureOptions& options,
                                         const OnProgress& progress) {
  auto shared = SharedFeeds::make(feeds);
  if (!shared.ok()) return shared.error();
  if (!options_.cache) return judge_->measure_pair(a.source(), b.source(), *shared, options, progress);
  // A longer look is another one.
  std::string key = fmt::format("ranked {} {}", options.precision, std::ilogb(options.seconds));
  for (const auto& [name, tensor] : feeds)
    key += fmt::format(" {}:{}{}", name, isomer::name(tensor.type()), text(to_dims(tensor.extents())));
  auto measured = judge_->measure_pair(*options_.cache, {a.digest(), b.digest(), key}, a.source(), b.source(),
                                       *shared, options, progress);
  if (measured.ok() && measured->from_cache) ++known_;
  return measured;
}

Outcome<PairMeasurement> Trials::rank(const ScratchModel& a, const ScratchModel& b, double seconds,
                                      const OnProgress& progress) {
  const MeasureOptions options{.runtime = options_.runtime,
                               .seconds = seconds / static_cast<double>(sizes()),
                               .confirm = false,
                               .seed = options_.seed};
  auto worst = measure(a, b, options_.feeds, options, progress);
  for (std::size_t k = 1; k < sizes() && worst.ok(); ++k) {
    auto other = measure(a, b, feeds_of(k), options, progress);
    if (!other.ok() || other->ratio.estimate < worst->ratio.estimate) worst = std::move(other);
  }
  return worst;
}

Outcome<PairMeasurement> Trials::compare(const ModelSource& a, const ModelSource& b, double seconds,
                                         double beyond, const OnProgress& progress, std::size_t size) {
  auto feeds = SharedFeeds::make(feeds_of(size));
  if (!feeds.ok()) return feeds.error();
  return judge_->measure_pair(a, b, *feeds,
                              {.runtime = options_.runtime,
                               .seconds = seconds,
                               .confirm = true,
                               .beyond = beyond,
                               .seed = options_.seed},
                              progress);
}

Outcome<Done> Trials::observe(const Model& model, const Workpiece& piece,
                              const std::vector<const Step*>& steps) {
  std::set<std::string> wanted;
  for (const Step* s : steps)
    for (const bool with_neighbours : {false, true})
      for (const std::string& name : context_of(piece, *s, with_neighbours).inputs) wanted.insert(name);
  observed_.clear();
  Model open = as_model(piece.graph());  // of its own: the file's has other outputs
  open.ir_version = model.ir_version;
  for (const Value& v : piece.graph().outputs()) wanted.erase(piece.graph().name_of(v));
  for (const auto& [name, tensor] : options_.feeds) {
    wanted.erase(name);
    observed_.emplace(name, tensor);
  }
  for (const NodeId id : piece.graph().order()) {
    const Node& node = piece.graph().node(id);
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      if (!wanted.contains(node.outputs[k])) continue;
      const ValueInfo& info = piece.inference().of({id, k});
      DeclaredType type;
      type.type = info.type;
      if (info.shape) type.shape = std::vector<std::optional<Dim>>(info.shape->begin(), info.shape->end());
      open.graph.declare(node.outputs[k], type);
      open.graph.add_output({id, k});
    }
  }
  const auto file = ScratchModel::write(open, options_.out);
  if (!file.ok()) return Failure{FailureKind::Refused, file.error().message};
  auto outputs = judge_->run(file->source(), options_.feeds, options_.runtime);
  if (!outputs.ok()) return outputs.error();
  for (auto& [name, tensor] : *outputs) observed_.emplace(name, std::move(tensor));
  return Done{};
}

Outcome<RegionTrial> Trials::region(const Workpiece& piece, const Step& step, ProofCache& proofs,
                                    double seconds, double most_operations) {
  const Context context = context_of(piece, step, seconds > 0);
  const auto refused = [](std::string what) { return Failure{FailureKind::Refused, std::move(what)}; };
  NamedTensors feeds;
  for (const std::string& name : context.inputs) {
    const auto at = observed_.find(name);
    if (at == observed_.end()) return refused(name + " was not observed");
    feeds.emplace(name, at->second);
  }
  auto before = piece.region(context.inputs, context.outputs);
  if (!before.ok()) return refused(before.error().message);
  before->sizes_from = piece.graph().sizes_from;
  auto local = Workpiece::of(*before);
  if (!local.ok()) return refused(local.error().message);
  StepMaker maker(std::move(*local), proofs, options_.seed);
  auto again = maker.prove(step.proposal);
  if (auto* why = std::get_if<std::string>(&again)) return refused(*why);
  const Draft after = maker.with({.graph = *before}, {&std::get<Step>(again)});
  const auto a = ScratchModel::write(as_model(*before), options_.out),
             b = ScratchModel::write(as_model(after.graph), options_.out);
  if (!a.ok()) return refused(a.error().message);
  if (!b.ok()) return refused(b.error().message);
  RegionTrial trial;
  auto errors = this->errors(*before, a->source(), b->source(), feeds, most_operations);
  if (!errors.ok()) return errors.error();
  trial.errors = *errors;
  if (seconds <= 0) return trial;
  auto time = measure(*a, *b, feeds,
                      {.runtime = options_.runtime,
                       .seconds = seconds,
                       .precision = 0.03,
                       .confirm = false,
                       .seed = options_.seed},
                      {});
  if (!time.ok()) return time.error();
  trial.time = std::move(*time);
  return trial;
}

Outcome<std::optional<Errors>> Trials::errors(const Graph& exact, const ModelSource& a, const ModelSource& b,
                                              const NamedTensors& feeds, double most) {
  const auto first = judge_->run(a, feeds, options_.runtime);
  if (!first.ok()) return first.error();
  const auto second = judge_->run(b, feeds, options_.runtime);
  if (!second.ok()) return second.error();
  const auto right = exact_outputs(exact, feeds, most);
  if (!right) return std::optional<Errors>();
  const auto before = error_of(*first, *right), after = error_of(*second, *right);
  if (!before || !after) return std::optional<Errors>();
  return std::optional<Errors>(Errors{*before, *after});
}

}  // namespace isomer
