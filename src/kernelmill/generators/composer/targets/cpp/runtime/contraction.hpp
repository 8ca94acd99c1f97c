// C[b][m][r][c] = epilogue( sum over k of A(b,m,k) * B(b,k,r,c) )
//
// The columns (r, c) are walked as one flat range n = r * pitch + c.  For a packed B pitch == cols.
// For a direct B (a padded image, read in place) pitch >= cols: the columns between two rows are
// computed and thrown away, which costs less than a ragged tile at the end of each row.  The rows of
// a volume come in planes; what lies between two planes is left out.
#pragma once
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "shape.hpp"
#include "support.hpp"
#include "window.hpp"

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

inline Shape matmul_shape(long batch, long m, long k, long n) { return {batch, m, k, 1, n, n}; }

// ---------------------------------------------------------------- operands

// element(b, m, k) for A, element(b, k, r, c) for B.  `copies` matters for A only: how many different
// matrices there are; batch item b uses number b % copies, and only that number is passed as b
// (1: shared weights, groups: grouped convolution, batch: bmm).
template <Along along_, class Element>
struct Packed {
  static constexpr Along along = along_;
  static constexpr bool direct = false;
  static constexpr OnePhase phases{};
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
// With Split::batch, base(b) is called once per item and thread and may fill a private buffer; else it
// must be pure.
template <class Base, class P>
struct Direct {
  static constexpr bool direct = true;
  Base base;
  const long* offset;
  P phases;
};

template <class Base, class P = OnePhase>
Direct<Base, P> direct(Base base, const long* offset, P phases = {}) {
  return {base, offset, phases};
}

// ---------------------------------------------------------------- results

// Stores sums as they are: at(b, m, c) is where, and rows lie `pitch` apart.  Tiles are written
// there from registers.  Any other store is a functor of (b, m, r, c, count, sums).
template <class At>
struct Straight {
  At at;
  long pitch;
  void operator()(long b, long m, long, long c, long count, const float* sums) const {
    float* to = at(b, m, c);
#pragma omp simd simdlen(16)
    for (long v = 0; v < count; ++v) to[v] = sums[v];
  }
};
template <class At>
Straight<At> straight(At at) {
  return {at, at(0, 1, 0) - at(0, 0, 0)};
}
template <class Store>
constexpr bool is_straight = false;
template <class At>
constexpr bool is_straight<Straight<At>> = true;

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

inline Range share(long count, int thread, int threads) {
  return {count * thread / threads, count * (thread + 1) / threads};
}
// Columns of a triangle: the first ones are short.
inline Range share_triangle(long count, int thread, int threads) {
  const auto bound = [=](int t) { return long(count * std::sqrt(double(t) / threads)); };
  return {bound(thread), bound(thread + 1)};
}

constexpr double serial_below = 50e3;  // multiplies; starting a team costs about as much

template <class Body>
void in_parallel(double multiplies, Body body) {
  if (multiplies < serial_below || omp_get_max_threads() == 1) return body(0, 1);
#pragma omp parallel
  body(omp_get_thread_num(), omp_get_num_threads());
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

struct Target {
  float* to;
  long pitch;
};

// target[i][v] = sum over k of a(i, k) * row(k)[v], and what is in the tile unless this is the first.
// Every block of k begins at zero and joins what was there at the end: one sum over all of a deep
// product would lose digits.
template <class T, int M, int V, class A, class Row>
inline void multiply(long kc, A a, Row row, const float* tile, bool first, Target target) {
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
    for (int v = 0; v < V; ++v) save<W>(target.to + i * target.pitch + v * W, sum[i][v]);
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
  static constexpr bool phased = decltype(B::phases)::several;
  static constexpr long KC = phased ? 1L << 40 : T::KC;  // the phases already cut k
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
    const long width = std::max(ceil_div(s.columns(), T::W), 1L);
    Range tiles{0, m_tiles()}, vectors{0, width}, mine{0, s.batch * width};
    if (split == Split::batch) mine = share(mine.end, thread, threads);
    if (split == Split::m) tiles = share(tiles.end, thread, threads);
    if (split == Split::columns) vectors = share(width, thread, threads);
    if (split == Split::upper) vectors = share_triangle(width, thread, threads);
    if (a_shared()) pack_shared_a(thread, threads);

    Block whole{};
    whole.m = {tiles.begin * T::MR, std::min(tiles.end * T::MR, s.m)};
    const long panel_size = B::direct && !copies_b() ? 0 : std::min(s.k, KC) * T::NR + 16;
    const Memory<float> panel(panel_size);
    if (copies_b()) std::fill_n(static_cast<float*>(panel), panel_size, 0.0f);
    const Memory<float> partial(s.k > KC ? T::MC * T::NC : b.phases.count() * T::MR * T::NR);
    const Memory<float> own_a(A::direct || a_shared() ? 0 : matrix_size());
    whole.panel = panel;
    whole.partial = partial;
    for (long item = mine.begin / width; item * width < mine.end; ++item) {
      const long first = std::max(vectors.begin, mine.begin - item * width);
      const long end = std::min(vectors.end, mine.end - item * width);
      whole.n = {first * T::W, std::min(end * T::W, s.columns())};
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
      for (long n = whole.n.begin; n < whole.n.end;) {
        const long plane = s.plane_of(n), end = plane * s.plane + s.plane_columns();
        block.n = {n, std::min({n + T::NC, whole.n.end, end})};
        const bool empty = split == Split::upper && block.n.end <= m;
        for (long k = 0; k < s.k && !empty; k += KC) panels(block, k, std::min(s.k - k, KC));
        n = block.n.end < end ? block.n.end : (plane + 1) * s.plane;
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
      if (s.k > KC) partial += T::MC * T::NR;
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
      const bool lower = T::MLAST < T::MR && height <= T::MLAST;
      const bool whole = count == V * T::W && !skip && height == (lower ? T::MLAST : T::MR);
      Target target{partial, T::NR};
      if constexpr (is_straight<Store>) {
        if (last && whole) target = {store.at(block.item, m, n), store.pitch};
      }
      if constexpr (phased) phase_tiles<V>(block, m, row, partial);
      else if (lower) one_tile<T::MLAST, V>(block, m, k0, kc, row, partial, first, target);
      else one_tile<T::MR, V>(block, m, k0, kc, row, partial, first, target);
      if (last && target.to == partial) finish<V>(block.item, m, height, n, count, partial + skip);
      if (s.k > KC) partial += T::MR * T::NR;
    }
  }

  template <int V, class Row>
  void phase_tiles(const Block& block, long m, Row row, float* tile) const {
    for (long phase = 0; phase < b.phases.count(); ++phase, tile += T::MR * T::NR) {
      const long k0 = b.phases.start[phase], kc = b.phases.start[phase + 1] - k0;
      auto own_row = [=](long k) { return row(k0 + k); };
      if (kc > 0) one_tile<T::MR, V>(block, m, k0, kc, own_row, tile, true, {tile, T::NR});
      else std::memset(tile, 0, T::MR * T::NR * sizeof(float));
    }
  }

  template <int M, int V, class Row>
  void one_tile(const Block& block, long m, long k0, long kc, Row row, const float* tile, bool first, Target to) const {
    if constexpr (A::direct) {
      auto from = [&, item = block.item](int i, long k) { return a.element(item, m + i, k0 + k); };
      multiply<T, M, V>(kc, from, row, tile, first, to);
    } else {
      const float* panel = block.a + m / T::MR * tile_size() + k0 * T::MR;
      multiply<T, M, V>(kc, [=](int i, long k) { return panel[k * T::MR + i]; }, row, tile, first, to);
    }
  }

  template <int V>
  void finish(long item, long m, long height, long n, long count, const float* tile) const {
    constexpr long full = V * T::W;
    each_run(s, n, count, [&](long lane, long r, long c, long length) {
      if constexpr (phased) {
        if (length == full) spread<full>(item, m, height, r, c, full, tile);
        else spread<full>(item, m, height, r, c, length, tile + lane);
      } else if (length == full) {  // a constant count makes the epilogue straight-line code
        for (long i = 0; i < height; ++i) store(item, m + i, r, c, full, tile + i * T::NR);
      } else {
        for (long i = 0; i < height; ++i) store(item, m + i, r, c, length, tile + i * T::NR + lane);
      }
    });
  }

  // Stores the outputs of all phases; those side by side in memory are joined first.
  template <long Full>
  [[gnu::always_inline]] void spread(long item, long m, long height, long r, long c, long length, const float* tile) const {
    constexpr int X = decltype(B::phases)::X;
    const auto& p = b.phases;
    const long plane = r / s.rows * p.z, row = r % s.rows * p.y, count = std::min(length * X, p.cols - c * X);
    float joined[Full * X];
    for (long z = plane; z < plane + p.z; ++z)
      for (long y = row; y < row + p.y; ++y, tile += X * T::MR * T::NR) {
        if (z >= p.planes || y >= p.rows) continue;
        for (long i = 0; i < height; ++i) {
#pragma omp simd
          for (long j = 0; j < length; ++j)
#pragma GCC unroll 16
            for (int x = 0; x < X; ++x) joined[j * X + x] = tile[(x * T::MR + i) * T::NR + j];
          store(item, m + i, z * p.rows + y, c * X, count, joined);
        }
      }
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

// All images at once, for Split::m and Split::columns; element(b, channel, z, y, x).
template <class Element>
void pad_copy_all(const Window& w, long batch, Element element, float* images) {
  in_parallel(double(batch) * w.image(), [&](int thread, int threads) {
    Range mine = share(batch * w.channels, thread, threads);
    for (long i = mine.begin; i < mine.end; ++i) {
      long b = i / w.channels, channel = i % w.channels;
      auto of_channel = [&](long z, long y, long x) { return element(b, channel, z, y, x); };
      pad_channel(w, of_channel, images + b * w.image() + channel * w.volume());
    }
  });
}

}  // namespace km
