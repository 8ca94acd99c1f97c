#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

typedef float vec __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
constexpr int64_t lanes = sizeof(vec) / sizeof(float);

// A tile of the product is summed in registers: 12 x 2 vectors where there are 32 of them, 6 x 2
// where 16.
constexpr int64_t tile_rows = sizeof(vec) == 32 ? 6 : 12;
constexpr int64_t tile_columns = 2 * lanes;
constexpr int64_t block_rows = 4 * tile_rows;  // rows that share a panel of the weight while in L1

struct alignas(sizeof(vec)) Packed {
    float x[tile_columns];
};

// out[rows x tile_columns] = A[rows x k] * panel. The row count is a constant, so that the loops
// over it unroll and the sums are registers.
template <int64_t rows>
static inline void tile(const float* a, int64_t k, const Packed* panel, float* out,
                        int64_t stride) {
    vec sum[rows][2] = {};
    for (int64_t p = 0; p < k; ++p) {
        vec b[2];
        std::memcpy(&b[0], panel[p].x, sizeof(vec));
        std::memcpy(&b[1], panel[p].x + lanes, sizeof(vec));
#pragma GCC unroll 16
        for (int64_t i = 0; i < rows; ++i) {
            sum[i][0] += a[i * k + p] * b[0];
            sum[i][1] += a[i * k + p] * b[1];
        }
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < rows; ++i) {
        std::memcpy(out + i * stride, &sum[i][0], sizeof(vec));
        std::memcpy(out + i * stride + lanes, &sum[i][1], sizeof(vec));
    }
}

// x * Phi(x). Phi(x) - 1/2 is odd, so it is x times a polynomial in x*x; the variable is mapped to
// [-1, 1] because the powers of x*x alone would cancel badly. Past the limit Phi rounds to 0 or 1.
static inline float gelu(float x) {
    constexpr float limit = 5.4f;
    constexpr float c[] = {
        1.309281141e-01f,  -6.532805413e-02f, 4.849959165e-02f,  -3.920681402e-02f,
        3.211659566e-02f,  -2.574645728e-02f, 1.964514330e-02f,  -1.396332029e-02f,
        9.651197121e-03f,  -6.715337746e-03f, 3.658920759e-03f,  -1.186410780e-03f,
        8.749350091e-04f,  -1.028368715e-03f, 3.928583756e-04f};
    const float t = x * x * (2.0f / (limit * limit)) - 1.0f;
    float p = c[14];
    for (int i = 13; i >= 0; --i) p = p * t + c[i];
    const float y = x * (0.5f + x * p);
    return x > limit ? x : x < -limit ? 0.0f : y;
}

// One row of the output from one row of the product.
static inline void finish(const float* x, const float* product, const float* bias,
                          const float* gain, float* y, int64_t features, float eps) {
    float squares = 0.0f;
#pragma omp simd simdlen(lanes) reduction(+ : squares)
    for (int64_t j = 0; j < features; ++j) {
        const float h = x[j] + gelu(product[j] + bias[j]);
        y[j] = h;
        squares += h * h;
    }
    const float scale = 1.0f / std::sqrt(squares / features + eps);
#pragma omp simd simdlen(lanes)
    for (int64_t j = 0; j < features; ++j) y[j] *= scale * gain[j];
}

extern "C" void linear_gelu_residual_norm_forward(const float* x, const float* weight,
                                                  const float* bias, const float* gain, float* y,
                                                  int64_t batch, int64_t features, float eps) {
    const int64_t panels = (features + tile_columns - 1) / tile_columns;
    const int64_t stride = panels * tile_columns;
    const auto packed = std::make_unique<Packed[]>(panels * features);
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int64_t panel = 0; panel < panels; ++panel) {
            const int64_t end = std::min(features, (panel + 1) * tile_columns);
            for (int64_t j = panel * tile_columns; j < end; ++j)
                for (int64_t p = 0; p < features; ++p)
                    packed[panel * features + p].x[j % tile_columns] = weight[j * features + p];
        }

        // The product of a block of rows stays in cache until the rows are finished.
        std::vector<float> product(block_rows * stride);
#pragma omp for schedule(static)
        for (int64_t first = 0; first < batch; first += block_rows) {
            const int64_t rows = std::min(block_rows, batch - first);
            for (int64_t panel = 0; panel < panels; ++panel) {
                const Packed* w = &packed[panel * features];
                const float* a = x + first * features;
                float* out = &product[panel * tile_columns];
                int64_t i = 0;
                for (; i + tile_rows <= rows; i += tile_rows)
                    tile<tile_rows>(a + i * features, features, w, out + i * stride, stride);
                for (; i < rows; ++i)
                    tile<1>(a + i * features, features, w, out + i * stride, stride);
            }
            for (int64_t i = 0; i < rows; ++i)
                finish(x + (first + i) * features, &product[i * stride], bias, gain,
                       y + (first + i) * features, features, eps);
        }
    }
}
