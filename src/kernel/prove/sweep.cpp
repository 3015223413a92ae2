#include "kernel/prove/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <ranges>

#include "kernel/prove/attempts.h"
#include "kernel/prove/last_digits_reach.h"
#include "kernel/prove/region_writer.h"
#include "kernel/prove/shrink.h"
#include "kernel/prove/sizes.h"
#include "kernel/prove/translate.h"
#include "kernel/prove/value_numbers.h"
#include "model/eval/program.h"
#include "model/graph/constant.h"
#include "model/graph/content.h"
#include "model/graph/dequantized.h"
#include "model/graph/purity.h"
#include "model/graph/same.h"

namespace isomer {
namespace {

std::string type_text(const ValueInfo& info) {
  return fmt::format("{}{}", name(info.type), info.shape ? text(*info.shape) : "?");
}

bool only_these_symbols(const Dims& dims, const std::set<std::string>& symbols) {
  for (const Dim& d : dims)
    for (const std::string& s : d.symbols())
      if (!symbols.contains(s)) return false;
  return true;
}

// The same node of two opsets is the same if its formula is.
bool same_formula(const Graph& a, const Inference& a_info, NodeId x, const Graph& b, const Inference& b_info,
                  NodeId y) {
  const Definition p = define_node(a, a_info, x), q = define_node(b, b_info, y);
  const auto *f = std::get_if<Formula>(&p), *g = std::get_if<Formula>(&q);
  return f != nullptr && g != nullptr && text(*f) == text(*g);
}

// Whether an operator whose only variable input is this one has its constants for coefficients.
bool determines(std::string_view op, std::size_t input) {
  if (op == "Conv" || op == "ConvTranspose") return input == 0;
  if (op == "Gather") return input == 1;
  return op == "MatMul" || (op == "Gemm" && input < 2) || op == "Mul" || op == "Add" || op == "Sub";
}

// Whether every element of an operator's first input is one of its output, and nothing else is.
bool only_rearranges(std::string_view op) {
  return op == "DepthToSpace" || op == "SpaceToDepth" || op == "Reshape" || op == "Transpose";
}

// Which input of a node is added to what the node makes of input 0 or, of a sum, of the other one.
std::optional<std::size_t> added_input(const Node& node, const std::function<bool(Value)>& is_known) {
  if (!node.domain.empty() || node.inputs.size() < 2) return std::nullopt;
  if (node.op == "Conv" && node.inputs.size() == 3 && is_known(node.inputs[1])) return 2;
  if (node.op != "Add") return std::nullopt;
  return is_known(node.inputs[0]) ? 0 : 1;
}

// Zeros of the shape that a value has.
Value zeros_like(Graph& graph, Value value) {
  Node shape, zeros;
  shape.op = "Shape", zeros.op = "ConstantOfShape";
  shape.inputs = {value};
  shape.outputs = {graph.name_of(value) + " shape"}, zeros.outputs = {graph.name_of(value) + " zeros"};
  zeros.inputs = {{graph.add(std::move(shape)), 0}};
  return {graph.add(std::move(zeros)), 0};
}

// A program with zeros in place of its inputs; none: not all that it reads and makes is float32.
std::optional<Graph> of_zeros(const Graph& program, bool only_zeros) {
  Graph out;
  out.opsets = program.opsets;
  std::map<NodeId, NodeId> moved;
  for (const NodeId id : program.order()) {
    Node node = program.node(id);
    for (Value& i : node.inputs)
      if (i.exists()) i.node = moved.at(i.node);
    const bool is_input = node.kind == NodeKind::Input;
    if (is_input && node.declared.type != ElementType::Float) return std::nullopt;
    const NodeId made = out.add(std::move(node));
    if (is_input) out.add_input({made, 0});
    moved.emplace(id, is_input ? zeros_like(out, {made, 0}).node : made);
  }
  const Value result = program.outputs()[0];
  const Value made{moved.at(result.node), result.output};
  out.add_output(only_zeros ? zeros_like(out, made) : made);
  return out;
}

// Flattening leaves such nodes if a body's outputs have the names that they have outside. A declaration of
// another type for the output is not trusted.
bool is_identity(const Graph& graph, const Inference& info, NodeId id) {
  const Node& node = graph.node(id);
  return node.op == "Identity" && node.domain.empty() && node.inputs.size() == 1 &&
         node.outputs.size() == 1 && node.inputs[0].exists() &&
         info.of(node.inputs[0]).type == info.of({id, 0}).type;
}

}  // namespace

Sweep::Sweep(const Graph& a, const Inference& a_info, const Graph& b, const Inference& b_info,
             const std::vector<Value>& moved)
    : a_{&a, &a_info, {}, {}, {}, {}}, b_{&b, &b_info, {}, {}, {}, {}}, partial_(partial_nodes(a, a_info)) {
  for (const Value& v : a.inputs())
    if (const auto& shape = a_info.of(v).shape)
      for (const Dim& d : *shape)
        for (const std::string& s : d.symbols()) symbols_.insert(s);
  while (std::ranges::any_of(symbols_, [&](const std::string& s) { return s.starts_with(prefix_); }))
    prefix_ += "?";
  ModelSizes sizes = sizes_of(a, a_info);
  sizes_ = about(sizes.facts, symbols_);
  a_.doubtful = std::move(sizes.untrusted);
  b_.doubtful = doubtful_nodes(b, b_info, SizeFacts(sizes_), Doubt::OfRunning);
  for (const Side side : {Side::A, Side::B}) {
    Model& m = model(side);
    for (const NodeId id : m.graph->order()) m.position.emplace(id, static_cast<int>(m.position.size()));
    note_computed(m);
  }
  for (const NodeId id : a.order()) add(Side::A, id);
  for (const Value& v : moved) followed_in_a_.insert(class_of(Side::A, v));
}

// A dequantised value is not taken as it was computed (`known`), unless another one was computed from it.
void Sweep::note_computed(Model& m) {
  const std::vector<NodeId> order(m.graph->order().begin(), m.graph->order().end());
  for (const NodeId id : std::views::reverse(order)) {
    const Node& node = m.graph->node(id);
    if (is_dequantization(node) && !m.computed_from.contains({id, 0})) continue;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
      if (const auto& told = m.info->of({id, k}).constant; told && is_float(told->type()))
        m.computed_from.insert(node.inputs.begin(), node.inputs.end());
  }
}

void Sweep::add_to_b(NodeId id) { add(Side::B, id); }

int Sweep::root(int c) const {
  while (parent_[static_cast<std::size_t>(c)] != c) c = parent_[static_cast<std::size_t>(c)];
  return c;
}

int Sweep::class_of(Side side, Value value) const {
  const auto at = model(side).classes.find(value.node);
  return at == model(side).classes.end() ? -1 : root(at->second[value.output]);
}

bool Sweep::is_common(int c) const {
  return c >= 0 && classes_[static_cast<std::size_t>(c)].first_in_a.exists() &&
         classes_[static_cast<std::size_t>(c)].first_in_b.exists();
}

Value Sweep::in_a(int c) const { return classes_[static_cast<std::size_t>(c)].first_in_a; }
Value Sweep::in_b(int c) const { return classes_[static_cast<std::size_t>(c)].first_in_b; }

void Sweep::note(Side side, int c, Value value) {
  Class& known = classes_[static_cast<std::size_t>(c)];
  Value& first = side == Side::A ? known.first_in_a : known.first_in_b;
  if (!first.exists()) first = value;
}

int Sweep::fresh(Side side, Value value) {
  const int made = static_cast<int>(parent_.size());
  parent_.push_back(made);
  classes_.emplace_back();
  note(side, made, value);
  return made;
}

std::optional<Tensor> Sweep::known(Side side, Value value) const {
  if (auto constant = known_constant(*model(side).graph, value)) return constant;
  if (model(side).graph->node(value.node).kind != NodeKind::Operator) return std::nullopt;
  if (model(side).doubtful.contains(value.node)) return std::nullopt;
  // A dequantised bias is its steps times a scale, of which the other model may have the steps alone; what
  // inference knows of it is rounded.
  if (is_dequantization(model(side).graph->node(value.node))) return std::nullopt;
  const ValueInfo& info = model(side).info->of(value);
  if (info.constant) return info.constant;
  const auto extents = concrete_shape(info);
  const auto integers = info.integers ? concrete(*info.integers) : std::nullopt;
  if (!extents || !integers || info.type == ElementType::Undefined) return std::nullopt;
  return convert(Tensor::of(ElementType::Int64, *extents, *integers), info.type);
}

std::optional<Dims> Sweep::extents_in(Side side, Value value) const {
  if (model(side).doubtful.contains(value.node)) return std::nullopt;
  const ValueInfo& info = model(side).info->of(value);
  if (!info.integers || !only_these_symbols(*info.integers, symbols_)) return std::nullopt;
  return info.integers;
}

int Sweep::constant_class(Side side, Value value, const Tensor& tensor) {
  Hasher hasher;
  add_content(hasher, tensor, ContentDigests::Full);
  auto& bucket = constants_[hasher.digest()];
  for (const auto& [other, c] : bucket)
    if (other.same_bits(tensor)) return c;
  const int made = fresh(side, value);
  classes_.back().is_total = true;
  bucket.emplace_back(tensor, made);
  return made;
}

bool Sweep::is_same(const Entry& x, const Entry& y) const {
  const Model &left = model(x.side), &right = model(y.side);
  const Node &p = left.graph->node(x.node), &q = right.graph->node(y.node);
  if (x.inputs != y.inputs || p.op != q.op || p.domain != q.domain || p.overload != q.overload ||
      p.inputs.size() != q.inputs.size() || p.outputs.size() != q.outputs.size() ||
      !same_elements(p.attributes, q.attributes))
    return false;
  for (std::uint32_t i = 0; i < p.outputs.size(); ++i) {
    if (p.outputs[i].empty() != q.outputs[i].empty()) return false;
    // One of the models declares something that is not so.
    const ElementType s = left.info->of({x.node, i}).type, t = right.info->of({y.node, i}).type;
    if (s != t && s != ElementType::Undefined && t != ElementType::Undefined) return false;
  }
  if (purity(*left.graph, p) != purity(*right.graph, q)) return false;
  if (purity(*left.graph, p) != Purity::Function) {
    // A node that may be random or keep a state has one counterpart in the other model, and none in its own.
    // A subgraph refers to its captures by name.
    if (x.side == y.side || x.is_taken || p.captures.size() != q.captures.size()) return false;
    for (std::size_t i = 0; i < p.captures.size(); ++i)
      if (left.graph->name_of(p.captures[i]) != right.graph->name_of(q.captures[i])) return false;
    if (!same_inside(*left.graph, p, *right.graph, q)) return false;
  }
  return left.graph->opset(p.domain) == right.graph->opset(q.domain) ||
         same_formula(*left.graph, *left.info, x.node, *right.graph, *right.info, y.node);
}

std::vector<int> Sweep::operator_classes(Side side, NodeId id, const std::vector<int>& told) {
  const Node& node = model(side).graph->node(id);
  Entry entry{.side = side, .node = id, .inputs = {}, .outputs = told};
  Hasher hasher;
  hasher.add(node.op).add(node.domain);
  for (const auto* values : {&node.inputs, &node.captures})
    for (const Value& v : *values) {
      entry.inputs.push_back(v.exists() ? class_of(side, v) : -1);
      hasher.add(entry.inputs.back());
    }
  std::vector<Entry>& bucket = entries_[hasher.digest()];
  for (Entry& known_entry : bucket) {
    if (!is_same(known_entry, entry)) continue;
    known_entry.is_taken = true;
    return known_entry.outputs;
  }
  if (told.empty())
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      entry.outputs.push_back(fresh(side, {id, k}));
      classes_.back().is_total = side == Side::A && !partial_.contains(id);
    }
  bucket.push_back(entry);
  return entry.outputs;
}

