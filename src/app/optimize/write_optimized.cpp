#include "app/optimize/write_optimized.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/inputs/stamp.h"
#include "app/optimize/guard.h"
#include "base/blake2b.h"
#include "io/onnx/write_file.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return a.lexically_normal() == b.lexically_normal() || fs::equivalent(a, b, error);
}

// By whom, by which proof, and what was measured then: what a reader of OUT alone can't know.
Stamp stamp_of(const Optimized& optimized, const std::string& version) {
  const std::string& proof = optimized.certificate;
  const OptimizeReport& report = optimized.report;
  Stamp stamp{{"version", version}, {"certificate", Blake2b().add(proof.data(), proof.size()).hex()}};
  if (report.ratio && report.result == OptimizeReport::Result::Improved) {
    const Interval& ratio = *report.ratio;
    stamp.emplace_back("ratio",
                       fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio.estimate, ratio.low, ratio.high));
    stamp.emplace_back("runtime", fmt::format("{} {}", report.runtime, report.runtime_version));
  }
  return stamp;
}

}  // namespace

Status check_places(const OptimizedFiles& files) {
  if (is_same_file(files.in, files.out)) return Error{"the output is the input's own file"};
  if (is_same_file(files.in, files.certificate) || is_same_file(files.out, files.certificate))
    return Error{"the certificate needs a file of its own"};
  for (const fs::path& path : {files.out, files.certificate}) {
    ISOMER_TRY_DO(wire::check_target(path, {}));
    ISOMER_TRY_DO(wire::OutputFile::create(path));
  }
  return Done{};
}

Status write_optimized(const OptimizedFiles& files, Optimized& optimized) {
  const bool is_changed =
      optimized.report.result != OptimizeReport::Result::Unchanged || files.writes_unchanged;
  // The certificate is on the disk before OUT is, so that a full one leaves neither.
  ISOMER_TRY(wire::OutputFile proof, wire::written_output(files.certificate, optimized.certificate));
  ISOMER_TRY_DO(is_changed ? write_model(optimized.model, files.out)
                           : copy_model(optimized.model, files.in, files.out));
  if (optimized.report.result != OptimizeReport::Result::Unchanged) {
    const std::uintmax_t data = bytes_of(files.out) - fs::file_size(files.out);
    const std::uintmax_t room = optimized.most_bytes - std::min(optimized.most_bytes, data);
    // Without it the model is as good: where the disk has no room for a second copy, it has none.
    (void)put_stamp(files.out, stamp_of(optimized, files.version), room).ok();
  }
  ISOMER_TRY_DO(proof.rename());
  optimized.report.certificate = files.certificate;
  optimized.report.bytes_out = bytes_of(files.out);
  return Done{};
}

}  // namespace isomer
