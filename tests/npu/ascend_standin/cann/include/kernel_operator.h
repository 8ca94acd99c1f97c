// Stand-in for Ascend C: one core at a time on the processor. Sizes of the unified buffer, bounds
// of tensors and the alignment of copies are checked; nothing here says how fast a chip would be.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#define __aicore__
#define __global__
#define __gm__
using GM_ADDR = uint8_t*;

namespace AscendC {

constexpr size_t UNIFIED_BUFFER = 192 << 10, BLOCK_BYTES = 32;

inline thread_local int64_t blockIndex = 0, blockCount = 1;
inline int64_t GetBlockIdx() { return blockIndex; }
inline int64_t GetBlockNum() { return blockCount; }

[[noreturn]] inline void Fault(const char* what) {
  std::fprintf(stderr, "aicore exception: %s\n", what);
  std::abort();
}

enum class QuePosition { VECIN, VECOUT, VECCALC, GM };
using TPosition = QuePosition;
enum class HardEvent { V_S, S_V, MTE2_V, V_MTE2, MTE3_V, V_MTE3, MTE2_S, S_MTE2, S_MTE3, MTE3_S };
using event_t = int32_t;
enum Pipe { PIPE_ALL, PIPE_V, PIPE_S, PIPE_MTE2, PIPE_MTE3 };
template <HardEvent>
inline void SetFlag(event_t) {}
template <HardEvent>
inline void WaitFlag(event_t) {}
template <Pipe>
inline void PipeBarrier() {}

template <typename T>
class GlobalTensor {
 public:
  void SetGlobalBuffer(T* data, uint64_t count) { begin = data, left = count; }
  void SetGlobalBuffer(T* data) { begin = data, left = std::numeric_limits<uint64_t>::max(); }
  GlobalTensor operator[](uint64_t offset) const {
    if (offset > left) Fault("an offset beyond a tensor in global memory");
    GlobalTensor part;
    part.begin = begin + offset, part.left = left - offset;
    return part;
  }
  T GetValue(uint64_t index) const { return *At(index, 1); }
  void SetValue(uint64_t index, T value) { *At(index, 1) = value; }
  T* At(uint64_t index, uint64_t count) const {
    if (index + count > left) Fault("an access beyond a tensor in global memory");
    return begin + index;
  }

 private:
  T* begin = nullptr;
  uint64_t left = 0;
};

template <typename T>
class LocalTensor {
 public:
  LocalTensor() = default;
  LocalTensor(uint8_t* data, size_t bytes) : begin(reinterpret_cast<T*>(data)), left(bytes / sizeof(T)) {}
  LocalTensor operator[](uint32_t offset) const {
    LocalTensor part = *this;
    if (offset > left) Fault("an offset beyond a tensor in the unified buffer");
    part.begin += offset, part.left -= offset;
    return part;
  }
  T GetValue(uint32_t index) const { return *At(index + 1, index); }
  void SetValue(uint32_t index, T value) const { *At(index + 1, index) = value; }
  uint32_t GetSize() const { return left; }
  T* At(size_t count, size_t index = 0) const {
    if (count > left) Fault("an access beyond a tensor in the unified buffer");
    return begin + index;
  }

