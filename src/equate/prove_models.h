// prove: are two whole models equal? It searches for a pairing of their values. Running both finds values
// that look equal (equate/likeness.h); folded constants are solved for; and pair after pair is proved, in the
// order of the second model, up to the outputs. The pairing then goes to the checker
// (kernel/certify/pairing.h), which alone decides that the models are equal.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernel/certify/pairing.h"
#include "kernel/prove/verdict.h"
#include "model/graph/graph.h"

namespace isomer {

struct ProveModelsOptions {
  bool by_position = false;  // of outputs, even if both models have the same names of them
  const std::atomic<bool>* stop = nullptr;
  std::function<double()> seconds_left = {};  // until the deadline
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  std::function<void(const std::string&)> trace = {};  // every pair that is tried
};

enum class Answer : std::uint8_t { Proved, Refuted, Undecided };

struct ModelsVerdict {
  struct Output {
    std::string a, b;  // names
    Answer answer = Answer::Undecided;
    std::string why;
  };
  Answer answer = Answer::Undecided;
  std::string why;  // the reason if it is not proved
  std::vector<Output> outputs;
  std::optional<Refuted> example;
  std::string first_difference;                                            // where the models part, by node
  int constants_rounded = 0, constants_restated = 0, constants_moved = 0;  // see rounding.h
  double worst_ulp = 0;
  bool by_position = false;       // outputs were matched by position
  std::int64_t points = 0;        // mod p, of all proofs together
  int proofs = 0, questions = 0;  // pairs that were proved; questions that no earlier proof answered
  // Questions on which the two witnesses disagreed: each stays undecided and is a bug of ours. Then the
  // first.
  int witness_disagreements = 0;
  std::string disagreement;
  Pairing pairing;  // how they are equal; whole only where that is proved
  std::vector<std::vector<std::string>> open_in_second;  // by equation: the same values, by their names there
};

ModelsVerdict prove_models(const Graph& a, const Graph& b, const ProveModelsOptions& options = {});

}  // namespace isomer
