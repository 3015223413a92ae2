// reassociate: sums and chains of products in another order.
//
// Associativity ((AB)C = A(BC), by cost), distributivity (a product with a concatenation is a sum of
// products), sums of products as matrix products, products with repeated operands once for all repetitions.
#include <fmt/format.h>

#include <algorithm>

#include "graph/constant.h"
#include "propose/contraction.h"
#include "propose/parts.h"
#include "rewrite/linear_region.h"
#include "rewrite/site.h"

namespace isomer {
namespace {

constexpr const char* kKind = "reassociate";

// (A B) C = A (B C), both ways.
void chains(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    if (!site.is(id, "MatMul")) continue;
    const std::vector<Value>& in = site.node(id).inputs;
    for (const std::size_t side : {0u, 1u}) {
      const auto inner = site.made_by(in[side], "MatMul");
      if (!inner || site.only_reader({*inner, 0}) != id) continue;
      ProgramBuilder b(site.graph, site.name({id, 0}));
      const auto read = [&](Value v) { return b.input(site.name(v)); };
      const std::vector<Value>& deep = site.node(*inner).inputs;
      const Value x = read(side == 0 ? deep[0] : in[0]), y = read(deep[side == 0 ? 1 : 0]),
                  z = read(side == 0 ? in[1] : deep[1]);
      const Value result = side == 0 ? b.op("MatMul", {x, b.op("MatMul", {y, z})})
                                     : b.op("MatMul", {b.op("MatMul", {x, y}), z});
      out.add(propose(site, kKind, fmt::format("the products of {} in another order", site.name({id, 0})), b,
                      {{id, 0}}, {result}));
    }
  }
}

// Labels of a formula that is one sum of products of two reads, each at plain axes.
struct Contraction {
  Labels left, right, out;
  LabelSizes extents;
};

std::optional<Labels> labels_of_read(const ExprNode& e, int input, Contraction& c) {
  if (e.kind != ExprNode::Kind::Read || e.tensor.kind != TensorRef::Kind::Input || e.tensor.number != input)
    return std::nullopt;
  Labels out;
  for (const Index& i : e.at) {
    if (i.is_constant()) {
      out.push_back(kNoLabel);  // an axis of one element
      continue;
    }
    const auto axis = i.as_axis();
    if (!axis || !axis->extent.is_concrete() || std::ranges::find(out, axis->id) != out.end())
      return std::nullopt;
    out.push_back(axis->id);
    c.extents[axis->id] = axis->extent.concrete();
  }
  return out;
}

std::optional<Contraction> contraction_of(const Formula& formula) {
  if (formula.stages.size() != 1 || formula.inputs.size() != 2) return std::nullopt;
  const Stage& stage = formula.stages[0];
  const ExprNode& sum = *stage.value;
  if (sum.kind != ExprNode::Kind::Reduce || sum.reduction != Reduction::Sum || !sum.domain.empty())
    return std::nullopt;
  const ExprNode& product = *sum.args[0];
  if (product.kind != ExprNode::Kind::Apply || product.fn != Fn::Mul) return std::nullopt;
  Contraction c;
  const auto left = labels_of_read(*product.args[0], 0, c), right = labels_of_read(*product.args[1], 1, c);
  if (!left || !right) return std::nullopt;
  c.left = *left;
  c.right = *right;
  for (const Axis& a : stage.axes)
    if (!a.extent.is(1)) c.out.push_back(a.id);
  return c;
}

// A contraction that is written otherwise than as MatMul.
void contractions(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    if (site.node(id).kind != NodeKind::Operator || site.node(id).inputs.size() != 2 || site.is(id, "MatMul"))
      continue;
    const auto formula = site.formula(id);
    const auto c = formula ? contraction_of(*formula) : std::nullopt;
    if (!c) continue;
    ProgramBuilder b(site.graph, site.name({id, 0}));
    const Value x = site.node(id).inputs[0], y = site.node(id).inputs[1];
    const auto sizes = site.concrete_sizes({id, 0});
    if (!sizes) continue;
    const auto result =
        contract(b, {b.input(site.name(x)), c->left, site.is_constant(x)},
                 {b.input(site.name(y)), c->right, site.is_constant(y)}, c->out, c->extents, to_dims(*sizes));
    if (!result) continue;
    out.add(propose(site, kKind, fmt::format("{} as a matrix product", label(site.node(id))), b, {{id, 0}},
                    {*result}));
  }
}

