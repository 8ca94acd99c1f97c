// Stand-in for CANN's acl: what the binding of an operator needs.
#pragma once
#include <cstdint>

typedef void* aclrtStream;
typedef enum { ACL_FORMAT_ND = 2 } aclFormat;
typedef enum {
  ACL_FLOAT = 0, ACL_FLOAT16 = 1, ACL_INT8 = 2, ACL_INT32 = 3, ACL_UINT8 = 4, ACL_INT16 = 6,
  ACL_INT64 = 9, ACL_DOUBLE = 11, ACL_BOOL = 12, ACL_BF16 = 27
} aclDataType;

extern "C" const char* aclGetRecentErrMsg();
