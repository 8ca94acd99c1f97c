// Stand-in: the data that a tiling function hands to its kernel, as one plain structure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

struct TCubeTiling {
  int32_t M = 0, N = 0, K = 0, singleCoreM = 0, singleCoreN = 0, usedCoreNum = 0;
  int32_t get_usedCoreNum() const { return usedCoreNum; }
};

#define BEGIN_TILING_DATA_DEF(name)                                                          \
  struct name {                                                                              \
    void SaveToBuffer(void* buffer, size_t capacity) const {                                 \
      std::memcpy(buffer, this, sizeof *this < capacity ? sizeof *this : capacity);          \
    }                                                                                        \
    size_t GetDataSize() const { return sizeof *this; }
#define TILING_DATA_FIELD_DEF(type, name) \
  type name = 0;                          \
  void set_##name(type value) { name = value; }
#define TILING_DATA_FIELD_DEF_STRUCT(type, name) type name;
#define END_TILING_DATA_DEF }
#define REGISTER_TILING_DATA_CLASS(operation, name) using Registered##operation = name;
