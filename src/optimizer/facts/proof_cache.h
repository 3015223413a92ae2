// A cache of answers of the prover. Fifty equal blocks of a model cost a search one proof, or one attempt at
// one. The checker has no cache: it proves everything that it accepts.
//
// The key is everything that an answer may depend on, written out: both programs without their names, shapes,
// attributes and small constants in full, larger constants by where they recur (a proof treats them as
// symbols) and by the sign facts that a proof may use; and all results of inference, which may use the
// numbers of larger constants. Keys are compared in full, never by digest.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "kernel/prove/prove.h"

namespace isomer {

// Several threads may use it: what one of them is proving, no other one proves.
class ProofCache {
 public:
  // As prove_equal. Proofs are kept, and what was not decided within this budget.
  Verdict prove(const Graph& a, const Graph& b, const ProveOptions& options = {});
  ProofSource source() {
    return
        [this](const Graph& a, const Graph& b, const ProveOptions& options) { return prove(a, b, options); };
  }
  // The same before `prove` is called; nullopt: the answer is known, or another thread is proving it.
  std::optional<Verdict> prove_ahead(const Graph& a, const Graph& b, const ProveOptions& options);
  // They count calls of `prove`: what was proved ahead does not change them.
  std::size_t hits() const { return hits_; }
  std::size_t attempts() const { return attempts_; }  // questions that were not answered before

 private:
  struct Question;
  struct Known {
    Verdict verdict;
    bool is_counted = false;  // `prove` has returned it
  };
  Known* find(const Question& question);
  Verdict answer(std::unique_lock<std::mutex>& lock, const Question& question, const Graph& a, const Graph& b,
                 const ProveOptions& options, bool is_counted);

  std::mutex mutex_;
  std::condition_variable answered_;
  std::map<std::string, Known> known_;  // proofs by question; what was not decided by question and effort
  std::set<std::string> open_;          // questions that a thread is proving
  std::size_t hits_ = 0, attempts_ = 0;
};

// The question as a text; equal texts, equal questions.
std::string question(const Graph& a, const Graph& b, const ProveOptions& options);

}  // namespace isomer
