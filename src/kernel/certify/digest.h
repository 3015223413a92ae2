// The digest of a model: BLAKE2b over all that the checker compares (nodes, wiring, attributes, every element
// of every constant wherever its bytes lie, the interface, operator sets, bodies), whatever the order of
// nodes. It says which models a certificate is about; it is no part of any proof.
#pragma once

#include <string>

#include "kernel/certify/certificate.h"

namespace isomer {

std::string model_digest(const Graph& graph);

// The certificate with the digests of the models that it is about, and the operators that their user states.
Certificate with_digests(Certificate certificate, const Graph& in, const Graph& out);

}  // namespace isomer
