// Types of half precision: stored, never computed with. Plain numbers to the compiler, and
// conversions without branches, so that loops over them become vectors.
#pragma once
#include <cstdint>

namespace km {

enum class float16 : uint16_t {};
enum class bfloat16 : uint16_t {};

[[gnu::always_inline]] inline float from_half(bfloat16 x) { return __builtin_bit_cast(float, uint32_t(x) << 16); }

[[gnu::always_inline]] inline float from_half(float16 x) {
  const uint32_t bits = uint32_t(x), digits = (bits & 0x7fff) << 13;
  // Exponents are counted from elsewhere; this is exact, for numbers below the normal ones too.
  const float scaled = __builtin_bit_cast(float, digits) * 0x1p112f;
  const uint32_t infinite = digits >= 0x0f800000 ? 0x7f800000 : 0;
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, scaled) | infinite | (bits & 0x8000) << 16);
}

// To the nearest, to even where two are as near; NaN stays NaN.
[[gnu::always_inline]] inline bfloat16 to_bfloat16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return bfloat16((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded);
}

[[gnu::always_inline]] inline float16 to_float16(float x) {
  const uint32_t all = __builtin_bit_cast(uint32_t, x), bits = all & 0x7fffffff;
  const uint32_t normal = (bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13;
  // A half has as many digits behind the point as this sum keeps.
  const float sum = __builtin_bit_cast(float, bits) + 0.5f;
  const uint32_t small = __builtin_bit_cast(uint32_t, sum) - 0x3f000000;
  const uint32_t large = bits > 0x7f800000 ? 0x7e00 : 0x7c00;
  const uint32_t magnitude = bits >= 0x47800000 ? large : bits < 0x38800000 ? small : normal;
  return float16(magnitude | (all >> 16 & 0x8000));
}

}  // namespace km
