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
  std::size_t notes = 0;           // records for people, which the checker skips
  bool has_new_functions = false;  // OUT calls functions of its own that IN does not call

  std::string text() const;           // for people: the answer in one line, then what it rests on
  std::string json(double ms) const;  // {verdict, but_for_rounding, step, reason, steps, ..., ms}
};

// The certificate's text against models that have been read. A text that is no certificate is rejected.
CheckedFiles check_models(const Graph& in, const Graph& out, std::string_view certificate);

// Sizes ("batch=8") and values of inputs ("sr=16000"): both models are taken at these, as the certificate is
// about; sizes_from: of those that stay open (Graph::sizes_from). Error: a file that can't be read; a
// certificate that can be and is none is rejected.
Result<CheckedFiles> check_files(const std::filesystem::path& in, const std::filesystem::path& out,
                                 const std::filesystem::path& certificate,
                                 const std::vector<std::string>& sizes = {},
                                 const std::vector<std::string>& values = {}, int sizes_from = 1);

}  // namespace isomer
