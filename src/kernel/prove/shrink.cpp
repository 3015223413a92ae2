#include "kernel/prove/shrink.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <ranges>
#include <set>

#include "base/hash.h"
#include "model/analysis/analysis.h"
#include "model/graph/constant.h"
#include "model/graph/rebuild.h"

namespace isomer {
namespace {

// Extents that a rule may make smaller: n -> map(n).
using Resize = std::function<std::int64_t(std::int64_t)>;

// Where to take `size` bytes of a tensor from. A tensor with one value throughout counts as that value, so a
// part of any other tensor must not have one value throughout.
std::size_t begin_of_part(const Tensor& t, std::size_t element, std::size_t size) {
  std::size_t change = element;
  while (change < t.bytes().size && std::memcmp(t.bytes().data, t.bytes().data + change, element) == 0)
    change += element;
  return change < t.bytes().size && change + element > size ? change + element - size : 0;
}

Tensor resized(const Tensor& t, const Resize& resize, const ByValue& by_value) {
  if (is_integer(t.type())) {
    // Maybe a shape: its elements are extents.
    if (t.type() != ElementType::Int64 || t.rank() > 1 || t.count() > 16) return t;
    std::vector<std::int64_t> values;
    for (const std::int64_t v : t.as<std::int64_t>()) values.push_back(v > 0 ? resize(v) : v);
    return Tensor::of(t.type(), t.extents(), values);
  }
  // A tensor with one value throughout has it at any size.
  const bool is_kept = t.is_uniform() ? t.count() <= by_value.elements : by_value.takes(t);
  if (!is_float(t.type()) || is_kept) return t;
  Extents extents;
  for (const std::int64_t e : t.extents()) extents.push_back(resize(e));
  if (extents == t.extents()) return t;
  // A part of the old bytes: content distinguishes constants, as before.
  const auto size = byte_size(t.type(), extents);
  if (!size || *size > t.bytes().size) return t;
  const std::size_t element = t.bytes().size / static_cast<std::size_t>(t.count());
  return {t.type(), extents, Bytes::copy_of(t.bytes().data + begin_of_part(t, element, *size), *size)};
}

// Axes before `first_axis` of the inputs stay as they are.
Graph resized(const Graph& graph, const Resize& resize, Resized what, const ByValue& by_value,
              std::size_t first_axis) {
  return with_changed_nodes(graph, [&](Node& node) {
    if (node.kind == NodeKind::Input && node.declared.shape)
      for (std::size_t d = first_axis; d < node.declared.shape->size(); ++d)
        if (auto& dim = (*node.declared.shape)[d]; dim && dim->is_concrete())
          dim = Dim(resize(dim->concrete()));
    if (what == Resized::Inputs) return;
    if (node.kind == NodeKind::Initializer) node.tensor = resized(node.tensor, resize, by_value);
    if (!is_constant_node(node)) return;
    if (const auto* list = node.attributes.find_as<std::vector<std::int64_t>>("value_ints")) {
      std::vector<std::int64_t> values;
      for (const std::int64_t v : *list) values.push_back(v > 0 ? resize(v) : v);
      node.attributes.set("value_ints", values);
    } else if (const auto* tensor = node.attributes.find_as<Tensor>("value")) {
      node.attributes.set("value", resized(*tensor, resize, by_value));
    }
  });
}

// Every number for which `resized` looks up a rule.
void add_numbers(const Graph& graph, std::set<std::int64_t>& numbers) {
  const Resize note = [&](std::int64_t n) {
    numbers.insert(n);
    return n;
  };
  (void)resized(graph, note, Resized::All, ByValue{.elements = 0}, 0);
}

std::set<std::int64_t> extents_of(const Graph& graph) {
  std::set<std::int64_t> out;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::Input && node.declared.shape)
      for (const auto& dim : *node.declared.shape)
        if (dim && dim->is_concrete()) out.insert(dim->concrete());
    if (node.kind == NodeKind::Initializer && is_float(node.tensor.type()))
      out.insert(node.tensor.extents().begin(), node.tensor.extents().end());
  }
  return out;
}

