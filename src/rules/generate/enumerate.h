// Enumeration of values, not of graphs: bottom up by the number of operators, a word is applied only to the
// *representatives* of values, so that a candidate is not merely a consequence inside an operand.
//
// Every term is computed over the finite field (model/eval/field.h) in two instances, at inputs drawn by a
// fixed key, from the values of its operands. A new value makes the term its representative. A known value,
// compared in full, gives a candidate for a rule: term = representative. Two kinds of terms are not computed
// at all: those that known equations turn into one that has been seen, and renamings of another that are of
// no use to a later level. Nothing here is a proof.
//
// Equal values have equal shapes: a level is enumerated shape by shape, so only one shape of the last level
// is kept at a time, and shapes can be divided between processes. Deterministic: terms come in a fixed order
// and in chunks of a fixed size; threads only compute.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <stop_token>

#include "rules/generate/term.h"

namespace isomer::rules {

struct Candidate {
  Term term, representative;  // over values; the representative may be an input
  Dims shape;                 // of both, in the first instance
  int inputs = 0;
  std::uint64_t place = 0;  // of the term in its level
};

struct EnumerationCounts {
  std::uint64_t terms = 0;      // that are well formed
  std::uint64_t renamings = 0;  // of others: not computed, or no candidate
  std::uint64_t derived = 0;    // known by equations: not computed
  std::uint64_t computed = 0, values = 0, candidates = 0;
  std::uint64_t left_out = 0;  // beyond the bound
};

// One of several parts of a level.
struct Shard {
  int index = 1, of = 1;
};

struct EnumerateOptions {
  int threads = 2;
  std::uint64_t most_terms = 10'000'000'000;  // of one level
  std::vector<std::string> only = {};         // operators; none: all of the vocabulary
  Shard shard = {};                           // of the last level
  std::stop_token stop = {};
  std::function<void(const EnumerationCounts&)> progress = {};
};

class Enumeration final : public Terms {
 public:
  explicit Enumeration(Words& words);
  ~Enumeration() override;
  // The next level: terms with one more operator. `levels_left`: the number of later levels; the last one
  // keeps no values. Candidates that are renamings of each other give one candidate, or two.
  std::vector<Candidate> next_level(const EquationIndex& known, int levels_left,
                                    const EnumerateOptions& options);
  // Call it after adding equations: it finds the terms that they turn into their representatives. Other
  // equations prove nothing about terms that contain them.
  void settle(const EquationIndex& known);
  const EnumerationCounts& counts() const { return counts_; }  // of the last level

  const Term& at(TermId id) const override;
  const Dims& shape(TermId id, int instance) const override;
  int instances() const override { return 2; }
  bool fits(TermId id, const Needed& needed) const override;
  // The term in full, over inputs numbered as they are first used from here on; shapes are those of an
  // instance.
  Side side_of(const Term& top, std::vector<TermId>& inputs, int instance = 0) const;
  std::string_view input_letter(TermId input) const;  // of its family
  bool is_weight(TermId id) const;

 private:
  struct State;
  class Level;
  std::unique_ptr<State> state_;
  EnumerationCounts counts_;
};

}  // namespace isomer::rules