void Sweep::add(Side side, NodeId id) {
  Model& m = model(side);
  const Node& node = m.graph->node(id);
  const auto by_name = [&](const std::string& text) {
    const auto [at, is_new] = named_.try_emplace(text, 0);
    if (is_new) {
      at->second = fresh(side, {id, 0});
      classes_.back().is_total = true;
    }
    return at->second;
  };
  std::vector<int> out;
  if (node.kind == NodeKind::Input || m.graph->is_overridable(id)) {
    out = {by_name(fmt::format("input {} {}", type_text(m.info->of({id, 0})), node.outputs[0]))};
  } else if (node.kind == NodeKind::Initializer) {
    out = {constant_class(side, {id, 0}, node.tensor)};
  } else if (is_identity(*m.graph, *m.info, id)) {
    out = {class_of(side, node.inputs[0])};
  } else {
    std::vector<std::optional<int>> told(node.outputs.size());
    bool all = true;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      const Value v{id, k};
      if (const auto tensor = known(side, v)) told[k] = constant_class(side, v, *tensor);
      else if (const auto dims = extents_in(side, v))
        told[k] = by_name(fmt::format("integers {} {}", type_text(m.info->of(v)), text(*dims)));
      all = all && told[k];
    }
    const bool is_told = all && purity(*m.graph, node) == Purity::Function;
    if (!is_told) out = operator_classes(side, id);
    out.resize(node.outputs.size(), -1);
    for (std::size_t k = 0; k < told.size(); ++k)
      if (told[k]) out[k] = *told[k];
    // A value that B computes in the same way may be known only in A.
    if (is_told && side == Side::A) operator_classes(side, id, out);
  }
  for (std::uint32_t k = 0; k < out.size(); ++k) note(side, root(out[k]), {id, k});
  m.classes.emplace(id, std::move(out));
}

