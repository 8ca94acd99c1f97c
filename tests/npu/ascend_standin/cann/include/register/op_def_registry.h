// Stand-in for the registration of an operator: what its tiling function sees and sets.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "tiling/platform/platform_ascendc.h"

namespace ge {
using graphStatus = uint32_t;
constexpr graphStatus GRAPH_SUCCESS = 0, GRAPH_FAILED = 1;
enum DataType { DT_FLOAT, DT_FLOAT16, DT_BF16, DT_INT32, DT_INT64 };
enum Format { FORMAT_ND };
}  // namespace ge

namespace gert {
struct Shape {
  std::vector<int64_t> sizes;
  size_t GetDimNum() const { return sizes.size(); }
  int64_t GetDim(size_t axis) const { return sizes.at(axis); }
  void SetDim(size_t axis, int64_t size) { sizes.at(axis) = size; }
  void SetDimNum(size_t rank) { sizes.resize(rank); }
  void AppendDim(int64_t size) { sizes.push_back(size); }
  int64_t GetShapeSize() const {
    int64_t count = 1;
    for (int64_t size : sizes) count *= size;
    return count;
  }
};
struct StorageShape {
  Shape shape;
  const Shape& GetStorageShape() const { return shape; }
  const Shape& GetOriginShape() const { return shape; }
};
struct TilingData {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(4096);
  size_t size = 0;
  void* GetData() { return bytes.data(); }
  size_t GetCapacity() const { return bytes.size(); }
  void SetDataSize(size_t count) { size = count; }
};
struct TilingContext {
  std::vector<StorageShape> inputs, outputs;
  TilingData tiling;
  size_t workspaces[8] = {};
  uint32_t blocks = 1;
  uint64_t key = 0;
  fe::PlatFormInfos platform;
  fe::PlatFormInfos* GetPlatformInfo() { return &platform; }
  const StorageShape* GetInputShape(size_t index) const { return &inputs.at(index); }
  const StorageShape* GetOutputShape(size_t index) const { return &outputs.at(index); }
  TilingData* GetRawTilingData() { return &tiling; }
  size_t* GetWorkspaceSizes(size_t) { return workspaces; }
  void SetBlockDim(uint32_t count) { blocks = count; }
  void SetTilingKey(uint64_t value) { key = value; }
};
struct InferShapeContext {
  std::vector<Shape> inputs, outputs;
  const Shape* GetInputShape(size_t index) const { return &inputs.at(index); }
  Shape* GetOutputShape(size_t index) { return &outputs.at(index); }
};
struct InferDataTypeContext {
  std::vector<ge::DataType> inputs, outputs;
  ge::DataType GetInputDataType(size_t index) const { return inputs.at(index); }
  void SetOutputDataType(size_t index, ge::DataType type) { outputs.at(index) = type; }
};
}  // namespace gert

namespace ops {
enum Option { REQUIRED, OPTIONAL };
struct OpParamDef {
  OpParamDef& ParamType(Option) { return *this; }
  OpParamDef& DataType(std::initializer_list<ge::DataType>) { return *this; }
  OpParamDef& Format(std::initializer_list<ge::Format>) { return *this; }
};
using Tile = ge::graphStatus (*)(gert::TilingContext*);
struct OpAICoreDef {
  Tile tile = nullptr;
  OpAICoreDef& SetTiling(Tile function) { return tile = function, *this; }
  OpAICoreDef& AddConfig(const char*) { return *this; }
};
class OpDef {
 public:
  explicit OpDef(const char*) {}
  OpParamDef& Input(const char*) { return port; }
  OpParamDef& Output(const char*) { return port; }
  OpDef& SetInferShape(ge::graphStatus (*)(gert::InferShapeContext*)) { return *this; }
  OpDef& SetInferDataType(ge::graphStatus (*)(gert::InferDataTypeContext*)) { return *this; }
  OpAICoreDef& AICore() { return core; }

 private:
  OpParamDef port;
  OpAICoreDef core;
};
inline OpDef* registered = nullptr;
inline bool add(OpDef* definition) { return registered = definition, true; }
}  // namespace ops

#define OP_ADD(name) static const bool name##Added = ops::add(new name(#name))
