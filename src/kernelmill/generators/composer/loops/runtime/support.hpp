// What generated code needs besides mathematics.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

// Demands vectors of the loop that follows.
#ifdef __clang__
#define KM_SIMD _Pragma("clang loop vectorize(assume_safety)")
#else
#define KM_SIMD _Pragma("omp simd")
#endif

namespace km {

constexpr float infinity = inf;

constexpr long floordiv(long a, long b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
constexpr long modulo(long a, long b) { return a - floordiv(a, b) * b; }
constexpr long larger(long a, long b) { return a > b ? a : b; }
constexpr long smaller(long a, long b) { return a < b ? a : b; }

// Zero, as far as nobody but the processor knows.
inline long hidden_zero() {
  volatile long zero = 0;
  return zero;
}

constexpr long ceildiv(long a, long b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

// NaN stays NaN.
template <class T>
[[gnu::always_inline]] inline T positive(T x) { return x < 0 ? 0 : x; }
template <class T>
[[gnu::always_inline]] inline T clamped_below(T x, std::type_identity_t<T> low) { return x < low ? low : x; }
template <class T>
[[gnu::always_inline]] inline T clamped_above(T x, std::type_identity_t<T> high) { return x > high ? high : x; }
[[gnu::always_inline]] inline int64_t abs(int64_t x) { return x < 0 ? -x : x; }

// Memory for an intermediate result, until the end of the scope. A little more than asked for, so
// that a vector may reach past the end.
template <class T>
class Memory {
 public:
  explicit Memory(long count)
      : data_(count ? static_cast<T*>(std::aligned_alloc(64, (count * sizeof(T) + 1087) / 64 * 64)) : nullptr) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { std::free(data_); }
  operator T*() const { return data_; }

 private:
  T* data_;
};

// The same for a row inside of a loop: short ones are on the stack.
template <class T>
class Row {
 public:
  explicit Row(long count) : far_(count > few ? count : 0), data_(count > few ? static_cast<T*>(far_) : near_) {}
  operator T*() const { return data_; }

 private:
  static constexpr long few = 4096;
  alignas(64) T near_[few];
  const Memory<T> far_;
  T* const data_;
};

// The first `count` of a line, once sorted: `ahead` of two values says which comes first, the place
// decides between equal ones. `best` has room for 2 * count + 16: it gathers what is ahead of the
// last of the best so far, which is little of a long line, and is cut down when it is full.
template <class T, class Ahead>
inline void rank(const T* line, long length, std::pair<T, int64_t>* best, long count, Ahead ahead) {
  const auto before = [=](const auto& a, const auto& b) {
    return ahead(a.first, b.first) || (!ahead(b.first, a.first) && a.second < b.second);
  };
  long held = 0, next = std::min(2 * count, length);
  for (; held < next; ++held) best[held] = {line[held], held};
  while (count > 0) {
    if (held > count) std::nth_element(best, best + count - 1, best + held, before);
    if (next >= length) break;
    const T last = best[count - 1].first;
    for (held = count; next < length && held < 2 * count; next += 16) {
      const long end = std::min(next + 16, length);
      int any = 0;
#pragma omp simd reduction(|:any)
      for (long i = next; i < end; ++i) any |= int(ahead(line[i], last));
      for (long i = next; any && i < end; ++i) {
        best[held] = {line[i], i};
        held += ahead(line[i], last);
      }
    }
  }
  std::sort(best, best + count, before);
}

// Folds by name.
struct sum {
  template <class T>
  static T combine(T a, T b) { return a + b; }
  static constexpr float neutral = 0;
  static constexpr bool vector = true;
};
struct prod {
  template <class T>
  static T combine(T a, T b) { return a * b; }
  static constexpr float neutral = 1;
  static constexpr bool vector = false;  // the errors of blocks would multiply
};
struct max {
  template <class T>
  static T combine(T a, T b) { return (a > b) | (a != a) ? a : b; }  // NaN stays
  static constexpr float neutral = -inf;
  static constexpr bool vector = true;
};
struct min {
  template <class T>
  static T combine(T a, T b) { return (a < b) | (a != a) ? a : b; }
  static constexpr float neutral = inf;
  static constexpr bool vector = true;
};
struct logaddexp {
  static double combine(double a, double b) {
    const double high = a > b ? a : b, low = a > b ? b : a;
    return low == high ? high + 0.6931471805599453 : high + std::log1p(std::exp(low - high));
  }
  static constexpr float neutral = -inf;
  static constexpr bool vector = false;
};

}  // namespace km
