#include "optimizer/facts/region_reads.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <string>

#include "model/expr/reads.h"
#include "model/graph/constant.h"
#include "optimizer/facts/price.h"
#include "optimizer/facts/repeated_constant.h"

namespace isomer {
namespace {

constexpr std::size_t kMostReads = 2048;  // of one value

using Position = std::vector<Index>;

std::string text_of(const Position& at) {
  std::string out;
  for (const Index& i : at) out += i.text() + ",";
  return out;
}

class Composition {
 public:
  Composition(const Graph& graph, const Inference& inference, const LinearRegion& region)
      : graph_(graph), inference_(inference), region_(region) {}

  std::optional<RegionReads> run() {
    const auto& shape = inference_.of(region_.output).shape;
    if (!shape) return std::nullopt;
    for (const Dim& extent : *shape) out_.axes.push_back({next_axis_++, extent});
    note(region_.output, to_indices(out_.axes));
    for (const NodeId id : std::views::reverse(region_.nodes))
      if (!compose(id)) return std::nullopt;
    const auto found = pending_.find(region_.input);
    if (found == pending_.end()) return std::nullopt;
    for (auto& [text, at] : found->second) out_.reads.push_back(std::move(at));
    for (auto& [text, index] : weighted_) out_.weighted.push_back(std::move(index));
    return std::move(out_);
  }

 private:
  bool compose(NodeId id) {
    const Node& node = graph_.node(id);
    std::optional<Definition> definition;
    axes_.clear();
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      const auto found = pending_.find({id, k});
      if (found == pending_.end()) continue;
      if (!definition) definition = define_node(graph_, inference_, id);
      const auto* formula = std::get_if<Formula>(&*definition);
      if (formula == nullptr) return false;
      const auto positions = std::move(found->second);
      pending_.erase(found);
      for (const auto& [text, at] : positions)
        if (!follow(node, *formula, formula->outputs[k], at, 0)) return false;
    }
    return true;
  }

  // `at`: the stage's position.
  bool follow(const Node& node, const Formula& formula, int number, const Position& at, int depth) {
    if (depth > 16) return false;
    const Stage& stage = formula.stages[static_cast<std::size_t>(number)];
    const auto bind = [&](const Index& i) {
      return i.substitute([&](const Axis& a) {
        for (std::size_t k = 0; k < stage.axes.size(); ++k)
          if (stage.axes[k] == a) return at[k];
        return Index(summed(a));
      });
    };
    for_each_position(*stage.value, [&](const Index& i) { weigh(bind(i)); });
    bool ok = true;
    std::vector<Axis> around;
    for_each_read(*stage.value, around, [&](const ExprNode& read, const std::vector<Axis>&) {
      Position position;
      for (const Index& i : read.at) position.push_back(bind(i));
      if (read.tensor.kind == TensorRef::Kind::Stage) {
        ok = ok && follow(node, formula, read.tensor.number, position, depth + 1);
        return;
      }
      const Value v = node.inputs[static_cast<std::size_t>(read.tensor.number)];
      const bool is_inside =
          v == region_.input || std::ranges::find(region_.nodes, v.node) != region_.nodes.end();
      if (is_inside) ok = ok && note(v, position);
      else weigh_constant(v, position);
    });
    return ok;
  }

  bool note(Value v, const Position& at) {
    auto& known = pending_[v];
    known.emplace(text_of(at), at);
    return known.size() <= kMostReads;
  }
  // A constant whose slices along an axis are all the same does not differ along it.
  void weigh_constant(Value v, const Position& at) {
    auto known = repeated_.find(v);
    if (known == repeated_.end()) {
      const auto tensor = known_constant(graph_, v);
      known = repeated_.emplace(v, tensor ? repeated_axes(*tensor) : std::vector(at.size(), false)).first;
    }
    for (std::size_t k = 0; k < at.size(); ++k)
      if (!known->second[k]) weigh(at[k]);
  }
  void weigh(const Index& i) {
    if (!i.is_constant()) weighted_.emplace(i.text(), i);
  }
  // An axis of a reduction, under a number that no other node's has.
  Axis summed(const Axis& a) {
    const auto [at, is_new] = axes_.try_emplace(a.id, Axis{next_axis_, a.extent});
    if (is_new) ++next_axis_;
    return at->second;
  }

