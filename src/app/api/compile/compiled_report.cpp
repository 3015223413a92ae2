#include "app/api/compile/compiled_report.h"

#include <nlohmann/json.hpp>

namespace isomer::api {

ReportJson to_json(const Compiled::Errors& e) {
  return {{"module", e.module}, {"runtime", e.runtime}, {"kept", e.kept}};
}

Compiled compiled_of(const Candidate& made, const ReportParts& parts) {
  const CandidateMaker& maker = parts.maker;
  Compiled out{
      .errors = made.errors, .sums = made.sums, .ratio = made.ratio, .not_compared = maker.not_compared()};
  const OperatorSearch* search = parts.search;
  out.is_operator = search != nullptr && search->has_operators();
  if (search != nullptr) out.reason = search->reason();
  for (const lower::Plan& plan : made.plans)
    for (const lower::Nest& nest : plan.nests) out.nests.push_back({nest.name, lower::text(nest, plan)});
  ReportJson json{{"folder", parts.folder.string()}};
  json.update(to_json(made, maker.request()));
  json.update({{"ms", parts.ms},
               {"sums", out.sums},
               {"errors", out.errors ? to_json(*out.errors) : ReportJson(nullptr)},
               {"speed", out.ratio ? to_json(*out.ratio) : ReportJson(nullptr)},
               {"not_compared", out.not_compared},
               {"note", made.note},
               {"is_operator", out.is_operator},
               {"reason", out.reason},
               {"operators", 0},
               {"graph", ""},
               {"tried", ReportJson::array()},
               {"regions", ReportJson::array()},
               {"sizes", parts.sizes},
               {"every_size", parts.every_size},
               {"tuning", parts.tuning.json()}});
  if (search != nullptr) search->tell(json);
  out.json = json_text(json);
  return out;
}

}  // namespace isomer::api
