#include "app/api/errors.h"

#include <nlohmann/json.hpp>
#include "app/api/report_json.h"
#include "optimizer/plans/store.h"
#include "optimizer/plans/verify.h"

namespace isomer::api {

namespace fs = std::filesystem;

namespace {

PlanStoreState state_of(const PlanStore::Contents& found) {
  return {.plans = found.plans,
          .entries = found.entries,
          .invalid = found.invalid,
          .orphans = found.orphans,
          .bytes = found.bytes};
}

ReportJson json_of(const fs::path& store, const PlanStore::Contents& found) {
  ReportJson list = ReportJson::array();
  for (const PlanEntry& e : found.list)
    list.push_back({{"anchor", e.anchor},
                    {"key", e.key},
                    {"object", e.object},
                    {"target", e.target},
                    {"ratio", e.ratio}});
  return {{"place", store.string()},        {"plans", found.plans}, {"entries", found.entries},
          {"signatures", found.signatures}, {"bytes", found.bytes}, {"invalid", found.invalid},
          {"orphans", found.orphans},       {"list", list}};
}

}  // namespace

PlanStoreState plan_store_state(const fs::path& store) {
  return guarded([&] {
    const PlanStore::Contents found = PlanStore(store).contents();
    PlanStoreState out = state_of(found);
    out.json = json_text(json_of(store, found));
    return out;
  });
}

PlanStoreState verify_plans(const fs::path& store, std::uint64_t seed) {
  return guarded([&] {
    const PlanStore plans(store);
    const PlanStore::Contents found = plans.contents();
    PlanStoreState out = state_of(found);
    ReportJson refusals = ReportJson::array();
    for (const std::string& object : found.objects) {
      const auto plan = plans.plan(object);
      const auto why =
          plan ? why_not_proved(*plan, seed) : std::optional<std::string>("it is gone, or another one");
      if (why) refusals.push_back({{"object", object}, {"why", *why}});
      ++(why ? out.refused : out.proved);
    }
    ReportJson json = json_of(store, found);
    json["proved"] = out.proved;
    json["refused"] = out.refused;
    json["refusals"] = refusals;
    out.json = json_text(json);
    return out;
  });
}

std::uint64_t clean_plans(const fs::path& store, double mebibytes) {
  return guarded([&] { return PlanStore(store).clean(static_cast<std::uint64_t>(mebibytes * 0x1p20)); });
}

std::uint64_t copy_plans(const fs::path& from, const fs::path& to) {
  return guarded([&] { return PlanStore(to).take_from(PlanStore(from)); });
}

}  // namespace isomer::api
