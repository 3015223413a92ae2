// Models that a runtime runs: files beside the result, for as long as they are needed.
#pragma once

#include <filesystem>
#include <string>

#include "io/onnx/model.h"
#include "io/onnx/write_file.h"
#include "runtime/worker/worker.h"

namespace isomer {

// A model beside OUT, under a name that goes with this object.
class ScratchModel {
 public:
  static Result<ScratchModel> write(const Model& model, const std::filesystem::path& out);
  ScratchModel(ScratchModel&&) noexcept = default;
  ScratchModel& operator=(ScratchModel&&) = delete;
  ~ScratchModel();
  std::filesystem::path path() const;
  ModelSource source() const { return ModelSource::file(path().string()); }
  std::string digest() const;  // of the whole model, weights included

 private:
  ScratchModel(wire::OutputFile lease, Graph graph) : lease_(std::move(lease)), graph_(std::move(graph)) {}
  wire::OutputFile lease_;  // locked, so that the file does not look abandoned
  Graph graph_;
};

Model as_model(Graph graph);  // a program of ours, with no file
Model with_graph(Model model, const Graph& graph);

}  // namespace isomer
