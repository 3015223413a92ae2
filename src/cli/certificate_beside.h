// The certificate that `optimize` leaves beside its result: a proof that need not be found, only checked.
#pragma once

#include <filesystem>
#include <string>

namespace isomer::cli {

// Its text; "": there is none, or it can't be read.
std::string certificate_beside(const std::filesystem::path& model);

}  // namespace isomer::cli
