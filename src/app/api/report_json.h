// Results for programs: the objects that `--json` prints and the library returns as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/equality/compare_models.h"
#include "app/equality/equality.h"
#include "app/measure/bench.h"
#include "app/measure/gate.h"
#include "app/optimize/optimize.h"
#include "app/report/summary.h"
#include "app/rules/decide_rules.h"
#include "app/scan/scanned_model.h"
#include "kernel/certify/certificate.h"

namespace isomer {

using ReportJson = nlohmann::ordered_json;

// Facts that a report of `optimize` lacks.
struct OptimizeContext {
  std::string inputs = {};   // that were measured with, in words: "x 1x3x224x224 (batch=1 was assumed)"
  std::string machine = {};  // the processor
  int threads = 1;
  double min_gain = 1.02;
  std::vector<std::string> fixed = {};    // sizes that the result is for; none: all
  std::vector<std::string> assumed = {};  // operators that their user states
  std::shared_ptr<TimingCache> cache = {};
  std::vector<Decided> user_rules = {};
  std::string kernels = "null";  // what --kernels came to, as JSON
};

ReportJson to_json(const Summary& summary);
ReportJson to_json(const OptimizeReport& report, const OptimizeContext& context);
ReportJson to_json(const ProveAnswer& answer, double ms);
ReportJson to_json(const BenchRun& run);
ReportJson to_json(const GateRun& run);
ReportJson to_json(const Certificate& certificate);
ReportJson to_json(const ComparedModels& compared, const std::string& engine, const std::string& inputs);
ReportJson to_json(const std::vector<Decided>& rules, double ms);
ReportJson to_json(const Scanned& scanned);  // scan_json.cpp

// As it is printed; what isn't UTF-8 in a model's names is replaced.
std::string json_text(const ReportJson& json);

}  // namespace isomer
