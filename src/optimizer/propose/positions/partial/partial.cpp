#include "optimizer/propose/positions/partial/partial.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernel/prove/step.h"
#include "optimizer/facts/copied_nodes.h"
#include "optimizer/facts/linear_region.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

using Integers = std::vector<std::int64_t>;

// The largest share of wrong positions; with more, the correction would be the program itself.
constexpr double kMostShare = 0.5;

// Positions from `begin` to before `end`; negative ones are counted from the end of the axis.
struct Interval {
  std::size_t axis;
  std::int64_t begin, end;
};
using Part = std::vector<Interval>;

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

Interval first_of(const Margin& m) { return {m.axis, 0, m.begin}; }
Interval between(const Margin& m, const Dim& extent) {
  if (const auto n = extent.value()) return {m.axis, m.begin, *n - m.end};
  return {m.axis, m.begin, m.end == 0 ? kEnd : -m.end};
}
Interval last_of(const Margin& m, const Dim& extent) {
  if (const auto n = extent.value()) return {m.axis, *n - m.end, *n};
  return {m.axis, -m.end, kEnd};
}

// A program of one output, and a part of that: computed from no more than it needs, where nodes can
// (optimizer/propose/positions/needed.cpp).
class Cut {
 public:
  Cut(const Site& outer, const Graph& program, const Part& part) : outer_(outer), sliced_(program) {
    if (part.empty()) return;
    const auto constant = [&](const char* name, const Integers& values) {
      Node node;
      node.kind = NodeKind::Initializer;
      node.outputs = {std::string("partial.") + name};
      node.tensor = Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(values.size())}, values);
      return Value{sliced_.add(std::move(node)), 0};
    };
    Integers begins, ends, axes;
    for (const Interval& i : part) {
      begins.push_back(i.begin);
      ends.push_back(i.end);
      axes.push_back(static_cast<std::int64_t>(i.axis));
    }
    Node slice;
    slice.op = "Slice";
    slice.inputs = {program.outputs()[0], constant("begins", begins), constant("ends", ends),
                    constant("axes", axes)};
    slice.outputs = {"partial.part"};
    const Value y{sliced_.add(std::move(slice)), 0};
    const Graph all = sliced_;
    sliced_ = all.without_nodes();
    for (const NodeId id : all.order()) sliced_.add(id);
    for (const Value& v : all.inputs()) sliced_.add_input(v);
    sliced_.add_output(y);
  }

  // In another program. nullopt: a size is not known.
  std::optional<Value> write(ProgramBuilder& b) const {
    const auto inference = infer(sliced_);
    if (!inference.ok()) return std::nullopt;
    const std::string& name = sliced_.name_of(sliced_.outputs()[0]);
    for (const Proposal& p : kNeeded(sliced_, *inference, {.any_price = true}).list)
      if (p.claim.outputs == std::vector<std::string>{name} && !has_look_up(p.claim.after))
        return append_program(b, outer_, sliced_, p.claim.after);
    return append_program(b, outer_, sliced_);
  }

 private:
  // Positions of two axes that are one are no slice: cutting them later is cheaper.
  static bool has_look_up(const Graph& program) {
    return std::ranges::any_of(program.order(), [&](NodeId id) { return program.node(id).op == "Gather"; });
  }

  const Site& outer_;
  Graph sliced_;
};

class Correction {
 public:
  Correction(const Site& site, const Mutant& mutant, const WrongPositions& wrong, const Graph& right)
      : site_(site),
        mutant_(mutant),
        wrong_(wrong),
        right_(right),
        shape_(*site.inference.of(mutant.to).shape),
        b_(site.graph, site.name(mutant.to)) {}

  ProgramBuilder& builder() { return b_; }

  std::optional<Value> joined(Join join) {
    if (wrong_.margins.empty()) return append_program(b_, site_, mutant_.program);
    switch (join) {
      case Join::Concat: return concatenate();
      case Join::PadAndAdd: return padded_and_added();
    }
    return std::nullopt;
  }

 private:
  // The wrong part: at either end of every margin's axis, between the margins before it.
  std::vector<Part> wrong_parts() const {
    std::vector<Part> out;
    Part inside;
    for (const Margin& m : wrong_.margins) {
      const Dim& extent = shape_[m.axis];
      for (const bool is_end : {false, true}) {
        if ((is_end ? m.end : m.begin) == 0) continue;
        Part part = inside;
        part.push_back(is_end ? last_of(m, extent) : first_of(m));
        out.push_back(std::move(part));
      }
      inside.push_back(between(m, extent));
    }
    return out;
  }

