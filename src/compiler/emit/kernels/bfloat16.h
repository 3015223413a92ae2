// ---- The tile of a matrix product whose right factor is rounded to bfloat16, two steps of a sum beside each
// other: b[r][q][k/2][n][k%2], k up to a multiple of 32, zeros behind the last. Sums are of floats. Where
// there are tiles of AMX, the left factor is rounded, too; elsewhere only the weights are.
enum { IM_PAIRS = -1 };  // in the place of a width
template <>
struct im_rows<IM_PAIRS> {
  enum { most = 16 };
};
#if defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__linux__)
#define IM_AMX 1
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
// A process requests these registers from the system once.
static inline bool im_has_tiles() {
  static const bool has = syscall(SYS_arch_prctl, 0x1023, 18) == 0;
  return has;
}
// Eight tiles of 16 rows of 64 bytes, for as long as it lives.
struct im_tile_registers {
  im_tile_registers() {
    if (!im_has_tiles()) return;
    struct alignas(64) {
      uint8_t palette = 1, start = 0, none[14] = {};
      uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } config;
    __asm__ volatile(""
                     :
                     : "r"(&config)
                     : "memory");  // all of it is read: a compiler sees only its beginning
    _tile_loadconfig(&config);
  }
  ~im_tile_registers() {
    if (im_has_tiles()) _tile_release();
  }
};
#define IM_TILES im_tile_registers registers
#define IM_HALVES(count) (count)
#else
#define IM_TILES
#define IM_HALVES(count) 1
#endif

// A block of at most 16 rows of the left factor, rounded: [r][q][k / 32][row][32].
IM_INLINE void im_left_pairs(const im_left& l, int64_t rows, uint16_t* half) {
#if defined(IM_AMX)
  for (int64_t r = 0; r < l.r; ++r)
    for (int64_t q = 0; q < l.q; ++q)
      for (int64_t k = 0; k < l.k; k += 32, half += 16 * 32)
        for (int64_t m = 0; m < rows; ++m) {
          const float* p = l.a + r * l.ar + q * l.aq + m * l.am + k;
          __m512 low, high;
          if (l.k - k >= 32) {
            low = _mm512_loadu_ps(p);
            high = _mm512_loadu_ps(p + 16);
          } else {
            const uint32_t there = ((uint32_t)1 << (l.k - k)) - 1;
            low = _mm512_maskz_loadu_ps((__mmask16)there, p);
            high = _mm512_maskz_loadu_ps((__mmask16)(there >> 16), p + 16);
          }
          _mm512_store_si512(half + m * 32, (__m512i)_mm512_cvtne2ps_pbh(high, low));
        }
#else
  (void)l, (void)rows, (void)half;
#endif
}

typedef uint32_t im_bits __attribute__((vector_size(IM_LANES * 4), aligned(4)));
template <int ROWS, int WIDTH>
IM_INLINE void im_pairs_plain(const im_left& l, const uint16_t* b, float* tile) {
  enum { V = WIDTH / IM_LANES, AT_ONCE = ROWS == 1 ? 4 : 2 };
  for (int v0 = 0; v0 < V; v0 += AT_ONCE) {
    const int vs = V - v0 < AT_ONCE ? V - v0 : AT_ONCE;
    im_vector sum[ROWS][AT_ONCE] = {};
    const uint16_t* at = b + v0 * IM_LANES * 2;
    for (int64_t r = 0; r < l.r; ++r)
      for (int64_t q = 0; q < l.q; ++q) {
        const float* p = l.a + r * l.ar + q * l.aq;
        for (int64_t k = 0; k < (l.k + 31) / 32 * 32; k += 2, at += 2 * WIDTH) {
          if (k >= l.k) continue;
          for (int v = 0; v < vs; ++v) {
            const im_bits both = *(const im_bits*)(at + v * IM_LANES * 2);
            const im_bits first = both << 16, second = both & 0xffff0000u;
            for (int m = 0; m < ROWS; ++m) {
              sum[m][v] += p[m * l.am + k] * (im_vector)first;
              if (k + 1 < l.k) sum[m][v] += p[m * l.am + k + 1] * (im_vector)second;
            }
          }
        }
      }
    for (int m = 0; m < ROWS; ++m)
      for (int v = 0; v < vs; ++v) *(im_vector*)(tile + m * WIDTH + (v0 + v) * IM_LANES) = sum[m][v];
  }
}

// COLUMNS of a panel, for at most 16 rows; then, as above, end(m, n, count, sums).
template <int WIDTH, int COLUMNS = WIDTH, class END = im_none>
static __attribute__((noinline)) void im_tile_pairs(int64_t rows, const im_left& l, const uint16_t* half,
                                                    const uint16_t* b, float* tile, const END& end = {}) {
#if defined(IM_AMX)
  if (half != nullptr && im_has_tiles()) {
    _tile_zero(0);
    if constexpr (WIDTH > 16) _tile_zero(1);
    if constexpr (WIDTH > 32) _tile_zero(2);
    if constexpr (WIDTH > 48) _tile_zero(3);
    const int64_t steps = l.r * l.q * ((l.k + 31) / 32);
    for (int64_t s = 0; s < steps; ++s, half += 16 * 32, b += 32 * WIDTH) {
      _tile_loadd(4, half, 64);
      _tile_loadd(5, b, WIDTH * 4);
      _tile_dpbf16ps(0, 4, 5);
      if constexpr (WIDTH > 16) {
        _tile_loadd(6, b + 32, WIDTH * 4);
        _tile_dpbf16ps(1, 4, 6);
      }
      if constexpr (WIDTH > 32) {
        _tile_loadd(7, b + 64, WIDTH * 4);
        _tile_dpbf16ps(2, 4, 7);
      }
      if constexpr (WIDTH > 48) {
        _tile_loadd(5, b + 96, WIDTH * 4);
        _tile_dpbf16ps(3, 4, 5);
      }
    }
    _tile_stored(0, tile, WIDTH * 4);
    if constexpr (WIDTH > 16) _tile_stored(1, tile + 16, WIDTH * 4);
    if constexpr (WIDTH > 32) _tile_stored(2, tile + 32, WIDTH * 4);
    if constexpr (WIDTH > 48) _tile_stored(3, tile + 48, WIDTH * 4);
  } else
#endif
  {
    (void)half;
    im_left left = l;
    int64_t m = 0;
    for (; m + 4 <= rows; m += 4, left.a += 4 * l.am) im_pairs_plain<4, WIDTH>(left, b, tile + m * WIDTH);
    for (; m < rows; ++m, left.a += l.am) im_pairs_plain<1, WIDTH>(left, b, tile + m * WIDTH);
  }
  if constexpr (im_is_end<END>::value) {
    enum { REST = COLUMNS % IM_LANES, V = (COLUMNS + IM_LANES - 1) / IM_LANES };
    for (int64_t m = 0; m < rows; ++m) {
      const float* from = tile + m * WIDTH;
#pragma GCC unroll 16
      for (int v = 0; v + (REST != 0) < V; ++v)
        end(m, v * IM_LANES, im_count<IM_LANES>{}, *(const im_vector*)(from + v * IM_LANES));
      if constexpr (REST != 0)
        end(m, (V - 1) * IM_LANES, im_count<REST>{}, *(const im_vector*)(from + (V - 1) * IM_LANES));
    }
  }
}
