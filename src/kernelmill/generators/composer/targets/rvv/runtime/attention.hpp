// O = softmax(score(scale * Q K^T)) V for every batch and head, a tile of queries at a time: its scores
// with all keys that it sees, their exponentials, then the weighted sum of the values.
#pragma once
#include <algorithm>

#include "contraction.hpp"
#include "order.hpp"

namespace km {

struct AttentionShape {
  long batch, heads, queries, keys, width, value_width;
};

// The score as it is.
struct NoScore {
  float operator()(long, long, long, long, float score) const { return score; }
};

// Every query sees every key.
struct FullReach {
  long keys;
  long operator()(long) const { return keys; }
};
// Query i sees the keys up to i.
struct CausalReach {
  long keys;
  long operator()(long i) const { return std::min(i + 1, keys); }
};

// line = e^(line - largest) / their sum; 0 everywhere if everything is masked.
inline void soften(float* line, long count) {
  int high = order(-infinity);
#pragma clang loop vectorize(assume_safety) vectorize_width(8, scalable)
  for (long j = 0; j < count; ++j) high = std::max(high, order(line[j]));
  const float largest = from_order<float>(high), base = largest == -infinity ? 0.0f : largest;
  float total = 0;
  {
#pragma clang fp reassociate(on)
#pragma clang loop vectorize(assume_safety) vectorize_width(4, scalable)
    for (long j = 0; j < count; ++j) total += line[j] = exp_nonpositive(line[j] - base);
  }
  const float factor = total == 0.0f ? 0.0f : 1.0f / total;
#pragma clang loop vectorize(assume_safety) vectorize_width(8, scalable)
  for (long j = 0; j < count; ++j) line[j] *= factor;
}

// q(b, h, i), k(b, h, j), v(b, h, j): const float* to one row, rows evenly spaced.
// score(b, h, i, j, s): what becomes of a score; -infinity masks it.
// reach(i): how many keys query i can see. Only saves work: score must mask the rest.
// store(b, h, i, c, count, const float* values): receives each output row once.
template <class T, class Q, class K, class V, class Score, class Reach, class Store>
void attention(const AttentionShape& s, Q q, K k, V v, float scale, Score score, Reach reach, Store store) {
  const Memory<float> queries(T::M * s.width), scores(T::M * s.keys), output(T::M * s.value_width);
  const Memory<float> turned(s.width * s.keys);
  const long value_step = s.keys > 1 ? v(0, 0, 1) - v(0, 0, 0) : 0;
  const auto turn_keys = [&](long b, long h) {
    const float* from = k(b, h, 0);
    const long step = s.keys > 1 ? k(b, h, 1) - from : 0;
    for (long d = 0; d < s.width; ++d) {
      KM_SIMD
      for (long j = 0; j < s.keys; ++j) turned[d * s.keys + j] = from[j * step + d];
    }
  };
  const auto block = [&](long b, long h, long first, auto height) {
    constexpr int M = height;
    const long seen = reach(first + M - 1);
    for (int i = 0; i < M; ++i) {
      const float* from = q(b, h, first + i);
      KM_SIMD
      for (long d = 0; d < s.width; ++d) queries[i * s.width + d] = from[d] * scale;
    }
    for (long j = 0; j < seen;) {
      const size_t n = take<T::L>(seen - j);
      const Spaced rows{queries, s.width};
      const Steady columns{turned + j, s.keys};
      one_tile<T, M>(rows, columns, s.width, n, true, [&](int i) { return scores + i * s.keys + j; });
      j += n;
    }
    for (int i = 0; i < M; ++i) {
      float* line = scores + i * s.keys;
      KM_SIMD
      for (long j = 0; j < seen; ++j) line[j] = score(b, h, first + i, j, line[j]);
      soften(line, seen);
    }
    for (long c = 0; c < s.value_width;) {
      const size_t n = take<T::L>(s.value_width - c);
      const Spaced rows{scores, s.keys};
      const Steady columns{v(b, h, 0) + c, value_step};
      one_tile<T, M>(rows, columns, seen, n, true, [&](int i) { return output + i * s.value_width + c; });
      c += n;
    }
    for (int i = 0; i < M; ++i) store(b, h, first + i, 0L, s.value_width, output + i * s.value_width);
  };
  const float* current = nullptr;
  for (long b = 0; b < s.batch; ++b)
    for (long h = 0; h < s.heads; ++h) {
      if (s.keys > 0 && k(b, h, 0) != current) turn_keys(b, h);
      current = s.keys > 0 ? k(b, h, 0) : nullptr;
      for (long i = 0; i < s.queries; i += T::M)
        with_height<T::M>(std::min<long>(s.queries - i, T::M), [&](auto height) { block(b, h, i, height); });
    }
}

}  // namespace km