  std::optional<std::vector<Value>> again() {
    std::vector<Value> out;
    for (const Part& part : wrong_parts()) {
      const auto value = Cut(site_, right_, part).write(b_);
      if (!value) return std::nullopt;
      out.push_back(*value);
    }
    return out;
  }

  // The right part of the mutant.
  Part inside() const {
    Part out;
    for (const Margin& m : wrong_.margins) out.push_back(between(m, shape_[m.axis]));
    return out;
  }
  std::optional<Value> right_part() {
    return Cut(site_, with_constants(site_, mutant_.program), inside()).write(b_);
  }

  std::optional<Value> concatenate() {
    auto value = right_part();
    auto corrections = again();
    if (!value || !corrections) return std::nullopt;
    const auto next = [&] {
      const Value last = corrections->back();
      corrections->pop_back();
      return last;
    };
    for (std::size_t k = wrong_.margins.size(); k-- > 0;) {
      const Margin& m = wrong_.margins[k];
      std::vector<Value> parts{*value};
      if (m.end > 0) parts.push_back(next());
      if (m.begin > 0) parts.insert(parts.begin(), next());
      value = b_.concat(parts, static_cast<std::int64_t>(m.axis));
    }
    return value;
  }

  std::optional<Value> padded_and_added() {
    if (std::ranges::any_of(wrong_.margins, [&](const Margin& m) { return !shape_[m.axis].is_concrete(); }))
      return std::nullopt;
    const auto value = right_part();
    const auto corrections = again();
    if (!value || !corrections) return std::nullopt;
    const std::vector<Part> parts = wrong_parts();
    Value out = padded(*value, inside());
    for (std::size_t k = 0; k < parts.size(); ++k)
      out = b_.op("Add", {out, padded((*corrections)[k], parts[k])});
    return out;
  }

  // With zeros around it, as large as the whole.
  Value padded(Value value, const Part& part) {
    Integers pads(2 * shape_.size(), 0);
    for (const Interval& i : part) {
      pads[i.axis] = i.begin;
      pads[shape_.size() + i.axis] = shape_[i.axis].concrete() - i.end;
    }
    return b_.op("Pad", {value, b_.integers(pads)});
  }

  const Site& site_;
  const Mutant& mutant_;
  const WrongPositions& wrong_;
  const Graph& right_;
  Dims shape_;
  ProgramBuilder b_;
};

double share_of(const Site& site, const Mutant& mutant, const WrongPositions& wrong) {
  const auto sizes = site.sizes(mutant.to);
  if (!sizes) return 1;
  double right = 1;
  for (const Margin& m : wrong.margins) {
    const auto n = static_cast<double>((*sizes)[m.axis]);
    right *= std::max(0.0, n - static_cast<double>(m.begin + m.end)) / n;
  }
  return 1 - right;
}

std::string told(const WrongPositions& wrong) {
  if (wrong.is_empty) return "nothing is wrong";
  std::string out;
  for (const Margin& m : wrong.margins) {
    out += fmt::format("{}axis {}: ", out.empty() ? "" : "; ", m.axis);
    if (m.begin > 0) out += fmt::format("first {}", m.begin);
    if (m.end > 0) out += fmt::format("{}last {}", m.begin > 0 ? ", " : "", m.end);
  }
  return fmt::format("wrong at {}, which is computed as before", out);
}

// Functions of the result alone, each read once: so that a runtime can still compute them with the
// convolution.
std::vector<NodeId> functions_after(const Site& site, Value end) {
  std::vector<NodeId> out;
  while (const auto next = site.only_reader(end)) {
    if (site.is_output(end) || site.node(*next).inputs.size() != 1 || !is_pointwise(site, *next)) break;
    out.push_back(*next);
    end = {*next, 0};
  }
  return out;
}

