// C[b][m][r][c] = epilogue( sum over k of A(b,m,k) * B(b,k,r,c) )
//
// A tile is M values of m, scalars, by one vector of columns. The columns (r, c) are walked as one flat
// range n = r * pitch + c. For a window (a padded image, read in place) pitch >= cols: the columns
// between two rows are computed and thrown away. The rows of a volume come in planes; what lies
// between two planes is left out.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "shape.hpp"
#include "support.hpp"
#include "vectors.hpp"
#include "window.hpp"

namespace km {

// How many products are summed at once: M rows by a vector of L registers, U values of k to a turn of
// the loop, K values of k before a sum in float joins the others (0: sums in double).
template <int M_, int L_, int U_, long K_>
struct Tile {
  static constexpr int M = M_, L = L_, U = U_;
  static constexpr bool wide = K_ == 0;
  static constexpr long K = wide ? 1L << 40 : K_;
};

// ---------------------------------------------------------------- operands

// Rows that are copied, tile by tile: element(b, m, k). `copies`: how many different matrices there are.
// Batch item b uses number b % copies, and only that number is passed as b (1: shared weights, groups:
// grouped convolution, batch: bmm).
template <class Element>
struct CopiedRows {
  static constexpr bool copied = true;
  Element element;
  long copies;
};
template <class Element>
CopiedRows<Element> copied_rows(Element element, long copies) { return {element, copies}; }

// Rows that lie in memory, evenly spaced, each of neighbours: at(b, m) is where row m begins.
template <class At>
struct RowsInPlace {
  static constexpr bool copied = false;
  At at;
  long copies, apart = at(0, 1) - at(0, 0);
};
template <class At>
RowsInPlace<At> rows_in_place(At at, long copies) { return {at, copies}; }

// The scalars of a tile, wherever they are: of row i, u steps ahead.
template <int M>
struct Packed {
  const float* at;
  KM_FN float get(int i, long u) const { return at[u * M + i]; }
  KM_FN Packed ahead(long steps) const { return {at + steps * M}; }
};
struct Spaced {
  const float* at;
  long apart;
  KM_FN float get(int i, long u) const { return (at + i * apart)[u]; }
  KM_FN Spaced ahead(long steps) const { return {at + steps, apart}; }
};

// Where the next vector of columns is.
struct Steady {
  const float* at;
  long step;
  template <int L>
  KM_FN Floats<L> next(size_t n) {
    const float* here = at;
    at += step;
    return load<L>(here, n);
  }
};
struct Apart {
  const float* at;
  long step, apart;  // apart: in bytes
  template <int L>
  KM_FN Floats<L> next(size_t n) {
    const float* here = at;
    at += step;
    return load_apart<L>(here, apart, n);
  }
};
struct Tapped {
  const float* base;
  const long* offset;
  template <int L>
  KM_FN Floats<L> next(size_t n) { return load<L>(base + *offset++, n); }
};

// Columns that lie in memory, evenly spaced: at(b, k, c) is where.
template <bool neighbours, class At>
struct InPlace {
  static constexpr OnePhase phases{};
  At at;
  long deeper = at(0, 1, 0) - at(0, 0, 0), apart = at(0, 0, 1) - at(0, 0, 0);
  auto item(long b) const {
    return [=, this](long n, long k, size_t) {
      const float* from = at(b, 0, 0) + k * deeper + n * (neighbours ? 1 : apart);
      if constexpr (neighbours) return Steady{from, deeper};
      else return Apart{from, deeper, apart * 4};
    };
  }
};
template <bool neighbours, class At>
InPlace<neighbours, At> in_place(At at) { return {at}; }

// Columns that a window slides over: element (k, n) is image(b)[offset[k] + n].
template <class Image, class P>
struct Direct {
  Image image;
  const long* offset;
  P phases;
  auto item(long b) const {
    return [base = image(b), offset = offset](long n, long k, size_t) { return Tapped{base + n, offset + k}; };
  }
};
template <class Image, class P = OnePhase>
Direct<Image, P> direct(Image image, const long* offset, P phases = {}) { return {image, offset, phases}; }

// Columns of any kind, copied: element(b, k, r, c).
template <class Element>
struct Copied {
  static constexpr OnePhase phases{};
  Element element;
  Shape s;
  const Memory<float> panel;
  Copied(Element element, const Shape& s, long width) : element(element), s(s), panel(s.k * width) {}
  auto item(long b) const {
    return [this, b, copied = -1L](long n, long k, size_t count) mutable {
      if (copied != n) copy(b, n, count);
      copied = n;
      return Steady{panel + k * long(count), long(count)};
    };
  }

