// The guard: the last check of a draft before it becomes the result. It must be small enough, load and run on
// the runtime, be as accurate as allowed, and be faster with 95 % confidence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/optimize/optimize.h"

namespace isomer {

// The guard's findings about a draft.
struct Look {
  enum class Kind : std::uint8_t {
    Accepted,
    TooLarge,
    Unusable,   // the runtime does not load or run it
    Inexact,    // its rounding error has grown
    NotFaster,  // measured
    NoTime,     // before all was known
  };
  Kind kind = Kind::Accepted;
  std::string objection;          // why it is not accepted, or ""
  bool could_be_decided = false;  // it seems faster by enough, and measuring longer could show it
  std::uintmax_t bytes = 0;
  std::optional<Errors> errors;
  std::optional<PairMeasurement> time;  // the original against it
  std::vector<PairMeasurement> more;    // the same at the other sizes
};

class Guard {
 public:
  // Trials: nullptr: nothing is measured, and what is proved and small enough is accepted.
  Guard(const OptimizeRequest& request, const Model& model, Trials* trials, std::uintmax_t bytes_in)
      : request_(request), model_(model), trials_(trials), bytes_in_(bytes_in) {}

  // Within this time, and within the limit of the request.
  Result<Look> look_at(const Draft& draft, double seconds);
  // Whether it may stay although it is not faster: with 95 % confidence it is not slower by min_gain. For a
  // look that found it not faster.
  static bool is_no_slower(const Look& look, double min_gain);

 private:
  // nullopt: it is as exact as it has to be, at all sizes that there is time for.
  Outcome<std::optional<Errors>> grown_errors(const ModelSource& before, const ModelSource& after,
                                              double seconds, Look& look);
  std::string at_size(std::size_t size) const;
  std::optional<std::string> why_not_taken(Look& look) const;
  const OptimizeRequest& request_;
  const Model& model_;
  Trials* trials_;
  std::uintmax_t bytes_in_;
};

// "the best candidate measured 2.5 % faster, but its 95 % interval of 1.4 % to 3.2 % does not exceed 2.0 %;
// --min-gain 1.013 would accept it; a longer --budget could decide"
std::string why_not_faster(const Interval& ratio, double min_gain);

std::uintmax_t bytes_of(const std::filesystem::path& path);  // of a file and its external data
// The limit of the result's size on disk: see OptimizeRequest.
std::uintmax_t allowed_bytes(const OptimizeRequest& request, std::uintmax_t bytes_in);

}  // namespace isomer
