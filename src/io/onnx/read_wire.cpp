#include "io/onnx/read_wire.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <cerrno>
#include <new>
#include <system_error>

#include "io/onnx/read_text.h"

namespace isomer::wire {
namespace {

using google::protobuf::ArenaOptions;
using google::protobuf::io::CodedInputStream;

constexpr int kDeepestMessage = 100;  // protobuf's own default; hostile/README.md requires no more

// Arena's hooks are plain functions: what the parse on this thread may still allocate; nullptr is no limit.
thread_local std::size_t* bytes_left = nullptr;

void* allocate_block(std::size_t bytes) {
  if (bytes_left != nullptr) {
    if (bytes > *bytes_left) throw std::bad_alloc();
    *bytes_left -= bytes;
  }
  return ::operator new(bytes);
}

void free_block(void* block, std::size_t) { ::operator delete(block); }

class MemoryLimit {
 public:
  explicit MemoryLimit(std::size_t bytes) : left_(bytes) { bytes_left = &left_; }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit() { bytes_left = nullptr; }

 private:
  std::size_t left_;
};

std::shared_ptr<Arena> limited_arena() {
  ArenaOptions options;
  options.max_block_size = std::size_t{1}
                           << 20;  // a model takes megabytes: the default of 8 KiB is many calls
  options.block_alloc = allocate_block;
  options.block_dealloc = free_block;
  return std::make_shared<Arena>(options);
}

}  // namespace

std::string system_error_text(int number) { return std::generic_category().message(number); }

Result<ModelFile> open_model_file(const std::filesystem::path& path) {
  ModelFile file;
  file.descriptor = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!file.descriptor.is_open() || ::fstat(file.descriptor.get(), &status) != 0) {
    return Error{fmt::format("can't be opened: {}", system_error_text(errno))};
  }
  if (!S_ISREG(status.st_mode)) return Error{"is not a regular file"};
  file.identity = identity(status);
  file.bytes = static_cast<std::uint64_t>(status.st_size);
  if (file.bytes > kLargestModelBytes) {
    return Error{"is larger than 2 GiB, the most that protobuf can hold; export it with external data"};
  }
  return file;
}

std::size_t message_memory_limit(std::uint64_t model_bytes) {
  // A million nodes with names and attributes take about 1 GiB; typed data grows by doubling to four times
  // its size.
  return (std::size_t{1} << 30) + 4 * static_cast<std::size_t>(model_bytes);
}

Result<ParsedModel> parse_model(google::protobuf::io::ZeroCopyInputStream& stream, std::size_t memory_limit) {
  ParsedModel parsed;
  parsed.arena = limited_arena();
  const MemoryLimit limit(memory_limit);
  try {
    parsed.model = Arena::CreateMessage<onnx::ModelProto>(parsed.arena.get());
    CodedInputStream coded(&stream);
    coded.SetRecursionLimit(kDeepestMessage);
    if (!parsed.model->ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
      return Error{
          fmt::format("is not an ONNX model: it is cut off, damaged, or nested deeper than {} messages",
                      kDeepestMessage)};
    }
  } catch (const std::bad_alloc&) {
    return Error{"needs more memory to be parsed than there is, or than a real model of its size would"};
  }
  return parsed;
}

}  // namespace isomer::wire
