// The prior of a search (optimizer/search/prior.h), from a file or the one that comes with the program.
#pragma once

#include <filesystem>
#include <memory>

#include "base/result.h"
#include "optimizer/search/prior.h"

namespace isomer {

// No file: the one that comes with the program. A file that can't be understood is an error that names it.
Result<std::shared_ptr<const Prior>> read_prior(const std::filesystem::path& file);

}  // namespace isomer
