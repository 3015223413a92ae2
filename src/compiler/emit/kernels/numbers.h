// Functions that generated code calls: scalar functions with ONNX Runtime's results, written so that loops of
// them vectorize, and the tile of a matrix product. Needs libc and libm.
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
