// What searches before this one, by the same program with the same options, tried in vain: claims that no
// attempt proves, changes that a runtime found not faster, regions in which nothing better was found. Kept in
// the store of plans (optimizer/plans/store.h). Advice about effort and nothing else: who believes a false
// one misses a gain, and never takes what is not proved.
#pragma once

#include <array>
#include <optional>
#include <set>

#include "base/hash.h"
#include "kernel/prove/step.h"
#include "optimizer/search/options.h"

namespace isomer {

// What a search by other rules says nothing about: the program, who decides, where it looks. `about`: of
// what.
std::string rules_of(const SearchOptions& options, std::string_view about);

// Rules of a user are asked whatever others found.
bool may_be_settled(const SearchOptions& options);

class TriedBefore {
 public:
  enum class What : std::uint8_t { Unproved, Slower, Explored };
  explicit TriedBefore(const SearchOptions& options) : options_(options) {}

  // Nullopt: nothing is remembered, or the claim is of no region.
  std::optional<Digest> of(const Workpiece& piece, const Claim& claim) const;
  std::optional<Digest> of(const Graph& region) const;

  bool contains(What what, const std::optional<Digest>& digest);
  void note(What what, const std::optional<Digest>& digest);
  // Tells the store what is new.
  void keep();

 private:
  struct Notes {
    std::optional<std::set<Digest>> known;  // read when somebody asks
    std::set<Digest> found;
  };
  Notes& notes(What what) { return notes_.at(static_cast<std::size_t>(what)); }
  const SearchOptions& options_;
  std::array<Notes, 3> notes_;
};

}  // namespace isomer
