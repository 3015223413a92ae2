#include "rules/generate/word_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/graph/constant.h"
#include "model/graph/infer.h"
#include "model/graph/text/text.h"
#include "rules/generate/rule_text.h"

namespace isomer::rules {
namespace {

// An image that is one pixel high or wide in one instance only is an accident, of which windows see too much.
bool is_accident(const Shape& s) {
  for (std::size_t axis = 2; axis < s.extents[0].size(); ++axis)
    if ((s.extents[0][axis] == 1) != (s.extents[1][axis] == 1)) return true;
  return false;
}

}  // namespace

WordPrograms::WordPrograms(Words& words) : words_(words) {
  for (const Choice& c : vocabulary()) word_ids_.push_back(words.add(c.word));
}

ShapeId WordPrograms::shape_id(Role role, std::array<Extents, kInstances> extents) {
  const auto [at, is_new] =
      shape_ids_.emplace(std::pair(role, extents), static_cast<ShapeId>(shapes_.size()));
  if (is_new) {
    Shape& s = shapes_.emplace_back();
    s.role = role;
    s.extents = std::move(extents);
    for (std::size_t k = 0; k < kInstances; ++k) {
      s.dims[k] = to_dims(s.extents[k]);
      s.counts[k] = static_cast<std::size_t>(*element_count(s.extents[k]));
    }
  }
  return at->second;
}

std::size_t WordPrograms::choice(WordId word) const {
  return static_cast<std::size_t>(std::ranges::find(word_ids_, word) - word_ids_.begin());
}

const WordProgram* WordPrograms::find(std::size_t choice, ShapeId a, std::optional<ShapeId> b) {
  const std::uint64_t key = (choice << 48u) + (std::uint64_t{a} << 24u) + (b ? *b + 1 : 0);
  if (const auto known = programs_.find(key); known != programs_.end()) return known->second.get();
  return programs_.emplace(key, compile(choice, a, b)).first->second.get();
}

bool WordPrograms::takes(const Choice& choice, const Shape& a, const Shape* b) const {
  if (choice.takes_weight) {
    if (a.role != Role::Data || b->role != Role::Weight) return false;
    if (choice.kernel != 0 && b->extents[0][2] != choice.kernel) return false;
  } else if (!choice.on[static_cast<std::size_t>(a.role)] || (b != nullptr && b->role != a.role)) {
    return false;
  }
  // A broadcast operand is another law for every shape: operands have one shape.
  if (choice.word.is_elementwise()) return b == nullptr || a.extents == b->extents;
  return !is_accident(a);
}

std::unique_ptr<WordProgram> WordPrograms::compile(std::size_t choice, ShapeId a, std::optional<ShapeId> b) {
  if (!takes(vocabulary()[choice], shapes_[a], b ? &shapes_[*b] : nullptr)) return nullptr;
  auto out = std::make_unique<WordProgram>();
  std::array<Extents, kInstances> result;
  for (std::size_t k = 0; k < kInstances; ++k)
    if (!compile_instance(choice, a, b, k, *out, result[k])) return nullptr;
  out->shape = shape_id(shapes_[a].role, result);
  return out;
}

// A graph of one node, through the same inference and formulas as any model.
bool WordPrograms::compile_instance(std::size_t choice, ShapeId a, std::optional<ShapeId> b,
                                    std::size_t instance, WordProgram& out, Extents& result) const {
  const auto type = [&](ShapeId shape) { return "float" + text(shapes_[shape].dims[instance]); };
  std::vector<Term> terms{Term::variable(0)};
  std::string given = type(a) + " x";
  if (b) {
    terms.push_back(Term::variable(1));
    given += ", " + type(*b) + " y";
  }
  terms.push_back(
      {.word = word_ids_[choice], .count = static_cast<std::uint8_t>(b ? 2 : 1), .operands = {0, 1}});
  const std::string body = body_text(words_, terms, {"x", "y"});
  const std::size_t arrow = body.rfind(" => ");
  const auto graph = parse_graph(fmt::format("<ir_version: 8, opset_import: [\"\" : 18]> g ({}) => ({}) {}",
                                             given, body.substr(arrow + 4), body.substr(0, arrow)));
  ISOMER_CHECK(graph.ok());
  const auto info = infer(*graph);
  if (!info.ok()) return false;
  const Value value = graph->outputs()[0];
  if (info->opaque.contains(value.node)) return false;
  const Definition definition = define_node(*graph, *info, value.node);
  const auto* formula = std::get_if<Formula>(&definition);
  const auto shape = concrete_shape(info->of(value));
  if (formula == nullptr || !shape || element_count(*shape).value_or(0) == 0) return false;
  // Halves are equal.
  for (const ValueInfo& sibling : info->values.at(value.node))
    if (sibling.shape != info->of(value).shape) return false;
  result = *shape;
  out.output = value.output;
  const Node& node = graph->node(value.node);
  std::vector<bool> is_constant;
  for (std::size_t i = 0; i < formula->inputs.size(); ++i) {
    auto& input = out.inputs[instance].emplace_back();
    if (formula->inputs[i] && node.inputs[i].exists())
      if (const auto tensor = known_constant(*graph, node.inputs[i]))
        input = is_float(tensor->type()) ? convert(*tensor, ElementType::Field) : *tensor;
    is_constant.push_back(input.has_value());
  }
  out.programs[instance] = Program::compile(with_lanes(lift(*formula, ElementType::Field), is_constant));
  return true;
}

std::vector<Numbers> WordPrograms::run(const WordProgram& program, std::size_t operands,
                                       std::span<const Operands> terms) const {
  ISOMER_CHECK(!terms.empty() && terms.size() <= kLanes);
  std::vector<Numbers> out(terms.size());
  std::array<Numbers, 2> lanes;
  for (std::size_t k = 0; k < kInstances; ++k) {
    auto inputs = program.inputs[k];
    for (std::size_t i = 0; i < operands; ++i) {
      const Shape& s = shapes_[terms[0][i].shape];
      lanes[i].assign(s.counts[k] * kLanes, 0);
      for (std::size_t lane = 0; lane < terms.size(); ++lane) {
        const std::uint64_t* data = terms[lane][i].data + (k == 0 ? 0 : s.counts[0]);
        for (std::size_t e = 0; e < s.counts[k]; ++e) lanes[i][e * kLanes + lane] = data[e];
      }
      Extents extents = s.extents[k];
      extents.push_back(kLanes);
      inputs[i] = Tensor(ElementType::Field, extents,
                         Bytes{.owner = nullptr,
                               .data = reinterpret_cast<const std::byte*>(lanes[i].data()),
                               .size = lanes[i].size() * sizeof(std::uint64_t)});
    }
    const auto results = program.programs[k].run(inputs, kFieldKey);
    if (!results.ok()) return {};
    const auto numbers = (*results)[program.output].as<std::uint64_t>();
    for (std::size_t lane = 0; lane < terms.size(); ++lane)
      for (std::size_t e = lane; e < numbers.size(); e += kLanes) out[lane].push_back(numbers[e]);
  }
  return out;
}

}  // namespace isomer::rules
