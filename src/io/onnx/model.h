// Model: a graph and everything else that the file said, so that writing it back loses nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/result.h"
#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer {

// The parts of a file beyond the graph's nodes and initializers (metadata, functions, value_info, training
// info, sparse initializers, quantisation annotations, ...): io/onnx/ keeps them, and no code interprets
// them.
struct ModelShell;

struct Model {
  Graph graph;
  std::int64_t ir_version = 0;
  std::size_t node_count = 0;  // of the main graph, as the file has them
  std::shared_ptr<const ModelShell> shell;
};

// Reads untrusted bytes. External data is looked for beneath the model's own directory only, and mapped,
// never copied.
Result<Model> read_model(const std::filesystem::path& path);
// The model with its inputs at these sizes, whatever else they may have had: another model.
Result<Model> read_model_at(const std::filesystem::path& path, const InferOptions& sizes);

// The size of the separate files that hold its weights.
std::uint64_t external_bytes(const Model& model);

// Writes OUT (and OUT.data beside it, if any tensor is external) atomically: temporary files in the same
// directory, synced, renamed. External data is copied by range from file to file. Refuses to overwrite the
// file that the model was read from.
Status write_model(const Model& model, const std::filesystem::path& path);

// The size of the files that write_model would write.
Result<std::uint64_t> written_bytes(const Model& model, const std::filesystem::path& path);

// The model as the bytes of a file. Error: it has data in other files, or more than 2 GiB.
Result<std::string> model_bytes(const Model& model);

// The bytes of the file `from`, which the model was read from, as another file, as atomically; if it has
// external data, which would not be found from elsewhere, the model is written anew.
Status copy_model(const Model& model, const std::filesystem::path& from, const std::filesystem::path& path);

}  // namespace isomer
