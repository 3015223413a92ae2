// needed: computes only the positions that are read (optimizer/facts/needed_positions.h).
//
// A region consists of nodes connected by values of which not all is needed. It is rewritten with less:
// slices of its inputs, windows with their pads where they touch the border, weights without unread columns.
// Nothing is computed twice, as no reader needs the rest. A node at the region's beginning stays as it is if
// it saves less than the slices before it cost.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ranges>
#include <unordered_set>

#include "optimizer/facts/needed_positions.h"
#include "optimizer/facts/price.h"
#include "optimizer/facts/site.h"
#include "optimizer/propose/positions/chosen_elements.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

// Limits for one claim, which takes the last nodes; the others are for the next round. For a look-up by
// computed indices every function is compared at all positions that it may select, which multiplies the work.
constexpr std::size_t kMostNodes = 64, kMostLookedUp = 8;

using Integers = std::vector<std::int64_t>;

// A part of a part: the places in one list of positions of another.
std::optional<Integers> places_in(const std::optional<Integers>& all, const Integers& some) {
  if (!all) return some;
  Integers out;
  for (const std::int64_t p : some) {
    const auto at = std::ranges::lower_bound(*all, p);
    if (at == all->end() || *at != p) return std::nullopt;
    out.push_back(at - all->begin());
  }
  return out;
}

// Strides and pads of a window along one axis, where its input and output are cut.
struct Fitted {
  std::int64_t stride = 1, dilation = 1, before = 0, after = 0;
  std::int64_t added = 0;  // positions of a transposed window's output that no input meets
};
std::optional<Fitted> fitted_transposed(const WindowAxis& w, const Progression& made,
                                        const Progression& read) {
  if (made.step != 1 || read.step != 1) return std::nullopt;
  Fitted f{.stride = w.stride, .dilation = w.dilation, .before = w.pad + made.first - w.stride * read.first};
  f.after = w.stride * (read.count - 1) + w.dilation * (w.kernel - 1) + 1 - f.before - made.count;
  if (f.after < 0) f.added = -f.after;
  f.after = std::max<std::int64_t>(f.after, 0);
  if (f.before < 0 || f.added >= std::max(w.stride, w.dilation)) return std::nullopt;
  return f;
}
std::optional<Fitted> fitted(const WindowAxis& w, const Positions& made, const Positions& read) {
  const auto out = made.is_whole() ? Progression{.count = w.output} : made.progression();
  const auto in = read.is_whole() ? Progression{.count = w.input} : read.progression();
  if (!out || !in) return std::nullopt;
  if (w.is_transposed) return fitted_transposed(w, *out, *in);
  const std::int64_t stride = w.stride * out->step, low = w.stride * out->first - w.pad;
  std::int64_t unit = in->step;
  if (in->count == 1) unit = w.kernel > 1 ? w.dilation : stride;
  if ((out->count > 1 && stride % unit != 0) || (w.kernel > 1 && w.dilation % unit != 0) ||
      (in->first - low) % unit != 0 || in->first < low)
    return std::nullopt;
  Fitted f{.before = (in->first - low) / unit};
  if (out->count > 1) f.stride = stride / unit;
  if (w.kernel > 1) f.dilation = w.dilation / unit;
  f.after = (out->count - 1) * f.stride + (w.kernel - 1) * f.dilation + 1 - f.before - in->count;
  if (f.after < 0 && -f.after >= f.stride) return std::nullopt;  // it would make more
  f.after = std::max<std::int64_t>(f.after, 0);
  return f;
}

// The program of a region.
class RegionWriter {
 public:
  RegionWriter(const Site& site, const NeededPositions& fact, ProgramBuilder& builder)
      : site_(site), fact_(fact), b_(builder) {}

  // The node's outputs, as many of their positions as are needed. False: it cannot be written.
  bool add(NodeId id) {
    const NodeCut& cut = *fact_.cut(id);
    switch (cut.kind) {
      case NodeCut::Kind::Copy: return keep(id, cut, copy(id, cut));
      case NodeCut::Kind::Select: return select(id, cut);
      case NodeCut::Kind::Gather: return keep(id, cut, gather(id, cut));
      case NodeCut::Kind::GatherNd: return keep(id, cut, gather_nd(id, cut));
      case NodeCut::Kind::Pad: return keep(id, cut, pad(id, cut));
      case NodeCut::Kind::Concat: return keep(id, cut, concat(id, cut));
      case NodeCut::Kind::Reshape: return keep(id, cut, reshape(id, cut));
    }
    return false;
  }

