project_json_src = """
[
    {
        "op": "MatmulCustom",
        "language": "cpp",
        "input_desc": [
            {"name": "a", "param_type": "required", "format": ["ND"], "type": ["float"]},
            {"name": "b", "param_type": "required", "format": ["ND"], "type": ["float"]}
        ],
        "output_desc": [
            {"name": "c", "param_type": "required", "format": ["ND"], "type": ["float"]}
        ]
    }
]
"""

host_tiling_src = """
#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(MatmulCustomTilingData)
TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, cube);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(MatmulCustom, MatmulCustomTilingData)
}  // namespace optiling
"""

host_operator_src = """
#include <cstdint>

#include "matmul_custom_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
// The library chooses the part of the result that every cube core computes.
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
  using namespace matmul_tiling;
  auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
  const auto& a = context->GetInputShape(0)->GetOriginShape();
  const auto& b = context->GetInputShape(1)->GetOriginShape();
  const int32_t m = a.GetDim(0), k = a.GetDim(1), n = b.GetDim(1);

  MultiCoreMatmulTiling choice(platform);
  choice.SetDim(platform.GetCoreNumAic());
  choice.SetAType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
  choice.SetBType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
  choice.SetCType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
  choice.SetOrgShape(m, n, k);
  choice.SetShape(m, n, k);
  choice.SetBufferSpace(-1, -1, -1);
  MatmulCustomTilingData tiling;
  if (choice.GetTiling(tiling.cube) == -1) return ge::GRAPH_FAILED;

  context->SetBlockDim(tiling.cube.get_usedCoreNum());
  tiling.SaveToBuffer(context->GetRawTilingData()->GetData(),
                      context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
  context->GetWorkspaceSizes(1)[0] = platform.GetLibApiWorkSpaceSize();
  return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
  *context->GetOutputShape(0) = *context->GetInputShape(0);
  context->GetOutputShape(0)->SetDim(1, context->GetInputShape(1)->GetDim(1));
  return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
  context->SetOutputDataType(0, context->GetInputDataType(0));
  return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class MatmulCustom : public OpDef {
 public:
  explicit MatmulCustom(const char* name) : OpDef(name) {
    this->Input("a").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Input("b").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Output("c").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
    this->AICore().SetTiling(optiling::TilingFunc);
    this->AICore().AddConfig("ascend910b");
  }
};

OP_ADD(MatmulCustom);
}  // namespace ops
"""

kernel_src = """
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;

// Every cube core computes one part of the result. Parts at the lower and right edge are smaller.
extern "C" __global__ __aicore__ void matmul_custom(GM_ADDR a, GM_ADDR b, GM_ADDR c,
                                                    GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(data, tiling);
  const TCubeTiling& cube = data.cube;
  const int32_t rows = (cube.M + cube.singleCoreM - 1) / cube.singleCoreM;
  const int32_t row = GetBlockIdx() % rows * cube.singleCoreM;
  const int32_t column = GetBlockIdx() / rows * cube.singleCoreN;

  GlobalTensor<float> aGm, bGm, cGm;
  aGm.SetGlobalBuffer((__gm__ float*)a, cube.M * cube.K);
  bGm.SetGlobalBuffer((__gm__ float*)b, cube.K * cube.N);
  cGm.SetGlobalBuffer((__gm__ float*)c, cube.M * cube.N);

  TPipe pipe;
  matmul::Matmul<matmul::MatmulType<TPosition::GM, CubeFormat::ND, float>,
                 matmul::MatmulType<TPosition::GM, CubeFormat::ND, float>,
                 matmul::MatmulType<TPosition::GM, CubeFormat::ND, float>> product;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), product, &cube);
  product.SetTensorA(aGm[row * cube.K]);
  product.SetTensorB(bGm[column]);
  const int32_t rowsLeft = cube.M - row, columnsLeft = cube.N - column;
  product.SetTail(rowsLeft < cube.singleCoreM ? rowsLeft : cube.singleCoreM,
                  columnsLeft < cube.singleCoreN ? columnsLeft : cube.singleCoreN);
  product.IterateAll(cGm[row * cube.N + column]);
  product.End();
}
"""

python_bind_src = """
#include <torch/extension.h>

#include "pytorch_npu_helper.hpp"

at::Tensor matmul_custom(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor c = at::empty({a.size(0), b.size(1)}, a.options());
  EXEC_NPU_CMD(aclnnMatmulCustom, a, b, c);
  return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("matmul_custom", &matmul_custom); }
"""

model_src = """
import custom_ops_lib
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return custom_ops_lib.matmul_custom(a.contiguous(), b.contiguous())
"""
