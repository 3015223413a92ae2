#include "attack/search/random_rewrite.h"

#include <algorithm>
#include <map>

#include "model/graph/program_builder.h"

namespace isomer::testing {
namespace {

// Operators of one signature: any of them is legal where another is.
const std::vector<std::vector<std::string>> kAlike{
    {"Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Exp", "Erf", "Softplus", "Identity"},
    {"Add", "Mul", "Sub", "Div"},
    {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2"},
    {"GlobalAveragePool", "GlobalMaxPool"},
    {"Softmax", "LogSoftmax"},
    {"Sqrt", "Reciprocal", "Abs"},
};

bool is_commutative(const std::string& op) { return op == "Add" || op == "Mul"; }

}  // namespace

RandomRewrite::RandomRewrite(const Graph& region, const Inference& inference, Random& random)
    : random_(random) {
  std::map<NodeId, int> moved;
  for (const NodeId id : region.order()) {
    Part part{.node = region.node(id), .inputs = {}, .shapes = {}, .types = {}};
    for (const Value& v : part.node.inputs)
      part.inputs.push_back(v.exists() ? Ref{moved.at(v.node), v.output} : Ref{});
    for (std::uint32_t k = 0; k < part.node.outputs.size(); ++k) {
      const ValueInfo& info = inference.of({id, k});
      part.shapes.push_back(info.shape.value_or(Dims{Dim(-1)}));
      part.types.push_back(info.type);
    }
    moved.emplace(id, static_cast<int>(parts_.size()));
    parts_.push_back(std::move(part));
  }
  const Value last = region.outputs()[0];
  result_ = {moved.at(last.node), last.output};
}

std::optional<std::string> RandomRewrite::change() {
  struct Kind {
    std::string name;
    bool (RandomRewrite::*apply)();
  };
  static const std::vector<Kind> kinds{{"inputs swapped", &RandomRewrite::swap_inputs},
                                       {"another operator", &RandomRewrite::other_operator},
                                       {"another attribute", &RandomRewrite::other_attribute},
                                       {"another input", &RandomRewrite::other_input},
                                       {"a node dropped", &RandomRewrite::drop_node},
                                       {"another constant", &RandomRewrite::other_constant},
                                       {"neighbours swapped", &RandomRewrite::swap_neighbours},
                                       {"commuted", &RandomRewrite::commute},
                                       {"identity put in", &RandomRewrite::insert_identity},
                                       {"negated twice", &RandomRewrite::negate_twice},
                                       {"transposed twice", &RandomRewrite::transpose_twice},
                                       {"difference as a sum", &RandomRewrite::subtract_by_adding},
                                       {"reassociated", &RandomRewrite::reassociate},
                                       {"distributed", &RandomRewrite::distribute}};
  for (int tries = 0; tries < 8; ++tries)
    if (const Kind& kind = kinds[below(random_, kinds.size())]; (this->*kind.apply)()) return kind.name;
  return std::nullopt;
}

Graph RandomRewrite::program(const Graph& graph, const std::string& replaced) const {
  ProgramBuilder b(graph, replaced);
  std::vector<Value> made;
  for (const Part& part : parts_) {
    std::vector<Value> inputs;
    for (const Ref& r : part.inputs)
      inputs.push_back(r.part < 0 ? Value::none()
                                  : Value{made[static_cast<std::size_t>(r.part)].node, r.output});
    if (part.node.kind == NodeKind::Operator) made.push_back(b.copy(part.node, inputs));
    else if (part.is_new) made.push_back(b.constant(part.node.tensor));
    else made.push_back(b.input(part.node.outputs[0]));
  }
  b.output({made[static_cast<std::size_t>(result_.part)].node, result_.output});
  return b.graph();
}

std::vector<int> RandomRewrite::operators() const {
  std::vector<int> out;
  for (int k = 0; k < static_cast<int>(parts_.size()); ++k)
    if (parts_[static_cast<std::size_t>(k)].node.kind == NodeKind::Operator) out.push_back(k);
  return out;
}

std::optional<int> RandomRewrite::some_operator(const std::vector<std::string>& names) {
  std::vector<int> all = operators();
  std::erase_if(all, [&](int k) {
    const Node& node = parts_[static_cast<std::size_t>(k)].node;
    return !node.domain.empty() || (!names.empty() && std::ranges::find(names, node.op) == names.end());
  });
  if (all.empty()) return std::nullopt;
  return all[below(random_, all.size())];
}

bool RandomRewrite::is_like(Ref a, Ref b) const {
  if (a.part < 0 || b.part < 0) return false;
  const Part &x = parts_[static_cast<std::size_t>(a.part)], &y = parts_[static_cast<std::size_t>(b.part)];
  return x.shapes[a.output] == y.shapes[b.output] && x.types[a.output] == y.types[b.output];
}

RandomRewrite::Ref RandomRewrite::insert(int at, const std::string& op, const std::vector<Ref>& inputs,
                                         Ref like, Attributes attributes) {
  Part part{.node = {}, .inputs = inputs, .is_new = true, .shapes = {}, .types = {}};
  part.node.op = op;
  part.node.outputs = {""};
  part.node.attributes = std::move(attributes);
  const Part& model = parts_[static_cast<std::size_t>(like.part)];
  part.shapes = {model.shapes[like.output]};
  part.types = {model.types[like.output]};
  parts_.insert(parts_.begin() + at, std::move(part));
  const auto shift = [&](Ref& r) {
    if (r.part >= at) ++r.part;
  };
  for (std::size_t k = static_cast<std::size_t>(at) + 1; k < parts_.size(); ++k)
    std::ranges::for_each(parts_[k].inputs, shift);
  shift(result_);
  return {at, 0};
}

void RandomRewrite::redirect(Ref from, Ref to, int after) {
  for (std::size_t k = static_cast<std::size_t>(after) + 1; k < parts_.size(); ++k)
    std::ranges::replace(parts_[k].inputs, from, to);
  if (result_ == from) result_ = to;
}

bool RandomRewrite::swap_inputs() {
  const auto at = some_operator();
  if (!at) return false;
  auto& inputs = parts_[static_cast<std::size_t>(*at)].inputs;
  if (inputs.size() < 2) return false;
  const std::size_t a = below(random_, inputs.size()), b = below(random_, inputs.size());
  if (inputs[a] == inputs[b]) return false;
  std::swap(inputs[a], inputs[b]);
  return true;
}

bool RandomRewrite::other_operator() {
  const auto at = some_operator();
  if (!at) return false;
  Node& node = parts_[static_cast<std::size_t>(*at)].node;
  for (const auto& alike : kAlike) {
    if (std::ranges::find(alike, node.op) == alike.end()) continue;
    const std::string& other = alike[below(random_, alike.size())];
    if (other == node.op) return false;
    node.op = other;
    return true;
  }
  return false;
}

bool RandomRewrite::other_attribute() {
  const auto at = some_operator();
  if (!at) return false;
  Node& node = parts_[static_cast<std::size_t>(*at)].node;
  const auto& all = node.attributes.all();
  if (all.empty()) return false;
  const Attribute chosen = all[below(random_, all.size())];
  const std::int64_t by = below(random_, 2) == 0 ? 1 : -1;
  if (const auto* i = std::get_if<std::int64_t>(&chosen.value)) {
    node.attributes.set(chosen.name, *i + by);
  } else if (const auto* f = std::get_if<float>(&chosen.value)) {
    node.attributes.set(chosen.name, *f * (below(random_, 2) == 0 ? 1.001f : -1.0f));
  } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&chosen.value);
             list && !list->empty()) {
    std::vector<std::int64_t> changed = *list;
    std::int64_t& entry = changed[below(random_, changed.size())];
    if (below(random_, 2) == 0) entry += by;
    else std::swap(entry, changed[below(random_, changed.size())]);
    node.attributes.set(chosen.name, changed);
  } else {
    return false;
  }
  return true;
}

