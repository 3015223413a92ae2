#include "pipeline/write_optimized.h"

#include "onnx/write_file.h"
#include "pipeline/guard.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return a.lexically_normal() == b.lexically_normal() || fs::equivalent(a, b, error);
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
  ISOMER_TRY_DO(proof.rename());
  optimized.report.certificate = files.certificate;
  optimized.report.bytes_out = bytes_of(files.out);
  return Done{};
}

}  // namespace isomer
