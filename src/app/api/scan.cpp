#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>

#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/report_json.h"
#include "app/api/stoppable_limit.h"
#include "app/scan/scanned_model.h"

namespace isomer::api {
namespace {

namespace fs = std::filesystem;

// A file of more bytes is not read just to be listed: what protobuf reads of it is all of it. Weights in
// other files are mapped, and don't count.
constexpr std::uint64_t kMostBytesRead = std::uint64_t{512} << 20U;

class Scan {
 public:
  explicit Scan(const ScanOptions& options)
      : options_(options), seconds_(checked_seconds(options.seconds_per_model)), limit_(options.stop) {}

  Scanned run(const std::vector<fs::path>& folders) {
    tell("looking for models");
    FoundFiles found = take(find_models(folders, is_stopped_));
    scanned_.skipped = std::move(found.skipped);
    describe_all(found.models);
    if (seconds_ > 0) estimate_all();
    scanned_.is_interrupted = is_stopped_();
    scanned_.seconds = limit_.spent();
    return std::move(scanned_);
  }

 private:
  void tell(const std::string& now) const {
    if (options_.progress) options_.progress(now);
  }

  void describe_all(const std::vector<FoundFile>& files) {
    tell("comparing files of one size");
    const std::vector<std::size_t> first = first_of_same_bytes(files, is_stopped_);
    std::vector<std::optional<std::size_t>> numbers;  // of the entry that a file has
    for (std::size_t k = 0; k < files.size(); ++k) {
      tell(fmt::format("reading {} of {}: {}", k + 1, files.size(), files[k].path.string()));
      const auto same = first[k] == k ? std::nullopt : numbers[first[k]];
      numbers.push_back(same);
      // Weights in other files may differ where the files that name them don't.
      if (same && scanned_.models[*same].what.external_bytes == 0) {
        scanned_.models[*same].copies.push_back(files[k].path);
        continue;
      }
      if (auto model = describe(files[k])) {
        numbers.back() = scanned_.models.size();
        scanned_.models.push_back(std::move(*model));
      }
    }
  }

  // nullopt: it is no model, which is noted.
  std::optional<ScannedModel> describe(const FoundFile& file) {
    ScannedModel out{.file = file};
    if (is_stopped_()) out.why_not_read = "it was stopped before";
    else if (file.bytes > kMostBytesRead)
      out.why_not_read = fmt::format("larger than {} MiB", kMostBytesRead >> 20U);
    if (!out.why_not_read.empty()) {
      out.what = describe_file(file.path);
      if (is_stopped_() || !out.what.head.opsets.empty()) return out;
      scanned_.skipped.push_back({file.path, "not an ONNX model: it imports no operator set"});
      return std::nullopt;
    }
    const Status done = shield([&]() -> Status {
      ISOMER_TRY(const isomer::Model model, read_model(file.path));
      ISOMER_TRY(out.what, describe_model(file.path, model));
      out.same_as = graphs_.find_or_add(scanned_.models.size(), file.path, model, *out.what.summary);
      return Done{};
    });
    if (done.ok()) return out;
    scanned_.skipped.push_back({file.path, done.error().message});
    return std::nullopt;
  }

  void estimate_all() {
    for (std::size_t k = 0; k < scanned_.models.size() && !is_stopped_(); ++k) {
      ScannedModel& model = scanned_.models[k];
      if (!model.why_not_read.empty() || model.is_optimized()) continue;
      if (model.same_as) {
        model.estimate = scanned_.models[*model.same_as].estimate;
        continue;
      }
      tell(fmt::format("estimating {} of {}: {}", k + 1, scanned_.models.size(), model.file.path.string()));
      const Status done = shield([&] { return estimate(model); });
      if (!done.ok()) model.why_not_estimated = done.error().message;
    }
  }

  Status estimate(ScannedModel& out) {
    const StoppableLimit limit(options_.stop, seconds_);
    ISOMER_TRY(const isomer::Model model, read_model(out.file.path));
    ISOMER_TRY(out.estimate, estimate_gain({.path = out.file.path,
                                            .seconds = seconds_,
                                            .limit = limit.limit(),
                                            .waits = !options_.may_leave_thread},
                                           model));
    scanned_.leaves_thread |= out.estimate->is_abandoned;
    return Done{};
  }

  // A failure on one model must not hide the others.
  template <class Function>
  static Status shield(const Function& function) {
    try {
      return function();
    } catch (const std::exception& bug) {
      return isomer::Error{fmt::format("internal error: {}", bug.what())};
    }
  }

  const ScanOptions& options_;
  double seconds_;
  StoppableLimit limit_;
  std::function<bool()> is_stopped_ = [this] { return options_.stop.stop_requested(); };
  Scanned scanned_;
  SameGraphs graphs_;
};

ScanReport to_public(const Scanned& scanned) {
  ScanReport out{.is_interrupted = scanned.is_interrupted,
                 .leaves_thread = scanned.leaves_thread,
                 .json = json_text(to_json(scanned))};
  for (const ScannedModel& model : scanned.models) {
    out.models.push_back({.path = model.file.path,
                          .package = model.file.package,
                          .bytes = model.bytes(),
                          .copies = model.copies,
                          .estimate = {}});
    if (model.estimate) out.models.back().estimate = model.estimate->ratio;
  }
  for (const SkippedFile& file : scanned.skipped) out.skipped.push_back({file.path, file.reason});
  return out;
}

}  // namespace

ScanReport scan(const std::vector<fs::path>& folders, const ScanOptions& options) {
  return guarded([&] {
    if (folders.empty()) throw Error(ErrorKind::BadInput, "there is no folder to look into");
    Scanned scanned = Scan(options).run(folders);
    std::ranges::sort(scanned.skipped, {}, &SkippedFile::path);
    return to_public(scanned);
  });
}

}  // namespace isomer::api
