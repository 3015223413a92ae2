// ---- Where sizes are known only when a model runs

// A tile whose END gets `columns`. If it is HEIGHT rows high and COLUMNS wide, which is usual, END has the
// sums from registers; otherwise through memory.
template <int WIDTH, int COLUMNS, int HEIGHT, class END>
IM_INLINE void im_open_tile(int64_t rows, int64_t columns, const im_left& l, const float* b, float* tile,
                            bool goes_on, const END& end) {
  if (rows == HEIGHT && columns == COLUMNS) {
    im_tile_rows<HEIGHT, WIDTH, COLUMNS>(l, b, tile, goes_on, end);
    return;
  }
  im_tiles<WIDTH>::run(rows, l, b, tile, goes_on);
  for (int64_t m = 0; m < rows; ++m) {
    int64_t n = 0;
    for (; n + IM_LANES <= columns; n += IM_LANES)
      end(m, n, im_count<IM_LANES>{}, im_load<IM_LANES>(tile + m * WIDTH + n));
    for (; n < columns; ++n) end(m, n, im_count<1>{}, im_load<1>(tile + m * WIDTH + n));
  }
}

// The number of row tiles, in blocks, each at most `height` high.
IM_INLINE int64_t im_open_row_tiles(int64_t rows, int64_t block, int64_t height) {
  return rows / block * ((block + height - 1) / height) + (rows % block + height - 1) / height;
}

// The largest and the smallest of any count of numbers; NaN wins.
#define IM_OF_ANY_ROW(which, none)                                         \
  static inline float im_##which##_of_any_row(const float* p, int64_t n) { \
    if (n >= 16) return im_##which##_of_row(p, n);                         \
    float out = none;                                                      \
    for (int64_t i = 0; i < n; ++i) out = im_##which(out, p[i]);           \
    return out;                                                            \
  }
IM_OF_ANY_ROW(max, -INFINITY)
IM_OF_ANY_ROW(min, INFINITY)
