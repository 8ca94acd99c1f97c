#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

typedef float vec __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
constexpr int64_t lanes = sizeof(vec) / sizeof(float);

// A tile of C is summed in registers: 12 x 2 vectors where there are 32 of them, 6 x 2 where 16.
constexpr int64_t tile_rows = sizeof(vec) == 32 ? 6 : 12;
constexpr int64_t tile_columns = 2 * lanes;
constexpr int64_t depth = 128;  // a packed panel of B, depth x tile_columns, stays in L1 ...
constexpr int64_t block_rows = 4 * tile_rows;  // ... while these rows of A pass over it

// The part of C that a thread computes at a time. It packs the B it needs itself, which repeats a
// little work but leaves the threads nothing to wait for.
constexpr int64_t chunk_rows = 8 * block_rows;
constexpr int64_t chunk_panels = 4;
constexpr int64_t chunk_columns = chunk_panels * tile_columns;

struct Packed {
    vec v[2];
};

static inline vec load(const float* p) {
    vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(float* p, vec v) { std::memcpy(p, &v, sizeof v); }

// C[rows x tile_columns] (+)= A[rows x k] * panel. The row count is a constant, so that the loops
// over it unroll and the sums are registers.
template <int64_t rows>
static inline void tile(const float* a, int64_t lda, const Packed* panel, int64_t k, float* c,
                        int64_t ldc, bool add) {
    vec sum[rows][2] = {};
    for (int64_t p = 0; p < k; ++p) {
        const Packed b = panel[p];
#pragma GCC unroll 16
        for (int64_t i = 0; i < rows; ++i) {
            sum[i][0] += a[i * lda + p] * b.v[0];
            sum[i][1] += a[i * lda + p] * b.v[1];
        }
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < rows; ++i) {
        float* row = c + i * ldc;
        store(row, add ? load(row) + sum[i][0] : sum[i][0]);
        store(row + lanes, add ? load(row + lanes) + sum[i][1] : sum[i][1]);
    }
}

// The same for any number of columns: at the right edge of C the tile goes through a buffer.
template <int64_t rows>
static inline void edge_tile(const float* a, int64_t lda, const Packed* panel, int64_t k, float* c,
                             int64_t ldc, bool add, int64_t columns) {
    if (columns >= tile_columns) return tile<rows>(a, lda, panel, k, c, ldc, add);
    float buffer[rows * tile_columns];
    tile<rows>(a, lda, panel, k, buffer, tile_columns, false);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            c[i * ldc + j] = buffer[i * tile_columns + j] + (add ? c[i * ldc + j] : 0.0f);
}

static inline Packed pack(const float* row, int64_t columns) {
    Packed r{};
    if (columns >= tile_columns)
        std::memcpy(&r, row, sizeof r);
    else
        std::memcpy(&r, row, columns * sizeof(float));
    return r;
}

extern "C" void matmul_forward(const float* a, const float* b, float* c, int64_t m, int64_t k,
                               int64_t n) {
#pragma omp parallel
    {
        const auto packed = std::make_unique_for_overwrite<Packed[]>(chunk_panels * depth);
#pragma omp for collapse(2) schedule(dynamic)
        for (int64_t i0 = 0; i0 < m; i0 += chunk_rows) {
            for (int64_t j0 = 0; j0 < n; j0 += chunk_columns) {
                const int64_t i1 = std::min(m, i0 + chunk_rows);
                const int64_t j1 = std::min(n, j0 + chunk_columns);
                for (int64_t start = 0; start < k; start += depth) {
                    const int64_t kc = std::min(depth, k - start);
                    for (int64_t j = j0; j < j1; j += tile_columns)
                        for (int64_t p = 0; p < kc; ++p)
                            packed[(j - j0) / tile_columns * depth + p] =
                                pack(b + (start + p) * n + j, n - j);

                    for (int64_t block = i0; block < i1; block += block_rows) {
                        const int64_t end = std::min(i1, block + block_rows);
                        for (int64_t j = j0; j < j1; j += tile_columns) {
                            const Packed* panel = &packed[(j - j0) / tile_columns * depth];
                            int64_t i = block;
                            for (; i + tile_rows <= end; i += tile_rows)
                                edge_tile<tile_rows>(a + i * k + start, k, panel, kc,
                                                     c + i * n + j, n, start > 0, n - j);
                            for (; i < end; ++i)
                                edge_tile<1>(a + i * k + start, k, panel, kc, c + i * n + j, n,
                                             start > 0, n - j);
                        }
                    }
                }
            }
        }
    }
}
