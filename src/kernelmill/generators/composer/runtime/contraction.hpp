// C[b][m][r][c] = epilogue( sum over k of A(b,m,k) * B(b,k,r,c) )
//
// The columns (r, c) are walked as one flat range n = r * pitch + c.  For a packed B pitch == cols.
// For a direct B (a padded image, read in place) pitch >= cols: the columns between two rows are
// computed and thrown away, which costs less than a ragged tile at the end of each row.
#pragma once
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "support.hpp"

namespace km {

// ---------------------------------------------------------------- compile-time decisions

// A register tile is MR values of m by NV vectors of W columns; MR * NV + NV + 1 <= 32 registers.
// KC: k values per pass (B panel of NR x KC in L1, A slab of MC x KC in L2).  If K > KC, partial
// sums of an MC x NC block are kept in a scratch block until K is done.
// MLAST: rows computed in the last, incomplete tile of m; 0: compute all MR rows and drop some.
template <int MR_, int NV_, int KC_ = 256, int MC_ = 1024, int NC_ = 256, int MLAST_ = 0, int W_ = 16>
struct Tile {
  static constexpr int MR = MR_, NV = NV_, KC = KC_, W = W_, NR = NV * W;
  static constexpr int MC = (MC_ + MR - 1) / MR * MR, NC = (NC_ + NR - 1) / NR * NR;
  static constexpr int MLAST = MLAST_ > 0 ? MLAST_ : MR;
  static_assert(MR <= 16 && MLAST <= MR && (W == 16 || W == 8));
};

// What the threads divide among themselves. upper: the columns of a symmetric product, of which only
// what is above the diagonal is computed; `mirror` does the rest.
enum class Split { m, columns, batch, upper };
enum class Along { k, other };           // the index along which an operand is contiguous in memory

struct Shape {
  long batch, m, k, rows, cols, pitch;
  long columns() const { return (rows - 1) * pitch + cols; }
  double multiplies() const { return double(batch) * m * k * rows * cols; }
};

inline Shape matmul_shape(long batch, long m, long k, long n) { return {batch, m, k, 1, n, n}; }

// ---------------------------------------------------------------- operands

// element(b, m, k) for A, element(b, k, r, c) for B.  `copies` matters for A only: how many different
// matrices there are; batch item b uses number b % copies, and only that number is passed as b
// (1: shared weights, groups: grouped convolution, batch: bmm).
template <Along along_, class Element>
struct Packed {
  static constexpr Along along = along_;
  static constexpr bool direct = false;
  Element element;
  long copies;
};
template <Along along, class Element>
Packed<along, Element> packed(Element element, long copies = 1) {
  return {element, copies};
}

// A read in place: for a plain load, contiguous in k, with constant strides (they become address
// displacements).  Tile::MLAST must be m % MR, as nothing past the last row may be read.
template <class Element>
struct InPlace {
  static constexpr bool direct = true;
  Element element;
  static constexpr long copies = 0;
};
template <class Element>
InPlace<Element> in_place(Element element) {
  return {element};
}

// B(b, k, r, c) = base(b)[offset[k] + r * pitch + c], read in place.  Nothing past the last column
// is read: where there is no panel before the last one to begin in, the columns are copied.
// With Split::batch, base(b) is called once per item and may fill a private buffer; else it must be pure.
template <class Base>
struct Direct {
  static constexpr bool direct = true;
  Base base;
  const long* offset;
};
template <class Base>
Direct<Base> direct(Base base, const long* offset) {
  return {base, offset};
}

// ---------------------------------------------------------------- vectors, buffers, threads

template <int W>
struct VectorOf {
  typedef float type __attribute__((vector_size(W * sizeof(float))));
  typedef int mask __attribute__((vector_size(W * sizeof(int))));
};
template <int W>
using Vector = typename VectorOf<W>::type;

template <int W>
inline Vector<W> load(const float* from) {
  Vector<W> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <int W>
inline void save(float* to, Vector<W> v) {
  std::memcpy(to, &v, sizeof v);
}

// W consecutive values of a functor.  GCC turns exactly this form into vector instructions of the
// full width, predicates and arithmetic included (its loops alone would stop at 8 floats).
template <int W, class Element>
inline Vector<W> fetch(Element element) {
  Vector<W> v;
#pragma omp simd simdlen(W)
  for (int j = 0; j < W; ++j) v[j] = element(j);
  return v;
}
template <int W, class Element>
inline Vector<W> fetch(Element element, long count) {
  Vector<W> v{};
  for (long j = 0; j < count; ++j) v[j] = element(j);
  return v;
}

struct Range {
  long begin, end;
};
inline Range share(long count, int thread, int threads) {
  return {count * thread / threads, count * (thread + 1) / threads};
}
// Columns of a triangle: the first ones are short.
inline Range share_triangle(long count, int thread, int threads) {
  const auto bound = [=](int t) { return long(count * std::sqrt(double(t) / threads)); };
  return {bound(thread), bound(thread + 1)};
}
inline long ceil_div(long a, long b) { return (a + b - 1) / b; }

constexpr double serial_below = 50e3;  // multiplies; starting a team costs about as much

template <class Body>
void in_parallel(double multiplies, Body body) {
  if (multiplies < serial_below || omp_get_max_threads() == 1) return body(0, 1);
#pragma omp parallel
  body(omp_get_thread_num(), omp_get_num_threads());
}

// Cuts the flat columns [n, n + count) into runs within one row: f(lane, r, c, length).
template <class F>
inline void each_run(const Shape& s, long n, long count, F f) {
  long r = s.rows == 1 ? 0 : n / s.pitch, c = n - r * s.pitch;
  for (long lane = 0; lane < count; ++r, c = 0) {
    long length = std::min(s.cols - c, count - lane);
    if (length > 0) f(lane, r, c, length);
    lane += s.pitch - c;
  }
}

// ---------------------------------------------------------------- packing

template <int W, int Step>
inline void exchange(Vector<W> (&row)[W]) {
  typename VectorOf<W>::mask low, high;
  for (int j = 0; j < W; ++j) {
    low[j] = j & Step ? W + j - Step : j;
    high[j] = j & Step ? W + j : j + Step;
  }
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) {
    if (i & Step) continue;
    Vector<W> a = row[i], b = row[i + Step];
    row[i] = __builtin_shuffle(a, b, low);
    row[i + Step] = __builtin_shuffle(a, b, high);
  }
  if constexpr (2 * Step < W) exchange<W, 2 * Step>(row);
}

// out[k * Width + lane] = element(lane, k), for an element contiguous in k; lanes >= count are 0.
// Writes up to 16 floats past the end.
template <int Width, class Element>
inline void pack_transposed(long count, long kc, Element element, float* out) {
  constexpr int W = 16;
  Vector<W> row[W];
  for (long lane = 0; lane < Width; lane += W) {
    const long lanes = count - lane;
    for (long k = 0; k < kc; k += W) {
      const long depth = std::min(kc - k, long(W));
#pragma GCC unroll 16
      for (long i = 0; i < W; ++i) {
        auto along_k = [&](long j) { return element(lane + i, k + j); };
        if (i >= lanes) row[i] = Vector<W>{};
        else row[i] = depth == W ? fetch<W>(along_k) : fetch<W>(along_k, depth);
      }
      exchange<W, 1>(row);
      // In rising order, so that what a row writes past Width is overwritten by the next one.
#pragma GCC unroll 16
      for (long j = 0; j < W; ++j)
        if (j < depth) save<W>(out + (k + j) * Width + lane, row[j]);
    }
  }
}

// The same for an element contiguous in lane.
template <int Width, class Element>
inline void pack_rows(long count, long kc, Element element, float* out) {
  for (long k = 0; k < kc; ++k, out += Width) {
    if (count == Width) {
#pragma GCC unroll 16
      for (long i = 0; i < Width; ++i) out[i] = element(i, k);
    } else {
      for (long i = 0; i < Width; ++i) out[i] = i < count ? element(i, k) : 0.0f;
    }
  }
}
template <int Width, int W, class Element>
inline void pack_full(long kc, Element element, float* out) {
  for (long k = 0; k < kc; ++k, out += Width)
#pragma GCC unroll 16
    for (long v = 0; v < Width; v += W) save<W>(out + v, fetch<W>([&](long j) { return element(v + j, k); }));
}

// ---------------------------------------------------------------- the register tile

// tile[i][v] (+)= sum over k of a(i, k) * row(k)[v]
// Every block of k begins at zero and joins what was there at the end: one sum over all of a deep
// product would lose digits.
template <class T, int M, int V, class A, class Row>
inline void multiply(long kc, A a, Row row, float* tile, bool first) {
  constexpr int W = T::W;
  Vector<W> sum[M][V];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[i][v] = Vector<W>{};
  long k = 0;
  do {  // kc > 0: a loop that might not run would make GCC spill the sums around it
    const float* from = row(k);
    Vector<W> x[V];
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) x[v] = load<W>(from + v * W);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[i][v] += a(i, k) * x[v];
  } while (++k < kc);
  if (!first) {
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[i][v] += load<W>(tile + i * T::NR + v * W);
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) save<W>(tile + i * T::NR + v * W, sum[i][v]);
}

