#include <cstdint>

constexpr int warps = 8;
constexpr int kept = 8;  // values a lane keeps: rows of up to 256 are read once

__device__ __forceinline__ float across_warp(float value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    return value;
}

// A warp for a row: rows are short, and no two warps have anything to tell each other.
__global__ void layer_norm_rows(
    const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
    float* __restrict__ y, int64_t rows, int64_t columns, float eps) {
    const int lane = threadIdx.x % 32;
    const int64_t row = blockIdx.x * int64_t(warps) + threadIdx.x / 32;
    if (row >= rows) return;
    const float* in = x + row * columns;
    float* out = y + row * columns;

    float mine[kept];
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kept; ++i) {
        mine[i] = lane + i * 32 < columns ? in[lane + i * 32] : 0.0f;
        sum += mine[i];
    }
    for (int64_t at = lane + kept * 32; at < columns; at += 32) sum += in[at];
    const float mean = across_warp(sum) / columns;

    float squares = 0.0f;
#pragma unroll
    for (int i = 0; i < kept; ++i) {
        mine[i] -= mean;
        if (lane + i * 32 < columns) squares += mine[i] * mine[i];
    }
    for (int64_t at = lane + kept * 32; at < columns; at += 32)
        squares += (in[at] - mean) * (in[at] - mean);
    const float scale = 1.0f / sqrtf(across_warp(squares) / columns + eps);

#pragma unroll
    for (int i = 0; i < kept; ++i) {
        const int at = lane + i * 32;
        if (at < columns) out[at] = mine[i] * scale * weight[at] + bias[at];
    }
    for (int64_t at = lane + kept * 32; at < columns; at += 32)
        out[at] = (in[at] - mean) * scale * weight[at] + bias[at];
}

extern "C" int layer_norm_forward(
    const float* x, const float* weight, const float* bias, float* y, int64_t rows,
    int64_t columns, float eps, cudaStream_t stream) {
    layer_norm_rows<<<(rows + warps - 1) / warps, warps * 32, 0, stream>>>(
        x, weight, bias, y, rows, columns, eps);
    return cudaGetLastError();
}
