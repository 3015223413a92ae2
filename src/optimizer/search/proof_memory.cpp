#include "optimizer/search/proof_memory.h"

#include <fmt/format.h>

#include <charconv>

#include "base/hash.h"
#include "optimizer/facts/proof_cache.h"
#include "runtime/judge/machine.h"

namespace isomer {
namespace {

// The first letter of a note says which of the two it is.
constexpr char kRefused = '-', kProved = '+';

}  // namespace

std::string ProofMemory::key(const Workpiece& piece, const Claim& claim) const {
  if (!cache_ || claim.outputs.empty()) return "";
  const auto region = piece.region(claim);
  if (!region.ok()) return "";
  Hasher hasher;
  hasher.add(std::string_view(this_program()));  // another build may know more
  hasher.add(std::string_view(question(*region, claim.after, {})));
  hasher.add(piece.graph().sizes_from);
  return fmt::format("question {} {}", hasher.digest().hex(), seed_);
}

ProofMemory::Hint ProofMemory::find(const std::string& key) const {
  const auto note = key.empty() ? std::nullopt : cache_->note(key);
  if (!note || note->empty()) return {};
  if (note->front() == kRefused) return {.refusal = note->substr(1)};
  int attempt = -1;
  const auto [end, failure] = std::from_chars(note->data() + 1, note->data() + note->size(), attempt);
  if (note->front() != kProved || failure != std::errc{} || end != note->data() + note->size()) return {};
  return {.attempt = attempt};
}

void ProofMemory::keep_refusal(const std::string& key, const std::string& why) const {
  if (!key.empty()) (void)cache_->keep_note(key, kRefused + why);
}

void ProofMemory::keep_attempt(const std::string& key, int attempt) const {
  if (!key.empty()) (void)cache_->keep_note(key, kProved + std::to_string(attempt));
}

}  // namespace isomer
