// Attention without the score matrix: O = softmax(score(scale * Q K^T)) V for every batch and head.
//
// The keys are visited in blocks. Each query keeps the largest score so far, the sum of
// e^(score - largest), and an output that is rescaled whenever the largest score grows (online softmax).
//
// In a block of at most BQ queries and BK keys, a tile of tile_rows queries goes through all three
// steps (scores, exponentials, weighted sum of values) before the next one starts, so its scores
// never leave the L1 cache, while the keys and values of the block serve all tiles.
#pragma once
#include <algorithm>
#include <type_traits>

#include "contraction.hpp"
#include "support.hpp"

namespace km {

struct AttentionShape {
  long batch, heads, queries, keys, width, value_width;
  double multiplies() const { return double(batch) * heads * queries * keys * (width + value_width); }
};

// The score as it is.
struct NoScore {};

// Every query sees every key.
struct FullReach {
  long keys;
  Range operator()(long, long) const { return {0, keys}; }
};
// Query i sees the keys up to i + shift.
struct CausalReach {
  long keys, shift = 0;
  Range operator()(long, long last) const { return {0, std::clamp(last + shift + 1, 0L, keys)}; }
};
// Query i sees the keys from i - before to i + after.
struct WindowReach {
  long keys, before, after;
  Range operator()(long first, long last) const {
    return {std::clamp(first - before, 0L, keys), std::clamp(last + after + 1, 0L, keys)};
  }
};

// ---------------------------------------------------------------- register tiles

constexpr int lanes = 16, tile_rows = 6, tile_vectors = 4, panel_keys = lanes * tile_vectors;
using Lanes = Vector<lanes>;

// finish(i, v, start(i, v) + sum over k of a(i, k) * rows[k * stride + v]), v counting vectors. depth > 0.
template <int V, class A, class Start, class Finish>
KM_FN void multiply_tile(long depth, A a, const float* rows, long stride, Start start, Finish finish) {
  Lanes sum[tile_rows][V], x[V];
#pragma GCC unroll 16
  for (int i = 0; i < tile_rows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[i][v] = start(i, v);
  long k = 0;
  do {
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) x[v] = load<lanes>(rows + v * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < tile_rows; ++i)
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[i][v] += a(i, k) * x[v];
    rows += stride;
  } while (++k < depth);
#pragma GCC unroll 16
  for (int i = 0; i < tile_rows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) finish(i, v, sum[i][v]);
}

// Folds halves onto each other; a loop over the lanes would take them one by one.
template <class Combine>
KM_FN float fold(Lanes x, Combine combine) {
  auto x8 = combine(__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7), __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15));
  auto x4 = combine(__builtin_shufflevector(x8, x8, 0, 1, 2, 3), __builtin_shufflevector(x8, x8, 4, 5, 6, 7));
  auto x2 = combine(x4, __builtin_shufflevector(x4, x4, 2, 3, 0, 1));
  return combine(x2, __builtin_shufflevector(x2, x2, 1, 0, 3, 2))[0];
}
KM_FN float fold_max(Lanes x) { return fold(x, [](auto a, auto b) { return a > b ? a : b; }); }
KM_FN float fold_sum(Lanes x) { return fold(x, [](auto a, auto b) { return a + b; }); }

// ---------------------------------------------------------------- one thread's part

// All that one thread needs: packed keys and values of the current head, and the state of one block of queries.
template <int BQ, int BK, class Q, class K, class V, class Score, class Reach, class Store>
class AttentionThread {
  static_assert(BQ % tile_rows == 0 && BK % panel_keys == 0);
  static constexpr float lowest = -infinity;

 public:
  AttentionThread(const AttentionShape& shape, long block_rows, Q q, K k, V v, float scale, Score score, Reach reach, Store store)
      : s(shape), slots(slot_count(shape, block_rows, k)), q(q), k(k), v(v), scale(scale), score(score), reach(reach), store(store) {}

  void run(long batch, long head, Range rows) {
    b = batch;
    h = head;
    if (s.keys > 0) select_head();
    start(rows);
    const Range visible = reach(rows.begin, rows.end - 1);
    for (long block = visible.begin / BK; block * BK < std::min(visible.end, s.keys); ++block) {
      hold(block);
      for (long first = rows.begin; first < rows.end; first += tile_rows) visit(block, first - rows.begin, first, rows.end);
    }
    finish(rows);
  }

 private:
  // Packed blocks are kept if they will be met again: by other queries, or by another head that shares them.
  static long slot_count(const AttentionShape& s, long block_rows, K k) {
    const bool met_again = s.queries > block_rows || (s.heads > 1 && s.keys > 0 && k(0, 0, 0) == k(0, 1, 0));
    return met_again ? ceil_div(s.keys, BK) : std::min(s.keys, 1L);
  }

