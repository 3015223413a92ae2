#include "kernel/prove/constant_fact.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernel/prove/evaluate_constants.h"
#include "kernel/prove/float_error.h"
#include "model/eval/program.h"
#include "model/graph/constant.h"
#include "model/graph/infer.h"

namespace isomer {
namespace {

bool only_moves(const ExprNode& e);

// Σ_v (v = index ? data(v) : 0): one term at most is not zero.
bool looks_up(const ExprNode& e) {
  if (e.reduction != Reduction::Sum || e.axes.size() != 1 || !e.domain.empty()) return false;
  const Axis& v = e.axes[0];
  const ExprNode& choice = *e.args[0];
  if (choice.kind != ExprNode::Kind::Apply || choice.fn != Fn::Where) return false;
  const ExprNode &hit = *choice.args[0], &otherwise = *choice.args[2];
  if (hit.kind != ExprNode::Kind::Apply || hit.fn != Fn::Equal) return false;
  const ExprNode &place = *hit.args[0], &index = *hit.args[1];
  return place.kind == ExprNode::Kind::IndexNumber && place.index == Index(v) && !is_float(index.type) &&
         !reads_floats(index) && !mentions(index, v) && otherwise.kind == ExprNode::Kind::Number &&
         otherwise.number == 0 && only_moves(*choice.args[1]);
}

// Whether it is a number or an element that is read, whatever the floats are; positions and indices choose.
bool only_moves(const ExprNode& e) {
  if (!is_float(e.type)) return !reads_floats(e);
  switch (e.kind) {
    case ExprNode::Kind::Number: return std::isfinite(e.number);
    case ExprNode::Kind::Read: return true;
    case ExprNode::Kind::Cases:
      return std::ranges::all_of(e.args, [](const ExprRef& a) { return only_moves(*a); }) &&
             std::ranges::all_of(e.cases, [](const ExprNode::Case& c) { return only_moves(*c.value); });
    case ExprNode::Kind::Apply:
      return e.fn == Fn::Where &&
             std::ranges::all_of(e.args, [](const ExprRef& a) { return only_moves(*a); });
    case ExprNode::Kind::Reduce: return looks_up(e);
    default: return false;
  }
}

// The product of two such numbers has 48 binary digits at most: float64 has them all.
bool has_exact_products(ElementType type) {
  return type == ElementType::Float || type == ElementType::Float16 || type == ElementType::BFloat16;
}

bool is_product(const Stage& stage) {
  const ExprNode& e = *stage.value;
  return e.kind == ExprNode::Kind::Apply && e.fn == Fn::Mul && has_exact_products(e.type) &&
         only_moves(*e.args[0]) && only_moves(*e.args[1]);
}

Status keeps_all_digits(const Graph& program, const Inference& inference) {
  int products = 0;
  for (const NodeId id : program.order()) {
    if (program.node(id).kind != NodeKind::Operator || known_constant(program, {id, 0})) continue;
    const Definition definition =
        inference.opaque.contains(id) ? Definition(Opaque{}) : define_node(program, inference, id);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr) return Error{fmt::format("{} has no formula", label(program.node(id)))};
    for (const Stage& stage : formula->stages) {
      if (is_product(stage)) ++products;
      else if (!only_moves(*stage.value))
        return Error{fmt::format("{} does more than move elements", label(program.node(id)))};
    }
  }
  return products <= 1 ? Status(Done{}) : Error{"it is stated with more than one product"};
}

}  // namespace

Status states(const Graph& program, const Tensor& constant) {
  if (program.outputs().size() != 1) return Error{"the program of a constant has one output"};
  ISOMER_TRY(const Inference inference, infer(program));
  const bool is_whole = is_integer(constant.type());
  if ((!is_whole && !is_float(constant.type())) || inference.of(program.outputs()[0]).type != constant.type())
    return Error{"its program computes another type"};
  ISOMER_TRY_DO(keeps_all_digits(program, inference));
  ISOMER_TRY(const EvaluatedProgram evaluated, evaluate_constants(program));
  const Tensor& made = evaluated.outputs[0].value;
  if (made.extents() != constant.extents()) return Error{"its program computes another shape"};
  if (is_whole)  // computed as the runtime does, so it is what the program says
    return made.same_bits(constant) ? Status(Done{}) : Error{"its program computes other numbers"};
  // To the last digit: of two constants that are rounded products the difference would be anything.
  const auto numbers = made.doubles(), wanted = constant.doubles();
  if (!numbers || !wanted || *numbers != *wanted) return Error{"its program computes other numbers"};
  return Done{};
}

}  // namespace isomer
