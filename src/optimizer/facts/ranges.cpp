#include "optimizer/facts/ranges.h"

#include <algorithm>
#include <cmath>

#include "model/eval/program.h"
#include "model/graph/constant.h"

namespace isomer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ValueRange hull(const ValueRange& a, const ValueRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

// 0·∞ is 0 here: a bound that is not reached.
double product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

ValueRange operator+(const ValueRange& a, const ValueRange& b) { return {a.low + b.low, a.high + b.high}; }
ValueRange operator-(const ValueRange& a) { return {-a.high, -a.low}; }
ValueRange operator*(const ValueRange& a, const ValueRange& b) {
  // A value without a bound may be infinite at run time, and then this is no number.
  const auto has_no_bound = [](const ValueRange& r) { return std::isinf(r.low) || std::isinf(r.high); };
  if ((a == ValueRange::of(0) && has_no_bound(b)) || (b == ValueRange::of(0) && has_no_bound(a))) return {};
  const double corners[] = {product(a.low, b.low), product(a.low, b.high), product(a.high, b.low),
                            product(a.high, b.high)};
  return {*std::ranges::min_element(corners), *std::ranges::max_element(corners)};
}
ValueRange inverse(const ValueRange& a) {
  if (a.low < 0 && a.high > 0) return {};
  const auto end = [](double x, double at_zero) { return x == 0 ? at_zero : 1 / x; };
  return {end(a.high, -kInfinity), end(a.low, kInfinity)};
}

// A function that rises, by its ends.
template <class F>
ValueRange rising(const ValueRange& a, const F& f) {
  return {f(a.low), f(a.high)};
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }

class Reader {
 public:
  Reader(const Formula& formula, const std::vector<ValueRange>& inputs)
      : formula_(formula), inputs_(inputs) {}

  ValueRange of(const ExprNode& e) {
    if (!is_float(e.type) && e.kind != ExprNode::Kind::Number) return {};
    switch (e.kind) {
      case ExprNode::Kind::Number:
        return ValueRange::of(is_float(e.type) ? e.number : static_cast<double>(e.integer));
      case ExprNode::Kind::IndexNumber: return {};
      case ExprNode::Kind::Read: return read(e);
      case ExprNode::Kind::Apply: return apply(e);
      case ExprNode::Kind::Reduce: return reduce(e);
      case ExprNode::Kind::Cases: {
        ValueRange out = of(*e.args[0]);
        for (const ExprNode::Case& c : e.cases) out = hull(out, of(*c.value));
        return out;
      }
    }
    return {};
  }

 private:
  ValueRange read(const ExprNode& e) {
    const auto number = static_cast<std::size_t>(e.tensor.number);
    ValueRange out;
    if (e.tensor.kind == TensorRef::Kind::Stage) {
      const auto known = stages_.find(e.tensor.number);
      out = known != stages_.end() ? known->second : of(*formula_.stages[number].value);
      stages_.emplace(e.tensor.number, out);
    } else if (number < inputs_.size()) {
      out = inputs_[number];
    }
    for (std::size_t k = 0; k < e.at.size(); ++k)
      if (!e.at[k].is_inside(e.extents[k])) return hull(out, ValueRange::of(0));
    return out;
  }

  ValueRange reduce(const ExprNode& e) {
    const ValueRange body = of(*e.args[0]);
    if (e.reduction == Reduction::Max || e.reduction == Reduction::Min) return body;
    if (e.reduction == Reduction::Product) return body.low >= 0 ? ValueRange{0, kInfinity} : ValueRange{};
    if (body == ValueRange::of(0)) return body;
    double count = 1;
    for (const Axis& a : e.axes)
      count *= a.extent.is_concrete() ? static_cast<double>(a.extent.concrete()) : kInfinity;
    const ValueRange sum = body * ValueRange::of(count);
    return e.domain.empty() ? sum : hull(sum, ValueRange::of(0));
  }

  // One of numbers that are not negative, by their sum: a softmax.
  bool is_share(const ExprNode& part, const ExprNode& whole) {
    const auto is_stage = [](const ExprNode& e) {
      return e.kind == ExprNode::Kind::Read && e.tensor.kind == TensorRef::Kind::Stage;
    };
    if (!is_stage(part) || !is_stage(whole)) return false;
    const ExprNode& sum = *formula_.stages[static_cast<std::size_t>(whole.tensor.number)].value;
    return sum.kind == ExprNode::Kind::Reduce && sum.reduction == Reduction::Sum && is_stage(*sum.args[0]) &&
           sum.args[0]->tensor.number == part.tensor.number && of(part).low >= 0;
  }

  bool is_square(const ExprNode& e) const {
    const ExprNode &a = *e.args[0], &b = *e.args[1];
    return &a == &b || (a.kind == ExprNode::Kind::Read && b.kind == ExprNode::Kind::Read &&
                        a.tensor == b.tensor && a.at == b.at);
  }

  ValueRange apply(const ExprNode& e) {
    const auto arg = [&](std::size_t k) { return of(*e.args[k]); };
    switch (e.fn) {
      case Fn::Add: return arg(0) + arg(1);
      case Fn::Sub: return arg(0) + -arg(1);
      case Fn::Neg: return -arg(0);
      case Fn::Mul: {
        const ValueRange a = arg(0);
        if (is_square(e)) return {0, product(std::max(-a.low, a.high), std::max(-a.low, a.high))};
        return a * arg(1);
      }
      case Fn::Div:
        if (is_share(*e.args[0], *e.args[1])) return {0, 1};
        return arg(0) * inverse(arg(1));
      case Fn::Max: return {std::max(arg(0).low, arg(1).low), std::max(arg(0).high, arg(1).high)};
      case Fn::Min: return {std::min(arg(0).low, arg(1).low), std::min(arg(0).high, arg(1).high)};
      case Fn::Relu: return rising(arg(0), [](double x) { return std::max(x, 0.0); });
      case Fn::Exp: return rising(arg(0), [](double x) { return std::exp(x); });
      case Fn::Sigmoid: return rising(arg(0), sigmoid);
      case Fn::Softplus: return rising(arg(0), softplus);
      case Fn::Tanh: return rising(arg(0), [](double x) { return std::tanh(x); });
      case Fn::Erf: return rising(arg(0), [](double x) { return std::erf(x); });
      case Fn::Atan: return rising(arg(0), [](double x) { return std::atan(x); });
      case Fn::Floor: return rising(arg(0), [](double x) { return std::floor(x); });
      case Fn::Ceil: return rising(arg(0), [](double x) { return std::ceil(x); });
      case Fn::Sqrt: return rising(arg(0), [](double x) { return std::sqrt(std::max(x, 0.0)); });
      case Fn::Log: return rising(arg(0), [](double x) { return x > 0 ? std::log(x) : -kInfinity; });
      case Fn::Abs: {
        const ValueRange a = arg(0);
        return {std::max({a.low, -a.high, 0.0}), std::max(-a.low, a.high)};
      }
      case Fn::Sin:
      case Fn::Cos:
      case Fn::Sign: return {-1, 1};
      case Fn::Cosh: return {1, kInfinity};
      case Fn::Where: return hull(of(*e.args[1]), of(*e.args[2]));
      case Fn::Cast: return is_float(e.args[0]->type) ? arg(0) : ValueRange{};
      case Fn::Pow: {
        const ValueRange exponent = arg(1);
        const bool is_even = exponent.is_point() && std::fmod(exponent.low, 2) == 0;
        return is_even || arg(0).low >= 0 ? ValueRange{0, kInfinity} : ValueRange{};
      }
      default: return {};
    }
  }

  const Formula& formula_;
  const std::vector<ValueRange>& inputs_;
  std::map<int, ValueRange> stages_;
};

constexpr std::int64_t kMostElements = 1 << 20;

ValueRange range_of(const Tensor& constant) {
  if (!is_float(constant.type()) || constant.count() == 0 || constant.count() > kMostElements) return {};
  const Tensor wide = convert(constant, ElementType::Double);
  const auto values = wide.as<double>();
  const auto [low, high] = std::ranges::minmax_element(values);
  return std::isnan(*low) || std::isnan(*high) ? ValueRange{} : ValueRange{*low, *high};
}

}  // namespace

