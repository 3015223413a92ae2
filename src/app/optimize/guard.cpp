#include "app/optimize/guard.h"

#include <fmt/format.h>

#include <algorithm>

namespace isomer {
namespace {

constexpr double kGrowth = 1.1;                     // the default limit of a file's growth,
constexpr std::uintmax_t kFreeGrowth = 16u << 20u;  // or this, for files that are small
// The share of a look's time for the error in float64; and the least speed of the interpreter in operations
// per second.
constexpr double kShareOfErrors = 0.2, kOperationsPerSecond = 6e9, kMostOperations = 3e10;

std::string megabytes(std::uintmax_t bytes) {
  return fmt::format("{:.{}f} MB", static_cast<double>(bytes) * 1e-6, bytes < 100'000'000 ? 2 : 0);
}

// "2.5 %", of a ratio.
std::string percent(double ratio) { return fmt::format("{:.1f} %", 100 * (ratio - 1)); }

// Whether it is certain, at 95 %, not to be slower by min_gain.
bool is_no_slower(const Interval& ratio, double min_gain) {
  return ratio.high >= 1 && ratio.low > 1 / min_gain;
}

// Whether the estimate is fast enough, but the interval is too wide.
bool could_be_decided(const Interval& ratio, double min_gain) {
  return ratio.estimate > min_gain && ratio.high > min_gain;
}

std::string why_slower(const Interval& ratio) {
  return fmt::format("the best candidate {} slower: {:.3f}× (95 % interval {:.3f} to {:.3f})",
                     ratio.high < 1 ? "is" : "may be", ratio.estimate, ratio.low, ratio.high);
}

}  // namespace

std::uintmax_t bytes_of(const std::filesystem::path& path) {
  std::error_code error;
  const auto model = std::filesystem::file_size(path, error);
  const auto data = std::filesystem::file_size(path.string() + ".data", error);
  return (model == static_cast<std::uintmax_t>(-1) ? 0 : model) + (error ? 0 : data);
}

std::uintmax_t allowed_bytes(const OptimizeRequest& request, std::uintmax_t bytes_in) {
  const auto grown =
      static_cast<std::uintmax_t>(static_cast<double>(bytes_in) * request.max_size_growth.value_or(kGrowth));
  return request.max_size_growth ? grown : std::max(grown, bytes_in + kFreeGrowth);
}

std::string why_not_faster(const Interval& ratio, double min_gain) {
  const std::string interval =
      fmt::format("95 % interval of {} to {}", percent(ratio.low), percent(ratio.high));
  if (ratio.high <= 1)
    return fmt::format("the best candidate is slower, by {} ({})", percent(1 / ratio.estimate), interval);
  // A tenth below what was seen, so that the same measurement would pass.
  const std::string taken =
      ratio.low > 1.0005 ? fmt::format("; --min-gain {:.3f} would accept it", 1 + (ratio.low - 1) * 0.9) : "";
  if (ratio.estimate <= 1) return fmt::format("the best candidate is not faster ({})", interval);
  if (ratio.high <= min_gain)
    return fmt::format("the best candidate is {} faster, less than the {} that a change must gain ({}){}",
                       percent(ratio.estimate), percent(min_gain), interval, taken);
  return fmt::format("the best candidate measured {} faster, but its {} does not exceed {}{}{}",
                     percent(ratio.estimate), interval, percent(min_gain), taken,
                     could_be_decided(ratio, min_gain) ? "; a longer --budget could decide" : "");
}

bool Guard::is_no_slower(const Look& look, double min_gain) {
  return look.time && isomer::is_no_slower(look.time->ratio, min_gain) &&
         std::ranges::all_of(
             look.more, [&](const PairMeasurement& m) { return isomer::is_no_slower(m.ratio, min_gain); });
}

std::string Guard::at_size(std::size_t size) const {
  return request_.sizes.empty() ? "" : fmt::format("at {}: ", request_.sizes[size]);
}

// Faster at one size, and slower at none.
std::optional<std::string> Guard::why_not_taken(Look& look) const {
  std::vector<Interval> ratios{look.time->ratio};
  for (const PairMeasurement& m : look.more) ratios.push_back(m.ratio);
  std::size_t best = 0;
  for (std::size_t k = 0; k < ratios.size(); ++k) {
    if (ratios.size() > 1 && !isomer::is_no_slower(ratios[k], request_.min_gain))
      return at_size(k) + why_slower(ratios[k]);
    if (ratios[k].low > ratios[best].low) best = k;
  }
  if (ratios[best].low > request_.min_gain) return std::nullopt;
  look.could_be_decided = could_be_decided(ratios[best], request_.min_gain);
  return at_size(best) + why_not_faster(ratios[best], request_.min_gain);
}

Outcome<std::optional<Errors>> Guard::grown_errors(const ModelSource& before, const ModelSource& after,
                                                   double seconds, Look& look) {
  const auto sizes = static_cast<double>(trials_->sizes());
  const double most = std::min(seconds * kShareOfErrors * kOperationsPerSecond, kMostOperations) / sizes;
  for (std::size_t k = 0; k < trials_->sizes(); ++k) {
    const auto errors = trials_->errors(model_.graph, before, after, trials_->feeds_of(k), most);
    if (!errors.ok()) return errors.error();
    if (k == 0) look.errors = *errors;
    if (*errors && !(*errors)->within(request_.search.max_error_growth)) return *errors;
  }
  return std::optional<Errors>();
}

Result<Look> Guard::look_at(const Draft& draft, double seconds) {
  Look look;
  const auto reject = [&](Look::Kind kind, std::string why) {
    look.kind = kind;
    look.objection = std::move(why);
    return look;
  };
  const auto failed = [&](const Failure& failure, const std::string& what) {
    if (failure.kind != FailureKind::Stopped) return reject(Look::Kind::Unusable, what + failure.what);
    return reject(Look::Kind::NoTime, "time ran out before the result was measured");
  };
  const auto too_large = [&](std::uintmax_t most) {
    return reject(Look::Kind::TooLarge,
                  fmt::format("it would grow from {} to {}; the limit is {}", megabytes(bytes_in_),
                              megabytes(look.bytes), megabytes(most)));
  };
  const double end = request_.search.limit->spent() + seconds;
  const auto left = [&] { return std::max(0.0, end - request_.search.limit->spent()); };
  if (trials_ == nullptr) {
    ISOMER_TRY(look.bytes, written_bytes(with_graph(model_, draft.graph), request_.scratch));
    if (const auto most = allowed_bytes(request_, bytes_in_); look.bytes > most) return too_large(most);
    return look;
  }
  ISOMER_TRY(const ScratchModel candidate,
             ScratchModel::write(with_graph(model_, draft.graph), request_.scratch));
  look.bytes = bytes_of(candidate.path());
  if (const auto most = allowed_bytes(request_, bytes_in_); look.bytes > most) return too_large(most);
  const auto before = ModelSource::file(request_.in.string()), after = candidate.source();
  if (const auto loads = trials_->judge().check_loads(after, request_.runtime); !loads.ok())
    return failed(loads.error(), "the runtime does not load the result: ");
  request_.search.progress("comparing with float64");
  const auto grown = grown_errors(before, after, left(), look);
  if (!grown.ok()) return failed(grown.error(), "the runtime does not run the result: ");
  if (*grown)
    return reject(Look::Kind::Inexact,
                  fmt::format("its rounding error would be {:.1e} instead of {:.1e}, more than "
                              "--max-error-growth {:g} allows",
                              (*grown)->after, (*grown)->before, request_.search.max_error_growth));
  for (std::size_t k = 0; k < trials_->sizes(); ++k) {
    const double beyond = k == 0 ? request_.min_gain : 1 / request_.min_gain;
    auto measured = trials_->compare(before, after, left() / static_cast<double>(trials_->sizes() - k),
                                     beyond, told_as(request_.search.progress, "the result"), k);
    if (!measured.ok()) return failed(measured.error(), at_size(k) + "the result could not be measured: ");
    if (k == 0) look.time = std::move(*measured);
    else look.more.push_back(std::move(*measured));
  }
  if (auto why = why_not_taken(look)) return reject(Look::Kind::NotFaster, std::move(*why));
  return look;
}

}  // namespace isomer
