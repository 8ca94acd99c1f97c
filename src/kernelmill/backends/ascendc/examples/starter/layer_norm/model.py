project_json_src = """
[
    {
        "op": "LayerNormCustom",
        "language": "cpp",
        "input_desc": [
            {"name": "x", "param_type": "required", "format": ["ND"], "type": ["float"]},
            {"name": "gain", "param_type": "required", "format": ["ND"], "type": ["float"]},
            {"name": "shift", "param_type": "required", "format": ["ND"], "type": ["float"]}
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
BEGIN_TILING_DATA_DEF(LayerNormCustomTilingData)
TILING_DATA_FIELD_DEF(uint32_t, rows);
TILING_DATA_FIELD_DEF(uint32_t, columns);
TILING_DATA_FIELD_DEF(uint32_t, rowsPerCore);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(LayerNormCustom, LayerNormCustomTilingData)
}  // namespace optiling
"""

host_operator_src = """
#include <algorithm>
#include <cstdint>

#include "layer_norm_custom_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
  auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
  const auto& shape = context->GetInputShape(0)->GetStorageShape();
  const uint32_t columns = shape.GetDim(shape.GetDimNum() - 1);
  const uint32_t rows = shape.GetShapeSize() / columns;
  const uint32_t cores = std::min(platform.GetCoreNumAiv(), rows);

  LayerNormCustomTilingData tiling;
  tiling.set_rows(rows);
  tiling.set_columns(columns);
  tiling.set_rowsPerCore((rows + cores - 1) / cores);
  context->SetBlockDim(cores);
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
class LayerNormCustom : public OpDef {
 public:
  explicit LayerNormCustom(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Input("gain").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Input("shift").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
    this->AICore().SetTiling(optiling::TilingFunc);
    this->AICore().AddConfig("ascend910b");
  }
};

OP_ADD(LayerNormCustom);
}  // namespace ops
"""

