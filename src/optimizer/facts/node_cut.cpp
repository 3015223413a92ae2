#include "optimizer/facts/node_cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "kernel/prove/translate.h"
#include "model/analysis/analysis.h"
#include "model/analysis/input_reads.h"
#include "optimizer/facts/price.h"

namespace isomer {

int Choices::number(Choice selection) {
  const auto [at, is_new] = numbers_.emplace(selection.key, static_cast<int>(list_.size()));
  if (is_new) list_.push_back(std::move(selection));
  return at->second;
}

std::optional<std::vector<std::int64_t>> known_integers(const Site& site, Value v) {
  if (!v.exists()) return std::nullopt;
  if (site.is_constant(v)) return site.integers(v);
  const auto& known = site.inference.of(v).integers;
  return known ? concrete(*known) : std::nullopt;
}

Dims extents_of(const Dims& shape, const Needs& needs, const Choices& selections) {
  Dims out = shape;
  for (std::size_t d = 0; d < needs.size() && d < out.size(); ++d) {
    if (needs[d].list()) out[d] = static_cast<std::int64_t>(needs[d].list()->size());
    if (needs[d].selection() >= 0)
      out[d] = selections.at(needs[d].selection()).extents[static_cast<std::size_t>(needs[d].place())];
  }
  return out;
}

namespace {

using Kind = NodeCut::Kind;

// Whether `count` is less than the extent.
bool is_fewer(const Site& site, const Dim& count, const Dim& extent) {
  const auto some = typical_size(count, site.machine), all = typical_size(extent, site.machine);
  return some && all && *some < *all;
}

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

// All positions except some at the beginning and at the end of an axis whose extent has a name.
struct Trim {
  std::int64_t front = 0, back = 0;
};

class Cutter {
 public:
  Cutter(const Site& site, Choices& selections, PartialNodes& partial, NodeId id,
         const std::vector<std::optional<Needs>>& needed)
      : site_(site), selections_(selections), partial_(partial), id_(id), node_(site.node(id)) {
    out_.outputs = needed;
    reset();
  }

  NodeCut cut() && {
    for (int tries = 0; tries < 4; ++tries) {
      if (!find()) break;
      const std::set<int> torn = torn_selections();
      if (torn.empty()) return std::move(out_);
      for (auto& needs : out_.outputs)
        if (needs)
          for (Positions& p : *needs)
            if (torn.contains(p.selection())) p = Positions();
      reset();
    }
    give_up();
    return std::move(out_);
  }

 private:
  Needs whole(Value v) const { return v.exists() ? Needs(site_.rank(v)) : Needs(); }
  const Dims& shape(Value v) const { return *site_.inference.of(v).shape; }
  Needs& need() { return *out_.outputs[0]; }
  Needs& want(std::size_t input) { return *out_.inputs[input]; }

  void reset() {
    const auto outputs = std::move(out_.outputs);
    out_ = NodeCut{.outputs = outputs, .inputs = {}};
    for (const Value& v : node_.inputs) out_.inputs.emplace_back(whole(v));
  }

  // All of it.
  void give_up() {
    for (std::uint32_t k = 0; k < out_.outputs.size(); ++k)
      if (out_.outputs[k]) out_.outputs[k] = whole({id_, k});
    reset();
  }

  // Choices among several axes together of which a value has some only. An input that has only axes that stay
  // as they are is read whole.
  std::set<int> torn_selections() {
    std::set<int> torn;
    for (auto* list : {&out_.outputs, &out_.inputs})
      for (auto& needs : *list) {
        std::map<int, std::set<int>> places;
        if (!needs) continue;
        for (const Positions& p : *needs)
          if (p.selection() >= 0) places[p.selection()].insert(p.place());
        for (const auto& [number, here] : places) {
          const Choice& s = selections_.at(number);
          if (here.size() == s.axes()) continue;
          if (list == &out_.outputs || *here.rbegin() >= s.batch) torn.insert(number);
          else
            for (Positions& p : *needs)
              if (p.selection() == number) p = Positions();
        }
      }
    return torn;
  }