bool same_output_shapes(const Instance& i) {
  if (i.a.outputs().size() != i.b.outputs().size()) return false;
  for (std::size_t k = 0; k < i.a.outputs().size(); ++k) {
    const auto &x = i.a_info.of(i.a.outputs()[k]).shape, &y = i.b_info.of(i.b.outputs()[k]).shape;
    if (!x || !y || !is_concrete(*x) || *x != *y) return false;
    for (const Dim& d : *x)
      if (d.concrete() < 1) return false;
  }
  return true;
}

}  // namespace

std::optional<double> operations(const Graph& graph, const Inference& inference) {
  double total = 0;
  for (const NodeId id : graph.order()) {
    if (graph.node(id).kind != NodeKind::Operator || known_constant(graph, {id, 0})) continue;
    if (inference.opaque.contains(id)) continue;
    const Definition definition = define_node(graph, inference, id);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr) continue;
    const Cost c = cost(*formula);
    if (!c.operations.is_concrete() || !c.bytes.is_concrete()) return std::nullopt;
    total += static_cast<double>(c.operations.concrete()) + static_cast<double>(c.bytes.concrete()) / 4;
  }
  return total;
}

std::optional<Instance> shrunk(const Graph& a, const Graph& b, Resized allowed, double most,
                               const ByValue& by_value) {
  auto a_info = infer(a), b_info = infer(b);
  if (!a_info.ok() || !b_info.ok()) return std::nullopt;
  Instance now{a, b, std::move(*a_info), std::move(*b_info)};
  if (!same_output_shapes(now)) return std::nullopt;
  const auto price = [](const Instance& i) -> std::optional<double> {
    const auto x = operations(i.a, i.a_info), y = operations(i.b, i.b_info);
    if (!x || !y) return std::nullopt;
    return *x + *y;
  };
  auto now_price = price(now);
  if (!now_price) return std::nullopt;
  const std::size_t opaque = now.a_info.opaque.size() + now.b_info.opaque.size();
  const auto attempt = [&](const Resize& rule, Resized what, std::size_t first_axis = 0) {
    bool changes = false;
    const Resize resize = [&](std::int64_t n) {
      changes = changes || rule(n) != n;
      return rule(n);
    };
    Instance next{resized(now.a, resize, what, by_value, first_axis),
                  resized(now.b, resize, what, by_value, first_axis),
                  {},
                  {},
                  true};
    if (!changes) return false;
    auto x = infer(next.a), y = infer(next.b);
    if (!x.ok() || !y.ok()) return false;
    next.a_info = std::move(*x);
    next.b_info = std::move(*y);
    if (next.a_info.opaque.size() + next.b_info.opaque.size() != opaque || !same_output_shapes(next))
      return false;
    const auto next_price = price(next);
    if (!next_price || *next_price >= 0.9 * *now_price) return false;
    now = std::move(next);
    now_price = next_price;
    return true;
  };
  std::set<std::int64_t> extents = extents_of(a);
  extents.merge(extents_of(b));
  // Their large prime factors first: 116 = 4 · 29 may have been cut into 2 · 58.
  std::set<std::int64_t> primes;
  for (const std::int64_t e : extents) {
    std::int64_t rest = e;
    for (std::int64_t p = 2; p * p <= rest; ++p)
      while (rest % p == 0) {
        if (p >= 5) primes.insert(p);
        rest /= p;
      }
    if (rest >= 5) primes.insert(rest);
  }
  std::vector<std::int64_t> order(primes.rbegin(), primes.rend());
  for (const std::int64_t e : std::views::reverse(extents))
    if (!primes.contains(e)) order.push_back(e);
  for (const std::int64_t m : order) {
    if (*now_price <= most) break;
    if (m < 5) continue;
    std::set<std::int64_t> numbers;
    add_numbers(now.a, numbers);
    add_numbers(now.b, numbers);
    // Rules that are one for all numbers of the programs have one answer.
    const auto are_same = [&](const Resize& x, const Resize& y) {
      return std::ranges::all_of(numbers, [&](std::int64_t n) { return x(n) == y(n); });
    };
    bool done = false;
    for (const std::int64_t t : {3, 2, 4, 5, 6, 7, 8, 12, 16, 24}) {
      if (done || t >= m) break;
      const Resize same = [&](std::int64_t n) { return n == m ? t : n; };
      const Resize alike = [&](std::int64_t n) { return n % m == 0 ? n / m * t : n; };
      // As often as the factor divides the extent: 64 · 64 kernels in a row.
      const Resize power = [&](std::int64_t n) {
        std::int64_t times = 1;
        for (; n > 0 && n % m == 0; n /= m) times *= t;
        return n * times;
      };
      const bool is_same = are_same(same, alike), is_power = are_same(power, alike);
      done = (allowed == Resized::All &&
              (attempt(alike, Resized::All) || (!is_same && attempt(same, Resized::All)) ||
               (!is_power && attempt(power, Resized::All)))) ||
             attempt(alike, Resized::Inputs) || (!is_same && attempt(same, Resized::Inputs)) ||
             // Channels and pixels have the same number: the image alone may still be made smaller.
             attempt(same, Resized::Inputs, 2);
    }
  }
  return now;
}

