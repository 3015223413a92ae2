// What generated code calls: scalar functions as ONNX Runtime computes them, written so that loops of them
// become vector code, and the tile of a matrix product. Needs libc and libm.
#include <math.h>
#include <stdint.h>
#include <string.h>

#define IM_INLINE static inline __attribute__((always_inline))
#define IM_INLINE_MEMBER inline __attribute__((always_inline))

// ---- Numbers of 16 bits

IM_INLINE float im_from_half(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = h & 0x7fffu;
  uint32_t bits;
  if (rest >= 0x7c00u) bits = sign | 0x7f800000u | ((rest & 0x3ffu) << 13);
  else if (rest >= 0x400u) bits = sign | ((rest << 13) + 0x38000000u);
  else {
    const float small = (float)rest * 0x1p-24f;
    memcpy(&bits, &small, 4);
    bits |= sign;
  }
  float f;
  memcpy(&f, &bits, 4);
  return f;
}
IM_INLINE uint16_t im_to_half(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (bits >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  if (bits < 0x38800000u) {
    float small;
    memcpy(&small, &bits, 4);
    return (uint16_t)(sign | (uint32_t)rintf(small * 0x1p24f));
  }
  const uint32_t odd = (bits >> 13) & 1u;
  return (uint16_t)(sign | ((bits + 0xfffu + odd - 0x38000000u) >> 13));
}
IM_INLINE float im_from_bfloat(uint16_t h) {
  const uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, 4);
  return f;
}
IM_INLINE uint16_t im_to_bfloat(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((bits >> 16) | 0x40u);
  return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// ---- Integers

IM_INLINE int64_t im_floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
IM_INLINE int64_t im_floor_mod(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <class T>
IM_INLINE T im_div(T a, T b) {
  if (b == 0) return 0;
  if ((T)-1 < 0 && b == (T)-1) return (T)(0 - (uint64_t)a);
  return (T)(a / b);
}
template <class T>
IM_INLINE T im_fmod(T a, T b) {
  if (b == 0 || ((T)-1 < 0 && b == (T)-1)) return 0;
  return (T)(a % b);
}
template <class T>
IM_INLINE T im_mod(T a, T b) {
  const T r = im_fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;
}
IM_INLINE float im_fmod(float a, float b) { return fmodf(a, b); }
IM_INLINE double im_fmod(double a, double b) { return fmod(a, b); }
IM_INLINE float im_mod(float a, float b) {
  const float r = fmodf(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
IM_INLINE double im_mod(double a, double b) {
  const double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <class T>
IM_INLINE T im_pow(T base, T exponent) {
  if (exponent < 0) return base == 1 ? (T)1 : base == (T)-1 ? (T)(exponent % 2 != 0 ? -1 : 1) : (T)0;
  uint64_t result = 1, square = (uint64_t)(int64_t)base;
  for (uint64_t e = (uint64_t)exponent; e != 0; e >>= 1, square *= square)
    if (e & 1) result *= square;
  return (T)result;
}
IM_INLINE float im_pow(float a, float b) { return powf(a, b); }
IM_INLINE double im_pow(double a, double b) { return pow(a, b); }
template <class T>
IM_INLINE T im_shift_left(T a, T b) {
  return (uint64_t)b >= sizeof(T) * 8 ? (T)0 : (T)((uint64_t)a << b);
}
template <class T>
IM_INLINE T im_shift_right(T a, T b) {
  return (uint64_t)b >= sizeof(T) * 8 ? (T)0 : (T)(a >> b);
}

// Floats to integers as x86 does it: out of range the smallest one of 32 or 64 bits.
template <class To, class From>
IM_INLINE To im_to_integer(From a) {
  if (sizeof(To) < 4 || (sizeof(To) == 4 && (To)-1 < 0)) {
    if (!(a > (From)-0x1p31 - 1 && a < (From)0x1p31)) return (To)INT32_MIN;
    return (To)(int32_t)a;
  }
  if (sizeof(To) == 8 && (To)-1 > 0 && a >= (From)0x1p63 && a < (From)0x1p64) return (To)(uint64_t)a;
  if (!(a >= (From)-0x1p63 && a < (From)0x1p63)) return (To)INT64_MIN;
  return (To)(int64_t)a;
}

// ---- Reals. NaN wins over numbers in max and min.

template <class T>
IM_INLINE T im_max(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T>
IM_INLINE T im_min(T a, T b) {
  return a < b || a != a ? a : b;
}
// The same where the second number is known, and none of those: one instruction.
template <class T>
IM_INLINE T im_above(T a, T b) {
  return b > a ? b : a;
}
template <class T>
IM_INLINE T im_below(T a, T b) {
  return b < a ? b : a;
}
template <class T>
IM_INLINE T im_abs(T a) {
  return a < 0 ? (T)(0 - a) : a;
}
IM_INLINE float im_abs(float a) { return __builtin_fabsf(a); }
IM_INLINE double im_abs(double a) { return __builtin_fabs(a); }
template <class T>
IM_INLINE T im_relu(T a) {
  return a < 0 ? (T)0 : a;
}
template <class T>
IM_INLINE T im_sign(T a) {
  return a != a ? a : (T)((a > 0) - (a < 0));
}
IM_INLINE float im_sqrt(float a) { return __builtin_sqrtf(a); }
IM_INLINE double im_sqrt(double a) { return __builtin_sqrt(a); }
IM_INLINE float im_floor(float a) { return __builtin_floorf(a); }
IM_INLINE double im_floor(double a) { return __builtin_floor(a); }
IM_INLINE float im_ceil(float a) { return __builtin_ceilf(a); }
IM_INLINE double im_ceil(double a) { return __builtin_ceil(a); }
IM_INLINE float im_round(float a) { return __builtin_rintf(a); }
IM_INLINE double im_round(double a) { return __builtin_rint(a); }

// e^a for -87.33654 <= a <= 88.72283: 2^n · e^r with |r| <= ln(2)/2 and a polynomial for e^r. Adding 1.5 ·
// 2^23 rounds to a whole n, which is then in the last bits.
IM_INLINE float im_exp_within(float a) {
  const float shifted = a * 1.44269504f + 0x1.8p23f, n = shifted - 0x1.8p23f;
  const float r = (a - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.990756949e-04f;
  p = p * r + 1.393364326e-03f;
  p = p * r + 8.333286029e-03f;
  p = p * r + 4.166646498e-02f;
  p = p * r + 1.666666676e-01f;
  p = p * r + 5.000000013e-01f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  uint32_t bits, power;
  memcpy(&bits, &p, 4);
  memcpy(&power, &shifted, 4);
  bits += power << 23;
  memcpy(&p, &bits, 4);
  return p;
}
// Where the result is denormal, zero.
IM_INLINE float im_exp(float a) {
  const float y = im_exp_within(a);
  return a < -87.33654f ? 0.0f : a <= 88.72283f ? y : a + INFINITY;
}
IM_INLINE double im_exp(double a) { return exp(a); }
IM_INLINE float im_log(float a) { return logf(a); }
IM_INLINE double im_log(double a) { return log(a); }
IM_INLINE float im_sigmoid(float a) {
  const float b = __builtin_fabsf(a), e = b > 87.33654f ? 0.0f : im_exp_within(-b);
  const float y = 1.0f / (1.0f + e);
  return a >= 0 ? y : a != a ? a : e * y;
}
IM_INLINE double im_sigmoid(double a) { return a >= 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a)); }
// tanh: a polynomial near zero, where 1 - 2/(e^2a + 1) would lose digits.
IM_INLINE float im_tanh(float a) {
  const float b = __builtin_fabsf(a), s = a * a;
  float p = -6.255252279e-03f;
  p = p * s + 2.113158002e-02f;
  p = p * s - 5.388818720e-02f;
  p = p * s + 1.333313763e-01f;
  p = p * s - 3.333333761e-01f;
  const float small = p * s * a + a;
  const float large = 1.0f - 2.0f / (im_exp_within(b > 10.0f ? 20.0f : 2.0f * b) + 1.0f);
  return b >= 0.625f ? __builtin_copysignf(large, a) : small;
}
IM_INLINE double im_tanh(double a) { return tanh(a); }
// erf: a polynomial near zero, 1 - e^polynomial beyond.
IM_INLINE float im_erf(float a) {
  const float b = __builtin_fabsf(a), t = b > 4.0f ? 4.0f : b, s = a * a;
  float q = -2.082861821e-05f;
  q = q * t + 4.313935634e-04f;
  q = q * t - 4.156254905e-03f;
  q = q * t + 2.508061647e-02f;
  q = q * t - 1.082203840e-01f;
  q = q * t - 6.334008509e-01f;
  q = q * t - 1.129488406e+00f;
  q = q * t + 1.692051262e-04f;
  const float large = 1.0f - im_exp_within(q);
  float p = -5.999363242e-04f;
  p = p * s + 4.995316601e-03f;
  p = p * s - 2.676845774e-02f;
  p = p * s + 1.128188012e-01f;
  p = p * s - 3.761250140e-01f;
  p = p * s + 1.283791510e-01f;
  const float small = p * a + a;
  return b >= 0.925f ? __builtin_copysignf(large, a) : small;
}
IM_INLINE double im_erf(double a) { return erf(a); }
IM_INLINE float im_softplus(float a) { return a > 0 ? a + log1pf(expf(-a)) : log1pf(expf(a)); }
IM_INLINE double im_softplus(double a) { return a > 0 ? a + log1p(exp(-a)) : log1p(exp(a)); }
#define IM_LIBM(name)                                       \
  IM_INLINE float im_##name(float a) { return name##f(a); } \
  IM_INLINE double im_##name(double a) { return name(a); }
IM_LIBM(sin)
IM_LIBM(cos)
IM_LIBM(tan)
IM_LIBM(asin)
IM_LIBM(acos)
IM_LIBM(atan)
IM_LIBM(sinh)
IM_LIBM(cosh)
IM_LIBM(asinh)
IM_LIBM(acosh)
IM_LIBM(atanh)

// ---- The tile of a matrix product:
//   tile[m][n] = Σ_{r, q, k} a[m·am + r·ar + q·aq + k·ak] · b[r][q][k][n],  n < WIDTH

// A tile goes by stripes of so many columns, where more would leave registers for few rows: with sixteen
// registers of eight numbers, six rows of two beat two rows of four.
#if defined(__AVX512F__)
enum { IM_LANES = 16, IM_REGISTERS = 31, IM_STRIPE = 64 };
#elif defined(__AVX2__)
enum { IM_LANES = 8, IM_REGISTERS = 15, IM_STRIPE = 16 };
#elif defined(__aarch64__)
enum { IM_LANES = 4, IM_REGISTERS = 31, IM_STRIPE = 16 };
#else
enum { IM_LANES = 4, IM_REGISTERS = 15, IM_STRIPE = 8 };
#endif
typedef float im_vector __attribute__((vector_size(IM_LANES * 4), aligned(4)));

// Where the left factor of a tile is.
struct im_left {
  const float* a;
  int64_t am, ar, aq, ak;  // steps
  int64_t r, q, k;         // how many
};

// Rows that a tile may have so that it stays in registers, with one row of b and one number of a beside it.
// -WIDTH: of a tile whose right factor is in pairs.
template <int WIDTH>
struct im_rows {
  enum {
    vectors = (WIDTH < IM_STRIPE ? WIDTH : IM_STRIPE) / IM_LANES,
    fit = WIDTH < 0 ? 16 : (IM_REGISTERS - vectors) / vectors,
    most = WIDTH < 0  ? 16
           : fit < 1  ? 1
           : fit > 14 ? 14
                      : fit
  };
};

// After so many products a sum is put aside and begun again: what is added to a long sum loses its last
// digits. A module that has to be more exact says fewer.
#if !defined(IM_STEPS)
#define IM_STEPS 256
#endif
// Steps after which what is brought into the cache now will be needed.
enum { IM_AHEAD = 16 };

IM_INLINE im_vector im_splat(float a) { return (im_vector){} + a; }
// N numbers, of a vector's or fewer.
template <int N>
struct im_count {
  enum { value = N };
};
template <int N>
IM_INLINE im_vector im_load(const float* p) {
  im_vector a = {};
  memcpy(&a, p, N * 4);
  return a;
}
template <int N>
IM_INLINE void im_store(float* p, im_vector a) {
  memcpy(p, &a, N * 4);
}

// COLUMNS of a panel are wanted. end(m, n, count, sums) is told what came out, a vector of each row at a
// time; without one (NONE), all is left in the tile.
struct im_none {};
template <class END>
struct im_is_end {
  enum { value = 1 };
};
template <>
struct im_is_end<im_none> {
  enum { value = 0 };
};
template <int ROWS, int WIDTH, int COLUMNS, class END>
static __attribute__((noinline)) void im_stripe_rows(const im_left& l, const float* b, float* tile,
                                                     bool goes_on, const END& end) {
  enum { V = (COLUMNS + IM_LANES - 1) / IM_LANES };
  im_vector sum[ROWS][V];
  const auto begin = [&]() __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int m = 0; m < ROWS; ++m)
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[m][v] = (im_vector){};
  };
  const auto put_aside = [&]() __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int m = 0; m < ROWS; ++m)
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) {
        im_vector* const place = (im_vector*)(tile + m * WIDTH + v * IM_LANES);
        *place = goes_on ? *place + sum[m][v] : sum[m][v];
      }
  };
  begin();
  // Bytes from a row to the odd ones after it; addresses have the powers of two. A compiler that knew them
  // for multiples of one number would add it row by row, which takes longer than the products.
  int64_t odd[(ROWS + 1) / 2 + 1];
#pragma GCC unroll 16
  for (int m = 1; m < ROWS; m += 2) {
    odd[m / 2] = m * l.am * (int64_t)sizeof(float);
    __asm__("" : "+r"(odd[m / 2]));
  }
  const int64_t ak = l.ak;
  int64_t steps = 0;
  for (int64_t r = 0; r < l.r; ++r)
    for (int64_t q = 0; q < l.q; ++q) {
      const float* p = l.a + r * l.ar + q * l.aq;
      for (int64_t rest = l.k; rest > 0;) {
        if (steps == IM_STEPS) {
          put_aside();
          begin();
          goes_on = true;
          steps = 0;
        }
        const int64_t now = rest < IM_STEPS - steps ? rest : IM_STEPS - steps;
        for (int64_t k = 0; k < now; ++k, p += ak, b += WIDTH) {
          im_vector column[V];
#pragma GCC unroll 16
          for (int v = 0; v < V; ++v) {
            column[v] = *(const im_vector*)(b + v * IM_LANES);
            __builtin_prefetch(b + v * IM_LANES + IM_AHEAD * WIDTH);
          }
#pragma GCC unroll 16
          for (int m = 0; m < ROWS; ++m) {
            const int twos = m == 0 ? 0 : __builtin_ctz(m);
            const float x = *(const float*)((const char*)p + (m == 0 ? 0 : odd[(m >> twos) / 2] << twos));
#pragma GCC unroll 16
            for (int v = 0; v < V; ++v) sum[m][v] += x * column[v];
          }
        }
        rest -= now;
        steps += now;
      }
    }
  if constexpr (!im_is_end<END>::value) {
    put_aside();
  } else {
    if (goes_on) {
#pragma GCC unroll 16
      for (int m = 0; m < ROWS; ++m)
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) sum[m][v] += *(const im_vector*)(tile + m * WIDTH + v * IM_LANES);
    }
    enum { REST = COLUMNS % IM_LANES };
#pragma GCC unroll 16
    for (int m = 0; m < ROWS; ++m) {
#pragma GCC unroll 16
      for (int v = 0; v + (REST != 0) < V; ++v) end(m, v * IM_LANES, im_count<IM_LANES>{}, sum[m][v]);
      if constexpr (REST != 0) end(m, (V - 1) * IM_LANES, im_count<REST>{}, sum[m][V - 1]);
    }
  }
}

