// CBOR from untrusted sources, checked before a recursive parser reads it: only the subset that
// nlohmann::json writes is accepted. No indefinite lengths, no tags, and no depth that would overflow the
// stack: a few bytes a level, and megabytes of levels, would end the process that reads them.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>

namespace isomer {

// Whether the bytes are one value of the plain kind, nested up to 64 deep.
bool is_plain_cbor(std::span<const char> bytes);

// The value; discarded (is_discarded) if the bytes are not such a one.
nlohmann::json json_from_cbor(std::span<const char> bytes);

}  // namespace isomer
