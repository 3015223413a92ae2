#include "app/optimize/write_optimized.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

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

// Digests of a whole file, and of the ends of one that may be large: a reader compares them before it loads
// the files.
constexpr std::uintmax_t kEnd = 1 << 16;
Result<std::string> digest_of(const fs::path& file, std::uintmax_t most) {
  std::error_code failure;
  const std::uintmax_t bytes = fs::file_size(file, failure);
  std::ifstream in(file, std::ios::binary);
  std::string part(std::min(bytes, most), '\0');
  Blake2b digest;
  const std::string size = fmt::format("{} ", bytes);
  digest.add(size.data(), size.size());
  for (const std::uintmax_t begin : {std::uintmax_t{0}, bytes - part.size()}) {
    in.seekg(static_cast<std::streamoff>(begin)).read(part.data(), static_cast<std::streamsize>(part.size()));
    digest.add(part.data(), part.size());
  }
  if (failure || !in) return Error{fmt::format("can't read {}", file.string())};
  return digest.hex();
}

Status sync(const fs::path& file) {
  const wire::Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened.is_open() || ::fsync(opened.get()) != 0)
    return Error{fmt::format("{} can't be written", file.string())};
  return Done{};
}

Status move(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  fs::rename(from, to, failure);
  return failure ? Status(Error{fmt::format("{} can't be written: {}", to.string(), failure.message())})
                 : Status(Done{});
}

// All files are whole before the first one has its name; the model, which says which library is its own,
// comes last: until then the one that was there finds none that is its own, and runs without.
Status write_with_kernels(const OptimizedFiles& files, wire::OutputFile& proof, const Optimized& optimized) {
  const KernelFiles& kernels = *files.kernels;
  Stamp stamp = stamp_of(optimized, files.version);
  stamp.emplace_back("kernels", files.library().filename().string());
  ISOMER_TRY(std::string library, digest_of(kernels.library, std::numeric_limits<std::uintmax_t>::max()));
  stamp.emplace_back("kernels_digest", std::move(library));
  stamp.emplace_back("kernels_processor", kernels.processor);
  if (!kernels.weights.empty()) {
    ISOMER_TRY(std::string weights, digest_of(kernels.weights, kEnd));
    stamp.emplace_back("kernels_weights", files.weights().filename().string());
    stamp.emplace_back("kernels_weights_digest", std::move(weights));
  }
  ISOMER_TRY_DO(put_stamp(kernels.model, stamp, std::numeric_limits<std::uintmax_t>::max()));
  fs::path data = kernels.model, data_out = files.out;
  data += ".data";
  data_out += ".data";
  std::vector<std::pair<fs::path, fs::path>> moved{{kernels.library, files.library()}};
  if (!kernels.weights.empty()) moved.emplace_back(kernels.weights, files.weights());
  if (fs::exists(data)) moved.emplace_back(data, data_out);
  moved.emplace_back(kernels.model, files.out);
  for (const auto& [from, to] : moved) ISOMER_TRY_DO(sync(from));
  for (const auto& [from, to] : moved) {
    if (to == files.out) ISOMER_TRY_DO(proof.rename());
    ISOMER_TRY_DO(move(from, to));
  }
  return wire::sync_directory(files.out.parent_path());
}

}  // namespace

Status check_places(const OptimizedFiles& files) {
  if (is_same_file(files.in, files.out)) return Error{"the output is the input's own file"};
  if (is_same_file(files.in, files.certificate) || is_same_file(files.out, files.certificate))
    return Error{"the certificate needs a separate file"};
  std::vector<fs::path> all{files.out, files.certificate};
  if (files.wants_kernels) {
    for (const fs::path& own : {files.library(), files.weights()}) {
      if (is_same_file(files.in, own) || is_same_file(files.certificate, own) || own == files.out)
        return Error{fmt::format("{} is the path of the kernels", own.string())};
      all.push_back(own);
    }
  }
  for (const fs::path& path : all) {
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
  if (files.kernels) {
    ISOMER_TRY_DO(write_with_kernels(files, proof, optimized));
    optimized.report.certificate = files.certificate;
    optimized.report.bytes_out = bytes_of(files.out);
    return Done{};
  }
  ISOMER_TRY_DO(is_changed ? write_model(optimized.model, files.out)
                           : copy_model(optimized.model, files.in, files.out));
  if (optimized.report.result != OptimizeReport::Result::Unchanged) {
    const std::uintmax_t data = bytes_of(files.out) - fs::file_size(files.out);
    const std::uintmax_t room = optimized.most_bytes - std::min(optimized.most_bytes, data);
    // Without it the model is as good: where the disk has no room for a second copy, it has none.
    (void)put_stamp(files.out, stamp_of(optimized, files.version), room).ok();
  }
  ISOMER_TRY_DO(proof.rename());
  if (files.wants_kernels) {
    std::error_code none;
    for (const fs::path& stale : {files.library(), files.weights()}) fs::remove(stale, none);
  }
  optimized.report.certificate = files.certificate;
  optimized.report.bytes_out = bytes_of(files.out);
  return Done{};
}

}  // namespace isomer