  const Graph& graph_;
  const Inference& inference_;
  const LinearRegion& region_;
  int next_axis_ = 0;
  std::map<int, Axis> axes_;  // of the node that is looked at
  std::map<Value, std::map<std::string, Position>> pending_;
  std::map<std::string, Index> weighted_;
  std::map<Value, std::vector<bool>> repeated_;  // of constants
  RegionReads out_;
};

// Where floor and mod cut an axis of the output.
void find_cuts(const Index& index, std::map<int, Dims>& cuts) {
  for (const Index::Term& t : index.terms()) {
    if (t.atom.kind == Index::AtomKind::Axis) continue;
    const Index& inner = *t.atom.inner;
    find_cuts(inner, cuts);
    const auto alone = inner.as_axis();
    if (alone) {
      cuts[alone->id].push_back(t.atom.divisor);
      continue;
    }
    // floor(axis / q) mod r
    if (inner.terms().size() != 1 || !inner.offset().is(0) || !inner.terms()[0].scale.is(1)) continue;
    const Index::Atom& deep = inner.terms()[0].atom;
    const auto axis = deep.kind == Index::AtomKind::Floor ? deep.inner->as_axis() : std::nullopt;
    if (axis) cuts[axis->id].push_back(deep.divisor * t.atom.divisor);
  }
}

// Equal parts one after the other (Concat): an axis that is read at axis - k·part, with parts as long as the
// input's axis.
void find_parts(const RegionReads& r, const Dims& input, std::map<int, Dims>& cuts) {
  for (std::size_t d = 0; d < input.size(); ++d) {
    for (const Position& at : r.reads) {
      const Index& i = at[d];
      if (i.terms().size() != 1 || i.offset().is(0) || !i.terms()[0].scale.is(1)) continue;
      if (i.terms()[0].atom.kind != Index::AtomKind::Axis) continue;
      const Axis& axis = i.terms()[0].atom.axis;
      if (Dim::exact_quotient(i.offset(), input[d]) && Dim::exact_quotient(axis.extent, input[d]) &&
          !(axis.extent == input[d]))
        cuts[axis.id].push_back(input[d]);
    }
  }
}

struct Digits {
  std::vector<OutputDigit> outputs;
  std::vector<Axis> axes;      // of the digits
  std::map<int, Index> whole;  // an axis of the output, as its digits
};

std::optional<Digits> digits_of(const RegionReads& r, const std::map<int, Dims>& cuts, int next) {
  Digits out;
  for (std::size_t k = 0; k < r.axes.size(); ++k) {
    Dims strides{1};
    if (const auto found = cuts.find(r.axes[k].id); found != cuts.end()) {
      Dims sorted = found->second;
      std::ranges::sort(sorted, {},
                        [](const Dim& d) { return typical_size(d, unknown_machine()).value_or(0); });
      for (const Dim& cut : sorted) {
        if (cut == strides.back() || cut == r.axes[k].extent) continue;
        if (!Dim::exact_quotient(cut, strides.back())) return std::nullopt;
        strides.push_back(cut);
      }
    }
    Index whole = 0;
    std::vector<std::pair<OutputDigit, Axis>> found;  // the fastest first
    for (std::size_t i = 0; i < strides.size(); ++i) {
      const Dim& end = i + 1 < strides.size() ? strides[i + 1] : r.axes[k].extent;
      const auto extent = Dim::exact_quotient(end, strides[i]);
      if (!extent) return std::nullopt;
      const Axis axis{next++, *extent};
      whole = whole + strides[i] * Index(axis);
      found.push_back({{.axis = k, .extent = *extent}, axis});
    }
    for (const auto& [digit, axis] : std::views::reverse(found)) {
      out.outputs.push_back(digit);
      out.axes.push_back(axis);
    }
    out.whole.emplace(r.axes[k].id, whole);
  }
  return out;
}

// An index along an axis of this extent, if it is block·digit + rest - block·k with a rest that fills one
// block, and the axis is one block long: then it reads something for digit = k alone.
Index in_its_block(const Index& index, const Dim& extent, const std::vector<Axis>& digits,
                   std::vector<Index>& weighted) {
  for (const Index::Term& t : index.terms()) {
    if (t.atom.kind != Index::AtomKind::Axis || !(t.scale == extent)) continue;
    if (std::ranges::find(digits, t.atom.axis) == digits.end()) continue;
    const Index rest = index - Index::of_term(t);
    const auto block = Dim::exact_quotient(rest.offset(), extent);
    if (!block || !(rest - Index(rest.offset())).is_inside(extent)) continue;
    weighted.emplace_back(t.atom.axis);
    return rest - Index(rest.offset());
  }
  return index;
}

// One axis of the input in one read.
struct Part {
  int digit = -1;  // -1: none
  Dim stride = 0;
  Index rest;            // over the axes of sums
  bool is_plain = true;  // stride · digit + rest
};

Part part_of(const Index& index, const std::vector<Axis>& digits) {
  Part out;
  for (const Index::Term& t : index.terms()) {
    const bool is_axis = t.atom.kind == Index::AtomKind::Axis;
    const auto of_output = [&](const Axis& a) { return std::ranges::find(digits, a) != digits.end(); };
    if (is_axis && of_output(t.atom.axis)) {
      if (t.atom.axis.extent.is(1)) continue;
      if (out.digit >= 0) out.is_plain = false;
      out.digit = static_cast<int>(std::ranges::find(digits, t.atom.axis) - digits.begin());
      out.stride = t.scale;
      continue;
    }
    if (!is_axis && std::ranges::any_of(t.atom.inner->axes(), of_output)) out.is_plain = false;
    out.rest = out.rest + Index::of_term(t);
  }
  out.rest = out.rest + Index(index.offset());
  return out;
}

InputAxis axis_of(const std::vector<Position>& reads, std::size_t d, const Dim& extent,
                  const Digits& digits) {
  InputAxis out{.dilation = 0, .extent = extent};
  std::optional<Part> first;
  bool is_parallel = true;
  for (const Position& at : reads) {
    const Part part = part_of(at[d], digits.axes);
    if (!part.is_plain || part.digit < 0 || !part.stride.is_concrete() || part.stride.concrete() < 1)
      return {.extent = extent};
    if (first && (part.digit != first->digit || !(part.stride == first->stride))) return {.extent = extent};
    const auto range = part.rest.range();
    if (!range || !range->low.is_concrete() || !range->high.is_concrete()) return {.extent = extent};
    const std::int64_t low = range->low.concrete(), high = range->high.concrete();
    // Taps that all positions have in common.
    for (const Index::Term& t : part.rest.terms())
      out.dilation =
          std::gcd(out.dilation,
                   t.scale.is_concrete() && t.atom.kind == Index::AtomKind::Axis ? t.scale.concrete() : 1);
    if (first) out.dilation = std::gcd(out.dilation, low - out.low);
    out.low = first ? std::min(out.low, low) : low;
    out.high = first ? std::max(out.high, high) : high;
    is_parallel = is_parallel && part.stride.is(1) && low == 0 && high == 0;
    if (!first) first = part;
  }
  if (!first) return {.extent = extent};
  if (out.dilation == 0) out.dilation = 1;
  out.digit = first->digit;
  out.stride = first->stride.concrete();
  is_parallel = is_parallel && digits.outputs[static_cast<std::size_t>(out.digit)].extent == extent;
  out.kind = is_parallel ? InputAxis::Kind::Parallel : InputAxis::Kind::Window;
  out.weighted = digits.outputs[static_cast<std::size_t>(out.digit)].weighted;
  return out;
}

}  // namespace

