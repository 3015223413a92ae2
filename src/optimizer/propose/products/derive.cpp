#include "optimizer/propose/products/derive.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kernel/prove/step.h"
#include "model/expr/parts.h"
#include "optimizer/facts/convolution.h"
#include "optimizer/facts/copied_nodes.h"
#include "optimizer/facts/price.h"
#include "optimizer/propose/collapse/collapse.h"
#include "optimizer/propose/products/linear.h"

namespace isomer {
namespace {

constexpr const char* kKind = "derive";
// Slices of one value: a kernel of 5 by 5 at most.
constexpr std::int64_t kMostSlices = 25;

// ---- forms, changed

using Numbers = std::map<int, std::int64_t>;

LinearTerm at_numbers(LinearTerm term, const Numbers& numbers) {
  const auto known = [&](const Axis& a) { return numbers.contains(a.id); };
  for (LinearFactor& f : term.factors)
    for (Index& i : f.at)
      i = i.substitute([&](const Axis& a) { return known(a) ? Index(numbers.at(a.id)) : Index(a); });
  std::erase_if(term.summed, known);
  return term;
}

// Every choice of numbers for these axes, in order; nothing where there are too many.
std::vector<Numbers> choices(const std::vector<Axis>& axes) {
  std::vector<Numbers> out{{}};
  for (const Axis& a : axes) {
    const auto extent = a.extent.value();
    if (!extent || static_cast<std::int64_t>(out.size()) * *extent > kMostSlices) return {};
    std::vector<Numbers> next;
    for (const Numbers& some : out)
      for (std::int64_t k = 0; k < *extent; ++k) {
        next.push_back(some);
        next.back()[a.id] = k;
      }
    out = std::move(next);
  }
  return out;
}

// The factor that looks at a window, and the summed indices that it does it with.
struct Window {
  std::size_t factor;
  std::vector<Axis> axes;
};
std::optional<Window> window_of(const Site& site, const LinearTerm& term) {
  // Whether positions along one axis meet; the other axes stay where they begin.
  const auto meets = [&](const LinearFactor& factor, std::size_t d) {
    LinearFactor alone{.value = factor.value, .at = std::vector<Index>(factor.at.size(), Index(0))};
    alone.at[d] = factor.at[d];
    return !labelled(site, alone);
  };
  for (std::size_t k = 0; k < term.factors.size(); ++k) {
    const LinearFactor& factor = term.factors[k];
    Window out{.factor = k, .axes = {}};
    for (std::size_t d = 0; d < factor.at.size(); ++d)
      if (factor.at[d].axes().size() > 1 && meets(factor, d))
        std::ranges::copy_if(term.summed, std::back_inserter(out.axes),
                             [&](const Axis& a) { return factor.at[d].mentions(a); });
    if (!out.axes.empty()) return out;
  }
  return std::nullopt;
}

// The sum over windows pulled apart: one term for each of their positions. nullopt: there is no window.
std::optional<LinearForm> pulled_apart(const Site& site, const LinearForm& form) {
  LinearForm out = form;
  out.terms.clear();
  for (const LinearTerm& term : form.terms) {
    const auto window = window_of(site, term);
    if (!window) {
      out.terms.push_back(term);
      continue;
    }
    const auto all = choices(window->axes);
    if (all.empty()) return std::nullopt;
    for (const Numbers& numbers : all) out.terms.push_back(at_numbers(term, numbers));
  }
  return out.terms.size() > form.terms.size() ? std::optional(std::move(out)) : std::nullopt;
}

// ---- the node by itself

// A convolution, with what it adds around its input as a node before it.
Graph alone(const Site& site, const Convolution& c) {
  ProgramBuilder b(site.graph, site.name({c.id, 0}));
  Value x = b.input(site.name(c.x));
  Convolution plain = c;
  plain.pads.assign(c.pads.size(), 0);
  if (c.pads != plain.pads) {
    const std::size_t d = c.kernel.size();
    std::vector<std::int64_t> pads(2 * (d + 2), 0);
    for (std::size_t k = 0; k < d; ++k) {
      pads[k + 2] = c.pads[k];
      pads[d + 4 + k] = c.pads[d + k];
    }
    x = b.op("Pad", {x, b.integers(pads)});
  }
  std::vector<Value> inputs{x, b.input(site.name(c.weights))};
  if (c.bias.exists()) inputs.push_back(b.input(site.name(c.bias)));
  b.output(b.op("Conv", inputs, attributes_of(plain)));
  return with_constants(site, b.graph());
}

// ---- all slices of a window as one value

// Of a form whose one window is in this term: the graph that makes the value, and the form that reads it.
class Stack {
 public:
  Stack(const Site& outer, const Site& site, const LinearForm& form)
      : outer_(outer), site_(site), form_(form), b_(outer.graph, site.name(site.graph.outputs()[0])) {}