bool RandomRewrite::other_input() {
  const auto at = some_operator();
  if (!at) return false;
  auto& inputs = parts_[static_cast<std::size_t>(*at)].inputs;
  if (inputs.empty()) return false;
  Ref& input = inputs[below(random_, inputs.size())];
  std::vector<Ref> others;
  for (int k = 0; k < *at; ++k)
    for (std::uint32_t o = 0; o < parts_[static_cast<std::size_t>(k)].shapes.size(); ++o)
      if (const Ref r{k, o}; r != input && is_like(r, input)) others.push_back(r);
  if (others.empty()) return false;
  input = others[below(random_, others.size())];
  return true;
}

bool RandomRewrite::drop_node() {
  const auto at = some_operator();
  if (!at) return false;
  const std::vector<Ref> inputs = parts_[static_cast<std::size_t>(*at)].inputs;
  for (const Ref& r : inputs)
    if (is_like(r, {*at, 0})) {
      redirect({*at, 0}, r, *at);
      return true;
    }
  return false;
}

bool RandomRewrite::other_constant() {
  std::vector<Part*> constants;
  for (Part& p : parts_)
    if (p.node.kind == NodeKind::Initializer && p.node.tensor.count() > 0) constants.push_back(&p);
  if (constants.empty()) return false;
  Part& part = *constants[below(random_, constants.size())];
  const Tensor& old = part.node.tensor;
  part.is_new = true;
  if (below(random_, 4) == 0) return true;  // the same bytes, under another name
  const std::size_t at = below(random_, static_cast<std::size_t>(old.count()));
  if (old.type() == ElementType::Float) {
    std::vector<float> values(old.as<float>().begin(), old.as<float>().end());
    values[at] = below(random_, 2) == 0 ? values[at] * 1.001f + 1e-6f : -values[at];
    part.node.tensor = Tensor::of(old.type(), old.extents(), values);
  } else if (old.type() == ElementType::Int64) {
    std::vector<std::int64_t> values(old.as<std::int64_t>().begin(), old.as<std::int64_t>().end());
    values[at] += below(random_, 2) == 0 ? 1 : -1;
    part.node.tensor = Tensor::of(old.type(), old.extents(), values);
  }
  return true;
}

