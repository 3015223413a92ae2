#include "model/graph/program_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/graph/call.h"
#include "model/graph/content.h"
#include "model/graph/infer.h"
#include "model/graph/last_digits.h"

namespace isomer {
namespace {

// Beyond this, a single tensor does not fit the machines that a reference run is for.
constexpr std::size_t kMostTensorBytes = std::size_t{8} << 30;

// A larger constant is identified by the place of its bytes.
ContentDigests content(const Tensor& constant) {
  return constant.count() <= kMostIntegers ? ContentDigests::Full : ContentDigests::Identity;
}

Digest key(const Node& node, const Call& call, int knowledge) {
  Hasher hasher;
  for (const std::string* text : {&node.op, &node.domain, &node.overload})
    hasher.add(std::string_view(*text));
  hasher.add(knowledge).add(call.output_count);
  add_content(hasher, call.attributes);
  hasher.add(call.input_count());
  for (const auto& input : call.inputs) {
    hasher.add(input.has_value() ? 1 : 0);
    if (!input) continue;
    hasher.add(static_cast<int>(input->type.type)).add(static_cast<int>(input->type.shape.size()));
    for (const Dim& dim : input->type.shape) hasher.add(dim.concrete());
    hasher.add(input->constant.has_value() ? 1 : 0);
    if (input->constant) add_content(hasher, *input->constant, content(*input->constant));
  }
  return hasher.digest();
}

// The reason why a formula can't be run, if any.
std::optional<Opaque> refuse_extents(const Formula& formula) {
  for (const Stage& stage : formula.stages)
    if (!concrete(stage.shape())) return Opaque{"the shape of an output depends on values"};
  return std::nullopt;
}

std::optional<Invalid> refuse_size(const Formula& formula) {
  for (const Stage& stage : formula.stages) {
    const auto bytes = byte_size(stage.type, *concrete(stage.shape()));
    if (!bytes || *bytes > kMostTensorBytes)
      return Invalid{
          fmt::format("{} is too large to be computed here", text(TensorType{stage.type, stage.shape()}))};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Tensor> ProgramCache::value(const Argument& argument, Knowledge knowledge) const {
  if (knowledge == Knowledge::Types) return std::nullopt;
  const bool is_integral = is_integer(argument.type) || argument.type == ElementType::Bool;
  if (knowledge == Knowledge::Integers && !is_integral) return std::nullopt;
  if (argument.constant) return argument.constant;
  if (argument.tensor.count() > kMostIntegers) return std::nullopt;
  if (is_integral || arithmetic_ == Arithmetic::Native) return argument.tensor;
  if (argument.stored) return argument.stored;
  // A field element is not a number that a definition could look at.
  if (arithmetic_ == Arithmetic::Field || !is_float(argument.type)) return std::nullopt;
  return convert(argument.tensor, argument.type);
}

Call ProgramCache::call(const Node& node, const Arguments& arguments, Knowledge knowledge) const {
  Call call = call_without_inputs(graph_, node);
  for (const auto& argument : arguments) {
    if (!argument) {
      call.inputs.emplace_back();
      continue;
    }
    Call::Input input{{argument->type, to_dims(argument->tensor.extents())}};
    input.constant = value(*argument, knowledge);
    if (input.constant && input.constant->count() <= kMostIntegers)
      if (const auto integers = input.constant->integers()) input.integers = to_dims(*integers);
    call.inputs.push_back(std::move(input));
  }
  return call;
}

ProgramCache::Answer ProgramCache::compile(const Operator& op, const Node& node, const Call& call) {
  Definition definition = define(op, call);
  if (auto* opaque = std::get_if<Opaque>(&definition)) return std::move(*opaque);
  if (auto* invalid = std::get_if<Invalid>(&definition)) return std::move(*invalid);
  Formula& formula = std::get<Formula>(definition);
  if (auto refusal = refuse_extents(formula)) return std::move(*refusal);
  if (auto refusal = refuse_size(formula)) return std::move(*refusal);
  auto compiled = std::make_shared<Compiled>();
  for (int k = 0; k < static_cast<int>(formula.outputs.size()); ++k)
    compiled->types.push_back(formula.output(k).type);
  compiled->inputs = formula.inputs.size();
  const bool is_faithful = arithmetic_ == Arithmetic::Faithful || arithmetic_ == Arithmetic::Certain;
  if (is_faithful) {
    compiled->jumps = !is_continuous(formula, node);
    compiled->narrows = narrows(formula);
    compiled->has_agreed_digits = has_agreed_digits(formula);
    if (with_stored_) compiled->stored = Program::compile(formula);
  }
  if (is_faithful || arithmetic_ == Arithmetic::Double) formula = lift(formula, ElementType::Double);
  if (arithmetic_ == Arithmetic::Field) formula = lift(formula, ElementType::Field);
  compiled->program = Program::compile(formula);
  ++compiled_count_;
  return std::shared_ptr<const Compiled>(std::move(compiled));
}

// Keeps alive the bytes whose places are part of a key.
void ProgramCache::pin(const Call& call) {
  for (const auto& input : call.inputs)
    if (input && input->constant && content(*input->constant) == ContentDigests::Identity)
      pinned_.push_back(*input->constant);
}

ProgramCache::Answer ProgramCache::find(const Node& node, const Arguments& arguments) {
  const auto op = operator_of(graph_, node);
  if (const auto* opaque = std::get_if<Opaque>(&op)) return *opaque;
  Answer answer = Opaque{};
  for (const auto knowledge : {Knowledge::Types, Knowledge::Integers, Knowledge::Constants}) {
    const Call told = call(node, arguments, knowledge);
    const auto [at, first] = answers_.try_emplace(key(node, told, static_cast<int>(knowledge)), Opaque{});
    if (first) {
      at->second = compile(*std::get<const Operator*>(op), node, told);
      pin(told);
    }
    answer = at->second;
    if (std::holds_alternative<std::shared_ptr<const Compiled>>(answer)) break;
  }
  return answer;
}

}  // namespace isomer
