#include "attack/exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/hash.h"
#include "model/eval/scalar.h"

namespace isomer::attack {

Oracle::Oracle() { (void)constant(0); }

void Oracle::limit(const Poly& poly) {
  if (poly.size() > 300) throw TooLarge("a polynomial of many monomials");
  for (const auto& [monomial, c] : poly) {
    int degree = 0;
    for (const auto& [scalar, power] : monomial) degree += std::abs(power);
    if (degree > 8) throw TooLarge("a polynomial of a high degree");
  }
}

int Oracle::intern(Poly poly) {
  std::erase_if(poly, [](const auto& m) { return m.second == 0; });
  limit(poly);
  std::string key;
  for (const auto& [monomial, c] : poly) {
    key += c.get_str();
    for (const auto& [scalar, power] : monomial) key += fmt::format(" {}^{}", scalar, power);
    key += ";";
  }
  const auto [at, is_new] = known_.try_emplace(key, static_cast<int>(polys_.size()));
  if (is_new) polys_.push_back(std::move(poly));
  return at->second;
}

int Oracle::constant(const mpq_class& value) { return intern({{{}, value}}); }

int Oracle::of_scalar(const Scalar& scalar) {
  const auto [at, is_new] = scalar_ids_.try_emplace(scalar, static_cast<int>(scalars_.size()));
  if (is_new) scalars_.push_back(scalar);
  return intern({{{{at->second, 1}}, 1}});
}

std::optional<mpq_class> Oracle::as_constant(int value) const {
  const Poly& p = polys_[static_cast<std::size_t>(value)];
  if (p.empty()) return mpq_class(0);
  if (p.size() == 1 && p.begin()->first.empty()) return p.begin()->second;
  return std::nullopt;
}

int Oracle::add(int a, int b, int scale) {
  Poly out = polys_[static_cast<std::size_t>(a)];
  for (const auto& [monomial, c] : polys_[static_cast<std::size_t>(b)]) out[monomial] += c * scale;
  return intern(std::move(out));
}

int Oracle::multiply(int a, int b) {
  const Poly &x = polys_[static_cast<std::size_t>(a)], &y = polys_[static_cast<std::size_t>(b)];
  if (x.size() * y.size() > 2000) throw TooLarge("a product of large polynomials");
  Poly out;
  for (const auto& [m, c] : x) {
    for (const auto& [n, d] : y) {
      std::map<int, int> powers(m.begin(), m.end());
      for (const auto& [scalar, power] : n) powers[scalar] += power;
      std::erase_if(powers, [](const auto& p) { return p.second == 0; });
      out[Monomial(powers.begin(), powers.end())] += c * d;
    }
  }
  return intern(std::move(out));
}

bool Oracle::is_positive(int scalar) const {
  const Scalar& s = scalars_[static_cast<std::size_t>(scalar)];
  if (s.kind != Scalar::Kind::Apply) return false;
  const Fn fn = static_cast<Fn>(s.what);
  return fn == Fn::Exp || fn == Fn::Sigmoid;
}

int Oracle::reciprocal(int a, std::set<int>& needs) {
  const Poly p = polys_[static_cast<std::size_t>(a)];
  if (p.empty()) return Exact::kUndefined;
  if (p.size() == 1) {
    Monomial inverse;
    for (const auto& [scalar, power] : p.begin()->first) {
      inverse.emplace_back(scalar, -power);
      if (!is_positive(scalar)) needs.insert(of_scalar(Scalar(scalars_[static_cast<std::size_t>(scalar)])));
    }
    return intern({{inverse, 1 / p.begin()->second}});
  }
  const mpq_class lead = p.begin()->second;
  Poly scaled;
  for (const auto& [monomial, c] : p) scaled[monomial] = c / lead;
  const int base = intern(std::move(scaled));
  needs.insert(base);
  const int r = of_scalar({.kind = Scalar::Kind::Reciprocal, .args = {base}});
  return multiply(r, constant(1 / lead));
}

// The largest (smallest) of a set of values: nested ones joined, of numbers the best, of one that one.
int Oracle::fold(Reduction reduction, const std::set<int>& values) {
  std::set<int> flat;
  std::optional<mpq_class> best;
  for (const int v : values) {
    std::vector<int> parts{v};
    const Poly& p = polys_[static_cast<std::size_t>(v)];
    if (p.size() == 1 && p.begin()->second == 1 && p.begin()->first.size() == 1 &&
        p.begin()->first[0].second == 1) {
      const Scalar& s = scalars_[static_cast<std::size_t>(p.begin()->first[0].first)];
      if (s.kind == Scalar::Kind::Fold && s.what == static_cast<int>(reduction)) parts = s.args;
    }
    for (const int part : parts) {
      if (const auto c = as_constant(part)) {
        if (!best || (reduction == Reduction::Max ? *c > *best : *c < *best)) best = c;
      } else {
        flat.insert(part);
      }
    }
  }
  if (best) flat.insert(constant(*best));
  if (flat.size() == 1) return *flat.begin();
  return of_scalar({.kind = Scalar::Kind::Fold,
                    .what = static_cast<int>(reduction),
                    .args = std::vector<int>(flat.begin(), flat.end())});
}

bool Oracle::equal(int a, int b) {
  if (a == b) return true;
  if (a < 0 || b < 0) return false;
  int difference = add(a, b, -1);
  for (int round = 0; round < 8; ++round) {
    const Poly d = polys_[static_cast<std::size_t>(difference)];
    if (d.empty()) return true;
    // Multiply by the denominator that occurs with the highest power.
    int scalar = -1, highest = 0;
    for (const auto& [monomial, c] : d)
      for (const auto& [s, power] : monomial)
        if (scalars_[static_cast<std::size_t>(s)].kind == Scalar::Kind::Reciprocal && power > highest &&
            (scalar < 0 || scalar == s)) {
          scalar = s;
          highest = power;
        }
    if (scalar < 0) return false;
    const int base = scalars_[static_cast<std::size_t>(scalar)].args[0];
    int sum = constant(0);
    for (const auto& [monomial, c] : d) {
      Monomial rest;
      int power = 0;
      for (const auto& f : monomial) {
        if (f.first == scalar) power = f.second;
        else rest.push_back(f);
      }
      int part = intern({{rest, c}});
      for (int k = power; k < highest; ++k) part = multiply(part, base);
      sum = add(sum, part, 1);
    }
    difference = sum;
  }
  return false;
}

class Oracle::Walk {
 public:
  Walk(Oracle& oracle, const Formula& formula) : oracle_(oracle), formula_(formula) {}

