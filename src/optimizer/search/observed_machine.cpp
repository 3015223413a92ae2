#include "optimizer/search/observed_machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/graph/constant.h"
#include "optimizer/facts/price.h"
#include "optimizer/facts/site.h"
#include "runtime/judge/scratch_model.h"

namespace isomer {
namespace {

constexpr std::int64_t kChannels = kBlockChannels;
constexpr std::int64_t kLeastRuns = 3, kWarmNs = 15'000'000;
constexpr int kManyNodes = 65;
constexpr std::size_t kMostQuestions = 200;
const Opsets kOpsets{{"", 17}};

DeclaredType floats(const Extents& extents) {
  DeclaredType type;
  type.type = ElementType::Float;
  type.shape.emplace(extents.begin(), extents.end());
  return type;
}

Tensor zeros(const Extents& extents) {
  Buffer bytes(static_cast<std::size_t>(*element_count(extents)) * sizeof(float));
  return {ElementType::Float, extents, std::move(bytes).freeze()};
}

double count(const Extents& extents) { return static_cast<double>(*element_count(extents)); }

Value convolution(ProgramBuilder& b, Value x, std::int64_t from, std::int64_t to) {
  return b.op("Conv", {x, b.constant(zeros({to, from, 1, 1}))});
}

// One node of this kind, on x of these extents and constants of those.
Graph program_of(const std::string& op, const Extents& x, const std::vector<Extents>& constants = {},
                 const Attributes& attributes = {}, int times = 1) {
  ProgramBuilder b(kOpsets, "v");
  Value last = b.input("x", floats(x));
  for (int k = 0; k < times; ++k) {
    std::vector<Value> inputs{last};
    for (const Extents& c : constants) inputs.push_back(b.constant(zeros(c)));
    last = b.op(op, inputs, attributes);
  }
  b.output(last);
  return b.graph();
}

}  // namespace

ObservedMachine::ObservedMachine(Judge& judge, RuntimeOptions options, std::filesystem::path out,
                                 const NamedTensors& feeds)
    : judge_(judge), options_(std::move(options)), out_(std::move(out)) {
  for (const auto& [name, tensor] : feeds) fed_.emplace(name, tensor.extents());
  measure_prices();
}

// A program fed with zeros, ready to run.
struct ObservedMachine::Question {
  ScratchModel file;
  Worker* worker;
  SharedFeeds feeds;
};

std::optional<ObservedMachine::Question> ObservedMachine::question(const Graph& program) const {
  NamedTensors feeds;
  for (const Value& v : program.inputs()) {
    Extents extents;
    for (const auto& d : *program.node(v.node).declared.shape) extents.push_back(d->concrete());
    feeds.emplace(program.name_of(v), zeros(extents));
  }
  auto file = ScratchModel::write(as_model(program), out_);
  const auto worker = judge_.worker();
  auto shared = SharedFeeds::make(feeds);
  if (!file.ok() || !worker.ok() || !shared.ok()) return std::nullopt;
  return Question{std::move(*file), *worker, std::move(*shared)};
}

std::optional<double> ObservedMachine::time_of(const Graph& program) const {
  const auto q = question(program);
  if (!q || !q->worker->load(0, q->file.source(), options_, &q->feeds).ok()) return std::nullopt;
  const auto warm = q->worker->warm(0, kLeastRuns, kWarmNs);
  if (!warm.ok() || !q->worker->unload(0).ok()) return std::nullopt;
  return static_cast<double>(warm->fastest_ns);
}

std::optional<std::vector<KernelKind>> ObservedMachine::kernels_of(const Graph& program) const {
  const auto q = question(program);
  if (!q) return std::nullopt;
  auto kernels = q->worker->profile(q->file.source(), options_, q->feeds, 0);
  return kernels.ok() ? std::optional(std::move(*kernels)) : std::nullopt;
}

void ObservedMachine::measure_prices() {
  const auto one = time_of(program_of("Abs", {kChannels})),
             many = time_of(program_of("Abs", {kChannels}, {}, {}, kManyNodes));
  const auto product = time_of(program_of("MatMul", {128, 512}, {{512, 512}}));
  if (!one || !many || !product) return;
  const double unit = std::max(*product - *one, 1.0) / (2.0 * 128 * 512 * 512);  // ns of an operation
  machine_.prices.node = std::max(*many - *one, 1.0) / (kManyNodes - 1) / unit;
  // The rest of a program's time per operation, without the call itself and its elements.
  const auto rate = [&](const Graph& program, double elements, double operations) -> std::optional<double> {
    const auto time = time_of(program);
    if (!time) return std::nullopt;
    return std::max((*time - *one) / unit - elements * machine_.prices.element, 0.0) / operations;
  };
  const Extents plane{1, 64, 128, 128};
  if (const auto all = rate(program_of("Abs", plane), 0, 2 * count(plane))) machine_.prices.element = *all;
  if (const auto f = rate(program_of("Tanh", plane), 2 * count(plane), count(plane)))
    machine_.prices.function = *f;
  const auto of_convolution = [&](std::int64_t channels, std::int64_t groups, double& price) {
    const std::int64_t width = channels / groups;
    const Extents x{1, channels, 56, 56}, w{channels, width, 3, 3};
    const Attributes attributes = with({{"group", groups}, {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    const double operations = 2 * count(x) * static_cast<double>(width) * 9;
    if (const auto p = rate(program_of("Conv", x, {w}, attributes), 2 * count(x), operations)) price = *p;
  };
  of_convolution(64, 1, machine_.prices.convolution);
  of_convolution(64, 64, machine_.prices.depthwise);
  of_convolution(62, 1, machine_.prices.unblocked);
  // A convolution by itself is brought into the layout and back.
  const Extents image{1, kChannels, 128, 128};
  if (const auto kernels = kernels_of(program_of("Conv", image, {{kChannels, kChannels, 1, 1}}))) {
    double reordering = 0;
    for (const KernelKind& k : *kernels)
      if (count_reorders({k}) > 0) reordering += k.time_ns;
    machine_.prices.reordered = reordering / unit / (2 * count(image));
  }
}

void ObservedMachine::learn_sizes(const Graph& graph, const Inference& inference) {
  for (const Value& v : graph.inputs()) {
    const auto fed = fed_.find(graph.name_of(v));
    const auto& shape = inference.of(v).shape;
    if (fed == fed_.end() || !shape || shape->size() != fed->second.size()) continue;
    for (std::size_t d = 0; d < shape->size(); ++d)
      for (const std::string& name : (*shape)[d].symbols())
        if ((*shape)[d] == Dim::symbol(name)) machine_.sizes.emplace(name, fed->second[d]);
  }
}

bool ObservedMachine::learn(const Graph& graph, const Inference& inference) {
  learn_sizes(graph, inference);
  if (judge_.runtime() != "ort") return false;
  const std::size_t asked = asked_.size();
  const std::set<NodeId> folded = folded_nodes(graph);
  // Whether this is to be measured now: each kind once, and not too many.
  const auto is_new = [&](const std::string& kind) {
    return !kind.empty() && asked_.size() < kMostQuestions && asked_.insert(kind).second;
  };
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::Operator || folded.contains(id)) continue;
    if (node.op == "Conv" && node.domain.empty()) {
      const std::string kind = convolution_kind(graph, inference, id);
      if (!is_new(kind)) continue;
      if (const auto answer = ask_blocked(graph, inference, id)) machine_.blocked.emplace(kind, *answer);
    } else if (const std::string kind = layout_kind(graph, inference, id); is_new(kind)) {
      machine_.reordered.emplace(kind, ask_reordered(graph, inference, id));
    }
  }
  return asked_.size() > asked;
}

std::optional<bool> ObservedMachine::ask_blocked(const Graph& graph, const Inference& inference,
                                                 NodeId convolution) const {
  const Node& node = graph.node(convolution);
  const Extents x = *concrete(*inference.of(node.inputs[0]).shape);
  const Extents w = *concrete(*inference.of(node.inputs[1]).shape);
  Extents small{1, x[1]};
  const auto dilations = attribute(node, "dilations", std::vector<std::int64_t>(x.size() - 2, 1));
  for (std::size_t d = 2; d < x.size(); ++d) small.push_back((w[d] - 1) * dilations[d - 2] + 3);
  const auto kernels = kernels_of(program_of("Conv", small, {w}, node.attributes));
  // A blocked output is brought back into the plain layout for the caller.
  return kernels ? std::optional(count_reorders(*kernels) > 0) : std::nullopt;
}

double ObservedMachine::ask_reordered(const Graph& graph, const Inference& inference, NodeId id) const {
  const Node& node = graph.node(id);
  const Extents made = *concrete(*inference.of({id, 0}).shape);
  ProgramBuilder b(graph.opsets, "v");
  std::vector<Value> inputs;
  double elements = count(made), ports = 1;
  for (const Value& v : node.inputs) {
    const auto constant = v.exists() ? known_constant(graph, v) : std::nullopt;
    if (!v.exists() || constant) {
      inputs.push_back(constant ? b.constant(*constant) : v);
      continue;
    }
    const Extents x = *concrete(*inference.of(v).shape);
    const Value from = b.input(fmt::format("x{}", inputs.size()), floats({x[0], kChannels, x[2], x[3]}));
    inputs.push_back(convolution(b, from, kChannels, x[1]));
    elements += count(x);
    ++ports;
  }
  b.output(convolution(b, b.copy(node, inputs), made[1], kChannels));
  const auto kernels = kernels_of(b.graph());
  // Each input has to be blocked and the output unblocked, whatever lies between.
  const double extra = kernels ? static_cast<double>(count_reorders(*kernels)) - ports : 0;
  return std::max(extra, 0.0) * elements / ports;
}

}  // namespace isomer
