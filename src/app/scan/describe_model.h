// A short description of a model for a list: kinds of layers, precision, exporter. `inspect` has the rest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/report/summary.h"
#include "app/scan/model_head.h"
#include "base/result.h"
#include "io/onnx/model.h"

namespace isomer {

struct Description {
  ModelHead head;
  std::filesystem::path certificate = {};  // of Isomer, beside the model; "": none
  // The following fields are known if the model was read.
  std::optional<Summary> summary = {};
  std::uint64_t external_bytes = 0;  // of the files that its weights are in
  std::vector<std::string> kinds =
      {};  // "convolution", "attention", "recurrent", ..., the most specific first
  std::vector<std::string> precision = {};  // of its weights, the most bytes first: "float32", "int8"
  std::string quantization = {};            // "dynamic", "static", "weights only"; "": none
};

// Without reading the model: what its outermost fields say, and whether there is a certificate.
Description describe_file(const std::filesystem::path& path);
// The same with what the model itself says.
Result<Description> describe_model(const std::filesystem::path& path, const Model& model);

}  // namespace isomer
