#include "optimizer/search/prove_ahead.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace isomer {
namespace {

// The search itself mostly waits for them. A proof may take hundreds of MB.
std::size_t thread_count(std::size_t proposals) {
  constexpr std::size_t kMost = 8;
  const std::size_t processors = std::thread::hardware_concurrency();
  if (processors < 2 || proposals < 2) return 0;
  return std::min({processors, kMost, proposals - 1});
}

}  // namespace

ProveAhead::ProveAhead(std::vector<const Proposal*> proposals, Prove prove)
    : proposals_(std::move(proposals)), prove_(std::move(prove)) {
  for (std::size_t k = thread_count(proposals_.size()); k > 0; --k) threads_.emplace_back([this] { run(); });
}

void ProveAhead::run() {
  for (std::size_t k = next_++; k < proposals_.size() && !stop_; k = next_++) {
    if (k <= reached_) continue;
    try {
      prove_(*proposals_[k], stop_);
    } catch (const std::exception&) {
      return;  // the search meets the same, and says so
    }
  }
}

}  // namespace isomer
