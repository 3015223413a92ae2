// The forger: applies a certificate's steps to a graph without a proof. Its output differs from an honest
// result only in being false, so that only a proof prevents its acceptance. It follows the checker's naming
// of values (kernel/prove/step.cpp), as an attacker would.
#pragma once

#include <optional>

#include "kernel/certify/certificate.h"

namespace isomer::checker {

// nullopt: the steps make no graph at all.
std::optional<Graph> forged(const Graph& in, const std::vector<CertifiedStep>& steps);

}  // namespace isomer::checker