template <int V, class F>
inline void with_constant(int value, F f) {
  if constexpr (V > 1) {
    if (value < V) return with_constant<V - 1>(value, f);
  }
  f(std::integral_constant<int, V>{});
}

// ---------------------------------------------------------------- the blocked contraction

template <class T, Split split, class A, class B, class Store>
class Contraction {
 public:
  Contraction(const Shape& shape, const A& a, const B& b, const Store& store)
      : s(shape), a(a), b(b), store(store) {}

  void run() {
    const Memory<float> packed_a(a_shared() ? a.copies * matrix_size() : 0);
    shared_a = packed_a;
    in_parallel(s.multiplies(), [this](int thread, int threads) { work(thread, threads); });
  }

 private:
  const Shape s;
  const A& a;
  const B& b;
  const Store& store;
  float* shared_a = nullptr;

  struct Block {
    long item;
    Range m, n;
    const float* a;     // all of this item's packed A
    const float* base;  // direct B only
    float *panel, *partial;
  };

  long m_tiles() const { return ceil_div(s.m, T::MR); }
  long tile_size() const { return s.k * T::MR + 16; }  // 16: pack_transposed writes past the end
  long matrix_size() const { return m_tiles() * tile_size(); }
  bool copies_b() const { return B::direct && s.columns() < T::NR && s.columns() % T::W; }
  bool a_shared() const { return !A::direct && (split != Split::batch || a.copies < s.batch); }

