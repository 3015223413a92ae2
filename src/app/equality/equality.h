// Are two models equal? Quick answers come first: an existing certificate, constants that differ by more than
// rounding. Then prove_models pairs their values; if that fails, the result of the search on the first model
// is paired with the second.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/equality/deadline.h"
#include "equate/constant_difference.h"
#include "equate/prove_models.h"
#include "io/onnx/model.h"
#include "kernel/certify/check.h"

namespace isomer {

struct ProveAnswer {
  ModelsVerdict verdict;
  std::vector<ConstantDifference> constants = {};  // under one name, and not equal
  bool is_by_certificate = false;                  // that was there already, checked again
  std::vector<CertifiedStep> steps = {};           // that the first model went before its values were paired
  std::vector<std::string> assumed = {};           // operators that it takes as their user states them
  int widened =
      0;  // values of 16-bit floats that the second model computes in float32 (kernel/prove/widen.h)
  std::uint64_t flushed = 0;  // denormal numbers of the first model that are zero in the second
  std::string sizes = {};     // that it is true at; "": all
  int sizes_from = 0;         // open sizes are taken to be at least this
  std::string saved = {};     // where the refuting input is; or ""
};

struct EqualityRequest {
  const Model &a, &b;
  const Deadline& deadline;
  bool by_position = false;  // of outputs, even if both models have the same names of them
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  std::function<void(const std::string&)> trace = {};  // every pair that is tried
  // Before minutes of proving begin.
  std::function<void(const std::vector<ConstantDifference>&)> on_constants =
      [](const std::vector<ConstantDifference>&) {};
};
ProveAnswer prove_equal(const EqualityRequest& request);

// The answer that a certificate gives which the checker has accepted.
ProveAnswer proved_by(const CheckReport& accepted, const Model& a, const Model& b);

// How a and b are equal, of an answer that says so, as a certificate.
std::string certificate_of(const ProveAnswer& answer, const Model& a, const Model& b);

}  // namespace isomer
