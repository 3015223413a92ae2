#include "optimizer/search/tried_before.h"

#include <fmt/format.h>

#include <map>

#include "optimizer/plans/store.h"
#include "runtime/judge/machine.h"

namespace isomer {
namespace {

constexpr std::array<std::string_view, 3> kNames{"unproved", "slower", "explored"};

std::string rules_of(const SearchOptions& options, TriedBefore::What what) {
  return isomer::rules_of(options, kNames.at(static_cast<std::size_t>(what)));
}

// Names of values take no part in it, and neither do large constants.
Digest digest_of(const Graph& a, const Graph& b) {
  Hasher hasher;
  hasher.add(std::string_view(question(a, b, {})));
  return hasher.digest();
}

}  // namespace

std::string rules_of(const SearchOptions& options, std::string_view about) {
  Hasher hasher;
  hasher.add(about).add(std::string_view(this_program())).add(std::string_view(options.plans.target));
  hasher.add(static_cast<int>(options.strategy.kind)).add(std::uint64_t{options.strategy.width});
  hasher.add(std::string_view(fmt::format("{}", options.strategy.alpha)));
  hasher.add(options.any_price ? 1 : 0).add(std::string_view(fmt::format("{}", options.max_error_growth)));
  for (const std::string& name : options.without) hasher.add(std::string_view(name));
  return hasher.digest().hex().substr(0, 16);
}

bool may_be_settled(const SearchOptions& options) { return options.plans.store && !options.user_rules; }

std::optional<Digest> TriedBefore::of(const Workpiece& piece, const Claim& claim) const {
  if (!may_be_settled(options_) || claim.outputs.empty()) return std::nullopt;
  const auto region = piece.region(claim);
  if (!region.ok()) return std::nullopt;
  Hasher hasher;
  hasher.add(digest_of(*region, claim.after));
  // Constants that the claim's program reads are inputs of it: which of the region's they are is told by
  // place.
  std::map<std::string, std::uint64_t> places;
  for (const NodeId id : region->order())
    if (!region->node(id).outputs.empty()) places.emplace(region->node(id).outputs[0], places.size());
  for (const NodeId id : claim.after.order()) {
    const Node& node = claim.after.node(id);
    if (node.kind != NodeKind::Input) continue;
    const auto at = places.find(node.outputs.at(0));
    if (at == places.end()) return std::nullopt;
    hasher.add(at->second);
  }
  return hasher.digest();
}

std::optional<Digest> TriedBefore::of(const Graph& region) const {
  return may_be_settled(options_) ? std::optional(digest_of(region, region)) : std::nullopt;
}

bool TriedBefore::contains(What what, const std::optional<Digest>& digest) {
  if (!digest) return false;
  Notes& mine = notes(what);
  if (!mine.known) mine.known = options_.plans.store->settled(rules_of(options_, what));
  return mine.known->contains(*digest);
}

void TriedBefore::note(What what, const std::optional<Digest>& digest) {
  if (digest && !contains(what, digest)) notes(what).found.insert(*digest);
}

void TriedBefore::keep() {
  for (const What what : {What::Unproved, What::Slower, What::Explored})
    if (!notes(what).found.empty())
      options_.plans.store->keep_settled(rules_of(options_, what), notes(what).found);
}

}  // namespace isomer