  Exact stage(int number, const Extents& position) {
    const auto key = std::make_pair(number, position);
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
    const Stage& s = formula_.stages[static_cast<std::size_t>(number)];
    const auto outer = axes_;
    for (std::size_t k = 0; k < s.axes.size(); ++k) axes_[s.axes[k].id] = position[k];
    const Exact out = value(*s.value);
    axes_ = outer;
    if (known_.size() > 20000) throw TooLarge("many elements");
    return known_.emplace(key, out).first->second;
  }

 private:
  std::int64_t at(const Index& index) const {
    std::int64_t out = index.offset().concrete();
    for (const Index::Term& t : index.terms()) {
      std::int64_t atom = 0;
      if (t.atom.kind == Index::AtomKind::Axis) atom = axes_.at(t.atom.axis.id);
      else if (t.atom.kind == Index::AtomKind::Floor)
        atom = floor_div(at(*t.atom.inner), t.atom.divisor.concrete());
      else atom = floor_mod(at(*t.atom.inner), t.atom.divisor.concrete());
      out += t.scale.concrete() * atom;
    }
    return out;
  }
  bool holds(const Domain& domain) const {
    return std::ranges::all_of(domain, [&](const Index& i) { return at(i) >= 0; });
  }

  Exact value(const ExprNode& e) {
    switch (e.kind) {
      case ExprNode::Kind::Number: return {oracle_.constant(mpq_class(e.number)), {}};
      case ExprNode::Kind::Read: return read(e);
      case ExprNode::Kind::Apply: return apply(e);
      case ExprNode::Kind::Cases:
        for (const ExprNode::Case& c : e.cases)
          if (holds(c.when)) return value(*c.value);
        return value(*e.args[0]);
      case ExprNode::Kind::Reduce: return reduce(e);
      case ExprNode::Kind::IndexNumber: break;
    }
    ISOMER_UNREACHABLE("the attack's programs have no such expression");
  }

  Exact read(const ExprNode& e) {
    Extents position;
    for (std::size_t d = 0; d < e.at.size(); ++d) {
      position.push_back(at(e.at[d]));
      if (position.back() < 0 || position.back() >= e.extents[d].concrete()) return {oracle_.constant(0), {}};
    }
    if (e.tensor.kind == TensorRef::Kind::Stage) return stage(e.tensor.number, position);
    return {oracle_.of_scalar({.kind = Scalar::Kind::Element,
                               .what = e.tensor.number,
                               .args = std::vector<int>(position.begin(), position.end())}),
            {}};
  }

  Exact apply(const ExprNode& e) {
    if (e.args.size() == 1) return unary(e.fn, value(*e.args[0]));
    return binary(e.fn, value(*e.args[0]), value(*e.args[1]));
  }

