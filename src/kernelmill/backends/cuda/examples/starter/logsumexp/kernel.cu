#include <cfloat>
#include <cmath>
#include <cstdint>

constexpr int threads = 256;
constexpr int each = 8;  // independent loads before the first use

// A maximum, and the sum of the exponentials below it.
struct Part {
    float largest;
    float sum;
};

__device__ __forceinline__ float finite(float largest) { return isinf(largest) ? 0.0f : largest; }

__device__ __forceinline__ Part joined(Part a, Part b) {
    const float largest = fmaxf(a.largest, b.largest), shift = finite(largest);
    return {largest, a.sum * expf(a.largest - shift) + b.sum * expf(b.largest - shift)};
}

__global__ void logsumexp_rows(const float* __restrict__ x, float* __restrict__ y, int64_t columns) {
    __shared__ Part parts[threads / 32];
    const float* in = x + blockIdx.x * columns;
    Part mine = {-FLT_MAX, 0.0f};
    for (int64_t start = threadIdx.x; start < columns; start += threads * each) {
        float value[each];
        float largest = mine.largest;
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const int64_t at = start + i * threads;
            value[i] = at < columns ? in[at] : -FLT_MAX;
            largest = fmaxf(largest, value[i]);
        }
        const float shift = finite(largest);
        mine.sum *= expf(mine.largest - shift);
        mine.largest = largest;
#pragma unroll
        for (int i = 0; i < each; ++i)
            if (start + i * threads < columns) mine.sum += expf(value[i] - shift);
    }
    for (int step = 16; step > 0; step /= 2)
        mine = joined(
            mine, {__shfl_xor_sync(~0u, mine.largest, step), __shfl_xor_sync(~0u, mine.sum, step)});
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < threads / 32; ++i) mine = joined(mine, parts[i]);
        y[blockIdx.x] = finite(mine.largest) + logf(mine.sum);
    }
}

extern "C" int logsumexp_forward(
    const float* x, float* y, int64_t rows, int64_t columns, cudaStream_t stream) {
    logsumexp_rows<<<rows, threads, 0, stream>>>(x, y, columns);
    return cudaGetLastError();
}
