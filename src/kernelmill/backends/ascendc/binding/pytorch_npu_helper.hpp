// EXEC_NPU_CMD(aclnnName, arguments...): call an installed operator on the current stream.
//
// aclnn has two steps: `aclnnNameGetWorkspaceSize(arguments..., &size, &executor)` checks the
// arguments and says how much scratch memory is needed, `aclnnName(scratch, size, executor, stream)`
// enqueues the operator. Tensors, lists of integers, and scalars may be arguments.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <torch/extension.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"

namespace kernelmill {

// The operator that was built with this binding, whatever else is installed.
inline void* open_operators() {
  const char* folder = std::getenv("ASCEND_CUSTOM_OPP_PATH");
  const std::string path = folder ? std::string(folder) + "/op_api/lib/" : "";
  return dlopen((path + "libcust_opapi.so").c_str(), RTLD_LAZY);
}

inline void* symbol(const std::string& name) {
  static void* library = open_operators();
  TORCH_CHECK(library, "the operator is not installed: ", dlerror());
  void* found = dlsym(library, name.c_str());
  TORCH_CHECK(found, name, " is not in libcust_opapi.so: is the operator called so?");
  return found;
}

inline aclDataType type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat: return ACL_FLOAT;
    case at::kHalf: return ACL_FLOAT16;
    case at::kBFloat16: return ACL_BF16;
    case at::kDouble: return ACL_DOUBLE;
    case at::kChar: return ACL_INT8;
    case at::kShort: return ACL_INT16;
    case at::kInt: return ACL_INT32;
    case at::kLong: return ACL_INT64;
    case at::kByte: return ACL_UINT8;
    case at::kBool: return ACL_BOOL;
    default: TORCH_CHECK(false, "no operator takes tensors of this type");
  }
}

inline aclTensor* given(const at::Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  const std::vector<int64_t> storage = {
      static_cast<int64_t>(tensor.storage().nbytes() / tensor.itemsize())};
  return aclCreateTensor(tensor.sizes().data(), tensor.dim(), type_of(tensor),
                         tensor.strides().data(), tensor.storage_offset(), ACL_FORMAT_ND,
                         storage.data(), storage.size(),
                         const_cast<void*>(tensor.storage().data()));
}
inline aclIntArray* given(at::IntArrayRef values) {
  return aclCreateIntArray(values.data(), values.size());
}
inline bool given(bool value) { return value; }
template <typename T>
std::enable_if_t<std::is_integral_v<T>, int64_t> given(T value) { return value; }
template <typename T>
std::enable_if_t<std::is_floating_point_v<T>, double> given(T value) { return value; }

inline void release(aclTensor* tensor) { aclDestroyTensor(tensor); }
inline void release(aclIntArray* values) { aclDestroyIntArray(values); }
template <typename T>
void release(T) {}

template <typename... Given>
void execute_given(const std::string& name, Given... arguments) {
  using Prepare = int (*)(Given..., uint64_t*, aclOpExecutor**);
  using Enqueue = int (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  const auto prepare = reinterpret_cast<Prepare>(symbol(name + "GetWorkspaceSize"));
  int status = prepare(arguments..., &bytes, &executor);
  TORCH_CHECK(status == 0, name, "GetWorkspaceSize failed: ", status, " ", aclGetRecentErrMsg());
  at::Tensor scratch;
  if (bytes > 0) {
    const auto options = at::TensorOptions(at::kPrivateUse1).dtype(at::kByte);
    scratch = at::empty({static_cast<int64_t>(bytes)}, options);
  }
  const aclrtStream stream = c10_npu::getCurrentNPUStream().stream();
  const auto enqueue = reinterpret_cast<Enqueue>(symbol(name));
  status = enqueue(bytes ? scratch.data_ptr() : nullptr, bytes, executor, stream);
  (release(arguments), ...);
  TORCH_CHECK(status == 0, name, " failed: ", status, " ", aclGetRecentErrMsg());
}

template <typename... Arguments>
void execute(const std::string& name, const Arguments&... arguments) {
  execute_given(name, given(arguments)...);
}

}  // namespace kernelmill

#define EXEC_NPU_CMD(function, ...) kernelmill::execute(#function, __VA_ARGS__)
