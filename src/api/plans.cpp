#include "api/errors.h"
#include "api/report_json.h"
#include "plans/store.h"

namespace isomer::api {

namespace fs = std::filesystem;

PlanStoreState plan_store_state(const fs::path& store) {
  return guarded([&] {
    const PlanStore::Contents found = PlanStore(store).contents();
    PlanStoreState out{.plans = found.plans,
                       .entries = found.entries,
                       .settled = found.settled,
                       .invalid = found.invalid,
                       .orphans = found.orphans,
                       .bytes = found.bytes};
    ReportJson list = ReportJson::array();
    for (const PlanEntry& e : found.list)
      list.push_back({{"anchor", e.anchor},
                      {"key", e.key},
                      {"object", e.object},
                      {"target", e.target},
                      {"ratio", e.ratio}});
    out.json = json_text({{"place", store.string()},
                          {"plans", found.plans},
                          {"entries", found.entries},
                          {"settled", found.settled},
                          {"bytes", found.bytes},
                          {"invalid", found.invalid},
                          {"orphans", found.orphans},
                          {"list", list}});
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