  Exact unary(Fn fn, const Exact& a) {
    if (fn == Fn::Neg) return multiplied(a, {oracle_.constant(-1), {}});
    if (fn == Fn::Relu) return binary(Fn::Max, a, {oracle_.constant(0), {}});
    if (a.value == Exact::kUndefined) return a;
    if (!a.is_finite()) {
      const bool low = a.value == Exact::kLowest;
      if (fn == Fn::Exp) return low ? Exact{oracle_.constant(0), a.needs} : a;
      if (fn == Fn::Sigmoid) return {oracle_.constant(low ? 0 : 1), a.needs};
      if (fn == Fn::Tanh) return {oracle_.constant(low ? -1 : 1), a.needs};
      return {fn == Fn::Abs ? Exact::kHighest : Exact::kUndefined, a.needs};
    }
    if (const auto c = oracle_.as_constant(a.value)) {
      if (*c == 0 && (fn == Fn::Tanh || fn == Fn::Abs)) return {oracle_.constant(0), a.needs};
      if (*c == 0 && fn == Fn::Exp) return {oracle_.constant(1), a.needs};
      if (*c == 0 && fn == Fn::Sigmoid) return {oracle_.constant(mpq_class(1, 2)), a.needs};
      if (fn == Fn::Abs) return {oracle_.constant(abs(*c)), a.needs};
    }
    return {oracle_.of_scalar({.kind = Scalar::Kind::Apply, .what = static_cast<int>(fn), .args = {a.value}}),
            a.needs};
  }

  static std::set<int> joined(const Exact& a, const Exact& b) {
    std::set<int> out = a.needs;
    out.insert(b.needs.begin(), b.needs.end());
    return out;
  }

  Exact multiplied(const Exact& a, const Exact& b) {
    if (a.is_finite() && b.is_finite()) return {oracle_.multiply(a.value, b.value), joined(a, b)};
    if (a.value == Exact::kUndefined || b.value == Exact::kUndefined) return {Exact::kUndefined, {}};
    const Exact &strange = a.is_finite() ? b : a, &other = a.is_finite() ? a : b;
    const auto c = other.is_finite() ? oracle_.as_constant(other.value) : std::nullopt;
    if (!c || *c == 0) return {Exact::kUndefined, {}};
    const bool high = (strange.value == Exact::kHighest) == (*c > 0);
    return {high ? Exact::kHighest : Exact::kLowest, joined(a, b)};
  }

  Exact binary(Fn fn, const Exact& a, const Exact& b) {
    if (a.value == Exact::kUndefined || b.value == Exact::kUndefined) return {Exact::kUndefined, {}};
    std::set<int> needs = joined(a, b);
    switch (fn) {
      case Fn::Add: {
        if (a.is_finite() && b.is_finite()) return {oracle_.add(a.value, b.value, 1), needs};
        if (a.is_finite()) return {b.value, needs};
        if (b.is_finite() || a.value == b.value) return {a.value, needs};
        return {Exact::kUndefined, {}};
      }
      case Fn::Sub: return binary(Fn::Add, a, multiplied(b, {oracle_.constant(-1), {}}));
      case Fn::Mul: return multiplied(a, b);
      case Fn::Div: {
        if (!b.is_finite()) return {Exact::kUndefined, {}};
        const int r = oracle_.reciprocal(b.value, needs);
        if (r == Exact::kUndefined) return {Exact::kUndefined, {}};
        Exact out = multiplied(a, {r, {}});
        out.needs = needs;
        return out;
      }
      case Fn::Max:
      case Fn::Min: return folded(fn == Fn::Max ? Reduction::Max : Reduction::Min, {a, b});
      default: ISOMER_UNREACHABLE("the attack's programs have no such function");
    }
  }

  Exact folded(Reduction reduction, const std::vector<Exact>& all) {
    const int identity = reduction == Reduction::Max ? Exact::kLowest : Exact::kHighest;
    const int top = reduction == Reduction::Max ? Exact::kHighest : Exact::kLowest;
    Exact out{identity, {}};
    std::set<int> values;
    bool at_top = false;
    for (const Exact& x : all) {
      if (x.value == Exact::kUndefined) return x;
      out.needs.insert(x.needs.begin(), x.needs.end());
      at_top = at_top || x.value == top;
      if (x.is_finite()) values.insert(x.value);
    }
    if (at_top) out.value = top;
    else if (!values.empty()) out.value = oracle_.fold(reduction, values);
    return out;
  }

  Exact reduce(const ExprNode& e) {
    std::vector<Exact> all;
    for (const Axis& a : e.axes) axes_[a.id] = 0;
    for (bool more = true; more;) {
      if (holds(e.domain)) all.push_back(value(*e.args[0]));
      std::size_t k = e.axes.size();
      while (k > 0 && ++axes_[e.axes[k - 1].id] >= e.axes[k - 1].extent.concrete()) axes_[e.axes[--k].id] = 0;
      more = k > 0;
    }
    if (e.reduction != Reduction::Sum) return folded(e.reduction, all);
    Exact out{oracle_.constant(0), {}};
    for (const Exact& x : all) out = binary(Fn::Add, out, x);
    return out;
  }