std::optional<RegionReads> reads_of(const Graph& graph, const Inference& inference,
                                    const LinearRegion& region) {
  try {
    return Composition(graph, inference, region).run();
  } catch (const DimOverflow&) {
    return std::nullopt;
  }
}

std::optional<RegionMap> map_of(const Graph& graph, const Inference& inference, const LinearRegion& region) {
  const auto& shape = inference.of(region.input).shape;
  auto reads = reads_of(graph, inference, region);
  if (!shape || !reads) return std::nullopt;
  int next = 0;
  const auto look = [&](const Index& i) {
    for (const Axis& a : i.axes()) next = std::max(next, a.id + 1);
  };
  for (const Axis& a : reads->axes) next = std::max(next, a.id + 1);
  for (const Position& at : reads->reads) std::ranges::for_each(at, look);
  std::ranges::for_each(reads->weighted, look);
  std::map<int, Dims> cuts;
  for (const Position& at : reads->reads)
    for (const Index& i : at) find_cuts(i, cuts);
  find_parts(*reads, *shape, cuts);
  auto digits = digits_of(*reads, cuts, next);
  if (!digits) return std::nullopt;
  const auto split = [&](const Index& i) {
    return i.substitute([&](const Axis& a) {
      const auto at = digits->whole.find(a.id);
      return at == digits->whole.end() ? Index(a) : at->second;
    });
  };
  for (Index& i : reads->weighted) i = split(i);
  for (Position& at : reads->reads)
    for (std::size_t d = 0; d < at.size(); ++d)
      at[d] = in_its_block(split(at[d]), (*shape)[d], digits->axes, reads->weighted);
  for (const Index& i : reads->weighted)
    for (const Axis& a : i.axes())
      if (const auto at = std::ranges::find(digits->axes, a); at != digits->axes.end())
        digits->outputs[static_cast<std::size_t>(at - digits->axes.begin())].weighted = true;
  RegionMap out{.inputs = {}, .outputs = digits->outputs};
  for (std::size_t d = 0; d < shape->size(); ++d)
    out.inputs.push_back(axis_of(reads->reads, d, (*shape)[d], *digits));
  // A digit that two axes follow is a diagonal: of no form that is known here.
  for (InputAxis& a : out.inputs) {
    const auto same = [&](const InputAxis& b) { return b.digit >= 0 && b.digit == a.digit; };
    if (a.digit >= 0 && std::ranges::count_if(out.inputs, same) > 1) return std::nullopt;
  }
  return out;
}

}  // namespace isomer
