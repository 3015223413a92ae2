// Compiled with -mavx2; nothing here may run before the processor was checked. Without FMA: wider vectors
// give the same bits as narrow ones, so that folded constants do not depend on the machine.
#include "model/eval/contraction_kernel.h"

namespace isomer::avx2 {

#if defined(__AVX2__)
namespace {
#include "model/eval/contraction_tile.inc"
}  // namespace

bool is_compiled_in() { return true; }
void multiply_tile(const float* a, const float* b, std::int64_t depth, float* tile) {
  multiply_vector_tile<float, 8>(a, b, depth, tile);
}
void multiply_tile(const double* a, const double* b, std::int64_t depth, double* tile) {
  multiply_vector_tile<double, 4>(a, b, depth, tile);
}
#else
bool is_compiled_in() { return false; }
void multiply_tile(const float* a, const float* b, std::int64_t depth, float* tile) {
  baseline::multiply_tile(a, b, depth, tile);
}
void multiply_tile(const double* a, const double* b, std::int64_t depth, double* tile) {
  baseline::multiply_tile(a, b, depth, tile);
}
#endif

}  // namespace isomer::avx2
