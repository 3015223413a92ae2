#include "runtime/judge/scratch_model.h"

#include "model/graph/canonical_hash.h"

namespace isomer {

Model as_model(Graph graph) {
  Model model;
  model.graph = std::move(graph);
  model.ir_version = 8;
  return model;
}

Model with_graph(Model model, const Graph& graph) {
  model.graph = graph;
  return model;
}

Result<ScratchModel> ScratchModel::write(const Model& model, const std::filesystem::path& out) {
  ISOMER_TRY(wire::OutputFile lease, wire::OutputFile::create(out));
  ScratchModel made(std::move(lease), model.graph);
  ISOMER_TRY_DO(write_model(model, made.path()));
  return made;
}

ScratchModel::~ScratchModel() {
  if (lease_.temporary().empty()) return;
  std::error_code error;
  std::filesystem::remove(path(), error);
  std::filesystem::remove(path().string() + ".data", error);
}

std::filesystem::path ScratchModel::path() const {
  return std::filesystem::path(lease_.temporary()).replace_extension(".onnx");
}

std::string ScratchModel::digest() const {
  return canonical_hashes(graph_, ContentDigests::Full).graph.hex();
}

}  // namespace isomer
