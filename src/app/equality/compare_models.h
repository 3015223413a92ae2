// Measures how far apart the outputs of two models are on one input, and finds the first value that differs.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/equality/tensor_difference.h"
#include "io/onnx/model.h"
#include "runtime/judge/judge.h"

namespace isomer {

// One value of each model, and how far apart they are.
struct ComparedValue {
  std::string a, b;
  ElementType type = ElementType::Undefined;
  TensorDifference difference;
  bool is_apart = false;  // beyond the tolerance
};

struct ComparedModels {
  std::vector<ComparedValue> outputs;
  // The first value that both compute under one name and that is apart, in the order of the first model.
  std::optional<ComparedValue> first_parting;
  bool differ() const;
};

// A model, the file that a runtime reads it from, and the runtime.
struct ComparedModel {
  const Model& model;
  ModelSource source;
  Judge* judge = nullptr;  // nullptr: by the operators' own formulas
  RuntimeOptions runtime = {};
};

struct CompareRequest {
  ComparedModel a, b;
  const NamedTensors& feeds;
  std::optional<double> tolerance = {};  // relative to the largest value; nullopt: what is usual for the type
  bool outputs_only = false;             // the first value that is apart is not looked for
  std::filesystem::path scratch;         // models that are run are written as neighbours of this name
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};
Result<ComparedModels> compare_models(const CompareRequest& request);

}  // namespace isomer