  void select_head() {
    if (k(b, h, 0) == current_keys && v(b, h, 0) == current_values) return;
    current_keys = k(b, h, 0);
    current_values = v(b, h, 0);
    std::fill_n(static_cast<long*>(held), slots, -1L);
  }

  float* keys_of(long block) const { return packed_keys + block % slots * BK * s.width; }
  float* values_of(long block) const { return packed_values + block % slots * BK * padded_width; }

  // Keys: [panel][k][key of the panel]. Values: rows padded to whole vectors.
  void hold(long block) {
    if (held[block % slots] == block) return;
    held[block % slots] = block;
    const long first = block * BK, count = std::min<long>(s.keys - first, BK);
    for (long j = 0; j < count; j += panel_keys) {
      auto element = [&](long lane, long d) { return k(b, h, first + j + lane)[d]; };
      pack_transposed<panel_keys>(std::min<long>(count - j, panel_keys), s.width, element, keys_of(block) + j * s.width);
    }
    for (long j = 0; j < count; ++j) {
      float* to = values_of(block) + j * padded_width;
      std::copy_n(v(b, h, first + j), s.value_width, to);
      std::fill(to + s.value_width, to + padded_width, 0.0f);
    }
  }

  void start(Range rows) {
    for (long i = rows.begin; i < rows.end; i += tile_rows) {  // [tile][k][query of the tile]
      auto element = [&](long row, long d) { return q(b, h, i + row)[d] * scale; };
      const long count = std::min<long>(rows.end - i, tile_rows);
      pack_transposed<tile_rows>(count, s.width, element, packed_queries + (i - rows.begin) * s.width);
    }
    const long padded_rows = ceil_div(rows.end - rows.begin, tile_rows) * tile_rows;
    std::fill_n(static_cast<float*>(largest), padded_rows, lowest);
    std::fill_n(static_cast<float*>(sums), padded_rows * lanes, 0.0f);
    std::fill_n(static_cast<float*>(output), padded_rows * padded_width, 0.0f);
  }

  void finish(Range rows) {
    for (long i = rows.begin, row = 0; i < rows.end; ++i, ++row) {
      const float total = fold_sum(load<lanes>(sums + row * lanes));
      const float factor = total == 0.0f ? 0.0f : 1.0f / total;  // 0: everything was masked
      float* values = output + row * padded_width;
      for (long c = 0; c < padded_width; c += lanes) save<lanes>(values + c, load<lanes>(values + c) * factor);
      store(b, h, i, 0L, s.value_width, values);
    }
  }

  // One tile of queries meets one block of keys. `row` counts within the block of queries.
  void visit(long block, long row, long first, long end) {
    const Range visible = reach(first, std::min(first + tile_rows, end) - 1);
    const long j0 = block * BK;
    const long to = std::min({visible.end, s.keys, j0 + BK}) - j0;
    const long from = std::max(visible.begin - j0, 0L) / panel_keys * panel_keys;
    if (from >= to) return;
    for (long j = from; j < to; j += panel_keys)
      with_constant<tile_vectors>(std::min<long>(ceil_div(to - j, lanes), tile_vectors), [&](auto vectors) {
        score_panel<vectors>(packed_queries + row * s.width, keys_of(block) + j * s.width, scores + j);
      });
    float rescale[lanes];
    apply_score(row, first, end - 1, j0, from, to, rescale);
    exponentials(row, from, to, rescale);
    add_values(values_of(block) + from * padded_width, scores + from, to - from, rescale, output + row * padded_width);
  }

  template <int vectors>
  void score_panel(const float* queries, const float* keys, float* to) const {
    auto query = [=](int i, long d) { return queries[d * tile_rows + i]; };
    auto zero = [](int, int) { return Lanes{}; };
    auto keep = [=](int i, int v, Lanes x) { save<lanes>(to + i * BK + v * lanes, x); };
    multiply_tile<vectors>(s.width, query, keys, panel_keys, zero, keep);
  }

  // Applies `score` and finds the new largest values; rescale: the factors for what was summed before.
  void apply_score(long row, long first, long last, long j0, long from, long to, float* rescale) const {
    Lanes before{}, now{};
    for (long i = 0; i < tile_rows; ++i) {
      // Padding rows repeat the last query: its scores may be asked for again, those of no query may not.
      const int query = std::min(first + i, last);
      float* line = scores + i * BK;
      Lanes high = Lanes{} + largest[row + i];
      for (long j = from; j < to; j += lanes) {
        const Lanes x = scored(query, int(j0 + j), line + j, s.keys - j0 - j);
        high = x > high ? x : high;
        save<lanes>(line + j, x);
      }
      before[i] = largest[row + i];
      now[i] = largest[row + i] = fold_max(high);
    }
    save<lanes>(rescale, each_exp(before - base_of(now)));
  }

