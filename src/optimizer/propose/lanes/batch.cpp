// batch: the lanes of a family (optimizer/facts/lanes.h) as one computation.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "model/graph/constant.h"
#include "optimizer/facts/lanes.h"
#include "optimizer/propose/lanes/lane_writer.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

constexpr int kMostCuts = 16;        // rows of one family that cannot be written
constexpr std::int64_t kSmall = 64;  // elements: shapes, axes, permutations

// Whether a node sums products of two inputs.
bool is_product(const Site& site, NodeId id) {
  const auto formula = site.formula(id);
  if (!formula || formula->inputs.size() < 2) return false;
  const auto roles = axis_roles(*formula, 0);
  const auto is_summed = [](const InputRoles& in) {
    return std::ranges::any_of(in.axes,
                               [](AxisRole r) { return r == AxisRole::Reduced || r == AxisRole::Window; });
  };
  return std::ranges::count_if(roles, is_summed) >= 2;
}

class FamilyWriter {
 public:
  FamilyWriter(const Site& site, const LaneFamily& family, const std::set<std::size_t>& cut, bool stacks)
      : site_(site),
        family_(family),
        cut_(cut),
        b_(site.graph, site.name(family.join ? family.join->value : family.rows.back().values[0])),
        writer_(site, b_, static_cast<std::int64_t>(family.lanes), stacks),
        operands_(family.rows.size()) {}

  // The row that cannot be written, if there is one.
  std::optional<std::size_t> write() {
    const std::vector<bool> wanted = wanted_rows();
    for (std::size_t r = 0; r < family_.rows.size(); ++r) {
      if (!wanted[r]) continue;
      const LaneRow& row = family_.rows[r];
      if (row.kind != LaneRow::Kind::Nodes || cut_.contains(r)) {
        operands_[r] = beginning(row);
        continue;
      }
      std::vector<LaneOperand*> inputs;
      for (const std::size_t k : row.inputs)
        inputs.push_back(k == LaneRow::kNoRow ? nullptr : &*operands_[k]);
      operands_[r] = writer_.write(site_.node(row.values[0].node), inputs);
      if (!operands_[r]) return r;
      ++written_;
      has_product_ |= is_product(site_, row.values[0].node);
    }
    return std::nullopt;
  }

  std::optional<Proposal> proposal() {
    std::vector<Value> replaced, by;
    if (family_.join) {
      const auto value = joined_value();
      if (!value) return std::nullopt;
      replaced.push_back(family_.join->value);
      by.push_back(*value);
    }
    for (const std::size_t r : ends()) {
      const auto lanes = writer_.lanes_of(*operands_[r]);
      if (!lanes) return std::nullopt;
      replaced.insert(replaced.end(), family_.rows[r].values.begin(), family_.rows[r].values.end());
      by.insert(by.end(), lanes->begin(), lanes->end());
    }
    // Values are not worth a copy for the sake of functions of single elements.
    if (replaced.empty() || written_ == 0 || (copies_ && !has_product_)) return std::nullopt;
    return propose(site_, "batch",
                   fmt::format("{} nodes in each of {} lanes as one batch, to {}", written_, family_.lanes,
                               site_.name(replaced[0])),
                   b_, replaced, by);
  }

 private:
  // Rows that are computed from what was cut away stay as they are.
  std::vector<std::size_t> ends() const {
    std::vector<bool> before_cut(family_.rows.size());
    for (std::size_t r = family_.rows.size(); r-- > 0;)
      if (cut_.contains(r) || before_cut[r])
        for (const std::size_t k : family_.rows[r].inputs)
          if (k != LaneRow::kNoRow) before_cut[k] = true;
    std::vector<std::size_t> out;
    for (const std::size_t r : family_.ends)
      if (!before_cut[r] && !cut_.contains(r)) out.push_back(r);
    return out;
  }

  std::vector<bool> wanted_rows() const {
    std::vector<bool> out(family_.rows.size());
    if (family_.join) out.back() = true;
    for (const std::size_t r : ends()) out[r] = true;
    for (std::size_t r = out.size(); r-- > 0;)
      if (out[r] && !cut_.contains(r))
        for (const std::size_t k : family_.rows[r].inputs)
          if (k != LaneRow::kNoRow) out[k] = true;
    return out;
  }

