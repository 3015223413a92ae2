// Term: a word applied to other terms, or a variable. Equation: one output of one instance of a rule as two
// terms, read from left to right: a term that matches `from`, at sizes that the rule covers, is equal to
// `to`. For tests of derivability; proofs are about graphs (prove_rule.h).
#pragma once

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "rules/generate/vocabulary.h"
#include "rules/text/rule.h"

namespace isomer::rules {

using WordId = std::uint16_t;
using TermId = std::uint32_t;
constexpr WordId kVariable = 0xffff;
constexpr TermId kNoTerm = 0xffffffffu;

// All words in use, each with a number.
class Words {
 public:
  WordId add(const Word& word);
  const Word& of(WordId id) const { return words_[id]; }
  std::size_t size() const { return words_.size(); }

 private:
  std::vector<Word> words_;
  std::unordered_map<std::string, WordId> numbers_;
};

struct Term {
  WordId word = kVariable;
  std::uint8_t count = 0;                            // of operands
  std::array<TermId, 2> operands{kNoTerm, kNoTerm};  // a variable: its number
  static Term variable(TermId number) {
    return {.word = kVariable, .count = 0, .operands = {number, kNoTerm}};
  }
  friend bool operator==(const Term&, const Term&) = default;
};
struct TermHash {
  std::size_t operator()(const Term& t) const {
    return mix(mix((std::uint64_t{t.word} << 32u) + t.operands[0]) + t.operands[1]);
  }
};

// One side of an equation: terms after their operands, the last one is all of it. Shapes are in the rule's
// symbols.
struct Side {
  std::vector<Term> terms;
  std::vector<Dims> shapes;
};

// The requirements of a general equation on a variable's value: its rank, and extents that are numbers.
struct Needed {
  std::size_t rank = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> extents;  // axis -> number
};

struct Equation {
  std::size_t rule = 0;      // its number, for the caller
  bool is_reversed = false;  // from the rule's right side to its left one
  Side from, to;
  std::vector<Dims> given;          // shapes of the variables
  Dims preconditions;               // each >= 0
  std::vector<Needed> needed = {};  // of the variables; an index fills it in
  // It speaks of all sizes at which `from` is well formed: what matches it in words, ranks and numbers among
  // the extents matches it. Where it is not known, false.
  bool is_general = false;
};

// The equations of a rule, in both directions, where all variables on the right are on the left, too. A word
// that commutes gives one for either order of its operands. None for what can't be said in terms.
std::vector<Equation> equations_of(Words& words, const Rule& rule, std::size_t number);

// Every output of every instance of a rule as two terms; nullopt: it can't be written as terms.
using Sides = std::pair<std::optional<Side>, std::optional<Side>>;
std::vector<Sides> sides_of(Words& words, const Rule& rule);

// Where terms are looked for: some store of them, in which shapes are known in one or more instances.
class Terms {
 public:
  virtual ~Terms() = default;
  virtual const Term& at(TermId id) const = 0;
  virtual const Dims& shape(TermId id, int instance) const = 0;
  virtual int instances() const { return 1; }
  virtual bool fits(TermId id, const Needed& needed) const = 0;  // in all instances
};

// Equations by what they begin with: a discrimination tree over the words of `from`, from the root and from
// left to right, where a variable stands for any term.
class EquationIndex {
 public:
  EquationIndex() : nodes_(1) {}
  void add(Equation equation);
  const std::vector<Equation>& all() const { return equations_; }
  // Calls `visit(number, variables)` for each that matches in words, in the order of the tree, until it
  // answers true.
  enum class Which : std::uint8_t { All, General };
  template <class Visit>
  bool find(const Terms& terms, const Term& top, const Visit& visit, Which which = Which::All) const {
    Scratch scratch = std::move(scratch_of_thread());
    scratch.open.assign(1, &top);
    scratch.found.clear();
    walk(terms, 0, scratch.open, scratch.found);
    bool is_done = false;
    for (std::size_t k = 0; k < scratch.found.size() && !is_done; ++k) {
      const Equation& e = equations_[scratch.found[k]];
      is_done = (which == Which::All || e.is_general) && match_variables(terms, e, top, scratch.variables) &&
                visit(scratch.found[k], scratch.variables);
    }
    scratch_of_thread() = std::move(scratch);
    return is_done;
  }
  // The general ones that match, by `visit(equation, variables)`, without a test of sizes, which is much
  // faster.
  template <class Visit>
  bool find_general(const Terms& terms, const Term& top, const Visit& visit) const {
    return find(
        terms, top,
        [&](std::size_t number, const std::vector<TermId>& variables) {
          return fits(terms, equations_[number], variables) && visit(equations_[number], variables);
        },
        Which::General);
  }
  // The requirements of a general equation on its variables.
  static bool fits(const Terms& terms, const Equation& equation, const std::vector<TermId>& variables);
  // Whether there are sizes, which the equation speaks of, under which its variables are of these shapes;
  // null: it has no such variable.
  static bool has_sizes(const Equation& equation, const std::vector<const Dims*>& shapes);

 private:
  struct Node {
    std::size_t any = 0;                               // a variable; 0: none
    std::vector<std::pair<WordId, std::size_t>> next;  // sorted
    std::vector<std::size_t> equations;
  };
  // The memory of a walk, reused by the next one.
  struct Scratch {
    std::vector<const Term*> open;
    std::vector<std::size_t> found;
    std::vector<TermId> variables;
  };
  static Scratch& scratch_of_thread();
  std::size_t child_of(std::size_t node, WordId word);
  void walk(const Terms& terms, std::size_t node, std::vector<const Term*>& open,
            std::vector<std::size_t>& found) const;
  // In words alone; false: it does not match.
  static bool match_variables(const Terms& terms, const Equation& equation, const Term& top,
                              std::vector<TermId>& variables);
  std::vector<Node> nodes_;
  std::vector<Equation> equations_;
};

}  // namespace isomer::rules
