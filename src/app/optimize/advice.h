// Advice: an option of the runtime that would make the unchanged model faster. It is measured and reported,
// never applied, because such options change what is computed.
//
// Advice needs two observations: denormal numbers are counted in the values of the model, and only if there
// are some, the option that flushes them is measured, as any two models are.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/onnx/model.h"
#include "runtime/judge/judge.h"

namespace isomer {

struct Advice {
  std::string option, value;  // as the runtime spells them
  Interval ratio;             // times faster with it
  std::string why;
};

struct AdviceRequest {
  const Model& model;
  std::filesystem::path in, out;  // scratch files are neighbours of `out`
  const NamedTensors& feeds;
  WorkerOptions worker = {};
  RuntimeOptions runtime = {};
  double seconds = 10;  // at most; a slower measurement is not made
};
std::vector<Advice> advice_for(const AdviceRequest& request);

// Numbers that are not zero and too small for a float's full precision, which many processors compute with a
// hundred times slower.
struct Denormals {
  std::uint64_t count = 0, of = 0;
  std::string first;  // a value that has some
};
// In the weights, and in what the runtime computes on these feeds; nullopt: it does not run so, or needs too
// much memory.
std::optional<Denormals> count_denormals(const AdviceRequest& request);

}  // namespace isomer
