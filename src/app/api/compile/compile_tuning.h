// Tunes the result of `compile`: compiles it again with schedules found by measuring, and keeps that if the
// whole model is faster. Internal to compile.cpp.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <optional>

#include "app/api/compile/compile_candidate.h"
#include "app/api/stoppable_limit.h"
#include "compiler/tune/tune.h"

namespace isomer::api {

class CompileTuning {
 public:
  CompileTuning(CandidateMaker& maker, const CompileOptions& options) : maker_(maker), options_(options) {}

  // Faster than `made` on fresh samples of both; nullopt: nothing is. `programs`: that it is made of, with
  // the sizes of their inputs; `again`: makes it with what was found.
  std::optional<Candidate> faster(const Candidate& made, const std::vector<const Graph*>& programs,
                                  const std::vector<std::string>& sizes,
                                  const std::function<Candidate()>& again);
  // Null: --tune was not given.
  const ReportJson& json() const { return json_; }

 private:
  Outcome<TuneResult> search(isomer::Judge& judge, const std::vector<const Graph*>& programs,
                             const std::vector<std::string>& sizes);
  // The whole, on fresh samples of both; says in json() why not.
  bool is_faster(const Candidate& tuned, const Candidate& made);
  void tell(const TuneResult& found);

  CandidateMaker& maker_;
  const CompileOptions& options_;
  ReportJson json_ = nullptr;
};

}  // namespace isomer::api
