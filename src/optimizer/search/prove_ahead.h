// ProveAhead: threads that prove proposals before the search needs them. Their answers go to the cache of
// proofs. The search reads it in its own order: its result is the same without them, only later.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "optimizer/facts/proposal.h"

namespace isomer {

class ProveAhead {
 public:
  // Several threads call it. It ends soon after `stop` is set.
  using Prove = std::function<void(const Proposal& proposal, const std::atomic<bool>& stop)>;
  // The search is at the first of them. One thread for each processor; none where there is only one.
  ProveAhead(std::vector<const Proposal*> proposals, Prove prove);
  ~ProveAhead() { stop_ = true; }
  ProveAhead(const ProveAhead&) = delete;
  ProveAhead& operator=(const ProveAhead&) = delete;

  // The search is at this proposal now: those before it need no proof.
  void reach(std::size_t proposal) { reached_ = proposal; }

 private:
  void run();
  std::vector<const Proposal*> proposals_;
  Prove prove_;
  std::atomic<std::size_t> next_{1}, reached_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::jthread> threads_;  // the last member: they end before the others
};

}  // namespace isomer
