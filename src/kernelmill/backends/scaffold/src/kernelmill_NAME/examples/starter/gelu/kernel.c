#include <math.h>
#include <stdint.h>

// The tanh form, written as a sigmoid: x / (1 + exp(-2u)).
void gelu_forward(const float* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const float u = 0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i]);
    y[i] = x[i] / (1.0f + expf(-2.0f * u));
  }
}