  Value made(Value v) const { return made_.at(v).value; }

 private:
  struct Made {
    Value value;
    Needs has;
  };

  bool keep(NodeId id, const NodeCut& cut, std::optional<Value> value) {
    if (value) made_.emplace(Value{id, 0}, Made{*value, *cut.outputs[0]});
    return value.has_value();
  }

  const Dims& shape(Value v) const { return *site_.inference.of(v).shape; }
  Dims shape(Value v, const Needs& needs) const { return extents_of(shape(v), needs, fact_.selections()); }

  // The part of a value that the region has.
  Needs has(Value v) const {
    const auto at = made_.find(v);
    return at == made_.end() ? Needs(site_.rank(v)) : at->second.has;
  }

  bool has_steps() const { return site_.graph.opset("") >= 10; }  // of slices

  Value slice(Value from, const Integers& starts, const Integers& ends, const Integers& axes,
              const Integers& steps) {
    if (!has_steps())
      return b_.op("Slice", {from}, with({{"starts", starts}, {"ends", ends}, {"axes", axes}}));
    std::vector<Value> inputs{from, b_.integers(starts), b_.integers(ends), b_.integers(axes)};
    if (std::ranges::any_of(steps, [](std::int64_t s) { return s != 1; }))
      inputs.push_back(b_.integers(steps));
    return b_.op("Slice", inputs);
  }

  // The part of a value that a selection of its first axes leaves; with one axis: of any axis.
  std::optional<Value> chosen(Value from, const Dims& extents, const Choice& s, std::int64_t axis) {
    if (s.kind == Choice::Kind::Slice) return slice(from, {s.start}, {s.end}, {axis}, {s.step});
    const auto known = site_.integers(s.indices);
    const bool is_listed = known && s.kind == Choice::Kind::Gather && s.column < 0;
    Value indices = is_listed ? b_.integers(*known) : b_.input(site_.name(s.indices));
    const std::size_t rank = site_.rank(s.indices);
    Integers ones;  // axes of which one position is left
    for (std::size_t d = 1; d < s.axes(); ++d) ones.push_back(static_cast<std::int64_t>(d));
    if (s.kind == Choice::Kind::GatherNd) {
      if (s.batch == 0 && rank != 2) indices = b_.reshape(indices, {-1, static_cast<std::int64_t>(s.axes())});
      if (s.batch == 1 && rank == 3) ones.clear();
      const auto attributes = s.batch == 0 ? Attributes() : with({{"batch_dims", s.batch}});
      from = b_.op("GatherND", {from, indices}, attributes);
      return ones.empty() ? from : b_.unsqueeze(from, ones);
    }
    if (s.column >= 0)
      indices = b_.slice(indices, static_cast<std::int64_t>(rank) - 1, s.column, s.column + 1);
    if (!is_listed && rank != 1) indices = b_.reshape(indices, {-1});
    if (s.axes() > 1) {
      const auto rest = concrete({extents.begin() + static_cast<std::ptrdiff_t>(s.axes()), extents.end()});
      if (!rest) return std::nullopt;
      from = b_.reshape(from, joined({-1}, *rest));
    }
    from = b_.op("Gather", {from, indices}, with({{"axis", axis}}));
    return ones.empty() ? from : b_.unsqueeze(from, ones);
  }

