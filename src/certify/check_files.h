// The checker on files, as both `isomer check` and the executable `isomer-check` answer: the same words, the
// same JSON.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "certify/check.h"

namespace isomer {

struct CheckedFiles {
  CheckReport report;
  std::size_t notes = 0;                  // records for people, which the checker skips
  std::vector<std::string> assumed = {};  // operators that it takes as their users state them

  std::string text() const;           // one line for people, and what is assumed
  std::string json(double ms) const;  // {verdict, step, reason, steps, ms}
};

// The certificate's text against models that have been read. A text that is no certificate is rejected.
CheckedFiles check_models(const Graph& in, const Graph& out, std::string_view certificate);

// Proves with a key that nobody could know when the certificate was made. Sizes ("batch=8"): IN is taken at
// these, as --fix-shape made OUT for them. Error: a file that can't be read; a certificate that can be and is
// none is rejected.
Result<CheckedFiles> check_files(const std::filesystem::path& in, const std::filesystem::path& out,
                                 const std::filesystem::path& certificate,
                                 const std::vector<std::string>& sizes = {});

}  // namespace isomer