Result<Sweep::Regions> Sweep::regions(Value a, Value b, const std::set<int>& open) const {
  Regions out;
  RegionWriter left(*this, Side::A, open), right(*this, Side::B, open);
  ISOMER_TRY(out.a, left.write(a));
  ISOMER_TRY(out.b, right.write(b));
  out.a_begins = left.begins();
  out.b_begins = right.begins();
  out.constants_of_a = left.constants();
  out.inner_b = right.inner_of(Side::B);
  for (const RegionWriter* writer : {&left, &right})
    for (const auto* classes : {&writer->constants(), &writer->replaced()})
      out.settled.insert(classes->begin(), classes->end());
  for (const int c : right.constants())
    if (!classes_[static_cast<std::size_t>(c)].first_in_a.exists()) out.constants.insert(c);
  for (const auto* begins : {&out.a_begins, &out.b_begins})
    for (const int c : *begins)
      if (!classes_[static_cast<std::size_t>(c)].is_total) out.partial.insert(RegionWriter::input_name(c));
  return out;
}

Verdict Sweep::prove(Value a, Value b, const std::set<int>& open, const ProofSource& ask,
                     ProveOptions options) {
  const auto question = regions(a, b, open);
  if (!question.ok()) return NotDecided{question.error().message};
  options.partial_inputs = question->partial;
  std::set<std::string> symbols = symbols_of(question->a);
  symbols.merge(symbols_of(question->b));
  options.sizes = about(sizes_, symbols);
  bool leaning = false, on_small = false;
  for (const int c : question->settled)
    if (const auto at = folded_.find(c); at != folded_.end()) {
      leaning = leaning || at->second.rounding.leans_on_symbols;
      on_small = on_small || at->second.leans_on_small;
    }
  if (on_small && !options.attempt) options.attempt = kSymbolsOnly;
  Verdict verdict = ask(question->a, question->b, options);
  const auto* proved = std::get_if<Proved>(&verdict);
  if (proved == nullptr) return verdict;
  if (on_small && takes_numbers(proved->attempt))
    return NotDecided{"a rounded constant leans on the digits of constants that the proof takes by value"};
  settled_.insert(question->settled.begin(), question->settled.end());
  for (const NodeId id : question->inner_b)
    for (std::uint32_t k = 0; k < b_.graph->node(id).outputs.size(); ++k)
      seen_.insert(class_of(Side::B, {id, k}));
  note_determined(Side::A, a, question->a_begins);
  note_determined(Side::B, b, question->b_begins);
  if (leaning) {
    note_added(Side::A, a, open, ask, options);
    note_added(Side::B, b, open, ask, options);
  }
  const int from = class_of(Side::B, b), to = class_of(Side::A, a);
  if (from != to) {
    // Equal to another value of A, too: proved, but two classes of A stay two.
    if (in_a(from).exists()) return verdict;
    parent_[static_cast<std::size_t>(from)] = to;
  }
  note(Side::B, to, b);
  return verdict;
}