  void pack_a(long copy, Range tiles, float* matrix) const {
    if constexpr (!A::direct) {
      for (long t = tiles.begin; t < tiles.end; ++t) {
        long m = t * T::MR, count = std::min<long>(s.m - m, T::MR);
        auto element = [&](long lane, long k) { return a.element(copy, m + lane, k); };
        float* out = matrix + t * tile_size();
        if constexpr (A::along == Along::k) pack_transposed<T::MR>(count, s.k, element, out);
        else pack_rows<T::MR>(count, s.k, element, out);
      }
    }
  }

  void pack_b(long item, long n, long count, long k0, long kc, float* out) const {
    if constexpr (B::along == Along::k) {
      auto element = [&](long lane, long k) {
        long at = n + lane;
        if (s.rows == 1) return b.element(item, k0 + k, 0L, at);
        return b.element(item, k0 + k, at / s.cols, at % s.cols);
      };
      pack_transposed<T::NR>(count, kc, element, out);
    } else {
      if (count < T::NR) std::memset(out, 0, kc * T::NR * sizeof(float));
      each_run(s, n, count, [&](long lane, long r, long c, long length) {
        auto element = [&](long j, long k) { return b.element(item, k0 + k, r, c + j); };
        if (length == T::NR) return pack_full<T::NR, T::W>(kc, element, out);
        for (long k = 0; k < kc; ++k) {
#pragma omp simd
          for (long j = 0; j < length; ++j) out[k * T::NR + lane + j] = element(j, k);
        }
      });
    }
  }

