#include "optimizer/facts/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "model/graph/constant.h"
#include "model/graph/content.h"

namespace isomer {
namespace {

constexpr std::size_t kMostLanes = 256;
constexpr std::size_t kMostNodes = 16384;  // of a graph: dependences are kept as a bit for each pair

// Which nodes a node depends on.
class Ancestors {
 public:
  explicit Ancestors(const Site& site) : site_(site) {
    const auto& order = site.graph.order();
    words_ = (order.size() + 63) / 64;
    bits_.resize(words_ * order.size());
    for (std::size_t at = 0; at < order.size(); ++at) {
      const Node& node = site.node(order[at]);
      for (const auto* list : {&node.inputs, &node.captures})
        for (const Value& v : *list)
          if (v.exists()) add(at, site.position(v.node));
    }
  }
  bool depends(NodeId node, NodeId on) const {
    const std::size_t p = site_.position(on);
    return (bits_[site_.position(node) * words_ + p / 64] >> (p % 64) & 1) != 0;
  }

 private:
  void add(std::size_t at, std::size_t from) {
    for (std::size_t w = 0; w < words_; ++w) bits_[at * words_ + w] |= bits_[from * words_ + w];
    bits_[at * words_ + from / 64] |= std::uint64_t{1} << (from % 64);
  }
  const Site& site_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

bool is_alike(const Site& site, NodeId a, NodeId b) {
  const Node &x = site.node(a), &y = site.node(b);
  return x.kind == NodeKind::Operator && y.kind == NodeKind::Operator && x.op == y.op &&
         x.domain == y.domain && x.inputs.size() == y.inputs.size() && x.outputs.size() == y.outputs.size() &&
         same_content(x.attributes, y.attributes);
}

bool has_same_type(const Site& site, Value a, Value b) {
  const ValueInfo &x = site.inference.of(a), &y = site.inference.of(b);
  return x.shape && x.shape == y.shape && x.type == y.type;
}

std::int64_t axis_of(const Node& node, std::int64_t otherwise, std::size_t rank) {
  const std::int64_t axis = attribute(node, "axis", otherwise);
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

// A value as positions of another.
std::optional<LanePart> part_of(const Site& site, Value v) {
  const Node& node = site.node(v.node);
  if (node.kind != NodeKind::Operator || !node.domain.empty() || node.inputs.empty()) return std::nullopt;
  const Value whole = node.inputs[0];
  if (!whole.exists() || site.is_constant(whole)) return std::nullopt;
  const auto& shape = site.inference.of(whole).shape;
  if (!shape || shape->empty()) return std::nullopt;
  const auto extent = [&](std::size_t axis) { return (*shape)[axis].value(); };
  if (node.op == "Split") {
    const auto axis = static_cast<std::size_t>(axis_of(node, 0, shape->size()));
    LanePart out{.whole = whole, .axis = axis};
    for (std::uint32_t k = 0; k <= v.output; ++k) {
      const auto& part = site.inference.of({v.node, k}).shape;
      if (!part || !(*part)[axis].is_concrete()) return std::nullopt;
      out.each = (*part)[axis].concrete();
      if (k < v.output) out.begin += out.each;
    }
    return out;
  }
  if (node.op == "Slice" && node.inputs.size() >= 4) {
    const auto begin = site.integers(node.inputs[1]), end = site.integers(node.inputs[2]),
               axes = site.integers(node.inputs[3]);
    if (!begin || !end || !axes || axes->size() != 1) return std::nullopt;
    if (node.inputs.size() > 4 && site.integers(node.inputs[4]) != std::vector<std::int64_t>{1})
      return std::nullopt;
    const auto axis = static_cast<std::size_t>(
        (*axes)[0] < 0 ? (*axes)[0] + static_cast<std::int64_t>(shape->size()) : (*axes)[0]);
    const auto size = extent(axis);
    if (!size) return std::nullopt;
    const auto inside = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + *size : at, 0, *size);
    };
    const std::int64_t first = inside((*begin)[0]), last = inside((*end)[0]);
    if (last <= first) return std::nullopt;
    return LanePart{.whole = whole, .axis = axis, .begin = first, .each = last - first};
  }
  if (node.op == "Gather") {
    const auto index = site.integers(node.inputs[1]);
    const auto axis = static_cast<std::size_t>(axis_of(node, 0, shape->size()));
    const auto size = extent(axis);
    const std::size_t rank = site.rank(node.inputs[1]);
    if (!index || index->size() != 1 || !size || rank > 1) return std::nullopt;
    return LanePart{.whole = whole,
                    .axis = axis,
                    .begin = (*index)[0] < 0 ? (*index)[0] + *size : (*index)[0],
                    .each = 1,
                    .is_dropped = rank == 0};
  }
  return std::nullopt;
}

// All of them side by side, in this order.
std::optional<LanePart> parts_of(const Site& site, const std::vector<Value>& values) {
  const auto first = part_of(site, values[0]);
  if (!first) return std::nullopt;
  for (std::size_t k = 1; k < values.size(); ++k) {
    const auto part = part_of(site, values[k]);
    if (!part || part->whole != first->whole || part->axis != first->axis || part->each != first->each ||
        part->is_dropped != first->is_dropped ||
        part->begin != first->begin + static_cast<std::int64_t>(k) * first->each)
      return std::nullopt;
  }
  return first;
}

class Finder {
 public:
  explicit Finder(const Site& site) : site_(site), ancestors_(site) {}

