// The reader's entry for bytes that are in memory already.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/result.h"
#include "io/onnx/model.h"

namespace isomer {

// As read_model. Without a directory a tensor whose data is in another file is an error.
Result<Model> read_model_bytes(std::span<const std::byte> bytes);
// With external data beneath the directory.
Result<Model> read_model_bytes(std::span<const std::byte> bytes, const std::filesystem::path& directory);

}  // namespace isomer
