#include <cstdint>

extern "C" void cumsum_forward(const float* x, float* y, int64_t rows, int64_t columns) {
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; ++row) {
        const float* in = x + row * columns;
        float* out = y + row * columns;
        double sum = 0.0;
#pragma omp simd reduction(inscan, + : sum)
        for (int64_t i = 0; i < columns; ++i) {
            sum += in[i];
#pragma omp scan inclusive(sum)
            out[i] = static_cast<float>(sum);
        }
    }
}
