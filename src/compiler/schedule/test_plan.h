// For tests of lowering: plans of graphs that are written down, and random schedules.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "compiler/loops/lower.h"
#include "compiler/schedule/layout.h"
#include "compiler/schedule/schedule.h"
#include "model/graph/text/text.h"

namespace isomer::lower::testing {

struct Lowered {
  Plan plan;
  AxisNumbers numbers;
};

inline Graph graph_of(const std::string& body) {
  auto graph = parse_graph("<ir_version: 8, opset_import: [\"\" : 20]> g " + body);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  return std::move(graph).value();
}

// Stages as nests, written into each other.
inline Lowered lowered(const std::string& body) {
  Lowered out;
  auto plan = lower_graph(graph_of(body), {}, out.numbers);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
  out.plan = std::move(plan).value();
  compose_nests(out.plan, out.numbers);
  return out;
}

// As a module schedules its nests, up to where threads and memory are divided.
inline Lowered scheduled(const std::string& body, Exactness exactness = Exactness::Fast,
                         const std::string& schedules = {}, const StripLimits& limits = {}) {
  Lowered out = lowered(body);
  const Schedules own = *parse_schedules(schedules);
  choose_layouts(out.plan, out.numbers);
  EXPECT_TRUE(choose_strips(out.plan, limits, own));
  EXPECT_TRUE(schedule_nests(out.plan, out.numbers, exactness, own));
  EXPECT_TRUE(apply_schedules(out.plan, own, out.numbers));
  return out;
}

// One step of a schedule, which may not apply. `below`: a number that is drawn below another.
inline void apply_random_step(Nest& nest, AxisNumbers& numbers,
                              const std::function<std::size_t(std::size_t)>& below) {
  const std::string one = nest.loops[below(nest.loops.size())].name,
                    other = nest.loops[below(nest.loops.size())].name;
  switch (below(3)) {
    case 0: (void)apply_schedule(nest, "split " + one + " " + std::to_string(2 + below(3)), numbers); break;
    case 1: (void)apply_schedule(nest, "fuse " + one + " " + other, numbers); break;
    default: (void)apply_schedule(nest, "reorder " + one + " " + other, numbers); break;
  }
}

}  // namespace isomer::lower::testing