  // False: there is no window, or more than one, or too many slices.
  bool make() {
    std::optional<Window> window;
    std::size_t at = 0;
    for (std::size_t k = 0; k < form_.terms.size(); ++k) {
      auto next = window_of(site_, form_.terms[k]);
      if (!next) continue;
      if (window) return false;
      window = std::move(next);
      at = k;
    }
    if (!window) return false;
    const LinearFactor seen = form_.terms[at].factors[window->factor];
    const auto slices = slices_of(seen, window->axes);
    if (!slices) return false;
    const Value all = append_program(b_, outer_, site_.graph, *slices);
    for (LinearTerm& t : form_.terms)
      for (LinearFactor& f : t.factors)
        if (!(f.value == seen.value)) f.value = b_.input(site_.name(f.value));
    form_.terms[at].factors[window->factor] = {all, to_indices(axes_)};
    b_.output(all);
    graph_ = with_constants(outer_, b_.graph());
    std::map<std::string, Value> names;
    for (const NodeId id : graph_.order()) names.emplace(graph_.node(id).outputs[0], Value{id, 0});
    for (LinearTerm& t : form_.terms)
      for (LinearFactor& f : t.factors) f.value = names.at(b_.name_of(f.value));
    return true;
  }
  const Graph& graph() const { return graph_; }
  const LinearForm& form() const { return form_; }

 private:
  // One beside the other: the axes that the factor has beside the window's, then those.
  std::optional<Graph> slices_of(const LinearFactor& factor, const std::vector<Axis>& window) {
    const auto all = choices(window);
    if (all.empty()) return std::nullopt;
    for (const Index& i : factor.at)
      for (const Axis& a : i.axes())
        if (std::ranges::find(window, a) == window.end() && std::ranges::find(axes_, a) == axes_.end())
          axes_.push_back(a);
    const auto rank = static_cast<std::int64_t>(axes_.size());
    ProgramBuilder b(site_.graph, site_.name(site_.graph.outputs()[0]));
    std::vector<Value> slices;
    for (const Numbers& numbers : all) {
      LinearForm slice{.axes = {}, .terms = {{.factors = {factor}}}, .next_axis = form_.next_axis};
      for (const Axis& a : axes_) slice.axes.push_back({a});
      slice.terms[0] = at_numbers(slice.terms[0], numbers);
      const auto value = write_linear(site_, slice, b, false);
      if (!value) return std::nullopt;
      slices.push_back(b.unsqueeze(*value, {rank}));
    }
    Dims shape;
    for (const Axis& a : axes_) shape.push_back(a.extent);
    Dims flat = shape;
    flat.emplace_back(static_cast<std::int64_t>(all.size()));
    for (const Axis& a : window) {
      shape.push_back(a.extent);
      axes_.push_back(a);
    }
    const auto apart = b.reshape(b.concat(slices, rank), flat, shape);
    if (!apart) return std::nullopt;
    b.output(*apart);
    return b.graph();
  }

  const Site &outer_, &site_;
  LinearForm form_;
  ProgramBuilder b_;
  Graph graph_;
  std::vector<Axis> axes_;  // of the value
};

// ---- proposals

class Derivation {
 public:
  Derivation(const Site& site, const ProposeOptions& options, Proposals& out)
      : site_(site), options_(options), out_(out) {}

