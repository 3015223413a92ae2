// The words of the protocol between a Worker and the process that serves it, said once.
//
// open     runtime, library, limits, faults       first of all; answers name, version, network,
// private_scratch load     slot, model, options, tensors          a session in a numbered slot, fed; answers
// its signature unload   slot warm     slot, least_runs, least_ns             answers runs, wall_ns time
// legs: [[slot, repetitions], ...]       answers wall_ns and cpu_ns of each leg run      slot one run;
// answers the outputs profile  model, options, tensors, least_ns,     in that folder where the worker has
// none of its own; the
//          scratch                                kernels that the runtime really ran
// memory                                          answers resident and peak bytes of the process
// fault    kind, delay_us                         for tests: does what the kind says (fault.h)
//
// A model is a path, or the next file of the message and a folder; tensors are a table and the next file.
// Requests may be sent before earlier ones are answered. Every answer has runtime_ns, the time spent inside
// of the runtime. A failure is {failure, what}.
#pragma once

#include <optional>

#include "runtime/message.h"
#include "runtime/runtime.h"
#include "runtime/sandbox.h"

namespace isomer {

// Changes when old and new measurements are no longer comparable: a part of the timing cache's key.
constexpr int kProtocolVersion = 1;

Json to_json(const RuntimeOptions& options);
RuntimeOptions options_from(const Json& json);
Json to_json(const Limits& limits);
Limits limits_from(const Json& json);
Json to_json(const Signature& signature);
Signature signature_from(const Json& json);
Json to_json(const std::vector<KernelKind>& kinds);
std::vector<KernelKind> kinds_from(const Json& json);
Json to_json(const Failure& failure);
std::optional<Failure> failure_from(const Json& json);

}  // namespace isomer