// The end of what is FIRST columns further.
template <int FIRST, class END>
struct im_shifted {
  const END& end;
  template <class COUNT>
  IM_INLINE_MEMBER void operator()(int64_t m, int64_t n, COUNT count, im_vector sum) const {
    end(m, FIRST + n, count, sum);
  }
};
template <int ROWS, int WIDTH, int COLUMNS = WIDTH, class END = im_none>
IM_INLINE void im_tile_rows(const im_left& l, const float* b, float* tile, bool goes_on,
                            const END& end = {}) {
  if constexpr (COLUMNS <= IM_STRIPE) {
    im_stripe_rows<ROWS, WIDTH, COLUMNS>(l, b, tile, goes_on, end);
  } else {
    im_stripe_rows<ROWS, WIDTH, IM_STRIPE>(l, b, tile, goes_on, end);
    if constexpr (im_is_end<END>::value)
      im_tile_rows<ROWS, WIDTH, COLUMNS - IM_STRIPE>(l, b + IM_STRIPE, tile + IM_STRIPE, goes_on,
                                                     im_shifted<IM_STRIPE, END>{end});
    else im_tile_rows<ROWS, WIDTH, COLUMNS - IM_STRIPE>(l, b + IM_STRIPE, tile + IM_STRIPE, goes_on, end);
  }
}