 private:
  T* begin = nullptr;
  size_t left = 0;
};

inline size_t Rounded(size_t bytes) { return (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES; }

class Piece {
 public:
  explicit Piece(size_t bytes) : content(Rounded(bytes), 0xFF) {}
  template <typename T>
  LocalTensor<T> As() {
    return {content.data(), content.size()};
  }

 private:
  std::vector<uint8_t> content;
};

template <QuePosition, int32_t DEPTH>
class TQue {
 public:
  void Init(uint8_t count, size_t bytes) {
    for (int i = 0; i < count; i++) free.push_back(std::make_shared<Piece>(bytes));
  }
  template <typename T>
  LocalTensor<T> AllocTensor() {
    if (free.empty()) Fault("a queue has no free buffer");
    used.push_back(free.front()), free.pop_front();
    return used.back()->template As<T>();
  }
  template <typename T>
  void EnQue(const LocalTensor<T>&) {
    if (filled == used.size()) Fault("a tensor is enqueued twice");
    filled++;
  }
  template <typename T>
  LocalTensor<T> DeQue() {
    if (filled == taken) Fault("a queue is empty");
    return used[taken++]->template As<T>();
  }
  template <typename T>
  void FreeTensor(const LocalTensor<T>&) {
    if (used.empty()) Fault("a tensor is freed twice");
    free.push_back(used.front()), used.pop_front();
    filled -= filled > 0, taken -= taken > 0;
  }

 private:
  std::deque<std::shared_ptr<Piece>> free, used;
  size_t filled = 0, taken = 0;
};

template <QuePosition>
class TBuf {
 public:
  void Init(size_t bytes) { piece = std::make_shared<Piece>(bytes); }
  template <typename T>
  LocalTensor<T> Get() {
    return piece->As<T>();
  }

 private:
  std::shared_ptr<Piece> piece;
};

class TPipe {
 public:
  template <QuePosition POSITION, int32_t DEPTH>
  void InitBuffer(TQue<POSITION, DEPTH>& queue, uint8_t count, uint32_t bytes) {
    Take(count * Rounded(bytes)), queue.Init(count, bytes);
  }
  template <QuePosition POSITION>
  void InitBuffer(TBuf<POSITION>& buffer, uint32_t bytes) {
    Take(Rounded(bytes)), buffer.Init(bytes);
  }
  event_t FetchEventID(HardEvent) { return 0; }

 private:
  void Take(size_t bytes) {
    taken += bytes;
    if (taken > UNIFIED_BUFFER) Fault("more than 192 KiB of the unified buffer");
  }
  size_t taken = 0;
};
inline thread_local TPipe anyPipe;
inline TPipe* GetTPipePtr() { return &anyPipe; }

struct DataCopyExtParams {
  uint16_t blockCount;
  uint32_t blockLen, srcStride, dstStride, rsv;
  DataCopyExtParams(uint16_t count, uint32_t length, uint32_t source, uint32_t target, uint32_t reserved = 0)
      : blockCount(count), blockLen(length), srcStride(source), dstStride(target), rsv(reserved) {}
};
template <typename T>
struct DataCopyPadExtParams {
  bool isPad;
  uint8_t leftPadding, rightPadding;
  T paddingValue;
};

// Strides of global memory are in bytes, those of the unified buffer in blocks of 32 bytes.
template <typename T>
void DataCopyPad(const LocalTensor<T>& target, const GlobalTensor<T>& source, const DataCopyExtParams& copy,
                 const DataCopyPadExtParams<T>& pad) {
  const size_t count = copy.blockLen / sizeof(T), row = Rounded(copy.blockLen) + copy.dstStride * BLOCK_BYTES;
  for (size_t i = 0; i < copy.blockCount; i++) {
    T* to = target.At((i * row + Rounded(copy.blockLen)) / sizeof(T), i * row / sizeof(T));
    const T* from = source.At(i * (copy.blockLen + copy.srcStride) / sizeof(T), count);
    std::memcpy(to, from, copy.blockLen);
    for (size_t j = count; pad.isPad && j < count + pad.rightPadding; j++) to[j] = pad.paddingValue;
  }
}
template <typename T>
void DataCopyPad(const GlobalTensor<T>& target, const LocalTensor<T>& source, const DataCopyExtParams& copy) {
  const size_t count = copy.blockLen / sizeof(T), row = Rounded(copy.blockLen) + copy.srcStride * BLOCK_BYTES;
  for (size_t i = 0; i < copy.blockCount; i++) {
    const T* from = source.At((i * row) / sizeof(T) + count, i * row / sizeof(T));
    std::memcpy(target.At(i * (copy.blockLen + copy.dstStride) / sizeof(T), count), from, copy.blockLen);
  }
}
template <typename T>
void DataCopy(const LocalTensor<T>& target, const GlobalTensor<T>& source, uint32_t count) {
  if (count * sizeof(T) % BLOCK_BYTES) Fault("a copy that is no multiple of 32 bytes");
  std::memcpy(target.At(count), source.At(0, count), count * sizeof(T));
}
template <typename T>
void DataCopy(const GlobalTensor<T>& target, const LocalTensor<T>& source, uint32_t count) {
  if (count * sizeof(T) % BLOCK_BYTES) Fault("a copy that is no multiple of 32 bytes");
  std::memcpy(target.At(0, count), source.At(count), count * sizeof(T));
}

#define KERNELMILL_UNARY(NAME, CODE)                                                            \
  template <typename T>                                                                         \
  void NAME(const LocalTensor<T>& target, const LocalTensor<T>& source, const int32_t& count) { \
    T* y = target.At(count);                                                                    \
    const T* x = source.At(count);                                                              \
    for (int32_t i = 0; i < count; i++) y[i] = CODE;                                            \
  }
#define KERNELMILL_BINARY(NAME, CODE)                                                         \
  template <typename T>                                                                       \
  void NAME(const LocalTensor<T>& target, const LocalTensor<T>& left, const LocalTensor<T>& right, \
            const int32_t& count) {                                                           \
    T* y = target.At(count);                                                                  \
    const T *a = left.At(count), *b = right.At(count);                                        \
    for (int32_t i = 0; i < count; i++) y[i] = CODE;                                          \
  }
#define KERNELMILL_SCALAR(NAME, CODE)                                                     \
  template <typename T>                                                                   \
  void NAME(const LocalTensor<T>& target, const LocalTensor<T>& source, const T& scalar,  \
            const int32_t& count) {                                                       \
    T* y = target.At(count);                                                              \
    const T* x = source.At(count);                                                        \
    for (int32_t i = 0; i < count; i++) y[i] = CODE;                                      \
  }
KERNELMILL_UNARY(Exp, std::exp(x[i]))
KERNELMILL_UNARY(Ln, std::log(x[i]))
KERNELMILL_UNARY(Abs, std::fabs(x[i]))
KERNELMILL_UNARY(Sqrt, std::sqrt(x[i]))
KERNELMILL_UNARY(Reciprocal, T(1) / x[i])
KERNELMILL_UNARY(Relu, x[i] > T(0) ? x[i] : T(0))
KERNELMILL_BINARY(Add, a[i] + b[i])
KERNELMILL_BINARY(Sub, a[i] - b[i])
KERNELMILL_BINARY(Mul, a[i] * b[i])
KERNELMILL_BINARY(Div, a[i] / b[i])
KERNELMILL_BINARY(Max, a[i] > b[i] ? a[i] : b[i])
KERNELMILL_BINARY(Min, a[i] < b[i] ? a[i] : b[i])
KERNELMILL_SCALAR(Adds, x[i] + scalar)
KERNELMILL_SCALAR(Muls, x[i] * scalar)
KERNELMILL_SCALAR(Maxs, x[i] > scalar ? x[i] : scalar)
KERNELMILL_SCALAR(Mins, x[i] < scalar ? x[i] : scalar)

template <typename T>
void Duplicate(const LocalTensor<T>& target, const T& value, const int32_t& count) {
  T* y = target.At(count);
  for (int32_t i = 0; i < count; i++) y[i] = value;
}
template <typename T>
void ReduceSum(const LocalTensor<T>& target, const LocalTensor<T>& source, const LocalTensor<T>&, const int32_t count) {
  std::vector<T> parts(source.At(count), source.At(count) + count);
  for (size_t n = parts.size(); n > 1; n = (n + 1) / 2)
    for (size_t i = 0; i < n / 2; i++) parts[i] += parts[(n + 1) / 2 + i];
  target.At(1)[0] = parts[0];
}
template <typename T>
void ReduceMax(const LocalTensor<T>& target, const LocalTensor<T>& source, const LocalTensor<T>&, const int32_t count,
               bool = false) {
  const T* x = source.At(count);
  T most = x[0];
  for (int32_t i = 1; i < count; i++) most = x[i] > most || x[i] != x[i] ? x[i] : most;
  target.At(1)[0] = most;
}

}  // namespace AscendC

inline uint8_t* GetSysWorkSpacePtr() { return nullptr; }
#define GET_TILING_DATA(data, address) \
  KERNELMILL_TILING data;              \
  std::memcpy(&data, address, sizeof data)