  void work(int thread, int threads) {
    Range items{0, s.batch}, tiles{0, m_tiles()}, vectors{0, ceil_div(s.columns(), T::W)};
    if (split == Split::batch) items = share(s.batch, thread, threads);
    if (split == Split::m) tiles = share(tiles.end, thread, threads);
    if (split == Split::columns) vectors = share(vectors.end, thread, threads);
    if (split == Split::upper) vectors = share_triangle(vectors.end, thread, threads);
    if (a_shared()) pack_shared_a(thread, threads);

    Block whole{};
    whole.m = {tiles.begin * T::MR, std::min(tiles.end * T::MR, s.m)};
    whole.n = {vectors.begin * T::W, std::min(vectors.end * T::W, s.columns())};
    const long panel_size = B::direct && !copies_b() ? 0 : std::min<long>(s.k, T::KC) * T::NR + 16;
    const Memory<float> panel(panel_size);
    if (copies_b()) std::fill_n(static_cast<float*>(panel), panel_size, 0.0f);
    const Memory<float> partial(s.k > T::KC ? T::MC * T::NC : T::MR * T::NR);
    const Memory<float> own_a(A::direct || a_shared() ? 0 : matrix_size());
    whole.panel = panel;
    whole.partial = partial;
    for (long item = items.begin; item < items.end; ++item) {
      whole.item = item;
      whole.a = a_of(item, own_a);
      if constexpr (B::direct) whole.base = b.base(item);
      blocks(whole);
    }
  }

  void pack_shared_a(int thread, int threads) {
    if (split == Split::m) {  // each thread packs the rows it will use: nobody has to wait
      for (long copy = 0; copy < a.copies; ++copy)
        pack_a(copy, share(m_tiles(), thread, threads), shared_a + copy * matrix_size());
      return;
    }
    Range mine = share(a.copies * m_tiles(), thread, threads);
    for (long i = mine.begin; i < mine.end; ++i) {
      long copy = i / m_tiles(), t = i % m_tiles();
      pack_a(copy, {t, t + 1}, shared_a + copy * matrix_size());
    }
#pragma omp barrier
  }

  const float* a_of(long item, float* own) {
    if constexpr (A::direct) return nullptr;
    else if (a_shared()) return shared_a + item % a.copies * matrix_size();
    else {
      pack_a(item, {0, m_tiles()}, own);
      return own;
    }
  }

  void blocks(const Block& whole) const {
    Block block = whole;
    for (long m = whole.m.begin; m < whole.m.end; m += T::MC) {
      block.m = {m, std::min<long>(m + T::MC, whole.m.end)};
      for (long n = whole.n.begin; n < whole.n.end; n += T::NC) {
        block.n = {n, std::min<long>(n + T::NC, whole.n.end)};
        if (split == Split::upper && block.n.end <= m) continue;
        for (long k = 0; k < s.k; k += T::KC) panels(block, k, std::min<long>(s.k - k, T::KC));
      }
    }
  }

  // Spreads the columns evenly: 7 vectors at NV = 3 become 3 + 2 + 2, not 3 + 3 + 1.
  void panels(const Block& block, long k0, long kc) const {
    float* partial = block.partial;
    for (long n = block.n.begin; n < block.n.end;) {
      long left = ceil_div(block.n.end - n, T::W);
      long width = ceil_div(left, ceil_div(left, T::NV));
      long count = std::min(width * T::W, block.n.end - n);
      with_constant<T::NV>(width, [&](auto v) { panel<v>(block, n, count, k0, kc, partial); });
      if (s.k > T::KC) partial += T::MC * T::NR;
      n += count;
    }
  }