  // These positions of a value.
  std::optional<Value> part(Value v, const Needs& wanted) {
    if (!v.exists()) return v;
    const auto key = std::pair(v, wanted);
    if (const auto at = parts_.find(key); at != parts_.end()) return at->second;
    const auto at = made_.find(v);
    const Needs all = has(v);
    Value out = at == made_.end() ? b_.input(site_.name(v)) : at->second.value;
    Integers starts, ends, axes, steps;
    std::vector<std::pair<std::int64_t, Integers>> lists;
    for (std::size_t d = 0; d < wanted.size(); ++d) {
      if (wanted[d] == all[d]) continue;
      const auto axis = static_cast<std::int64_t>(d);
      if (wanted[d].selection() >= 0 && all[d].is_whole()) {
        const Choice& s = fact_.selections().at(wanted[d].selection());
        const bool leads = s.axes() > 1 || s.kind == Choice::Kind::GatherNd;
        if (leads && wanted[d].place() != axis) return std::nullopt;
        if (wanted[d].place() > 0) continue;
        const auto some = chosen(out, shape(v, all), s, axis);
        if (!some) return std::nullopt;
        out = *some;
        continue;
      }
      if (!wanted[d].list()) return std::nullopt;
      auto places = places_in(all[d].list(), *wanted[d].list());
      if (!places) return std::nullopt;
      const auto steps_of = as_progression(*places);
      if (steps_of && (steps_of->step == 1 || has_steps())) {
        starts.push_back(steps_of->first);
        ends.push_back(steps_of->last() + 1);
        axes.push_back(axis);
        steps.push_back(steps_of->step);
      } else {
        lists.emplace_back(axis, std::move(*places));
      }
    }
    if (!axes.empty()) out = slice(out, starts, ends, axes, steps);
    for (const auto& [axis, places] : lists)
      out = b_.op("Gather", {out, b_.integers(places)}, with({{"axis", axis}}));
    parts_.emplace(key, out);
    return out;
  }

