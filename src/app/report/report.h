// The report of an optimization as one HTML page: the changes and the time of each part, the laws, both
// graphs, what the search tried, opaque nodes, the commands to check it. It loads nothing from a network, and
// contains only its sources: the two models, the certificate, and the JSON of `optimize`, if it is there.
// Nothing is proved here.
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
  nlohmann::ordered_json optimized = {};  // the JSON of `optimize`; null: unknown
  std::string version;                    // Isomer's

  // Whether the runtime measures the time of each node; otherwise, or if it fails, the analytic cost is used.
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
  std::string why;                         // why it is not "time" although requested
  std::size_t regions = 0, unchanged = 0;  // places that were changed; nodes that were not
};

// Error: the certificate is none, or about other models.
Result<ReportPage> make_report(const ReportRequest& request);

}  // namespace isomer