  template <int V>
  void panel(const Block& block, long n, long count, long k0, long kc, float* partial) const {
    if constexpr (B::direct) {
      // The last panel starts earlier rather than read past the end.
      long skip = std::max(n + V * T::W - s.columns(), 0L);
      if (skip > n) return copied_panel<V>(block, n, count, k0, kc, partial);
      const float* base = block.base + n - skip;
      const long* offset = b.offset + k0;
      sweep<V>(block, n, count, skip, k0, kc, partial, [=](long k) { return base + offset[k]; });
    } else {
      float* packed = block.panel;
      pack_b(block.item, n, count, k0, kc, packed);
      sweep<V>(block, n, count, 0, k0, kc, partial, [=](long k) { return packed + k * T::NR; });
    }
  }

  // A direct B with too few columns to start earlier; the panel was zero before.
  template <int V>
  void copied_panel(const Block& block, long n, long count, long k0, long kc, float* partial) const {
    float* packed = block.panel;
    for (long k = 0; k < kc; ++k) {
      const float* from = block.base + b.offset[k0 + k] + n;
#pragma omp simd
      for (long j = 0; j < count; ++j) packed[k * T::NR + j] = from[j];
    }
    sweep<V>(block, n, count, 0, k0, kc, partial, [=](long k) { return packed + k * T::NR; });
  }

  template <int V, class Row>
  void sweep(const Block& block, long n, long count, long skip, long k0, long kc, float* partial, Row row) const {
    const bool first = k0 == 0, last = k0 + kc == s.k;
    const long end = split == Split::upper ? std::min(block.m.end, n + count) : block.m.end;
    for (long m = block.m.begin; m < end; m += T::MR) {
      const long height = std::min<long>(s.m - m, T::MR);
      if (T::MLAST < T::MR && height <= T::MLAST) one_tile<T::MLAST, V>(block, m, k0, kc, row, partial, first);
      else one_tile<T::MR, V>(block, m, k0, kc, row, partial, first);
      if (last) finish<V>(block.item, m, height, n, count, partial + skip);
      if (s.k > T::KC) partial += T::MR * T::NR;
    }
  }

  template <int M, int V, class Row>
  void one_tile(const Block& block, long m, long k0, long kc, Row row, float* tile, bool first) const {
    if constexpr (A::direct) {
      auto from = [&, item = block.item](int i, long k) { return a.element(item, m + i, k0 + k); };
      multiply<T, M, V>(kc, from, row, tile, first);
    } else {
      const float* panel = block.a + m / T::MR * tile_size() + k0 * T::MR;
      multiply<T, M, V>(kc, [=](int i, long k) { return panel[k * T::MR + i]; }, row, tile, first);
    }
  }

  template <int V>
  void finish(long item, long m, long height, long n, long count, const float* tile) const {
    constexpr long full = V * T::W;
    each_run(s, n, count, [&](long lane, long r, long c, long length) {
      if (length == full) {  // a constant count makes the epilogue straight-line code
        for (long i = 0; i < height; ++i) store(item, m + i, r, c, full, tile + i * T::NR);
      } else {
        for (long i = 0; i < height; ++i) store(item, m + i, r, c, length, tile + i * T::NR + lane);
      }
    });
  }
};

// store(b, m, r, c, count, const float* acc) is called exactly once for each finished element.
template <class T, Split split, class A, class B, class Store>
void contract(const Shape& shape, const A& a, const B& b, const Store& store) {
  Contraction<T, split, A, B, Store>(shape, a, b, store).run();
}