  std::optional<std::vector<Value>> parts(NodeId id, const std::vector<std::optional<Needs>>& wanted) {
    std::vector<Value> out;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const auto value = part(site_.node(id).inputs[k], *wanted[k]);
      if (!value) return std::nullopt;
      out.push_back(*value);
    }
    return out;
  }

  std::optional<Value> copy(NodeId id, const NodeCut& cut) {
    Node node = site_.node(id);
    const Needs& made = *cut.outputs[0];
    auto wanted = cut.inputs;
    if (!cut.windows.empty() && !fit_windows(node, cut, *wanted[0])) return std::nullopt;
    // For single channels: the number of remaining groups.
    if (site_.is(id, "Conv") && !made[1].is_whole() && !(*wanted[0])[1].is_whole())
      node.attributes.set("group", shape({id, 0}, made)[1].concrete());
    auto inputs = parts(id, wanted);
    if (!inputs) return std::nullopt;
    if (is_pool_of_nothing(node, cut)) return (*inputs)[0];
    if (site_.is(id, "Expand") && !give_shape(id, made, (*inputs)[1])) return std::nullopt;
    if (site_.is(id, "Resize") && inputs->size() > 3 && (*inputs)[3].exists() &&
        !give_shape(id, made, (*inputs)[3]))
      return std::nullopt;
    return b_.copy(std::move(node), *inputs);
  }

  // A pool of one position that only had strides.
  static bool is_pool_of_nothing(const Node& node, const NodeCut& cut) {
    const auto is_one = [](std::int64_t n) { return n == 1; };
    return (node.op == "MaxPool" || node.op == "AveragePool") && !cut.windows.empty() &&
           std::ranges::all_of(cut.windows | std::views::drop(2),
                               [](const auto& w) { return w && w->kernel == 1; }) &&
           std::ranges::all_of(attribute(node, "strides", Integers{}), is_one) &&
           std::ranges::none_of(attribute(node, "pads", Integers{}), [](std::int64_t n) { return n != 0; });
  }

  // A vector of extents with those of the needed part.
  bool give_shape(NodeId id, const Needs& made, Value& extents) {
    const Dims now = shape({id, 0}, made);
    if (const auto numbers = concrete(now)) {
      extents = b_.integers(*numbers);
      return true;
    }
    std::vector<Value> pieces;
    std::int64_t open = 0;
    for (std::size_t d = 0; d < now.size(); ++d) {
      const auto axis = static_cast<std::int64_t>(d);
      if (made[d].is_whole()) continue;
      if (!now[d].is_concrete()) return false;
      if (open < axis) pieces.push_back(b_.slice(extents, 0, open, axis));
      pieces.push_back(b_.integers({now[d].concrete()}));
      open = axis + 1;
    }
    const auto rank = static_cast<std::int64_t>(now.size());
    if (open < rank) pieces.push_back(b_.slice(extents, 0, open, rank));
    extents = b_.concat(pieces, 0);
    return true;
  }

  // Strides, dilations and pads; what is there of the input is read as it is where a window can.
  bool fit_windows(Node& node, const NodeCut& cut, Needs& wanted) {
    const std::size_t d = cut.windows.size() - 2;
    const Needs there = has(node.inputs[0]);
    bool stays = true;
    for (std::size_t a = 2; a < wanted.size(); ++a)
      stays = stays && (*cut.outputs[0])[a].is_whole() && wanted[a].is_whole();
    if (stays) return true;
    auto strides = attribute(node, "strides", Integers(d, 1)),
         pads = attribute(node, "pads", Integers(2 * d, 0)),
         dilations = attribute(node, "dilations", Integers(d, 1));
    const bool has_pads = attribute(node, "auto_pad", std::string("NOTSET")) == "NOTSET" &&
                          attribute(node, "ceil_mode", std::int64_t{0}) == 0;
    auto added = attribute(node, "output_padding", Integers(d, 0));
    bool changes = false, is_transposed = false;
    for (std::size_t i = 0; i < d; ++i) {
      const auto& w = cut.windows[i + 2];
      const Positions& made = (*cut.outputs[0])[i + 2];
      if (i + 2 < cut.pads.size() && cut.pads[i + 2]) {
        pads[i] = cut.pads[i + 2]->first;
        pads[d + i] = cut.pads[i + 2]->second;
        continue;
      }
      if (!w || made.selection() >= 0) {  // as it is: the window is one position
        if (!has_pads) return false;
        continue;
      }
      auto fit = w->is_transposed ? std::nullopt : fitted(*w, made, there[i + 2]);
      if (fit) wanted[i + 2] = there[i + 2];
      else fit = fitted(*w, made, wanted[i + 2]);
      if (!fit) return false;
      changes = changes || fit->dilation != w->dilation;
      strides[i] = fit->stride;
      dilations[i] = fit->dilation;
      pads[i] = fit->before;
      pads[d + i] = fit->after;
      added[i] = fit->added;
      is_transposed = w->is_transposed;
    }
    node.attributes.set("strides", strides);
    node.attributes.set("pads", pads);
    if (changes) node.attributes.set("dilations", dilations);
    if (is_transposed) node.attributes.set("output_padding", added);
    if (!has_pads) {
      node.attributes.set("auto_pad", std::string("NOTSET"));
      if (node.op != "Conv" && node.op != "ConvInteger") node.attributes.set("ceil_mode", std::int64_t{0});
    }
    return true;
  }

  bool select(NodeId id, const NodeCut& cut) {
    const Node& node = site_.node(id);
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      if (!cut.outputs[k]) continue;
      auto value = part(node.inputs[0], cut.parts[k]);
      if (!value) return false;
      if (!cut.dropped.empty()) value = b_.squeeze(*value, cut.dropped);
      made_.emplace(Value{id, k}, Made{*value, *cut.outputs[k]});
    }
    return true;
  }

  std::optional<Value> gather(NodeId id, const NodeCut& cut) {
    const Node& node = site_.node(id);
    const auto data = part(node.inputs[0], *cut.inputs[0]);
    if (!data) return std::nullopt;
    if (!cut.dropped.empty()) return b_.squeeze(*data, cut.dropped);
    const std::size_t rank = site_.rank(node.inputs[1]);
    std::int64_t axis = attribute(node, "axis", std::int64_t{0});
    if (axis < 0) axis += static_cast<std::int64_t>(site_.rank(node.inputs[0]));
    const Positions& chosen = (*cut.inputs[0])[static_cast<std::size_t>(axis)];
    if (chosen.selection() >= 0)
      return rank == 1
                 ? data
                 : b_.reshape(*data, shape(node.inputs[0], *cut.inputs[0]), shape({id, 0}, *cut.outputs[0]));
    const auto places = places_in(chosen.list(), cut.numbers);
    if (!places) return std::nullopt;
    const auto steps = as_progression(*places);
    const Dim all = shape(node.inputs[0], *cut.inputs[0])[static_cast<std::size_t>(axis)];
    if (rank == 1 && steps && steps->first == 0 && steps->step == 1 && all.is(steps->count)) return data;
    Extents extents = rank == 1 ? Extents{static_cast<std::int64_t>(places->size())}
                                : *site_.concrete_sizes(node.inputs[1]);
    const Value indices = b_.constant(Tensor::of(ElementType::Int64, extents, *places));
    return b_.op("Gather", {*data, indices}, with({{"axis", axis}}));
  }

  std::optional<Value> gather_nd(NodeId id, const NodeCut& cut) {
    const Value from = site_.node(id).inputs[0];
    const auto data = part(from, *cut.inputs[0]);
    if (!data) return std::nullopt;
    return b_.reshape(*data, shape(from, *cut.inputs[0]), shape({id, 0}, *cut.outputs[0]));
  }

  std::optional<Value> pad(NodeId id, const NodeCut& cut) {
    Node node = site_.node(id);
    auto inputs = parts(id, cut.inputs);
    if (!inputs) return std::nullopt;
    if (std::ranges::all_of(cut.numbers, [](std::int64_t n) { return n == 0; })) return (*inputs)[0];
    if (site_.graph.opset("") < 11) {
      node.attributes.set("pads", cut.numbers);
    } else {
      inputs->resize(std::min<std::size_t>(inputs->size(), 3));
      (*inputs)[1] = b_.integers(cut.numbers);
    }
    return b_.copy(std::move(node), *inputs);
  }

  std::optional<Value> concat(NodeId id, const NodeCut& cut) {
    std::vector<Value> left;
    for (std::size_t k = 0; k < cut.inputs.size(); ++k) {
      if (!cut.inputs[k]) continue;
      const auto value = part(site_.node(id).inputs[k], *cut.inputs[k]);
      if (!value) return std::nullopt;
      left.push_back(*value);
    }
    return left.size() == 1 ? left[0] : b_.copy(site_.node(id), left);
  }

  std::optional<Value> reshape(NodeId id, const NodeCut& cut) {
    const Node& node = site_.node(id);
    const auto value = part(node.inputs[0], *cut.inputs[0]);
    if (!value) return std::nullopt;
    if (auto out = b_.reshape(*value, shape(node.inputs[0], *cut.inputs[0]), shape({id, 0}, *cut.outputs[0])))
      return out;
    if (!site_.is(id, "Reshape")) return std::nullopt;
    Value target = b_.input(site_.name(node.inputs[1]));
    if (!give_shape(id, *cut.outputs[0], target)) return std::nullopt;
    return b_.copy(node, {*value, target});
  }

  const Site& site_;
  const NeededPositions& fact_;
  ProgramBuilder& b_;
  std::map<Value, Made> made_;
  std::map<std::pair<Value, Needs>, Value> parts_;
};

