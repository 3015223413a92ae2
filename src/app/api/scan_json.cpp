#include <nlohmann/json.hpp>

#include "app/api/report_json.h"
#include "app/scan/scanned_model.h"

namespace isomer {
namespace {

using Json = ReportJson;

Json paths_json(const std::vector<std::filesystem::path>& paths) {
  Json list = Json::array();
  for (const std::filesystem::path& path : paths) list.push_back(path.string());
  return list;
}

Json estimate_json(const ScannedModel& model) {
  if (!model.estimate) return {};
  const Estimate& estimate = *model.estimate;
  Json changes = Json::array();
  for (const Estimate::Change& change : estimate.changes)
    changes.push_back({{"words", change.words}, {"places", change.places}});
  return {{"ratio", estimate.ratio},
          {"reason", estimate.reason},
          {"changes", std::move(changes)},
          {"float_weights", estimate.float_weights},
          {"denormal_weights", estimate.denormal_weights},
          {"stopped_by", estimate.stopped_by},
          {"seconds", estimate.seconds}};
}

// Null: Isomer has not made it, as far as its file and its neighbours say.
Json optimized_json(const ScannedModel& model) {
  if (!model.is_optimized()) return {};
  const auto entry = [&](const char* key) {
    const auto at = model.what.head.stamp.find(key);
    return at == model.what.head.stamp.end() ? Json() : Json(at->second);
  };
  const std::string certificate = model.what.certificate.string();
  return {{"version", entry("version")},
          {"ratio", entry("ratio")},
          {"certificate", certificate.empty() ? Json() : Json(certificate)}};
}

Json model_json(const ScannedModel& model, const Scanned& all) {
  const Description& what = model.what;
  const std::string version = what.head.producer_version;
  return {{"path", model.file.path.string()},
          {"package", model.file.package},
          {"bytes", model.bytes()},
          {"external_bytes", what.external_bytes},
          {"copies", paths_json(model.copies)},
          {"same_as", model.same_as ? Json(all.models[*model.same_as].file.path.string()) : Json()},
          {"producer", what.head.producer + (version.empty() ? "" : " " + version)},
          {"opsets", what.head.opsets},
          {"kinds", what.kinds},
          {"precision", what.precision},
          {"quantization", what.quantization},
          {"inspection", what.summary ? to_json(*what.summary) : Json()},
          {"why_not_read", model.why_not_read},
          {"optimized", optimized_json(model)},
          {"estimate", estimate_json(model)},
          {"why_not_estimated", model.why_not_estimated},
          {"command", optimize_command(model.file.path)}};
}

}  // namespace

ReportJson to_json(const Scanned& scanned) {
  Json models = Json::array(), skipped = Json::array();
  for (const ScannedModel& model : scanned.models) models.push_back(model_json(model, scanned));
  for (const SkippedFile& file : scanned.skipped)
    skipped.push_back({{"path", file.path.string()}, {"reason", file.reason}});
  return {{"models", std::move(models)},
          {"skipped", std::move(skipped)},
          {"interrupted", scanned.is_interrupted},
          {"seconds", scanned.seconds}};
}

}  // namespace isomer
