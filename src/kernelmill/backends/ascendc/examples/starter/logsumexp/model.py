project_json_src = """
[
    {
        "op": "LogsumexpCustom",
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
BEGIN_TILING_DATA_DEF(LogsumexpCustomTilingData)
TILING_DATA_FIELD_DEF(uint32_t, rows);
TILING_DATA_FIELD_DEF(uint32_t, columns);
TILING_DATA_FIELD_DEF(uint32_t, rowsPerCore);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(LogsumexpCustom, LogsumexpCustomTilingData)
}  // namespace optiling
"""

host_operator_src = """
#include <algorithm>
#include <cstdint>

#include "logsumexp_custom_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
  auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
  const auto& shape = context->GetInputShape(0)->GetStorageShape();
  const uint32_t columns = shape.GetDim(shape.GetDimNum() - 1);
  const uint32_t rows = shape.GetShapeSize() / columns;
  const uint32_t cores = std::min(platform.GetCoreNumAiv(), rows);

  LogsumexpCustomTilingData tiling;
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
  context->GetOutputShape(0)->SetDimNum(context->GetInputShape(0)->GetDimNum() - 1);
  return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
  context->SetOutputDataType(0, context->GetInputDataType(0));
  return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class LogsumexpCustom : public OpDef {
 public:
  explicit LogsumexpCustom(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
    this->AICore().SetTiling(optiling::TilingFunc);
    this->AICore().AddConfig("ascend910b");
  }
};

OP_ADD(LogsumexpCustom);
}  // namespace ops
"""

kernel_src = """
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BUFFERS = 2;
constexpr uint32_t FLOATS_IN_BLOCK = 8;

// A row at a time, one number out. An infinite maximum is not subtracted: inf - inf is NaN.
class KernelLogsumexp {
 public:
  __aicore__ inline KernelLogsumexp() {}

  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t columns,
                              uint32_t rowsPerCore) {
    this->columns = columns;
    first = rowsPerCore * GetBlockIdx();
    last = first + rowsPerCore < rows ? first + rowsPerCore : rows;
    xGm.SetGlobalBuffer((__gm__ float*)x, rows * columns);
    yGm.SetGlobalBuffer((__gm__ float*)y, rows);
    const uint32_t padded = (columns + FLOATS_IN_BLOCK - 1) / FLOATS_IN_BLOCK * FLOATS_IN_BLOCK;
    pipe.InitBuffer(xQueue, BUFFERS, padded * sizeof(float));
    pipe.InitBuffer(yQueue, BUFFERS, FLOATS_IN_BLOCK * sizeof(float));
    pipe.InitBuffer(exponentials, padded * sizeof(float));
    pipe.InitBuffer(work, padded * sizeof(float));
    pipe.InitBuffer(folded, FLOATS_IN_BLOCK * sizeof(float));
  }

  __aicore__ inline void Process() {
    for (uint32_t row = first; row < last; ++row) {
      CopyIn(row);
      Compute();
      CopyOut(row);
    }
  }

 private:
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
    LocalTensor<float> raised = exponentials.Get<float>();
    ReduceMax(fold, x, scratch, columns, false);
    const float most = Scalar(fold);
    const float shift = most - most == 0.0f ? most : 0.0f;
    Adds(raised, x, -shift, columns);
    Exp(raised, raised, columns);
    ReduceSum(fold, raised, scratch, columns);
    Ln(fold, fold, 1);
    Adds(y, fold, shift, 1);
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
    DataCopyExtParams copy{1, sizeof(float), 0, 0, 0};
    DataCopyPad(yGm[row], y, copy);
    yQueue.FreeTensor(y);
  }

  TPipe pipe;
  TQue<QuePosition::VECIN, BUFFERS> xQueue;
  TQue<QuePosition::VECOUT, BUFFERS> yQueue;
  TBuf<QuePosition::VECCALC> work, folded, exponentials;
  GlobalTensor<float> xGm, yGm;
  uint32_t columns, first, last;
};

extern "C" __global__ __aicore__ void logsumexp_custom(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                     GM_ADDR tiling) {
  GET_TILING_DATA(data, tiling);
  KernelLogsumexp kernel;
  kernel.Init(x, y, data.rows, data.columns, data.rowsPerCore);
  kernel.Process();
}
"""

python_bind_src = """
#include <torch/extension.h>

#include "pytorch_npu_helper.hpp"

at::Tensor logsumexp_custom(const at::Tensor& x) {
  at::Tensor y = at::empty({x.size(0)}, x.options());
  EXEC_NPU_CMD(aclnnLogsumexpCustom, x, y);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("logsumexp_custom", &logsumexp_custom); }
"""

model_src = """
import custom_ops_lib
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return custom_ops_lib.logsumexp_custom(x.contiguous())
"""