  bool find() {
    if (node_.kind != NodeKind::Operator || !node_.captures.empty() || !node_.bodies.empty() ||
        site_.inference.opaque.contains(id_))
      return false;
    for (const Value& v : node_.inputs)
      if (v.exists() && !site_.inference.of(v).shape) return false;
    Definition definition = define_node(site_.graph, site_.inference, id_);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr || node_.inputs.empty()) return false;
    formula_ = formula;
    reads_.clear();
    if (select()) return true;
    if (out_.outputs.size() != 1 || !out_.outputs[0]) return false;
    if (need().size() != formula_->output(0).axes.size()) return false;
    if (site_.is(id_, "Gather") && !site_.is_constant(node_.inputs[0])) return gather();
    if (site_.is(id_, "GatherND") && !site_.is_constant(node_.inputs[0])) return gather_nd();
    if (site_.is(id_, "GatherElements") && !site_.is_constant(node_.inputs[0])) return gather_elements();
    if (site_.is(id_, "Pad")) return pad();
    if (!is_cut(need()) && !is_window()) return true;
    for (const char* view : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
      if (site_.is(id_, view)) return reshape();
    if (site_.is(id_, "Concat")) return concat();
    return copy();
  }

  // Operators whose strides, dilations and pads say what a window is.
  bool is_window() const {
    for (const char* op : {"Conv", "MaxPool", "AveragePool", "LpPool", "ConvInteger", "ConvTranspose"})
      if (site_.is(id_, op)) return true;
    return false;
  }

  // The slice of one axis as the node says it.
  std::optional<Choice> slice_along(std::size_t axis) const {
    const bool by_inputs = site_.graph.opset("") >= 10;
    const auto list = [&](const char* name, std::size_t input) -> std::optional<std::vector<std::int64_t>> {
      if (by_inputs)
        return input < node_.inputs.size() ? known_integers(site_, node_.inputs[input]) : std::nullopt;
      const auto given = attribute(node_, name, std::vector<std::int64_t>{});
      return given.empty() ? std::nullopt : std::optional(given);
    };
    const auto starts = list("starts", 1), ends = list("ends", 2);
    if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
    auto axes = list("axes", 3);
    if (!axes) {
      axes.emplace(starts->size());
      std::iota(axes->begin(), axes->end(), 0);
    }
    const auto steps = by_inputs ? list("", 4) : std::nullopt;
    const auto rank = static_cast<std::int64_t>(site_.rank(node_.inputs[0]));
    for (std::size_t k = 0; k < axes->size() && k < starts->size(); ++k)
      if (((*axes)[k] + rank) % rank == static_cast<std::int64_t>(axis))
        return Choice{.start = (*starts)[k], .end = (*ends)[k], .step = steps ? (*steps)[k] : 1};
    return std::nullopt;
  }

  std::optional<Trim> trim_of(const Positions& p) const {
    if (p.is_whole()) return Trim{};
    if (p.selection() < 0) return std::nullopt;
    const Choice& s = selections_.at(p.selection());
    if (s.kind != Choice::Kind::Slice || s.step != 1 || s.start < 0 || (s.end >= 0 && s.end != kEnd))
      return std::nullopt;
    return Trim{s.start, s.end < 0 ? -s.end : 0};
  }

  Positions sliced(Choice s, const Dim& extent) const {
    s.key = fmt::format("slice {} {} {} of {}", s.start, s.end, s.step, extent.text());
    return Positions::chosen(selections_.number(s));
  }

  Positions trimmed(const Trim& t, const Dim& extent) const {
    if (t.front == 0 && t.back == 0) return {};
    return sliced({.extents = {extent - Dim(t.front) - Dim(t.back)},
                   .start = t.front,
                   .end = t.back > 0 ? -t.back : kEnd},
                  extent);
  }

  // The positions of the input that one output selects along one axis. `whole_axis`: the output's axis can
  // only be whole.
  std::optional<Positions> selected(const Index& index, std::size_t axis, const std::vector<Axis>& axes,
                                    const Needs& needs, bool& whole_axis) const {
    const Dim& extent = shape(node_.inputs[0])[axis];
    const auto alone = index.as_axis();
    if (alone && alone->extent == extent)
      return needs[static_cast<std::size_t>(std::ranges::find(axes, *alone) - axes.begin())];
    const bool affine = index.terms().empty() ||
                        (index.terms().size() == 1 && index.terms()[0].atom.kind == Index::AtomKind::Axis &&
                         index.terms()[0].scale.at_least(1) == true);
    if (!affine) return std::nullopt;
    auto list = extent.is_concrete() ? image(index, axes, needs) : std::nullopt;
    if (list && !list->empty()) {
      if (list->front() < 0 || list->back() >= extent.concrete()) return std::nullopt;
      return Positions::listed(std::move(*list), extent.concrete());
    }
    if (!site_.is(id_, "Slice") || index.terms().empty()) return std::nullopt;
    const Axis made = index.axes()[0];
    const Dim behind = extent - index.offset() - made.extent;
    const auto trim = trim_of(needs[static_cast<std::size_t>(std::ranges::find(axes, made) - axes.begin())]);
    if (trim && index.terms()[0].scale.is(1) && index.offset().is_concrete() && behind.is_concrete())
      return trimmed({trim->front + index.offset().concrete(), trim->back + behind.concrete()}, extent);
    auto slice = slice_along(axis);
    if (!slice || slice->step < 1) return std::nullopt;
    slice->extents = {made.extent};
    if (!is_fewer(site_, slice->extents[0], extent)) return std::nullopt;
    whole_axis = true;
    return sliced(*slice, extent);
  }

