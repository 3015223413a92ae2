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
