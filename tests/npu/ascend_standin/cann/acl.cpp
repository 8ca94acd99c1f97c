#include <aclnn/acl_meta.h>

extern "C" {
const char* aclGetRecentErrMsg() { return ""; }
aclTensor* aclCreateTensor(const int64_t* sizes, uint64_t rank, aclDataType type, const int64_t* strides,
                           int64_t offset, aclFormat, const int64_t*, uint64_t, void* data) {
  return new aclTensor{{sizes, sizes + rank}, {strides, strides + rank}, type, offset, data};
}
aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t count) { return new aclIntArray{{values, values + count}}; }
int aclDestroyTensor(const aclTensor* tensor) {
  delete tensor;
  return 0;
}
int aclDestroyIntArray(const aclIntArray* values) {
  delete values;
  return 0;
}
}
