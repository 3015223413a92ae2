// Numbers that depend on open sizes, as C++.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "model/expr/dim.h"

namespace isomer::lower {

// `name`: what a size is called there. Quotients need im_quotient (kernels/open_sizes.h).
std::string dim_text(const Dim& dim, const std::function<std::string(std::string_view)>& name);

}  // namespace isomer::lower
