// Steps that were found for one region, done again at another place, and proved there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "optimizer/search/context.h"

namespace isomer {

// The names of one region as those of an equal one. Values that steps make get unused names: with this
// suffix.
class Renaming {
 public:
  Renaming(std::map<std::string, std::string> names, std::string suffix)
      : names_(std::move(names)), suffix_(std::move(suffix)) {}
  // For graphs whose nodes are equal one by one.
  Renaming(const Graph& from, const Graph& to, std::string suffix);

  std::string operator()(const std::string& name) const;
  std::vector<std::string> operator()(std::vector<std::string> names) const;
  Graph operator()(const Graph& program) const;

 private:
  std::map<std::string, std::string> names_;
  std::string suffix_;
};

// A claim under other names. `names` says the new ones: of a name, of several, of a program's values.
template <class Names>
Claim with_names(const Claim& claim, Names& names) {
  Claim out{.inputs = names(claim.inputs),
            .outputs = names(claim.outputs),
            .after = names(claim.after),
            .attempt = claim.attempt};
  for (const ConstantFact& fact : claim.facts)
    out.facts.push_back({names(fact.constant), names(fact.program)});
  return out;
}

// The steps of a draft, which outlives this.
class Replay {
 public:
  Replay(const Draft& draft, Renaming renaming);
  bool is_done() const { return is_stuck || at_ == steps_->size(); }
  // The next claims about one graph; what is folded then goes with the last.
  std::vector<Proposal> next();
  bool is_stuck = false;  // a claim was not proved

 private:
  const std::vector<CertifiedStep>* steps_;
  std::vector<const Draft::Taken*> told_;
  Renaming renamed_;
  std::size_t at_ = 0, claim_ = 0;
};

// All of them at once, a step of each at a time; those that get stuck stay so far.
Result<Draft> replayed(SearchContext& context, Draft draft, std::vector<Replay>& all);
inline Result<Draft> replayed(SearchContext& context, Draft draft, std::vector<Replay>&& all) {
  return replayed(context, std::move(draft), all);
}

}  // namespace isomer
