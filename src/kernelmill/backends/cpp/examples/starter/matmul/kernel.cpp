#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

typedef float vec __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
constexpr int64_t lanes = sizeof(vec) / sizeof(float);

// A tile of C lives in registers: 12 x 2 vectors where there are 32 of them, 6 x 2 where 16.
constexpr int64_t tile_rows = sizeof(vec) == 32 ? 6 : 12;
constexpr int64_t tile_columns = 2 * lanes;
constexpr int64_t depth = 256;             // a packed panel of B, depth x tile_columns, fits in L1
constexpr int64_t block_rows = 8 * tile_rows;  // and the rows of A that pass over it in L2

struct alignas(sizeof(vec)) PackedRow {
    float x[tile_columns];
};

// C[rows x columns] (+)= A[rows x k] * panel[k]. `rows` is fixed at compile time, so that the
// accumulators are registers; fewer than tile_columns columns are written at the right edge.
template <int64_t rows>
static inline void tile(const float* a, int64_t lda, const PackedRow* panel, int64_t k, float* c,
                        int64_t ldc, int64_t columns, bool add) {
    vec acc[rows][2] = {};
    for (int64_t p = 0; p < k; ++p) {
        vec b[2];
        std::memcpy(b, panel + p, sizeof b);
        for (int64_t i = 0; i < rows; ++i) {
            const float s = a[i * lda + p];
            acc[i][0] += s * b[0];
            acc[i][1] += s * b[1];
        }
    }
    for (int64_t i = 0; i < rows; ++i) {
        PackedRow row;
        std::memcpy(&row, acc[i], sizeof row);
        if (columns == tile_columns) {
            if (add) {
                for (int64_t j = 0; j < tile_columns; ++j) row.x[j] += c[i * ldc + j];
            }
            std::memcpy(c + i * ldc, &row, sizeof row);
        } else {
            for (int64_t j = 0; j < columns; ++j)
                c[i * ldc + j] = add ? c[i * ldc + j] + row.x[j] : row.x[j];
        }
    }
}

extern "C" void matmul_forward(const float* a, const float* b, float* c, int64_t m, int64_t k,
                               int64_t n) {
    const int64_t panels = (n + tile_columns - 1) / tile_columns;
    const int64_t blocks = (m + block_rows - 1) / block_rows;
    const auto packed = std::make_unique_for_overwrite<PackedRow[]>(panels * std::min(k, depth));

#pragma omp parallel
    for (int64_t p0 = 0; p0 < k; p0 += depth) {
        const int64_t kc = std::min(depth, k - p0);
#pragma omp for schedule(static)
        for (int64_t panel = 0; panel < panels; ++panel) {
            const int64_t columns = std::min(tile_columns, n - panel * tile_columns);
            for (int64_t p = 0; p < kc; ++p) {
                PackedRow row{};
                std::copy_n(b + (p0 + p) * n + panel * tile_columns, columns, row.x);
                packed[panel * kc + p] = row;
            }
        }
#pragma omp for collapse(2) schedule(static)
        for (int64_t block = 0; block < blocks; ++block) {
            for (int64_t panel = 0; panel < panels; ++panel) {
                const int64_t j = panel * tile_columns;
                const int64_t end = std::min(m, (block + 1) * block_rows);
                int64_t i = block * block_rows;
                for (; i + tile_rows <= end; i += tile_rows)
                    tile<tile_rows>(a + i * k + p0, k, &packed[panel * kc], kc, c + i * n + j, n,
                                    std::min(tile_columns, n - j), p0 > 0);
                for (; i < end; ++i)
                    tile<1>(a + i * k + p0, k, &packed[panel * kc], kc, c + i * n + j, n,
                            std::min(tile_columns, n - j), p0 > 0);
            }
        }
    }
}
