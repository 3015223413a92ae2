#include "optimizer/propose/values/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ranges>
#include <set>

#include "model/eval/program.h"
#include "model/graph/constant.h"
#include "optimizer/facts/scalar_region.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

constexpr double kFar = 1 << 20;            // a function that has an end is there
constexpr double kPerUnit = 8, kReach = 8;  // numbers at which functions are compared
constexpr double kTolerance = 1e-12;        // of float64: a proof is of exact numbers
constexpr double kMostLost = 1e-3;          // relative to the region's result in its own arithmetic

bool is_near(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  return a == b || std::abs(a - b) <= kTolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

bool are_near(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, is_near);
}

const std::vector<double>& places() {
  static const std::vector<double> list = [] {
    std::vector<double> out{-2 * kFar, -kFar, kFar, 2 * kFar};
    for (double k = -kReach * kPerUnit; k <= kReach * kPerUnit; ++k) out.push_back(k / kPerUnit);
    return out;
  }();
  return list;
}

// A function by its values at `places()`.
struct Sampled {
  std::vector<double> values;
  double at(double x) const {
    const auto place = std::ranges::find(places(), x);
    return values[static_cast<std::size_t>(place - places().begin())];
  }
  // Where it stays in the end; nullopt: it does not.
  std::optional<double> end(double side) const {
    const double value = at(side * kFar);
    return value == at(side * 2 * kFar) ? std::optional(value) : std::nullopt;
  }
  // The same over x, but at 0.
  Sampled over_x() const {
    Sampled out = *this;
    for (std::size_t k = 0; k < out.values.size(); ++k) out.values[k] /= places()[k];
    return out;
  }
};

struct Line {
  float slope = 0, shift = 0;
};

// The line between, for a function that rises from 0 to 1.
std::optional<Line> rise(const Sampled& f) {
  if (f.end(-1) != 0.0 || f.end(1) != 1.0) return std::nullopt;
  std::optional<std::size_t> first, last;
  for (std::size_t k = 0; k < f.values.size(); ++k) {
    if (!(f.values[k] > 0 && f.values[k] < 1)) continue;
    if (!first) first = k;
    last = k;
  }
  if (!first || *first == *last) return std::nullopt;
  const double slope = (f.values[*last] - f.values[*first]) / (places()[*last] - places()[*first]);
  return Line{static_cast<float>(slope), static_cast<float>(f.values[*first] - slope * places()[*first])};
}

// The candidates for a function: operators around x.
struct Form {
  std::string name;
  std::function<Value(ProgramBuilder&, Value)> write;
};

class Functions {
 public:
  // `covered`: nodes that are left alone.
  Functions(const Site& site, std::set<NodeId> covered, Proposals& out)
      : site_(site), regions_(site), covered_(std::move(covered)), out_(out) {}

  void look_at(Value v) {
    if (covered_.contains(v.node)) return;
    std::vector<ScalarRegion> regions = regions_.ending_in(v);
    std::ranges::reverse(regions);
    // The largest region, and the largest that only cuts off: a convolution may take that in.
    bool is_first = true;
    for (const ScalarRegion& region : regions) {
      if (site_.inference.of(region.input).type != site_.inference.of(v).type) continue;
      const auto values = regions_.values(region, places());
      const auto form = values ? form_of({*values}, region) : std::nullopt;
      if (!form || is_itself(region, *form) || loses_digits(region, *values)) continue;
      const bool cuts_off = form->name == "Clip" || form->name == "Relu";
      if (is_first || cuts_off) add(region, *form);
      if (is_first) covered_.insert(region.nodes.begin(), region.nodes.end());
      if (cuts_off) break;
      is_first = false;
    }
  }

 private:
  // Whether it has the same operators, one after the other.
  bool is_itself(const ScalarRegion& region, const Form& form) const {
    std::vector<std::string> here, there;
    for (const NodeId id : std::views::reverse(region.nodes)) here.push_back(site_.node(id).op);
    ProgramBuilder b(site_.graph.opsets, "form.");
    form.write(b, b.input("x"));
    for (const NodeId id : b.graph().order())
      if (b.graph().node(id).kind == NodeKind::Operator) there.push_back(b.graph().node(id).op);
    return here == there;
  }

