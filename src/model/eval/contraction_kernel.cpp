#include "model/eval/contraction_kernel.h"

#include "base/uint128.h"
#include "model/eval/scalar.h"

namespace isomer {

namespace baseline {
namespace {
#include "model/eval/contraction_tile.inc"
}  // namespace
void multiply_tile(const float* a, const float* b, std::int64_t depth, float* tile) {
  multiply_vector_tile<float, 4>(a, b, depth, tile);
}
void multiply_tile(const double* a, const double* b, std::int64_t depth, double* tile) {
  multiply_vector_tile<double, 2>(a, b, depth, tile);
}
}  // namespace baseline

namespace {

bool has_avx2() {
  static const bool yes = avx2::is_compiled_in() && __builtin_cpu_supports("avx2");
  return yes;
}

}  // namespace

template <>
void multiply_tile(const float* a, const float* b, std::int64_t depth, float* tile) {
  has_avx2() ? avx2::multiply_tile(a, b, depth, tile) : baseline::multiply_tile(a, b, depth, tile);
}

template <>
void multiply_tile(const double* a, const double* b, std::int64_t depth, double* tile) {
  has_avx2() ? avx2::multiply_tile(a, b, depth, tile) : baseline::multiply_tile(a, b, depth, tile);
}

// Products are below 2^122, so that 32 of them and a shortened rest fit 128 bits: one reduction per 32 terms.
template <>
void multiply_tile(const Zp* a, const Zp* b, std::int64_t depth, Zp* tile) {
  constexpr int kRows = TileShape<Zp>::kRows, kColumns = TileShape<Zp>::kColumns;
  constexpr std::int64_t kLazy = 32;
  Uint128 sum[kRows][kColumns] = {};
  for (std::int64_t k = 0; k < depth;) {
    for (const std::int64_t end = std::min(depth, k + kLazy); k < end; ++k, a += kRows, b += kColumns)
      for (int r = 0; r < kRows; ++r)
        for (int c = 0; c < kColumns; ++c) sum[r][c] += static_cast<Uint128>(a[r].v) * b[c].v;
    for (auto& row : sum)
      for (auto& s : row) s = Zp::shorten(s);
  }
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c) tile[r * kColumns + c] = Zp::reduce(sum[r][c]);
}

namespace {

template <class T>
void multiply_plainly(const T* a, const T* b, std::int64_t depth, T* tile) {
  constexpr int kRows = TileShape<T>::kRows, kColumns = TileShape<T>::kColumns;
  ScalarContext context;
  T sum[kRows][kColumns] = {};
  for (std::int64_t k = 0; k < depth; ++k, a += kRows, b += kColumns)
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kColumns; ++c)
        sum[r][c] = scalar::binary<Fn::Add>(sum[r][c], scalar::binary<Fn::Mul>(a[r], b[c], context), context);
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c) tile[r * kColumns + c] = sum[r][c];
}

}  // namespace

#define ISOMER_PLAIN_TILE(T)                                                \
  template <>                                                               \
  void multiply_tile(const T* a, const T* b, std::int64_t depth, T* tile) { \
    multiply_plainly(a, b, depth, tile);                                    \
  }
ISOMER_PLAIN_TILE(FieldPair)
ISOMER_PLAIN_TILE(std::int8_t)
ISOMER_PLAIN_TILE(std::int16_t)
ISOMER_PLAIN_TILE(std::int32_t)
ISOMER_PLAIN_TILE(std::int64_t)
ISOMER_PLAIN_TILE(std::uint8_t)
ISOMER_PLAIN_TILE(std::uint16_t)
ISOMER_PLAIN_TILE(std::uint32_t)
ISOMER_PLAIN_TILE(std::uint64_t)
#undef ISOMER_PLAIN_TILE

}  // namespace isomer
