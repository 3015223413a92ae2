// A compiled model as texts: C++ that needs libc and libm, a C header, what its inputs and outputs are, and
// the bytes of its weights.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "compiler/emit/unit.h"
#include "compiler/loops/nest.h"
#include "compiler/loops/samples.h"
#include "compiler/schedule/layout.h"
#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer::lower {

struct ModuleTexts {
  std::string code, header;
  std::string wrapper;  // the header's functions as a class of C++
  Plan plan;
  std::size_t functions = 0;
};

// `name` begins every symbol: a C identifier. `schedules`: text, as schedule.h has it; "": none. `threads`:
// that it runs with where its user says nothing else. `tuned`: schedules of units, where `schedules` says
// nothing. `open`: sizes that every run is given.
Result<ModuleTexts> module_of(const Graph& graph, const InferOptions& sizes, const std::string& name,
                              const std::string& schedules = {}, Exactness exactness = Exactness::Fast,
                              int threads = 1, const std::optional<Batch>& batch = {},
                              const TunedLines& tuned = {}, const Sizes& open = {});

// The code that emitted code needs before it (emit.h).
std::string kernels_of(Exactness exactness);

// Bytes of workspace for every thread of a run but the first.
std::int64_t thread_bytes(const Plan& plan);

// The bytes of the weights' file, piece by piece, in order.
void for_each_weight(const Plan& plan, const std::function<void(const void* bytes, std::size_t size)>& write);

}  // namespace isomer::lower