// f(g(x)) as g(f(x)).
bool RandomRewrite::swap_neighbours() {
  const auto at = some_operator();
  if (!at) return false;
  Part& outer = parts_[static_cast<std::size_t>(*at)];
  if (outer.inputs.empty() || outer.inputs[0].part < 0) return false;
  Part& inner = parts_[static_cast<std::size_t>(outer.inputs[0].part)];
  if (inner.node.kind != NodeKind::Operator || inner.inputs.empty()) return false;
  // Each keeps what else it reads, as far as that comes before it.
  for (std::size_t k = 1; k < outer.inputs.size(); ++k)
    if (outer.inputs[k].part >= outer.inputs[0].part) return false;
  std::swap(inner.node, outer.node);
  std::vector<Ref> rest(outer.inputs.begin() + 1, outer.inputs.end());
  outer.inputs.resize(1);
  outer.inputs.insert(outer.inputs.end(), inner.inputs.begin() + 1, inner.inputs.end());
  inner.inputs.resize(1);
  inner.inputs.insert(inner.inputs.end(), rest.begin(), rest.end());
  return true;
}

bool RandomRewrite::commute() {
  const auto at = some_operator({"Add", "Mul"});
  if (!at) return false;
  auto& inputs = parts_[static_cast<std::size_t>(*at)].inputs;
  std::swap(inputs[0], inputs[1]);
  return true;
}

bool RandomRewrite::insert_identity() {
  const auto at = some_operator();
  if (!at) return false;
  const Ref from{*at, 0};
  redirect(from, insert(*at + 1, "Identity", {from}, from), *at + 1);
  return true;
}

