// Running folds along memory, in place.
#pragma once
#include "support.hpp"

namespace km {

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