  // Turns the scores into e^(score - largest) and adds them up, each lane for itself.
  void exponentials(long row, long from, long to, const float* rescale) const {
    for (long i = 0; i < tile_rows; ++i) {
      float *line = scores + i * BK, *sum_of_row = sums + (row + i) * lanes;
      const Lanes base = base_of(Lanes{} + largest[row + i]);
      Lanes sum = load<lanes>(sum_of_row) * rescale[i];
      for (long j = from; j < to; j += lanes) {
        const Lanes x = each_exp(load<lanes>(line + j) - base);
        sum += x;
        save<lanes>(line + j, x);
      }
      save<lanes>(sum_of_row, sum);
    }
  }

  static Lanes each_exp(Lanes x) {
    return fetch<lanes>([=](int w) { return exp_nonpositive(x[w]); });
  }
  // If everything is masked so far: -inf - -inf would be NaN.
  static Lanes base_of(Lanes largest) { return largest == lowest ? Lanes{} : largest; }

  // Scores of the keys j, j + 1, ...; `count`: how many keys there are.
  Lanes scored(int i, int j, const float* line, long count) const {
    auto one = [=, this](int w) {
      if constexpr (std::is_same_v<Score, NoScore>) return line[w];
      else return score(b, h, i, j + w, line[w]);
    };
    if (count >= lanes) return fetch<lanes>(one);
    Lanes x = Lanes{} + lowest;
    for (int w = 0; w < count; ++w) x[w] = one(w);
    return x;
  }

  // output = output * rescale + weights * values, in evenly wide groups of columns
  void add_values(const float* values, const float* weights, long count, const float* rescale, float* to) const {
    for (long c = 0; c < padded_width;) {
      const long left = (padded_width - c) / lanes, width = ceil_div(left, ceil_div(left, tile_vectors));
      with_constant<tile_vectors>(width, [&](auto vectors) {
        auto weight = [=](int i, long j) { return weights[i * BK + j]; };
        auto before = [&](int i, int v) { return load<lanes>(to + i * padded_width + c + v * lanes) * rescale[i]; };
        auto keep = [&](int i, int v, Lanes x) { save<lanes>(to + i * padded_width + c + v * lanes, x); };
        multiply_tile<vectors>(count, weight, values + c, padded_width, before, keep);
      });
      c += width * lanes;
    }
  }

  const AttentionShape s;
  const long slots, padded_width = ceil_div(s.value_width, lanes) * lanes;
  const Q q;
  const K k;
  const V v;
  const float scale;
  const Score score;
  const Reach reach;
  const Store store;
  const Memory<float> packed_keys{slots * BK * s.width}, packed_values{slots * BK * padded_width};
  const Memory<long> held{slots};  // the block of keys in each slot, -1: none
  const Memory<float> packed_queries{BQ * s.width}, scores{tile_rows * BK}, largest{BQ}, sums{BQ * lanes};
  const Memory<float> output{BQ * padded_width};
  const float *current_keys = nullptr, *current_values = nullptr;
  long b = 0, h = 0;
};

// ---------------------------------------------------------------- all of it

// Queries per block: at most BQ, evenly spread, and fewer if some threads would have nothing to do.
template <int BQ>
long query_rows(const AttentionShape& s) {
  const long wanted = ceil_div(2 * omp_get_max_threads(), std::max(s.batch * s.heads, 1L));
  const long blocks = std::max(ceil_div(s.queries, BQ), std::min(wanted, ceil_div(s.queries, tile_rows)));
  return ceil_div(ceil_div(s.queries, std::max(blocks, 1L)), tile_rows) * tile_rows;
}

// q(b, h, i), k(b, h, j), v(b, h, j): const float* to one row; two heads share their keys and values
//   if and only if row 0 of both has the same address.
// score(b, h, int i, int j, float s): what becomes of a score; -infinity masks it. Must be branch-free.
// reach(first, last): the keys that any of these queries can see. Only saves work: score must mask the rest.
// store(b, h, i, c, count, const float* values): receives each output row once.
template <int BQ, int BK, class Q, class K, class V, class Score, class Reach, class Store>
void attention(const AttentionShape& s, Q q, K k, V v, float scale, Score score, Reach reach, Store store) {
  const long rows = query_rows<BQ>(s), blocks = rows ? ceil_div(s.queries, rows) : 0, items = s.batch * s.heads * blocks;
#pragma omp parallel if (s.multiplies() >= serial_below)
  {
    AttentionThread<BQ, BK, Q, K, V, Score, Reach, Store> mine(s, rows, q, k, v, scale, score, reach, store);
    // Guided: long runs first, so that a head is packed by one thread; single blocks last, to even things out.
#pragma omp for schedule(guided) nowait
    for (long item = 0; item < items; ++item) {
      const long head = item / blocks, first = (blocks - 1 - item % blocks) * rows;  // the longest causal rows first
      mine.run(head / s.heads, head % s.heads, {first, std::min(first + rows, s.queries)});
    }
  }
}

}  // namespace km
