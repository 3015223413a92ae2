// Exact numbers: GMP's.
#pragma once

#include <gmpxx.h>

namespace isomer {

using Rational = mpq_class;

}  // namespace isomer