// Copies what is above the diagonal of a square matrix to below it, in square blocks.
inline void mirror(float* matrix, long n) {
  constexpr int W = 16;
  in_parallel(double(n) * n, [=](int thread, int threads) {
    for (long i = thread * W; i < n; i += threads * W)
      for (long j = i; j < n; j += W) {
        if (j > i && j + W <= n) {
          Vector<W> row[W];
#pragma GCC unroll 16
          for (int w = 0; w < W; ++w) row[w] = load<W>(matrix + (i + w) * n + j);
          exchange<W, 1>(row);
#pragma GCC unroll 16
          for (int w = 0; w < W; ++w) save<W>(matrix + (j + w) * n + i, row[w]);
          continue;
        }
        for (long y = i; y < std::min(i + W, n); ++y)
          for (long x = std::max(j, y + 1); x < std::min(j + W, n); ++x) matrix[x * n + y] = matrix[y * n + x];
      }
  });
}

// ---------------------------------------------------------------- few rows, both operands contiguous in k

constexpr int dot_width = 16;

// sums[i * NB + j] = sum over k of row i of A times column j of B; rows: [k / W][MR][W], zero padded.
template <int MR, int NB, class Column>
inline void dot_tile(long k_count, const float* rows, Column column, float* sums) {
  constexpr int W = dot_width;
  Vector<W> sum[MR][NB], x[NB];
#pragma GCC unroll 16
  for (int i = 0; i < MR * NB; ++i) sum[i / NB][i % NB] = Vector<W>{};
  auto step = [&](const float* from) {
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 16
      for (int j = 0; j < NB; ++j) sum[i][j] += load<W>(from + i * W) * x[j];
  };
  long k = 0;
  for (; k + W <= k_count; k += W) {
#pragma GCC unroll 16
    for (int j = 0; j < NB; ++j) x[j] = fetch<W>([&](long w) { return column(j, k + w); });
    step(rows + k * MR);
  }
  if (k < k_count) {
#pragma GCC unroll 16
    for (int j = 0; j < NB; ++j) x[j] = fetch<W>([&](long w) { return column(j, k + w); }, k_count - k);
    step(rows + k * MR);
  }
#pragma GCC unroll 16
  for (int i = 0; i < MR * NB; ++i) {
    float total = 0;
    for (int w = 0; w < W; ++w) total += sum[i / NB][i % NB][w];
    sums[i] = total;
  }
}

// One tile of MR rows by NB columns at a time; B is streamed once if m <= MR.
template <int MR, int NB, class A, class B, class Store>
void contract_dot(const Shape& s, const A& a, const B& b, const Store& store) {
  constexpr int W = dot_width;
  const long tiles = ceil_div(s.m, MR), tile_size = ceil_div(s.k, W) * W * MR;
  const long groups_per_row = ceil_div(s.cols, NB), groups = s.rows * groups_per_row;
  auto stage_a = [&](long item, float* to) {
    for (long m = 0; m < tiles * MR; ++m)
      for (long k = 0; k < s.k; k += W) {
        auto element = [&](long w) { return a.element(item % a.copies, m, k + w); };
        long count = m < s.m ? std::min<long>(s.k - k, W) : 0;
        save<W>(to + m / MR * tile_size + k * MR + m % MR * W, count == W ? fetch<W>(element) : fetch<W>(element, count));
      }
  };
  in_parallel(s.multiplies(), [&](int thread, int threads) {
    float sums[MR * NB];
    const Memory<float> rows(tiles * tile_size);
    Range mine = share(s.batch * groups, thread, threads);
    for (long g = mine.begin, staged = -1; g < mine.end; ++g) {
      const long item = g / groups, r = g % groups / groups_per_row, c = g % groups_per_row * NB;
      const long count = std::min<long>(NB, s.cols - c);
      if (item != staged) stage_a(staged = item, rows);
      for (long t = 0; t < tiles; ++t) {
        auto column = [&](long j, long k) { return b.element(item, k, r, c + j); };
        if (count == NB) dot_tile<MR, NB>(s.k, rows + t * tile_size, column, sums);
        else
          for (long j = 0; j < count; ++j) {
            float one[MR];
            dot_tile<MR, 1>(s.k, rows + t * tile_size, [&](long, long k) { return column(j, k); }, one);
            for (long i = 0; i < MR; ++i) sums[i * NB + j] = one[i];
          }
        for (long i = 0; i < std::min<long>(MR, s.m - t * MR); ++i)
          store(item, t * MR + i, r, c, count, sums + i * NB);
      }
    }
  });
}

