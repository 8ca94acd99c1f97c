project_json_src = """
[
    {
        "op": "GeluCustom",
        "language": "cpp",
        "input_desc": [
            {"name": "x", "param_type": "required", "format": ["ND"], "type": ["float"]}
        ],
        "output_desc": [
            {"name": "y", "param_type": "required", "format": ["ND"], "type": ["float"]}
        ]
    }
]
"""

host_tiling_src = """
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(GeluCustomTilingData)
TILING_DATA_FIELD_DEF(uint32_t, total);
TILING_DATA_FIELD_DEF(uint32_t, perCore);
TILING_DATA_FIELD_DEF(uint32_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(GeluCustom, GeluCustomTilingData)
}  // namespace optiling
"""

host_operator_src = """
#include <algorithm>
#include <cstdint>

#include "gelu_custom_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
// x and y, two buffers each, and one for what comes between.
constexpr uint32_t TILES_IN_UB = 5;
constexpr uint32_t BLOCK_BYTES = 256;
constexpr uint32_t LEAST_A_CORE = 2048;

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
  auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
  uint64_t ub = 0;
  platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, ub);
  const uint32_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
  const uint32_t wanted = std::max(1u, (total + LEAST_A_CORE - 1) / LEAST_A_CORE);
  const uint32_t cores = std::min(platform.GetCoreNumAiv(), wanted);
  // Whole vector repeats a core and a tile, so that only the very last piece is ragged.
  const uint32_t step = BLOCK_BYTES / sizeof(float);
  const uint32_t perCore = ((total + cores - 1) / cores + step - 1) / step * step;
  const uint32_t tile = ub / TILES_IN_UB / BLOCK_BYTES * step;

  GeluCustomTilingData tiling;
  tiling.set_total(total);
  tiling.set_perCore(perCore);
  tiling.set_tile(tile);
  context->SetBlockDim((total + perCore - 1) / perCore);
  tiling.SaveToBuffer(context->GetRawTilingData()->GetData(),
                      context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
  context->GetWorkspaceSizes(1)[0] = 0;
  return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
  *context->GetOutputShape(0) = *context->GetInputShape(0);
  return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
  context->SetOutputDataType(0, context->GetInputDataType(0));
  return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class GeluCustom : public OpDef {
 public:
  explicit GeluCustom(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
    this->AICore().SetTiling(optiling::TilingFunc);
    this->AICore().AddConfig("ascend910b");
  }
};

OP_ADD(GeluCustom);
}  // namespace ops
"""

kernel_src = """
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BUFFERS = 2;

// GELU in its tanh form, written as x / (1 + exp(-2u)): one exponential and no tanh.
class KernelGelu {
 public:
  __aicore__ inline KernelGelu() {}

  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t total, uint32_t perCore,
                              uint32_t tile) {
    const uint32_t start = perCore * GetBlockIdx();
    count = total - start < perCore ? total - start : perCore;
    this->tile = tile;
    xGm.SetGlobalBuffer((__gm__ float*)x + start, count);
    yGm.SetGlobalBuffer((__gm__ float*)y + start, count);
    pipe.InitBuffer(xQueue, BUFFERS, tile * sizeof(float));
    pipe.InitBuffer(yQueue, BUFFERS, tile * sizeof(float));
    pipe.InitBuffer(between, tile * sizeof(float));
  }

  __aicore__ inline void Process() {
    for (uint32_t at = 0; at < count; at += tile) {
      const uint32_t length = count - at < tile ? count - at : tile;
      CopyIn(at, length);
      Compute(length);
      CopyOut(at, length);
    }
  }

 private:
  __aicore__ inline void CopyIn(uint32_t at, uint32_t length) {
    LocalTensor<float> x = xQueue.AllocTensor<float>();
    DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
    DataCopyPadExtParams<float> pad{false, 0, 0, 0};
    DataCopyPad(x, xGm[at], copy, pad);
    xQueue.EnQue(x);
  }

  __aicore__ inline void Compute(uint32_t length) {
    LocalTensor<float> x = xQueue.DeQue<float>();
    LocalTensor<float> y = yQueue.AllocTensor<float>();
    LocalTensor<float> u = between.Get<float>();
    Mul(u, x, x, length);
    Muls(u, u, 0.044715f, length);
    Adds(u, u, 1.0f, length);
    Mul(u, u, x, length);
    Muls(u, u, -1.5957691216057308f, length);
    Exp(u, u, length);
    Adds(u, u, 1.0f, length);
    Div(y, x, u, length);
    yQueue.EnQue(y);
    xQueue.FreeTensor(x);
  }

  __aicore__ inline void CopyOut(uint32_t at, uint32_t length) {
    LocalTensor<float> y = yQueue.DeQue<float>();
    DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
    DataCopyPad(yGm[at], y, copy);
    yQueue.FreeTensor(y);
  }

  TPipe pipe;
  TQue<QuePosition::VECIN, BUFFERS> xQueue;
  TQue<QuePosition::VECOUT, BUFFERS> yQueue;
  TBuf<QuePosition::VECCALC> between;
  GlobalTensor<float> xGm, yGm;
  uint32_t count, tile;
};

extern "C" __global__ __aicore__ void gelu_custom(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                  GM_ADDR tiling) {
  GET_TILING_DATA(data, tiling);
  KernelGelu kernel;
  kernel.Init(x, y, data.total, data.perCore, data.tile);
  kernel.Process();
}
"""

python_bind_src = """
#include <torch/extension.h>

#include "pytorch_npu_helper.hpp"

at::Tensor gelu_custom(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  EXEC_NPU_CMD(aclnnGeluCustom, x, y);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("gelu_custom", &gelu_custom); }
"""

model_src = """
import custom_ops_lib
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return custom_ops_lib.gelu_custom(x.contiguous())
"""
