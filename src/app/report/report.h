// The report of an optimization as one HTML page: what became what and how long it takes, the laws, both
// graphs, what the search tried, what is opaque, how to check it. It fetches nothing, and says no more than
// its sources: the two models, the certificate, and what `optimize` told, if it is there. Nothing is proved
// here.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/onnx/model.h"
#include "runtime/judge/judge.h"

namespace isomer {

struct ReportRequest {
  const Model& in;
  const Model& out;
  std::string certificate;                                                  // its text
  std::string in_name = "IN", out_name = "OUT", certificate_name = "CERT";  // in the commands that it shows
  std::vector<std::string> fixed = {};    // sizes that OUT is for; none: all
  nlohmann::ordered_json optimized = {};  // what `optimize` tells as JSON; null: nothing is known of the run
  std::string version;                    // Isomer's

  // Whether a runtime is asked how long each node takes; otherwise, or if it can't be asked, the analytic
  // cost stands for that.
  bool measure = true;
  WorkerOptions worker = {};
  RuntimeOptions runtime = {};
  NamedTensors feeds = {};
  std::string inputs = {};  // what these are, in words
  std::filesystem::path scratch = {};
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct ReportPage {
  std::string html;
  std::string widths;                      // "time", "cost" or "nodes"
  std::string why;                         // not "time", though it was asked for
  std::size_t regions = 0, unchanged = 0;  // places that were changed; nodes that were not
};

// Error: the certificate is none, or about other models.
Result<ReportPage> make_report(const ReportRequest& request);

}  // namespace isomer