template <int WIDTH, int ROWS = im_rows<WIDTH>::most>
struct im_tiles {
  // goes_on: added to what the tile has already.
  static void run(int64_t rows, const im_left& l, const float* b, float* tile, bool goes_on = false) {
    if (rows == ROWS) im_tile_rows<ROWS, WIDTH>(l, b, tile, goes_on);
    else im_tiles<WIDTH, ROWS - 1>::run(rows, l, b, tile, goes_on);
  }
};
template <int WIDTH>
struct im_tiles<WIDTH, 0> {
  static void run(int64_t, const im_left&, const float*, float*, bool = false) {}
};
// So many rows that tiles are about equally high.
template <int WIDTH>
constexpr int64_t im_tile_height(int64_t rows) {
  if (rows < 1) return 1;
  return (rows + (rows + im_rows<WIDTH>::most - 1) / im_rows<WIDTH>::most - 1) /
         ((rows + im_rows<WIDTH>::most - 1) / im_rows<WIDTH>::most);
}
// Tiles of so many rows, which come in blocks.
template <int WIDTH>
constexpr int64_t im_row_tiles(int64_t rows, int64_t block) {
  if (rows < 1) return 0;
  const int64_t all = rows < block ? rows : block, height = im_tile_height<WIDTH>(all);
  return rows / all * ((all + height - 1) / height) + (rows % all + height - 1) / height;
}
// A tile of ALL rows, or of the LAST ones, whose heights are known.
template <int WIDTH, int COLUMNS, int ALL, int LAST, class END>
IM_INLINE void im_tile(int64_t rows, const im_left& l, const float* b, float* tile, bool goes_on,
                       const END& end) {
  enum { A = im_tile_height<WIDTH>(ALL), B = ALL % A, C = LAST % A };
  if (rows == A) im_tile_rows<A, WIDTH, COLUMNS>(l, b, tile, goes_on, end);
  else if (B != 0 && rows == B) im_tile_rows<B != 0 ? B : A, WIDTH, COLUMNS>(l, b, tile, goes_on, end);
  else if (C != 0 && rows == C) im_tile_rows<C != 0 ? C : A, WIDTH, COLUMNS>(l, b, tile, goes_on, end);
}