kernel_src = """
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BUFFERS = 2;
constexpr uint32_t FLOATS_IN_BLOCK = 8;
constexpr float EPSILON = 1e-5f;

// A row at a time. Gain and shift are read once per core, and stay in the unified buffer.
class KernelLayerNorm {
 public:
  __aicore__ inline KernelLayerNorm() {}

  __aicore__ inline void Init(GM_ADDR x, GM_ADDR gain, GM_ADDR shift, GM_ADDR y, uint32_t rows,
                              uint32_t columns, uint32_t rowsPerCore) {
    this->columns = columns;
    first = rowsPerCore * GetBlockIdx();
    last = first + rowsPerCore < rows ? first + rowsPerCore : rows;
    xGm.SetGlobalBuffer((__gm__ float*)x, rows * columns);
    yGm.SetGlobalBuffer((__gm__ float*)y, rows * columns);
    const uint32_t padded = (columns + FLOATS_IN_BLOCK - 1) / FLOATS_IN_BLOCK * FLOATS_IN_BLOCK;
    pipe.InitBuffer(xQueue, BUFFERS, padded * sizeof(float));
    pipe.InitBuffer(yQueue, BUFFERS, padded * sizeof(float));
    pipe.InitBuffer(work, padded * sizeof(float));
    pipe.InitBuffer(squares, padded * sizeof(float));
    pipe.InitBuffer(folded, FLOATS_IN_BLOCK * sizeof(float));
    pipe.InitBuffer(gains, padded * sizeof(float));
    pipe.InitBuffer(shifts, padded * sizeof(float));
    Keep(gains.Get<float>(), gain);
    Keep(shifts.Get<float>(), shift);
    // The vector unit must not read them before they have arrived.
    const event_t arrived = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::MTE2_V));
    SetFlag<HardEvent::MTE2_V>(arrived);
    WaitFlag<HardEvent::MTE2_V>(arrived);
  }

  __aicore__ inline void Process() {
    for (uint32_t row = first; row < last; ++row) {
      CopyIn(row);
      Compute();
      CopyOut(row);
    }
  }

 private:
  __aicore__ inline void Keep(const LocalTensor<float>& target, GM_ADDR source) {
    GlobalTensor<float> all;
    all.SetGlobalBuffer((__gm__ float*)source, columns);
    DataCopyExtParams copy{1, static_cast<uint32_t>(columns * sizeof(float)), 0, 0, 0};
    DataCopyPadExtParams<float> pad{false, 0, 0, 0};
    DataCopyPad(target, all, copy, pad);
  }

  __aicore__ inline void CopyIn(uint32_t row) {
    LocalTensor<float> x = xQueue.AllocTensor<float>();
    DataCopyExtParams copy{1, static_cast<uint32_t>(columns * sizeof(float)), 0, 0, 0};
    DataCopyPadExtParams<float> pad{false, 0, 0, 0};
    DataCopyPad(x, xGm[row * columns], copy, pad);
    xQueue.EnQue(x);
  }

  __aicore__ inline void Compute() {
    LocalTensor<float> x = xQueue.DeQue<float>();
    LocalTensor<float> y = yQueue.AllocTensor<float>();
    LocalTensor<float> scratch = work.Get<float>();
    LocalTensor<float> fold = folded.Get<float>();
    LocalTensor<float> square = squares.Get<float>();
    ReduceSum(fold, x, scratch, columns);
    Adds(y, x, -Scalar(fold) / columns, columns);
    Mul(square, y, y, columns);
    ReduceSum(fold, square, scratch, columns);
    Muls(fold, fold, 1.0f / columns, 1);
    Adds(fold, fold, EPSILON, 1);
    Sqrt(fold, fold, 1);
    Muls(y, y, 1.0f / Scalar(fold), columns);
    Mul(y, y, gains.Get<float>(), columns);
    Add(y, y, shifts.Get<float>(), columns);
    yQueue.EnQue(y);
    xQueue.FreeTensor(x);
  }

  // The scalar unit must not read before the vector unit has written, nor the other way round.
  __aicore__ inline float Scalar(const LocalTensor<float>& tensor) {
    const event_t written = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_S));
    SetFlag<HardEvent::V_S>(written);
    WaitFlag<HardEvent::V_S>(written);
    const float value = tensor.GetValue(0);
    const event_t read = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::S_V));
    SetFlag<HardEvent::S_V>(read);
    WaitFlag<HardEvent::S_V>(read);
    return value;
  }

  __aicore__ inline void CopyOut(uint32_t row) {
    LocalTensor<float> y = yQueue.DeQue<float>();
    DataCopyExtParams copy{1, static_cast<uint32_t>(columns * sizeof(float)), 0, 0, 0};
    DataCopyPad(yGm[row * columns], y, copy);
    yQueue.FreeTensor(y);
  }

  TPipe pipe;
  TQue<QuePosition::VECIN, BUFFERS> xQueue;
  TQue<QuePosition::VECOUT, BUFFERS> yQueue;
  TBuf<QuePosition::VECCALC> work, folded, squares, gains, shifts;
  GlobalTensor<float> xGm, yGm;
  uint32_t columns, first, last;
};

extern "C" __global__ __aicore__ void layer_norm_custom(GM_ADDR x, GM_ADDR gain, GM_ADDR shift,
                                                        GM_ADDR y, GM_ADDR workspace,
                                                        GM_ADDR tiling) {
  GET_TILING_DATA(data, tiling);
  KernelLayerNorm kernel;
  kernel.Init(x, gain, shift, y, data.rows, data.columns, data.rowsPerCore);
  kernel.Process();
}
"""

python_bind_src = """
#include <torch/extension.h>

#include "pytorch_npu_helper.hpp"

at::Tensor layer_norm_custom(const at::Tensor& x, const at::Tensor& gain,
                             const at::Tensor& shift) {
  at::Tensor y = at::empty_like(x);
  EXEC_NPU_CMD(aclnnLayerNormCustom, x, gain, shift, y);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("layer_norm_custom", &layer_norm_custom); }
"""

model_src = """
import custom_ops_lib
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        norm = self.norm
        return custom_ops_lib.layer_norm_custom(x.contiguous(), norm.weight, norm.bias)
"""