std::optional<std::vector<std::int64_t>> reduced_axes(const Site& site, NodeId id, std::size_t rank) {
  const Node& node = site.node(id);
  std::optional<std::vector<std::int64_t>> axes;
  if (node.inputs.size() > 1 && node.inputs[1].exists()) axes = site.integers(node.inputs[1]);
  else axes = attribute(node, "axes", std::vector<std::int64_t>{});
  if (!axes) return std::nullopt;
  for (std::int64_t& a : *axes)
    if (a < 0) a += static_cast<std::int64_t>(rank);
  return axes;
}

// Σ over some axes of a broadcast product.
void sums_of_products(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    if (!site.is(id, "ReduceSum")) continue;
    const auto product = site.made_by(site.node(id).inputs[0], "Mul");
    if (!product || site.only_reader({*product, 0}) != id) continue;
    const auto full = site.concrete_sizes({*product, 0}), result_sizes = site.concrete_sizes({id, 0});
    const auto axes = full ? reduced_axes(site, id, full->size()) : std::nullopt;
    if (!axes || axes->empty() || !result_sizes) continue;
    LabelSizes extents;
    Labels result;
    for (std::size_t d = 0; d < full->size(); ++d) {
      extents[static_cast<int>(d)] = (*full)[d];
      if (std::ranges::find(*axes, static_cast<std::int64_t>(d)) == axes->end())
        result.push_back(static_cast<int>(d));
    }
    ProgramBuilder b(site.graph, site.name({id, 0}));
    std::vector<Operand> operands;
    for (const Value& v : site.node(*product).inputs) {
      const auto sizes = site.concrete_sizes(v);
      if (!sizes) break;
      Operand o{.value = b.input(site.name(v)), .labels = {}, .is_constant = site.is_constant(v)};
      const std::size_t offset = full->size() - sizes->size();
      for (std::size_t d = 0; d < sizes->size(); ++d)
        o.labels.push_back((*sizes)[d] == (*full)[d + offset] ? static_cast<int>(d + offset) : kNoLabel);
      operands.push_back(std::move(o));
    }
    if (operands.size() != 2) continue;
    const auto value = contract(b, operands[0], operands[1], result, extents, to_dims(*result_sizes));
    if (!value) continue;
    out.add(propose(site, kKind, fmt::format("sum of products {} as a matrix product", site.name({id, 0})), b,
                    {{id, 0}}, {*value}));
  }
}

// A product with a concatenation is the sum of the products with its parts.
void sums_over_parts(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    const bool is_conv = site.is(id, "Conv") && attribute(site.node(id), "group", std::int64_t{1}) == 1;
    if (!is_conv && !site.is(id, "MatMul")) continue;
    const std::vector<Value>& in = site.node(id).inputs;
    const auto parts = site.made_by(in[0], "Concat");
    if (!parts || !site.is_constant(in[1])) continue;
    const auto full = site.sizes(in[0]);
    const std::vector<Value>& xs = site.node(*parts).inputs;
    if (!full || xs.size() > 8) continue;
    const auto rank = static_cast<std::int64_t>(full->size());
    std::int64_t axis = attribute(site.node(*parts), "axis", std::int64_t{0});
    if (axis < 0) axis += rank;
    if (axis != (is_conv ? 1 : rank - 1)) continue;
    ProgramBuilder b(site.graph, site.name({id, 0}));
    const Value w = b.input(site.name(in[1]));
    Value sum = Value::none();
    std::int64_t begin = 0;
    for (const Value& x : xs) {
      const auto sizes = site.concrete_sizes(x);
      if (!sizes) break;
      const std::int64_t end = begin + (*sizes)[static_cast<std::size_t>(axis)];
      std::vector<Value> inputs{b.input(site.name(x)), b.slice(w, is_conv ? 1 : 0, begin, end)};
      if (begin == 0 && in.size() > 2 && in[2].exists()) inputs.push_back(b.input(site.name(in[2])));
      const Value term = b.copy(site.node(id), inputs);
      sum = sum.exists() ? b.op("Add", {sum, term}) : term;
      begin = end;
    }
    if (begin != (*full)[static_cast<std::size_t>(axis)]) continue;
    out.add(propose(site, kKind,
                    fmt::format("{} as a sum over the parts of {}", site.name({id, 0}), site.name(in[0])), b,
                    {{id, 0}}, {sum}));
  }
}

