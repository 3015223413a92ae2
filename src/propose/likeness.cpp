#include "propose/likeness.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "algebra/program.h"
#include "base/hash.h"
#include "graph/constant.h"
#include "prove/shrink.h"
#include "prove/value_numbers.h"

namespace isomer {
namespace {

constexpr int kSamples = 24;
constexpr std::size_t kMostLookedAt = 4096;  // elements, for how large a value is
constexpr double kAlike = 1e-4;              // folded constants are rounded
constexpr double kMostOperations = 1.2e11;   // of one model: half a minute

std::optional<Tensor> drawn(const ValueInfo& info, std::uint64_t key) {
  const auto extents = info.shape ? concrete(*info.shape) : std::nullopt;
  if (!extents || !is_computable(info.type)) return std::nullopt;
  const auto count = element_count(*extents);
  if (!count || *count > (std::int64_t{1} << 28)) return std::nullopt;
  std::vector<double> values(static_cast<std::size_t>(*count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = mix(mix(key) + i);
    if (is_float(info.type)) values[i] = (static_cast<double>(bits >> 11u) / 0x1p53 - 0.5) * 4;
    else values[i] = static_cast<double>(bits % 2);
  }
  return convert(Tensor::of(ElementType::Double, *extents, values), info.type);
}

// Sizes to try for the symbols of a model: small ones, then such as images need.
std::vector<Sizes> sizes_for(const std::set<std::string>& symbols) {
  if (symbols.empty()) return {Sizes{}};
  std::vector<Sizes> out = small_sizes(symbols, {}, 1, 6);
  for (const std::int64_t size : {8, 16, 32, 64, 128, 224}) {
    Sizes sizes;
    for (const std::string& s : symbols) sizes[s] = size;
    out.push_back(sizes);
  }
  return out;
}

constexpr std::int64_t kLargeImage = 128, kSmallImage = 64;

// The names and smaller shapes of inputs that are large images.
std::map<std::string, Extents> smaller_images(const Graph& graph) {
  std::map<std::string, Extents> out;
  for (const Value& v : graph.inputs()) {
    const DeclaredType& declared = graph.node(v.node).declared;
    if (!declared.shape || declared.shape->size() != 4 || !is_float(declared.type)) continue;
    Extents shape;
    for (const auto& d : *declared.shape) shape.push_back(d && d->is_concrete() ? d->concrete() : 0);
    if (std::ranges::min(shape) < 1 || shape[2] < kLargeImage || shape[3] < kLargeImage) continue;
    shape[2] = shape[3] = kSmallImage;
    out.emplace(graph.name_of(v), shape);
  }
  return out;
}

}  // namespace

Likeness::Look Likeness::look_at(const Tensor& tensor) {
  Look look{.type = tensor.type(), .extents = tensor.extents(), .largest = 0, .samples = {}};
  const Tensor numbers = convert(tensor, ElementType::Double);
  const auto values = numbers.as<double>();
  const std::size_t step = values.size() / kMostLookedAt + 1;
  for (std::size_t i = 0; i < values.size(); i += step)
    if (std::isfinite(values[i])) look.largest = std::max(look.largest, std::abs(values[i]));
  for (std::uint64_t i = 0; i < kSamples && !values.empty(); ++i)
    look.samples.push_back(values[mix(i) % values.size()]);
  return look;
}

double Likeness::distance(const Look& a, const Look& b) {
  const double scale = std::max({a.largest, b.largest, 1e-30});
  double worst = std::abs(a.largest - b.largest) / scale;
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    if (std::isfinite(a.samples[i]) != std::isfinite(b.samples[i])) return 1e9;
    if (std::isfinite(a.samples[i])) worst = std::max(worst, std::abs(a.samples[i] - b.samples[i]) / scale);
  }
  return worst;
}

bool Likeness::run(const Graph& graph, const Inference& info, const NamedTensors& feeds, Run& out,
                   const std::atomic<bool>* stop) {
  const std::set<NodeId> needed = needed_nodes(graph);
  std::map<Value, int> uses;
  for (const NodeId id : needed)
    for (const Value& v : graph.node(id).inputs) ++uses[v];
  for (const Value& v : graph.outputs()) ++uses[v];
  std::map<Value, Tensor> held;
  const auto lifted = [](const Tensor& t) {
    return is_float(t.type()) ? convert(t, ElementType::Double) : t;
  };
  int order = 0;
  const auto keep = [&](Value v, Tensor tensor) {
    if (graph.node(v.node).kind == NodeKind::Operator && is_computable(tensor.type())) {
      Look look = look_at(tensor);
      look.order = ++order;
      out.looks.emplace(graph.name_of(v), std::move(look));
    }
    if (uses[v] > 0) held.insert_or_assign(v, std::move(tensor));
  };
  for (const NodeId id : graph.order()) {
    if (!needed.contains(id)) continue;
    if (stop != nullptr && *stop) return false;
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::Operator) {
      const auto feed = feeds.find(node.outputs[0]);
      if (node.kind == NodeKind::Initializer) {
        if (is_computable(node.tensor.type())) keep({id, 0}, lifted(node.tensor));
      } else if (feed != feeds.end()) {
        keep({id, 0}, lifted(feed->second));
      }
    } else if (const auto constant = known_constant(graph, {id, 0})) {
      if (is_computable(constant->type())) keep({id, 0}, lifted(*constant));
    } else if (!info.opaque.contains(id)) {
      const Definition definition = define_node(graph, info, id);
      const auto* formula = std::get_if<Formula>(&definition);
      std::vector<std::optional<Tensor>> inputs(formula != nullptr ? formula->inputs.size() : 0);
      bool all = formula != nullptr;
      for (std::size_t k = 0; all && k < inputs.size() && k < node.inputs.size(); ++k) {
        if (!formula->inputs[k]) continue;
        const auto at = held.find(node.inputs[k]);
        all = at != held.end();
        if (all) inputs[k] = at->second;
      }
      if (all) {
        auto results = Program::compile(lift(*formula, ElementType::Double)).run(inputs);
        if (results.ok())
          for (std::uint32_t k = 0; k < results->size() && k < node.outputs.size(); ++k)
            if (!node.outputs[k].empty()) keep({id, k}, std::move((*results)[k]));
      }
    }
    for (const Value& v : node.inputs)
      if (v.exists() && --uses[v] == 0) held.erase(v);
  }
  for (const Value& v : graph.outputs())
    if (const auto at = held.find(v); at != held.end())
      out.outputs.insert_or_assign(graph.name_of(v), at->second);
  return true;
}