bool RandomRewrite::negate_twice() {
  const auto at = some_operator();
  if (!at || !is_float(parts_[static_cast<std::size_t>(*at)].types[0])) return false;
  const Ref from{*at, 0};
  const Ref once = insert(*at + 1, "Neg", {from}, from);
  redirect(from, insert(*at + 2, "Neg", {once}, from), *at + 2);
  return true;
}

bool RandomRewrite::transpose_twice() {
  const auto at = some_operator();
  if (!at) return false;
  const Ref from{*at, 0};
  const std::size_t rank = parts_[static_cast<std::size_t>(*at)].shapes[0].size();
  std::vector<std::int64_t> order(rank), back(rank);
  for (std::size_t k = 0; k < rank; ++k) order[k] = static_cast<std::int64_t>(k);
  std::ranges::shuffle(order, random_);
  for (std::size_t k = 0; k < rank; ++k)
    back[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  if (below(random_, 3) == 0) std::ranges::shuffle(back, random_);  // or not quite back
  const Ref once = insert(*at + 1, "Transpose", {from}, from, with({{"perm", order}}));
  redirect(from, insert(*at + 2, "Transpose", {once}, from, with({{"perm", back}})), *at + 2);
  return true;
}

// a - b as a + -b; sometimes the wrong one is negated.
bool RandomRewrite::subtract_by_adding() {
  const auto at = some_operator({"Sub"});
  if (!at) return false;
  const auto inputs = parts_[static_cast<std::size_t>(*at)].inputs;
  const std::size_t which = below(random_, 4) == 0 ? 0 : 1;
  const Ref negated = insert(*at, "Neg", {inputs[which]}, inputs[which]);
  Part& sum = parts_[static_cast<std::size_t>(*at) + 1];
  sum.node.op = "Add";
  sum.inputs[which] = negated;
  return true;
}

// (a + b) + c as a + (b + c), of any two operators.
bool RandomRewrite::reassociate() {
  const auto at = some_operator({"Add", "Mul", "Sub", "MatMul"});
  if (!at) return false;
  Part& outer = parts_[static_cast<std::size_t>(*at)];
  const Ref left = outer.inputs[0], c = outer.inputs[1];
  if (left.part < 0 || c.part < 0 || !parts_[static_cast<std::size_t>(left.part)].node.domain.empty())
    return false;
  const Part inner = parts_[static_cast<std::size_t>(left.part)];
  if (inner.node.op != outer.node.op || inner.inputs.size() != 2) return false;
  const Ref sum = insert(*at, inner.node.op, {inner.inputs[1], c}, {*at, 0});
  parts_[static_cast<std::size_t>(*at) + 1].inputs = {inner.inputs[0], sum};
  return true;
}

// (a + b) * c as a * c + b * c, of any two operators.
bool RandomRewrite::distribute() {
  const auto at = some_operator({"Mul", "MatMul", "Div"});
  if (!at) return false;
  Part& outer = parts_[static_cast<std::size_t>(*at)];
  const Ref left = outer.inputs[0], c = outer.inputs[1];
  if (left.part < 0 || c.part < 0 || !parts_[static_cast<std::size_t>(left.part)].node.domain.empty())
    return false;
  const Part inner = parts_[static_cast<std::size_t>(left.part)];
  const std::string op = outer.node.op;
  if (inner.inputs.size() != 2 || (!is_commutative(inner.node.op) && inner.node.op != "Sub")) return false;
  const Ref first = insert(*at, op, {inner.inputs[0], c}, {*at, 0});
  const Ref second = insert(*at + 1, op, {inner.inputs[1], c}, {*at + 1, 0});
  Part& sum = parts_[static_cast<std::size_t>(*at) + 2];
  sum.node = inner.node;
  sum.inputs = {first, second};
  return true;
}

}  // namespace isomer::testing