// A value that is proved, and the operator of which is linear in a value that may be anything: then every
// element of its constants is a coefficient, which the other model's program determines. Behind it a constant
// may be added, and all of the elements may be put elsewhere.
void Sweep::note_determined(Side side, Value value, const std::set<int>& begins) {
  std::vector<NodeId> chain;
  for (Value at = value;;) {
    const Node& node = model(side).graph->node(at.node);
    if (node.kind != NodeKind::Operator || !node.domain.empty()) return;
    if (only_rearranges(node.op)) {
      at = node.inputs[0];
      continue;
    }
    Value x = Value::none();
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!node.inputs[k].exists() || known(side, node.inputs[k])) continue;
      if (x.exists() || !determines(node.op, k)) return;
      x = node.inputs[k];
    }
    if (!x.exists()) return;
    chain.push_back(at.node);
    if (begins.contains(class_of(side, x))) break;
    if (chain.size() > 1 || node.op != "Add") return;
    at = x;
  }
  for (const NodeId id : chain)
    for (std::size_t k = 0; k < model(side).graph->node(id).inputs.size(); ++k)
      determined_.emplace(side, id, k);
}

bool Sweep::leans(Side side, Value v) const {
  const auto at = v.exists() ? folded_.find(class_of(side, v)) : folded_.end();
  return at != folded_.end() && at->second.rounding.leans_on_symbols;
}