// ---- The same tile where the right factor is rounded to bfloat16, two steps of a sum beside each other:
//   b[r][q][k/2][n][k%2], k up to a multiple of 32, zeros behind the last. Sums are of floats. Where there
//   are
// tiles of AMX, the left factor is rounded, too; elsewhere only the weights are.
#if defined(IM_PAIRS)
#if defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__linux__)
#define IM_AMX 1
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
// A process asks the system for these registers once.
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
#endif

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

// ---- 3x3 convolutions by Winograd's F(M, 3): tiles of M x M outputs, from E x E inputs, by E·E products,
// where E = M + 2. F(4, 3) has the points 0, ±2/3, ±3/2, ∞: their error is less than half of that of 0, ±1,
// ±2, ∞. F(2, 3) has 0, ±1, ∞, and is about as exact as a plain sum.

#define IM_A2 (4.0f / 9.0f)
#define IM_B2 (9.0f / 4.0f)
template <int M>
IM_INLINE void im_winograd_in(im_lanes* d, int s) {
  const im_lanes d0 = d[0], d1 = d[s], d2 = d[2 * s], d3 = d[3 * s];
  if constexpr (M == 2) {
    d[0] = d0 - d2;
    d[s] = d1 + d2;
    d[2 * s] = d2 - d1;
    d[3 * s] = d1 - d3;
  } else {
    const im_lanes d4 = d[4 * s], d5 = d[5 * s];
    const im_lanes e1 = d4 - IM_B2 * d2, o1 = (2.0f / 3.0f) * (d3 - IM_B2 * d1);
    const im_lanes e2 = d4 - IM_A2 * d2, o2 = 1.5f * (d3 - IM_A2 * d1);
    d[0] = d0 - (IM_A2 + IM_B2) * d2 + d4;
    d[s] = e1 + o1;
    d[2 * s] = e1 - o1;
    d[3 * s] = e2 + o2;
    d[4 * s] = e2 - o2;
    d[5 * s] = d1 - (IM_A2 + IM_B2) * d3 + d5;
  }
}
template <int M>
IM_INLINE void im_winograd_out(const im_lanes* m, int s, im_lanes* y, int t) {
  const im_lanes s1 = m[s] + m[2 * s], d1 = m[s] - m[2 * s];
  if constexpr (M == 2) {
    y[0] = m[0] + s1;
    y[t] = d1 - m[3 * s];
  } else {
    const im_lanes s2 = m[3 * s] + m[4 * s], d2 = m[3 * s] - m[4 * s];
    y[0] = m[0] + s1 + s2;
    y[t] = (2.0f / 3.0f) * d1 + 1.5f * d2;
    y[2 * t] = IM_A2 * s1 + IM_B2 * s2;
    y[3 * t] = (8.0f / 27.0f) * d1 + 3.375f * d2 + m[5 * s];
  }
}

