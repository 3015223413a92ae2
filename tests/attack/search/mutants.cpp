// isomer-mutants MODEL FOLDER: all mutants of a model's nodes
// (optimizer/propose/positions/partial/mutants.h), where each is wrong, and whether its correction is proved.
// For tests/evidence/partial_examples.py, which measures the files.
//
// A line for each mutant, fields apart by tabs: "mutant", number, what it is, the wrong positions or why they
// are not known. Then a line for each way to join it with its correction: "join", number, name, "proved" or
// why not. FOLDER gets N.NAME.onnx, proved, and N.onnx, the mutant as it is, if it is the whole model.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <map>

#include "io/onnx/model.h"
#include "kernel/prove/step.h"
#include "optimizer/propose/positions/partial/partial.h"

namespace isomer {
namespace {

const char* name(Join join) { return join == Join::Concat ? "concat" : "pad_and_add"; }

// The same program, its output under the name that the model has for it.
Graph renamed(const Graph& program, const std::string& output) {
  Graph out = program.without_nodes();
  std::map<NodeId, NodeId> moved;
  for (const NodeId id : program.order()) {
    Node node = program.node(id);
    if (id == program.outputs()[0].node) node.outputs[0] = output;
    for (Value& v : node.inputs)
      if (v.exists()) v.node = moved.at(v.node);
    moved.emplace(id, out.add(std::move(node)));
    if (program.node(id).kind == NodeKind::Input) out.add_input({moved.at(id), 0});
  }
  out.add_output({moved.at(program.outputs()[0].node), 0});
  return out;
}

void write(Model model, const Graph& graph, const std::string& file) {
  model.graph = graph;
  if (const auto written = write_model(model, file); !written.ok())
    fmt::print(stderr, "{}: {}\n", file, written.error().message);
}

std::string prove(const Model& model, const Proposal& proposal, const std::string& file) {
  const auto proved = prove_claim(model.graph, proposal.claim);
  if (const auto* why = std::get_if<std::string>(&proved)) return *why;
  const auto folded = fold_constants(std::get<Graph>(proved), proposal.folds);
  if (!folded.ok()) return folded.error().message;
  write(model, *folded, file);
  return "proved";
}

void tell(const Model& model, const Site& site, const Mutant& mutant, int number, const std::string& folder) {
  const auto right = region_of(site.graph, site.inference, {mutant.from}, {mutant.to});
  const Graph complete = with_constants(site, mutant.program);
  const auto wrong = right.ok() ? wrong_positions(*right, complete) : Result<WrongPositions>(right.error());
  fmt::print("mutant\t{}\t{}\t{}\n", number, mutant.what, wrong.ok() ? wrong->set : wrong.error().message);
  if (!wrong.ok()) return;
  const Value y = model.graph.outputs()[0];
  if (mutant.to == y && model.graph.inputs().size() == 1 && mutant.from == model.graph.inputs()[0])
    write(model, renamed(complete, site.name(y)), fmt::format("{}/{}.onnx", folder, number));
  for (const Join join : {Join::Concat, Join::PadAndAdd}) {
    if (wrong->is_empty && join != Join::Concat) continue;
    const auto proposal = correct(site, mutant, *wrong, join);
    fmt::print("join\t{}\t{}\t{}\n", number, name(join),
               proposal ? prove(model, *proposal, fmt::format("{}/{}.{}.onnx", folder, number, name(join)))
                        : "not for named sizes");
  }
}

int run(const std::string& file, const std::string& folder) {
  const auto model = read_model(file);
  const auto inference = model.ok() ? infer(model->graph) : Result<Inference>(model.error());
  if (!inference.ok()) {
    fmt::print(stderr, "isomer: {}\n", inference.error().message);
    return 2;
  }
  const Site site(model->graph, *inference, unknown_machine());
  int number = 0;
  for (const NodeId id : model->graph.order())
    for (const Mutant& mutant : mutants_of(site, id)) tell(*model, site, mutant, number++, folder);
  return 0;
}

}  // namespace
}  // namespace isomer

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "isomer: usage: isomer-mutants MODEL FOLDER\n");
    return 2;
  }
  try {
    return isomer::run(argv[1], argv[2]);
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "isomer: internal error: %s\n", bug.what());
    return 70;  // EX_SOFTWARE of sysexits.h
  }
}