  // Whether it makes another number of these in its own arithmetic: what (x + 1e8) - 1e8 leaves of x is
  // meant, or not, but it is not x.
  bool loses_digits(const ScalarRegion& region, const std::vector<double>& exact) const {
    const auto own = regions_.values(region, places(), Arithmetic::Native);
    return !own || !std::ranges::equal(*own, exact, [](double a, double b) {
      return is_near(a, b) || std::abs(a - b) <= kMostLost * std::max(1.0, std::abs(b));
    });
  }

  // Whether a maximum or minimum with 0 is part of it.
  bool chooses_zero(const ScalarRegion& region) const {
    return std::ranges::any_of(region.nodes, [&](NodeId id) {
      const Node& node = site_.node(id);
      if (node.op == "HardSigmoid") return true;
      return (node.op == "Max" || node.op == "Min") && std::ranges::any_of(node.inputs, [&](const Value& v) {
               const auto number = v.exists() ? known_constant(site_.graph, v) : std::nullopt;
               return number && number->count() == 1 && number->doubles()->front() == 0;
             });
    });
  }

  void add(const ScalarRegion& region, const Form& form) {
    ProgramBuilder b(site_.graph, site_.name(region.output));
    const Value y = form.write(b, b.input(site_.name(region.input)));
    out_.add(propose(
        site_, "functions",
        fmt::format("{} nodes from {} are {}", region.nodes.size(), site_.name(region.input), form.name), b,
        {region.output}, {y}));
  }

  std::optional<Form> form_of(const Sampled& f, const ScalarRegion& region) const {
    for (Form& form : forms(f, region))
      if (are_near(values_of(form, region).value_or(std::vector<double>{}), f.values)) return std::move(form);
    return std::nullopt;
  }

  std::optional<std::vector<double>> values_of(const Form& form, const ScalarRegion& region) const {
    const ElementType type = site_.inference.of(region.input).type;
    ProgramBuilder b(site_.graph.opsets, "form.");
    const std::vector<std::optional<Dim>> shape{Dim(static_cast<std::int64_t>(places().size()))};
    const Value x = b.input("x", {.type = type, .shape = shape});
    b.output(form.write(b, x));
    return isomer::values_of(b.graph(), type, places());
  }

  // The candidates for the function, by some of its values.
  std::vector<Form> forms(const Sampled& f, const ScalarRegion& region) const {
    std::vector<Form> out;
    const ElementType type = site_.inference.of(region.input).type;
    const auto low = f.end(-1), high = f.end(1);
    const bool ends_at_zero = low == 0.0 || high == 0.0;
    if (ends_at_zero && chooses_zero(region)) {
      // Max(-0, 0) is 0, and Relu(-0) is -0.
    } else if (low == 0.0 && f.at(kFar) == kFar) out.push_back(call("Relu"));
    else if ((low || high) && (low.value_or(-kFar) < high.value_or(kFar)) &&
             site_.graph.opset("") >= (type == ElementType::Float ? 11 : 12))
      out.push_back({"Clip", [=](ProgramBuilder& b, Value x) {
                       std::vector<Value> in{x, low ? number(b, *low, type) : Value::none()};
                       if (high) in.push_back(number(b, *high, type));
                       return b.op("Clip", in);
                     }});
    if (const auto line = rise(f); line && line->shift != 0) out.push_back(hard_sigmoid(*line, false));
    if (const auto line = rise(f.over_x())) out.push_back(hard_sigmoid(*line, true));
    if (f.at(1) == 1 && f.at(-1) < 0 && is_near(f.at(-2), 2 * f.at(-1)))
      out.push_back(call("LeakyRelu", with({{"alpha", static_cast<float>(-f.at(-1))}})));
    if (f.at(1) == 1 && low && *low < 0)
      out.push_back(call("Elu", with({{"alpha", static_cast<float>(-*low)}})));
    if (is_near(f.at(1), 0.5) && is_near(f.at(-1), -0.5)) out.push_back(call("Softsign"));
    if (low == 0.0 && f.at(kFar) == kFar && f.at(0) == 0 && f.at(1) > 0.8 && f.at(1) < 0.9) {
      add_tanh_gelu(region, out);
      add_erf_gelu(region, out);
    }
    return out;
  }

