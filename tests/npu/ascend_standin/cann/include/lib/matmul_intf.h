// Stand-in for the product of matrices on a cube core.
#pragma once
#include <vector>

#include "kernel_operator.h"
#include "register/tilingdata_base.h"

enum class CubeFormat { ND, NZ };

namespace matmul {
template <AscendC::TPosition POSITION, CubeFormat FORMAT, typename T, bool TRANSPOSED = false>
struct MatmulType {
  using type = T;
};

template <typename A, typename B, typename C>
class Matmul {
 public:
  void Init(const TCubeTiling* given) { tiling = given, rows = given->singleCoreM, columns = given->singleCoreN; }
  void SetTensorA(const AscendC::GlobalTensor<typename A::type>& tensor, bool = false) { a = tensor; }
  void SetTensorB(const AscendC::GlobalTensor<typename B::type>& tensor, bool = false) { b = tensor; }
  void SetTail(int m, int n = -1) { rows = m > 0 ? m : rows, columns = n > 0 ? n : columns; }
  void IterateAll(const AscendC::GlobalTensor<typename C::type>& c, uint8_t = 0) {
    std::vector<typename C::type> sums(columns);
    for (int i = 0; i < rows; i++) {
      sums.assign(columns, 0);
      for (int k = 0; k < tiling->K; k++) {
        const auto factor = *a.At(int64_t(i) * tiling->K + k, 1);
        const auto* row = b.At(int64_t(k) * tiling->N, columns);
        for (int j = 0; j < columns; j++) sums[j] += factor * row[j];
      }
      std::copy(sums.begin(), sums.end(), c.At(int64_t(i) * tiling->N, columns));
    }
  }
  void End() {}

 private:
  const TCubeTiling* tiling = nullptr;
  int rows = 0, columns = 0;
  AscendC::GlobalTensor<typename A::type> a;
  AscendC::GlobalTensor<typename B::type> b;
};
}  // namespace matmul

#define REGIST_MATMUL_OBJ(pipe, workspace, object, tiling) (object).Init(tiling)
