// RISC-V vectors of floats by their group length: registers L to a vector.
//
// These types have no size, so there are no arrays of them and no members: sums live in variables.
#pragma once
#include <riscv_vector.h>

#include <cstddef>

namespace km {

template <int L>
struct Group;
template <>
struct Group<1> { using Floats = vfloat32m1_t; using Doubles = vfloat64m2_t; };
template <>
struct Group<2> { using Floats = vfloat32m2_t; using Doubles = vfloat64m4_t; };
template <>
struct Group<4> { using Floats = vfloat32m4_t; using Doubles = vfloat64m8_t; };
template <>
struct Group<8> { using Floats = vfloat32m8_t; };  // sixteen registers of doubles cannot be one vector

template <int L>
using Floats = typename Group<L>::Floats;
template <int L>
using Doubles = typename Group<L>::Doubles;

// How many of `count` elements one vector takes.
template <int L>
KM_FN size_t take(long count) {
  if constexpr (L == 1) return __riscv_vsetvl_e32m1(count);
  else if constexpr (L == 2) return __riscv_vsetvl_e32m2(count);
  else if constexpr (L == 4) return __riscv_vsetvl_e32m4(count);
  else return __riscv_vsetvl_e32m8(count);
}
template <int L>
KM_FN long widest() { return long(__riscv_vlenb()) / 4 * L; }

template <int L>
KM_FN Floats<L> load(const float* from, size_t n) {
  if constexpr (L == 1) return __riscv_vle32_v_f32m1(from, n);
  else if constexpr (L == 2) return __riscv_vle32_v_f32m2(from, n);
  else if constexpr (L == 4) return __riscv_vle32_v_f32m4(from, n);
  else return __riscv_vle32_v_f32m8(from, n);
}
// Elements `apart` bytes from each other.
template <int L>
KM_FN Floats<L> load_apart(const float* from, ptrdiff_t apart, size_t n) {
  if constexpr (L == 1) return __riscv_vlse32_v_f32m1(from, apart, n);
  else if constexpr (L == 2) return __riscv_vlse32_v_f32m2(from, apart, n);
  else if constexpr (L == 4) return __riscv_vlse32_v_f32m4(from, apart, n);
  else return __riscv_vlse32_v_f32m8(from, apart, n);
}

template <int L>
KM_FN Floats<L> every(float x, size_t n) {
  if constexpr (L == 1) return __riscv_vfmv_v_f_f32m1(x, n);
  else if constexpr (L == 2) return __riscv_vfmv_v_f_f32m2(x, n);
  else if constexpr (L == 4) return __riscv_vfmv_v_f_f32m4(x, n);
  else return __riscv_vfmv_v_f_f32m8(x, n);
}
template <int L>
KM_FN Doubles<L> every_wide(double x, size_t n) {
  if constexpr (L == 1) return __riscv_vfmv_v_f_f64m2(x, n);
  else if constexpr (L == 2) return __riscv_vfmv_v_f_f64m4(x, n);
  else return __riscv_vfmv_v_f_f64m8(x, n);
}

}  // namespace km
