#include <algorithm>
#include <cstdint>
#include <cstring>

typedef float vec __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
constexpr int64_t lanes = sizeof(vec) / sizeof(float);
constexpr int64_t group = 8 * lanes;  // columns whose sums stay in registers

static inline vec load(const float* p) {
    vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

extern "C" void embedding_bag_sum_forward(const float* table, const int64_t* indices, float* y,
                                          int64_t bags, int64_t bag, int64_t features) {
    const int64_t total = bags * bag;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < bags; ++b) {
        float* out = y + b * features;
        int64_t start = 0;
        for (; start + group <= features; start += group) {
            vec sum[8] = {};
            for (int64_t i = b * bag; i < (b + 1) * bag; ++i) {
                // The rows are scattered: ask for a later one now, as no prefetcher can guess it.
                const float* later = table + indices[std::min(i + 8, total - 1)] * features + start;
                const float* row = table + indices[i] * features + start;
                for (int j = 0; j < 8; ++j) {
                    __builtin_prefetch(later + j * lanes);
                    sum[j] += load(row + j * lanes);
                }
            }
            std::memcpy(out + start, sum, sizeof sum);
        }
        float sum[group] = {};
        for (int64_t i = b * bag; i < (b + 1) * bag; ++i) {
            const float* row = table + indices[i] * features + start;
#pragma omp simd
            for (int64_t j = 0; j < features - start; ++j) sum[j] += row[j];
        }
        std::memcpy(out + start, sum, (features - start) * sizeof(float));
    }
}