  // Slices, splits, strides: positions of the input in their order.
  bool select() {
    const std::size_t rank = site_.rank(node_.inputs[0]);
    out_.parts.assign(out_.outputs.size(), Needs());
    std::optional<Needs> all;
    std::vector<std::vector<std::int64_t>> dropped;
    auto achieved = out_.outputs;
    for (std::size_t k = 0; k < out_.outputs.size(); ++k) {
      if (!achieved[k]) continue;
      const Stage& stage = formula_->output(static_cast<int>(k));
      const ExprNode& read = *stage.value;
      if (read.kind != ExprNode::Kind::Read || read.tensor.kind != TensorRef::Kind::Input ||
          read.tensor.number != 0 || achieved[k]->size() != stage.axes.size())
        return false;
      std::size_t next = 0;
      dropped.emplace_back();
      for (std::size_t d = 0; d < rank; ++d) {
        const Index& index = read.at[d];
        const bool is_fixed = index.terms().empty();
        if (is_fixed) dropped.back().push_back(static_cast<std::int64_t>(d));
        else if (next >= stage.axes.size() || !index.mentions(stage.axes[next])) return false;
        bool whole_axis = false;
        auto positions = selected(index, d, stage.axes, *achieved[k], whole_axis);
        if (!positions) return false;
        if (whole_axis) (*achieved[k])[next] = Positions();
        out_.parts[k].push_back(std::move(*positions));
        if (!is_fixed) ++next;
      }
      if (next != stage.axes.size()) return false;
      if (!all) all = out_.parts[k];
      for (std::size_t d = 0; d < rank; ++d)
        (*all)[d] = (*all)[d].united(out_.parts[k][d], shape(node_.inputs[0])[d]);
    }
    if (!all || std::ranges::any_of(dropped, [&](const auto& d) { return d != dropped[0]; })) return false;
    out_.kind = Kind::Select;
    out_.outputs = std::move(achieved);
    out_.inputs[0] = std::move(*all);
    out_.dropped = dropped[0];
    return true;
  }

  bool gather() {
    const Value data = node_.inputs[0], indices = node_.inputs[1];
    const std::size_t rank = site_.rank(data), more = site_.rank(indices);
    std::int64_t named = attribute(node_, "axis", std::int64_t{0});
    if (named < 0) named += static_cast<std::int64_t>(rank);
    const auto axis = static_cast<std::size_t>(named);
    const Dim& extent = shape(data)[axis];
    auto known = known_integers(site_, indices);
    bool cuts_indices = false;
    for (std::size_t k = 0; k < more; ++k) cuts_indices = cuts_indices || !need()[axis + k].is_whole();
    if (!known && cuts_indices) return copy();
    for (std::size_t d = 0; d < rank; ++d)
      if (d != axis) want(0)[d] = need()[d < axis ? d : d + more - 1];
    out_.kind = Kind::Gather;
    if (more == 0) out_.dropped = {named};
    if (known && extent.is_concrete()) {
      for (std::int64_t& i : *known)
        if (i < 0) i += extent.concrete();
      if (more == 1 && need()[axis].list()) {
        for (const std::int64_t p : *need()[axis].list())
          out_.numbers.push_back((*known)[static_cast<std::size_t>(p)]);
      } else {
        for (std::size_t k = 0; k < more; ++k) need()[axis + k] = Positions();
        out_.numbers = *known;
      }
      want(0)[axis] = Positions::listed(out_.numbers, extent.concrete());
      return true;
    }
    if (cuts_indices) return false;
    const Dim count = product(shape(indices));
    if (!is_fewer(site_, count, extent)) {
      out_.kind = Kind::Copy;
      return true;
    }
    want(0)[axis] = gathered(indices, count);
    return true;
  }

  // Along one axis, by indices in any shape; of tuples, by this column.
  Positions gathered(Value indices, const Dim& count, std::int64_t column = -1) {
    return Positions::chosen(
        selections_.number({.kind = Choice::Kind::Gather,
                            .extents = {count},
                            .indices = indices,
                            .column = column,
                            .key = fmt::format("gather {} {}", words_for(indices), column)}));
  }