bool Likeness::start(const Graph& a, const Graph& b, const std::atomic<bool>* stop) {
  const auto a_info = infer(a), b_info = infer(b);
  if (!a_info.ok() || !b_info.ok()) return false;
  const auto x = operations(a, *a_info), y = operations(b, *b_info);
  if (!x || !y || *x > kMostOperations || *y > kMostOperations) return false;
  for (const Graph* graph : {&a, &b})
    for (const Value& v : graph->inputs()) {
      const std::string& name = graph->name_of(v);
      const ValueInfo& info = (graph == &a ? *a_info : *b_info).of(v);
      if (feeds_.contains(name) || graph->node(v.node).kind != NodeKind::Input) continue;
      auto tensor = drawn(info, 17 + feeds_.size());
      if (!tensor) return false;
      feeds_.emplace(name, std::move(*tensor));
    }
  if (!run(a, *a_info, feeds_, a_, stop) || !run(b, *b_info, feeds_, b_, stop)) return false;
  for (const auto& [name, look] : a_.looks) by_extents_[look.extents].push_back(name);
  return true;
}

std::optional<Likeness> Likeness::of(const Graph& a, const Graph& b, bool smaller,
                                     const std::atomic<bool>* stop) {
  if (const auto images = smaller_images(a); smaller && !images.empty()) {
    Graph x = a, y = b;
    for (const auto& [name, shape] : images) {
      x = with_input_shape(x, name, shape);
      y = with_input_shape(y, name, shape);
    }
    Likeness out;
    const bool ran = out.start(x, y, stop);
    if (ran && out.a_.outputs.size() == a.outputs().size() && out.b_.outputs.size() == b.outputs().size())
      return out;
  }
  auto symbols = symbols_of(a);
  symbols.merge(symbols_of(b));
  for (const Sizes& sizes : sizes_for(symbols)) {
    Likeness out;
    if (!out.start(at_sizes(a, sizes), at_sizes(b, sizes), stop)) continue;
    // Sizes at which a model does not run say little.
    if (out.a_.outputs.empty() && sizes.size() > 0 && !out.a_.looks.empty()) continue;
    return out;
  }
  return std::nullopt;
}

std::vector<std::string> Likeness::like(const std::string& value, std::size_t most) const {
  const auto at = b_.looks.find(value);
  if (at == b_.looks.end()) return {};
  const Look& mine = at->second;
  const auto known = by_extents_.find(mine.extents);
  if (known == by_extents_.end()) return {};
  // What is the same everywhere looks like too much.
  if (mine.samples.size() > 1 &&
      std::ranges::all_of(mine.samples, [&](double s) { return s == mine.samples[0]; }))
    return {};
  // The most alike first; of those that are equally so, what is computed first.
  std::vector<std::tuple<double, int, std::string>> found;
  for (const std::string& name : known->second) {
    const Look& other = a_.looks.at(name);
    if (other.type != mine.type) continue;
    if (const double apart = distance(other, mine); apart <= kAlike)
      found.emplace_back(apart, other.order, name);
  }
  std::ranges::sort(found);
  std::vector<std::string> out;
  for (const auto& [apart, order, name] : found)
    if (out.size() < most) out.push_back(name);
  return out;
}

const Tensor* Likeness::output_of_a(const std::string& name) const {
  const auto at = a_.outputs.find(name);
  return at == a_.outputs.end() ? nullptr : &at->second;
}

const Tensor* Likeness::output_of_b(const std::string& name) const {
  const auto at = b_.outputs.find(name);
  return at == b_.outputs.end() ? nullptr : &at->second;
}

}  // namespace isomer
