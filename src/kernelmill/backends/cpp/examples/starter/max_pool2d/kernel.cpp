#include <cstdint>
#include <limits>
#include <vector>

// As in PyTorch, a NaN wins.
static inline float larger(float a, float b) { return a > b || a != a ? a : b; }

// 3x3 windows, stride 2, padding 1: the three rows of a window are combined first, over the whole
// width at once, then neighbours within the combined row.
extern "C" void max_pool2d_forward(const float* x, float* y, int64_t planes, int64_t height,
                                   int64_t width) {
    const int64_t out_height = (height - 1) / 2 + 1;
    const int64_t out_width = (width - 1) / 2 + 1;
#pragma omp parallel
    {
        // One padding element on each side; the last is read only where the width is odd.
        std::vector<float> padded(width + 2, -std::numeric_limits<float>::infinity());
        float* column = padded.data() + 1;
#pragma omp for schedule(static)
        for (int64_t plane = 0; plane < planes; ++plane) {
            for (int64_t oy = 0; oy < out_height; ++oy) {
                // A row outside the image is replaced by its neighbour, which changes no maximum.
                const float* middle = x + (plane * height + 2 * oy) * width;
                const float* above = oy > 0 ? middle - width : middle;
                const float* below = 2 * oy + 1 < height ? middle + width : middle;
#pragma omp simd
                for (int64_t i = 0; i < width; ++i)
                    column[i] = larger(above[i], larger(middle[i], below[i]));

                float* out = y + (plane * out_height + oy) * out_width;
#pragma omp simd
                for (int64_t i = 0; i < out_width; ++i)
                    out[i] = larger(column[2 * i - 1], larger(column[2 * i], column[2 * i + 1]));
            }
        }
    }
}
