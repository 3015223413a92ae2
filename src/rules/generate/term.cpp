#include "rules/generate/term.h"

#include <algorithm>
#include <set>

#include "model/graph/infer.h"

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
    // A matched value has elements.
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
    node = child_of(node, t.word);
    for (std::size_t i = t.count; i-- > 0;) open.push_back(t.operands[i]);
  }
  ISOMER_CHECK(terms.size() <= kMostTerms);
  for (const Dims& given : equation.given) {
    Needed& needed = equation.needed.emplace_back(Needed{.rank = given.size(), .extents = {}});
    for (std::size_t i = 0; i < given.size(); ++i)
      if (const auto number = given[i].value()) needed.extents.emplace_back(i, *number);
  }
  nodes_[node].equations.push_back(equations_.size());
  equations_.push_back(std::move(equation));
}

std::size_t EquationIndex::child_of(std::size_t node, WordId word) {
  const std::size_t fresh = nodes_.size();
  if (word == kVariable) {
    if (nodes_[node].any != 0) return nodes_[node].any;
    nodes_[node].any = fresh;
  } else {
    auto& next = nodes_[node].next;
    const auto at = std::ranges::lower_bound(next, word, {}, &std::pair<WordId, std::size_t>::first);
    if (at != next.end() && at->first == word) return at->second;
    next.insert(at, {word, fresh});
  }
  nodes_.emplace_back();
  return fresh;
}

EquationIndex::Scratch& EquationIndex::scratch_of_thread() {
  static thread_local Scratch scratch;
  return scratch;
}

void EquationIndex::walk(const Terms& terms, std::size_t node, std::vector<const Term*>& open,
                         std::vector<std::size_t>& found) const {
  const Node& here = nodes_[node];
  if (open.empty()) {
    found.insert(found.end(), here.equations.begin(), here.equations.end());
    return;
  }
  const Term* const t = open.back();
  open.pop_back();
  if (here.any != 0) walk(terms, here.any, open, found);
  if (t->word != kVariable) {
    const auto same =
        std::ranges::lower_bound(here.next, t->word, {}, &std::pair<WordId, std::size_t>::first);
    if (same != here.next.end() && same->first == t->word) {
      for (std::size_t i = t->count; i-- > 0;) open.push_back(&terms.at(t->operands[i]));
      walk(terms, same->second, open, found);
      open.resize(open.size() - t->count);
    }
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
  for (std::size_t v = 0; v < variables.size(); ++v)
    if (variables[v] != kNoTerm && !terms.fits(variables[v], equation.needed[v])) return false;
  return true;
}

bool EquationIndex::has_sizes(const Equation& equation, const std::vector<const Dims*>& shapes) {
  std::map<std::string, Dim, std::less<>> sizes;
  // Extents of several symbols are read last.
  const auto is_plain = [&](std::size_t v) {
    return std::ranges::all_of(equation.given[v], [](const Dim& d) { return d.symbols().size() <= 1; });
  };
  for (const bool plain : {true, false})
    for (std::size_t v = 0; v < shapes.size(); ++v)
      if (shapes[v] != nullptr && is_plain(v) == plain && !bind(equation.given[v], *shapes[v], sizes))
        return false;
  return std::ranges::all_of(equation.preconditions, [&](const Dim& p) {
    const Dim here = p.substitute([&](std::string_view s) {
      const auto at = sizes.find(s);
      return at == sizes.end() ? Dim::symbol(s) : at->second;
    });
    return here.at_least(0) == true;
  });
}

}  // namespace isomer::rules
