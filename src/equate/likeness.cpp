#include "equate/likeness.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "base/hash.h"
#include "kernel/prove/shrink.h"
#include "kernel/prove/value_numbers.h"
#include "model/eval/program.h"
#include "model/graph/constant.h"

namespace isomer {
namespace {

constexpr int kSamples = 24;
constexpr std::size_t kMostLookedAt = 4096;  // elements, to know the largest magnitude of a value
constexpr double kAlike = 1e-4;              // folded constants are rounded
constexpr std::size_t kMostMoved = 256;
constexpr double kMostOperations = 1.2e11;  // of one model: half a minute

// Index of the sample number `sample` among `count` elements: pseudo-random, the same in every run.
std::uint64_t sampled(std::uint64_t sample, std::uint64_t count) { return mix(sample) % count; }

std::optional<Tensor> drawn(const ValueInfo& info, std::uint64_t key, bool zero_integers) {
  const auto extents = concrete_shape(info);
  if (!extents || !is_computable(info.type)) return std::nullopt;
  const auto count = element_count(*extents);
  if (!count || *count > (std::int64_t{1} << 28)) return std::nullopt;
  std::vector<double> values(static_cast<std::size_t>(*count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = mix(mix(key) + i);
    if (is_float(info.type)) values[i] = (static_cast<double>(bits >> 11u) / 0x1p53 - 0.5) * 4;
    else values[i] = zero_integers ? 0 : static_cast<double>(bits % 2);
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
    look.samples.push_back(values[sampled(i, values.size())]);
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
                   const std::atomic<bool>* stop, const Visit& visit) {
  const std::set<NodeId> needed = needed_nodes(graph);
  std::map<Value, int> uses;
  for (const NodeId id : needed)
    for (const Value& v : graph.node(id).inputs) ++uses[v];
  for (const Value& v : graph.outputs()) ++uses[v];
  std::map<Value, Tensor> held;  // constants as they are: each is lifted when it is read
  const auto lifted = [](const Tensor& t) {
    return is_float(t.type()) ? convert(t, ElementType::Double) : t;
  };
  int order = 0;
  const auto keep = [&](Value v, Tensor tensor) {
    if (graph.node(v.node).kind == NodeKind::Operator && is_computable(tensor.type())) {
      Look look = look_at(tensor);
      look.order = ++order;
      out.looks.emplace(graph.name_of(v), std::move(look));
      if (visit) visit(graph.name_of(v), tensor);
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
        if (is_computable(node.tensor.type())) held.insert_or_assign({id, 0}, node.tensor);
      } else if (feed != feeds.end()) {
        keep({id, 0}, lifted(feed->second));
      }
    } else if (const auto constant = known_constant(graph, {id, 0})) {
      if (!is_computable(constant->type())) continue;
      keep({id, 0}, lifted(*constant));
      held.insert_or_assign({id, 0}, *constant);
    } else if (!info.opaque.contains(id)) {
      const Definition definition = define_node(graph, info, id);
      const auto* formula = std::get_if<Formula>(&definition);
      std::vector<std::optional<Tensor>> inputs(formula != nullptr ? formula->inputs.size() : 0);
      bool all = formula != nullptr;
      for (std::size_t k = 0; all && k < inputs.size() && k < node.inputs.size(); ++k) {
        if (!formula->inputs[k]) continue;
        const auto at = held.find(node.inputs[k]);
        all = at != held.end();
        if (all) inputs[k] = lifted(at->second);
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
      out.outputs.insert_or_assign(graph.name_of(v), lifted(at->second));
  return true;
}

bool Likeness::start(const Graph& a, const Graph& b, const Options& options) {
  const auto a_info = infer(a), b_info = infer(b);
  if (!a_info.ok() || !b_info.ok()) return false;
  const auto x = operations(a, *a_info), y = operations(b, *b_info);
  if (!x || !y || *x > kMostOperations || *y > kMostOperations) return false;
  for (const Graph* graph : {&a, &b})
    for (const Value& v : graph->inputs()) {
      const std::string& name = graph->name_of(v);
      const ValueInfo& info = (graph == &a ? *a_info : *b_info).of(v);
      if (feeds_.contains(name) || graph->node(v.node).kind != NodeKind::Input) continue;
      auto tensor = drawn(info, 17 + feeds_.size(), options.zero_integers);
      if (!tensor) return false;
      feeds_.emplace(name, std::move(*tensor));
    }
  if (!run(b, *b_info, feeds_, b_, options.stop)) return false;
  for (const auto& [name, look] : b_.looks) b_by_extents_[look.extents].push_back(name);
  const Visit visit = [&](const std::string& name, const Tensor& tensor) { look_for_moved(name, tensor); };
  if (!run(a, *a_info, feeds_, a_, options.stop, visit)) return false;
  for (const auto& [name, look] : a_.looks) by_extents_[look.extents].push_back(name);
  return true;
}

std::optional<Likeness> Likeness::of(const Graph& a, const Graph& b, const Options& options) {
  if (const auto images = smaller_images(a); options.smaller && !images.empty()) {
    Graph x = a, y = b;
    for (const auto& [name, shape] : images) {
      x = with_input_shape(x, name, shape);
      y = with_input_shape(y, name, shape);
    }
    Likeness out;
    const bool ran = out.start(x, y, options);
    if (ran && out.a_.outputs.size() == a.outputs().size() && out.b_.outputs.size() == b.outputs().size())
      return out;
  }
  auto symbols = symbols_of(a);
  symbols.merge(symbols_of(b));
  for (const Sizes& sizes : sizes_for(symbols)) {
    Likeness out;
    if (!out.start(at_sizes(a, sizes), at_sizes(b, sizes), options)) continue;
    // Sizes at which a model does not run say little.
    if (out.a_.outputs.empty() && !sizes.empty() && !out.a_.looks.empty()) continue;
    return out;
  }
  return std::nullopt;
}

bool Likeness::is_moved(const Tensor& tensor, const Moved& move, const Look& look) const {
  const auto values = tensor.as<double>();
  const std::size_t rank = look.extents.size();
  Extents strides(rank, 1);
  for (std::size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * tensor.extents()[d];
  const auto count = static_cast<std::uint64_t>(element_count(look.extents).value());
  for (std::uint64_t i = 0; i < look.samples.size(); ++i) {
    auto rest = static_cast<std::int64_t>(sampled(i, count));
    std::int64_t at = 0;
    for (std::size_t d = rank; d-- > 0;) {
      const std::int64_t p = rest % look.extents[d];
      rest /= look.extents[d];
      at += move.perm.empty() ? (move.begin[d] + p * move.step[d]) * strides[d]
                              : p * strides[static_cast<std::size_t>(move.perm[d])];
    }
    const double apart = std::abs(values[static_cast<std::size_t>(at)] - look.samples[i]);
    if (!(apart <= kAlike * look.largest)) return false;
  }
  return true;
}

// Transpositions to another shape, the first or last element along an axis, and every second, third or fourth
// along some of the last two.
void Likeness::look_for_moved(const std::string& name, const Tensor& tensor) {
  const std::size_t rank = tensor.extents().size();
  if (tensor.type() != ElementType::Double || rank < 2 || rank > 4 || moved_.size() >= kMostMoved) return;
  const auto note = [&](const Extents& extents, const Moved& move) {
    const auto at = b_by_extents_.find(extents);
    if (at == b_by_extents_.end()) return;
    for (const std::string& like : at->second) {
      const Look& look = b_.looks.at(like);
      const bool is_flat = std::ranges::all_of(look.samples, [&](double s) { return s == look.samples[0]; });
      if (is_flat || look.type != tensor.type() || !is_moved(tensor, move, look)) continue;
      moved_.push_back(move);
      moved_.back().like = like;
    }
  };
  std::vector<std::int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  while (std::ranges::next_permutation(perm).found) {
    Extents extents;
    for (const std::int64_t d : perm) extents.push_back(tensor.extents()[static_cast<std::size_t>(d)]);
    if (extents != tensor.extents())
      note(extents, {.of = name, .like = {}, .perm = perm, .begin = {}, .step = {}});
  }
  // The first one along an axis, or the last.
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t last = tensor.extents()[d] - 1;
    Extents extents = tensor.extents();
    extents[d] = 1;
    if (last < 1 || !b_by_extents_.contains(extents)) continue;
    Moved move{.of = name, .like = {}, .perm = {}, .begin = Extents(rank, 0), .step = Extents(rank, 1)};
    move.step[d] = last + 1;
    note(extents, move);
    move.begin[d] = last;
    note(extents, move);
  }
  if (rank < 3) return;
  const std::int64_t high = tensor.extents()[rank - 2], wide = tensor.extents()[rank - 1];
  for (std::int64_t s = 1; s <= 4; ++s)
    for (std::int64_t t = 1; t <= 4; ++t) {
      if (s * t == 1 || high % s != 0 || wide % t != 0) continue;
      Extents extents = tensor.extents();
      extents[rank - 2] = high / s;
      extents[rank - 1] = wide / t;
      if (!b_by_extents_.contains(extents)) continue;
      for (std::int64_t i = 0; i < s; ++i)
        for (std::int64_t j = 0; j < t; ++j) {
          Moved move{.of = name, .like = {}, .perm = {}, .begin = Extents(rank, 0), .step = Extents(rank, 1)};
          move.begin[rank - 2] = i;
          move.begin[rank - 1] = j;
          move.step[rank - 2] = s;
          move.step[rank - 1] = t;
          note(extents, move);
        }
    }
}

std::vector<Likeness::Moved> Likeness::moved(std::size_t most) const {
  std::vector<Moved> out;
  for (const Moved& m : moved_)
    if (out.size() < most && like(m.like, 1).empty()) out.push_back(m);
  return out;
}

std::vector<std::string> Likeness::like(const std::string& value, std::size_t most) const {
  const auto at = b_.looks.find(value);
  if (at == b_.looks.end()) return {};
  const Look& mine = at->second;
  const auto known = by_extents_.find(mine.extents);
  if (known == by_extents_.end()) return {};
  // A value whose samples are all the same number looks like too many others.
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
