// Running folds along memory, in place.
#pragma once
#include "support.hpp"
#include "vectors.hpp"

namespace km {

template <class V>
KM_FN V combined(sum, V a, V b, size_t n) { return __riscv_vfadd(a, b, n); }
// `vfmax` and `vfmin` lose NaN.
template <class V>
KM_FN V combined(max, V a, V b, size_t n) {
  return __riscv_vmerge(b, a, __riscv_vmor(__riscv_vmfgt(a, b, n), __riscv_vmfne(a, a, n), n), n);
}
template <class V>
KM_FN V combined(min, V a, V b, size_t n) {
  return __riscv_vmerge(b, a, __riscv_vmor(__riscv_vmflt(a, b, n), __riscv_vmfne(a, a, n), n), n);
}

// A vector at a time: folds with itself, shifted by 1, 2, 4..., make its own running folds, and what
// came before is carried in double.
template <class Op>
inline void scan(float* line, long count) {
  constexpr int L = 4;
  constexpr float neutral = Op::neutral;
  double carry = neutral;
  if constexpr (Op::vector) {
    for (long i = 0; i < count;) {
      const size_t n = take<L>(count - i);
      Floats<L> v = load<L>(line + i, n);
      const Floats<L> edge = every<L>(neutral, n);
      for (size_t shift = 1; shift < n; shift *= 2) v = combined(Op{}, v, __riscv_vslideup(edge, v, shift, n), n);
      const double last = __riscv_vfmv_f(__riscv_vslidedown(v, n - 1, n));
      __riscv_vse32(line + i, combined(Op{}, v, every<L>(float(carry), n), n), n);
      carry = Op::combine(carry, last);
      i += n;
    }
  } else {
    for (long i = 0; i < count; ++i) line[i] = float(carry = Op::combine(carry, double(line[i])));
  }
}
template <class Op, class T>
inline void scan(T* line, long count) {
  T carry = count ? line[0] : T();
  for (long i = 1; i < count; ++i) line[i] = carry = Op::combine(carry, line[i]);
}

}  // namespace km