// An image: its element at (row, column, channel) is x[row·xh + column·xw + channel]; zero outside of height
// x width.
struct im_image {
  const float* x;
  int64_t xh, xw, height, width, channels;  // channels: a multiple of 16
  int64_t top, left;                        // what the first window begins with
  int64_t across;                           // tiles of a row
};
// v[e][tile][channel], rows of `ld`, planes of `plane` numbers.
template <int M>
static __attribute__((noinline)) void im_winograd_input(const im_image& image, const float* zeros,
                                                        int64_t first, int64_t tiles, float* v, int64_t ld,
                                                        int64_t plane) {
  enum { E = M + 2 };
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t row = (first + i) / image.across * M + image.top,
                  column = (first + i) % image.across * M + image.left;
    const float* from[E * E];
    for (int u = 0; u < E; ++u)
      for (int w = 0; w < E; ++w) {
        const int64_t y = row + u, x = column + w;
        from[E * u + w] = y < 0 || x < 0 || y >= image.height || x >= image.width
                              ? zeros
                              : image.x + y * image.xh + x * image.xw;
      }
    for (int64_t c = 0; c < image.channels; c += 16) {
      im_lanes d[E * E];
#pragma GCC unroll 6
      for (int j = 0; j < E; ++j) {
#pragma GCC unroll 6
        for (int k = 0; k < E; ++k) d[E * k + j] = *(const im_lanes*)(from[E * k + j] + c);
        im_winograd_in<M>(d + j, E);
      }
#pragma GCC unroll 6
      for (int k = 0; k < E; ++k) {
        im_winograd_in<M>(d + E * k, 1);
#pragma GCC unroll 6
        for (int j = 0; j < E; ++j) *(im_lanes*)(v + (E * k + j) * plane + i * ld + c) = d[E * k + j];
      }
    }
  }
}
// m[e][panel][tile][lane] = Σ_c v[e][tile][c] · u[e][panel][c][lane], of panels from, to.
template <int M, int WIDTH>
static void im_winograd_products(const float* v, int64_t ld, int64_t plane, const float* u, int64_t panels,
                                 int64_t from, int64_t to, int64_t channels, int64_t tiles, int64_t most,
                                 float* m) {
  const int64_t height = im_tile_height<WIDTH>(tiles);
  for (int64_t e = 0; e < (M + 2) * (M + 2); ++e)
    for (int64_t p = from; p < to; ++p)
      for (int64_t first = 0; first < tiles; first += height) {
        const int64_t rows = first + height < tiles ? height : tiles - first;
        const im_left left = {v + e * plane + first * ld, ld, 0, 0, 1, 1, 1, channels};
        im_tiles<WIDTH>::run(rows, left, u + (e * panels + p) * channels * WIDTH,
                             m + ((e * panels + p) * most + first) * WIDTH);
      }
}
// y[M][M][16] of one tile and sixteen channels; planes of m are `plane` apart.
template <int M>
IM_INLINE void im_winograd_output(const float* m, int64_t plane, float* y) {
  enum { E = M + 2 };
  im_lanes a[E * E], b[E * M], c[M * M];
#pragma GCC unroll 36
  for (int e = 0; e < E * E; ++e) a[e] = *(const im_lanes*)(m + e * plane);
#pragma GCC unroll 6
  for (int j = 0; j < E; ++j) im_winograd_out<M>(a + j, E, b + j, E);
#pragma GCC unroll 4
  for (int k = 0; k < M; ++k) im_winograd_out<M>(b + E * k, 1, c + M * k, 1);
#pragma GCC unroll 16
  for (int k = 0; k < M * M; ++k) *(im_lanes*)(y + 16 * k) = c[k];
}

// What a largest or smallest number of nothing is.
template <class T>
IM_INLINE T im_least_of() {
  return (T)-1 < 0 ? (T)((uint64_t)1 << (sizeof(T) * 8 - 1)) : (T)0;
}
template <class T>
IM_INLINE T im_most_of() {
  return (T)~im_least_of<T>();
}

// Sums may be added up in any order.
#if defined(__clang__)
#define IM_UNROLL _Pragma("unroll")
#define IM_REORDER _Pragma("clang fp reassociate(on)")
#else
#define IM_REORDER
#define IM_UNROLL _Pragma("GCC unroll 64")
#endif
