#include "kernel/prove/prove.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernel/prove/attempts.h"
#include "kernel/prove/cases.h"
#include "kernel/prove/shrink.h"
#include "kernel/prove/sizes.h"
#include "kernel/prove/translate.h"
#include "kernel/prove/witness.h"
#include "model/graph/constant.h"

namespace isomer {
namespace {

// One way to put the question to the set algebra, from cheap to thorough.
struct Attempt {
  bool cut_common, seal, laws;
  ByValue by_value = {};
  int candidates = 1;  // phases of images enlarged four times both ways: 16
};
constexpr ByValue kSmall{.elements = kByValue.elements};
constexpr Attempt kAttempts[] = {
    {.cut_common = true, .seal = true, .laws = false},
    {.cut_common = true, .seal = false, .laws = false},
    {.cut_common = false, .seal = false, .laws = false},
    {.cut_common = true, .seal = false, .laws = false, .candidates = 16},
    // Without the values of small constants: with dozens of channels each number would be a case of its own.
    {.cut_common = true, .seal = false, .laws = true, .candidates = 16},
    {.cut_common = true, .seal = false, .laws = true, .by_value = kSmall, .candidates = 16},
    {.cut_common = false, .seal = false, .laws = true, .by_value = kSmall, .candidates = 16},
    // Where only one program has a table, its numbers matter.
    {.cut_common = true, .seal = false, .laws = false, .by_value = kByValue},
    {.cut_common = true, .seal = false, .laws = true, .by_value = kByValue, .candidates = 16},
};
constexpr int kWithTables = 7, kWithTablesAndLaws = 8;
static_assert(kByCases == std::size(kAttempts));

std::vector<Tensor> tables_of(const Graph& graph) {
  std::vector<Tensor> out;
  for (const NodeId id : graph.order())
    if (const auto constant = known_constant(graph, {id, 0});
        constant && is_float(constant->type()) && !kSmall.takes(*constant) && kByValue.takes(*constant))
      out.push_back(*constant);
  return out;
}

bool have_tables_of_their_own(const Graph& a, const Graph& b) {
  const auto left = tables_of(a), right = tables_of(b);
  const auto are_in = [](const std::vector<Tensor>& some, const std::vector<Tensor>& others) {
    return std::ranges::all_of(some, [&](const Tensor& t) {
      return std::ranges::any_of(others, [&](const Tensor& o) { return o.same_bits(t); });
    });
  };
  return !are_in(left, right) || !are_in(right, left);
}

// Up to this number of operators the expanded question is cheaper (TASO's rules: 12 s in all instead of 29).
constexpr std::size_t kFewOperators = 12;

// Whether a program moves elements and nothing else. Then its form names every element that it reads, and a
// program that has an equal form is undefined wherever one of these is.
bool only_selects(const Graph& graph, const Inference& inference) {
  return std::ranges::all_of(graph.order(), [&](NodeId id) {
    if (graph.node(id).kind != NodeKind::Operator || known_constant(graph, {id, 0})) return true;
    if (inference.opaque.contains(id)) return false;
    const Definition definition = define_node(graph, inference, id);
    const auto* formula = std::get_if<Formula>(&definition);
    return formula != nullptr && only_selects(*formula);
  });
}

// Whether a program is defined for all finite inputs, because of signs: no root of less than 0, no quotient
// by what may be 0.
bool is_total(const Graph& graph, const Inference& inference, const std::set<std::string>& partial_inputs) {
  return partial_nodes(graph, inference).empty() && std::ranges::none_of(graph.inputs(), [&](const Value& v) {
           return partial_inputs.contains(graph.name_of(v));
         });
}

// A bound of one named size, as a position on an axis gives it: n >= 1 where the last one is taken. It holds
// wherever the first program runs. Conditions on several sizes would only make sets larger.
bool is_bound_of_one(const Dim& extent) {
  const auto symbols = extent.symbols();
  return symbols.size() == 1 && (Dim::symbol(*symbols.begin()) - extent).is_concrete();
}

struct Answer {
  std::optional<Proved> proved;
  ByValue by_value = {};
  bool keep_signs = false, ordered = false;
  std::string why, positions;
  bool is_equal = false;  // as sets, where both are defined: then that is the better reason
};

// All cases were computed, by two evaluators: there is nothing left for a finite field, in which a rounding
// is an unknown function.
Answer ask_by_cases(const Graph& a, const Inference& a_info, const Graph& b, const Inference& b_info) {
  Answer out;
  if (auto why = why_not_equal_by_cases(a, a_info, b, b_info)) out.why = std::move(*why);
  else
    out.proved =
        Proved{.field = {}, .facts = {}, .expanded_constants = true, .used_laws = true, .attempt = kByCases};
  return out;
}

Answer ask(const Graph& a, const Inference& a_info, const Graph& b, const Inference& b_info,
           const ValueNumbers& numbers, const std::vector<std::string>& symbols, const Dims& preconditions,
           const ProveOptions& options, const Attempt& attempt) {
  Answer out;
  try {
    Budget budget = options.budget;
    budget.by_value = attempt.by_value;
    budget.candidates = attempt.candidates;
    NormalForms forms(symbols, {.preconditions = preconditions, .laws = attempt.laws, .budget = budget});
    Translator translator(forms, numbers,
                          {.cut_common = attempt.cut_common,
                           .seal = attempt.seal,
                           .use_facts = attempt.laws,
                           .partial_inputs = options.partial_inputs});
    const auto left = translator.outputs(a, a_info);
    const std::size_t mark = forms.mark();
    const auto right = translator.outputs(b, b_info);
    for (std::size_t k = 0; k < left.size(); ++k) {
      if (const auto doubt = forms.why_not_equal(left[k], right[k])) {
        out.why = doubt->why.empty() ? std::string(kNoProof) : doubt->why;
        if (left.size() > 1) out.why = fmt::format("output {}: {}", k, out.why);
        out.positions = doubt->positions;
        return out;
      }
    }
    out.is_equal = true;
    // Each output by itself: what the first program computes for another one may be undefined where this one
    // is not.
    const auto is_defined_with_each = [&] {
      for (std::size_t k = 0; k < left.size() && left.size() > 1; ++k) {
        const std::size_t before = forms.mark();
        translator.answer_for(b, b_info, b.outputs()[k]);
        if (!forms.is_defined_with(before, {left[k]})) return false;
      }
      return true;
    };
    if (!only_selects(b, b_info) && !(forms.is_defined_with(mark, left) && is_defined_with_each()) &&
        !is_total(b, b_info, options.partial_inputs)) {
      out.why =
          "equal where both are defined, but the second program may be undefined where the first is not";
      return out;
    }
    if (!translator.indices_follow(a, a_info, b, b_info)) {
      out.why = "an index of the second program may point outside of a tensor where the first program runs";
      return out;
    }
    out.proved = Proved{.field = {},
                        .facts = translator.facts(),
                        .expanded_constants = !translator.expanded().empty(),
                        .used_laws = forms.used_laws()};
    out.by_value = attempt.by_value;
    out.keep_signs = attempt.laws;
    out.ordered = forms.used_order();
  } catch (const Undecided& undecided) {
    out.why = undecided.what();
  } catch (const DimOverflow& overflow) {
    out.why = overflow.what();
  }
  return out;
}

// The attempts that are worth it for these programs, by their number, in the order in which they are made.
std::vector<int> attempts_for(const Graph& a, const Graph& b, const ProveOptions& options) {
  if (options.attempt && *options.attempt != kSymbolsOnly) {
    const bool is_one = *options.attempt >= 0 && *options.attempt <= kByCases;
    return is_one ? std::vector<int>{*options.attempt} : std::vector<int>{};
  }
  std::vector<int> out{0, 1, 2, 3, 4, 5, 6};
  if (a.operator_count() + b.operator_count() <= kFewOperators) std::swap(out[0], out[1]);
  if (have_tables_of_their_own(a, b)) {
    out.insert(out.begin(), kWithTables);
    out.push_back(kWithTablesAndLaws);
  }
  if (may_have_cases(a, b)) out.insert(out.begin(), kByCases);
  if (options.attempt) std::erase_if(out, takes_numbers);
  return out;
}

// Whether they differ mod p even if the constants keep all that a proof may use of them: then no attempt can
// prove them equal.
bool is_hopeless(const Graph& a, const Graph& b, const ProveOptions& options) {
  const WitnessReport report = field_witness(a, b,
                                             {.key = options.key,
                                              .preconditions = options.preconditions,
                                              .by_value = kByValue,
                                              .keep_signs = true,
                                              .ordered = true});
  return report.outcome == WitnessReport::Outcome::Differ;
}

}  // namespace

bool takes_numbers(int attempt) {
  if (attempt == kByCases) return true;
  const ByValue& by_value = kAttempts[static_cast<std::size_t>(attempt)].by_value;
  return by_value.elements > ByValue{}.elements || by_value.tables;
}

std::string text(const Verdict& verdict) {
  struct Speak {
    std::string operator()(const Proved& p) const {
      return fmt::format("proved, {} points mod p", p.field.points);
    }
    std::string operator()(const Refuted& r) const {
      return fmt::format("refuted: output {} at {} is {} and {}", r.output, text_of(r.position), r.a, r.b);
    }
    std::string operator()(const NotDecided& n) const { return n.why; }
    std::string operator()(const WitnessesDisagree& w) const {
      return "the two witnesses disagree: " + w.what;
    }
    static std::string text_of(const Extents& position) { return isomer::text(to_dims(position)); }
  };
  return std::visit(Speak{}, verdict);
}

Verdict prove_equal(const Graph& a, const Graph& b, const ProveOptions& options) {
  if (a.outputs().size() != b.outputs().size()) return NotDecided{"the programs have not as many outputs"};
  // Inputs, and the symbols in their shapes, are common to both by name; symbols that inference makes are
  // not.
  InferOptions for_a, for_b;
  for_a.taken = symbols_of(b);
  for_b.taken = symbols_of(a);
  const auto a_info = infer(a, for_a);
  if (!a_info.ok()) return NotDecided{"the first program: " + a_info.error().message};
  for_b.taken.insert(a_info->made.begin(), a_info->made.end());
  const auto b_info = infer(b, for_b);
  if (!b_info.ok()) return NotDecided{"the second program: " + b_info.error().message};

  Answer answer;
  Refuter refuter = options.refute;
  const auto refuted = [&]() -> std::optional<Refuted> {
    return refuter ? refuter(a, b, options.preconditions, options.key) : std::nullopt;
  };
  if (options.sets) {
    ValueNumbers numbers;
    numbers.add(a, *a_info);
    numbers.add(b, *b_info);
    Dims sizes = options.preconditions;
    sizes.insert(sizes.end(), options.sizes.begin(), options.sizes.end());
    if (const auto why = why_not_running(a, *a_info, b, *b_info, numbers, sizes)) {
      if (auto example = refuted()) return *example;
      return NotDecided{*why};
    }
    std::set<std::string> names = symbols_of(a);
    names.merge(symbols_of(b));
    const std::vector<std::string> symbols(names.begin(), names.end());
    Dims preconditions = options.preconditions;
    for (const Dim& d : about(needed_sizes(a, *a_info), names))
      if (is_bound_of_one(d)) preconditions.push_back(d);
    Answer by_cases;
    bool is_first = true;
    for (const int attempt : attempts_for(a, b, options)) {
      if (options.stop != nullptr && *options.stop) return NotDecided{"the time is up"};
      if (attempt == kByCases) {
        by_cases = ask_by_cases(a, *a_info, b, *b_info);
        if (by_cases.proved) return *by_cases.proved;
        continue;
      }
      Answer next = ask(a, *a_info, b, *b_info, numbers, symbols, preconditions, options,
                        kAttempts[static_cast<std::size_t>(attempt)]);
      if (next.proved) next.proved->attempt = attempt;
      if (answer.why.empty() || next.proved || (next.is_equal && !answer.is_equal)) answer = std::move(next);
      if (answer.proved) break;
      if (std::exchange(is_first, false) && options.field && is_hopeless(a, b, options)) break;
      // With symbolic sizes small ones refute quickly what more attempts would fail to prove.
      if (!symbols.empty()) {
        if (auto example = refuted()) return *example;
        refuter = nullptr;
      }
    }
    if (answer.why.empty()) answer.why = by_cases.why;
  } else {
    answer.proved = Proved{};
  }
  if (!answer.proved) {
    if (auto example = refuted()) return *example;
    return NotDecided{answer.why, answer.positions};
  }
  if (options.field) {
    const WitnessReport report = field_witness(a, b,
                                               {.key = options.key,
                                                .preconditions = options.preconditions,
                                                .by_value = answer.by_value,
                                                .keep_signs = answer.keep_signs,
                                                .ordered = answer.ordered});
    switch (report.outcome) {
      case WitnessReport::Outcome::Agree: answer.proved->field = report.test; break;
      case WitnessReport::Outcome::NotTested:
        return NotDecided{"no second proof, by exact arithmetic, was possible: " + report.what};
      case WitnessReport::Outcome::Differ:
        if (!options.sets) return NotDecided{report.what};
        return WitnessesDisagree{report.what};
    }
  }
  return *answer.proved;
}

}  // namespace isomer
