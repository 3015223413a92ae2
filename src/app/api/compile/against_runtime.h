// A compiled module, as an operator of a runtime, beside the runtime itself: outputs, rounding errors, speed.
// Internal to compile.cpp.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/loops/nest.h"
#include "isomer/isomer.h"
#include "model/graph/interpret.h"
#include "runtime/judge/judge.h"

namespace isomer::api {

// A way of adding up products that rounds more than a runtime does.
inline constexpr char kBfloat16[] = "bf16";

// The compiled model differs from the runtime by more than rounding can cause.
class Differs : public Error {
 public:
  explicit Differs(const std::string& what) : Error(ErrorKind::Internal, what) {}
};

// What is computed once for a model and its inputs, however many candidates are made of it.
struct KnownOutputs {
  // The model's outputs for some inputs in float64, and the runtime's own error.
  struct Right {
    Tensors feeds = {};
    NamedTensors exact = {};
    double runtime_error = 0;
  };
  std::map<std::vector<std::string>, std::vector<Right>> rights = {};  // by sizes; none: that takes too long
};

// All throw ErrorKind::Runtime where there is no runtime, or one that can't run the model.
class AgainstRuntime {
 public:
  // `scratch`: a folder for files.
  AgainstRuntime(const Model& model, const CompileOptions& options, std::filesystem::path scratch,
                 std::shared_ptr<KnownOutputs> known = std::make_shared<KnownOutputs>());

  // A module for batches of any size is compared at one of three samples, and measured with one; one for open
  // sizes is compared at usual ones, at the least and at odd ones, and measured at usual ones.
  void take_sizes(const lower::Plan& plan);

  // Runs the model alone.
  void try_model() const;
  // `library`: of operators that it needs; "": none.
  // Where outputs differ by more than is usual for their types; "": nowhere. Throws Differs, if it is more
  // than rounding can do: to outputs of their scale, or to those of this model, whose values may jump.
  std::string difference(const Model& as_operator, const std::filesystem::path& library);
  [[noreturn]] static void refuse(const std::string& difference);
  // Where float64 can't decide about a difference: refuses it, unless other last digits do as much.
  void need_usual_sensitivity(const std::string& difference);
  // Why the last one that was compared is farther from the runtime than usual, and taken; "": it is not.
  const std::string& note() const { return note_; }
  // Against float64, for made-up inputs, the worst of some; nullopt: that takes too long.
  std::optional<Compiled::Errors> errors(const Model& as_operator, const std::filesystem::path& library);
  // By the rule of the judge: until the interval lies above or below min_gain, for at most `seconds`.
  // `confirms`: a difference that is seen is measured again, so that the ratio may be reported.
  Interval ratio(const Model& as_operator, const std::filesystem::path& library, double seconds,
                 bool confirms = true) const;
  PairMeasurement measured(const Model& as_operator, const std::filesystem::path& library, double seconds,
                           bool confirms = true) const;

 private:
  RuntimeOptions with(const std::filesystem::path& library) const;
  Run run_with(const std::filesystem::path& library) const;
  Inputs inputs_at(const std::vector<std::string>& sizes) const;
  NamedTensors drawn_inputs(std::uint64_t seed) const;
  // At all sizes that it is compared at: of each output, the largest difference.
  Comparison compared_with(const Model& other, const std::filesystem::path& library) const;
  // Says in note() what a large difference comes from, or throws Differs.
  void explain_difference(const Model& as_operator, const std::filesystem::path& library,
                          const std::string& where);
  // How far apart outputs are of models whose constants differ in their last digits, of the largest value.
  double sensitivity();
  using Right = KnownOutputs::Right;
  const std::vector<Right>& rights();
  std::optional<Right> right(std::uint64_t seed, double seconds) const;
  double error_of(const Model& model, const RuntimeOptions& runtime, const Right& right) const;

  const Model& model_;
  const CompileOptions& options_;
  RuntimeOptions runtime_;
  std::filesystem::path scratch_;
  std::vector<std::string> sizes_;                  // of the measured model
  std::vector<std::vector<std::string>> compared_;  // at which outputs are compared
  std::shared_ptr<KnownOutputs> known_;
  std::optional<double> sensitivity_;  // computed once
  double farthest_ = 0;                // of the last one that was compared
  std::string note_;
};

}  // namespace isomer::api
