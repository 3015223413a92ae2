#include "compiler/emit/unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "compiler/emit/emit.h"
#include "compiler/loops/lower.h"
#include "compiler/schedule/legality.h"
#include "compiler/schedule/schedule.h"
#include "model/expr/reads.h"

namespace isomer::lower {
namespace {

std::string name_of(std::size_t nest) { return fmt::format("n{}", nest); }

// Some nests of a plan as a plan of their own.
Unit unit_of(const Plan& plan, std::size_t first, std::size_t count) {
  Unit out;
  out.plan.has_values = false;
  std::map<int, int> numbers;
  const auto small = [&](int buffer) {
    const auto [at, is_new] = numbers.try_emplace(buffer, static_cast<int>(out.plan.buffers.size()));
    if (is_new) {
      Storage s = plan.buffer(buffer);
      s.name = fmt::format("x{}", at->second);
      s.value = {};
      s.offset = s.thread_offset = -1;
      out.plan.buffers.push_back(std::move(s));
    }
    return at->second;
  };
  for (std::size_t k = 0; k < count; ++k) {
    const Nest& nest = plan.nests[first + k];
    out.nests.push_back(first + k);
    Nest mine{.name = name_of(k), .target = small(nest.target)};
    AxisMap by;
    for (const Axis& a : nest.axes) {
      mine.axes.push_back(out.numbers.make(a.extent));
      by[a.id] = Index(mine.axes.back());
    }
    for (const Index& i : nest.at) mine.at.push_back(with_axes(i, by));
    const Expr value = with_reads(nest.value, [&](const ExprNode& read) -> std::optional<Expr> {
      ExprNode own = read;
      own.tensor.number = small(read.tensor.number);
      return Expr(std::make_shared<const ExprNode>(std::move(own)));
    });
    mine.value = with_axes(value, by, out.numbers);
    out.plan.nests.push_back(std::move(mine));
  }
  return out;
}

Result<Plan> with_lines(const Unit& unit, const std::string& lines, Exactness exactness) {
  Plan plan = unit.plan;
  AxisNumbers numbers = unit.numbers;
  ISOMER_TRY(const Schedules own, parse_schedules(lines));
  ISOMER_TRY_DO(choose_strips(plan, {}, own));
  ISOMER_TRY_DO(schedule_nests(plan, numbers, exactness, own));
  ISOMER_TRY_DO(apply_schedules(plan, own, numbers));
  share_nests(plan, own);
  // Tensors that other nests write are inputs.
  std::set<int> written, used;
  for (const Nest& nest : plan.nests) {
    written.insert(nest.target);
    used.insert(nest.target);
    std::vector<Axis> reduced;
    for_each_read(*nest.value, reduced,
                  [&](const ExprNode& e, const std::vector<Axis>&) { used.insert(e.tensor.number); });
  }
  for (const int buffer : used) {
    Storage& s = plan.buffer(buffer);
    if (s.kind == Storage::Kind::Local && !written.contains(buffer)) s.kind = Storage::Kind::Input;
    if (s.kind == Storage::Kind::Input) plan.inputs.push_back({s.name, buffer});
    if (s.kind == Storage::Kind::Output) plan.outputs.push_back({s.name, buffer});
  }
  place_buffers(plan);
  return plan;
}

// Timing uses random floats without a meaning.
bool has_choice(const Plan& scheduled) {
  constexpr std::size_t kMostPorts = 32;
  const auto is_other = [](const Storage& s) { return s.type != ElementType::Float; };
  if (std::ranges::any_of(scheduled.buffers, is_other) ||
      scheduled.inputs.size() + scheduled.outputs.size() > kMostPorts)
    return false;
  return scheduled.nests.size() > 1 ||
         std::ranges::any_of(scheduled.nests, [](const Nest& n) { return n.tile || n.winograd || n.strip; });
}

}  // namespace

Result<Plan> scheduled(const Unit& unit, const std::string& lines, Exactness exactness) {
  ISOMER_TRY(Plan plan, with_lines(unit, lines, exactness));
  if (const auto wrong = illegal(plan)) return Error{*wrong};
  return plan;
}

std::vector<Unit> units_of(const Plan& plan, Exactness exactness) {
  // Chains that could go strip by strip, whatever their sizes.
  Plan longest = plan;
  const bool has_chains = choose_strips(longest, {.worth = 0, .rings = std::int64_t{1} << 40}).ok();
  std::vector<Unit> out;
  for (std::size_t n = 0; n < plan.nests.size();) {
    const std::size_t length = std::max<std::size_t>(1, has_chains ? strip_length(longest, n) : 0);
    Unit unit = unit_of(plan, n, length);
    n += length;
    const auto chosen = with_lines(unit, "", exactness);
    if (!chosen || !has_choice(*chosen)) continue;
    Hasher hasher;
    hasher.add(emit(*chosen, "unit").code);
    for (const Storage& s : chosen->buffers)
      hasher.add(static_cast<int>(s.kind)).add(byte_size(s).concrete());
    unit.key = hasher.digest().hex();
    out.push_back(std::move(unit));
  }
  return out;
}

Result<std::vector<Unit>> units_of(const Graph& graph, const InferOptions& sizes,
                                   const std::optional<Batch>& batch, Exactness exactness) {
  AxisNumbers numbers;
  ISOMER_TRY(Plan plan, lower_graph(graph, batch ? batch->one : sizes, numbers));
  compose_nests(plan, numbers);
  choose_layouts(plan, numbers);
  return units_of(plan, exactness);
}

Schedules as_schedules(const TunedLines& tuned, const std::vector<Unit>& units, const Plan& plan,
                       const Schedules& own) {
  std::map<std::string, int> named;
  for (const Nest& nest : plan.nests) ++named[nest.name];
  Schedules out;
  for (const Unit& unit : units) {
    const auto lines = tuned.find(unit.key);
    if (lines == tuned.end()) continue;
    const auto is_free = [&](std::size_t n) {
      return named[plan.nests[n].name] == 1 && !own.contains(plan.nests[n].name);
    };
    if (!std::ranges::all_of(unit.nests, is_free)) continue;
    const auto parsed = parse_schedules(lines->second);
    if (!parsed) continue;
    // n0 of the unit is a name of the plan; nothing else in its lines is.
    const auto true_name = [&](const std::string& small) -> std::string {
      for (std::size_t k = 0; k < unit.nests.size(); ++k)
        if (small == name_of(k)) return plan.nests[unit.nests[k]].name;
      return small;
    };
    for (const auto& [nest, said] : *parsed) {
      std::vector<std::string>& put = out[true_name(nest)];
      for (const std::string& line : said) {
        const auto request = strip_request({line});
        put.push_back(request && *request
                          ? fmt::format("compute_at {} {}", true_name((*request)->nest), (*request)->rows)
                          : line);
      }
    }
  }
  return out;
}

}  // namespace isomer::lower
