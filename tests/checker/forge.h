// The forger: does to a graph what a certificate says, without proving anything. What it makes differs from
// an honest result only in being false, so that nothing but a proof stands between it and acceptance. It
// follows the checker's way of naming values (kernel/prove/step.cpp), as whoever attacks a checker would.
#pragma once

#include <optional>

#include "kernel/certify/certificate.h"

namespace isomer::checker {

// nullopt: the steps make no graph at all.
std::optional<Graph> forged(const Graph& in, const std::vector<CertifiedStep>& steps);

}  // namespace isomer::checker
