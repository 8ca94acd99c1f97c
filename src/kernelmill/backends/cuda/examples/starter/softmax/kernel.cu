#include <cfloat>
#include <cstdint>

constexpr int threads = 256;
constexpr int kept = 16;  // values a thread keeps: rows of up to 4096 are read once

template <bool is_max>
__device__ float across_block(float value) {
    __shared__ float parts[threads / 32];
    for (int step = 16; step > 0; step /= 2) {
        const float other = __shfl_xor_sync(~0u, value, step);
        value = is_max ? fmaxf(value, other) : value + other;
    }
    __syncthreads();  // the parts may still be read from the reduction before
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[0];
    for (int i = 1; i < threads / 32; ++i)
        value = is_max ? fmaxf(value, parts[i]) : value + parts[i];
    return value;
}

__global__ void softmax_rows(const float* __restrict__ x, float* __restrict__ y, int64_t columns) {
    const float* in = x + blockIdx.x * columns;
    float* out = y + blockIdx.x * columns;
    float mine[kept];
    float largest = -FLT_MAX;
#pragma unroll
    for (int i = 0; i < kept; ++i) {
        const int64_t at = threadIdx.x + int64_t(i) * threads;
        mine[i] = at < columns ? in[at] : -FLT_MAX;
        largest = fmaxf(largest, mine[i]);
    }
    for (int64_t at = threadIdx.x + int64_t(kept) * threads; at < columns; at += threads)
        largest = fmaxf(largest, in[at]);
    largest = across_block<true>(largest);

    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kept; ++i) {
        mine[i] = threadIdx.x + int64_t(i) * threads < columns ? expf(mine[i] - largest) : 0.0f;
        sum += mine[i];
    }
    for (int64_t at = threadIdx.x + int64_t(kept) * threads; at < columns; at += threads)
        sum += expf(in[at] - largest);
    sum = across_block<false>(sum);

#pragma unroll
    for (int i = 0; i < kept; ++i) {
        const int64_t at = threadIdx.x + int64_t(i) * threads;
        if (at < columns) out[at] = mine[i] / sum;
    }
    for (int64_t at = threadIdx.x + int64_t(kept) * threads; at < columns; at += threads)
        out[at] = expf(in[at] - largest) / sum;
}

extern "C" int softmax_forward(
    const float* x, float* y, int64_t rows, int64_t columns, cudaStream_t stream) {
    softmax_rows<<<rows, threads, 0, stream>>>(x, y, columns);
    return cudaGetLastError();
}
