// Where loops are cut for vectors.
#pragma once
#include "vectors.hpp"

namespace km {

// The end of all whole groups of L registers between two places.
template <int L>
KM_FN long whole(long start, long end) {
  const long group = long(__riscv_vlenb()) / 4 * L;
  return end > start ? start + (end - start) / group * group : start;
}

}  // namespace km
