// From TensorProto to Tensor: exactly one payload, as many elements as the dims say, every element in range.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "io/onnx/read_external.h"
#include "model/expr/tensor.h"

namespace onnx {
class SparseTensorProto;
class TensorProto;
}  // namespace onnx

namespace isomer::wire {

constexpr int kHighestRank = 64;  // numpy's own limit; no runtime has more axes

// Where a model's tensors find their bytes.
struct TensorSource {
  std::shared_ptr<const void> arena;  // keeps the messages alive that tensors alias
  ExternalFiles* files = nullptr;
};

// Bytes are aliased where the message has them in the layout that Tensor wants: raw data, 32- and 64-bit
// numbers.
Result<Tensor> read_tensor(const onnx::TensorProto& proto, const TensorSource& source);

// Values, indices and dims agree, indices ascend and lie inside. Never made dense: a few bytes may stand for
// terabytes.
Status check_sparse_tensor(const onnx::SparseTensorProto& proto, const TensorSource& source);

bool is_external(const onnx::TensorProto& proto);
// The location and offset of external data; an error if an entry is missing, unknown, given twice or not a
// number.
struct ExternalPlace {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};
Result<ExternalPlace> external_place(const onnx::TensorProto& proto);

}  // namespace isomer::wire