ValueRange interval_of(const Formula& formula, const ExprNode& e, const std::vector<ValueRange>& inputs) {
  const ValueRange out = Reader(formula, inputs).of(e);
  return std::isnan(out.low) || std::isnan(out.high) ? ValueRange{} : out;
}

ValueRange range_of(const Node& node, const Formula& formula, const std::vector<ValueRange>& inputs) {
  const ExprNode& e = *formula.output(0).value;
  ValueRange out = interval_of(formula, e, inputs);
  const auto read = [&](const ExprRef& a) {
    const bool is_input = a->kind == ExprNode::Kind::Read && a->tensor.kind == TensorRef::Kind::Input;
    return is_input ? node.inputs[static_cast<std::size_t>(a->tensor.number)] : Value::none();
  };
  if (e.kind == ExprNode::Kind::Apply && e.fn == Fn::Mul && read(e.args[0]).exists() &&
      read(e.args[0]) == read(e.args[1]) && e.args[0]->at == e.args[1]->at)
    out.low = std::max(out.low, 0.0);
  return out;
}

std::optional<int> same_as_input(const Formula& formula, const std::vector<ValueRange>& inputs) {
  const Stage& out = formula.output(0);
  const auto range = [&](const ExprRef& e) { return interval_of(formula, *e, inputs); };
  const ExprNode* e = &*out.value;
  while (e->kind == ExprNode::Kind::Apply) {
    // One of its arguments, whatever they are.
    std::optional<std::size_t> taken;
    const ExprNode& of = e->fn == Fn::Where ? *e->args[0] : *e;
    const bool compares = of.kind == ExprNode::Kind::Apply && of.args.size() == 2;
    const ValueRange a = of.args.empty() ? ValueRange{} : range(of.args[0]);
    const ValueRange b = compares ? range(of.args[1]) : ValueRange::of(0);
    const bool above = a.low >= b.high, below = a.high <= b.low;
    switch (of.fn) {
      case Fn::Relu:
      case Fn::Abs:
        if (above) taken = 0;
        break;
      case Fn::Max:
      case Fn::Min:
        if (above || below) taken = above == (of.fn == Fn::Max) ? 0 : 1;
        break;
      case Fn::Less:
        if (e->fn == Fn::Where && (above || a.high < b.low)) taken = above ? 2 : 1;
        break;
      case Fn::Add:
      case Fn::Sub:
        if (&of != e) break;
        if (b == ValueRange::of(0)) taken = 0;
        else if (of.fn == Fn::Add && a == ValueRange::of(0)) taken = 1;
        break;
      case Fn::Mul:
      case Fn::Div:
        if (&of != e) break;
        if (b == ValueRange::of(1)) taken = 0;
        else if (of.fn == Fn::Mul && a == ValueRange::of(1)) taken = 1;
        break;
      default: break;
    }
    if (!taken) return std::nullopt;
    e = e->args[*taken].get();
  }
  if (e->kind != ExprNode::Kind::Read || e->tensor.kind != TensorRef::Kind::Input ||
      e->at != to_indices(out.axes))
    return std::nullopt;
  return e->tensor.number;
}

Ranges::Ranges(const Site& site) {
  for (const NodeId id : site.graph.order()) {
    const Value v{id, 0};
    if (site.is_constant(v)) {
      known_.emplace(v, range_of(*known_constant(site.graph, v)));
      continue;
    }
    const auto formula = site.formula(id);
    if (!formula || !is_float(formula->output(0).type)) continue;
    known_.emplace(v, range_of(site.node(id), *formula, inputs_of(site.node(id))));
  }
}

ValueRange Ranges::of(Value v) const {
  const auto at = known_.find(v);
  return at == known_.end() ? ValueRange{} : at->second;
}

std::vector<ValueRange> Ranges::inputs_of(const Node& node) const {
  std::vector<ValueRange> out;
  for (const Value& v : node.inputs) out.push_back(v.exists() ? of(v) : ValueRange{});
  return out;
}

}  // namespace isomer
