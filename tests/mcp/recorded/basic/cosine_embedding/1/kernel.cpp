#include <cmath>
#include <cstdint>

extern "C" void cosine_embedding(const float* first, const float* second, const float* target,
                                 float* out, int64_t rows, int64_t features, float margin) {
  double total = 0.0;
#pragma omp parallel for reduction(+ : total)
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = first + r * features;
    const float* b = second + r * features;
    float ab = 0.0f, aa = 0.0f, bb = 0.0f;
    for (int64_t f = 0; f < features; ++f) {
      ab += a[f] * b[f];
      aa += a[f] * a[f];
      bb += b[f] * b[f];
    }
    const float cosine = ab / std::sqrt((aa + 1e-12f) * (bb + 1e-12f));
    const float apart = cosine - margin;
    if (target[r] == 1.0f) total += 1.0f - cosine;
    if (target[r] == -1.0f) total += apart < 0.0f ? 0.0f : apart;
  }
  *out = static_cast<float>(total / static_cast<double>(rows));
}