 private:
  void copy(long b, long n, long count) const {
    each_run(s, n, count, [&](long lane, long r, long c, long length) {
      for (long k = 0; k < s.k; ++k) {
        float* to = panel + k * count + lane;
        KM_SIMD
        for (long j = 0; j < length; ++j) to[j] = element(b, k, r, c + j);
      }
    });
  }
};
template <int L, class Element>
Copied<Element> copied(Element element, const Shape& s) { return {element, s, widest<L>()}; }

// ---------------------------------------------------------------- results

// Stores sums as they are: at(b, m, c) is where. Tiles are written there from registers.
// Any other store is a functor of (b, m, r, c, count, sums).
template <class At>
struct Straight {
  At at;
  void operator()(long b, long m, long, long c, long count, const float* sums) const {
    std::copy_n(sums, count, at(b, m, c));
  }
};
template <class At>
Straight<At> straight(At at) { return {at}; }
template <class Store>
constexpr bool is_straight = false;
template <class At>
constexpr bool is_straight<Straight<At>> = true;

// ---------------------------------------------------------------- the register tile

// sums += the scalars of the rows * the next vector of columns, `depth` times.
template <class T, class Rows, class Columns, class... V>
KM_FN void multiply(Rows rows, Columns columns, long depth, size_t n, V&... sums) {
  const auto step = [&](long u) {
    const Floats<T::L> x = columns.template next<T::L>(n);
    int i = 0;
    if constexpr (T::wide) ((sums = __riscv_vfwmacc(sums, rows.get(i++, u), x, n)), ...);
    else ((sums = __riscv_vfmacc(sums, rows.get(i++, u), x, n)), ...);
  };
  long k = 0;
  for (; k + T::U <= depth; k += T::U, rows = rows.ahead(T::U)) {
#pragma clang loop unroll(full)
    for (int u = 0; u < T::U; ++u) step(u);
  }
#pragma clang loop unroll(disable) vectorize(disable)
  for (; k < depth; ++k, rows = rows.ahead(1)) step(0);
}

// As many sums as there are rows, all zero, for whoever fills them.
template <class T, int M, class F, class... V>
KM_FN void with_sums(size_t n, F f, V&... sums) {
  if constexpr (sizeof...(V) == M) {
    f(sums...);
  } else if constexpr (T::wide) {
    Doubles<T::L> next = every_wide<T::L>(0, n);
    with_sums<T, M>(n, f, sums..., next);
  } else {
    Floats<T::L> next = every<T::L>(0, n);
    with_sums<T, M>(n, f, sums..., next);
  }
}

// target(i) gets the sums of row i, added to what is there unless this is the first block of k.
template <class T, int M, class Rows, class Columns, class Target>
KM_FN void one_tile(Rows rows, Columns columns, long depth, size_t n, bool first, Target target) {
  with_sums<T, M>(n, [&](auto&... sums) {
    multiply<T>(rows, columns, depth, n, sums...);
    int i = 0;
    const auto put = [&](auto sum) {
      float* to = target(i++);
      if constexpr (T::wide) __riscv_vse32(to, __riscv_vfncvt_f(sum, n), n);
      else __riscv_vse32(to, first ? sum : __riscv_vfadd(sum, load<T::L>(to, n), n), n);
    };
    (put(sums), ...);
  });
}

// f with the height of a tile as a constant.
template <int M, class F>
inline void with_height(long height, F f) {
  if constexpr (M > 1) {
    if (height < M) return with_height<M - 1>(height, f);
  }
  f(std::integral_constant<int, M>{});
}

// ---------------------------------------------------------------- the whole

template <class T, class A, class B, class Store>
class Contraction {
 public:
  Contraction(const Shape& shape, const A& a, const B& b, const Store& store)
      : s(shape), a(a), b(b), store(store), packed(A::copied ? std::min(a.copies, s.batch) * s.m * s.k : 0), sums(b.phases.count() * T::M * width) {}

  void run() const {
    if constexpr (A::copied)
      for (long copy = 0; copy < std::min(a.copies, s.batch); ++copy) pack(copy);
    for (long item = 0; item < s.batch; ++item) {
      auto columns = b.item(item);
      for (long plane = 0; plane < s.planes; ++plane) {
        const long end = plane * s.plane + s.plane_columns();
        for (long n = plane * s.plane; n < end;) {
          const size_t count = take<T::L>(end - n);
          strip(item, n, count, columns);
          n += count;
        }
      }
    }
  }

 private:
  static constexpr bool phased = std::remove_cvref_t<decltype(B::phases)>::several;
  const long width = widest<T::L>();
  const Shape s;
  const A& a;
  const B& b;
  const Store& store;
  const Memory<float> packed, sums;

  // Tile by tile, [k][row of the tile]; the last tile may be lower.
  void pack(long copy) const {
    float* to = packed + copy * s.m * s.k;
    for (long m = 0; m < s.m; m += T::M) {
      const long height = std::min<long>(s.m - m, T::M);
      for (long i = 0; i < height; ++i) {
        KM_SIMD
        for (long k = 0; k < s.k; ++k) to[k * height + i] = a.element(copy, m + i, k);
      }
      to += height * s.k;
    }
  }

