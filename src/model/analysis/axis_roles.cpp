#include "model/analysis/analysis.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "model/analysis/input_reads.h"
#include "model/expr/reads.h"

namespace isomer {

namespace {

// Reads of stages are followed.
class ReadCollector {
 public:
  explicit ReadCollector(const Formula& formula) : formula_(formula) {}

  // `position` gives the stage's axes as indices; `reduced` the reduction axes among them.
  void collect(int stage, const std::vector<Index>& position, const std::set<int>& reduced, int depth = 0) {
    ISOMER_CHECK(depth < 64, "stages read earlier stages only");
    const Stage& s = formula_.stages[static_cast<std::size_t>(stage)];
    const auto bind = [&](const Index& i) {
      return i.substitute([&](const Axis& a) {
        for (std::size_t k = 0; k < s.axes.size(); ++k)
          if (s.axes[k] == a) return position[k];
        return Index(a);
      });
    };
    for_each_position(*s.value, [&](const Index& i) {
      for (const Axis& a : bind(i).axes()) positions.insert(a.id);
    });
    std::vector<Axis> around;
    for_each_read(*s.value, around, [&](const ExprNode& read, const std::vector<Axis>& axes) {
      std::set<int> under = reduced;
      for (const Axis& a : axes) under.insert(a.id);
      std::vector<Index> at;
      for (const Index& i : read.at) at.push_back(bind(i));
      if (read.tensor.kind == TensorRef::Kind::Input)
        reads.push_back({read.tensor.number, std::move(at), std::move(under)});
      else follow(read, at, under, depth);
    });
  }
  std::vector<InputRead> reads;
  std::set<int> positions;  // ids of axes on whose position the value itself depends
  std::set<int> edges;      // ids of axes by which a read of a stage may leave it, and find zero

 private:
  void follow(const ExprNode& read, const std::vector<Index>& at, const std::set<int>& reduced, int depth) {
    for (std::size_t d = 0; d < at.size(); ++d)
      if (!at[d].is_inside(read.extents[d]))
        for (const Axis& a : at[d].axes()) edges.insert(a.id);
    collect(read.tensor.number, at, reduced, depth + 1);
  }

  const Formula& formula_;
};

struct Role {
  AxisRole role;
  int output_axis;
  friend bool operator==(const Role&, const Role&) = default;
};

Role role_of(const Index& full, const std::set<int>& reduced, const std::vector<Axis>& output,
             const Dim& extent) {
  // A reduction over one point is none: 1x1 convolutions are parallel in space.
  const Index index = full.substitute(
      [&](const Axis& a) { return reduced.contains(a.id) && a.extent.is(1) ? Index(0) : Index(a); });
  const auto axes = index.axes();
  if (axes.empty()) return {AxisRole::Fixed, -1};
  const bool affine = std::ranges::all_of(
      index.terms(), [](const Index::Term& t) { return t.atom.kind == Index::AtomKind::Axis; });
  int position = -1, positions = 0, reductions = 0;
  for (const Axis& a : axes) {
    if (reduced.contains(a.id)) ++reductions;
    const auto at = std::ranges::find(output, a);
    if (at == output.end()) continue;
    position = static_cast<int>(at - output.begin());
    ++positions;
  }
  if (positions + reductions != static_cast<int>(axes.size()) || positions > 1 || !affine)
    return {AxisRole::Mixed, -1};
  if (positions == 0) return {AxisRole::Reduced, -1};
  if (reductions > 0) return {AxisRole::Window, position};
  const auto alone = index.as_axis();
  return {alone && alone->extent == extent ? AxisRole::Parallel : AxisRole::Window, position};
}

ReadCollector collected(const Formula& formula, int output) {
  ReadCollector out(formula);
  out.collect(formula.outputs[static_cast<std::size_t>(output)], to_indices(formula.output(output).axes), {});
  return out;
}

}  // namespace

std::vector<InputRead> input_reads(const Formula& formula, int output) {
  return collected(formula, output).reads;
}

std::vector<InputRoles> axis_roles(const Formula& formula, int output) {
  const Stage& stage = formula.output(output);
  const ReadCollector collector = collected(formula, output);
  std::vector<InputRoles> out(formula.inputs.size());
  for (std::size_t k = 0; k < formula.inputs.size(); ++k) {
    if (!formula.inputs[k]) continue;
    const std::size_t rank = formula.inputs[k]->shape.size();
    std::vector<std::optional<Role>> roles(rank);
    std::set<int> seen;
    for (const InputRead& r : collector.reads) {
      if (r.input != static_cast<int>(k)) continue;
      for (std::size_t d = 0; d < rank; ++d) {
        Role role = role_of(r.at[d], r.reduced, stage.axes, formula.inputs[k]->shape[d]);
        if (role.role == AxisRole::Parallel && collector.positions.contains(r.at[d].axes()[0].id))
          role = {AxisRole::Mixed, -1};
        roles[d] = !roles[d] || *roles[d] == role ? role : Role{AxisRole::Mixed, -1};
        for (const Axis& a : r.at[d].axes()) seen.insert(a.id);
      }
    }
    for (const auto& role : roles) {
      out[k].axes.push_back(role ? role->role : AxisRole::Fixed);
      out[k].output_axis.push_back(role ? role->output_axis : -1);
    }
    // A value that is read only in some places depends on the axes that select them.
    for (std::size_t a = 0; a < stage.axes.size(); ++a) {
      const int id = stage.axes[a].id;
      if (!seen.contains(id) && !collector.positions.contains(id) && !collector.edges.contains(id))
        out[k].broadcast.push_back(static_cast<int>(a));
    }
  }
  return out;
}

}  // namespace isomer
