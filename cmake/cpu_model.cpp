// What __builtin_cpu_supports("avx2") and ("fma") read, for compilers whose runtime library doesn't have it (zig). The layout and the
// numbers of the features are those of libgcc and LLVM's compiler-rt.
#include <cpuid.h>

extern "C" {
struct {
  unsigned vendor, type, subtype, features;
} __cpu_model [[gnu::visibility("hidden")]] = {};
}

namespace {

constexpr unsigned kAvx2 = 1u << 10, kFma = 1u << 14;

// Whether the operating system keeps the registers of AVX, which the processor's word alone doesn't say.
bool keeps_wide_registers() {
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & 6u) == 6u;
}

[[gnu::constructor(101)]] void ask_processor() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !keeps_wide_registers()) return;
  if (c & bit_FMA) __cpu_model.features |= kFma;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2)) __cpu_model.features |= kAvx2;
}

}  // namespace
