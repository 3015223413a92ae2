// Numbers that depend on open sizes, as C++.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "model/expr/dim.h"

namespace isomer::lower {

// `name`: what a size is called there. Quotients need im_quotient (kernels/sizes.h). `call`: what takes the
// place of a call of that, or of im_larger or im_smaller.
std::string dim_text(
    const Dim& dim, const std::function<std::string(std::string_view)>& name,
    const std::function<std::string(std::string)>& call = [](std::string text) { return text; });

}  // namespace isomer::lower
