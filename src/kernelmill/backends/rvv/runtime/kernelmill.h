// What a kernel is given. The build puts this file beside kernel.cpp.
#ifndef KERNELMILL_H
#define KERNELMILL_H

#include <stdint.h>

struct Tensor {
    void* data;  // contiguous, row-major, aligned to 64 bytes
    int64_t rank;
    const int64_t* sizes;
};

#ifdef __cplusplus
extern "C"
#endif
    void
    model_new(const struct Tensor* inputs, const struct Tensor* state, struct Tensor* outputs);

#endif
