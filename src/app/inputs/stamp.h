// A stamp: the origin of a model, as entries `pkg.isomer.*` of its metadata. It does not affect what the
// model computes: the prover and the checker ignore metadata, and a model without the stamp is the same
// model.
//
// It is appended to the file after the writer is done, by the rules of protobuf's encoding, in which a
// message may be followed by more of its fields.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace isomer {

using Stamp = std::vector<std::pair<std::string, std::string>>;  // without the prefix: {"version", "0.2.0"}

inline constexpr const char* kStampPrefix = "pkg.isomer.";

// The bytes that an ONNX file gets for it.
std::string encode(const Stamp& stamp);

// The file with this stamp in place of those that it had; replaced at once. Where it would then have more
// bytes than `most`, or than protobuf allows, it is left as it is.
Status put_stamp(const std::filesystem::path& model, const Stamp& stamp, std::uintmax_t most);

}  // namespace isomer
