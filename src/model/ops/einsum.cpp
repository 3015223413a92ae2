// Einsum: the product of all operands, each indexed by its labels, summed over the labels that the output
// doesn't have. "bij,bjk->bik" is y[b,i,k] = Σ_j x0[b,i,j] · x1[b,j,k]; a label twice in one operand is its
// diagonal; "..." are axes that broadcast. Without "->" the output has the ellipsis and the labels that occur
// once, in alphabetical order.
#include <map>

#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

constexpr int kEllipsis = 256;  // above every letter: the label of the ellipsis' first axis
using Labels = std::vector<int>;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The labels of one term, with the number of axes of its ellipsis (-1: the remaining axes of the rank).
struct Term {
  Labels labels;
  std::optional<int> ellipsis;
};
Term read_term(std::string_view text, int rank_or_ellipsis, bool is_operand) {
  Term term;
  const auto dots = text.find("...");
  const auto letters = static_cast<int>(text.size()) - (dots == std::string_view::npos ? 0 : 3);
  if (dots != std::string_view::npos)
    term.ellipsis = is_operand ? rank_or_ellipsis - letters : rank_or_ellipsis;
  if (term.ellipsis.value_or(0) < 0 || (is_operand && !term.ellipsis && letters != rank_or_ellipsis))
    throw IllegalCall("the equation's labels are not the operand's axes", "equation");
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == dots) {
      for (int j = 0; j < *term.ellipsis; ++j) term.labels.push_back(kEllipsis + j);
      i += 2;
    } else if (is_letter(text[i])) {
      term.labels.push_back(text[i]);
    } else {
      throw OpaqueCall("an equation with other characters than letters and one ellipsis per term");
    }
  }
  return term;
}

struct Equation {
  std::vector<Labels> operands;
  Labels output;
};

Labels implicit_output(const std::vector<Labels>& operands, int ellipsis) {
  std::map<int, int> uses;
  for (const Labels& labels : operands)
    for (const int label : labels) ++uses[label];
  Labels output;
  for (int j = 0; j < ellipsis; ++j) output.push_back(kEllipsis + j);
  for (const auto& [label, count] : uses) {
    if (label < 'a')
      throw OpaqueCall("an implicit output with capital letters, whose order is not agreed on");
    if (label < kEllipsis && count == 1) output.push_back(label);
  }
  return output;
}

Equation read_equation(const Call& call) {
  std::string text = call.text("equation", "");
  std::erase(text, ' ');
  const auto arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  Equation equation;
  std::optional<int> ellipsis;
  for (int k = 0; k < call.input_count(); ++k) {
    const auto comma = left.find(',');
    if ((comma == std::string_view::npos) != (k + 1 == call.input_count()))
      throw IllegalCall("the equation has not one term per operand", "equation");
    const Term term = read_term(left.substr(0, comma), call.rank(k), true);
    left = comma == std::string_view::npos ? "" : left.substr(comma + 1);
    if (ellipsis && term.ellipsis && *ellipsis != *term.ellipsis)
      throw OpaqueCall("an ellipsis of different lengths");
    if (term.ellipsis) ellipsis = term.ellipsis;
    equation.operands.push_back(term.labels);
  }
  if (arrow == std::string::npos) {
    equation.output = implicit_output(equation.operands, ellipsis.value_or(0));
    return equation;
  }
  const Term output = read_term(std::string_view(text).substr(arrow + 2), ellipsis.value_or(0), false);
  if (output.ellipsis.has_value() != ellipsis.has_value()) throw OpaqueCall("an ellipsis on one side only");
  equation.output = output.labels;
  return equation;
}

// The extent of every label: equal in all operands, except that 1 is broadcast.
std::map<int, Dim> read_extents(const Call& call, const Equation& equation) {
  std::map<int, Dim> extents;
  for (int k = 0; k < call.input_count(); ++k) {
    const Labels& labels = equation.operands[static_cast<std::size_t>(k)];
    std::map<int, Dim> own;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const Dim& extent = call.shape(k)[i];
      if (const auto [at, added] = own.try_emplace(labels[i], extent); !added && !(at->second == extent))
        throw OpaqueCall("a diagonal of unequal extents");
      const auto [at, added] = extents.try_emplace(labels[i], extent);
      if (added || at->second == extent || extent.is(1)) continue;
      if (!at->second.is(1)) throw OpaqueCall("a label whose extents differ");
      at->second = extent;
    }
  }
  return extents;
}

Definition define_einsum(const Call& call) {
  require_types(call, is_number);
  const Equation equation = read_equation(call);
  auto extents = read_extents(call, equation);
  auto f = call.formula();
  std::map<int, Axis> axes;
  std::vector<Axis> p, reduced;
  for (const int label : equation.output) {
    if (!extents.contains(label)) return invalid("the output has a label that no operand has", "equation");
    if (axes.contains(label)) return invalid("the output has a label twice", "equation");
    p.push_back(axes[label] = f.axis(extents[label]));
  }
  for (const auto& [label, extent] : extents)
    if (!axes.contains(label)) reduced.push_back(axes[label] = f.axis(extent));
  Expr product;
  for (int k = 0; k < call.input_count(); ++k) {
    const auto x = f.input(k);
    std::vector<Index> at;
    for (int i = 0; i < x.rank(); ++i) {
      const Axis& axis = axes[equation.operands[static_cast<std::size_t>(k)][static_cast<std::size_t>(i)]];
      at.push_back(x.extent(i).is(1) ? Index(0) : Index(axis));
    }
    product = product ? product * x.at(at) : x.at(at);
  }
  f.output(p, reduced.empty() ? product : sum(reduced, product));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kEinsum{
    .name = "Einsum",
    .doc = "y = Σ Π operands, each indexed by its labels",
    .define = define_einsum,
    .since = 12,
};

}  // namespace isomer::ops
