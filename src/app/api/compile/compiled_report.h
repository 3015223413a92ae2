// The result of `compile` for its caller and for --json. Internal to compile.cpp.
#pragma once

#include <filesystem>

#include "app/api/compile/compile_candidate.h"
#include "app/api/compile/compile_operators.h"
#include "app/api/compile/compile_tuning.h"

namespace isomer::api {

// The contents of a report besides the candidate itself. `search`: of operators; nullptr: the model is a
// module.
struct ReportParts {
  const CandidateMaker& maker;
  const CompileTuning& tuning;
  const OperatorSearch* search = nullptr;
  const std::filesystem::path& folder;
  double ms = 0;
  ReportJson sizes = ReportJson::array();  // of a model that has operators for several
  ReportJson every_size = nullptr;         // operators that run at every size
};
Compiled compiled_of(const Candidate& made, const ReportParts& parts);

ReportJson to_json(const Compiled::Errors& errors);

}  // namespace isomer::api