// ---------------------------------------------------------------- convolution input in direct form

struct Axis {
  long size, kernel, stride = 1, pad = 0, dilation = 1;
  long out() const { return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1; }
  // Every stride-th sample forms a phase of its own, in which the samples of neighbouring outputs
  // are neighbours.
  long phases() const { return dilation == 1 ? std::min(stride, kernel) : stride; }
  long length() const { return out() + dilation * (kernel - 1) / stride; }
  // Positions in phase p that lie inside the input.
  Range inside(long p) const {
    long end = std::clamp(ceil_div(std::max(size + pad - p, 0L), stride), 0L, length());
    return {std::min(ceil_div(std::max(pad - p, 0L), stride), end), end};
  }
};

struct Window {
  long channels;
  Axis y, x;
  long phase() const { return y.length() * x.length(); }
  long plane() const { return y.phases() * x.phases() * phase(); }
  long image() const { return channels * plane(); }
  Shape shape(long batch, long m) const {
    return {batch, m, channels * y.kernel * x.kernel, y.out(), x.out(), x.length()};
  }
  // offset[k] for k = (channel, ky, kx)
  void offsets(long* offset) const {
    for (long channel = 0; channel < channels; ++channel)
      for (long ky = 0; ky < y.kernel; ++ky)
        for (long kx = 0; kx < x.kernel; ++kx) {
          long dy = ky * y.dilation, dx = kx * x.dilation;
          long part = dy % y.stride * x.phases() + dx % x.stride;
          *offset++ = channel * plane() + part * phase() + dy / y.stride * x.length() + dx / x.stride;
        }
  }
};

// Copies some channels of one image, padded and split by phase; element(channel, y, x) is only
// asked for samples inside the input.
template <class Element>
void pad_copy(const Window& w, Range channels, Element element, float* image) {
  float* to = image + channels.begin * w.plane();
  for (long channel = channels.begin; channel < channels.end; ++channel)
    for (long py = 0; py < w.y.phases(); ++py)
      for (long px = 0; px < w.x.phases(); ++px) {
        Range rows = w.y.inside(py), cols = w.x.inside(px);
        for (long i = 0; i < w.y.length(); ++i, to += w.x.length()) {
          bool inside = i >= rows.begin && i < rows.end;
          Range valid = inside ? cols : Range{w.x.length(), w.x.length()};
          long y = i * w.y.stride + py - w.y.pad, x = px - w.x.pad;
          for (long j = 0; j < valid.begin; ++j) to[j] = 0.0f;
#pragma omp simd
          for (long j = valid.begin; j < valid.end; ++j) to[j] = element(channel, y, j * w.x.stride + x);
          for (long j = valid.end; j < w.x.length(); ++j) to[j] = 0.0f;
        }
      }
}

// All images at once, for Split::m and Split::columns; with Split::batch call pad_copy in base(b).
// element(b, channel, y, x).
template <class Element>
void pad_copy_all(const Window& w, long batch, Element element, float* images) {
  in_parallel(double(batch) * w.image(), [&](int thread, int threads) {
    Range mine = share(batch * w.channels, thread, threads);
    for (long i = mine.begin; i < mine.end; ++i) {
      long b = i / w.channels, channel = i % w.channels;
      auto of_image = [&](long ch, long y, long x) { return element(b, ch, y, x); };
      pad_copy(w, {channel, channel + 1}, of_image, images + b * w.image());
    }
  });
}

}  // namespace km