  std::vector<LaneFamily> found() {
    for (const NodeId id : site_.graph.order()) join_at(id);
    std::map<std::vector<int>, std::vector<NodeId>> products;  // by weights
    for (const NodeId id : site_.graph.order())
      if (const auto weights = weights_of(id)) products[*weights].push_back(id);
    for (auto& [weights, nodes] : products) same_products(nodes);
    return std::move(families_);
  }

 private:
  using Rows = std::map<std::vector<Value>, std::size_t>;

  // The contents of a product's constants.
  std::optional<std::vector<int>> weights_of(NodeId id) const {
    if (site_.activations(id).size() != 1) return std::nullopt;
    std::vector<int> out;
    bool has_matrix = false;
    for (const Value& v : site_.node(id).inputs) {
      if (!site_.is_constant(v)) continue;
      out.push_back(site_.content(v));
      has_matrix |= site_.rank(v) >= 2 && is_float(site_.inference.of(v).type);
    }
    return has_matrix ? std::optional(out) : std::nullopt;
  }

  // Whether one node after another could make these values, each without the others.
  bool is_row(const std::vector<Value>& values) const {
    for (const Value& v : values)
      if (v.output != 0 || !is_alike(site_, v.node, values[0].node)) return false;
    const Node& node = site_.node(values[0].node);
    if (node.outputs.size() != 1 || !node.captures.empty() || !node.bodies.empty() ||
        site_.inference.opaque.contains(values[0].node))
      return false;
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      for (const Value& v : values) {
        const Value a = node.inputs[k], b = site_.node(v.node).inputs[k];
        if (a != b && (!a.exists() || !b.exists() || !has_same_type(site_, a, b))) return false;
      }
    for (const Value& a : values)
      for (const Value& b : values)
        if (&a != &b && (a == b || ancestors_.depends(a.node, b.node))) return false;
    return true;
  }

  LaneRow::Kind kind_of(const std::vector<Value>& values) const {
    const bool are_constants =
        std::ranges::all_of(values, [&](const Value& v) { return site_.is_constant(v); });
    const auto is_same = [&](const Value& v) {
      return v == values[0] || (are_constants && site_.content(v) == site_.content(values[0]));
    };
    if (std::ranges::all_of(values, is_same)) return LaneRow::Kind::Shared;
    if (are_constants) return LaneRow::Kind::Values;
    if (parts_of(site_, values)) return LaneRow::Kind::Parts;
    return is_row(values) ? LaneRow::Kind::Nodes : LaneRow::Kind::Values;
  }

