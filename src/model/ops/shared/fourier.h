// Tables of the discrete Fourier transform: what DFT and STFT share.
#pragma once

#include "model/ops/shared/define.h"

namespace isomer {

struct FourierTables {
  FormulaBuilder::Tensor cosine, sine;  // of 2π · k · n / length, by [k, n]
};
// Bins k < bins, samples n < length. The product k · n is taken modulo the length, so that angles stay exact.
FourierTables fourier_tables(FormulaBuilder& f, ElementType type, const Dim& bins, const Dim& length);

}  // namespace isomer
