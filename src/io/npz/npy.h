// npy: numpy's file format for one array (versions 1.0 to 3.0): a header in Python's syntax, then the
// elements.
//
// Reads untrusted bytes: a header may be wrong in every field, so its claims are compared with the file
// before any memory is allocated. Pickled objects, structured dtypes and big-endian data are rejected by
// name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/expr/tensor.h"

namespace isomer {

// Fills exactly `size` bytes, or says why it can't.
using ByteSource = std::function<Status(void* into, std::size_t size)>;

// One array out of a source that holds `size` bytes. Elements come out row-major, whatever order they were
// stored in.
Result<Tensor> read_npy(const ByteSource& source, std::uint64_t size);

// The bytes before the elements of the tensor: magic, version and header, padded to a multiple of 64 bytes.
// An error if numpy has no dtype for the element type. BFloat16 is written as ml_dtypes does it, as '<V2'.
Result<std::string> npy_header(const Tensor& tensor);

}  // namespace isomer
