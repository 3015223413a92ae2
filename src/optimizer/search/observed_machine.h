// Measures the figures of a machine: small models run on the user's runtime, and the graph that it makes of
// them is examined. Prices are measured once, and a kind of node once.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "optimizer/facts/machine.h"
#include "runtime/judge/judge.h"

namespace isomer {

class ObservedMachine {
 public:
  // Scratch files are neighbours of `out`. `feeds`: of the model that is measured.
  ObservedMachine(Judge& judge, RuntimeOptions options, std::filesystem::path out,
                  const NamedTensors& feeds = {});

  const Machine& machine() const { return machine_; }
  // Measures the kinds of node in this graph that are new. Returns whether there was any. The fed inputs give
  // the values of their named extents.
  bool learn(const Graph& graph, const Inference& inference);
  std::size_t questions() const { return asked_.size(); }

 private:
  void measure_prices();
  void learn_sizes(const Graph& graph, const Inference& inference);
  std::optional<bool> ask_blocked(const Graph& graph, const Inference& inference, NodeId convolution) const;
  double ask_reordered(const Graph& graph, const Inference& inference, NodeId node) const;
  struct Question;
  std::optional<Question> question(const Graph& program) const;
  // The fastest run, in nanoseconds; nullopt: it doesn't run.
  std::optional<double> time_of(const Graph& program) const;
  // The kernels that run in place of a program's nodes.
  std::optional<std::vector<KernelKind>> kernels_of(const Graph& program) const;

  Judge& judge_;
  RuntimeOptions options_;
  std::filesystem::path out_;
  std::map<std::string, Extents, std::less<>> fed_;
  Machine machine_;
  std::set<std::string> asked_;
};

}  // namespace isomer
