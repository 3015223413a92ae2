// ---- Numbers that depend on sizes that a run is given

#include <stdint.h>

static inline int64_t im_quotient(int64_t a, int64_t b) {  // rounded down; by 0: 0, and there is no position
  if (b == 0) return 0;
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
static inline int64_t im_larger(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t im_smaller(int64_t a, int64_t b) { return a < b ? a : b; }