// A value that is proved, and is a constant plus what is 0 where the region's inputs are 0, whatever the
// other constants are: then the constant is what the other model's program makes of zeros.
void Sweep::note_added(Side side, Value value, const std::set<int>& open, const ProofSource& ask,
                       const ProveOptions& options) {
  const Node& node = model(side).graph->node(value.node);
  const auto k = added_input(node, [&](Value v) { return known(side, v).has_value(); });
  if (!k || !leans(side, node.inputs[*k]) || determined_.contains({side, value.node, *k})) return;
  const Value rest = node.inputs[*k == 0 ? 1 : 0];
  if (known(side, rest)) return;
  RegionWriter writer(*this, side, open);
  const auto region = writer.write(rest);
  if (!region.ok()) return;
  const auto made = of_zeros(*region, false), zeros = of_zeros(*region, true);
  if (!made || !zeros) return;
  ProveOptions of_symbols = options;
  of_symbols.attempt = kSymbolsOnly;
  of_symbols.partial_inputs.clear();  // only their shapes are read
  if (std::holds_alternative<Proved>(ask(*zeros, *made, of_symbols)))
    determined_.emplace(side, value.node, *k);
}

const Node* Sweep::undetermined_constant() const {
  for (const Side side : {Side::A, Side::B})
    for (const NodeId id : needed_nodes(*model(side).graph)) {
      const Node& node = model(side).graph->node(id);
      for (std::size_t k = 0; k < node.inputs.size(); ++k)
        if (leans(side, node.inputs[k]) && !determined_.contains({side, id, k})) return &node;
      for (const Value& v : node.captures)
        if (leans(side, v)) return &node;
    }
  return nullptr;
}

// Whether a node may end B's run with an error, or what it makes may be undefined.
bool Sweep::may_fail_in_b(NodeId id) const {
  const Definition definition = define_node(*b_.graph, *b_.info, id);
  const auto* formula = std::get_if<Formula>(&definition);
  return formula == nullptr || b_.doubtful.contains(id) || !formula->ranges.empty() ||
         may_be_undefined(*b_.graph, id, *formula);
}

bool Sweep::is_accounted_for(NodeId id) const {
  const Node& node = b_.graph->node(id);
  if (node.kind != NodeKind::Operator || known_constant(*b_.graph, {id, 0})) return true;
  bool is_known = true;
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
    const Value v{id, k};
    const int c = class_of(Side::B, v);
    is_known = is_known && ((c >= 0 && (in_a(c).exists() || seen_.contains(c))) || known(Side::B, v) ||
                            extents_in(Side::B, v));
  }
  return is_known || !may_fail_in_b(id);
}

const Node* Sweep::unaccounted() const {
  for (const NodeId id : needed_nodes(*b_.graph))
    if (!is_accounted_for(id)) return &b_.graph->node(id);
  return nullptr;
}