std::set<std::string> symbols_of(const Graph& graph) {
  std::set<std::string> out;
  for (const Value& v : graph.inputs()) {
    const auto& shape = graph.node(v.node).declared.shape;
    if (!shape) continue;
    for (const auto& dim : *shape)
      if (dim)
        for (const std::string& s : dim->symbols()) out.insert(s);
  }
  return out;
}

namespace {

Dim::Assignment lookup(const Sizes& sizes) {
  return [&sizes](std::string_view name) -> std::optional<std::int64_t> {
    const auto at = sizes.find(name);
    return at == sizes.end() ? std::nullopt : std::optional(at->second);
  };
}

}  // namespace

std::vector<Sizes> small_sizes(const std::set<std::string>& symbols, const Dims& preconditions,
                               std::uint64_t key, std::size_t most, std::span<const std::int64_t, 7> of) {
  std::vector<Sizes> out;
  for (std::uint64_t round = 0; round < 50 * most && out.size() < most; ++round) {
    Sizes sizes;
    std::uint64_t i = 0;
    // Distinct ones first; then anything.
    for (const std::string& s : symbols)
      sizes[s] = of[round == 0 ? i++ % 4 : mix(key + 131 * round + i++) % of.size()];
    const bool holds = std::ranges::all_of(preconditions, [&](const Dim& d) {
      const auto value = d.evaluate(lookup(sizes));
      return value && *value >= 0;
    });
    if (holds && std::ranges::find(out, sizes) == out.end()) out.push_back(std::move(sizes));
  }
  return out;
}

Graph at_sizes(const Graph& graph, const Sizes& sizes) {
  return with_symbols_replaced(graph, [&](std::string_view name) {
    const auto at = sizes.find(name);
    return at == sizes.end() ? Dim::symbol(name) : Dim(at->second);
  });
}

Graph with_symbols_replaced(const Graph& graph, const Dim::Substitution& substitution) {
  return with_changed_nodes(graph, [&](Node& node) {
    if (node.kind == NodeKind::Operator || !node.declared.shape) return;
    for (auto& dim : *node.declared.shape)
      if (dim) dim = dim->substitute(substitution);
  });
}

Graph with_input_shape(const Graph& graph, const std::string& input, const Extents& shape) {
  return with_changed_nodes(graph, [&](Node& node) {
    if (node.kind != NodeKind::Input || node.outputs[0] != input) return;
    node.declared.shape = std::vector<std::optional<Dim>>(shape.begin(), shape.end());
  });
}

}  // namespace isomer
