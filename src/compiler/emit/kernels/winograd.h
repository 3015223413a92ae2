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
// m[e][panel][tile][lane] = Σ_c v[e][tile][c] · u[e][panel][c][lane], of panels from, to; planes of m are
// m_plane apart.
template <int M, int WIDTH>
static void im_winograd_products(const float* v, int64_t ld, int64_t plane, const float* u, int64_t panels,
                                 int64_t from, int64_t to, int64_t channels, int64_t tiles, int64_t most,
                                 float* m, int64_t m_plane) {
  const int64_t height = im_tile_height<WIDTH>(tiles);
  for (int64_t e = 0; e < (M + 2) * (M + 2); ++e)
    for (int64_t p = from; p < to; ++p)
      for (int64_t first = 0; first < tiles; first += height) {
        const int64_t rows = first + height < tiles ? height : tiles - first;
        const im_left left = {v + e * plane + first * ld, ld, 0, 0, 1, 1, 1, channels};
        im_tiles<WIDTH>::run(rows, left, u + (e * panels + p) * channels * WIDTH,
                             m + e * m_plane + (p * most + first) * WIDTH);
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