  LaneOperand beginning(const LaneRow& row) {
    const ValueInfo& info = site_.inference.of(row.values[0]);
    LaneOperand out{.type = info.type, .shape = *info.shape};
    out.is_constant = std::ranges::all_of(row.values, [&](Value v) { return site_.is_constant(v); });
    if (row.kind == LaneRow::Kind::Shared) {
      out.shared = b_.input(site_.name(row.values[0]));
      const auto tensor = known_constant(site_.graph, row.values[0]);
      if (tensor && tensor->count() <= kSmall) out.known = *tensor;
      return out;
    }
    out.has_lanes = true;
    if (row.part) {
      out.forms.push_back(whole_of(*row.part));
      return out;
    }
    copies_ |= !out.is_constant;
    for (const Value& v : row.values) out.separate.push_back(b_.input(site_.name(v)));
    return out;
  }

  LaneOperand::Form whole_of(const LanePart& part) {
    Value value = b_.input(site_.name(part.whole));
    const std::int64_t count = part.each * static_cast<std::int64_t>(family_.lanes);
    const auto axis = static_cast<std::int64_t>(part.axis);
    if (!(*site_.inference.of(part.whole).shape)[part.axis].is(count))
      value = b_.slice(value, axis, part.begin, part.begin + count);
    return {{part.axis, !part.is_dropped}, value};
  }

  std::optional<Value> joined_value() {
    const LaneJoin& join = *family_.join;
    LaneOperand& last = *operands_.back();
    std::vector<Value> parts;
    for (const Value& v : join.before) parts.push_back(b_.input(site_.name(v)));
    if (join.op == "Concat") {
      const auto value = writer_.in(last, {static_cast<std::size_t>(join.axis), true});
      if (!value) return std::nullopt;
      parts.push_back(*value);
    } else {
      const std::size_t axis = last.forms.empty() ? 0 : last.forms.back().layout.axis;
      const auto value = writer_.in(last, {axis, false});
      if (!value) return std::nullopt;
      parts.push_back(b_.reduce("Reduce" + join.op, *value, static_cast<std::int64_t>(axis)));
    }
    for (const Value& v : join.after) parts.push_back(b_.input(site_.name(v)));
    if (join.op == "Concat") return b_.concat(parts, join.axis);
    if (parts.size() == 1) return parts[0];
    return parts.size() == 2 && join.op == "Sum" ? b_.op("Add", parts) : b_.op(join.op, parts);
  }

  const Site& site_;
  const LaneFamily& family_;
  const std::set<std::size_t>& cut_;
  ProgramBuilder b_;
  LaneWriter writer_;
  std::vector<std::optional<LaneOperand>> operands_;
  int written_ = 0;
  bool has_product_ = false, copies_ = false;
};

// The family without what cannot be written.
std::optional<Proposal> batched(const Site& site, const LaneFamily& family, bool stacks) {
  std::set<std::size_t> cut;
  for (int k = 0; k < kMostCuts; ++k) {
    FamilyWriter writer(site, family, cut, stacks);
    const auto failed = writer.write();
    if (!failed) return writer.proposal();
    if (family.join && *failed + 1 == family.rows.size()) return std::nullopt;
    cut.insert(*failed);
  }
  return std::nullopt;
}

Proposals propose_batch(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  const Site site(graph, inference, *options.machine);
  Proposals out;
  for (const LaneFamily& family : lane_families(site)) {
    auto folded = batched(site, family, false), stacked = batched(site, family, true);
    const bool are_same = folded && stacked && folded->gain == stacked->gain;
    out.add(std::move(folded));
    if (!are_same) out.add(std::move(stacked));
  }
  return out;
}

}  // namespace

constinit const Proposer kBatch{
    .name = "batch",
    .title = "equal computations as one",
    .law = "[f(x₁, w₁), …, f(xₙ, wₙ)] = f⁽ⁿ⁾([x₁ … xₙ], [w₁ … wₙ])",
    .finds =
        "Runs the same computation on several inputs as one, as a batch or as groups: heads, "
        "steps, branches, experts and towers in a loop, with equal or different weights.",
    .propose = propose_batch,
    .remark = "equal computations as one",
};

}  // namespace isomer