// Regions of one graph.
class Regions {
 public:
  Regions(const Site& site, const NeededPositions& fact) : site_(site), fact_(fact) {
    for (const NodeId id : site.graph.order()) {
      if (fact.cut(id) == nullptr) continue;
      root_.emplace(id, id);
      for (const Value& v : site.node(id).inputs)
        if (is_inner(v)) root_[find(v.node)] = find(id);
    }
  }

  std::vector<std::vector<NodeId>> all() {
    std::map<NodeId, std::vector<NodeId>> regions;
    for (const NodeId id : site_.graph.order())
      if (root_.contains(id)) regions[find(id)].push_back(id);
    std::vector<std::vector<NodeId>> out;
    for (auto& [root, nodes] : regions) out.push_back(std::move(nodes));
    return out;
  }

 private:
  // Made by a node that can make less.
  bool is_inner(Value v) const { return v.exists() && fact_.is_cut(v) && root_.contains(v.node); }

  NodeId find(NodeId id) {
    while (root_.at(id) != id) id = root_[id] = root_.at(root_.at(id));
    return id;
  }

  const Site& site_;
  const NeededPositions& fact_;
  std::map<NodeId, NodeId> root_;
};

class Region {
 public:
  Region(const Site& site, const NeededPositions& fact, std::vector<NodeId> nodes)
      : site_(site), fact_(fact), nodes_(std::move(nodes)) {
    const std::size_t most = has_look_up() ? kMostLookedUp : kMostNodes;
    if (nodes_.size() > most) nodes_.erase(nodes_.begin(), nodes_.end() - static_cast<std::ptrdiff_t>(most));
    inside_.insert(nodes_.begin(), nodes_.end());
    trim();
  }

  std::optional<Proposal> proposal() const {
    std::vector<Value> replaced;
    std::size_t smaller = 0;
    for (const NodeId id : nodes_)
      for (std::uint32_t k = 0; k < site_.node(id).outputs.size(); ++k) {
        if (!fact_.cut(id)->outputs[k]) continue;
        if (fact_.is_cut({id, k})) ++smaller;
        else replaced.push_back({id, k});
      }
    if (smaller == 0 || replaced.empty()) return std::nullopt;
    ProgramBuilder b(site_.graph, site_.name(replaced.back()));
    RegionWriter writer(site_, fact_, b);
    for (const NodeId id : nodes_)
      if (!writer.add(id)) return std::nullopt;
    std::vector<Value> by;
    for (const Value& v : replaced) {
      Value value = writer.made(v);
      if (std::ranges::find(by, value) != by.end()) value = b.op("Identity", {value});
      by.push_back(value);
    }
    const Value last = replaced.back();
    return propose(site_, "needed",
                   fmt::format("{} nodes before {} compute only what is read", smaller, site_.name(last)), b,
                   replaced, by);
  }

