// Stand-in for the tiling of products: blocks of the result for every core.
#pragma once
#include "register/tilingdata_base.h"
#include "tiling/platform/platform_ascendc.h"

namespace matmul_tiling {
enum class TPosition { GM, VECOUT };
enum class CubeFormat { ND, NZ };
enum class DataType { DT_FLOAT, DT_FLOAT16 };

class MultiCoreMatmulTiling {
 public:
  explicit MultiCoreMatmulTiling(const platform_ascendc::PlatformAscendC&) {}
  int SetDim(int cores) { return wanted = cores, 0; }
  int SetAType(TPosition, CubeFormat, DataType, bool = false) { return 0; }
  int SetBType(TPosition, CubeFormat, DataType, bool = false) { return 0; }
  int SetCType(TPosition, CubeFormat, DataType) { return 0; }
  int SetOrgShape(int m, int n, int k) { return SetShape(m, n, k); }
  int SetShape(int m, int n, int k) { return M = m, N = n, K = k, 0; }
  int SetBufferSpace(int, int, int) { return 0; }
  int EnableBias(bool) { return 0; }
  int64_t GetTiling(TCubeTiling& tiling) {
    int rows = (M + wanted - 1) / wanted;
    rows = (rows + 15) / 16 * 16;
    tiling.M = M, tiling.N = N, tiling.K = K;
    tiling.singleCoreM = rows, tiling.singleCoreN = N;
    tiling.usedCoreNum = (M + rows - 1) / rows;
    return 0;
  }

 private:
  int wanted = 1, M = 0, N = 0, K = 0;
};
}  // namespace matmul_tiling