  std::string words_for(Value indices) const {
    return site_.is_constant(indices) ? fmt::format("constant {}", site_.content(indices))
                                      : fmt::format("value {} {}", indices.node, indices.output);
  }

  // Tuples of indices choose of several axes at once; one row of the first of them is left per tuple.
  bool gather_nd() {
    const Value data = node_.inputs[0], indices = node_.inputs[1];
    const std::int64_t batch = attribute(node_, "batch_dims", std::int64_t{0});
    const Dims &from = shape(data), &tuples = shape(indices);
    if (!tuples.back().is_concrete() || batch > 1) return false;
    if (batch == 0 && tuples.back().is(2) && from[0].is(1)) return gather_of_one(from, tuples, indices);
    if (tuples.back().concrete() > 1) return false;  // two look-ups at once are not proved
    const auto axes = static_cast<std::size_t>(batch + tuples.back().concrete());
    const Dim count = product({tuples.begin(), tuples.end() - 1});
    Choice s{.kind = Choice::Kind::GatherNd,
             .extents = Dims(axes, 1),
             .indices = indices,
             .batch = batch,
             .key = fmt::format("gather_nd {} {}", words_for(indices), batch)};
    const std::size_t chosen = tuples.size() - 1;  // axes of the output before the data's own
    if (axes == 0 ||
        !is_fewer(site_, count, product({from.begin(), from.begin() + static_cast<std::ptrdiff_t>(axes)})))
      return false;
    s.extents[0] = batch == 0 ? count : tuples[0];
    if (batch == 1 && (tuples.size() > 3 || axes < 2)) return false;
    if (batch == 1 && tuples.size() == 3) s.extents[1] = tuples[1];
    for (std::size_t k = 0; k < chosen; ++k)
      if (!need()[k].is_whole()) return copy();
    choose_rows(std::move(s), from[0]);
    for (std::size_t d = axes; d < from.size(); ++d) want(0)[d] = need()[chosen + d - axes];
    return true;
  }

  // Tuples of two, the first of which chooses of one position.
  bool gather_of_one(const Dims& from, const Dims& tuples, Value indices) {
    const Dim count = product({tuples.begin(), tuples.end() - 1});
    if (!is_fewer(site_, count, from[1])) return false;
    for (std::size_t k = 0; k + 1 < tuples.size(); ++k)
      if (!need()[k].is_whole()) return copy();
    out_.kind = Kind::GatherNd;
    want(0)[1] = gathered(indices, count, 1);
    for (std::size_t d = 2; d < from.size(); ++d) want(0)[d] = need()[tuples.size() + d - 3];
    return true;
  }

  // Along the first axes of the data. A batch of one is no batch: its second axis is chosen from.
  void choose_rows(Choice s, const Dim& batch) {
    out_.kind = Kind::GatherNd;
    if (s.batch == 1 && batch.is(1)) {
      want(0)[1] = gathered(s.indices, s.extents[1]);
      return;
    }
    const auto axes = static_cast<int>(s.axes());
    const int number = selections_.number(std::move(s));
    for (int d = 0; d < axes; ++d) want(0)[static_cast<std::size_t>(d)] = Positions::chosen(number, d);
  }

  // One index for the whole of each row, repeated along it: rows are chosen.
  bool gather_elements() {
    const Value data = node_.inputs[0], repeated = node_.inputs[1];
    const Dims &from = shape(data), &to = shape(repeated);
    std::int64_t axis = attribute(node_, "axis", std::int64_t{0});
    if (axis < 0) axis += static_cast<std::int64_t>(from.size());
    const auto rows = static_cast<std::size_t>(axis) + 1;
    auto made = site_.made_by(repeated, "Expand");
    if (!made) made = site_.made_by(repeated, "Tile");
    if (!made || axis > 1 || (axis == 1 && site_.graph.opset("") < 12)) return false;
    const Value indices = site_.node(*made).inputs[0];
    const auto& once = site_.inference.of(indices).shape;
    if (!once || once->size() != from.size() || rows + 1 != from.size() || !once->back().is(1)) return false;
    for (std::size_t d = 0; d < from.size(); ++d) {
      if (d < rows && (!((*once)[d] == to[d]) || !need()[d].is_whole())) return false;
      if (d + 1 != rows && !(from[d] == to[d])) return false;
    }
    if (!is_fewer(site_, to[rows - 1], from[rows - 1])) return false;
    Choice s{.kind = Choice::Kind::GatherNd,
             .extents = {to.begin(), to.begin() + static_cast<std::ptrdiff_t>(rows)},
             .indices = indices,
             .batch = axis,
             .key = fmt::format("gather_nd {} {}", words_for(indices), axis)};
    choose_rows(std::move(s), from[0]);
    for (std::size_t d = rows; d < from.size(); ++d) want(0)[d] = need()[d];
    return true;
  }

