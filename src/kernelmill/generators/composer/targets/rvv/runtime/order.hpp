// Floats as integers of the same order: clang folds those in vectors, and largest floats one by one,
// as it may not forget about NaN. Here NaN is larger than everything else, or smaller with its sign set.
#pragma once

namespace km {

KM_FN int order(float x) { return bits(x) ^ (bits(x) >> 31 & 0x7fffffff); }
KM_FN long order(double x) { return bits(x) ^ (bits(x) >> 63 & 0x7fffffffffffffff); }
template <class T> KM_FN T order(T x) { return x; }

template <class T>
KM_FN auto from_order(auto i) {
  if constexpr (__is_same(T, float)) return from_bits(i ^ (i >> 31 & 0x7fffffff));
  else if constexpr (__is_same(T, double)) return from_bits(i ^ (i >> 63 & 0x7fffffffffffffff));
  else return i;
}

}  // namespace km