  void add_windows(NodeId id) {
    const auto graph_of = [&]() -> std::optional<Graph> {
      if (const auto c = convolution_at(site_, id)) return alone(site_, *c);
      const auto region = region_of(site_.graph, site_.inference, site_.activations(id), {{id, 0}});
      return region.ok() ? std::optional(*region) : std::nullopt;
    };
    if (!sums_one_activation(id)) return;
    const auto own = graph_of();
    if (!own) return;
    const Graph& graph = *own;
    const auto inference = infer(graph);
    if (!inference.ok()) return;
    const Site inner(graph, *inference, site_.machine);
    const Value y = graph.outputs()[0];
    const auto itself = linear_form(inner, y);
    const auto form = itself ? expanded(inner, *itself, y, Windows::Kept) : std::nullopt;
    if (!form) return;
    if (const auto apart = pulled_apart(inner, *form))
      for (const bool is_image : {true, false})
        add(id, inner, *apart, is_image, fmt::format("as products of {} slices", apart->terms.size()));
    Stack stack(site_, inner, *form);
    if (!stack.make()) return;
    const auto known = infer(stack.graph());
    if (known.ok())
      add(id, Site(stack.graph(), *known, site_.machine), stack.form(), false,
          "as one product of all its slices");
  }

  // The node as a region by itself.
  void add_restated(NodeId id) {
    if (!sums_one_activation(id)) return;
    const auto formula = site_.formula(id);
    const Node& node = site_.node(id);
    const Value x = site_.activations(id)[0];
    const auto input = static_cast<int>(std::ranges::find(node.inputs, x) - node.inputs.begin());
    const Linearity how = linearity(*formula, 0, input);
    if (how != Linearity::Linear && how != Linearity::Affine) return;
    const LinearRegion region{
        .nodes = {id}, .input = x, .output = {id, 0}, .affine = how == Linearity::Affine};
    std::string why;
    for (Collapsed& c : collapse_region(site_, region, true, why)) {
      const Graph& after = c.proposal.claim.after;
      if (after.node(after.outputs()[0].node).op == node.op) continue;
      c.proposal.kind = kKind;
      c.proposal.what = fmt::format("{} restated: {}", label(node), c.proposal.what);
      keep(id, std::move(c.proposal));
    }
  }

 private:
  bool sums_one_activation(NodeId id) const {
    const auto formula = site_.is_constant({id, 0}) ? std::nullopt : site_.formula(id);
    return formula && has_reductions(*formula) && site_.activations(id).size() == 1;
  }

  void add(NodeId id, const Site& inner, const LinearForm& form, bool is_image, const std::string& how) {
    ProgramBuilder written(inner.graph, inner.name(inner.graph.outputs()[0]));
    const auto y = write_linear(inner, form, written, is_image);
    if (!y) return;
    written.output(*y);
    ProgramBuilder b(site_.graph, site_.name({id, 0}));
    const Value value = append_program(b, site_, inner.graph, written.graph());
    auto made =
        propose(site_, kKind, fmt::format("{} {}", label(site_.node(id)), how), b, {{id, 0}}, {value});
    if (made) keep(id, std::move(*made));
  }

  // What costs more than twice as much is no bet any more.
  void keep(NodeId id, Proposal proposal) {
    const double now = price_of(site_.graph, site_.inference, id, site_.machine).value_or(0);
    if (options_.any_price || proposal.gain > -now) out_.list.push_back(std::move(proposal));
    else out_.declined.push_back(proposal.what + ": it would cost more than twice as much");
  }

  const Site& site_;
  const ProposeOptions& options_;
  Proposals& out_;
};

}  // namespace

Proposals propose_derive(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  if (graph.opset("") < 11) return out;
  const Site site(graph, inference, *options.machine);
  Derivation derivation(site, options, out);
  for (const NodeId id : graph.order()) {
    if (site.node(id).kind != NodeKind::Operator) continue;
    derivation.add_windows(id);
    derivation.add_restated(id);
  }
  return out;
}

}  // namespace isomer