  // The rows that lead to these; nullopt: lanes read each other.
  std::optional<LaneFamily> walked_back(const std::vector<std::vector<Value>>& from) const {
    LaneFamily out;
    out.lanes = from[0].size();
    std::map<std::vector<Value>, bool> seen;  // whether its inputs were seen
    Rows numbers;
    std::vector<std::vector<Value>> open = from;
    while (!open.empty()) {
      const std::vector<Value> values = open.back();
      if (numbers.contains(values)) {
        open.pop_back();
        continue;
      }
      LaneRow row{.kind = kind_of(values), .values = values};
      if (row.kind == LaneRow::Kind::Parts) row.part = parts_of(site_, values);
      if (row.kind == LaneRow::Kind::Nodes) {
        const std::size_t inputs = site_.node(values[0].node).inputs.size();
        bool is_ready = true;
        for (std::size_t k = 0; k < inputs; ++k) {
          std::vector<Value> tuple;
          for (const Value& v : values) tuple.push_back(site_.node(v.node).inputs[k]);
          const auto at = numbers.find(tuple);
          const bool is_open = tuple[0].exists() && at == numbers.end();
          if (is_open) open.push_back(tuple);
          is_ready &= !is_open;
          row.inputs.push_back(at == numbers.end() ? LaneRow::kNoRow : at->second);
        }
        if (!is_ready && !seen.emplace(values, true).second) return std::nullopt;  // a cycle
        if (!is_ready) continue;
      }
      open.pop_back();
      numbers.emplace(values, out.rows.size());
      out.rows.push_back(std::move(row));
    }
    if (!is_sound(out)) return std::nullopt;
    return out;
  }

  // Nothing that the lanes read depends on them.
  bool is_sound(const LaneFamily& family) const {
    for (const LaneRow& begin : family.rows) {
      if (begin.kind == LaneRow::Kind::Nodes) continue;
      for (const LaneRow& row : family.rows) {
        if (row.kind != LaneRow::Kind::Nodes) continue;
        for (const Value& v : begin.values)
          for (const Value& of : row.values)
            if (v.node == of.node || ancestors_.depends(v.node, of.node)) return false;
      }
    }
    return true;
  }

  void add(LaneFamily family) {
    std::set<NodeId> inside;
    bool is_new = false;
    for (const LaneRow& row : family.rows) {
      if (row.kind != LaneRow::Kind::Nodes) continue;
      std::vector<NodeId> nodes;
      for (const Value& v : row.values) nodes.push_back(v.node);
      inside.insert(nodes.begin(), nodes.end());
      std::ranges::sort(nodes);
      is_new |= covered_.insert(nodes).second;
    }
    if (!is_new) return;
    const auto is_inside = [&](NodeId id) {
      return inside.contains(id) || (family.join && id == family.join->value.node) || joining_.contains(id);
    };
    for (std::size_t r = 0; r < family.rows.size(); ++r)
      if (family.rows[r].kind == LaneRow::Kind::Nodes &&
          std::ranges::any_of(family.rows[r].values, [&](const Value& v) {
            return site_.is_output(v) || !std::ranges::all_of(site_.readers(v), is_inside);
          }))
        family.ends.push_back(r);
    families_.push_back(std::move(family));
  }

  // The values that a node joins: a Concat's inputs, the summands of a sum that only it makes.
  std::vector<Value> joined_by(NodeId id) {
    joining_.clear();
    if (!site_.is(id, "Add")) return site_.node(id).inputs;
    const auto only = site_.only_reader({id, 0});
    if (only && site_.is(*only, "Add") && has_same_type(site_, {*only, 0}, {id, 0})) return {};  // a part
    std::vector<Value> out, open{{id, 0}};
    while (!open.empty()) {
      const Value v = open.back();
      open.pop_back();
      const bool is_inner = v.node == id || (site_.made_by(v, "Add") && site_.only_reader(v) &&
                                             !site_.is_output(v) && has_same_type(site_, v, {id, 0}));
      if (!is_inner) {
        out.push_back(v);
        continue;
      }
      joining_.insert(v.node);
      const std::vector<Value>& in = site_.node(v.node).inputs;
      open.push_back(in[1]);
      open.push_back(in[0]);
    }
    return out;
  }

