// The checker on files, as both `isomer check` and the executable `isomer-check` answer: the same words, the
// same JSON.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/certify/check.h"

namespace isomer {

struct CheckedFiles {
  CheckReport report;
  std::size_t notes = 0;  // records for people, which the checker skips

  std::string text() const;           // for people: the answer in one line, then what it rests on
  std::string json(double ms) const;  // {verdict, but_for_rounding, step, reason, steps, ..., ms}
};

// The certificate's text against models that have been read. A text that is no certificate is rejected.
CheckedFiles check_models(const Graph& in, const Graph& out, std::string_view certificate);

// Sizes ("batch=8"): IN is taken at
// these, as --fix-shape made OUT for them. Error: a file that can't be read; a certificate that can be and is
// none is rejected.
Result<CheckedFiles> check_files(const std::filesystem::path& in, const std::filesystem::path& out,
                                 const std::filesystem::path& certificate,
                                 const std::vector<std::string>& sizes = {});

}  // namespace isomer