// Where one position of a value that is only moved data comes from.
class Movement {
 public:
  Movement(const Site& site, Value output) : site_(site) {
    // Back through what only moves data and is read here only, to the smallest value on the way.
    std::vector<NodeId> nodes;
    Value at = output;
    std::int64_t least = count(output);
    while (at.exists() && site.node(at.node).kind == NodeKind::Operator && !site.is_constant(at)) {
      const auto formula = site.formula(at.node);
      if (!formula || !moves_data(*formula->output(0).value) || site.activations(at.node).size() != 1) break;
      if (at != output && !site.only_reader(at)) break;
      nodes.insert(nodes.begin(), at.node);
      at = site.node(at.node).inputs[0];
      if (count(at) > least || count(at) == count(output) || count(at) == 0) continue;
      least = count(at);
      region_ = LinearRegion{.nodes = nodes, .input = at, .output = output, .affine = false};
    }
  }
  bool shrinks() const { return region_.has_value(); }
  Value source() const { return region_->input; }
  std::optional<Extents> at(const Extents& position) const {
    const auto box = needed_input(site_.graph, site_.inference, *region_, position);
    return box ? std::optional(box->low) : std::nullopt;
  }

 private:
  std::int64_t count(Value v) const {
    const auto sizes = site_.concrete_sizes(v);
    std::int64_t n = sizes ? 1 : 0;
    if (sizes)
      for (const std::int64_t e : *sizes) n *= e;
    return n;
  }
  const Site& site_;
  std::optional<LinearRegion> region_;
};

// One operand of a batched product, each of whose matrices is repeated so many times in a row.
struct Repeated {
  Value source;
  std::int64_t times;
  std::vector<std::int64_t> order;  // the operand without repetition, as a transposition of its source
};
std::optional<Repeated> repeated(const Site& site, Value operand) {
  const auto sizes = site.concrete_sizes(operand);
  if (!sizes || sizes->size() < 3) return std::nullopt;
  const Movement movement(site, operand);
  if (!movement.shrinks()) return std::nullopt;
  const auto from = site.concrete_sizes(movement.source());
  const std::size_t rank = sizes->size(), batch = rank - 3;
  if (!from || from->size() != rank) return std::nullopt;
  const auto origin = movement.at(Extents(rank, 0));
  if (!origin) return std::nullopt;
  const auto along = [&](std::size_t axis, std::int64_t by) {
    Extents position(rank, 0);
    position[axis] = by;
    return movement.at(position);
  };
  std::int64_t times = 1;
  while (times < (*sizes)[batch] && along(batch, times) == origin) ++times;
  if (times == 1 || (*sizes)[batch] % times != 0) return std::nullopt;
  Repeated out{.source = movement.source(), .times = times, .order = std::vector<std::int64_t>(rank, -1)};
  std::set<std::int64_t> used;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t step = d == batch ? times : 1;
    if ((*sizes)[d] <= step) continue;
    const auto there = along(d, step);
    if (!there) return std::nullopt;
    for (std::size_t s = 0; s < rank; ++s) {
      const std::int64_t by = (*there)[s] - (*origin)[s];
      if (by == 0) continue;
      if (by != 1 || out.order[d] >= 0 || !used.insert(static_cast<std::int64_t>(s)).second)
        return std::nullopt;
      out.order[d] = static_cast<std::int64_t>(s);
    }
  }
  std::int64_t next = 0;
  for (std::int64_t& s : out.order) {
    if (s >= 0) continue;
    while (used.contains(next)) ++next;
    used.insert(next);
    s = next;
  }
  return out;
}