  bool pad() {
    const std::size_t rank = need().size();
    const bool by_inputs = site_.graph.opset("") >= 11;
    const auto given = by_inputs ? known_integers(site_, node_.inputs[1])
                                 : std::optional(attribute(node_, "pads", std::vector<std::int64_t>{}));
    std::vector<std::int64_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    if (by_inputs && node_.inputs.size() > 3 && node_.inputs[3].exists()) {
      const auto named = known_integers(site_, node_.inputs[3]);
      if (!named) return false;
      axes = *named;
    }
    if (!given || given->size() != 2 * axes.size()) return false;
    const bool is_constant = attribute(node_, "mode", std::string("constant")) == "constant";
    out_.kind = Kind::Pad;
    out_.numbers.assign(2 * rank, 0);
    std::vector<std::int64_t> before(rank, 0), after(rank, 0);
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const auto d =
          static_cast<std::size_t>(axes[k] < 0 ? axes[k] + static_cast<std::int64_t>(rank) : axes[k]);
      before[d] = (*given)[k];
      after[d] = (*given)[axes.size() + k];
    }
    for (std::size_t d = 0; d < rank; ++d) {
      out_.numbers[d] = before[d];
      out_.numbers[rank + d] = after[d];
      if (before[d] == 0 && after[d] == 0) {
        want(0)[d] = need()[d];
        continue;
      }
      const Dim& extent = shape(node_.inputs[0])[d];
      const bool crops = before[d] < 0 || after[d] < 0;
      if (const auto trim = trim_of(need()[d]); trim && !extent.is_concrete() && is_constant) {
        const std::int64_t front = trim->front - before[d], back = trim->back - after[d];
        out_.numbers[d] = std::max<std::int64_t>(0, -front);
        out_.numbers[rank + d] = std::max<std::int64_t>(0, -back);
        want(0)[d] = trimmed({std::max<std::int64_t>(0, front), std::max<std::int64_t>(0, back)}, extent);
        continue;
      }
      if (need()[d].is_whole() && !crops) continue;
      if (!extent.is_concrete() || need()[d].selection() >= 0 ||
          !cut_pads(d, before[d], extent.concrete(), is_constant)) {
        if (crops) return false;
        need()[d] = Positions();
      }
    }
    return true;
  }

  // Where the needed positions are in the input, and how many lie before and behind it.
  bool cut_pads(std::size_t d, std::int64_t before, std::int64_t extent, bool may_touch) {
    const Axis axis = formula_->output(0).axes[d];
    const auto list = image(Index(axis) - Index(before), {axis}, {need()[d]});
    if (!list) return false;
    std::vector<std::int64_t> inside;
    std::int64_t low = 0, high = 0;
    for (const std::int64_t p : *list) {
      if (p < 0) ++low;
      else if (p >= extent) ++high;
      else inside.push_back(p);
    }
    if (inside.empty() || (!may_touch && low + high > 0)) return false;
    out_.numbers[d] = low;
    out_.numbers[need().size() + d] = high;
    want(0)[d] = Positions::listed(std::move(inside), extent);
    return true;
  }

  bool concat() {
    std::int64_t axis = attribute(node_, "axis", std::int64_t{0});
    if (axis < 0) axis += static_cast<std::int64_t>(need().size());
    const auto c = static_cast<std::size_t>(axis);
    bool is_known = need()[c].list().has_value();
    for (const Value& v : node_.inputs) is_known = is_known && shape(v)[c].is_concrete();
    if (!is_known) need()[c] = Positions();
    out_.kind = Kind::Concat;
    std::int64_t start = 0;
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) {
      out_.inputs[k] = need();
      if (!is_known) continue;
      const std::int64_t extent = shape(node_.inputs[k])[c].concrete();
      std::vector<std::int64_t> part;
      for (const std::int64_t p : *need()[c].list())
        if (p >= start && p < start + extent) part.push_back(p - start);
      start += extent;
      if (part.empty()) out_.inputs[k] = std::nullopt;
      else want(k)[c] = Positions::listed(std::move(part), extent);
    }
    return true;
  }