  template <int M>
  auto rows_of(long item, long m) const {
    const long copy = item % a.copies;
    if constexpr (A::copied) return Packed<M>{packed + (copy * s.m + m) * s.k};
    else return Spaced{a.at(copy, m), a.apart};
  }

  template <class Columns>
  void strip(long item, long n, size_t count, Columns& columns) const {
    for (long m = 0; m < s.m; m += T::M) {
      const long height = std::min<long>(s.m - m, T::M);
      with_height<T::M>(height, [&](auto rows) {
        if constexpr (phased) phases<rows>(item, m, n, count, columns);
        else tile<rows>(item, m, n, count, columns);
      });
      if constexpr (phased) finish_phases(item, m, height, n, count);
    }
  }

  template <int M, class Columns>
  void tile(long item, long m, long n, size_t count, Columns& columns) const {
    const auto rows = rows_of<M>(item, m);
    const auto blocks = [&](auto target) {
      for (long k = 0; k == 0 || k < s.k; k += T::K)
        one_tile<T, M>(rows.ahead(k), columns(n, k, count), std::min(s.k - k, T::K), count, k == 0, target);
    };
    if constexpr (is_straight<Store>) {
      blocks([=, this](int i) { return store.at(item, m + i, n); });
    } else {
      blocks([=, this](int i) { return sums + i * width; });
      each_run(s, n, count, [&](long lane, long r, long c, long length) {
        for (int i = 0; i < M; ++i) store(item, m + i, r, c, length, sums + i * width + lane);
      });
    }
  }

  template <int M, class Columns>
  void phases(long item, long m, long n, size_t count, Columns& columns) const {
    const auto rows = rows_of<M>(item, m);
    for (long phase = 0; phase < b.phases.count(); ++phase) {
      const long k = b.phases.start[phase], depth = b.phases.start[phase + 1] - k;
      float* to = sums + phase * T::M * width;
      one_tile<T, M>(rows.ahead(k), columns(n, k, count), depth, count, true, [=, this](int i) { return to + i * width; });
    }
  }

  // Stores the outputs of all phases; those side by side in memory are joined first.
  void finish_phases(long item, long m, long height, long n, long count) const {
    constexpr int X = [] {
      if constexpr (phased) return std::remove_cvref_t<decltype(B::phases)>::X;
      else return 1;
    }();
    const auto& p = b.phases;
    const Row<float> joined(width * X);
    each_run(s, n, count, [&](long lane, long r, long c, long length) {
      const long plane = r / s.rows * p.z, row = r % s.rows * p.y, end = std::min(length * X, p.cols - c * X);
      const float* from = sums + lane;
      for (long z = plane; z < plane + p.z; ++z)
        for (long y = row; y < row + p.y; ++y, from += X * T::M * width) {
          if (z >= p.planes || y >= p.rows) continue;
          for (long i = 0; i < height; ++i) {
            for (int x = 0; x < X; ++x) {
              const float* phase = from + (x * T::M + i) * width;
              KM_SIMD
              for (long j = 0; j < length; ++j) joined[j * X + x] = phase[j];
            }
            store(item, m + i, z * p.rows + y, c * X, end, joined);
          }
        }
    });
  }
};

// store(b, m, r, c, count, const float* sums) is called exactly once for each finished element.
template <class T, class A, class B, class Store>
void contract(const Shape& shape, const A& a, const B& b, const Store& store) {
  Contraction<T, A, B, Store>(shape, a, b, store).run();
}

// ---------------------------------------------------------------- few rows, both operands along k

// For every row, N columns at a time: vectors run along k, and are summed up at the end.
// right(b, c): where column c begins; columns lie `apart` from each other.
template <int N, int L, class Left, class Right, class Store>
void contract_along(const Shape& s, Left left, Right right, const Store& store) {
  float sums[N];
  const auto columns = [&](long b, long m, long c, auto count) {
    using T = Tile<count, L, 1, 1>;
    const long all = widest<L>();
    with_sums<T, count>(all, [&](auto&... totals) {
      const float *x = left(b, m), *y = right(b, c);
      const long apart = right(b, c + 1) - y;
      for (long k = 0; k < s.k;) {
        const size_t n = take<L>(s.k - k);
        const Floats<L> here = load<L>(x + k, n);
        int i = 0;
        ((totals = __riscv_vfmacc_tu(totals, here, load<L>(y + apart * i++ + k, n), n)), ...);
        k += n;
      }
      int i = 0;
      ((sums[i++] = __riscv_vfmv_f(__riscv_vfredusum(totals, __riscv_vfmv_s_f_f32m1(0, 1), all))), ...);
    });
    store(b, m, 0L, c, long(count), sums);
  };
  for (long b = 0; b < s.batch; ++b)
    for (long m = 0; m < s.m; ++m)
      for (long c = 0; c < s.cols; c += N)
        with_height<N>(std::min<long>(s.cols - c, N), [&](auto count) { columns(b, m, c, count); });
}

}  // namespace km