  void join_at(NodeId id) {
    static const std::set<std::string, std::less<>> kJoins{"Concat", "Add", "Sum", "Mean", "Max", "Min"};
    const Node& node = site_.node(id);
    if (node.kind != NodeKind::Operator || !node.domain.empty() || !kJoins.contains(node.op)) return;
    std::vector<Value> all = joined_by(id);
    if (all.size() < 2) return;
    LaneJoin join;
    join.value = {id, 0};
    join.op = node.op == "Add" ? "Sum" : node.op;
    if (node.op == "Concat") join.axis = axis_of(node, 0, site_.rank({id, 0}));
    const auto fits = [&](Value a, Value b) {
      return has_same_type(site_, a, b) && is_alike(site_, a.node, b.node) && !site_.is_constant(a);
    };
    // The longest run of values that are made alike; the others of a sum may be anywhere.
    if (join.op != "Concat") {
      std::vector<Value> order;
      while (!all.empty()) {
        const Value first = all.front();
        std::ranges::copy_if(all, std::back_inserter(order),
                             [&](Value v) { return v == first || fits(first, v); });
        std::erase_if(all, [&](Value v) { return std::ranges::find(order, v) != order.end(); });
      }
      all = std::move(order);
    }
    std::size_t begin = 0, count = 0;
    for (std::size_t k = 0; k < all.size();) {
      std::size_t end = k + 1;
      while (end < all.size() && fits(all[k], all[end])) ++end;
      if (end - k > count) begin = k, count = end - k;
      k = end;
    }
    if (count < 2 || count > kMostLanes || (join.op == "Mean" && count != all.size())) return;
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(begin);
    std::vector<Value> row(at, at + static_cast<std::ptrdiff_t>(count));
    if (join.op != "Concat" && !has_same_type(site_, row[0], {id, 0})) return;
    join.before.assign(all.begin(), at);
    join.after.assign(at + static_cast<std::ptrdiff_t>(count), all.end());
    if (kind_of(row) != LaneRow::Kind::Nodes) return;
    auto family = walked_back({row});
    if (!family) return;
    family->join = std::move(join);
    add(std::move(*family));
  }

  // Readers of a row, one for each lane, that are alike and read it alike.
  std::vector<std::vector<Value>> rows_after(const std::vector<Value>& row) const {
    std::vector<std::vector<Value>> out;
    for (const NodeId first : site_.readers(row[0])) {
      std::vector<Value> next{{first, 0}};
      for (std::size_t k = 1; k < row.size(); ++k) {
        const auto& readers = site_.readers(row[k]);
        const auto same = std::ranges::find_if(readers, [&](NodeId id) {
          if (!is_alike(site_, id, first) || !has_same_type(site_, {id, 0}, {first, 0})) return false;
          if (std::ranges::find(next, Value{id, 0}) != next.end()) return false;
          const auto &a = site_.node(first).inputs, &b = site_.node(id).inputs;
          for (std::size_t i = 0; i < a.size(); ++i)
            if ((a[i] == row[0]) != (b[i] == row[k])) return false;
          return true;
        });
        if (same == readers.end()) break;
        next.push_back({*same, 0});
      }
      if (next.size() == row.size() && kind_of(next) == LaneRow::Kind::Nodes) out.push_back(std::move(next));
    }
    return out;
  }

  // f(x1, w), f(x2, w), ... and what follows alike.
  void same_products(std::vector<NodeId> nodes) {
    while (nodes.size() >= 2) {
      std::vector<Value> row;
      for (const NodeId id : nodes)
        if (row.empty() ||
            (is_alike(site_, row[0].node, id) && has_same_type(site_, row[0], {id, 0}) &&
             has_same_type(site_, site_.activations(row[0].node)[0], site_.activations(id)[0])))
          row.push_back({id, 0});
      std::erase_if(nodes, [&](NodeId id) { return std::ranges::find(row, Value{id, 0}) != row.end(); });
      if (row.size() < 2 || row.size() > kMostLanes) continue;
      const auto place = [&](Value v) {
        const auto part = part_of(site_, site_.activations(v.node)[0]);
        return part ? part->begin : 0;
      };
      std::ranges::stable_sort(row, {}, place);
      if (kind_of(row) == LaneRow::Kind::Nodes) extend(row);
    }
  }

  void extend(const std::vector<Value>& seed) {
    std::vector<std::vector<Value>> rows{seed};
    auto family = walked_back(rows);
    if (!family) return;
    std::set<std::vector<Value>> tried{seed};
    for (std::size_t at = 0; at < rows.size(); ++at)
      for (auto& next : rows_after(rows[at])) {
        if (!tried.insert(next).second) continue;
        auto more = rows;
        more.push_back(next);
        auto longer = walked_back(more);
        if (!longer) continue;
        rows = std::move(more);
        family = std::move(longer);
      }
    joining_.clear();
    add(std::move(*family));
  }

  const Site& site_;
  Ancestors ancestors_;
  std::set<NodeId> joining_;  // the sums that make up the join
  std::set<std::vector<NodeId>> covered_;
  std::vector<LaneFamily> families_;
};

}  // namespace

std::vector<LaneFamily> lane_families(const Site& site) {
  if (site.graph.order().size() > kMostNodes) return {};
  return Finder(site).found();
}

}  // namespace isomer
