#include "kernel/prove/step.h"

namespace isomer {

std::variant<Graph, std::string> prove_claim(const Graph& graph, const Claim& claim,
                                             const ProveOptions& options) {
  const auto piece = Workpiece::of(graph);
  if (!piece.ok()) return piece.error().message;
  const auto proved = piece->prove(claim, options);
  if (const auto* why = std::get_if<std::string>(&proved)) return *why;
  auto result = piece->with({std::get<ProvedClaim>(proved)});
  if (!result.ok()) return result.error().message;
  return std::move(*result);
}

}  // namespace isomer