const Node* Sweep::unaccounted_dead(const Graph& whole_a, const Inference& whole_a_info) {
  const Graph& live = *a_.graph;
  a_.graph = &whole_a;
  a_.info = &whole_a_info;
  for (const NodeId id : whole_a.order())
    if (!live.contains(id)) add(Side::A, id);
  const std::set<NodeId> needed = needed_nodes(*b_.graph);
  for (const NodeId id : b_.graph->order())
    if (!needed.contains(id) && !is_accounted_for(id)) return &b_.graph->node(id);
  return nullptr;
}

bool Sweep::is_constant_of(Side side, const Tensor& tensor) const {
  Hasher hasher;
  add_content(hasher, tensor, ContentDigests::Full);
  const auto bucket = constants_.find(hasher.digest());
  return bucket != constants_.end() && std::ranges::any_of(bucket->second, [&](const auto& k) {
           const int c = root(k.second);
           return k.first.same_bits(tensor) && (side == Side::A ? in_a(c) : in_b(c)).exists();
         });
}

Result<Rounding> Sweep::replace_constant(Side side, Value constant, const Graph& program) {
  const Graph& graph = *model(side).graph;
  const auto stored = known(side, constant);
  if (!stored) return Error{"it is no constant"};
  if (class_of(side, constant) < 0) {
    // Computed from constants alone. One output: then its class is that of its numbers, whatever its inputs
    // are.
    const Node& node = graph.node(constant.node);
    if (node.outputs.size() != 1 || purity(graph, node) != Purity::Function)
      return Error{"it is no constant"};
    add(side, constant.node);
  }
  const int c = class_of(side, constant);
  if (side == Side::B && in_a(c).exists()) return Error{"it is a constant of the first model"};
  if (folded_.contains(c) || settled_.contains(c)) return Error{"it is decided already"};
  std::set<NodeId> large, symbols;  // what every proof takes for symbols, and what some do
  for (const NodeId id : program.order()) {
    const Node& node = program.node(id);
    if (node.kind == NodeKind::Operator) {
      if (purity(program, node) != Purity::Function || program.opset(node.domain) != graph.opset(node.domain))
        return Error{"the program does not fit into the model"};
      continue;
    }
    if (node.kind == NodeKind::Input || program.is_overridable(id)) return Error{"the program has an input"};
    if (!is_float(node.tensor.type())) continue;
    if (!is_constant_of(side == Side::A ? Side::B : Side::A, node.tensor)) {
      if (!kByValue.takes(node.tensor))
        return Error{"the program has a constant that is not the other model's"};
    } else if (!ByValue{}.takes(node.tensor)) {
      symbols.insert(id);
      if (!kByValue.takes(node.tensor)) large.insert(id);
    }
  }
  auto compared = compare_folded(*stored, program, large);
  const bool leans_on_small = !compared.ok() && large.size() < symbols.size();
  if (leans_on_small) compared = compare_folded(*stored, program, symbols);
  ISOMER_TRY(const Rounding rounding, std::move(compared));
  for (const Side s : {Side::A, Side::B})
    for (const Value& v : model(s).computed_from)
      if (!rounding.is_exact && v.exists() && class_of(s, v) == c)
        return Error{"another constant is computed from it"};
  folded_.emplace(c, Folded{side, graph.name_of(constant), program, rounding, leans_on_small});
  return rounding;
}

Status Sweep::restore_constant(Side side, Value constant) {
  const int c = class_of(side, constant);
  if (settled_.contains(c)) return Error{"it is decided already"};
  folded_.erase(c);
  return Done{};
}

const Node* Sweep::jump_behind_rounding() const {
  const Node* in_b = jump_behind_rounding(b_, Side::B);
  return in_b != nullptr ? in_b : jump_behind_rounding(a_, Side::A);
}

const Node* Sweep::jump_behind_rounding(const Model& m, Side side) const {
  std::map<Value, RoundedConstant> rounded;
  for (const NodeId id : m.graph->order())
    for (std::uint32_t k = 0; k < m.graph->node(id).outputs.size(); ++k) {
      const auto at = folded_.find(class_of(side, {id, k}));
      if (at == folded_.end() || at->second.rounding.is_exact) continue;
      rounded.emplace(Value{id, k}, RoundedConstant{at->second.rounding.has_cancelled});
    }
  return first_jump(*m.graph, *m.info, rounded);
}

}  // namespace isomer