  // Both orders of elements are that of the whole: if as many are read as are made, they are the same.
  bool reshape() {
    const Stage& stage = formula_->output(0);
    const ExprNode& read = *stage.value;
    if (read.kind != ExprNode::Kind::Read || read.tensor.kind != TensorRef::Kind::Input) return false;
    out_.kind = Kind::Reshape;
    if (rows_of_several_axes()) return true;
    const Dims& from = shape(node_.inputs[0]);
    const auto follows = [&](const Index& i, std::size_t d) {
      const auto alone = i.as_axis();
      return alone && alone->extent == from[d];
    };
    const auto fits = [&] {
      for (std::size_t d = 0; d < from.size(); ++d) {
        want(0)[d] = Positions();
        const Index& index = read.at[d];
        bool is_narrowed = false;
        for (std::size_t a = 0; a < stage.axes.size(); ++a) {
          if (need()[a].is_whole() || !index.mentions(stage.axes[a])) continue;
          is_narrowed = true;
          if (follows(index, d)) want(0)[d] = need()[a];
        }
        if (!is_narrowed || follows(index, d) || !from[d].is_concrete()) continue;
        if (auto list = image(index, stage.axes, need()))
          want(0)[d] = Positions::listed(std::move(*list), from[d].concrete());
      }
      return product(extents_of(from, want(0), selections_)) ==
             product(extents_of(stage.shape(), need(), selections_));
    };
    if (fits()) return true;
    for (std::size_t a = 0; a < stage.axes.size(); ++a) {
      bool is_followed = false;
      for (std::size_t d = 0; d < from.size(); ++d)
        is_followed = is_followed || (follows(read.at[d], d) && read.at[d].mentions(stage.axes[a]));
      if (!is_followed) need()[a] = Positions();
    }
    return is_cut(need()) && fits();
  }

  // Rows chosen of [b·n, d], which was [b, n, d]: the same rows of the two axes as one. And back.
  bool rows_of_several_axes() {
    const Dims from = shape(node_.inputs[0]), to = formula_->output(0).shape();
    if (need().empty() || need()[0].selection() < 0) return false;
    Choice s = selections_.at(need()[0].selection());
    if (s.kind != Choice::Kind::Gather) return false;
    const bool joins = s.axes() == 1;
    const std::size_t several = joins ? from.size() - std::min(from.size(), to.size() - 1) : s.axes();
    const Dims &wide = joins ? from : to, &narrow = joins ? to : from;
    if (several < 2 || wide.size() != narrow.size() + several - 1 || wide.size() < several) return false;
    if (!(product({wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(several)}) == narrow[0]))
      return false;
    for (std::size_t d = 1; d < narrow.size(); ++d)
      if (!(narrow[d] == wide[d + several - 1])) return false;
    const Dim count = s.extents[0];
    const std::string stem = s.key.substr(0, s.key.find(" of several"));
    s.extents.assign(joins ? several : 1, 1);
    s.extents[0] = count;
    s.key = joins ? fmt::format("{} of several {}", stem, text(from)) : stem;
    const int number = selections_.number(s);
    for (std::size_t d = 0; d < from.size(); ++d) {
      if (d < s.axes()) want(0)[d] = Positions::chosen(number, static_cast<int>(d));
      else want(0)[d] = need()[joins ? d - several + 1 : d + several - 1];
    }
    return true;
  }

  // The window of the first input along one of the output's axes.
  std::optional<WindowAxis> window(std::size_t axis) {
    if (site_.is(id_, "ConvTranspose")) return transposed_window(axis);
    const Dim &from = shape(node_.inputs[0])[axis], &to = formula_->output(0).axes[axis].extent;
    auto out = from.is_concrete() && to.is_concrete() ? taps(axis) : std::nullopt;
    if (!out) return std::nullopt;
    out->input = from.concrete();
    out->output = to.concrete();
    return out;
  }

  // The same without the extents.
  std::optional<WindowAxis> taps(std::size_t axis) {
    if (reads_.empty()) reads_ = input_reads(*formula_, 0);
    const Axis& p = formula_->output(0).axes[axis];
    std::optional<WindowAxis> out;
    for (const InputRead& read : reads_) {
      if (read.input != 0) continue;
      const Index& index = read.at[axis];
      if (!index.offset().is_concrete()) return std::nullopt;
      WindowAxis w{.stride = 0,
                   .dilation = 1,
                   .kernel = 1,
                   .pad = -index.offset().concrete(),
                   .input = 0,
                   .output = 0};
      int others = 0;
      for (const Index::Term& t : index.terms()) {
        if (t.atom.kind != Index::AtomKind::Axis || !t.scale.is_concrete()) return std::nullopt;
        if (t.atom.axis == p) {
          w.stride = t.scale.concrete();
        } else if (!read.reduced.contains(t.atom.axis.id) || !t.atom.axis.extent.is_concrete() ||
                   ++others > 1) {
          return std::nullopt;
        } else if (!t.atom.axis.extent.is(1)) {
          w.dilation = t.scale.concrete();
          w.kernel = t.atom.axis.extent.concrete();
        }
      }
      if (w.stride < 1 || w.dilation < 1 || out) return std::nullopt;
      out = w;
    }
    return out;
  }

