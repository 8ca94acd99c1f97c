#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void local_response_norm(const float* x, float* out, int64_t batch, int64_t channels,
                                    int64_t pixels, int64_t size) {
  const int64_t before = size / 2, after = (size - 1) / 2;
  const float scale = 0.1f / static_cast<float>(size);
#pragma omp parallel for collapse(2)
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t low = std::max<int64_t>(0, c - before);
      const int64_t high = std::min(channels - 1, c + after);
      const float* image = x + n * channels * pixels;
      float* row = out + (n * channels + c) * pixels;
      for (int64_t p = 0; p < pixels; ++p) {
        float energy = 0.0f;
        for (int64_t k = low; k <= high; ++k) energy += image[k * pixels + p] * image[k * pixels + p];
        row[p] = image[c * pixels + p] / std::pow(2.0f + scale * energy, 0.75f);
      }
    }
}
