#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

typedef float vec __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
typedef uint32_t uvec __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
constexpr int64_t lanes = sizeof(vec) / sizeof(float);
constexpr float infinity = std::numeric_limits<float>::infinity();

// A tile of a product is summed in registers: 12 x 2 vectors where there are 32 of them, 6 x 2
// where 16.
constexpr int64_t tile_rows = sizeof(vec) == 32 ? 6 : 12;
constexpr int64_t tile_columns = 2 * lanes;

struct alignas(sizeof(vec)) Packed {
    float x[tile_columns];
};

static inline vec load(const float* p) {
    vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(float* p, vec v) { std::memcpy(p, &v, sizeof v); }

static inline vec max(vec a, vec b) { return a > b ? a : b; }

// exp for x <= 0: x = n ln2 + r, a polynomial in r, and n added to the exponent bits.
static inline vec exp_neg(vec x) {
    constexpr float round = 12582912.0f;  // 1.5 * 2^23: adding it leaves n in the low bits
    const vec shifted = x * 1.44269504f + round;
    const vec n = shifted - round;
    const vec r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    vec p = 1.381461028e-3f * r + 8.368711147e-3f;
    p = p * r + 4.166838749e-2f;
    p = p * r + 1.666652068e-1f;
    p = p * r + 4.999999345e-1f;
    p = p * (r * r) + r + 1.0f;
    return x < -87.0f ? vec{} : vec(uvec(p) + (uvec(shifted) << 23));
}

// out[rows x tile_columns] = A[rows x k] * panel. The row count is a constant, so that the loops
// over it unroll and the sums are registers.
template <int64_t rows>
static inline void tile(const float* a, int64_t a_stride, int64_t k, const Packed* panel,
                        float* out, int64_t out_stride) {
    vec sum[rows][2] = {};
    for (int64_t p = 0; p < k; ++p) {
        const vec b[2] = {load(panel[p].x), load(panel[p].x + lanes)};
#pragma GCC unroll 16
        for (int64_t i = 0; i < rows; ++i) {
            sum[i][0] += a[i * a_stride + p] * b[0];
            sum[i][1] += a[i * a_stride + p] * b[1];
        }
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < rows; ++i) {
        store(out + i * out_stride, sum[i][0]);
        store(out + i * out_stride + lanes, sum[i][1]);
    }
}

// exp(scale * (row - its maximum)) in place, over whole vectors; returns the sum.
static inline float exponentials(float* row, int64_t count, float scale) {
    vec most = load(row);
    for (int64_t j = lanes; j < count; j += lanes) most = max(most, load(row + j));
    float parts[lanes], largest = -infinity;
    store(parts, most);
#pragma omp simd reduction(max : largest)
    for (int64_t j = 0; j < lanes; ++j) largest = parts[j] > largest ? parts[j] : largest;
    vec sums{};
    for (int64_t j = 0; j < count; j += lanes) {
        const vec e = exp_neg((load(row + j) - largest) * scale);
        store(row + j, e);
        sums += e;
    }
    store(parts, sums);
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < lanes; ++j) sum += parts[j];
    return sum;
}

// One head at a time per thread, so that its packed keys and values stay in that core's L2. The
// buffers are zeroed once, which also settles the padding of the last panels.
struct Head {
    int64_t length, dim, score_stride;
    std::vector<Packed> keys, values;
    std::vector<float> scores;

    Head(int64_t length, int64_t dim) : length(length), dim(dim) {
        const int64_t length_panels = (length + tile_columns - 1) / tile_columns;
        const int64_t dim_panels = (dim + tile_columns - 1) / tile_columns;
        // A vector more than needed: at a power of two all rows would share the same cache sets.
        score_stride = length_panels * tile_columns + lanes;
        keys.resize(length_panels * dim);
        values.resize(dim_panels * length);
        scores.resize(tile_rows * score_stride);
    }

    // Keys become panels of tile_columns positions, values panels of tile_columns features.
    void pack(const float* k, const float* v) {
        for (int64_t i = 0; i < length; ++i) {
            for (int64_t p = 0; p < dim; ++p)
                keys[i / tile_columns * dim + p].x[i % tile_columns] = k[i * dim + p];
            for (int64_t start = 0; start < dim; start += tile_columns)
                std::copy_n(v + i * dim + start, std::min(tile_columns, dim - start),
                            values[start / tile_columns * length + i].x);
        }
    }

    // Queries first .. first + rows - 1. A few rows of scores fit in cache, so the softmax needs no
    // rescaling, and no panel of keys after the last query is touched.
    template <int64_t rows>
    void attend(int64_t first, const float* q, float* out) {
        const int64_t seen = first + rows;
        for (int64_t j = 0; j < seen; j += tile_columns)
            tile<rows>(q + first * dim, dim, dim, &keys[j / tile_columns * dim], &scores[j],
                       score_stride);

        float inverse[rows];
        const int64_t whole = (seen + lanes - 1) / lanes * lanes;
        for (int64_t i = 0; i < rows; ++i) {
            float* row = &scores[i * score_stride];
            std::fill(row + first + i + 1, row + whole, -infinity);
            inverse[i] = 1.0f / exponentials(row, whole, 1.0f / std::sqrt(static_cast<float>(dim)));
        }

        for (int64_t start = 0; start < dim; start += tile_columns) {
            float buffer[rows * tile_columns];
            tile<rows>(scores.data(), score_stride, seen, &values[start / tile_columns * length],
                       buffer, tile_columns);
            for (int64_t i = 0; i < rows; ++i)
                for (int64_t j = 0; j < std::min(tile_columns, dim - start); ++j)
                    out[(first + i) * dim + start + j] = buffer[i * tile_columns + j] * inverse[i];
        }
    }
};

extern "C" void causal_attention_forward(const float* q, const float* k, const float* v, float* y,
                                         int64_t heads, int64_t length, int64_t dim) {
#pragma omp parallel
    {
        Head head(length, dim);
#pragma omp for schedule(dynamic)
        for (int64_t h = 0; h < heads; ++h) {
            const int64_t at = h * length * dim;
            head.pack(k + at, v + at);
            int64_t i = 0;
            for (; i + tile_rows <= length; i += tile_rows)
                head.attend<tile_rows>(i, q + at, y + at);
            for (; i < length; ++i) head.attend<1>(i, q + at, y + at);
        }
    }
}
