// The reader's entry for bytes that are in memory already: what the fuzzer and tests feed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/result.h"
#include "io/onnx/model.h"

namespace isomer {

// As read_model, with external data beneath the directory.
Result<Model> read_model_bytes(std::span<const std::byte> bytes, const std::filesystem::path& directory);

}  // namespace isomer
