// Stand-in for CANN's aclnn: descriptions of tensors that are handed to an operator.
#pragma once
#include <acl/acl.h>

#include <vector>

struct aclTensor {
  std::vector<int64_t> sizes, strides;
  aclDataType type;
  int64_t offset;
  void* data;
};
struct aclIntArray {
  std::vector<int64_t> values;
};
struct aclOpExecutor;

extern "C" {
aclTensor* aclCreateTensor(const int64_t* sizes, uint64_t rank, aclDataType type, const int64_t* strides,
                           int64_t offset, aclFormat format, const int64_t* storage, uint64_t storageRank, void* data);
aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t count);
int aclDestroyTensor(const aclTensor* tensor);
int aclDestroyIntArray(const aclIntArray* values);
}
