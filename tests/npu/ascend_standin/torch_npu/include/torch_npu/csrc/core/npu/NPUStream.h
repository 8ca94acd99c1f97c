// Stand-in: the simulated accelerator has one stream, and is idle after every call.
#pragma once
#include <acl/acl.h>

namespace c10_npu {
struct NPUStream {
  aclrtStream stream() const { return nullptr; }
};
inline NPUStream getCurrentNPUStream() { return {}; }
}  // namespace c10_npu
