IM_INLINE im_vector im_vmax(im_vector a, im_vector b) { return (a > b) | (a != a) ? a : b; }
IM_INLINE im_vector im_vmin(im_vector a, im_vector b) { return (a < b) | (a != a) ? a : b; }

// Sixteen numbers at once, whatever the machine has.
typedef float im_lanes __attribute__((vector_size(64), aligned(4)));
typedef int32_t im_mask __attribute__((vector_size(64), aligned(4)));
IM_INLINE im_lanes im_all(float a) { return (im_lanes){} + a; }
// N of them, of sixteen or fewer; the others are zeros, or stay as they are.
template <int N>
IM_INLINE im_lanes im_few(const float* p) {
  im_lanes a = {};
#if defined(__AVX512F__)
  if constexpr (N < 16) return (im_lanes)__builtin_ia32_loadups512_mask(p, a, (1 << N) - 1);
#endif
  memcpy(&a, p, N * 4);
  return a;
}
template <int N>
IM_INLINE void im_put(float* p, im_lanes a) {
#if defined(__AVX512F__)
  if constexpr (N < 16) return __builtin_ia32_storeups512_mask(p, a, (1 << N) - 1);
#endif
  memcpy(p, &a, N * 4);
}
IM_INLINE im_lanes im_relu(im_lanes a) { return a < im_all(0.0f) ? im_all(0.0f) : a; }
IM_INLINE im_lanes im_above(im_lanes a, im_lanes b) { return b > a ? b : a; }
IM_INLINE im_lanes im_below(im_lanes a, im_lanes b) { return b < a ? b : a; }
IM_INLINE im_lanes im_max(im_lanes a, im_lanes b) { return (a > b) | (a != a) ? a : b; }
IM_INLINE im_lanes im_min(im_lanes a, im_lanes b) { return (a < b) | (a != a) ? a : b; }

// The largest and the smallest of at least sixteen numbers; NaN wins.
#define IM_OF_ROW(which)                                                       \
  static inline float im_##which##_of_row(const float* p, int64_t n) {         \
    im_lanes a = *(const im_lanes*)p;                                          \
    int64_t i = 16;                                                            \
    for (; i + 16 <= n; i += 16) a = im_##which(a, *(const im_lanes*)(p + i)); \
    if (i < n) a = im_##which(a, *(const im_lanes*)(p + n - 16));              \
    float out = a[0];                                                          \
    for (int k = 1; k < 16; ++k) out = im_##which(out, (float)a[k]);           \
    return out;                                                                \
  }
IM_OF_ROW(max)
IM_OF_ROW(min)

// Zeros before and behind each axis of a tensor, whose axes are given outermost first.
static inline void im_border(float* p, int rank, const int64_t* extent, const int64_t* low,
                             const int64_t* high, const int64_t* stride) {
  int64_t before = 0, is_bordered = 0;  // where the rest of a position begins, and whether it has zeros, too
  for (int d = 1; d < rank; ++d) {
    before += low[d] * stride[d];
    is_bordered |= low[d] | high[d];
  }
  for (int64_t i = -low[0]; i < extent[0] + high[0]; ++i) {
    float* at = p + i * stride[0];
    if (i < 0 || i >= extent[0]) memset(at - before, 0, (size_t)stride[0] * 4);
    else if (is_bordered != 0) im_border(at, rank - 1, extent + 1, low + 1, high + 1, stride + 1);
  }
}
