// What generated code needs besides mathematics.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

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

template <class T>
[[gnu::always_inline]] inline T positive(T x) { return x > 0 ? x : 0; }
// NaN stays NaN.
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
    return ahead(a.first, b.first) || (a.first == b.first && a.second < b.second);
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

// Running folds along memory, in place.
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
  static T combine(T a, T b) { return a > b ? a : b; }
  static constexpr float neutral = -inf;
  static constexpr bool vector = true;
};
struct min {
  template <class T>
  static T combine(T a, T b) { return a < b ? a : b; }
  static constexpr float neutral = inf;
  static constexpr bool vector = true;
};
struct logaddexp {
  static double combine(double a, double b) {
    const double high = a > b ? a : b, low = a > b ? b : a;
    return low == -double(inf) ? high : high + std::log1p(std::exp(low - high));
  }
  static constexpr float neutral = -inf;
  static constexpr bool vector = false;
};

// Sixteen at a time: four shifted folds make a vector of its own running folds, and what came
// before is carried in double.
template <class Op>
inline void scan(float* line, long count) {
  typedef float Vector __attribute__((vector_size(64)));
  typedef int Order __attribute__((vector_size(64)));
  constexpr float n = Op::neutral;
  const Vector edge = Vector{} + n;
  double carry = n;
  long i = 0;
  if constexpr (Op::vector) for (; i + 16 <= count; i += 16) {
    Vector v;
    __builtin_memcpy(&v, line + i, sizeof v);
    v = Op::combine(v, __builtin_shuffle(edge, v, Order{0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}));
    v = Op::combine(v, __builtin_shuffle(edge, v, Order{0, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29}));
    v = Op::combine(v, __builtin_shuffle(edge, v, Order{0, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27}));
    v = Op::combine(v, __builtin_shuffle(edge, v, Order{0, 0, 0, 0, 0, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23}));
    const double last = v[15];
    v = Op::combine(v, Vector{} + float(carry));
    carry = Op::combine(carry, last);
    __builtin_memcpy(line + i, &v, sizeof v);
  }
  for (; i < count; ++i) line[i] = float(carry = Op::combine(carry, double(line[i])));
}
template <class Op, class T>
inline void scan(T* line, long count) {
  T carry = count ? line[0] : T();
  for (long i = 1; i < count; ++i) line[i] = carry = Op::combine(carry, line[i]);
}

}  // namespace km