  Oracle& oracle_;
  const Formula& formula_;
  std::map<int, std::int64_t> axes_;
  std::map<std::pair<int, Extents>, Exact> known_;
};

std::vector<Exact> Oracle::evaluate(const Formula& formula) {
  Walk walk(*this, formula);
  Extents shape;
  for (const Axis& a : formula.output(0).axes) shape.push_back(a.extent.concrete());
  std::vector<Exact> out;
  Extents position(shape.size(), 0);
  std::int64_t count = 1;
  for (const std::int64_t e : shape) count *= e;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) position[d] = rest % shape[d];
    out.push_back(walk.stage(formula.outputs[0], position));
  }
  return out;
}

long double Oracle::scalar_number(int scalar, std::uint64_t key, int kind) {
  const Scalar s = scalars_[static_cast<std::size_t>(scalar)];
  switch (s.kind) {
    case Scalar::Kind::Element: {
      std::uint64_t h = mix(key + static_cast<std::uint64_t>(s.what) * 7919);
      for (const int a : s.args) h = mix(h + static_cast<std::uint64_t>(a) + 17);
      const auto unit = static_cast<long double>(h >> 11u) / 9007199254740992.0L;
      if (kind == 1) return static_cast<long double>(h % 5) - 2;
      if (kind == 2) return unit * 2 + 0.01L;
      if (kind == 3) return -unit * 2 - 0.01L;
      return (unit - 0.5L) * 4;
    }
    case Scalar::Kind::Apply: {
      const long double x = number(s.args[0], key, kind);
      switch (static_cast<Fn>(s.what)) {
        case Fn::Exp: return std::exp(x);
        case Fn::Sigmoid: return 1 / (1 + std::exp(-x));
        case Fn::Tanh: return std::tanh(x);
        case Fn::Abs: return std::fabs(x);
        default: ISOMER_UNREACHABLE("the attack's programs have no such function");
      }
    }
    case Scalar::Kind::Fold: {
      long double best = number(s.args[0], key, kind);
      for (const int a : s.args) {
        const long double x = number(a, key, kind);
        if (std::isnan(x)) return x;
        best = s.what == static_cast<int>(Reduction::Max) ? std::max(best, x) : std::min(best, x);
      }
      return best;
    }
    case Scalar::Kind::Reciprocal: {
      const long double x = number(s.args[0], key, kind);
      return x == 0 ? std::numeric_limits<long double>::quiet_NaN() : 1 / x;
    }
  }
  return 0;
}

long double Oracle::number(int value, std::uint64_t key, int kind) {
  if (value < 0) return std::numeric_limits<long double>::quiet_NaN();
  const auto at = std::make_pair(value, std::make_pair(key, kind));
  if (const auto known = numbers_.find(at); known != numbers_.end()) return known->second;
  long double out = 0;
  for (const auto& [monomial, c] : Poly(polys_[static_cast<std::size_t>(value)])) {
    long double product = c.get_d();
    for (const auto& [scalar, power] : monomial) {
      const long double x = scalar_number(scalar, key, kind);
      if (power < 0 && x == 0) return std::numeric_limits<long double>::quiet_NaN();
      product *= std::pow(x, static_cast<long double>(power));
    }
    out += product;
  }
  numbers_.emplace(at, out);
  return out;
}

std::string Oracle::text(int value) const {
  if (value == Exact::kUndefined) return "undefined";
  if (value == Exact::kLowest) return "-inf";
  if (value == Exact::kHighest) return "inf";
  std::string out;
  for (const auto& [monomial, c] : polys_[static_cast<std::size_t>(value)]) {
    out += (out.empty() ? "" : " + ") + c.get_str();
    for (const auto& [scalar, power] : monomial) {
      const Scalar& s = scalars_[static_cast<std::size_t>(scalar)];
      std::string args;
      for (const int a : s.args)
        args += (args.empty() ? "" : ", ") + (s.kind == Scalar::Kind::Element ? std::to_string(a) : text(a));
      switch (s.kind) {
        case Scalar::Kind::Element: out += fmt::format(" x{}[{}]", s.what, args); break;
        case Scalar::Kind::Apply: out += fmt::format(" {}({})", name(static_cast<Fn>(s.what)), args); break;
        case Scalar::Kind::Fold:
          out += fmt::format(" {}{{{}}}", name(static_cast<Reduction>(s.what)), args);
          break;
        case Scalar::Kind::Reciprocal: out += fmt::format(" 1/({})", args); break;
      }
      if (power != 1) out += fmt::format("^{}", power);
    }
  }
  return out.empty() ? "0" : out;
}

}  // namespace isomer::attack
