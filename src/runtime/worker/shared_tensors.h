// Tensors in a file in memory, for another process: one copy in, none out.
#pragma once

#include "model/graph/interpret.h"
#include "runtime/engines/outcome.h"
#include "runtime/worker/message.h"

namespace isomer {

struct SharedTensors {
  Descriptor file;
  Json table = Json::array();  // name, type, extents, where the elements are
};

// A file in memory with these bytes; an error if there is no memory for it.
Outcome<Descriptor> shared_bytes(const void* data, std::size_t size, const char* name);
Outcome<SharedTensors> share(const NamedTensors& tensors);

// The tensors, over the mapped file: for the worker, which trusts its parent.
Outcome<NamedTensors> map_tensors(const Json& table, const Descriptor& file);
// The tensors, copied: for the parent. A worker that shrinks the file later does no harm.
Outcome<NamedTensors> copy_tensors(const Json& table, const Descriptor& file);

// A whole file, copied: for the parent.
Outcome<Bytes> copy_file(const Descriptor& file);
// A whole file, mapped for reading: for the worker.
Outcome<Bytes> map_file(const Descriptor& file);

}  // namespace isomer
