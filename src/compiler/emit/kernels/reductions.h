// The maximum and minimum of an empty set.
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
// A short loop over elements that lie next to each other: clang would unroll it first, and then find vectors
// that need gathers.
#define IM_VECTOR \
  _Pragma("clang loop vectorize(enable) vectorize_width(16) interleave(disable) unroll(disable)")
#else
#define IM_REORDER
#define IM_UNROLL _Pragma("GCC unroll 64")
#define IM_VECTOR
#endif
