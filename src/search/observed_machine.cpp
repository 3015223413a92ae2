#include "search/observed_machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/constant.h"
#include "graph/content.h"
#include "rewrite/site.h"
#include "search/scratch_model.h"

namespace isomer {
namespace {

constexpr std::int64_t kChannels = 16;  // a multiple of what any processor's blocks hold
constexpr std::int64_t kLeastRuns = 3, kWarmNs = 15'000'000;
constexpr int kManyNodes = 65;
constexpr std::int64_t kMostElements = 1 << 20;  // of a value in a question
constexpr std::size_t kMostQuestions = 200;
const std::map<std::string, int, std::less<>> kOpsets{{"", 17}};

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

std::string spelled(const Node& node) {
  Hasher hasher;
  add_content(hasher, node.attributes, ContentDigests::Full);
  const Digest digest = hasher.digest();
  return fmt::format("{} {:x}.{:x}", node.op, digest.high, digest.low);
}

std::optional<Extents> extents_of(const Inference& inference, Value v) {
  const auto& shape = inference.of(v).shape;
  return shape ? concrete(*shape) : std::nullopt;
}

// Images with channels that fill blocks, not too large to try.
bool fills_blocks(const std::optional<Extents>& x) {
  return x && x->size() == 4 && (*x)[1] % kChannels == 0 && count(*x) > 0 && count(*x) <= kMostElements;
}

}  // namespace

ObservedMachine::ObservedMachine(Judge& judge, RuntimeOptions options, std::filesystem::path out)
    : judge_(judge), options_(std::move(options)), out_(std::move(out)) {
  measure_prices();
}

// A program fed with zeros, ready to be asked about.
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
  prices_.node = std::max(*many - *one, 1.0) / (kManyNodes - 1) / unit;
  // What is left of a program's time besides the call itself and its elements, for each operation.
  const auto rate = [&](const Graph& program, double elements, double operations) -> std::optional<double> {
    const auto time = time_of(program);
    if (!time) return std::nullopt;
    return std::max((*time - *one) / unit - elements * prices_.element, 0.0) / operations;
  };
  const Extents plane{1, 64, 128, 128};
  if (const auto all = rate(program_of("Abs", plane), 0, 2 * count(plane))) prices_.element = *all;
  if (const auto f = rate(program_of("Tanh", plane), 2 * count(plane), count(plane))) prices_.function = *f;
  const auto of_convolution = [&](std::int64_t channels, std::int64_t groups, double& price) {
    const std::int64_t width = channels / groups;
    const Extents x{1, channels, 56, 56}, w{channels, width, 3, 3};
    const Attributes attributes = with({{"group", groups}, {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    const double operations = 2 * count(x) * static_cast<double>(width) * 9;
    if (const auto p = rate(program_of("Conv", x, {w}, attributes), 2 * count(x), operations)) price = *p;
  };
  of_convolution(64, 1, prices_.convolution);
  of_convolution(64, 64, prices_.depthwise);
  of_convolution(62, 1, prices_.unblocked);
  // A convolution by itself is brought into the layout and back.
  const Extents image{1, kChannels, 128, 128};
  if (const auto kernels = kernels_of(program_of("Conv", image, {{kChannels, kChannels, 1, 1}}))) {
    double reordering = 0;
    for (const KernelKind& k : *kernels)
      if (count_reorders({k}) > 0) reordering += k.time_ns;
    prices_.reordered = reordering / unit / (2 * count(image));
  }
}

std::optional<bool> ObservedMachine::is_blocked(const Graph& graph, const Inference& inference,
                                                NodeId convolution) const {
  const Node& node = graph.node(convolution);
  const auto x = extents_of(inference, node.inputs[0]), w = extents_of(inference, node.inputs[1]);
  if (judge_.runtime() != "ort" || !x || !w || x->size() != w->size() || x->size() < 3) return std::nullopt;
  const std::string key = fmt::format("{} {}", spelled(node), fmt::join(*w, ","));
  if (const auto known = blocked_.find(key); known != blocked_.end()) return known->second;
  if (questions() >= kMostQuestions) return std::nullopt;
  Extents small{1, (*x)[1]};
  const auto dilations = attribute(node, "dilations", std::vector<std::int64_t>(x->size() - 2, 1));
  for (std::size_t d = 2; d < x->size(); ++d) small.push_back(((*w)[d] - 1) * dilations[d - 2] + 3);
  const auto kernels = kernels_of(program_of("Conv", small, {*w}, node.attributes));
  // A blocked output is brought back into the plain layout for the caller.
  const std::optional<bool> answer = kernels ? std::optional(count_reorders(*kernels) > 0) : std::nullopt;
  blocked_.emplace(key, answer);
  return answer;
}

double ObservedMachine::reordered(const Graph& graph, const Inference& inference, NodeId id) const {
  const Node& node = graph.node(id);
  const auto made = extents_of(inference, {id, 0});
  if (judge_.runtime() != "ort" || node.op == "Conv" || node.outputs.size() != 1 || !fills_blocks(made))
    return 0;
  std::string key = fmt::format("{} {}", spelled(node), fmt::join(*made, ","));
  std::map<Value, Extents> images;
  for (const Value& v : node.inputs) {
    const auto constant = v.exists() ? known_constant(graph, v) : std::nullopt;
    if (constant) key += fmt::format(" constant {}", fmt::join(constant->extents(), ","));
    if (!v.exists() || constant) continue;
    const auto x = extents_of(inference, v);
    if (!fills_blocks(x) || inference.of(v).type != ElementType::Float) return 0;
    key += fmt::format(" {}", fmt::join(*x, ","));
    images.emplace(v, *x);
  }
  if (images.empty()) return 0;
  if (const auto known = reordered_.find(key); known != reordered_.end()) return known->second;
  if (questions() >= kMostQuestions) return 0;
  ProgramBuilder b(graph.opsets, "v");
  std::vector<Value> inputs;
  double elements = count(*made), ports = 1;
  for (const Value& v : node.inputs) {
    const auto image = images.find(v);
    if (image == images.end()) {
      inputs.push_back(v.exists() ? b.constant(*known_constant(graph, v)) : v);
      continue;
    }
    const Extents& x = image->second;
    const Value from = b.input(fmt::format("x{}", inputs.size()), floats({x[0], kChannels, x[2], x[3]}));
    inputs.push_back(convolution(b, from, kChannels, x[1]));
    elements += count(x);
    ++ports;
  }
  b.output(convolution(b, b.copy(node, inputs), (*made)[1], kChannels));
  const auto kernels = kernels_of(b.graph());
  // Each input has to be blocked and the output unblocked, whatever lies between.
  const double extra = kernels ? static_cast<double>(count_reorders(*kernels)) - ports : 0;
  const double answer = std::max(extra, 0.0) * elements / ports;
  reordered_.emplace(key, answer);
  return answer;
}

}  // namespace isomer
