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

struct alignas(sizeof(vec)) Packed {
    float x[tile_columns];
};

// out[rows x tile_columns] = A[rows x k] * panel. The row count is a constant, so that the loops over
// it unroll and the sums are registers.
template <int64_t rows>
static inline void tile(const float* a, int64_t k, const Packed* panel, float* out, int64_t stride) {
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

struct Layer {
    const float *bias, *gain;
    float eps;
    int64_t features, panels;
    const Packed* weight;
};

// Some rows from start to end: the product goes to a buffer that never leaves the cache.
template <int64_t rows>
static void forward_rows(const Layer& layer, const float* x, float* y, float* product) {
    const int64_t features = layer.features, stride = layer.panels * tile_columns;
    for (int64_t panel = 0; panel < layer.panels; ++panel)
        tile<rows>(x, features, layer.weight + panel * features, product + panel * tile_columns,
                   stride);
    for (int64_t i = 0; i < rows; ++i) {
        const float* in = x + i * features;
        float* out = y + i * features;
        float squares = 0.0f;
#pragma omp simd simdlen(lanes) reduction(+ : squares)
        for (int64_t j = 0; j < features; ++j) {
            const float h = in[j] + gelu(product[i * stride + j] + layer.bias[j]);
            out[j] = h;
            squares += h * h;
        }
        const float scale = 1.0f / std::sqrt(squares / features + layer.eps);
#pragma omp simd simdlen(lanes)
        for (int64_t j = 0; j < features; ++j) out[j] = out[j] * scale * layer.gain[j];
    }
}

extern "C" void forward(const float* x, const float* weight, const float* bias, const float* gain,
                        float* y, int64_t batch, int64_t features, float eps) {
    const int64_t panels = (features + tile_columns - 1) / tile_columns;
    const auto packed = std::make_unique_for_overwrite<Packed[]>(panels * features);
    const Layer layer{bias, gain, eps, features, panels, packed.get()};
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int64_t panel = 0; panel < panels; ++panel) {
            for (int64_t p = 0; p < features; ++p) {
                for (int64_t j = 0; j < tile_columns; ++j) {
                    const int64_t column = panel * tile_columns + j;
                    packed[panel * features + p].x[j] =
                        column < features ? weight[column * features + p] : 0.0f;
                }
            }
        }
        std::vector<float> product(tile_rows * panels * tile_columns);
#pragma omp for schedule(static)
        for (int64_t start = 0; start < batch; start += tile_rows) {
            if (start + tile_rows <= batch) {
                forward_rows<tile_rows>(layer, x + start * features, y + start * features,
                                        product.data());
            } else {
                for (int64_t i = start; i < batch; ++i)
                    forward_rows<1>(layer, x + i * features, y + i * features, product.data());
            }
        }
    }
}
