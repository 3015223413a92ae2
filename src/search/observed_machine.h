// A machine that was asked: small models are run on the user's runtime, and the graph that it makes of them
// is looked at. Prices are measured once; questions about a kind of node are asked once each.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cost/machine.h"
#include "runtime/judge.h"

namespace isomer {

class ObservedMachine : public Machine {
 public:
  // Scratch files are neighbours of `out`.
  ObservedMachine(Judge& judge, RuntimeOptions options, std::filesystem::path out);

  std::optional<bool> is_blocked(const Graph& graph, const Inference& inference,
                                 NodeId convolution) const override;
  double reordered(const Graph& graph, const Inference& inference, NodeId node) const override;
  std::size_t questions() const { return blocked_.size() + reordered_.size(); }

 private:
  void measure_prices();
  struct Question;
  std::optional<Question> question(const Graph& program) const;
  // The fastest run, in nanoseconds; nullopt: it doesn't run.
  std::optional<double> time_of(const Graph& program) const;
  // The kernels that run in place of a program's nodes.
  std::optional<std::vector<KernelKind>> kernels_of(const Graph& program) const;

  Judge& judge_;
  RuntimeOptions options_;
  std::filesystem::path out_;
  mutable std::map<std::string, std::optional<bool>> blocked_;
  mutable std::map<std::string, double> reordered_;
};

}  // namespace isomer
