// npz: named tensors in a file, as numpy.savez writes and numpy.load reads them: a zip archive of npy arrays.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "model/graph/interpret.h"

namespace isomer {

// Reads untrusted bytes. Messages name the file and the array.
Result<NamedTensors> read_npz(const std::filesystem::path& path);

// Writes atomically: a temporary file in the same directory, synced, renamed. Equal tensors make equal bytes.
Status write_npz(const NamedTensors& tensors, const std::filesystem::path& path);

}  // namespace isomer