  // Its formula goes by taps, and says the same in other words.
  std::optional<WindowAxis> transposed_window(std::size_t axis) {
    const Dim &from = shape(node_.inputs[0])[axis], &kernel = shape(node_.inputs[1])[axis],
              &to = formula_->output(0).axes[axis].extent;
    if (!from.is_concrete() || !kernel.is_concrete() || !to.is_concrete() ||
        attribute(node_, "auto_pad", std::string("NOTSET")) != "NOTSET" ||
        !attribute(node_, "output_shape", std::vector<std::int64_t>{}).empty())
      return std::nullopt;
    const std::size_t d = need().size() - 2, i = axis - 2;
    return WindowAxis{.stride = attribute(node_, "strides", std::vector<std::int64_t>(d, 1))[i],
                      .dilation = attribute(node_, "dilations", std::vector<std::int64_t>(d, 1))[i],
                      .kernel = kernel.concrete(),
                      .pad = attribute(node_, "pads", std::vector<std::int64_t>(2 * d, 0))[i],
                      .input = from.concrete(),
                      .output = to.concrete(),
                      .is_transposed = true};
  }

  // A range that holds all that a range of a transposed window's output reads, and begins where pads of zero
  // or more can say it.
  static Positions read_transposed(const WindowAxis& w, const Progression& made) {
    const std::int64_t from = made.first + w.pad, to = made.last() + w.pad;
    const std::int64_t first = floor_div(from - w.dilation * (w.kernel - 1) + w.stride - 1, w.stride);
    const std::int64_t low =
        std::clamp<std::int64_t>(std::min(first, floor_div(from, w.stride)), 0, w.input - 1);
    const std::int64_t high = std::clamp<std::int64_t>(floor_div(to, w.stride), low, w.input - 1);
    std::vector<std::int64_t> range(static_cast<std::size_t>(high - low + 1));
    std::iota(range.begin(), range.end(), low);
    return Positions::listed(std::move(range), w.input);
  }

  // The positions that a window reads, as positions that a window with larger steps may read alone.
  std::optional<Positions> read_through(const WindowAxis& w, const Progression& made) const {
    std::vector<std::int64_t> list;
    for (std::int64_t j = 0; j < made.count; ++j)
      for (std::int64_t k = 0; k < w.kernel; ++k) {
        const std::int64_t at = w.stride * (made.first + j * made.step) + w.dilation * k - w.pad;
        if (at >= 0 && at < w.input) list.push_back(at);
      }
    if (list.empty()) return std::nullopt;
    auto out = Positions::listed(std::move(list), w.input);
    const auto steps = out.progression();
    const bool fits =
        steps && (steps->count == 1 || ((made.count == 1 || w.stride * made.step % steps->step == 0) &&
                                        (w.kernel == 1 || w.dilation % steps->step == 0)));
    return out.is_whole() || fits ? out : out.range(w.input);
  }

  // The same node of less, along axes that every input follows or does not see, and along windows.
  bool copy() {
    out_.kind = Kind::Copy;
    const auto roles = axis_roles(*formula_, 0);
    if (is_window()) out_.windows.assign(need().size(), std::nullopt);
    for (std::size_t a = 0; a < need().size(); ++a) {
      const bool is_spatial = is_window() && a >= 2;
      if (is_spatial) out_.windows[a] = window(a);
      const bool stays =
          is_spatial ? cut_window(roles, a) : need()[a].is_whole() || is_followed(roles, static_cast<int>(a));
      if (!stays) need()[a] = Positions();
    }
    for (std::size_t k = 0; k < node_.inputs.size() && k < roles.size(); ++k) {
      if (!node_.inputs[k].exists() || !formula_->inputs[k]) continue;
      for (std::size_t d = 0; d < roles[k].axes.size(); ++d)
        if (roles[k].axes[d] == AxisRole::Parallel)
          want(k)[d] = need()[static_cast<std::size_t>(roles[k].output_axis[d])];
    }
    return true;
  }

