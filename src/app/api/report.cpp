#include "app/report/report.h"

#include <nlohmann/json.hpp>

#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/report_json.h"
#include "app/api/stoppable_limit.h"

namespace isomer::api {
namespace {

// A page is shown to others: it names files without their folders.
std::string name_of(const std::filesystem::path& file, const char* otherwise) {
  return file.empty() ? otherwise : file.filename().string();
}

ReportJson parsed(const std::string& optimized) {
  if (optimized.empty()) return {};
  ReportJson json = ReportJson::parse(optimized, nullptr, false);
  if (!json.is_object()) throw Error(ErrorKind::BadInput, "optimized is not what optimize returns as JSON");
  return json;
}

}  // namespace

Report report(const Model& in, const Model& out, std::string_view certificate, const ReportOptions& options) {
  return guarded([&] {
    const Model::State &first = in.state(), &second = out.state();
    const StoppableLimit limit(options.run.stop);
    const RuntimeRequest runtime = request_of(options.run.runtime);
    ReportRequest request{.in = first.model,
                          .out = second.model,
                          .certificate = std::string(certificate),
                          .in_name = name_of(first.given, "IN.onnx"),
                          .out_name = name_of(second.given, "OUT.onnx"),
                          .certificate_name = name_of(options.certificate_file, "OUT.onnx.cert"),
                          .fixed = first.fixed,
                          .optimized = parsed(options.optimized),
                          .version = std::string(version()),
                          .measure = options.measure};
    if (options.measure) {
      FeedsForModels feeds = feeds_of(options.inputs, options.run, {in});
      request.feeds = std::move(feeds.tensors);
      request.inputs = std::move(feeds.words);
      request.runtime = take(runtime_options(runtime));
      request.worker = worker_options(runtime, options.run.runtime.name);
      request.worker.limit = limit.limit();
      request.scratch = scratch_name(options.run.scratch);
    }
    if (options.run.progress) request.progress = [&](const std::string& now) { options.run.progress(now); };
    ReportPage page = take(make_report(request));
    const ReportJson json{{"bytes", page.html.size()},
                          {"widths", page.widths},
                          {"why", page.why},
                          {"regions", page.regions},
                          {"unchanged_nodes", page.unchanged}};
    return Report{.html = std::move(page.html),
                  .is_measured = page.widths == "time",
                  .why = std::move(page.why),
                  .json = json_text(json)};
  });
}

}  // namespace isomer::api
