// A run of `optimize`: its options for the search, inputs that run, the cache, and the time. Internal to
// optimize.cpp and optimize_file.cpp.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/api/model_state.h"
#include "app/api/report_json.h"
#include "app/api/stoppable_limit.h"
#include "app/optimize/optimize.h"
#include "isomer/isomer.h"

namespace isomer::api {

// Its time begins when it is made.
class OptimizeRun {
 public:
  explicit OptimizeRun(const OptimizeOptions& options);

  // Finds inputs and opens the cache; at these sizes, if inputs are made up.
  void prepare(const Model& model, const std::vector<std::string>& sizes);
  // The same for a model of one size, which is given back: the sizes that are not given are those of the
  // inputs that were found.
  Model prepare_fixed(const OptimizeFiles& files);

  // When the search for a graph ends, in seconds since the start; else with the time.
  void end_graph_at(double seconds);
  // Searches for a faster graph. `file`: what a runtime reads the model from.
  isomer::Optimized find(const Model::State& state, const std::filesystem::path& file,
                         const std::filesystem::path& scratch);
  // The model as it is, where no graph is searched for.
  isomer::Optimized keep(const Model::State& state, const std::filesystem::path& file);

  double spent() const { return limit_.spent(); }
  void set_kernels(const ReportJson& json);
  // The sizes of all inputs that the model leaves open: as given, else those of the inputs.
  std::vector<std::string> sizes(const Model& model) const;
  Optimized to_public(const Model& given, isomer::Optimized found) const;

 private:
  FeedsForModels feeds_at(const Model& model, const std::vector<std::string>& sizes) const;
  void prepare_more(const Model& model, const std::vector<std::vector<std::string>>& sets);
  void take_rules();

  const OptimizeOptions& options_;
  StoppableLimit limit_;
  OptimizeRequest request_;
  OptimizeContext context_;
  NamedTensors request_feeds_;
  std::vector<std::string> shapes_;  // of inputs that were found; none: as given
};

// For a search that is a part of another one.
OptimizeOptions options_of_part(OptimizeOptions options, std::vector<std::string> sizes, double seconds);

}  // namespace isomer::api
