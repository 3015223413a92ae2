// The data file of a model: which ranges of which files go where in it, and the copying, file to file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/onnx/read_external.h"
#include "model/expr/tensor.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {

class DataPlan {
 public:
  explicit DataPlan(ExternalFiles& files) : files_(files) {}

  // Tensors whose entries name the files that they were read from.
  Status add(onnx::TensorProto* tensor);
  // A tensor in memory, whose message gets entries.
  void add(onnx::TensorProto* tensor, Bytes bytes);

  bool empty() const { return tensors_.empty() && new_.empty(); }
  // Decides on offsets and writes them, with the data file's name, into the tensors' entries. No file is
  // larger for it than what it was copied from: ranges that overlap are copied once.
  void place(const std::string& location);
  std::uint64_t bytes() const { return bytes_; }
  Status copy_to(int output) const;

 private:
  struct Source {  // a range of a file, as a tensor refers to it
    std::uint64_t offset = 0, size = 0;
    friend auto operator<=>(const Source&, const Source&) = default;
  };
  struct Piece {  // a run of overlapping ranges, copied as one
    Source source;
    std::uint64_t target = 0;
  };
  struct Moved {
    onnx::TensorProto* tensor = nullptr;
    const ExternalFiles::File* file = nullptr;
    Source source;
  };
  struct New {
    onnx::TensorProto* tensor = nullptr;
    Bytes bytes;
    std::uint64_t target = 0;
  };
  std::uint64_t reserve(std::uint64_t size);

  ExternalFiles& files_;
  std::vector<Moved> tensors_;
  std::vector<New> new_;
  std::map<const ExternalFiles::File*, std::vector<Piece>> pieces_;  // sorted by source
  std::uint64_t bytes_ = 0;
};

// Copies a range without bringing it into this process where the kernel can, and leaves holes holes.
Status copy_range(int input, std::uint64_t offset, std::uint64_t size, int output, std::uint64_t target);

// All of the bytes at an offset, whatever write(2) takes at once.
Status write_at(int output, const void* data, std::size_t size, std::uint64_t offset);

}  // namespace isomer::wire
