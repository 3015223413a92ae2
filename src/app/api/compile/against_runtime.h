// A compiled module, as an operator of a runtime, beside the runtime itself: outputs, rounding errors, speed.
// Internal to compile.cpp.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compiler/loops/nest.h"
#include "isomer/isomer.h"
#include "model/graph/interpret.h"

namespace isomer::api {

// A way of adding up products that rounds more than a runtime does.
inline constexpr char kBfloat16[] = "bf16";

// All throw ErrorKind::Runtime where there is no runtime, or one that can't run the model.
class AgainstRuntime {
 public:
  AgainstRuntime(const Model& model, const CompileOptions& options);

  // A module for batches of any size is compared at one of three samples, and measured with one.
  void take_batches(const lower::Plan& plan);

  // `library`: of operators that it needs; "": none.
  // Where outputs differ by more than is usual for their types; "": nowhere. Throws, if it is more than
  // rounding can do.
  std::string difference(const Model& as_operator, const std::filesystem::path& library) const;
  [[noreturn]] static void refuse(const std::string& difference);
  // Against float64, for made-up inputs, the worst of some; nullopt: that takes too long.
  std::optional<Compiled::Errors> errors(const Model& as_operator, const std::filesystem::path& library);
  Interval ratio(const Model& as_operator, const std::filesystem::path& library) const;

 private:
  bool has_feeds() const { return options_.feeds || !options_.feeds_file.empty(); }
  RuntimeOptions with(const std::filesystem::path& library) const;
  // What the model computes of some inputs in float64, and how far the runtime itself is from that.
  struct Right {
    Tensors feeds = {};
    NamedTensors exact = {};
    double runtime_error = 0;
  };
  std::optional<Right> right(std::uint64_t seed) const;
  double error_of(const Model& model, const RuntimeOptions& runtime, const Right& right) const;

  const Model& model_;
  const CompileOptions& options_;
  RuntimeOptions runtime_;
  std::vector<std::string> sizes_, several_;  // of what is measured, of what is compared
  std::optional<std::vector<Right>> rights_;  // computed once
};

}  // namespace isomer::api
