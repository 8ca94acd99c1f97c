// What generated code needs besides mathematics.
#pragma once
#include <cstdint>
#include <cstdlib>

namespace km {

constexpr float infinity = inf;

constexpr long floordiv(long a, long b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
constexpr long modulo(long a, long b) { return a - floordiv(a, b) * b; }
constexpr long larger(long a, long b) { return a > b ? a : b; }

template <class T>
[[gnu::always_inline]] inline T positive(T x) { return x > 0 ? x : 0; }
// NaN stays NaN.
template <class T>
[[gnu::always_inline]] inline T clamped_below(T x, T low) { return x < low ? low : x; }
template <class T>
[[gnu::always_inline]] inline T clamped_above(T x, T high) { return x > high ? high : x; }
[[gnu::always_inline]] inline int64_t abs(int64_t x) { return x < 0 ? -x : x; }

// Memory for an intermediate result, kept from call to call: fresh pages cost more than filling them.
template <class T, int number>
T* scratch(long count) {
  static T* memory = nullptr;
  static long capacity = 0;
  if (count > capacity) {
    std::free(memory);
    capacity = (count + 1023) / 1024 * 1024;
    memory = static_cast<T*>(std::aligned_alloc(4096, capacity * sizeof(T)));
  }
  return memory;
}

}  // namespace km