  static Value number(ProgramBuilder& b, double value, ElementType type) {
    return b.constant(convert(Tensor::of(ElementType::Double, {}, std::vector<double>{value}), type));
  }

  static Form call(const std::string& op, const Attributes& attributes = {}) {
    return {op, [=](ProgramBuilder& b, Value x) { return b.op(op, {x}, attributes); }};
  }

  static Form hard_sigmoid(const Line& line, bool times_x) {
    return {times_x ? "x times a HardSigmoid" : "HardSigmoid", [=](ProgramBuilder& b, Value x) {
              const Value y = b.op("HardSigmoid", {x}, with({{"alpha", line.slope}, {"beta", line.shift}}));
              return times_x ? b.op("Mul", {x, y}) : y;
            }};
  }

  // The region's own number next to this one: the proof is of exact numbers.
  std::optional<double> own_number(const ScalarRegion& region, double wanted) const {
    for (const Value& v : regions_.numbers(region)) {
      const auto value = known_constant(site_.graph, v)->doubles();
      if (value && std::abs((*value)[0] - wanted) < 1e-3 * wanted) return (*value)[0];
    }
    return std::nullopt;
  }

  // ONNX Runtime makes one node of these: optimizer/fast_gelu_fusion.cc, optimizer/gelu_fusion.cc.
  void add_tanh_gelu(const ScalarRegion& region, std::vector<Form>& out) const {
    const ElementType type = site_.inference.of(region.input).type;
    const auto outer = own_number(region, 0.7978845608), inner = own_number(region, 0.044715);
    if (!outer || !inner) return;
    out.push_back(
        {"a Gelu by tanh", [=](ProgramBuilder& b, Value x) {
           const Value cube = b.op("Pow", {x, number(b, 3, type)});
           const Value sum = b.op("Add", {x, b.op("Mul", {cube, number(b, *inner, type)})});
           const Value t = b.op("Tanh", {b.op("Mul", {sum, number(b, *outer, type)})});
           return b.op("Mul", {b.op("Mul", {x, number(b, 0.5, type)}), b.op("Add", {t, number(b, 1, type)})});
         }});
  }
  void add_erf_gelu(const ScalarRegion& region, std::vector<Form>& out) const {
    const ElementType type = site_.inference.of(region.input).type;
    const auto divisor = own_number(region, 1.4142135624), factor = own_number(region, 0.7071067812);
    if (!divisor && !factor) return;
    out.push_back({"a Gelu", [=](ProgramBuilder& b, Value x) {
                     const Value scaled = divisor ? b.op("Div", {x, number(b, *divisor, type)})
                                                  : b.op("Mul", {x, number(b, *factor, type)});
                     const Value sum = b.op("Add", {b.op("Erf", {scaled}), number(b, 1, type)});
                     return b.op("Mul", {b.op("Mul", {x, sum}), number(b, 0.5, type)});
                   }});
  }

  const Site& site_;
  const ScalarRegions regions_;
  std::set<NodeId> covered_;
  Proposals& out_;
};

Proposals propose_functions(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  const Site site(graph, inference, *options.machine);
  Functions functions(site, propose_normalizations(site, out), out);
  for (const NodeId id : std::views::reverse(graph.order()))
    if (graph.node(id).kind == NodeKind::Operator) functions.look_at({id, 0});
  return out;
}

}  // namespace

constinit const Proposer kFunctions{
    .name = "functions",
    .title = "known by its values",
    .law = "f(x) = g(x) for all x",
    .finds =
        "Recognizes functions and normalizations that are written out in several nodes, by their "
        "values: maxima and minima with numbers as Clip, HardSigmoid, LeakyRelu, Elu, softmax, "
        "InstanceNormalization in any layout, Gelu as ONNX Runtime's own fusion expects it.",
    .propose = propose_functions,
};

}  // namespace isomer
