// ProofMemory: outcomes of slow proofs in earlier runs of this build: which attempt decides a question, or
// that none does. A hint and no proof: both witnesses prove every accepted step again.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernel/prove/step.h"
#include "runtime/judge/timing_cache.h"

namespace isomer {

class ProofMemory {
 public:
  // Null: nothing is remembered.
  ProofMemory(std::shared_ptr<TimingCache> cache, std::uint64_t seed)
      : cache_(std::move(cache)), seed_(seed) {}

  // The key of a claim about a graph; "" if nothing is remembered.
  std::string key(const Workpiece& piece, const Claim& claim) const;

  struct Hint {
    std::optional<std::string> refusal = {};  // it was not proved, and why
    std::optional<int> attempt = {};          // that proved it
  };
  Hint find(const std::string& key) const;
  void keep_refusal(const std::string& key, const std::string& why) const;
  void keep_attempt(const std::string& key, int attempt) const;

 private:
  std::shared_ptr<TimingCache> cache_;
  std::uint64_t seed_;
};

}  // namespace isomer
