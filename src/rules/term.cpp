#include "rules/term.h"

#include <algorithm>
#include <set>

#include "graph/infer.h"

namespace isomer::rules {
namespace {

constexpr std::size_t kMostTerms = 64;  // of a side of an equation; people write a tenth of it

// The terms of one output of one side; nullopt: it has what no word says.
std::optional<Side> side_of(Words& words, const Graph& graph, const Inference& info, Value output,
                            const std::map<std::string, TermId>& variables) {
  Side side;
  std::map<Value, TermId> known;
  const auto add = [&](Value v, const Term& term) {
    const auto& shape = info.of(v).shape;
    if (!shape) return false;
    known.emplace(v, static_cast<TermId>(side.terms.size()));
    side.terms.push_back(term);
    side.shapes.push_back(*shape);
    return true;
  };
  // Operands first; a walk with a stack of its own.
  std::vector<Value> open{output};
  while (!open.empty()) {
    const Value v = open.back();
    if (known.contains(v)) {
      open.pop_back();
      continue;
    }
    const Node& node = graph.node(v.node);
    if (node.kind == NodeKind::Input) {
      if (!add(v, Term::variable(variables.at(node.outputs[0])))) return std::nullopt;
      open.pop_back();
      continue;
    }
    if (node.op == "Identity") {
      if (const auto at = known.find(node.inputs[0]); at != known.end()) known.emplace(v, at->second);
      else open.push_back(node.inputs[0]);
      continue;
    }
    const auto use = word_of(graph, v);
    if (!use || use->operands.size() > 2 || use->operands.empty()) return std::nullopt;
    Term term{.word = words.add(use->word), .count = static_cast<std::uint8_t>(use->operands.size())};
    bool is_ready = true;
    for (std::size_t i = use->operands.size(); i-- > 0;) {  // the first one is on top of the stack
      const auto at = known.find(use->operands[i]);
      if (at == known.end()) {
        open.push_back(use->operands[i]);
        is_ready = false;
      } else {
        term.operands[i] = at->second;
      }
    }
    if (!is_ready) continue;
    if (!add(v, term)) return std::nullopt;
    open.pop_back();
  }
  return side;
}

std::set<TermId> variables_of(const Side& side) {
  std::set<TermId> out;
  for (const Term& t : side.terms)
    if (t.word == kVariable) out.insert(t.operands[0]);
  return out;
}

// The side with the operands of commuting words in either order.
std::vector<Side> orders_of(const Words& words, const Side& side) {
  std::vector<Side> out{side};
  for (std::size_t i = 0; i < side.terms.size(); ++i) {
    const Term& t = side.terms[i];
    if (t.word == kVariable || !words.of(t.word).is_commutative() || t.operands[0] == t.operands[1]) continue;
    const std::size_t count = out.size();
    for (std::size_t k = 0; k < count; ++k) {
      Side swapped = out[k];
      std::swap(swapped.terms[i].operands[0], swapped.terms[i].operands[1]);
      out.push_back(std::move(swapped));
    }
  }
  return out;
}

// Sizes under which a pattern's extents are the given ones; false: there are none.
bool bind(const Dims& pattern, const Dims& shape, std::map<std::string, Dim, std::less<>>& sizes) {
  if (pattern.size() != shape.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i].is_concrete()) {
      if (!(pattern[i] == shape[i])) return false;
      continue;
    }
    // All but one symbol known: what is left is a multiple of it.
    std::string open;
    for (const std::string& s : pattern[i].symbols()) {
      if (sizes.contains(s)) continue;
      if (!open.empty()) return false;
      open = s;
    }
    const auto at = [&](std::int64_t of_open) {
      return pattern[i].substitute([&](std::string_view s) {
        const auto known = sizes.find(s);
        return known == sizes.end() ? Dim(of_open) : known->second;
      });
    };
    if (!open.empty()) {
      const Dim slope = at(1) - at(0);
      const auto size = slope.is(0) ? std::nullopt : Dim::exact_quotient(shape[i] - at(0), slope);
      if (!size) return false;
      sizes.emplace(open, *size);
    }
    if (!(at(0) == shape[i])) return false;
  }
  return true;
}

}  // namespace

WordId Words::add(const Word& word) {
  const auto [at, is_new] = numbers_.emplace(word.text(), static_cast<WordId>(words_.size()));
  if (is_new) words_.push_back(word);
  return at->second;
}

namespace {

// An instance in terms: the shapes of its inputs, and its outputs.
struct InTerms {
  std::vector<Dims> given;
  std::vector<Sides> outputs;
};
std::optional<InTerms> in_terms(Words& words, const RuleInstance& instance) {
  const auto left_info = infer(instance.left), right_info = infer(instance.right);
  if (!left_info.ok() || !right_info.ok()) return std::nullopt;
  InTerms out;
  std::map<std::string, TermId> variables;
  for (const Value& v : instance.left.inputs()) {
    variables.emplace(instance.left.node(v.node).outputs[0], static_cast<TermId>(out.given.size()));
    out.given.push_back(*left_info->of(v).shape);
  }
  for (std::size_t k = 0; k < instance.left.outputs().size(); ++k)
    out.outputs.emplace_back(
        side_of(words, instance.left, *left_info, instance.left.outputs()[k], variables),
        side_of(words, instance.right, *right_info, instance.right.outputs()[k], variables));
  return out;
}

}  // namespace

std::vector<Sides> sides_of(Words& words, const Rule& rule) {
  std::vector<Sides> out;
  for (const RuleInstance& instance : rule.instances) {
    auto made = in_terms(words, instance);
    if (!made) return {Sides{}};
    for (Sides& s : made->outputs) out.push_back(std::move(s));
  }
  return out;
}

