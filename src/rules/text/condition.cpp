#include "rules/text/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kernel/prove/shrink.h"

namespace isomer {
namespace {

constexpr int kDeepest = 32;  // of parentheses; no extent of a real rule comes near

Result<Dim> parse_sum(Scanner& scanner, int depth);

Result<Dim> parse_factor(Scanner& scanner, int depth) {
  if (depth > kDeepest) return scanner.error("parentheses are nested too deeply");
  if (scanner.matches('(')) {
    ISOMER_TRY(Dim inner, parse_sum(scanner, depth + 1));
    ISOMER_TRY_DO(scanner.expect(')'));
    return inner;
  }
  if (scanner.matches('-')) {
    ISOMER_TRY(const Dim inner, parse_factor(scanner, depth + 1));
    return Dim(0) - inner;
  }
  if (const std::string_view name = scanner.identifier(); !name.empty()) return Dim::symbol(name);
  const char next = scanner.peek();
  if (next < '0' || next > '9') return scanner.error("expected an integer, a name or '('");
  ISOMER_TRY(const std::int64_t value, scanner.integer());
  return Dim(value);
}

Result<Dim> parse_product(Scanner& scanner, int depth) {
  ISOMER_TRY(Dim total, parse_factor(scanner, depth));
  while (scanner.matches('*')) {
    ISOMER_TRY(const Dim next, parse_factor(scanner, depth));
    total = total * next;
  }
  return total;
}

Result<Dim> parse_sum(Scanner& scanner, int depth) {
  ISOMER_TRY(Dim total, parse_product(scanner, depth));
  while (true) {
    const bool plus = scanner.matches('+');
    if (!plus && !scanner.matches('-')) return total;
    ISOMER_TRY(const Dim next, parse_product(scanner, depth));
    total = plus ? total + next : total - next;
  }
}

Dim evaluated(const Dim& dim, const RuleInstance& instance) {
  return dim.substitute([&](std::string_view name) {
    const auto at = instance.names.find(name);
    return at == instance.names.end() ? Dim::symbol(name) : at->second;
  });
}

RuleInstance with_symbol(const RuleInstance& instance, const std::string& symbol, const Dim& value) {
  const auto put = [&](std::string_view name) { return name == symbol ? value : Dim::symbol(name); };
  RuleInstance out{.values = instance.values,
                   .names = {},
                   .left = with_symbols_replaced(instance.left, put),
                   .right = with_symbols_replaced(instance.right, put),
                   .preconditions = {}};
  for (const auto& [name, dim] : instance.names) out.names.emplace(name, dim.substitute(put));
  for (const Dim& d : instance.preconditions) {
    const Dim next = d.substitute(put);
    if (next.at_least(0) != true) out.preconditions.push_back(next);
  }
  // A symbol is at least 0; what stands in its place must be, too.
  if (value.at_least(0) != true) out.preconditions.push_back(value);
  return out;
}

// The symbol, if the summand is a multiple of one.
const std::string* lone_symbol(const Dim::Summand& s) {
  const bool lone = s.factors.size() == 1 && s.factors[0].kind == Dim::Factor::Kind::Symbol;
  return lone ? &s.factors[0].symbol : nullptr;
}

bool mentions(const Dim& dim, const std::string& symbol) {
  const auto symbols = dim.symbols();
  return std::ranges::find(symbols, symbol) != symbols.end();
}

// difference = 0, solved for a symbol whose coefficient is 1 or -1 once common divisors are gone.
Imposed solve(const Dim& difference, const RuleInstance& instance) {
  std::int64_t divisor = 0;
  for (const auto& s : difference.summands()) divisor = std::gcd(divisor, s.coefficient);
  const Dim reduced = Dim::exact_quotient(difference, divisor).value_or(difference);
  for (const auto& s : reduced.summands()) {
    const std::string* symbol = lone_symbol(s);
    if (symbol == nullptr || (s.coefficient != 1 && s.coefficient != -1)) continue;
    const Dim rest = reduced - Dim(s.coefficient) * Dim::symbol(*symbol);
    if (mentions(rest, *symbol)) continue;
    return {.outcome = Imposed::Outcome::Kept,
            .instance = with_symbol(instance, *symbol, Dim(-s.coefficient) * rest)};
  }
  return {.outcome = Imposed::Outcome::NotSolved, .instance = {}};
}

// dim is odd: the one symbol with an odd coefficient s becomes 2·s or 2·s + 1.
Imposed solve_odd(const Dim& dim, const RuleInstance& instance) {
  const std::string* symbol = nullptr;
  std::int64_t constant = 0;
  const auto summands = dim.summands();
  for (const auto& s : summands) {
    if (s.factors.empty()) constant = s.coefficient;
    if (s.factors.empty() || s.coefficient % 2 == 0) continue;
    if (symbol != nullptr || lone_symbol(s) == nullptr)
      return {.outcome = Imposed::Outcome::NotSolved, .instance = {}};
    symbol = lone_symbol(s);
  }
  if (symbol == nullptr) return {.outcome = Imposed::Outcome::NotSolved, .instance = {}};
  return {
      .outcome = Imposed::Outcome::Kept,
      .instance = with_symbol(instance, *symbol, Dim(2) * Dim::symbol(*symbol) + floor_mod(1 - constant, 2))};
}

}  // namespace

Result<Dim> parse_dim_expression(Scanner& scanner) {
  const std::size_t place = scanner.position();
  try {
    return parse_sum(scanner, 0);
  } catch (const DimOverflow& overflow) {
    return scanner.error_at(place, overflow.what());
  }
}

Condition Condition::equal(const Dim& a, const Dim& b) {
  return {.kind = Kind::Equal, .a = a, .b = b, .text = fmt::format("{} = {}", a.text(), b.text())};
}
Condition Condition::at_least(const Dim& a, const Dim& b) {
  return {.kind = Kind::AtLeast, .a = a, .b = b, .text = fmt::format("{} >= {}", a.text(), b.text())};
}
Condition Condition::odd(const Dim& a) {
  return {.kind = Kind::Odd, .a = a, .b = 0, .text = a.text() + " is odd"};
}

Result<Condition> parse_condition(Scanner& scanner) {
  ISOMER_TRY(const Dim a, parse_dim_expression(scanner));
  if (scanner.matches("is")) {
    ISOMER_TRY_DO(scanner.expect("odd"));
    return Condition::odd(a);
  }
  const bool at_least = scanner.matches(">=");
  if (!at_least && !scanner.matches('=')) return scanner.error("expected '=', '>=' or 'is odd'");
  ISOMER_TRY(const Dim b, parse_dim_expression(scanner));
  return at_least ? Condition::at_least(a, b) : Condition::equal(a, b);
}

std::string text(const Conditions& conditions) {
  std::string out;
  for (const Condition& c : conditions) out += (out.empty() ? "" : " and ") + c.text;
  return out;
}

std::optional<bool> holds(const Condition& condition, const RuleInstance& instance) {
  const Dim a = evaluated(condition.a, instance), b = evaluated(condition.b, instance);
  switch (condition.kind) {
    case Condition::Kind::Equal: return a.equals(b);
    case Condition::Kind::AtLeast: return a.at_least(b);
    case Condition::Kind::Odd: break;
  }
  const Dim rest = Dim::mod(a, 2);
  return rest.is_concrete() ? std::optional(rest.is(1)) : std::nullopt;
}

Imposed impose(const Condition& condition, const RuleInstance& instance) {
  if (const auto known = holds(condition, instance))
    return *known ? Imposed{.outcome = Imposed::Outcome::Kept, .instance = instance}
                  : Imposed{.outcome = Imposed::Outcome::Excluded, .instance = {}};
  const Dim a = evaluated(condition.a, instance), b = evaluated(condition.b, instance);
  switch (condition.kind) {
    case Condition::Kind::Equal: return solve(a - b, instance);
    case Condition::Kind::Odd: return solve_odd(a, instance);
    case Condition::Kind::AtLeast: break;
  }
  RuleInstance out = instance;
  out.preconditions.push_back(a - b);
  return {.outcome = Imposed::Outcome::Kept, .instance = std::move(out)};
}

Imposed impose(const Conditions& conditions, const RuleInstance& instance) {
  Imposed now{.outcome = Imposed::Outcome::Kept, .instance = instance};
  for (const Condition& c : conditions) {
    now = impose(c, *now.instance);
    if (now.outcome != Imposed::Outcome::Kept) break;
  }
  return now;
}

}  // namespace isomer
