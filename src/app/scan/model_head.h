// The parts of a model's file outside of its graph, read quickly, however large the graph is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace isomer {

struct ModelHead {
  std::string producer, producer_version;
  std::map<std::string, std::uint64_t> opsets;  // by domain; "" is ONNX's own
  std::map<std::string, std::string> stamp;     // of Isomer (app/inputs/stamp.h), without the prefix
};

// For a damaged file: as far as it can be read.
ModelHead read_head(const std::filesystem::path& path);

}  // namespace isomer
