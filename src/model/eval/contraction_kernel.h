// The inner kernel of every contraction: a small tile of C += A·B from packed panels, for one register tile.
//
// Internal to Contraction. The float and double versions are compiled twice, for the baseline instruction set
// and for AVX2, and chosen at run time; both give the same bits. The others are plain loops.
#pragma once

#include <cstdint>

#include "model/eval/field.h"

namespace isomer {

// Rows and columns of the register tile: 12 vectors of 8 floats (4 doubles) of the 16 that AVX2 has.
template <class T>
struct TileShape {
  static constexpr int kRows = 4, kColumns = 8;
};
template <>
struct TileShape<float> {
  static constexpr int kRows = 6, kColumns = 16;
};
template <>
struct TileShape<double> {
  static constexpr int kRows = 6, kColumns = 8;
};
template <>
struct TileShape<Zp> {
  static constexpr int kRows = 2, kColumns = 4;
};

// tile[r][c] = Σ_k a[k][r] · b[k][c]; a is packed rows-first, b columns-first, tile is row-major.
template <class T>
void multiply_tile(const T* a, const T* b, std::int64_t depth, T* tile);

namespace baseline {
void multiply_tile(const float* a, const float* b, std::int64_t depth, float* tile);
void multiply_tile(const double* a, const double* b, std::int64_t depth, double* tile);
}  // namespace baseline
namespace avx2 {
bool is_compiled_in();
void multiply_tile(const float* a, const float* b, std::int64_t depth, float* tile);
void multiply_tile(const double* a, const double* b, std::int64_t depth, double* tile);
}  // namespace avx2

}  // namespace isomer
