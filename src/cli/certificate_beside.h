// The certificate beside a result of `optimize`: a proof that only has to be checked.
#pragma once

#include <filesystem>
#include <string>

namespace isomer::cli {

// Its text; "": there is none, or it can't be read.
std::string certificate_beside(const std::filesystem::path& model);

}  // namespace isomer::cli