// With these functions after its convolution. The positions at which the mutant is right do not change.
Mutant with_functions(const Site& site, const Mutant& mutant, const std::vector<NodeId>& functions) {
  if (functions.empty()) return mutant;
  Mutant out = mutant;
  out.to = {functions.back(), 0};
  ProgramBuilder b(site.graph, site.name(out.to));
  std::map<Value, Value> made;
  for (const NodeId id : mutant.program.order()) {
    const Node& node = mutant.program.node(id);
    std::vector<Value> inputs;
    for (const Value& v : node.inputs) inputs.push_back(v.exists() ? made.at(v) : v);
    Value value = node.kind == NodeKind::Input         ? b.input(node.outputs[0])
                  : node.kind == NodeKind::Initializer ? b.constant(node.tensor)
                                                       : b.copy(node, inputs);
    if (node.op == "Conv")
      for (const NodeId function : functions) value = b.copy(site.node(function), {value});
    made.emplace(Value{id, 0}, value);
  }
  b.output(made.at(mutant.program.outputs()[0]));
  out.program = b.graph();
  return out;
}

// The saving of the mutant if it were right.
double gain_of(const Site& site, const Mutant& mutant) {
  ProgramBuilder b(site.graph, site.name(mutant.to));
  const Value y = append_program(b, site, mutant.program);
  const auto proposal = propose(site, "partial", mutant.what, b, {mutant.to}, {y});
  return proposal ? proposal->gain : 0;
}

void propose_mutant(const Site& site, const Mutant& bare, const ProposeOptions& options, Proposals& out) {
  const auto decline = [&](const std::string& why) {
    out.declined.push_back(fmt::format("{}: {}", bare.what, why));
  };
  // Another kernel is a matter of arithmetic; how images are laid out, the runtime has to say.
  const bool must_gain = bare.is_arithmetic && !options.any_price && !options.relaxed;
  if (must_gain && gain_of(site, bare) <= 0) return;
  const auto right = region_of(site.graph, site.inference, {bare.from}, {bare.to});
  if (!right.ok()) return;
  const auto wrong = wrong_positions(*right, with_constants(site, bare.program));
  const Mutant mutant = with_functions(site, bare, functions_after(site, bare.to));
  if (!wrong.ok()) return decline(wrong.error().message);
  const double share = share_of(site, mutant, *wrong);
  if (share > kMostShare && !options.any_price)
    return decline(fmt::format("{:.0f} % is wrong, {}", 100 * share, wrong->set));
  std::optional<Proposal> best;
  for (const Join join : {Join::Concat, Join::PadAndAdd}) {
    if (wrong->is_empty && best) break;
    auto next = correct(site, mutant, *wrong, join);
    if (next && (!best || next->gain > best->gain)) best = std::move(next);
  }
  if (!best) return decline("wrong at " + wrong->set + ", which can't be written for all sizes");
  if (must_gain && best->gain <= 0) return decline("no gain by the analytic cost; " + told(*wrong));
  out.list.push_back(std::move(*best));
}

}  // namespace

std::optional<Proposal> correct(const Site& site, const Mutant& mutant, const WrongPositions& wrong,
                                Join join) {
  const auto right = region_of(site.graph, site.inference, {mutant.from}, {mutant.to});
  if (!right.ok()) return std::nullopt;
  Correction correction(site, mutant, wrong, *right);
  const auto y = correction.joined(join);
  if (!y) return std::nullopt;
  return propose(site, "partial", fmt::format("{}: {}", mutant.what, told(wrong)), correction.builder(),
                 {mutant.to}, {*y});
}

namespace {

// Unasked, only what is likely to gain; `relaxed` and `any_price`: all mutants.
Proposals propose_partial(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  if (graph.opset("") < 11) return out;
  const Site site(graph, inference, *options.machine);
  const auto mutations = options.any_price || options.relaxed ? Mutations::All : Mutations::Likely;
  for (const NodeId id : graph.order())
    for (const Mutant& mutant : mutants_of(site, id, mutations)) propose_mutant(site, mutant, options, out);
  return out;
}

}  // namespace

constinit const Proposer kPartial{
    .name = "partial",
    .title = "right except at a border",
    .law = "f(x) = g(x) outside of B   ⟹   f(x) = g(x) outside of B, f(x)[B] on B",
    .finds =
        "Uses a computation that is right except at a border, and computes the border as before: "
        "a 3×3 convolution after a 3×3 one as one of 5×5, the small images of a batch side by "
        "side under large weights.",
    .propose = propose_partial,
    .remark = "the border as before",
};

}  // namespace isomer
