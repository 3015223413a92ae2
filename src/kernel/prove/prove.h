// Are two programs equal for all inputs? Two subgraphs with common inputs (matched by name) and as many
// outputs (matched by position), at their real shapes and attributes, or symbolic ones.
//
// Two witnesses that share nothing but the formulas: the set algebra (kernel/normal/normal_form.h) proves,
// the field evaluation (witness.h) tests; `Proved` needs both. The step is a refinement: where the first
// program is defined, the second is.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "kernel/normal/budget.h"
#include "kernel/prove/verdict.h"

namespace isomer {

// Constants that may take part by value: what they are is a part of the question.
constexpr ByValue kByValue{.elements = 64, .tables = true};

// An input on which two programs differ, of sizes that satisfy the preconditions; nullopt: none was found.
using Refuter = std::optional<Refuted> (*)(const Graph& a, const Graph& b, const Dims& preconditions,
                                           std::uint64_t key);

struct ProveOptions {
  Dims preconditions = {};  // of symbolic sizes, each >= 0
  std::uint64_t key = 1;    // of the field witness
  bool sets = true;         // for tests of one witness alone
  bool field = true;
  // Called if there is no proof: find_counterexample (refute.h). Its answer is no part of any proof, so the
  // checker links none.
  Refuter refute = nullptr;
  // Inputs of the first program that may themselves be undefined: the second may use them only where the
  // first does.
  std::set<std::string> partial_inputs = {};
  // Known facts about sizes from the model around these programs, each >= 0.
  Dims sizes = {};
  Budget budget = {};
  std::optional<int> attempt =
      {};  // this way to put the question alone: Proved::attempt of an earlier answer
  const std::atomic<bool>* stop = nullptr;  // if set, no further attempt is begun
};

Verdict prove_equal(const Graph& a, const Graph& b, const ProveOptions& options = {});

// The source of an answer: prove_equal in the checker; in a search, a cache of earlier answers
// (optimizer/facts/proof_cache.h).
using ProofSource = std::function<Verdict(const Graph& a, const Graph& b, const ProveOptions& options)>;

}  // namespace isomer
