#include <cstdint>

constexpr int tile = 128;    // rows and columns of the result a block computes
constexpr int depth = 8;     // of the panels that lie in shared memory
constexpr int side = 8;      // rows and columns of the result a thread keeps in registers
constexpr int threads = (tile / side) * (tile / side);
constexpr int each = tile * depth / threads;  // values of a panel a thread loads

// Panels of a and b go through registers into shared memory, one step ahead of their use.
__global__ void __launch_bounds__(threads) matmul_tiles(
    const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int64_t m,
    int64_t n, int64_t k) {
    __shared__ float left[2][depth][tile + 4];
    __shared__ float right[2][depth][tile];
    const int64_t top = blockIdx.y * int64_t(tile), edge = blockIdx.x * int64_t(tile);
    const int row = threadIdx.x / (tile / side) * side, column = threadIdx.x % (tile / side) * 4;
    float next_left[each], next_right[each];
    float total[side][side] = {};

    const auto fetch = [&](int64_t start) {
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const int at = threadIdx.x + i * threads;
            const int64_t r = top + at / depth, inner = start + at % depth;
            next_left[i] = r < m && inner < k ? a[r * k + inner] : 0.0f;
            const int64_t step = start + at / tile, col = edge + at % tile;
            next_right[i] = step < k && col < n ? b[step * n + col] : 0.0f;
        }
    };
    const auto put = [&](int stage) {
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const int at = threadIdx.x + i * threads;
            left[stage][at % depth][at / depth] = next_left[i];
            right[stage][at / tile][at % tile] = next_right[i];
        }
    };

    fetch(0);
    put(0);
    __syncthreads();
    int stage = 0;
    for (int64_t start = 0; start < k; start += depth) {
        const bool more = start + depth < k;
        if (more) fetch(start + depth);
#pragma unroll
        for (int step = 0; step < depth; ++step) {
            float x[side], y[side];
#pragma unroll
            for (int i = 0; i < side; ++i) x[i] = left[stage][step][row + i];
#pragma unroll
            for (int j = 0; j < side; ++j) y[j] = right[stage][step][column + j % 4 + j / 4 * 64];
#pragma unroll
            for (int i = 0; i < side; ++i)
#pragma unroll
                for (int j = 0; j < side; ++j) total[i][j] += x[i] * y[j];
        }
        if (more) put(1 - stage);
        __syncthreads();
        stage = 1 - stage;
    }
#pragma unroll
    for (int i = 0; i < side; ++i)
#pragma unroll
        for (int j = 0; j < side; ++j) {
            const int64_t r = top + row + i, col = edge + column + j % 4 + j / 4 * 64;
            if (r < m && col < n) c[r * n + col] = total[i][j];
        }
}

extern "C" int matmul_forward(
    const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k,
    cudaStream_t stream) {
    const dim3 grid((n + tile - 1) / tile, (m + tile - 1) / tile);
    matmul_tiles<<<grid, threads, 0, stream>>>(a, b, c, m, n, k);
    return cudaGetLastError();
}
