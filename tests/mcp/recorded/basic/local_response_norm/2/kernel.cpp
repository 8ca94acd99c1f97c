#include <algorithm>
#include <cmath>
#include <cstdint>

constexpr int64_t kTile = 256;

extern "C" void local_response_norm(const float* x, float* out, int64_t batch, int64_t channels,
                                    int64_t pixels, int64_t size) {
  const int64_t before = size / 2, after = (size - 1) / 2;
  const float scale = 0.1f / static_cast<float>(size);
  const int64_t tiles = (pixels + kTile - 1) / kTile;
#pragma omp parallel for collapse(2)
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t begin = t * kTile, count = std::min(kTile, pixels - begin);
      const float* image = x + n * channels * pixels + begin;
      float* target = out + n * channels * pixels + begin;
      for (int64_t c = 0; c < channels; ++c) {
        float energy[kTile];
        const int64_t low = std::max<int64_t>(0, c - before);
        const int64_t high = std::min(channels - 1, c + after);
        for (int64_t p = 0; p < count; ++p) energy[p] = 0.0f;
        for (int64_t k = low; k <= high; ++k) {
          const float* plane = image + k * pixels;
          for (int64_t p = 0; p < count; ++p) energy[p] += plane[p] * plane[p];
        }
        const float* plane = image + c * pixels;
        float* row = target + c * pixels;
        for (int64_t p = 0; p < count; ++p) {
          const float root = std::sqrt(2.0f + scale * energy[p]);
          row[p] = plane[p] / (root * std::sqrt(root));
        }
      }
    }
}
