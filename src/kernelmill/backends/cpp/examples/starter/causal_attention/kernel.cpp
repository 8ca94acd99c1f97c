#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

typedef float vec __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
typedef int32_t ivec __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
constexpr int64_t lanes = sizeof(vec) / sizeof(float);
constexpr float infinity = std::numeric_limits<float>::infinity();

// A tile of a product is summed in registers: 12 x 2 vectors where there are 32 of them, 6 x 2
// where 16.
constexpr int64_t tile_rows = sizeof(vec) == 32 ? 6 : 12;
constexpr int64_t tile_columns = 2 * lanes;

struct alignas(sizeof(vec)) Packed {
    float x[tile_columns];
};

static inline Packed pack(const float* from, int64_t count) {
    Packed row{};
    if (count >= tile_columns)
        std::memcpy(row.x, from, sizeof row.x);
    else
        std::memcpy(row.x, from, count * sizeof(float));
    return row;
}

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
    return x < -87.0f ? vec{} : vec(ivec(p) + (ivec(shifted) << 23));
}

// out[rows x tile_columns] = A[rows x k] * panel. The row count is a constant, so that the loops over
// it unroll and the sums are registers.
template <int64_t rows>
static inline void tile(const float* a, int64_t a_stride, int64_t k, const Packed* panel, float* out,
                        int64_t out_stride) {
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

struct Sizes {
    int64_t length, dim, length_panels, dim_panels, score_stride;
};

// Attention of `rows` queries, the first of them at position `first`. A few rows of scores fit in
// cache, so the softmax needs no rescaling, and the keys after the last query are never touched.
template <int64_t rows>
static void attend(const Sizes& s, int64_t first, const float* q, const Packed* keys,
                   const Packed* values, float* out, float* scores) {
    const int64_t seen = first + rows;
    for (int64_t panel = 0; panel * tile_columns < seen; ++panel)
        tile<rows>(q, s.dim, s.dim, keys + panel * s.dim, scores + panel * tile_columns,
                   s.score_stride);

    float inverse[rows];
    const int64_t whole = (seen + lanes - 1) / lanes * lanes;
    for (int64_t i = 0; i < rows; ++i) {
        float* row = scores + i * s.score_stride;
        std::fill(row + first + i + 1, row + whole, -infinity);
        inverse[i] = 1.0f / exponentials(row, whole, 1.0f / std::sqrt(static_cast<float>(s.dim)));
    }

    for (int64_t panel = 0; panel < s.dim_panels; ++panel) {
        float buffer[rows * tile_columns];
        tile<rows>(scores, s.score_stride, seen, values + panel * s.length, buffer, tile_columns);
        const int64_t start = panel * tile_columns, columns = std::min(tile_columns, s.dim - start);
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j)
                out[i * s.dim + start + j] = buffer[i * tile_columns + j] * inverse[i];
    }
}

extern "C" void causal_attention_forward(const float* q, const float* k, const float* v, float* y,
                                         int64_t heads, int64_t length, int64_t dim) {
    const int64_t length_panels = (length + tile_columns - 1) / tile_columns;
    const int64_t dim_panels = (dim + tile_columns - 1) / tile_columns;
    // One vector more than needed: at a power of two all rows would fall into the same cache sets.
    const Sizes s{length, dim, length_panels, dim_panels, length_panels * tile_columns + lanes};
    const int64_t strips = (length + tile_rows - 1) / tile_rows;
    const auto keys = std::make_unique_for_overwrite<Packed[]>(heads * length_panels * dim);
    const auto values = std::make_unique_for_overwrite<Packed[]>(heads * dim_panels * length);

#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int64_t head = 0; head < heads; ++head) {
            const float* key = k + head * length * dim;
            const float* value = v + head * length * dim;
            Packed* packed_keys = &keys[head * length_panels * dim];
            Packed* packed_values = &values[head * dim_panels * length];
            std::fill_n(packed_keys + (length_panels - 1) * dim, dim, Packed{});
            for (int64_t i = 0; i < length; ++i)
                for (int64_t p = 0; p < dim; ++p)
                    packed_keys[i / tile_columns * dim + p].x[i % tile_columns] = key[i * dim + p];
            for (int64_t panel = 0; panel < dim_panels; ++panel)
                for (int64_t i = 0; i < length; ++i)
                    packed_values[panel * length + i] =
                        pack(value + i * dim + panel * tile_columns, dim - panel * tile_columns);
        }
        std::vector<float> scores(tile_rows * s.score_stride);
#pragma omp for collapse(2) schedule(dynamic, 8)
        for (int64_t head = 0; head < heads; ++head) {
            for (int64_t strip = 0; strip < strips; ++strip) {
                const auto at = [&](int64_t i) { return (head * length + i) * dim; };
                const Packed* head_keys = &keys[head * length_panels * dim];
                const Packed* head_values = &values[head * dim_panels * length];
                const int64_t first = strip * tile_rows;
                if (first + tile_rows <= length) {
                    attend<tile_rows>(s, first, q + at(first), head_keys, head_values, y + at(first),
                                      scores.data());
                } else {
                    for (int64_t i = first; i < length; ++i)
                        attend<1>(s, i, q + at(i), head_keys, head_values, y + at(i), scores.data());
                }
            }
        }
    }
}