std::vector<Equation> equations_of(Words& words, const Rule& rule, std::size_t number) {
  std::vector<Equation> out;
  for (const RuleInstance& instance : rule.instances) {
    const auto made = in_terms(words, instance);
    if (!made) continue;
    // What is matched has elements anyway.
    Dims preconditions = instance.preconditions;
    for (const Dims& shape : made->given)
      for (const Dim& extent : shape)
        std::erase_if(preconditions, [&](const Dim& p) { return p == extent - 1; });
    for (const auto& [left, right] : made->outputs) {
      if (!left || !right) continue;
      for (const auto& [from, to] : {std::pair(&*left, &*right), std::pair(&*right, &*left)}) {
        if (from->terms.back().word == kVariable || from->terms.size() > kMostTerms ||
            !std::ranges::includes(variables_of(*from), variables_of(*to)))
          continue;
        for (Side& side : orders_of(words, *from))
          out.push_back({.rule = number,
                         .is_reversed = from == &*right,
                         .from = std::move(side),
                         .to = *to,
                         .given = made->given,
                         .preconditions = preconditions});
      }
    }
  }
  return out;
}

void EquationIndex::add(Equation equation) {
  std::size_t node = 0;
  const auto& terms = equation.from.terms;
  std::vector<TermId> open{static_cast<TermId>(terms.size() - 1)};
  while (!open.empty()) {
    const Term& t = terms[open.back()];
    open.pop_back();
    const auto [at, is_new] = nodes_[node].next.emplace(t.word, nodes_.size());
    node = at->second;
    if (is_new) nodes_.emplace_back();
    for (std::size_t i = t.count; i-- > 0;) open.push_back(t.operands[i]);
  }
  ISOMER_CHECK(terms.size() <= kMostTerms);
  nodes_[node].equations.push_back(equations_.size());
  equations_.push_back(std::move(equation));
}

void EquationIndex::walk(const Terms& terms, std::size_t node, std::vector<const Term*>& open,
                         std::vector<std::size_t>& found) const {
  if (open.empty()) {
    found.insert(found.end(), nodes_[node].equations.begin(), nodes_[node].equations.end());
    return;
  }
  const Term* const t = open.back();
  open.pop_back();
  const auto& next = nodes_[node].next;
  if (const auto any = next.find(kVariable); any != next.end()) walk(terms, any->second, open, found);
  if (t->word != kVariable)
    if (const auto same = next.find(t->word); same != next.end()) {
      for (std::size_t i = t->count; i-- > 0;) open.push_back(&terms.at(t->operands[i]));
      walk(terms, same->second, open, found);
      open.resize(open.size() - t->count);
    }
  open.push_back(t);
}

bool EquationIndex::match_variables(const Terms& terms, const Equation& equation, const Term& top,
                                    std::vector<TermId>& variables) {
  const auto& from = equation.from.terms;
  variables.assign(equation.given.size(), kNoTerm);
  std::array<TermId, kMostTerms> matched;
  ISOMER_CHECK(from.size() <= kMostTerms);
  std::fill_n(matched.begin(), from.size(), kNoTerm);
  // From the root down: users come after what they use. The root itself need not be stored.
  for (std::size_t i = from.size(); i-- > 0;) {
    const Term& p = from[i];
    if (p.word == kVariable) {
      TermId& bound = variables[p.operands[0]];
      if (bound != kNoTerm && bound != matched[i]) return false;
      bound = matched[i];
      continue;
    }
    const Term& t = i + 1 == from.size() ? top : terms.at(matched[i]);
    if (t.word != p.word) return false;
    for (std::size_t k = 0; k < p.count; ++k) {
      TermId& under = matched[p.operands[k]];
      if (under != kNoTerm && under != t.operands[k]) return false;
      under = t.operands[k];
    }
  }
  return true;
}

bool EquationIndex::fits(const Terms& terms, const Equation& equation, const std::vector<TermId>& variables) {
  for (std::size_t v = 0; v < variables.size(); ++v) {
    if (variables[v] == kNoTerm) continue;
    const Dims& given = equation.given[v];
    for (int k = 0; k < terms.instances(); ++k) {
      const Dims& shape = terms.shape(variables[v], k);
      if (shape.size() != given.size()) return false;
      for (std::size_t i = 0; i < given.size(); ++i)
        if (given[i].is_concrete() && !(given[i] == shape[i])) return false;
    }
  }
  return true;
}

std::optional<Match> EquationIndex::match_of(const Terms& terms, const Equation& equation, const Term& top) {
  Match match;
  if (!match_variables(terms, equation, top, match.variables)) return std::nullopt;
  for (int k = 0; k < terms.instances(); ++k) {
    auto& sizes = match.sizes.emplace_back();
    // Extents of several symbols are read last.
    std::vector<std::pair<Dims, Dims>> pairs;
    for (std::size_t v = 0; v < equation.given.size(); ++v)
      if (match.variables[v] != kNoTerm)
        pairs.emplace_back(equation.given[v], terms.shape(match.variables[v], k));
    const auto plain = [](const auto& pair) {
      return std::ranges::all_of(pair.first, [](const Dim& d) { return d.symbols().size() <= 1; });
    };
    std::ranges::stable_partition(pairs, plain);
    for (const auto& [pattern, shape] : pairs)
      if (!bind(pattern, shape, sizes)) return std::nullopt;
    for (const Dim& p : equation.preconditions) {
      const Dim here = p.substitute([&](std::string_view s) {
        const auto at = sizes.find(s);
        return at == sizes.end() ? Dim::symbol(s) : at->second;
      });
      if (here.at_least(0) != true) return std::nullopt;
    }
  }
  return match;
}

}  // namespace isomer::rules
