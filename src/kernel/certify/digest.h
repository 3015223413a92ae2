// The digest of a model: BLAKE2b over everything that the checker compares (nodes, wiring, attributes, every
// element of every constant in any file, the interface, operator sets, bodies), in any order of nodes. It
// names the models of a certificate; it is no part of any proof.
#pragma once

#include <string>

#include "kernel/certify/certificate.h"

namespace isomer {

std::string model_digest(const Graph& graph);

// The certificate with the digests of the models that it is about, and the operators that their user states.
Certificate with_digests(Certificate certificate, const Graph& in, const Graph& out);

}  // namespace isomer
