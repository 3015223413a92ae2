// The words of the protocol between a Worker and the process that serves it, said once.
//
// - prepare: the first. Answers private_scratch: whether it needs no temporary folder of ours.
// - open (runtime, library, limits, faults, scratch): the second. Answers name, version, network.
// - load (slot, model, options, tensors): a session in a numbered slot, fed. Answers its signature, and
//   wall_ns and cpu_ns of making it.
// - unload (slot).
// - warm (slot, least_runs, least_ns): untimed runs. Answers runs, fastest_ns.
// - time (legs: [[slot, repetitions], ...]): answers wall_ns and cpu_ns of each leg.
// - pair (slots: [a, b], leg_ns, fewest, most): blocks A B B A B A A B of two warm slots. Answers the
//   repetitions of a leg of each, and wall_ns and cpu_ns of all legs, in order.
// - run (slot): one run. Answers the outputs.
// - profile (model, options, tensors, least_ns): answers the kernels that the runtime really ran.
// - dump (model, options, weights): answers what the runtime makes of the model, as a file, and its large
//   weights, if it has some, as another one; the first says that the second is called `weights`.
// - memory: answers the resident and the peak bytes of the process.
// - fault (kind, delay_us): for tests; does what the kind says (fault.h).
//
// A model is a path, or the next file of the message and a folder; tensors are a table and the next file.
// Requests may be sent before earlier ones are answered. Every answer has runtime_ns, the time spent inside
// of the runtime. A failure is {failure, what}.
#pragma once

#include <optional>

#include "runtime/engines/runtime.h"
#include "runtime/worker/message.h"
#include "runtime/worker/sandbox.h"

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
