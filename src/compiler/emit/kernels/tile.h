// ---- The tile of a matrix product:
//   tile[m][n] = Σ_{r, q, k} a[m·am + r·ar + q·aq + k·ak] · b[r][q][k][n],  n < WIDTH

// The columns of a stripe; a tile goes by stripes where more columns would leave registers for few rows: with
// sixteen registers of eight numbers, six rows of two beat two rows of four.
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
template <int WIDTH>
struct im_rows {
  enum {
    vectors = (WIDTH < IM_STRIPE ? WIDTH : IM_STRIPE) / IM_LANES,
    fit = (IM_REGISTERS - vectors) / vectors,
    most = fit < 1    ? 1
           : fit > 14 ? 14
                      : fit
  };
};

// After this number of products a sum is stored and begun again, because adding to a long sum loses last
// digits. A module that must be more accurate sets a smaller number.
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

// COLUMNS of a panel are used. end(m, n, count, sums) gets the results, a vector of each row at a time;
// without one (NONE), all stay in the tile.
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

// The end of an element FIRST columns further.
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
// The number of rows for tiles of about equal height.
template <int WIDTH>
constexpr int64_t im_tile_height(int64_t rows) {
  if (rows < 1) return 1;
  return (rows + (rows + im_rows<WIDTH>::most - 1) / im_rows<WIDTH>::most - 1) /
         ((rows + im_rows<WIDTH>::most - 1) / im_rows<WIDTH>::most);
}
// The number of row tiles, in blocks.
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