// What follows a value and treats all rows alike, each read once: functions of single elements, Softmax along
// rows.
std::vector<NodeId> row_functions(const Site& site, Value v) {
  std::vector<NodeId> out;
  while (const auto next = site.only_reader(v)) {
    const bool is_alone = site.activations(*next).size() == 1 && site.sizes({*next, 0}) == site.sizes(v);
    const bool is_scaled = std::ranges::all_of(site.node(*next).inputs, [&](Value x) {
      const auto sizes = site.concrete_sizes(x);
      return x == v || (sizes && std::ranges::all_of(*sizes, [](std::int64_t e) { return e == 1; }));
    });
    const std::int64_t axis = attribute(site.node(*next), "axis", std::int64_t{-1});
    const bool is_softmax = site.is(*next, "Softmax") && site.graph.opset("") >= 13 &&
                            (axis == -1 || axis + 1 == static_cast<std::int64_t>(site.sizes(v)->size()));
    if (!is_alone || !is_scaled || (!is_softmax && !is_pointwise(site, *next))) break;
    out.push_back(*next);
    v = {*next, 0};
  }
  return out;
}

// A[h] B[h / times] for all h: the rows of `times` matrices of A times one of B.
class RepeatedProducts {
 public:
  RepeatedProducts(const Site& site, NodeId first, const Repeated& repeat)
      : site_(site), repeat_(repeat), b_(site.graph, site.name({first, 0})) {
    Extents rows = *site.concrete_sizes(site.node(first).inputs[0]);
    rows[rows.size() - 3] /= repeat.times;
    rows[rows.size() - 2] *= repeat.times;
    value_ = product(b_.reshape(b_.input(site.name(site.node(first).inputs[0])), rows), repeat);
    end_ = {first, 0};
  }

  // On through functions of rows to a product with another operand that is repeated alike: attention. False:
  // there is none.
  bool take_next() {
    const auto between = row_functions(site_, end_);
    const auto next = site_.only_reader(between.empty() ? end_ : Value{between.back(), 0});
    if (!next || !site_.is(*next, "MatMul") || between.empty()) return false;
    const std::vector<Value>& in = site_.node(*next).inputs;
    const auto other = in[0] == Value{between.back(), 0} ? repeated(site_, in[1]) : std::nullopt;
    if (!other || other->times != repeat_.times) return false;
    for (const NodeId id : between) {
      std::vector<Value> inputs;
      for (const Value& v : site_.node(id).inputs)
        inputs.push_back(site_.is_constant(v) ? b_.input(site_.name(v)) : value_);
      value_ = b_.copy(site_.node(id), inputs);
    }
    value_ = product(value_, *other);
    end_ = {*next, 0};
    return true;
  }

  std::optional<Proposal> proposal() {
    const auto y = site_.concrete_sizes(end_);
    return propose(site_, kKind,
                   fmt::format("{} without repeating {} {} times", site_.name(end_),
                               site_.name(repeat_.source), repeat_.times),
                   b_, {end_}, {b_.reshape(value_, *y)});
  }

 private:
  Value product(Value x, const Repeated& other) {
    return b_.op("MatMul", {x, b_.transpose(b_.input(site_.name(other.source)), other.order)});
  }

  const Site& site_;
  const Repeated& repeat_;
  ProgramBuilder b_;
  Value value_, end_;
};

void repeated_operands(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    if (!site.is(id, "MatMul")) continue;
    const std::vector<Value>& in = site.node(id).inputs;
    const auto a = site.concrete_sizes(in[0]), y = site.concrete_sizes({id, 0});
    const auto repeat = a && y && a->size() == y->size() ? repeated(site, in[1]) : std::nullopt;
    if (!repeat || (*a)[a->size() - 3] != (*y)[y->size() - 3]) continue;
    out.add(RepeatedProducts(site, id, *repeat).proposal());
    RepeatedProducts both(site, id, *repeat);
    if (both.take_next()) out.add(both.proposal());
  }
}

}  // namespace

Proposals propose_reassociate(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  const Site site(graph, inference, *options.machine);
  chains(site, out);
  if (!options.any_price) std::erase_if(out.list, [](const Proposal& p) { return p.gain <= 0; });
  sums_of_products(site, out);
  contractions(site, out);
  sums_over_parts(site, out);
  repeated_operands(site, out);
  propose_tables(site, out);
  propose_siblings(site, out);
  std::ranges::stable_sort(out.list, std::greater<>{}, &Proposal::gain);
  return out;
}

}  // namespace isomer