  // Whether the prover can follow a choice through this node. A look-up by computed indices passes real
  // functions that are defined for all positions. The rest of an axis that may be too short (min(1, n)) has
  // no extent that the prover knows: it passes only affine nodes.
  bool passes(const Choice& s, const std::vector<InputRoles>& roles, int axis) {
    const bool is_slice = s.kind == Choice::Kind::Slice;
    if (is_slice ? is_plain(s.extents[0]) : known_integers(site_, s.indices).has_value()) return true;
    for (std::size_t k = 0; k < node_.inputs.size() && k < roles.size(); ++k) {
      if (std::ranges::find(roles[k].output_axis, axis) == roles[k].output_axis.end()) continue;
      if (is_slice ? linearity(*formula_, 0, static_cast<int>(k)) > Linearity::Affine
                   : !is_float(formula_->inputs[k]->type))
        return false;
    }
    return is_slice || (is_float(formula_->output(0).type) && !partial_.contains(site_, id_));
  }

  // Sums of symbols only.
  static bool is_plain(const Dim& extent) {
    for (const Dim::Summand& s : extent.summands())
      for (const Dim::Factor& f : s.factors)
        if (f.kind != Dim::Factor::Kind::Symbol) return false;
    return true;
  }

  bool is_followed(const std::vector<InputRoles>& roles, int axis) {
    const int chosen = need()[static_cast<std::size_t>(axis)].selection();
    if (chosen >= 0 && !passes(selections_.at(chosen), roles, axis)) return false;
    for (std::size_t k = 0; k < node_.inputs.size() && k < roles.size(); ++k) {
      if (!node_.inputs[k].exists() || !formula_->inputs[k]) continue;
      bool follows = false;
      for (std::size_t d = 0; d < roles[k].axes.size(); ++d) {
        if (roles[k].output_axis[d] != axis) continue;
        if (roles[k].axes[d] != AxisRole::Parallel) return false;
        follows = true;
      }
      if (!follows && std::ranges::find(roles[k].broadcast, axis) == roles[k].broadcast.end()) return false;
    }
    return true;
  }

  bool cut_window(const std::vector<InputRoles>& roles, std::size_t a) {
    if (roles[0].axes[a] == AxisRole::Parallel)
      return need()[a].is_whole() || is_followed(roles, static_cast<int>(a));
    const auto& w = out_.windows[a];
    if (need()[a].selection() >= 0) return trim_window(a);
    if (!w) return false;
    if (w->is_transposed && need()[a].is_whole()) return true;
    need()[a] = w->is_transposed ? need()[a].range(w->output) : need()[a].hull(w->output);
    const auto made = need()[a].is_whole() ? Progression{.count = w->output} : need()[a].progression();
    if (made && w->is_transposed) {
      want(0)[a] = read_transposed(*w, *made);
      return true;
    }
    const auto read = made ? read_through(*w, *made) : std::nullopt;
    if (!read) return false;
    want(0)[a] = *read;
    return true;
  }

  // A trim after a window in steps of one first removes its pads.
  bool trim_window(std::size_t a) {
    const auto trim = trim_of(need()[a]);
    const auto w = trim && !site_.is(id_, "ConvTranspose") ? taps(a) : std::nullopt;
    if (!w || w->stride != 1) return false;
    const Dim& extent = shape(node_.inputs[0])[a];
    const Dim after =
        formula_->output(0).axes[a].extent + Dim(w->dilation * (w->kernel - 1) - w->pad) - extent;
    if (!after.is_concrete()) return false;
    const std::int64_t front = trim->front - w->pad, back = trim->back - after.concrete();
    out_.pads.resize(need().size());
    out_.pads[a] = {std::max<std::int64_t>(0, -front), std::max<std::int64_t>(0, -back)};
    want(0)[a] = trimmed({std::max<std::int64_t>(0, front), std::max<std::int64_t>(0, back)}, extent);
    return true;
  }

  const Site& site_;
  Choices& selections_;
  PartialNodes& partial_;
  NodeId id_;
  const Node& node_;
  const Formula* formula_ = nullptr;
  std::vector<InputRead> reads_ = {};
  NodeCut out_;
};

}  // namespace

bool PartialNodes::contains(const Site& site, NodeId id) {
  if (!nodes_) nodes_ = partial_nodes(site.graph, site.inference);
  return nodes_->contains(id);
}

NodeCut cut_of(const Site& site, Choices& selections, PartialNodes& partial, NodeId id,
               const std::vector<std::optional<Needs>>& needed) {
  return Cutter(site, selections, partial, id, needed).cut();
}

}  // namespace isomer
