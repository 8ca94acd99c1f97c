#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

typedef float vec __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
constexpr int64_t lanes = sizeof(vec) / sizeof(float);

static inline vec load(const float* p) {
    vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

// 3x3, stride 1, zero padding 1, one filter per channel.
extern "C" void depthwise_conv2d_forward(const float* x, const float* weight, const float* bias,
                                         float* y, int64_t batch, int64_t channels, int64_t height,
                                         int64_t width) {
    const std::vector<float> zeros(width);
#pragma omp parallel for schedule(static)
    for (int64_t plane = 0; plane < batch * channels; ++plane) {
        const float* w = weight + plane % channels * 9;
        const float b = bias[plane % channels];
        for (int64_t row = 0; row < height; ++row) {
            const float* middle = x + (plane * height + row) * width;
            const float* rows[3] = {row > 0 ? middle - width : zeros.data(), middle,
                                    row + 1 < height ? middle + width : zeros.data()};
            float* out = y + (plane * height + row) * width;

            const auto one = [&](int64_t i) {
                float sum = b;
                for (int64_t r = 0; r < 3; ++r)
                    for (int64_t t = i == 0; t < 3 && i + t - 1 < width; ++t)
                        sum += w[r * 3 + t] * rows[r][i + t - 1];
                out[i] = sum;
            };
            const auto many = [&](int64_t i) {
                vec sum = vec{} + b;
                for (int64_t r = 0; r < 3; ++r)
                    for (int64_t t = 0; t < 3; ++t) sum += w[r * 3 + t] * load(rows[r] + i + t - 1);
                std::memcpy(out + i, &sum, sizeof sum);
            };

            // The two border columns miss taps. Between them the last group of lanes overlaps the
            // one before it rather than leave a tail.
            const int64_t end = width - 1;
            if (end - 1 < lanes) {
                for (int64_t i = 0; i < width; ++i) one(i);
            } else {
                one(0);
                for (int64_t i = 1; i < end; i += lanes) many(std::min(i, end - lanes));
                one(end);
            }
        }
    }
}