 private:
  bool has_look_up() const {
    const auto is_look_up = [&](const Positions& p) {
      return p.selection() >= 0 && fact_.selections().at(p.selection()).kind != Choice::Kind::Slice;
    };
    return std::ranges::any_of(nodes_, [&](NodeId id) {
      return std::ranges::any_of(fact_.cut(id)->inputs, [&](const auto& needs) {
        return needs && std::ranges::any_of(*needs, is_look_up);
      });
    });
  }

  // Made in the region, with less of it.
  bool is_inner(Value v) const { return v.exists() && fact_.is_cut(v) && inside_.contains(v.node); }

  double elements(const Dims& shape) const {
    return static_cast<double>(typical_size(product(shape), site_.machine).value_or(0));
  }

  double slice_price(Value v, const Needs& wanted) const {
    const Prices& prices = site_.machine.prices;
    return prices.node +
           prices.element * elements(extents_of(*site_.inference.of(v).shape, wanted, fact_.selections()));
  }

  // Whether a node that reads nothing from the region saves less than it takes to cut what it reads.
  bool is_idle(NodeId id) const {
    const NodeCut& cut = *fact_.cut(id);
    double gain = 0;
    bool makes_less = false;
    for (std::uint32_t k = 0; k < cut.outputs.size(); ++k) {
      const Value v{id, k};
      if (!cut.outputs[k] || !fact_.is_cut(v)) continue;
      makes_less = true;
      const double all = elements(*site_.inference.of(v).shape);
      const double some =
          elements(extents_of(*site_.inference.of(v).shape, *cut.outputs[k], fact_.selections()));
      const auto price = price_of(site_.graph, site_.inference, id, site_.machine);
      if (all > 0 && price) gain += (*price - site_.machine.prices.node) * (1 - some / all);
      gain += slice_price(v, *cut.outputs[k]);
    }
    if (!makes_less) return true;
    const Node& node = site_.node(id);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const Value v = node.inputs[k];
      if (!v.exists() || site_.is_constant(v) || !cut.inputs[k] || !is_cut(*cut.inputs[k])) continue;
      const auto shared =
          std::ranges::count_if(site_.readers(v), [&](NodeId r) { return inside_.contains(r); });
      gain -= slice_price(v, *cut.inputs[k]) / static_cast<double>(std::max<std::ptrdiff_t>(shared, 1));
    }
    return gain <= 0;
  }

  void trim() {
    std::vector<NodeId> left;
    for (const NodeId id : nodes_) {
      if (std::ranges::none_of(site_.node(id).inputs, [&](Value v) { return is_inner(v); }) && is_idle(id))
        inside_.erase(id);
      else left.push_back(id);
    }
    nodes_ = std::move(left);
  }

  const Site& site_;
  const NeededPositions& fact_;
  std::vector<NodeId> nodes_;  // in order
  std::unordered_set<NodeId> inside_;
};

Proposals propose_needed(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  const Site site(graph, inference, *options.machine);
  const NeededPositions fact(site);
  for (std::vector<NodeId>& nodes : Regions(site, fact).all()) {
    auto found = Region(site, fact, std::move(nodes)).proposal();
    if (found && (options.any_price || found->gain > 0)) out.list.push_back(std::move(*found));
  }
  propose_chosen_elements(site, options.any_price, out);
  std::ranges::stable_sort(out.list, std::greater<>{}, &Proposal::gain);
  return out;
}

}  // namespace

constinit const Proposer kNeeded{
    .name = "needed",
    .title = "only what is read",
    .law = "(f(x))[S] = f(x[N(S)])",
    .finds =
        "Computes only the positions that are read: the last step of a causal stack, one token's "
        "row through attention, crops and strides taken into convolutions, without channels that "
        "no node reads.",
    .propose = propose_needed,
    .remark = "only what is read",
};

}  // namespace isomer
